# SPDX-License-Identifier: Apache-2.0
"""The driver's files in containers of every kind: each library opens by each of its names, through the loader
cache or through LD_LIBRARY_PATH alone, nvidia-smi is found by PATH, and nobody inside can change or uncover
anything."""

import errno
import os
import socket
import subprocess
from dataclasses import dataclass

import pytest

from harness import driver_images, engines
from harness.bundle import Bundle
from harness.driver_container import IN_PATH, LD_LIBRARY_PATH, environment, found, mounts_of_tree, opened
from harness.expect import started, told
from harness.ldcache import CACHE, I386, read
from harness.nvidia_container import ALLOWED, CAPABILITIES, KEY
from harness.rootless import RootlessBox, RootlessPodman, add_user
from hosts.driver import DEBIAN, DIRECTORIES, NO_CACHE_DEBIAN, PARTS, POINT

pytest_plugins = ["harness.nvidia_fixtures", "harness.ldcache_fixtures", "harness.driver_fixtures"]

RUNC, CRUN = engines.RUNTIMES
SOCKET = "/run/nvidia-persistenced/socket"


@dataclass(frozen=True)
class Cell:
    """A container. `cache`: the loader's is renewed; if not, there is LD_LIBRARY_PATH. `path`: PATH has the tree."""

    engine: engines.Engine
    image: callable
    cache: bool
    path: bool
    readonly: bool = False

    def __str__(self):
        return "-".join([str(self.engine), self.image.__name__, "cache" if self.cache else "LD_LIBRARY_PATH",
                         *(["PATH"] if self.path else []), *(["readonly"] if self.readonly else [])])


CELLS = [Cell(RUNC, driver_images.debian, True, False),
         Cell(RUNC, driver_images.lib64, True, True, True),
         Cell(RUNC, driver_images.distroless, False, True),
         Cell(RUNC, driver_images.distroless, True, False, True),
         Cell(CRUN, driver_images.distroless, True, False),
         Cell(CRUN, driver_images.small, False, False, True),
         Cell(engines.MAPPED[0], driver_images.small, True, False),
         Cell(engines.MAPPED[0], driver_images.lib64, False, True, True),
         Cell(engines.MAPPED[1], driver_images.distroless, True, True, True),
         Cell(engines.MAPPED[1], driver_images.lib64, True, False),
         Cell(engines.PODMANS[0], driver_images.small, True, False),
         Cell(engines.PODMANS[1], driver_images.lib64, False, True),
         Cell(engines.MAPPED_PODMANS[0], driver_images.lib64, True, False),
         Cell(engines.MAPPED_PODMANS[1], driver_images.small, False, True, True)]


def prepare(box, cell):
    """Gives the box the environment of the cell, and its kind of root."""
    if cell.path:
        environment(box, PATH=IN_PATH)
    if not cell.cache:
        environment(box, LD_LIBRARY_PATH=LD_LIBRARY_PATH)
    box.config["root"]["readonly"] = cell.readonly
    if cell.engine.podman and cell.readonly:
        box.options.append("--read-only")
    return box


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_every_library_opens_and_nvidia_smi_is_found(files_box, installed, cell):
    box = prepare(files_box("all", image=cell.image, engine=cell.engine, cache=cell.cache), cell)
    names = installed.names(PARTS)
    assert len(names) > 70 and names["libcuda.so"] == f"{POINT}/lib64/libcuda.so.555.42.07"
    assert opened(box, [*names, "/dev/nvidiactl"]) == names | {"/dev/nvidiactl": ALLOWED}
    link = box.rootfs / "usr/bin/nvidia-smi"
    assert os.path.lexists(link) is not cell.path or hasattr(box, "upper")


