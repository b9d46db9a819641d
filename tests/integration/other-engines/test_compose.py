# SPDX-License-Identifier: Apache-2.0
"""The files in examples/compose, as they stand: the container has the GPUs that its file names."""

import pytest

from harness.docker import Docker
from harness.gpu_examples import EXAMPLES, IMAGE, make_image, nodes, podman_program, specify, writable_etc
from harness.nvidia_container import given, probed
from harness.podman import Podman

pytest_plugins = ["harness.nvidia_fixtures"]

KIND = ("--cdi=nvidia.com/gpu",)


@pytest.fixture(name="image")
def image_fixture(scratch):
    return make_image(scratch / "image")


def test_docker_compose(nv_host, nv_hook, machine, image, scratch):
    docker = Docker(nv_host("v2"), scratch / "docker")
    try:
        docker.add_image(image)
        docker.call("tag", "image", IMAGE)
        specify(docker.specs, nv_hook, machine, *KIND)
        done = docker.call("compose", "--file", EXAMPLES / "compose/docker.yaml", "run", "--rm", "--no-TTY", "train",
                           check=False)
        assert probed(nodes(done)) == given(*machine.gpus[:2]), done
    finally:
        docker.close()


def test_podman_compose(nv_host, nv_hook, machine, image, scratch):
    host = nv_host("not-hybrid")
    specify(writable_etc(host, scratch), nv_hook, machine, *KIND)
    podman = Podman(scratch / "podman", "runc")
    program = podman_program(host, podman, image, scratch)
    done = host.run(["podman-compose", "--podman-path", program, "--no-ansi", "--file", EXAMPLES / "compose/podman.yaml",
                     "run", "--rm", "train"], check=False)
    podman.clean(host)
    assert probed(nodes(done)) == given(*machine.gpus[:2]), done
