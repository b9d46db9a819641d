# SPDX-License-Identifier: Apache-2.0
"""`auto`: the directories that other hooks have put in. They say so in a file on a tmpfs of their own; a file
that anybody else has made is never believed."""

import os
import shutil
from pathlib import Path

import pytest

from harness import concourse, engines
from harness.box import PREFIX
from harness.debian_root import LIBRARIES, LOADER, MUSL_LOADER
from harness.expect import started, told
from harness.ldcache import CACHE, CONF, in_the_container, read, snapshot

pytest_plugins = ["harness.ldcache_fixtures"]

PROBE = "/probe libgpu.so.1 libz.so.1"
POINT = "/usr/local/nvidia"
LIST = ".oci-gpu-hooks/ld-directories"
FOUND = f"libgpu.so.1 {POINT}/lib64/libgpu.so.1\nlibz.so.1 {POINT}/lib64/libz.so.1\n"
PLAIN = engines.RUNTIMES + engines.MAPPED


@pytest.fixture(name="make")
def make_fixture(small_box, shop):
    """A function that makes a container with the program `probe`."""
    def make(request="auto", *args, **options):
        box = small_box(request, *args, **options)
        shutil.copy(shop.probe, box.rootfs / "probe")
        return box

    return make


def tree_hook(libraries, lines=f"{POINT}/lib64", source="oci-gpu-hooks", then="true", point=POINT):
    """What the hook of a GPU does: a tmpfs with the driver's files, and a list of its directories."""
    return in_the_container(
        f'mkdir -p "$ROOT{point}"; mount -t tmpfs -o mode=755 "{source}" "$ROOT{point}";'
        f' cd "$ROOT{point}"; cp -a "{libraries}" lib64; mkdir .oci-gpu-hooks;'
        f' printf "%b" "{lines}\\n" > {LIST}; chmod 644 {LIST}; {then}')


def names(box):
    """Which libraries of a driver the cache on the root has, and whether the directory is named."""
    cache = [entry.path for entry in read((box.rootfs / CACHE).read_bytes())]
    conf = (box.rootfs / CONF).read_text() if (box.rootfs / CONF).exists() else ""
    return [path for path in cache if "gpu" in path], conf


@pytest.mark.parametrize("engine, readonly", zip(PLAIN, [False, True, True, False]), ids=str)
def test_the_directories_of_another_hook_are_found(make, driver, engine, readonly):
    box = make(engine=engine)
    box.config["root"]["readonly"] = readonly
    box.first.append(tree_hook(driver))
    assert started(box.run(PROBE)) == FOUND


def test_in_a_root_that_is_named_through_a_symlink_too(make, driver):
    """crun takes such a one; the mount table has it by its own name."""
    box = make(engine=engines.RUNTIMES[1])
    (box.rootfs.parent / "named").symlink_to(box.rootfs.name)
    box.config["root"]["path"] = "named"
    box.first.append(tree_hook(driver))
    assert started(box.run(PROBE)) == FOUND


@pytest.mark.parametrize("key", ["nvidia-devices", "amd-kfd"])
def test_a_container_with_a_gpu_needs_no_key_of_its_own(make, driver, key):
    box = make(None)
    box.annotations[PREFIX + key] = "all"
    box.first.append(tree_hook(driver))
    assert started(box.run(PROBE)) == FOUND


@pytest.mark.parametrize("engine", [PLAIN[0], PLAIN[3]], ids=str)
def test_a_container_with_a_tree_needs_no_key_at_all(make, driver, engine):
    """The hook that gave it was told to by the host's options, which this one cannot see; nor needs it any itself."""
    box = make(None, engine=engine)
    box.loader = "concourse"
    box.first.append(tree_hook(driver))
    assert started(box.run(PROBE)) == FOUND


def loop(path):
    path.symlink_to(path.name)


