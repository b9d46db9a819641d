# SPDX-License-Identifier: Apache-2.0
"""GPUs that NVIDIA's device plugin for Kubernetes has chosen (--from), in what containerd and CRI-O make of kubelet's
answer."""

import pytest

from harness.engines import RUNTIMES
from harness.expect import started
from harness.gpu import nodes_of
from harness.leases import Container
from harness.nvidia_container import (CAPABILITIES, CHANNELS, KEY, PROBE, error_of, given, gpus_of, nothing, probed,
                                      refused)
from hosts.nvidia import EIGHT

pytest_plugins = ["harness.nvidia_fixtures"]

RUNC, CRUN = RUNTIMES
DIRECTORY = "/var/run/nvidia-container-devices/"
GPU, OTHER = EIGHT[3], EIGHT[5]
CDI, OWN_CDI = "nvidia.com/gpu=", "k8s.device-plugin.nvidia.com/gpu="


def mounted(name, source="/dev/null"):
    """What the plugin has kubelet mount: a name, and nothing behind it."""
    return {"destination": DIRECTORY + name, "type": "bind", "source": source, "options": ["rbind", "rprivate", "rw"]}


def in_pod(config, engine):
    """The annotations of a pod's container, and the mounts that every one has."""
    pod = {"name": "train-0", "namespace": "ml", "uid": "5b7ae6c1-3a0e-4d0b-8f55-6f1e3d0c9a11"}
    if engine == "containerd 2":
        names = {f"io.kubernetes.cri.sandbox-{key}": value for key, value in pod.items()}
        names |= {"io.kubernetes.cri.container-type": "container", "io.kubernetes.cri.container-name": "train",
                  "io.kubernetes.cri.sandbox-id": "4f" * 32, "io.kubernetes.cri.image-name": "example.org/cuda:1"}
    else:
        names = {f"io.kubernetes.pod.{key}": value for key, value in pod.items()}
        names |= {"io.kubernetes.container.name": "train", "io.kubernetes.cri-o.ContainerType": "container",
                  "io.kubernetes.cri-o.ImageName": "example.org/cuda:1", "io.kubernetes.cri-o.SandboxID": "4f" * 32}
    config["annotations"] |= names
    config["mounts"] += [{"destination": path, "type": "bind", "source": source, "options": ["rbind", "rprivate", mode]}
                         for path, source, mode in (("/etc/hosts", "/etc/hosts", "rw"),
                                                    ("/dev/termination-log", "/dev/null", "rw"))]


# What the plugin's strategies come to in config.json: its mounts, annotations, environment.
STRATEGIES = {
    "mounts": ([mounted(GPU.uuid)], {}, ["NVIDIA_VISIBLE_DEVICES=/var/run/nvidia-container-devices"]),
    "cdi-annotations": ([], {"nvidia.cdi.k8s.io/nvidia-device-plugin_5f0c": OWN_CDI + GPU.uuid},
                        ["NVIDIA_VISIBLE_DEVICES=all"]),
    "environment": ([], {}, [f"NVIDIA_VISIBLE_DEVICES={GPU.uuid}"]),
}


@pytest.mark.parametrize("strategy, engine, runtime", [
    ("mounts", "containerd 2", RUNC), ("mounts", "CRI-O", CRUN), ("cdi-annotations", "containerd 2", CRUN),
    ("environment", "CRI-O", RUNC)])
def test_a_container_gets_what_the_plugin_has_chosen(nv_box, machine, strategy, engine, runtime):
    box = nv_box(None, "--from", strategy, engine=runtime)
    box.loader = "concourse"  # as with base_runtime_spec, and `always` in CRI-O's hooks.d
    mounts, annotations, environment = STRATEGIES[strategy]
    in_pod(box.config, engine)
    box.config["mounts"] += mounts
    box.annotations.update(annotations)
    box.bundle.environment(*environment)
    box.volume("/dev/other", machine.path / f"dev/nvidia{OTHER.minor}")
    out = started(box.run(f"{PROBE} probe /dev/nvidia*; echo ==; ls /proc/driver/nvidia/gpus"))
    seen, _, gpus = out.partition("==\n")
    assert probed(seen) == given(GPU)
    assert gpus.split() == [GPU.address]


@pytest.mark.parametrize("own, outcome", [
    ([], GPU), ([f"NVIDIA_VISIBLE_DEVICES={OTHER.uuid}"], OTHER), (["NVIDIA_VISIBLE_DEVICES=none"], None),
    (["NVIDIA_VISIBLE_DEVICES=all"], None), (["NVIDIA_VISIBLE_DEVICES=0,1"], "'deviceIDStrategy: uuid'")])
