# SPDX-License-Identifier: Apache-2.0
"""What is read of an image is read as the container could read it. An image that leads the hook to files of others by
its symlinks learns nothing of them, and what the hook writes is for no more readers than what it replaces."""

import os

import pytest

from harness import engines
from harness.expect import started, told
from harness.ldcache import CACHE, CONF, mount_srv, refused

pytest_plugins = ["harness.ldcache_fixtures"]

SECRET = "correct-horse-battery"
LD_SO_CONF = "etc/ld.so.conf"
SPACES = [engines.RUNTIMES[0], engines.MAPPED[0]]
PROBE = "/probe libgpu.so.1"
FOUND = "libgpu.so.1 /srv/driver/libgpu.so.1\n"


def plant(path, target):
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


@pytest.fixture(name="key")
def key_fixture(srv):
    """A file of the host's root in a directory that the container is given."""
    key = srv / "driver/key"
    key.parent.mkdir(parents=True, exist_ok=True)
    key.write_text(f"{SECRET}\n/{SECRET}\n")
    key.chmod(0o600)
    return key


@pytest.mark.parametrize("engine", SPACES, ids=str)
@pytest.mark.parametrize("name", [LD_SO_CONF, CONF, CACHE])
def test_a_secret_in_a_volume_is_not_published(srv_box, key, name, engine):
    """By a link of the image at a file that the hook reads and writes again for everyone."""
    box = srv_box(engine=engine)
    plant(box.rootfs / name, "/srv/driver/key")
    result = box.run(f"{PROBE}; cat /etc/ld.so.cache /etc/ld.so.conf /{CONF} | grep -ac {SECRET}")
    seen = result.out.removeprefix(FOUND)
    # Root of the host's own user namespace may read the file by its own link, which the hook leaves where it is.
    own = engine.mapped or name != LD_SO_CONF
    assert result.out.startswith(FOUND) and (seen == "0\n" or not own), (result.out, result.said)
    assert (box.rootfs / name).is_symlink() or SECRET not in (box.rootfs / name).read_text(errors="replace")
    assert key.stat().st_mode & 0o777 == 0o600


def test_a_secret_in_a_volume_is_not_published_to_musl(ld_box, key, hook, srv):
    """Nor by the file with the directories of its loader, on a read-only root, where it is mounted over."""
    box = ld_box("/srv/driver")
    mount_srv(box, hook, srv, "driver")
    (box.rootfs / "lib").mkdir(exist_ok=True)
    (box.rootfs / "lib/ld-musl-x86_64.so.1").write_bytes(b"")
    plant(box.rootfs / "etc/ld-musl-x86_64.path", "/srv/driver/key")
    result = box.run("cat /etc/ld-musl-x86_64.path")
    assert started(result) == "/srv/driver\n/lib\n/usr/local/lib\n/usr/lib\n"
    assert "lies in a volume" in told(result, "ld-musl-x86_64.path")


@pytest.mark.parametrize("target", ["/proc/iomem", "/proc/timer_list", "/proc/1/mountinfo", "/sys/kernel/notes"])
def test_words_of_the_kernel_are_not_published(srv_box, target):
    """The hook would see other ones than the container does."""
    box = srv_box()
    plant(box.rootfs / LD_SO_CONF, target)
    plant(box.rootfs / CONF, target)
    result = box.run(f"{PROBE}; cat /{CONF}")
    assert result.out == f"{FOUND}# Directories that were put into this container by oci-gpu-hooks\n/srv/driver\n"
    assert (box.rootfs / LD_SO_CONF).is_symlink()
    told(result, "'/etc/ld.so.conf' in the container", "volume")


def private(directory, mode, uid=0, gid=0):
    directory.chmod(mode)
    os.chown(directory, uid, gid)


USERS = {
    "owner": ({"uid": 1000, "gid": 1000}, (0o700, 1000, 0), True),
    "other": ({"uid": 1001, "gid": 1000}, (0o700, 1000, 1000), False),
    "group": ({"uid": 1000, "gid": 5, "additionalGids": [7, 8]}, (0o750, 0, 8), True),
    "not in the group": ({"uid": 1000, "gid": 5, "additionalGids": [7]}, (0o750, 0, 8), False),
    "in a group that is kept out": ({"uid": 1000, "gid": 5, "additionalGids": [8]}, (0o705, 0, 8), False),
    "everyone": ({"uid": 1000, "gid": 5}, (0o755, 0, 0), True),
    "root without CAP_DAC_OVERRIDE": ({"uid": 0, "gid": 0}, (0o700, 1000, 1000), False),
    "root with it": ({"uid": 0, "gid": 0, "override": True}, (0o700, 1000, 1000), True),
    "with it": ({"uid": 1000, "gid": 5, "override": True}, (0o700, 0, 0), True),
}


@pytest.fixture(name="volume_box")
def volume_box_fixture(srv_box, shop, scratch):
    """A function that makes a container with a volume at /vol, in which `lib` is a directory with a library, and which
    lies on the host in a directory that nobody but root may enter."""
    def make(request="/vol/lib", **options):
        box = srv_box(request, **options)
        shop.library(scratch / "closed/vol/lib/libown.so.1", "libown.so.1")
        (scratch / "closed").chmod(0o700)
        (box.rootfs / "vol").mkdir()
        box.volume("/vol", scratch / "closed/vol", "rprivate", "ro")
        return box

    return make