@pytest.mark.parametrize("place, put, found, words", [
    (CACHE, loop, True, "'/etc/ld.so.cache' in the container cannot be used, a new one takes its place: cannot be read"),
    ("etc/ld.so.conf", loop, True, "'/etc/ld.so.conf' in the container cannot be read"),
    ("etc/ld.so.conf.d", loop, True, f"'/{CONF}' stays as it is"),
    ("etc/ld.so.conf.d", Path.touch, True, f"'/{CONF}' stays as it is"),
    (CONF, os.mkdir, True, f"the file '/{CONF}' is left out: "),
    (CACHE, os.mkdir, False, "nothing was asked of this hook itself, ignoring"),
    ("etc", Path.touch, False, "nothing was asked of this hook itself, ignoring"),
    ("etc", loop, False, "nothing was asked of this hook itself, ignoring"),
    ("lib64", loop, False, "the image has neither glibc's loader nor musl's where programs name it")])
@pytest.mark.parametrize("options", [[], ["--request", "auto"]], ids=["by an annotation", "by a device"])
def test_what_cannot_be_read_stops_nobody_who_asked_for_a_gpu_alone(make, driver, place, put, found, words, options):
    """It is said, and what can be written is."""
    box = make(None)
    box.loader = "concourse"
    box.args = [*box.args, *options]
    path = box.rootfs / place
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    put(path)
    box.first.append(tree_hook(driver))
    result = box.run(PROBE if found else "echo started")
    assert started(result) == (FOUND if found else "started\n")
    told(result, words)


@pytest.mark.parametrize("cache", ["/etc/ldx86.cache", "/opt/etc/so.cache"])
@pytest.mark.parametrize("path", [None, f"/x:{POINT}/lib64"])
@pytest.mark.parametrize("beside", [None, MUSL_LOADER], ids=["alone", "beside musl"])
def test_a_loader_that_reads_another_cache_is_told_of(make, driver, cache, path, beside):
    """As Exherbo's and Clear Linux's, those of Nix and Guix, and a glibc that was put beside Alpine's musl: nothing that is
    written here helps, a variable does."""
    box = make(None)
    if beside:
        shutil.copy(beside, box.rootfs / "lib")
    box.loader = "concourse"
    loader = box.rootfs / LIBRARIES / "ld-linux-x86-64.so.2"  # where the link leads inside
    text = loader.read_bytes()
    assert text.count(b"\0/etc/ld.so.cache\0") == 1
    loader.unlink()
    loader.write_bytes(text.replace(b"/etc/ld.so.cache\0", cache.encode().ljust(17, b"\0")))
    loader.chmod(0o755)
    box.first.append(tree_hook(driver))
    if path:
        box.config["process"]["env"].append(f"LD_LIBRARY_PATH={path}")
    result = box.run(PROBE)
    assert (started(result) == FOUND) == bool(path)
    words = f"with the loader of '/{LOADER}' do not read '/etc/ld.so.cache'", f"LD_LIBRARY_PATH={POINT}/lib64 in the"
    assert all(any(word in line for line in result.said) for word in words) != bool(path)


@pytest.mark.parametrize("store", ["nix/store", "gnu/store"])
def test_programs_of_a_store_read_no_cache(make, driver, store):
    box = make(None)
    box.loader = "concourse"
    (box.rootfs / store).mkdir(parents=True)
    box.first.append(tree_hook(driver))
    result = box.run(PROBE)
    assert started(result) == FOUND
    told(result, f"with the loader of '/{store}' do not read '/etc/ld.so.cache'", f"LD_LIBRARY_PATH={POINT}/lib64 in the")


def test_a_container_of_concourse_without_a_tree_is_left_alone(make):
    box = concourse.make(make(None), "check")
    before = (box.rootfs / CACHE).stat()
    assert started(box.run(PROBE)).startswith("libgpu.so.1 - ")
    after = (box.rootfs / CACHE).stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert not (box.rootfs / CONF).exists()


def test_none_wins_over_a_gpu(make, driver):
    box = make("none")
    box.annotations[PREFIX + "nvidia-devices"] = "all"
    box.first.append(tree_hook(driver))
    assert started(box.run(PROBE)).startswith("libgpu.so.1 - ")


def test_together_with_directories_by_name(make, driver, shop):
    """Those of the other hooks are first, wherever `auto` stands."""
    box = make("/opt/own,auto")
    for soname in ("libz.so.1", "libown.so.1"):
        shop.library(box.rootfs / "opt/own" / soname, soname)
    box.first.append(tree_hook(driver))
    assert started(box.run(f"{PROBE} libown.so.1")) == f"{FOUND}libown.so.1 /opt/own/libown.so.1\n"


