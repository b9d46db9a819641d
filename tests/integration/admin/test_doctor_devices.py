# SPDX-License-Identifier: Apache-2.0
"""oci-gpu-hooks doctor: drivers, nodes, what --allow names, labels."""

import json
import os
import subprocess

import pytest
from hosts import amd, nvidia

from harness.admin import FILES, SHIPPED

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


def with_args(hook, *args):
    return lambda host: host.put(f"{SHIPPED}/{FILES[hook]}", host.document(hook, args))


def without_uvm(host):
    path = host.path / "proc/devices"
    path.write_text("".join(line for line in path.read_text("ascii").splitlines(True) if "uvm" not in line),
                    encoding="ascii")


def another_module(host):
    host.write("proc/driver/nvidia/version", nvidia.OPEN)


def bound_to(driver):
    def break_it(host):
        folder = host.path / host.device_folder(host.gpus[0].address)
        (folder / "driver").unlink()
        if driver:
            (folder / "driver").symlink_to(f"../../../bus/pci/drivers/{driver}")
    return break_it


def amd_without_kfd(host):
    host.add_device("0000:c1:00.0", "amdgpu", vendor="0x1002", **{"class": "0x030000"})


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
        with_args("cdi-devices", "--give-gpus", *args)(host)
        with_args("nvidia-devices", *gpus)(host)
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
    "GPU that --allow names": (with_args("nvidia-devices", "--allow", "0,7"), ERROR, "--allow names '7'", "--allow"),
    "folder that --allow names": (with_args("mount-srv", "--allow", "datasets,data-sets"), ERROR,
                                  "--allow names 'data-sets'", "--allow"),
    "nvidia-uvm is not loaded": (without_uvm, ERROR, "nvidia-uvm is not loaded", "nvidia-devices(8)"),
    "another version's files": (another_module, ERROR, "the driver's files are '555.42.07'", "restart of the host"),
    "GPU of another driver": (bound_to("nouveau"), WARNING, "is bound to 'nouveau' and not to nvidia", "modprobe"),
    "GPU of a virtual machine": (bound_to("vfio-pci"), WARNING, "is bound to 'vfio-pci'", "virtual machine"),
    "GPU without a driver": (bound_to(""), WARNING, "is bound to no driver", "modprobe nvidia"),
    "amdgpu without KFD": (amd_without_kfd, ERROR, "without KFD", "CONFIG_HSA_AMD"),
    "folder without a label": (labelled(b"system_u:object_r:var_t:s0\0"), WARNING,
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


def test_a_node_that_is_missing_is_noted(command, host):
    host.remove("dev/nvidiactl")
    assert any(each[0] == "note" and "there is no /dev/nvidiactl" in each[1] for each in command.doctor()[0])


def test_amd(command, installed_host, tmp_path):
    other = amd.AmdHost(tmp_path / "gpus")
    subprocess.run(["cp", "-a", f"{other}/.", installed_host.path], check=True)
    assert command.doctor()[1] == OK
