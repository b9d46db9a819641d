# SPDX-License-Identifier: Apache-2.0
"""docker's own flag --gpus, once 'oci-gpu-hooks install --engine docker --gpus' was run and docker started: who has the flag
gets what it says, within the host's policy, and nobody else gets anything."""

import os
import subprocess

import pytest
from hosts.driver import PARTS

from harness import debian_root, rootfs
from harness.admin import RealHost
from harness.containerd import programs
from harness.docker import Docker
from harness.driver_container import found
from harness.engine_api import Api, Starting
from harness.expect import started
from harness.gpu_examples import EXAMPLES, IMAGE, make_image
from harness.gpu_examples import nodes as nodes_in
from harness.nvidia_container import PROBE, given, probed
from harness.stopped import wait_until

pytest_plugins = ["harness.nvidia_fixtures", "harness.driver_fixtures"]

SHOW = f"{PROBE} probe $(find /dev -name 'nvidia*' -type c | sort)"
SCRIPT = "/usr/local/bin/nvidia-container-runtime-hook"


@pytest.fixture(name="host")
def host_fixture(nv_host, built, scratch, monkeypatch):
    """With the hooks installed, and docker's programs before those of this machine."""
    monkeypatch.setenv("PATH", f"{programs('dockerd')}:{os.environ['PATH']}")
    host = nv_host("v2")
    RealHost(scratch / "host", built, host)
    for name in ("upper", "work"):
        (scratch / name).mkdir()
    host.mount("-t", "overlay", "-o", f"lowerdir=/var/lib,upperdir={scratch}/upper,workdir={scratch}/work", "overlay",
               "/var/lib")
    return host


@pytest.fixture(name="command")
def command_fixture(host, build_root):
    """A function that runs oci-gpu-hooks on that host."""
    return lambda *words: host.run([build_root / "admin/oci-gpu-hooks", *words], check=False)


@pytest.fixture(name="install")
def install_fixture(command, machine):
    """A function that installs the flag with a policy."""
    def install(*policy):
        done = command("install", "--engine", "docker", "--gpus", "nvidia-devices", *policy, "--sysroot", machine.path)
        assert done.returncode == 0, done.stderr
        return done.stdout
    return install


@pytest.fixture(name="docker")
def docker_fixture(host, install, scratch):
    """Started when the flag is installed, which is what it looks at."""
    install()
    docker = Docker(host, scratch / "docker")
    docker.add_image(rootfs.make(scratch / "image"))
    yield docker
    docker.close()


@pytest.fixture(name="run")
def run_fixture(docker):
    """A function that runs a container with these options of docker's, and gives its Result."""
    return lambda *options, script=SHOW: docker.run([], script, *options)


def gpus_of(machine, result):
    """The places of the GPUs that a container has."""
    seen = probed(started(result))
    places = [place for place, gpu in enumerate(machine.gpus) if gpu.node in seen]
    assert seen == given(*[machine.gpus[place] for place in places]), seen
    return places


def test_what_the_flag_says(run, machine):
    """In docker's own words: a place, several, a UUID, a count, all; and any that is free."""
    for value, places in (("device=1", [1]), ('"device=3,0"', [0, 3]), (f"device={machine.gpus[2].uuid}", [2]),
                          ("2", [0, 1]), ("all", list(range(len(machine.gpus))))):
        assert gpus_of(machine, run("--gpus", value)) == places, value
    assert len(gpus_of(machine, run("--gpus", "device=any:1"))) == 1
    assert gpus_of(machine, run("--gpus", '"device=any:1,5"'))[-1] == 5


def test_nobody_asks_without_it(run, docker):
    """Whatever an image or -e says."""
    docker.call("run", "--name", "made", "--network", "none", "image", "true")
    docker.call("commit", "--change", "ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=all", "made", "image")
    for options in ((), ("--env", "NVIDIA_VISIBLE_DEVICES=0")):
        assert started(run(*options, script="find /dev -name 'nvidia*'")) == ""


def test_the_flag_wins_over_the_image(run, docker, machine):
    docker.call("run", "--name", "made", "--network", "none", "image", "true")
    docker.call("commit", "--change", "ENV NVIDIA_VISIBLE_DEVICES=all", "made", "image")
    assert gpus_of(machine, run("--gpus", "device=1")) == [1]
    assert gpus_of(machine, run("--gpus", "device=1", "--env", "NVIDIA_VISIBLE_DEVICES=0")) == [1]


