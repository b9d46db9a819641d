# SPDX-License-Identifier: Apache-2.0
"""docker, whose containers ask by the name of a CDI device: with and without a user namespace each hook gives what it
gives elsewhere, also to a later exec, after an update and a restart; a refusal is shown with the hook's own text."""

import pytest

from harness import cdi, proc_directories, rootfs
from harness.amd_container import SHOW
from harness.amd_container import given as given_amd
from harness.docker import Docker
from harness.expect import started
from harness.nvidia_container import PROBE, given, probed
from harness.rootless import add_user

pytest_plugins = ["harness.nvidia_fixtures", "harness.amd_fixtures"]

NVIDIA, AMD, SRV = (f"{cdi.KIND}/{name}" for name in ("nvidia-devices", "amd-kfd", "mount-srv"))
NODES = f"{PROBE} probe /dev/nvidia*"


@pytest.fixture(name="docker", params=[False, True], ids=["docker", "docker-userns"])
def docker_fixture(request, nv_host, scratch):
    host = nv_host("v2")
    add_user(host, scratch)
    daemon = Docker(host, scratch / "docker", request.param)
    image = rootfs.make(scratch / "image")
    daemon.add_image(image)
    yield daemon
    daemon.close()


@pytest.fixture(name="proc")
def proc_fixture(docker):
    """The device that is asked for first: with it a container has the directory that this kernel's driver would make."""
    [entry] = proc_directories.hooks(["/proc/driver", "/proc/driver/nvidia"])
    return cdi.write_hook(docker.specs, "proc", entry)


@pytest.fixture(name="nvidia")
def nvidia_fixture(docker, built, machine):
    """A function that makes the specification, with options of the host's."""
    def write(*options):
        return cdi.write(docker.specs, built / "hooks/nvidia-devices/nvidia-devices", *options,
                         sysroot=machine.path)
    return write


def test_a_gpu(docker, proc, nvidia, machine):
    assert {"0", "all", "any:1", machine.gpus[1].uuid} <= set(nvidia())
    with docker.alive([proc, f"{NVIDIA}={machine.gpus[1].uuid}"]) as name:
        for action in ((), ("update", "--memory", "64m", "--memory-swap", "64m"), ("restart", "--time", "0")):
            if action:
                docker.call(*action, name)
            for user in (0, 1000):
                assert probed(docker.exec(name, user, NODES)) == given(machine.gpus[1]), action
    out = started(docker.run([proc, f"{NVIDIA}=0", f"{NVIDIA}=3"], f"{NODES}; ls /proc/driver/nvidia/gpus"))
    assert out.endswith(f"{machine.gpus[0].address}\n{machine.gpus[3].address}\n")
    assert probed("".join(line for line in out.splitlines(True) if "|" in line)) == given(machine.gpus[0],
                                                                                           machine.gpus[3])
    assert started(docker.run([], "echo /dev/nvidia*")) == "/dev/nvidia*\n"


def test_what_is_refused(docker, nvidia):
    """Here the person sees what the hook says."""
    nvidia("--max-devices", "1")
    for name, code, words in (("12", 3, "no GPU '12': this host has 0 ("), ("any:2", 5, "--max-devices")):
        result = docker.run([f"{NVIDIA}={name}"], "echo started")
        assert result.code != 0 and result.out == ""
        assert f"exit status {code}" in result.err and words in result.err, result.err
    assert "unresolvable CDI devices" in docker.run([f"{NVIDIA}=33"], "echo started").err


def test_an_executable_that_is_missing(docker, machine, built, scratch):
    missing = scratch / "nvidia-devices"
    missing.write_bytes((built / "hooks/nvidia-devices/nvidia-devices").read_bytes())
    missing.chmod(0o755)
    cdi.write(docker.specs, missing, sysroot=machine.path)
    missing.unlink()
    result = docker.run([f"{NVIDIA}=0"], "echo started")
    assert result.out == "" and f"{missing}: no such file" in result.err


def test_an_amd_gpu(docker, built, amd_machine):
    names = cdi.write(docker.specs, built / "hooks/amd-kfd/amd-kfd", sysroot=amd_machine.path)
    assert "0" in names
    with docker.alive([f"{AMD}=0"]) as name:
        for user in (0, 1000):
            assert probed(docker.exec(name, user, SHOW)) == given_amd(amd_machine.gpus[0])
    assert "no GPU '7'" in docker.run([f"{AMD}=7"], "true").err


def test_directories(docker, built, srv):
    srv.directories("datasets", "x_rw")
    names = cdi.write(docker.specs, built / "hooks/mount-srv/mount-srv", "--source-dir", srv.path)
    assert names == ["all", "datasets", "x_rw"]
    with docker.alive([f"{SRV}=datasets"]) as name:
        assert docker.exec(name, 1000, "cat /srv/datasets/words; ls /srv") == "words of datasets\ndatasets\n"
    result = docker.run([f"{SRV}=all"], "cat /srv/datasets/words; echo x > /srv/datasets/words")
    assert result.out == "words of datasets\n" and "Read-only file system" in result.err
