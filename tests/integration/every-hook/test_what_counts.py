# SPDX-License-Identifier: Apache-2.0
"""Which annotations count, in each hook: not one that says "-", in a pod only with a limit, and in a container that
podman made none for a container by its name."""

import pytest

from harness import engines
from harness.box import PREFIX
from harness.every_hook import NAMES, box_of
from harness.expect import refused_by, started

pytest_plugins = ["harness.nvidia_fixtures", "harness.amd_fixtures", "harness.ldcache_fixtures",
                  "harness.driver_fixtures", "harness.cdi_fixtures"]

POD_KEYS = ["io.kubernetes.cri.sandbox-namespace", "io.kubernetes.pod.namespace"]
LIMITED = [name for name in NAMES if name != "ldcache-update"]
QUOTAS = [["--quota", "pods=32"], ["--quota", "{key}=32"]]
LIMITS = {"mount-srv": [["--allow", "datasets"]],
          "nvidia-devices": [["--allow", "0-31"], ["--max-devices", "32"], *QUOTAS],
          "amd-kfd": [["--allow", "0-31"], ["--max-devices", "32"], *QUOTAS],
          "cdi-devices": [["--allow", "vendor.com/gpu"], ["--max-devices", "3"], *QUOTAS]}


@pytest.fixture(name="make")
def make_fixture(request):
    """A function that gives a container which asks the hook for as much as there is."""
    def make(name):
        box = box_of(name, request.getfixturevalue)
        box.key = PREFIX + name
        if name == "ldcache-update":
            box.annotations[box.key] = "auto"
        return box

    return make


@pytest.mark.parametrize("name", NAMES)
def test_no_hook_is_called_for_a_dash(make, name):
    box = make(name)
    assert box.hook.matches(box.annotations)
    for key in [key for key in box.annotations if key.startswith(PREFIX)]:
        box.annotations[key] = "-"
    assert not box.hook.matches(box.annotations)
    for value in ("", " ", "--", "-a", "a", "a-"):
        assert box.hook.matches({box.key: value}), value


@pytest.mark.parametrize("name", NAMES)
def test_a_dash_is_as_if_the_annotation_were_not_there(make, name):
    """Also where the hook is called, as another one may have been asked; and a key that no hook knows."""
    box = make(name)
    box.loader = "concourse"
    for key in [key for key in box.annotations if key.startswith(PREFIX)]:
        box.annotations[key] = "-"
    box.annotations.update({f"{box.key}.lease": "-", f"{box.key}/x": "-", f"{PREFIX}of-a-later-version": "-"})
    if "--log-level" not in box.args:
        box.args = [*box.args, "--log-level", "info"]
    result = box.run()
    assert started(result) == "started\n"
    assert "nothing to do: " in " ".join(map(str, result.said)), result.said


@pytest.mark.parametrize("pod_key", POD_KEYS)
@pytest.mark.parametrize("name", LIMITED)
def test_a_pod_may_ask_only_within_a_limit(make, name, pod_key):
    box = make(name)
    box.annotations[pod_key] = "ml"
    engine = ("containerd --runtime NAME", "crio")[POD_KEYS.index(pod_key)]
    refused_by(name, box.run(), 5, f"--only {pod_key}=NAMESPACE", f"oci-gpu-hooks install --engine {engine} {name} ")
    args = box.args
    for limit in [["--only", f"{pod_key}=m*"], *LIMITS[name]]:
        box.args = [*args, *(str(word).format(key=pod_key) for word in limit)]
        assert started(box.run()) == "started\n", limit
    box.args = [*args, "--only", f"{pod_key}=other"]
    refused_by(name, box.run(), 5, "--only")


@pytest.mark.parametrize("name", LIMITED)
def test_a_pod_that_does_not_ask_is_not_told(make, name):
    box = make(name)
    box.annotations[POD_KEYS[0]] = "ml"
    box.loader = "concourse"
    for nothing in ("-", "none"):
        for key in [key for key in box.annotations if key.startswith(PREFIX)]:
            box.annotations[key] = nothing if key == box.key else "-"
        assert started(box.run()) == "started\n"


def test_ldcache_update_gives_nothing_of_the_hosts(make):
    box = make("ldcache-update")
    box.annotations[POD_KEYS[0]] = "ml"
    del box.annotations[f"{PREFIX}mount-srv"]
    assert started(box.run()) == "started\n"


@pytest.mark.parametrize("engine", engines.PODMANS, ids=str)
def test_podman_names_no_container(srv, engine_box, engine):
    """Who calls it, and before 4.5.1 the image, can say any name; what is for all of its containers counts."""
    srv.directories("datasets", "models")
    key = f"{PREFIX}mount-srv"
    for value, seen in (("-", "nothing\n"), ("models", "models\n")):
        box = engine_box(engine, value)
        box.annotations.update({f"{key}/x": "all", f"{key}/y": "all", "io.kubernetes.container.name": "x", "io.container.manager": "cri-o"})
        result = box.run("ls /srv 2>/dev/null || echo nothing")
        assert started(result) == seen
        assert " ".join(map(str, result.said)).count("does not count in a container that podman made") == 1, result.said