def test_the_policy(run, install, machine):
    """In force with the next container: docker need not be started again."""
    install("--max-devices", "1", "--allow", "0,1,2")
    assert gpus_of(machine, run("--gpus", "device=2")) == [2]
    for value, status, words in (("2", 5, "--max-devices"), ("device=3", 5, "--allow"), ("device=12", 3, "no GPU '12'")):
        result = run("--gpus", value)
        assert result.code != 0 and result.out == "" and words in result.err, result
        assert f"exit status {status}" in result.err, result.err


def test_a_count_of_any(docker, run, install, machine):
    """Two containers that take one each: by docker's own counting both would have the first."""
    install("--count-means", "any", "--min-lease", "exclusive")
    with docker.alive([], "--gpus", "1") as name:
        first = probed(docker.exec(name, 0, SHOW))
        second = gpus_of(machine, run("--gpus", "1"))
        assert len(second) == 1 and machine.gpus[second[0]].node not in first
        assert len(gpus_of(machine, run("--gpus", "2"))) == 2


def test_a_lease(docker, run, install, machine):
    install("--min-lease", "exclusive")
    with docker.alive([], "--gpus", "device=1"):
        result = run("--gpus", "device=1")
        assert "exit status 4" in result.err, result.err
    assert gpus_of(machine, run("--gpus", "device=1")) == [1]


def test_jobs_of_a_runner(docker, install, leases, scratch):
    """By the API, with what `docker run --gpus device=any:1` sends: each job has a GPU for itself, or waits. One that is
    cancelled meanwhile is gone when the hook has ended, without having had a GPU for longer."""
    install("--allow", "0", "--min-lease", "exclusive", "--max-wait", "1m")
    docker.call("tag", "image", "localhost/image")
    api = Api(scratch / "docker/docker.sock")
    gpu = [{"Driver": "", "Count": 0, "DeviceIDs": ["any:1"], "Capabilities": [["gpu"]], "Options": {}}]
    first, second, third = (api.create(name, "exec sleep 1000", DeviceRequests=gpu) for name in ("1st", "2nd", "3rd"))
    assert api.start(first)[0] == 204
    starting = Starting(api, second)
    leases.wait_for(second)
    api.remove(first)
    assert starting.end()[0] == 204 and leases.rows("container") == [(second,)]
    starting = Starting(api, third)
    leases.wait_for(third)
    starting.connection.sock.close()
    removing = api.begin("DELETE", f"/containers/{third}?force=true")
    api.remove(second)
    assert api.answer(removing)[0] in (204, 404, 409)
    api.remove(third)
    wait_until(leases.are_free, "the GPU of the job that was cancelled is not free")


def has_compose():
    """Debian 12's has none; there is no test of that name then."""
    try:
        return subprocess.run(["docker", "compose", "version"], check=False, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def by_compose(test):
    return test if has_compose() else None


@by_compose
def test_compose(docker, scratch, machine):
    """The file in examples, as it stands."""
    docker.add_image(make_image(scratch / "cuda"))
    docker.call("tag", "image", IMAGE)
    done = docker.call("compose", "--file", EXAMPLES / "compose/docker-gpus.yaml", "run", "--rm", "--no-TTY", "train",
                       check=False)
    assert probed(nodes_in(done)) == given(*machine.gpus[:2]), done


def test_the_loader_finds_the_driver(docker, run, installed, scratch):
    """The script calls ldcache-update, too. The program opens each library by its name alone."""
    docker.add_image(debian_root.add_glibc(rootfs.make(scratch / "glibc")))
    names = installed.names(PARTS)
    out = started(run("--gpus", "device=1", "--env", "NVIDIA_DRIVER_CAPABILITIES=all",
                      script=f"nvidia-smi {' '.join(names)}"))
    assert found(out) == names


def test_what_the_image_requires(run, docker, machine):
    docker.call("run", "--name", "made", "--network", "none", "image", "true")
    docker.call("commit", "--change", "ENV NVIDIA_REQUIRE_CUDA=cuda>=99.0", "made", "image")
    result = run("--gpus", "all")
    assert "NVIDIA_REQUIRE_CUDA" in result.err and result.code != 0, result
    assert gpus_of(machine, run("--gpus", "device=1", "--env", "NVIDIA_DISABLE_REQUIRE=1")) == [1]
