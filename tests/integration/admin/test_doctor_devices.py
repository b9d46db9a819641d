# SPDX-License-Identifier: Apache-2.0
"""oci-gpu-hooks doctor: drivers, nodes, what --allow names, labels."""

import json
import os
import subprocess

import pytest
from hosts import amd, nvidia

from harness.admin import FILES, OWN, SHIPPED, later

pytest_plugins = ["harness.admin_fixtures"]

OK, WARNING, ERROR = 0, 7, 6


@pytest.fixture(name="host")
def host_fixture(installed_host, tmp_path):
    """With two GPUs of NVIDIA's, and all that they take."""
    other = nvidia.NvidiaHost(tmp_path / "gpus", nvidia.TWO, numbers=nvidia.UNUSED)
    subprocess.run(["cp", "-a", f"{other}/.", installed_host.path], check=True)
    installed_host.gpus = other.gpus
    return installed_host


def test_nothing_is_wrong(command, host):
    findings, status = command.doctor()
    assert status == OK, [each for each in findings if each[2]]
    assert ("ok", "nvidia-devices, as podman calls it: a container that asks for a GPU is given one", "") in findings
    assert host.gpus


def without_uvm(host):
    path = host.path / "proc/devices"
    path.write_text("".join(line for line in path.read_text("ascii").splitlines(True) if "uvm" not in line),
                    encoding="ascii")


def labelled(label):
    def break_it(host):
        host.write("sys/fs/selinux/enforce", "1")
        os.setxattr(host.path / "srv/datasets", "security.selinux", label)
    return break_it


def given_by_specification(*args, gpus=()):
    """By cdi-devices with these options, beside nvidia-devices with those of `gpus`."""
    def break_it(host):
        host.write("etc/cdi/vendor.json", json.dumps({
            "cdiVersion": "0.5.0", "kind": "vendor.com/gpu", "devices": [
                {"name": str(index), "containerEdits": {"deviceNodes": [{"path": gpu.node}]}}
                for index, gpu in enumerate(host.gpus)]}))
        host.shipped("cdi-devices", "--give-gpus", *args)
        host.shipped("nvidia-devices", *gpus)
    return break_it


KIND = ("--allow", "vendor.com/gpu", "--max-devices")
PAST = "cdi-devices, as podman calls it, goes round nvidia-devices"
BROKEN = {
    "GPU that only CDI allows": (given_by_specification(*KIND, "1", gpus=("--allow", "0")), ERROR,
                                 PAST + ": it gives the GPU 0000:", "--give-gpus"),
    "more GPUs by CDI": (given_by_specification(*KIND, "2", gpus=("--max-devices", "1")), ERROR,
                         "more GPUs than the 1", "--max-devices"),
    "shared GPUs by CDI": (given_by_specification(*KIND, "1", gpus=("--min-lease", "exclusive")), ERROR,
                           "in shared leases", "--min-lease"),
    "GPU that --allow names": (later.shipped("nvidia-devices", "--allow", "0,7"), ERROR, "--allow names '7'", "--allow"),
    "directory that --allow names": (later.shipped("mount-srv", "--allow", "datasets,data-sets"), ERROR,
                                  "--allow names 'data-sets'", "--allow"),
    "nvidia-uvm is not loaded": (without_uvm, ERROR, "nvidia-uvm is not loaded", "nvidia-devices(8)"),
    "another version's files": (
        later.write("proc/driver/nvidia/version", nvidia.OPEN), ERROR, "needs 'libcuda.so.601.10.03', which",
        "nvidia-devices(8)"),
    "directory without a label": (labelled(b"system_u:object_r:var_t:s0\0"), WARNING,
                               "the type of '/srv/datasets' is 'var_t'", "semanage"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_found(command, host, name):
    break_it, *expected = BROKEN[name]
    break_it(host)
    command.finds(*expected)


def test_gpus_of_a_specification_within_the_policy(command, host):
    """What cdi-devices may give, nvidia-devices may as well."""
    given_by_specification("--allow", "vendor.com/gpu=0", "--max-devices", "1", gpus=("--allow", "0", "--max-devices", "1"))(
        host)
    findings, _ = command.doctor()
    assert not [each for each in findings if "goes round" in each[1]], findings


def test_a_label_of_containers(command, host):
    labelled(b"system_u:object_r:container_file_t:s0\0")(host)
    findings, status = command.doctor()
    assert status == OK, [each for each in findings if each[2]]


def test_a_host_without_gpus(command, installed_host):
    """Whether that is right the host's owner knows: the hook says what it looked for."""
    findings, status = command.doctor()
    assert status == OK and installed_host
    for words in "nvidia-devices: this host has no NVIDIA driver", "amd-kfd: this host has no AMD GPU":
        assert any(each[0] == "note" and each[1].startswith(words) for each in findings), findings


def test_a_host_without_gpus_is_one_for_all_engines(command, installed_host):
    """podman by its own copy, CRI-O by the one that came with the hooks."""
    installed_host.hooks_dir()
    installed_host.put(f"{OWN}/{FILES['nvidia-devices']}", installed_host.document("nvidia-devices", ["--max-devices", "1"]))
    installed_host.program("crio")
    installed_host.write("etc/crio/crio.conf", f'[crio.runtime]\nhooks_dir = ["/{SHIPPED}"]\n')
    findings, _ = command.doctor()
    assert [text for _, text, _ in findings if "no NVIDIA driver" in text] == [
        "nvidia-devices: this host has no NVIDIA driver (no /proc/driver/nvidia/version)"]


def test_amd(command, installed_host, tmp_path):
    other = amd.AmdHost(tmp_path / "gpus")
    subprocess.run(["cp", "-a", f"{other}/.", installed_host.path], check=True)
    assert command.doctor()[1] == OK
    installed_host.remove("sys/class/kfd/kfd")
    installed_host.remove("sys/devices/virtual/kfd")
    command.finds(ERROR, "the amdgpu driver has no compute (KFD)", "amd-kfd(8)")