def test_several_trees(make, driver, shop, scratch):
    shop.library(scratch / "amd/libamd.so.1", "libamd.so.1")
    box = make()
    box.first += [tree_hook(driver), tree_hook(scratch / "amd", "/opt/rocm/lib64", point="/opt/rocm")]
    assert started(box.run(f"{PROBE} libamd.so.1")) == (
        f"{FOUND}libamd.so.1 /opt/rocm/lib64/libamd.so.1\n")


@pytest.mark.parametrize("place", [POINT, "/opt/elsewhere"])
def test_directories_relative_to_the_tree(make, driver, place):
    """Wherever it is: an image may have a symlink on the way."""
    box = make()
    box.first.append(tree_hook(driver, "lib64", point=place))
    assert started(box.run(PROBE)) == FOUND.replace(POINT, place)


def test_a_second_run_changes_nothing(make, driver, scratch):
    box = make()
    entry = box._entry()  # pylint: disable=protected-access
    box.first += [tree_hook(driver), entry, snapshot(scratch / "1")]
    box.last = [snapshot(scratch / "2")]
    assert started(box.run(PROBE)) == FOUND
    assert (scratch / "1").read_text() == (scratch / "2").read_text()


@pytest.mark.parametrize("engine", PLAIN[:1], ids=str)
def test_without_a_tree_there_is_nothing_to_do(make, engine):
    box = make(engine=engine)
    before = (box.rootfs / CACHE).stat()
    started(box.run(PROBE))
    after = (box.rootfs / CACHE).stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert names(box) == ([], "")


def forge(directory, driver, line):
    """A directory that looks like a tree of the hooks'."""
    directory.mkdir(parents=True, exist_ok=True)
    shutil.copytree(driver, directory / "gpu", symlinks=True)
    (directory / LIST).parent.mkdir()
    (directory / LIST).write_text(line + "\n")


def not_believed(box):
    """The container starts without those libraries."""
    assert started(box.run(PROBE)).startswith("libgpu.so.1 - ")
    assert names(box) == ([], "")


@pytest.mark.parametrize("at", ["/", POINT, "/opt/x"])
def test_a_list_of_the_image_is_not_believed(make, driver, at):
    box = make()
    forge(box.rootfs / at.lstrip("/"), driver, f"{at.rstrip('/')}/gpu")
    not_believed(box)


@pytest.mark.parametrize("name", ["oci-gpu-hooks", "volume"])
def test_a_list_on_a_volume_is_not_believed(make, driver, scratch, name):
    box = make()
    forge(scratch / name, driver, f"{POINT}/gpu")
    box.bundle.mount(POINT, scratch / name, "rbind", "rprivate")
    not_believed(box)


def test_a_list_on_a_tmpfs_of_the_hosts_is_not_believed(make, driver, scratch, journal_host):
    """One that is called like ours, and that the container has as a volume, is the worst of it: who
    can write there is not known. Owned by another it is not believed either."""
    box = make()
    (scratch / "memory").mkdir()
    journal_host.mount("-t", "tmpfs", "oci-gpu-hooks", scratch / "memory")
    memory = journal_host.path(scratch / "memory")
    journal_host.run(["sh", "-ec", f"cp -a {driver} {scratch}/memory/lib64; cd {scratch}/memory;"
                      f" mkdir .oci-gpu-hooks; echo {POINT}/lib64 > {LIST}; chown 1000 {LIST}"])
    assert os.path.exists(f"{memory}/{LIST}")
    box.bundle.mount(POINT, scratch / "memory", "rbind", "rprivate")
    not_believed(box)


@pytest.mark.parametrize("source", ["tmpfs", "oci-gpu-hook", "oci-gpu-hooks2"])
def test_a_list_on_a_tmpfs_of_another_name_is_not_believed(make, driver, source):
    box = make()
    box.first.append(tree_hook(driver, source=source))
    not_believed(box)