@pytest.mark.parametrize("user, directory, may", USERS.values(), ids=USERS)
def test_a_library_directory_is_read_as_the_containers_process(volume_box, scratch, user, directory, may):
    box = volume_box()
    if user.pop("override", False):
        box.add_capability("CAP_DAC_OVERRIDE")
    box.config["process"]["user"] = user
    private(scratch / "closed/vol/lib", *directory)
    result = box.run("grep -c libown.so.1 /etc/ld.so.cache")
    if may:
        assert started(result) == "1\n"
    else:
        refused(result, 3, "'/vol/lib' in the container", "Permission denied", "as the container's process")


@pytest.mark.parametrize("mode, uid, may", [(0o755, 0, True), (0o700, engines.ROOT, True), (0o700, 0, False),
                                            (0o700, engines.ROOT + 1000, False)])
def test_a_library_directory_is_read_as_the_mapped_root(volume_box, scratch, mode, uid, may):
    box = volume_box(engine=engines.MAPPED[0])
    box.add_capability("CAP_DAC_OVERRIDE")
    private(scratch / "closed/vol/lib", mode, uid, uid)
    result = box.run("grep -c libown.so.1 /etc/ld.so.cache")
    if may:
        assert started(result) == "1\n"
    else:
        refused(result, 3, "'/vol/lib' in the container", "Permission denied")


def test_an_acl_of_the_volume_counts(volume_box, scratch):
    """As the kernel has it: user 1000 alone is let in."""
    box = volume_box()
    box.config["process"]["user"] = {"uid": 1000, "gid": 1000}
    directory = scratch / "closed/vol/lib"
    private(directory, 0o700)
    # user::rwx user:1000:r-x group::--- mask::r-x other::---, as linux/posix_acl_xattr.h has it
    entries = [(1, 7, 2**32 - 1), (2, 5, 1000), (4, 0, 2**32 - 1), (16, 5, 2**32 - 1), (32, 0, 2**32 - 1)]
    acl = b"\2\0\0\0" + b"".join(tag.to_bytes(2, "little") + bits.to_bytes(2, "little") + who.to_bytes(4, "little")
                                 for tag, bits, who in entries)
    os.setxattr(directory, "system.posix_acl_access", acl)
    assert started(box.run("grep -c libown.so.1 /etc/ld.so.cache")) == "1\n"


def test_a_library_that_the_process_may_not_read_is_left_out(volume_box, scratch, shop):
    box = volume_box()
    shop.library(scratch / "closed/vol/lib/libsecret.so.1", f"lib{SECRET}.so.1").chmod(0o600)
    os.chown(scratch / "closed/vol/lib/libsecret.so.1", 1000, 1000)
    result = box.run(f"grep -c libown.so.1 /etc/ld.so.cache; grep -ac {SECRET} /etc/ld.so.cache")
    assert result.out == "1\n0\n"
    told(result, "libsecret.so.1", "is left out", "Permission denied")


def test_names_in_a_closed_directory_are_not_published_by_a_link_to_it(volume_box, scratch, shop):
    shop.library(scratch / "closed/vol/closed/libsecret.so.1", f"lib{SECRET}.so.1")
    private(scratch / "closed/vol/closed", 0o700, 1000, 1000)
    box = volume_box("/opt/lib")
    plant(box.rootfs / "opt/lib", "/vol/closed")
    message = refused(box.run(), 3, "'/opt/lib' in the container")
    assert SECRET not in message


def test_a_library_directory_on_procfs_is_not_read(srv_box):
    box = srv_box("/opt/lib")
    plant(box.rootfs / "opt/lib", "/proc/sys")
    refused(box.run(), 1, "interface of the kernel")


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o604])
def test_what_is_written_is_for_no_more_readers_than_what_was_there(srv_box, mode, read_only):
    """Also where it is mounted over."""
    box = srv_box()
    names = [CACHE] if read_only else [CACHE, LD_SO_CONF]
    (box.rootfs / LD_SO_CONF).write_text("/usr/local/special\n")
    for name in names:
        (box.rootfs / name).chmod(mode)
    box.config["root"]["readonly"] = read_only
    out = started(box.run(f"{PROBE}; stat -c %a {' '.join(f'/{name}' for name in names)}"))
    assert out == FOUND + "600\n" * len(names)


def test_an_acl_on_the_old_file_leaves_the_new_one_to_root(srv_box):
    box = srv_box()
    deny = [(1, 6, 2**32 - 1), (2, 0, 1000), (4, 4, 2**32 - 1), (16, 4, 2**32 - 1), (32, 4, 2**32 - 1)]
    acl = b"\2\0\0\0" + b"".join(tag.to_bytes(2, "little") + bits.to_bytes(2, "little") + who.to_bytes(4, "little")
                                 for tag, bits, who in deny)
    os.setxattr(box.rootfs / CACHE, "system.posix_acl_access", acl)
    assert started(box.run(f"{PROBE}; stat -c %a /{CACHE}")) == f"{FOUND}600\n"
