# SPDX-License-Identifier: Apache-2.0
"""A worker that is a container itself: runc runs in a container of runc's, privileged as under Docker, or with a user
namespace and a cgroup of its own as under LXD with security.nesting. The nodes of its GPUs were passed in, or the hook
itself gave them."""

import os
import shutil
import subprocess

import pytest

from harness.bundle import Bundle
from harness.expect import started
from harness.nvidia_container import ALLOWED, PROBE, probed
from hosts.nvidia import EIGHT

pytest_plugins = ["harness.nvidia_fixtures"]

FIRST, SIZE = 1000000, 1000000
CGROUP = "nested"
POWERS = [f"CAP_{name}" for name in (
    "CHOWN DAC_OVERRIDE FOWNER KILL SETGID SETUID SETPCAP NET_BIND_SERVICE NET_ADMIN SYS_CHROOT SYS_PTRACE SYS_ADMIN"
    " MKNOD AUDIT_WRITE BPF PERFMON").split()]
LOOK = f"{PROBE} probe $(ls -d /dev/nvidia[0-9]*)"


def open_up(config):
    """Nothing of the kernel is hidden from the container, and no device denied."""
    config["process"].update(capabilities={kind: POWERS for kind in ("bounding", "effective", "permitted")},
                             noNewPrivileges=False)
    config["linux"].update(maskedPaths=[], readonlyPaths=[],
                           resources={"devices": [{"allow": True, "access": "rwm"}]})
    if {"type": "cgroup"} not in config["linux"]["namespaces"]:
        config["linux"]["namespaces"].append({"type": "cgroup"})
    for mount in config["mounts"]:
        mount["options"] = [option for option in mount.get("options", []) if option != "ro"]


def give_own_users(bundle):
    """A user namespace whose root the container's cgroup belongs to, as LXD delegates it."""
    linux = bundle.config["linux"]
    linux["namespaces"].append({"type": "user"})
    for kind in ("uidMappings", "gidMappings"):
        linux[kind] = [{"containerID": 0, "hostID": FIRST, "size": SIZE}]
    linux["cgroupsPath"] = f"/{CGROUP}"
    bundle.hook("createRuntime", [{"path": "/bin/chown", "env": ["PATH=/bin"],
                                   "args": ["chown", "-R", f"{FIRST}:{FIRST}", f"/sys/fs/cgroup/{CGROUP}"]}])


@pytest.fixture(name="nested")
def nested_fixture(nv_host, built, scratch):
    """A function that runs a box in a container of its own, which has the programs of the host."""
    def run(box, script, mapped):
        host = nv_host("v2")
        outer = Bundle(scratch / "outer")
        open_up(outer.config)
        outer.config["root"] = {"path": str(scratch / "host"), "readonly": True}
        (scratch / "host").mkdir()
        host.mount("--bind", "/", scratch / "host")
        for directory in ("/run", "/tmp"):
            outer.mount(directory, "tmpfs", "mode=755", fstype="tmpfs")
        for directory in (scratch, built):
            outer.mount(str(directory), directory, "rbind", "rw")
        if mapped:
            give_own_users(outer)
            for path in [box.rootfs, *box.rootfs.rglob("*")]:
                os.lchown(path, FIRST, FIRST)
        box.bundle.script(script)
        box.bundle.hook("createRuntime", [box.hook.entry(box.args)])
        box.bundle.write()
        outer.config["process"]["args"] = ["/usr/sbin/runc", "--root", "/run/runc", "run", "--bundle",
                                           str(box.bundle.directory), "inner"]
        outer.write()
        return host.run(box.runtime.command("run", "--bundle", outer.directory, f"outer-{scratch.name}"), check=False,
                        stdin=subprocess.DEVNULL)

    return run