@pytest.mark.parametrize("fstype", ["ramfs", "overlay"])
def test_a_list_on_another_filesystem_of_that_name_is_not_believed(make, driver, scratch, fstype):
    box = make()
    for name in ("upper", "work"):
        (scratch / name).mkdir()
    options = (f"lowerdir={driver.parent},upperdir={scratch}/upper,workdir={scratch}/work"
               if fstype == "overlay" else "mode=755")
    box.first.append(in_the_container(
        f'mkdir -p "$ROOT{POINT}"; mount -t {fstype} -o {options} oci-gpu-hooks "$ROOT{POINT}";'
        f' cd "$ROOT{POINT}"; cp -a "{driver}" lib64; mkdir .oci-gpu-hooks; echo {POINT}/lib64 > {LIST}'))
    not_believed(box)


@pytest.mark.parametrize("uid", [1, 1000])
def test_a_list_of_another_owner_is_not_believed(make, driver, uid):
    box = make()
    box.first.append(tree_hook(driver, then=f"chown {uid} {LIST}"))
    not_believed(box)


@pytest.mark.parametrize("engine", engines.MAPPED[1:], ids=str)
def test_a_list_of_the_containers_root_is_not_believed(make, driver, engine):
    box = make(engine=engine)
    box.first.append(tree_hook(driver, then=f"chown {engines.ROOT} {LIST}"))
    not_believed(box)


@pytest.mark.parametrize("line", [
    "/opt/lib64", f"{POINT}/../nvidia/lib64", f"{POINT}/../../../opt/lib64", "../../../lib64", ".", "/",
    f"{POINT}2/lib64", "/proc/self/root", "", "\\t"], ids=repr)
def test_lines_that_lead_out_of_the_tree_are_not_followed(make, driver, line):
    """Also where the directory has libraries."""
    box = make()
    for directory in ("opt/lib64", "lib64", "usr/local/nvidia2/lib64"):
        shutil.copytree(driver, box.rootfs / directory, symlinks=True, dirs_exist_ok=True)
    box.first.append(tree_hook(driver, line))
    not_believed(box)


def test_a_line_that_is_no_text_is_refused(make, driver):
    """As a directory that is not there."""
    box = make()
    box.first.append(tree_hook(driver, "\\0377\\0376"))
    result = box.run(PROBE)
    assert result.hook_status == 3 and r"\xff\xfe" in result.hook_message, result.said
    assert names(box) == ([], "")


REPLACED = {
    "fifo": f"rm {LIST}; mkfifo {LIST}",
    "link to a file of the image": f"rm {LIST}; ln -s ../../../../lines {LIST}",
    "absolute link": f"rm {LIST}; ln -s /lines {LIST}",
    "link to itself": f"rm {LIST}; ln -s ld-directories {LIST}",
    "directory": f"rm {LIST}; mkdir {LIST}",
    "device": f"rm {LIST}; mknod {LIST} c 1 5",
    "1 MiB of lines": f"yes {POINT}/none | head -c 1048576 > {LIST}",
    "1 MiB without a line": f"head -c 1048576 /dev/zero > {LIST}",
    "1 TiB": f"truncate -s 1T {LIST}",
    "a link in place of its directory": "mv .oci-gpu-hooks x; ln -s /away .oci-gpu-hooks",
}


@pytest.mark.parametrize("kind", REPLACED)
def test_what_is_no_plain_small_file_is_not_read(make, driver, kind):
    """And nobody waits for it."""
    box = make()
    box.timeout = 10
    (box.rootfs / "lines").write_text(f"{POINT}/lib64\n")
    (box.rootfs / "away").mkdir()
    (box.rootfs / "away/ld-directories").write_text(f"{POINT}/lib64\n")
    box.first.append(tree_hook(driver, then=REPLACED[kind]))
    not_believed(box)


@pytest.mark.parametrize("kind", ["volume", "tmpfs"])
def test_a_tree_that_something_was_mounted_over_is_not_read(make, driver, scratch, kind):
    """What is seen at the tmpfs's mount point is then another's."""
    box = make()
    forge(scratch / "volume", driver, f"{POINT}/gpu")
    over = {"volume": f'mount --bind "{scratch}/volume" "$ROOT{POINT}"',
            "tmpfs": f'mount -t tmpfs -o mode=755 tmpfs "$ROOT{POINT}";'
                     f' cp -a "{scratch}/volume/." "$ROOT{POINT}"'}
    box.first.append(tree_hook(driver, f"{POINT}/none", then=f"cd /; {over[kind]}"))
    not_believed(box)
