# SPDX-License-Identifier: Apache-2.0
"""What podman itself does after oci-gpu-hooks install and uninstall."""

import json

import pytest

from harness.admin import FILES, OWN

pytest_plugins = ["harness.admin_fixtures"]

EVERYTHING, SOME = ["datasets", "models"], ["datasets"]


@pytest.fixture(name="run")
def run_fixture(machine, files, oci_gpu_hooks):
    """A function that runs the command: run(name, *words)."""
    files.program("podman")
    return lambda name, *words: machine.run([oci_gpu_hooks, name, "--sysroot", files.path, *words], check=False)


def test_podman_applies_the_policy_until_it_is_removed(files, seen, run):
    assert seen() == EVERYTHING
    assert run("install", "--engine", "podman", "mount-srv", "--allow", "datasets").returncode == 0
    assert seen() == SOME and (files.path / OWN / FILES["mount-srv"]).exists()
    assert run("uninstall").returncode == 0
    assert seen() == EVERYTHING


def test_podman_takes_the_devices(machine, files, seen, run, scratch):
    """By the name of a device, and no annotation."""
    done = run("install", "--engine", "docker", "mount-srv", "--allow", "datasets")
    assert done.returncode == 0, done.stderr
    for name in ("upper", "work"):
        (scratch / name).mkdir()
    machine.mount("-t", "overlay", "-o", f"lowerdir=/etc,upperdir={scratch}/upper,workdir={scratch}/work", "overlay",
                  "/etc")
    machine.run(["cp", "-r", files.path / "etc/cdi", "/etc/"])
    kind = "io.oci-gpu-hooks/mount-srv"
    spec, = (files.path / "etc/cdi").iterdir()
    names = [device["name"] for device in json.loads(spec.read_text("utf-8"))["devices"]]
    assert names == ["all", "datasets"], "and not what the policy does not hand out"
    assert seen("--device", f"{kind}=all") == SOME
    assert seen("--device", f"{kind}=datasets") == SOME
    assert seen("--device", f"{kind}=models") is None