def test_a_pods_own_variable_stands_behind_the_plugins(nv_box, own, outcome):
    """kubelet writes what the plugin says in front of the pod's own, and runc has the last of a name count; so no
    protection is `--from environment`."""
    box = nv_box(None, "--from", "environment", engine=RUNC)
    box.loader = "concourse"
    in_pod(box.config, "containerd 2")
    box.bundle.environment(f"NVIDIA_VISIBLE_DEVICES={GPU.uuid}", *own)
    result = box.run(f"{PROBE} probe $(ls -d /dev/nvidia* 2>/dev/null)")
    if isinstance(outcome, str):
        refused(result, 2, outcome)
    else:
        assert probed(started(result)) == (given(outcome) if outcome else {})


@pytest.mark.parametrize("sources, strategy, word", [
    ("mounts", "environment", "'--from environment'"), ("mounts", "cdi-annotations", "'--from cdi-annotations'"),
    ("environment", "mounts", "'--from mounts'")])
def test_no_pod_that_counts_a_gpu_runs_without(nv_box, sources, strategy, word):
    box = nv_box(None, "--from", sources, engine=RUNC)
    box.loader = "concourse"
    in_pod(box.config, "containerd 2")
    mounts, annotations, environment = STRATEGIES[strategy]
    box.config["mounts"] += mounts
    box.annotations.update(annotations)
    box.bundle.environment(*environment)
    refused(box.run("true"), 2, word)


def test_leases_count_what_plugins_give(nv_box):
    """Two pods to which time slicing gives the same GPU, on a node whose policy is exclusive use; only pods of one
    namespace may have any."""
    boxes = [nv_box(None, "--from", "mounts", "--min-lease", "exclusive", "--only",
                    "io.kubernetes.cri.sandbox-namespace=m*", engine=RUNC) for _ in range(3)]
    for box in boxes:
        box.loader = "concourse"
        in_pod(box.config, "containerd 2")
        box.config["mounts"].append(mounted(GPU.uuid))
    first = Container(boxes[0]).ready()
    refused(boxes[1].run("true"), 4, GPU.uuid)
    assert first.end().code == 0
    boxes[2].annotations["io.kubernetes.cri.sandbox-namespace"] = "other"
    refused(boxes[2].run("true"), 5, "--only")


ENVIRONMENT = {"env": [f"NVIDIA_VISIBLE_DEVICES={GPU.uuid}"]}
ANY = {"env": ["NVIDIA_VISIBLE_DEVICES=all", "CUDA_VERSION=12.4"]}
BY_CDI = {"cdi.k8s.io/x": CDI + GPU.uuid}
NODES_OF_ENGINE = [{"path": f"/dev/nvidia{GPU.minor}", "type": "c", "major": 195, "minor": GPU.minor}]


@pytest.mark.parametrize("sources, config, outcome", [
    ("environment,mounts", {"mounts": [mounted(GPU.uuid)], "process": ANY}, [3]),
    ("mounts", {"mounts": [mounted("5")]}, [5]), ("mounts", {"mounts": [mounted("all")]}, range(8)),
    ("mounts", {"mounts": [mounted(GPU.uuid, "/etc/hostname")]}, 2),
    ("mounts", {"mounts": [mounted(GPU.uuid), mounted(GPU.uuid, "/etc/hostname")]}, 2),
    ("mounts", {"mounts": [mounted("GPU-00000000-0000-0000-0000-000000000000")]}, 3),
    # What a plugin says, and the host does not believe
    ("mounts", {"process": ENVIRONMENT}, 2), ("mounts", {"annotations": BY_CDI}, 2),
    ("environment", {"annotations": BY_CDI}, 2), ("cdi-annotations", {"process": ENVIRONMENT}, 2),
    ("cdi-annotations", {"mounts": [mounted(GPU.uuid)]}, 2), ("environment", {"mounts": [mounted(GPU.uuid)]}, 2),
    ("mounts", {"process": ANY}, None),
    ("mounts", {"process": ENVIRONMENT, "hooks": {"prestart": [{"path": "/usr/bin/nvidia-container-runtime-hook"}]}},
     None),
    ("mounts", {"process": ENVIRONMENT, "linux": {"devices": NODES_OF_ENGINE}}, None),
    ("mounts", {"process": ENVIRONMENT, "annotations": {KEY: "none"}}, []),
    # Several strategies at once, of which one is believed
    ("environment", {"mounts": [mounted(GPU.uuid)], "process": ENVIRONMENT}, [3]),
    ("cdi-annotations", {"annotations": BY_CDI, "process": ENVIRONMENT, "mounts": [mounted(GPU.uuid)]}, [3]),
    ("cdi-annotations", {"annotations": BY_CDI}, [3]),
    ("cdi-annotations,environment", {"annotations": BY_CDI, "process": ANY}, [3]),
    ("cdi-annotations", {"annotations": {"cdi.k8s.io/x": "example.com/nic=0"}}, None),
    ("environment", {"process": ENVIRONMENT}, [3]), ("environment", {"process": ANY}, None),
    ("environment", {"process": {"env": ["NVIDIA_VISIBLE_DEVICES="]}}, None),
    ("environment", {"process": {"env": ["NVIDIA_VISIBLE_DEVICES=0,1"]}}, 2),
    ("environment", {"process": {"env": [f"NVIDIA_VISIBLE_DEVICES={GPU.uuid[:12]}"]}}, 2),
    # What else a pod says
    ("mounts", {"mounts": [mounted(GPU.uuid)], "annotations": {KEY: "0"}}, 5),
    ("mounts", {"mounts": [mounted(GPU.uuid)], "annotations": {KEY: "none"}}, [])])