@pytest.mark.parametrize("mapped", [False, True], ids=["docker", "lxd"])
def test_a_worker_in_a_container_hands_out_what_was_passed_in(nv_box, machine, nested, mapped):
    (machine.path / EIGHT[1].node.lstrip("/")).unlink()
    done = nested(nv_box("0", cgroup="v2"), LOOK, mapped)
    seen = probed(done.stdout)
    assert list(seen) == [EIGHT[0].node] and seen[EIGHT[0].node].said == ALLOWED, done.stderr


@pytest.mark.parametrize("mapped", [False, True], ids=["docker", "lxd"])
def test_a_gpu_that_was_not_passed_in(nv_box, machine, nested, mapped):
    """The driver shows it nevertheless, and the host's root makes its node: that is what --allow is for."""
    (machine.path / EIGHT[1].node.lstrip("/")).unlink()
    done = nested(nv_box("1", cgroup="v2"), LOOK, mapped)
    if not mapped:
        assert list(probed(done.stdout)) == [EIGHT[1].node]
        return
    assert done.returncode and not done.stdout
    assert f"no '{machine}{EIGHT[1].node}', and without the host's root none can be made" in done.stderr


@pytest.fixture(name="worker")
def worker_fixture(nv_host, nv_box, built, machine, scratch):
    """A container that the hook gives the second GPU, with the programs of the host. Its /dev, and what it has in
    /proc/driver, are those of the host of runc's containers inside."""
    box, host = nv_box("1", cgroup="v2"), nv_host("v2")
    open_up(box.config)
    box.config["linux"]["resources"] = {"devices": [{"allow": False, "access": "rwm"}]}
    for name in ("root", "upper", "work"):
        (scratch / name).mkdir()
    host.mount("-t", "overlay", "-o", f"lowerdir=/,upperdir={scratch}/upper,workdir={scratch}/work", "overlay",
               scratch / "root")
    box.config["root"] = {"path": str(scratch / "root"), "readonly": False}
    (scratch / "inside/run").mkdir(parents=True)
    for directory in ("/run", "/tmp"):
        box.bundle.mount(directory, "tmpfs", "mode=755", fstype="tmpfs")
    for directory in (scratch, built):
        box.bundle.mount(str(directory), directory, "rbind", "rw")
    box.bundle.mount(str(scratch / "inside/run"), "tmpfs", fstype="tmpfs")
    # What a GPU does not hide: the driver's libraries, and the numbers of its devices.
    shutil.copytree(machine.path, scratch / "inside", symlinks=True, dirs_exist_ok=True,
                    ignore=lambda directory, names: names if directory.endswith(("/dev", "/proc/driver")) else [])
    return box


def run_inside(worker, nv_box, scratch, request):
    """A container of runc's in the worker."""
    inner = nv_box(request, "--sysroot", scratch / "inside", cgroup="v2")
    inner.bundle.script(LOOK)
    inner.bundle.hook("createRuntime", [inner.hook.entry(["--sysroot", scratch / "inside"])])
    inner.bundle.write()
    return worker.run(f"mount --bind /dev '{scratch}/inside/dev' &&"
                      f" mount --rbind /proc/driver '{scratch}/inside/proc/driver' &&"
                      f" exec /usr/sbin/runc --root /run/runc run --bundle '{inner.bundle.directory}' inner")


def test_a_worker_that_has_its_gpu_by_the_hook(worker, nv_box, scratch):
    """It can hand out this one, by its UUID or as all that it has."""
    for request in ("all", EIGHT[1].uuid):
        seen = probed(started(run_inside(worker, nv_box, scratch, request)))
        assert list(seen) == [EIGHT[1].node] and seen[EIGHT[1].node].said == ALLOWED


def test_a_worker_that_has_its_gpu_by_the_hook_knows_no_other(worker, nv_box, scratch):
    done = run_inside(worker, nv_box, scratch, EIGHT[0].uuid)
    assert done.code and not done.out
    assert f"no GPU '{EIGHT[0].uuid}': this host has 0 ({EIGHT[1].uuid})" in done.err
