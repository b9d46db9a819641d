# SPDX-License-Identifier: Apache-2.0
"""No hook opens a file of a container for reading that the container could not read itself: seen from outside, by what
the kernel is asked for, whatever the image's symlinks lead to."""

import shutil

import pytest

from harness import engines, opened
from harness.debian_root import LOADER, add_glibc
from harness.ldcache import CACHE, CONF, mount_srv

pytest_plugins = ["harness.ldcache_fixtures", "harness.nvidia_fixtures", "harness.amd_fixtures"]

SPACES = [engines.RUNTIMES[0], engines.MAPPED[0]]
COMPAT = "usr/local/cuda/compat"
LIBCUDA = f"{COMPAT}/libcuda.so.575.51.03"
# By these names hooks look at files and directories of an image.
FILES = [CACHE, CONF, "etc/ld.so.conf", "etc/ld-musl-x86_64.path", LOADER, LIBCUDA, "opt/lib/libx.so.1",
         "opt/lib/glibc-hwcaps/x86-64-v2/libx.so.1", "usr/local/nvidia/.oci-gpu-hooks/given",
         "usr/share/libdrm/amdgpu.ids", "lib/ld-musl-x86_64.so.1"]
DIRECTORIES = ["opt/lib", COMPAT, "opt/lib/glibc-hwcaps", "srv", "usr/local/nvidia"]
# What lies in the volume, with modes: not for the container's process, by the file or by its directory.
SECRETS = {"0600": ("secret", 0o600, 0o755), "in 0700": ("closed/file", 0o644, 0o700)}
TARGETS = [*(f"/vol/{path}" for path, _, _ in SECRETS.values()), "/vol/public", "/proc/version",
           "/proc/1/mountinfo", "/sys/kernel/notes", "/sys/fs/cgroup/cgroup.procs"]
GPU_BOXES = {"nvidia-devices": "nv_box", "amd-kfd": "amd_box"}
OWN = ("/usr/local/nvidia", "/proc/driver", "/proc/driver/nvidia")


@pytest.fixture(name="volume")
def volume_fixture(scratch, shop):
    """Real libraries, so that only permissions are in the way of reading them."""
    volume = scratch / "volume"
    (volume / "closed").mkdir(parents=True)
    for name in ("secret", "closed/file", "public"):
        shutil.copy(shop.library(scratch / "libx.so.1", "libx.so.1"), volume / name)
        (volume / name).chmod(0o644)
    for path, mode, parent in SECRETS.values():
        (volume / path).chmod(mode)
        (volume / path).parent.chmod(parent)
    return volume


@pytest.fixture(name="new_box")
def new_box_fixture(request, hook, srv):
    """A function that makes a container with one of the hooks, by its name."""
    def make(name, engine):
        if name in GPU_BOXES:
            return request.getfixturevalue(GPU_BOXES[name])("0", engine=engine)
        box = request.getfixturevalue("ld_box")("/opt/lib" if name == "ldcache-update" else None, engine=engine)
        if engine.mapped:
            box.map_ids(engines.MAP)
        if name == "mount-srv":
            mount_srv(box, hook, srv, "datasets")
            box.hook = hook
            box.args, box.first = ["--source-dir", srv], []
        return box

    return make


def plant(rootfs, name, target):
    path = rootfs / name
    if any(parent.is_symlink() for parent in path.parents if parent.is_relative_to(rootfs)):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def look(box, engine, volume, trace):
    """Runs it; gives what was opened, and of that what should not have been."""
    (box.rootfs / "vol").mkdir()
    box.volume("/vol", volume, "rprivate")
    box.wrapper = opened.wrapper(trace)
    box.timeout = 20
    box.run()
    paths = opened.opened(trace, box.rootfs)
    root = engines.ROOT if engine.mapped else 0
    reader = opened.Reader(root, root)
    return paths, opened.not_allowed(paths, OWN, {"/vol": volume}, reader)


def cases(targets):
    """All of them for the hooks that read files of an image, in turns with and without a user namespace, and one for
    each of the others."""
    yield from (("ldcache-update", target, SPACES[number % 2]) for number, target in enumerate(targets))
    yield from (("nvidia-devices", target, SPACES[(number + 1) % 2]) for number, target in enumerate(targets))
    yield from ((name, targets[0], SPACES[1]) for name in ("nvidia-devices", "amd-kfd", "mount-srv"))


@pytest.mark.parametrize("name, target, engine", cases(TARGETS), ids=str)
def test_no_link_of_an_image_opens_what_the_container_could_not_read(new_box, volume, scratch, name, target, engine):
    box = new_box(name, engine)
    add_glibc(box.rootfs)
    for place in FILES:
        plant(box.rootfs, place, target)
    assert look(box, engine, volume, scratch / "trace")[1] == []


@pytest.mark.parametrize("name, target, engine", cases(["/vol/closed", "/proc/sys"]), ids=str)
def test_no_link_of_an_image_lists_such_a_directory(new_box, volume, scratch, name, target, engine):
    box = new_box(name, engine)
    add_glibc(box.rootfs)
    for place in DIRECTORIES:
        plant(box.rootfs, place, target)
    assert look(box, engine, volume, scratch / "trace")[1] == []


def test_a_file_that_is_opened_is_seen(ld_box, volume, scratch):
    """What the others rest on."""
    box = ld_box("/opt/lib")
    add_glibc(box.rootfs)
    plant(box.rootfs, "opt/lib", "/vol")
    (volume / "libpublic.so.1").write_bytes((volume / "public").read_bytes())
    paths, forbidden = look(box, SPACES[0], volume, scratch / "trace")
    assert {"/vol", "/vol/libpublic.so.1", f"/{CACHE}"} <= set(paths) and forbidden == []
    assert opened.not_allowed(["/vol/secret", "/proc/version", "/etc/passwd"], OWN, {"/vol": volume},
                              opened.Reader(1000, 1000)) == ["/vol/secret", "/proc/version"]
