# SPDX-License-Identifier: Apache-2.0
"""GPUs that AMD's device plugin for Kubernetes has chosen (--from nodes): it has kubelet, and so the engine, make their
nodes, with the host's mode."""

import pytest

from harness import engines
from harness.amd_container import KEY, SHOW, error_of, given, linked, LINKS, nodes_for, nothing, refused
from harness.expect import started
from harness.leases import Container
from harness.nvidia_container import probed
from hosts.amd import DRM, KFD, RAPHAEL, XT

pytest_plugins = ["harness.nvidia_fixtures", "harness.amd_fixtures"]

RUNC, CRUN = engines.RUNTIMES


def nodes_of_plugin(*gpus):
    """Members of linux.devices, as containerd and CRI-O write them for a host whose nodes have mode 0660."""
    numbers = {"/dev/kfd": (KFD, 0)} | {f"/dev/dri/{name}": (DRM, minor) for gpu in gpus
                                        for name, minor in gpu.nodes().items()}
    return [{"path": path, "type": "c", "major": major, "minor": minor, "fileMode": 0o660, "uid": 0, "gid": 105}
            for path, (major, minor) in numbers.items()]


def give(config, *gpus):
    """Adds what the plugin gives, with the rules for it."""
    linux = config["linux"]
    linux["devices"] = nodes_of_plugin(*gpus)
    rules = linux.setdefault("resources", {}).setdefault("devices", [{"allow": False, "access": "rwm"}])
    rules += [{"allow": True, "type": "c", "major": node["major"], "minor": node["minor"], "access": "rw"}
              for node in linux["devices"]]


@pytest.mark.parametrize("engine", [RUNC, CRUN], ids=str)
def test_every_user_can_open_what_the_plugin_has_given(amd_box, engine):
    box = amd_box(None, "--from", "nodes", engine=engine)
    box.loader = "concourse"  # as with base_runtime_spec, and `always` in CRI-O's hooks.d
    give(box.config, XT)
    box.config["process"]["user"] = {"uid": 1000, "gid": 1000}
    nodes, links = started(box.run(f"{SHOW}; echo --; {LINKS}")).split("--\n")
    assert probed(nodes) == given(XT) and links == linked(XT)


def test_leases_and_policy_are_for_plugins_too(amd_box):
    boxes = [amd_box(None, "--from", "nodes", "--min-lease", "exclusive", "--allow", "0") for _ in range(3)]
    for box, gpu in zip(boxes, (XT, XT, RAPHAEL)):
        box.loader = "concourse"
        give(box.config, gpu)
    first = Container(boxes[0]).ready()
    refused(boxes[1].run("true"), 4)
    assert first.end().code == 0
    refused(boxes[2].run("true"), 5, "--allow", f"renderD{RAPHAEL.render}")


@pytest.mark.parametrize("sources, config, outcome", [
    ("nodes", {"linux": {"devices": nodes_of_plugin(XT, RAPHAEL)}}, [XT, RAPHAEL]),
    ("environment,nodes", {"linux": {"devices": nodes_of_plugin(RAPHAEL)},
                           "process": {"env": ["AMD_VISIBLE_DEVICES=0"]}}, [RAPHAEL]),
    ("environment,nodes", {"process": {"env": ["AMD_VISIBLE_DEVICES=0"]}}, [XT]),
    ("environment", {"process": {"env": ["AMD_VISIBLE_DEVICES=all"]}}, None),
    ("nodes", {"linux": {"devices": nodes_of_plugin(XT)[1:]}}, None),
    # A privileged container has every node of the host's.
    ("nodes", {"linux": {"devices": nodes_of_plugin(XT, RAPHAEL),
                         "resources": {"devices": [{"allow": True, "access": "rwm"}]}}}, None),
    ("nodes", {"linux": {"devices": nodes_of_plugin(XT)}, "annotations": {KEY: "1"}}, 5),
    ("mounts", {"linux": {"devices": nodes_of_plugin(XT)}}, 2)])
def test_what_counts_of_a_pod(amd_plan, amd_by_hand, sources, config, outcome):
    if outcome is None:
        assert "no device plugin" in nothing(amd_by_hand("--plan", "--from", sources, "--log-level", "info", **config))
    elif isinstance(outcome, int):
        error_of(amd_by_hand("--plan", "--from", sources, **config), outcome)
    else:
        assert sorted(node["path"] for node in amd_plan("--from", sources, **config)["containerEdits"]["deviceNodes"]
                      ) == nodes_for(*outcome)
