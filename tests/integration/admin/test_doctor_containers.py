# SPDX-License-Identifier: Apache-2.0
"""oci-gpu-hooks doctor: containers that run, what they asked for and what they have."""

import json

import pytest

from harness.admin import Command
from harness.bundle import Bundle
from harness.host import Host

pytest_plugins = ["harness.admin_fixtures"]

OK, WARNING, ERROR = 0, 7, 6
PID, STARTED = 4321, 777
ID = "3f2a9c0d1b2e3f2a9c0d1b2e"
ASKS = "io.oci-gpu-hooks.nvidia-devices"
STATES = {
    "runc": f"run/runc/{ID}/state.json", "docker": f"run/docker/runtime-runc/moby/{ID}/state.json",
    "containerd": f"run/containerd/runc/k8s.io/{ID}/state.json", "crun": f"run/crun/{ID}/status"}


def container(host, annotations, hooks=(), state="runc", started=STARTED):
    """One that runs, as its runtime and its bundle tell of it."""
    if state == "crun":
        host.put(STATES[state], {"pid": PID, "process-start-time": started, "bundle": "/run/bundle"})
    else:
        host.put(STATES[state], {"id": ID, "init_process_pid": PID, "init_process_start": started,
                                 "config": {"labels": ["x=y", "bundle=/run/bundle"]}})
    host.write(f"proc/{PID}/stat", f"{PID} (sh) S 1 {' '.join(['0'] * 17)} {STARTED} 0 0\n")
    (host.path / f"proc/{PID}/root/dev").mkdir(parents=True, exist_ok=True)
    host.put("run/bundle/config.json", {"annotations": annotations, "hooks": {
        "createRuntime": [{"path": f"/usr/libexec/{name}"} for name in hooks]}})


@pytest.mark.parametrize("key", [
    "io.oci-gpu-hook.nvidia-devices", "io.oci-gpu-hooks/nvidia-devices", "IO.OCI-GPU-Hooks.nvidia-devices",
    "io.oci_gpu_hooks.mount-srv", "oci-gpu-hooks.mount-srv", "nvidia-devices", "com.example.amd-kfd",
    "io.oci-gpu-hoooks.any"])
def test_a_key_that_nearly_matches(command, installed_host, key):
    container(installed_host, {key: "0"})
    findings, status = command.doctor()
    assert status == ERROR
    assert [(severity, text) for severity, text, _ in findings if "annotation '" in text] == [
        ("error", f"container {ID[:12]} (runc) has the annotation '{key}', which no hook knows: it was given nothing "
                  "for it")]


@pytest.mark.parametrize("state", [state for state in STATES if state != "runc"])
def test_where_the_state_of_a_container_is(command, installed_host, state):
    container(installed_host, {"nvidia-devices": "0"}, state=state)
    assert sum("has the annotation 'nvidia-devices'" in each[1] for each in command.doctor()[0]) == 1


@pytest.mark.parametrize("annotations, hooks", [
    ({"org.example.gpu": "0", "io.podman.annotations.init": "x", "run.oci.hooks.stderr": "/x"}, []),
    ({ASKS: "0", "io.oci-gpu-hooks.mount-srv/main": "all"}, ["nvidia-devices", "mount-srv"]),
    ({ASKS: "none"}, [])])
def test_nothing_is_wrong(command, installed_host, annotations, hooks):
    container(installed_host, annotations, hooks)
    assert command.doctor()[1] == OK


@pytest.mark.parametrize("key", [ASKS, f"{ASKS}.lease", "io.oci-gpu-hooks.nvidia-device"])
def test_no_hook_was_called(command, installed_host, key):
    container(installed_host, {key: "0"})
    findings, status = command.doctor()
    assert status == ERROR
    assert any("its config.json calls no hook for it: it was given nothing" in each[1] and each[2]
               for each in findings), findings


def test_a_container_that_has_ended(command, installed_host):
    container(installed_host, {"io.oci-gpu-hook.x": "0"}, started=STARTED - 1)
    assert command.doctor()[1] == OK


def test_one_container_alone(command, installed_host):
    container(installed_host, {})
    done = command.run("doctor", ID[:4])
    assert (done.returncode, done.stdout) == (OK, (
        f"running containers\n  note     container {ID[:12]} (runc) asked for nothing, and has no GPU\n"))
    done = command.run("doctor", "abc")
    assert done.returncode == 2 and "no container runs whose id begins with 'abc'" in done.stderr


def test_nodes_are_listed_and_not_opened(command, installed_host):
    container(installed_host, {ASKS: "0"}, ["nvidia-devices"])
    installed_host.node(f"proc/{PID}/root/dev/nvidia0", 1195, 0)
    installed_host.node(f"proc/{PID}/root/dev/dri/renderD128", 1226, 128)
    installed_host.link(f"proc/{PID}/root/dev/nvidia-uvm", "/etc/passwd")
    findings = command.doctor()[0]
    assert ("note", f"container {ID[:12]} (runc) has '/dev/nvidia0', '/dev/dri/renderD128'", "") in findings


def test_what_a_container_says_does_not_move_the_terminal(command, installed_host):
    container(installed_host, {"io.oci-gpu-hook.\u001b[2J\u202e": "0"})
    done = command.run("doctor")
    assert "\033" not in done.stdout and "\u202e" not in done.stdout and "x1b" in done.stdout


@pytest.fixture(name="machine", params=["v1", "v2"])
def machine_fixture(request):
    host = Host(request.param)
    host.mount("-t", "tmpfs", "none", "/run")
    yield host
    host.close()


def test_a_real_container_and_what_denies_it_its_devices(machine, oci_gpu_hooks, scratch):
    """A node that its device cgroup does not let it open, as after 'podman update'."""
    bundle = Bundle(scratch / "bundle")
    bundle.config["annotations"] = {"io.oci-gpu-hook.nvidia-devices": "0"}
    bundle.config["linux"].pop("cgroupsPath", None)
    bundle.config["process"]["capabilities"]["bounding"] += ["CAP_MKNOD"]
    bundle.config["process"]["capabilities"]["effective"] += ["CAP_MKNOD"]
    bundle.config["process"]["capabilities"]["permitted"] += ["CAP_MKNOD"]
    bundle.script("mknod /dev/nvidia7 c 195 7; mknod /dev/kfd c 1 3; sleep 600")
    bundle.write()
    # The container's program keeps the standard streams.
    machine.run(["sh", "-c", 'exec runc run --detach --bundle "$0" looked-at </dev/null >"$0/out" 2>&1', bundle.folder])
    try:
        done = machine.run(["sh", "-c", 'for i in $(seq 50); do test -e "/proc/$1/root/dev/kfd" && break; sleep 0.1;'
                            ' done; exec "$0" doctor --format json looked', oci_gpu_hooks,
                            str(json.loads(machine.run(["runc", "state", "looked-at"]).stdout)["pid"])], check=False)
        findings = json.loads(done.stdout)["sections"][0]["findings"]
    finally:
        machine.run(["runc", "delete", "--force", "looked-at"])
    texts = [each["text"] for each in findings]
    assert done.returncode == ERROR
    assert any("has '/dev/nvidia7', '/dev/kfd', and none of it" in text for text in texts), texts
    assert any("'/dev/nvidia7' (c 195:7 rw) is denied by " in text for text in texts), texts
    assert not any("'/dev/kfd' (c 1:3 rw) is denied" in text for text in texts), texts


def test_the_word_is_one(oci_gpu_hooks):
    done = Command(oci_gpu_hooks).run("doctor", "a", "b")
    assert done.returncode == 2 and "one container at a time" in done.stderr