@pytest.mark.parametrize("engine", [RUNC, engines.MAPPED[1], engines.PODMANS[0]], ids=str)
def test_what_there_is_by_default(files_box, installed, engine):
    """compute and utility, and not one file more; links lead to files, and a socket answers."""
    box = files_box(engine=engine)
    with socket.socket(socket.AF_UNIX) as listener:
        path = str(installed.root / SOCKET[1:])
        os.unlink(path)
        listener.bind(path)
        os.chmod(path, 0o666)
        listener.listen()
        out = started(box.run(f"cd {POINT}; find . -type f -o -type s -o -type d -name nvidia-mps; echo --;"
                              f" find . -type l | while read l; do [ -e $l ] || echo $l; done; echo --;"
                              f" nvidia-smi libcuda.so.1 libnvidia-ml.so.1 libnvidia-glcore.so.555.42.07 {SOCKET}"
                              f" /run/nvidia-fabricmanager/socket; echo --; cat /etc/OpenCL/vendors/nvidia.icd"
                              f" /lib/firmware/nvidia/555.42.07/gsp_tu10x.bin; touch /tmp/nvidia-mps/pipe"))
    files, dangling, said, text = out.split("--\n")
    own = {name for name in files.split() if name.startswith("./.oci-gpu-hooks/")}
    assert {name[2:] for name in set(files.split()) - own} == installed.paths(["compute", "utility"])
    assert dangling == "" and "./.oci-gpu-hooks/ld-directories" in own
    said = found(said)
    assert said.pop("libnvidia-glcore.so.555.42.07").startswith("- ")
    assert said == {"libcuda.so.1": f"{POINT}/lib64/libcuda.so.555.42.07", SOCKET: "open",
                    "libnvidia-ml.so.1": f"{POINT}/lib64/libnvidia-ml.so.555.42.07",
                    "/run/nvidia-fabricmanager/socket": "Connection refused"}
    assert text == "libnvidia-opencl.so.1\ngsp_tu10x.bin of the host\n"
    assert (installed.root / "tmp/nvidia-mps/pipe").exists()


@pytest.mark.parametrize("installed, engine", [
    (DEBIAN, RUNC), (DIRECTORIES, engines.MAPPED[1]), (NO_CACHE_DEBIAN, CRUN)], ids=str, indirect=["installed"])
def test_drivers_of_other_hosts(files_box, installed, engine):
    """Laid out otherwise than the image is, with links in between, and without a cache."""
    names = installed.names(PARTS)
    assert len(names) > 70 and opened(files_box("all", image=driver_images.lib64, engine=engine), names) == names


def test_a_user_who_is_not_root_can_use_it_all(files_box, installed):
    box = files_box()
    for name in ("CAP_SETUID", "CAP_SETGID"):
        box.add_capability(name)
    assert installed.places
    said = found(started(box.run("su user -c nvidia-smi")))
    assert said.pop("/dev/nvidiactl") == ALLOWED
    assert [path.rpartition("/")[0] for path in said.values()] == [f"{POINT}/lib64"] * 2


FILE = f"{POINT}/lib64/libcuda.so.555.42.07"
TRIES = ("for place in FILE POINT BIN; do mount -o remount,bind,rw $place;"
         " mount -o remount,bind,ro,suid,dev $place; done;"
         " for place in FILE BIN; do umount $place; umount -l $place; done;"
         " echo x > FILE; echo x > POINT/x; rm FILE; mv FILE /tmp/x; rm -r DIRECTORY POINT/share;"
         " ln -sf /tmp/x DIRECTORY/libcuda.so.1; chmod 777 FILE; mount -t tmpfs x DIRECTORY && umount DIRECTORY; true")
for word, meaning in (("FILE", FILE), ("DIRECTORY", f"{POINT}/lib64"), ("POINT", POINT), ("BIN", "/usr/bin/nvidia-smi")):
    TRIES = TRIES.replace(word, meaning)