def test_what_counts_of_a_pod(plan, by_hand, sources, config, outcome):
    if outcome is None:
        assert "no device plugin" in nothing(by_hand("--plan", "--from", sources, "--log-level", "info", **config))
    elif isinstance(outcome, int):
        error_of(by_hand("--plan", "--from", sources, **config), outcome)
    else:
        assert gpus_of(plan("--from", sources, **config)) == list(outcome)


def test_the_hosts_policy_is_for_plugins_too(by_hand, plan):
    two = {"mounts": [mounted(GPU.uuid), mounted(OTHER.uuid)]}
    error_of(by_hand("--plan", "--from", "mounts", "--allow", "0", **two), 5, GPU.uuid)
    error_of(by_hand("--plan", "--from", "mounts", "--max-devices", "1", **two), 5, "--max-devices")
    for options in (["--plan", "--request", "0"], ["--opt-in", "environment"], ["--cdi"]):
        error_of(by_hand("--from", "mounts", *options, **two), 2, "--from")
    error_of(by_hand("--list", "--from", "mounts,colour"), 2, "'colour'")  # what doctor asks
    graphics = plan("--from", "mounts", annotations={CAPABILITIES: "graphics"}, **two)
    assert f"/dev/dri/card{GPU.card}" in nodes_of(graphics)


@pytest.mark.parametrize("sources, config, channels", [
    ("mounts", {"mounts": [mounted(GPU.uuid), mounted("imex/2")]}, [2]),
    ("mounts", {"mounts": [mounted(GPU.uuid)]}, []), ("mounts", {"mounts": [mounted("imex/2")]}, 2),
    ("cdi-annotations", {"annotations": BY_CDI | {"cdi.k8s.io/y": "nvidia.com/imex-channel=1"}}, [1]),
    ("cdi-annotations", {"annotations": BY_CDI}, []), ("environment", {}, [7]),
    ("mounts", {"mounts": [mounted(GPU.uuid), mounted("imex/4000")]}, 3)])
def test_channels_come_from_where_the_gpus_come_from(plan, by_hand, machine, sources, config, channels):
    """The container's environment, which has others, counts only where it is believed."""
    machine.add_imex(8)
    config = config | {"process": {"env": [*ENVIRONMENT["env"], "NVIDIA_IMEX_CHANNELS=7"]}}
    options = ["--from", sources, "--allow-imex", "all"]
    if isinstance(channels, int):
        error_of(by_hand("--plan", *options, **config), channels)
        return
    given_channels = [path[-1] for path in nodes_of(plan(*options, **config)) if "imex" in path]
    assert given_channels == [str(channel) for channel in channels]
    if channels:
        error_of(by_hand("--plan", *options[:2], **config), 5, "(--allow-imex)")
    config["annotations"] = config.get("annotations", {}) | {CHANNELS: "1"}
    error_of(by_hand("--plan", *options, **config), 5, "does not count")


def test_mounts_on_a_host_that_believes_no_plugin(by_hand, plan):
    """No container starts without the GPU that its mounts name and without a word: it is refused, unless it asks
    otherwise, or NVIDIA's own tools have been there."""
    config = {"mounts": [mounted(GPU.uuid)]}
    for options in ([], ["--opt-in", "environment"]):
        error_of(by_hand("--plan", *options, **config), 2, DIRECTORY + GPU.uuid, "'--from', 'mounts'")
    process = by_hand("--plan", annotations={KEY: "0"}, **config)
    assert process.returncode == 0 and "does not count" in process.stderr
    assert by_hand("--plan", annotations={KEY: "none"}, **config).stderr == ""
    assert by_hand("--plan", "--request", "0", **config).stderr == ""
    nothing(by_hand("--plan", hooks={"createContainer": [{"path": "/usr/bin/nvidia-cdi-hook"}]}, **config))