@pytest.mark.parametrize("engine", [RUNC, *engines.MAPPED], ids=str)
def test_nothing_of_it_can_be_changed_or_uncovered(files_box, installed, engine):
    """By the root of a user namespace neither, who may mount; all of it is read-only, nosuid and nodev. As a
    whole that one may unmount it: what comes to light is the image's."""
    box = files_box("all", engine=engine)
    if engine.mapped:
        box.add_capability("CAP_SYS_ADMIN")
    before_it = {path: os.stat(path).st_mtime_ns for path in installed.places.values()}
    look = f"cat /proc/self/mountinfo; echo ==; cd {POINT}; find . -exec stat -c '%n %a %i %Y' {{}} +"
    out = started(box.run(f"{look}; echo ====; exec 2>/dev/null; {TRIES}; {look}"))
    before, after = out.split("====\n")
    assert after == before
    mounts = mounts_of_tree(before.split("==\n")[0])
    assert set(mounts) == {POINT, *(f"{POINT}/{path}" for path in installed.paths(PARTS))}
    assert mounts[POINT].source == "oci-gpu-hooks" and mounts[POINT].fstype == "tmpfs"
    for point, mount in mounts.items():
        assert {"nosuid", "nodev"} <= mount.options, mount
        assert ("ro" in mount.options) is not point.startswith(f"{POINT}/run/"), mount
        assert not [word for word in mount.propagation if word.startswith("shared")], mount
    assert "noexec" not in mounts[POINT].options
    assert before_it == {path: os.stat(path).st_mtime_ns for path in installed.places.values()}


def test_rootless_podman(nv_host, nv_hook, ld_hook, machine, installed, scratch):
    """The files are mounted as the user, and cannot be changed either."""
    for path in (machine.path / "dev/dri").iterdir():
        path.chmod(0o666)
    host = nv_host("v2")
    os.chmod(host.path("/dev/log"), 0o666)
    add_user(host, scratch)
    podman = RootlessPodman(scratch / "podman")
    bundle = Bundle(scratch / "box")
    box = RootlessBox(host, podman, bundle, nv_hook, ["--sysroot", machine, "--log-level", "info"])
    driver_images.small(box)
    RootlessBox.__init__(box, host, podman, bundle, nv_hook, box.args)  # once more: the owner of all files
    ld_hook.write(podman.hooks / "90-ldcache-update.json", ld_hook.entry(), "createRuntime")
    box.annotations.update({KEY: "1", CAPABILITIES: "all"})
    names = installed.names(PARTS)
    try:
        result = box.run(f"nvidia-smi {' '.join(names)}; echo x > {FILE} || mount -o remount,bind,rw {FILE}"
                         f" || umount {FILE} || umount {POINT} || echo refused")
    finally:
        podman.clean(host)
    out = started(result).splitlines()
    assert out.pop() == "refused" and found("\n".join(out)) == names
    assert not told(result, "device cgroup").count("error")


def runs_32_bits(program):
    """Not every machine does, whatever its kernel has: some virtual ones refuse to."""
    try:
        subprocess.run([program], check=False, capture_output=True)
    except OSError as error:
        return error.errno != errno.ENOEXEC
    return True


def test_libraries_for_32_bits(files_box, installed, scratch, stubs):
    """A loader for 32-bit programs finds theirs, in the cache and by LD_LIBRARY_PATH, and no other."""
    names = sorted({library.soname for library in installed.libraries(PARTS, 32)})
    program = stubs.program_32(scratch / "program", names)
    for cache in (True, False):
        box = files_box("all", cache=cache, image=driver_images.with_32)
        (box.rootfs / "program").write_bytes(program.read_bytes())
        (box.rootfs / "program").chmod(0o755)
        if not cache:
            environment(box, LD_LIBRARY_PATH=LD_LIBRARY_PATH)
        out = started(box.run("/lib/ld-linux.so.2 --list /program" if runs_32_bits(program) else f"ls {POINT}/lib"))
        said = dict(line.split()[0:3:2] for line in out.splitlines() if " => " in line)
        assert said == {name: f"{POINT}/lib/{name}" for name in names} or not runs_32_bits(program)
        assert said or set(names) <= set(out.split())
        entries = {entry.path: entry.flags for entry in read((box.rootfs / CACHE).read_bytes())}
        assert not cache or {f"{POINT}/lib/{name}" for name in names} <= set(entries)
        assert not cache or entries[f"{POINT}/lib/libcuda.so.1"] in (I386, I386 & ~2), entries
