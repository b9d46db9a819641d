# SPDX-License-Identifier: Apache-2.0
"""Attacks by an image, or by another container that renames meanwhile, that were carried out on runtimes
and hooks, by the numbers of their CVEs. Outside the root nothing changes."""

import re

import pytest

from harness import engines
from harness.box import KEY
from harness.expect import refused, started
from harness.source import tree
from harness.stopped import hook_stopped

# A path is walked in the same way whoever calls: by runc; by crun, with a user namespace.
SPACES = [engines.RUNTIMES[0], engines.MAPPED[1]]
READ = "cat /srv/datasets/words"
WORDS = "words of datasets\n"


@pytest.fixture(name="outside")
def outside_fixture(scratch):
    """Directories on the host that look like what the hook looks for."""
    outside = scratch / "outside"
    for name in ("srv/datasets", "datasets", "in/datasets", "self/fd", "self/attr"):
        (outside / name).mkdir(parents=True)
    for name in ("srv/datasets/words", "self/mountinfo", "self/attr/exec", "license.txt"):
        (outside / name).write_text("of the host\n")
    before = tree(outside)
    yield outside
    assert tree(outside) == before


@pytest.fixture(name="box", params=SPACES, ids=str)
def box_fixture(request, srv, engine_box):
    srv.directory("datasets")
    box = engine_box(request.param, "all", "--log-level", "info")
    box.mapped = request.param.mapped
    return box


def exchange(directory, link):
    """`directory` of the image becomes a link; the directory itself goes on under another name."""
    directory.rename(directory.with_name(directory.name + ".away"))
    directory.symlink_to(link)


def without_proc(box):
    """The container gets no procfs, and what the image has at /proc is what is there."""
    box.config["mounts"] = [m for m in box.config["mounts"] if m["destination"] != "/proc"]
    for name in ("maskedPaths", "readonlyPaths"):
        box.config["linux"][name] = []


def mounted(result):
    """The hook has done its work, whatever became of a container without procfs."""
    return [line for line in result.said if "mounted '" in line and "'/srv/datasets'" in line]


def test_cve_2019_16884_a_plain_directory_at_proc_is_not_believed(box):
    """It has a mount table, a list of descriptors and labels of the image's making."""
    for name in ("self/fd", "self/attr", "1/ns"):
        (box.rootfs / "proc" / name).mkdir(parents=True)
    for name in ("self/mountinfo", "self/attr/exec", "mounts", "filesystems"):
        (box.rootfs / "proc" / name).write_text("of the image\n")
    without_proc(box)
    before = tree(box.rootfs / "proc")
    assert mounted(box.run(READ))
    assert tree(box.rootfs / "proc") == before


@pytest.mark.parametrize("target", ["/etc", "../outside", "{outside}", "/proc"])
def test_cve_2023_27561_a_link_at_proc_is_not_followed(box, outside, target):
    (box.rootfs / "proc").rmdir()
    (box.rootfs / "proc").symlink_to(target.format(outside=outside))
    without_proc(box)
    before = tree(box.rootfs / "etc")
    assert mounted(box.run(READ))
    assert tree(box.rootfs / "etc") == before


@pytest.mark.parametrize("target, name", [("/proc", "sys"), ("/proc/sys", "kernel"), ("/sys", "kernel")])
def test_cve_2019_16884_nothing_is_mounted_on_procfs_or_sysfs(srv, box, target, name):
    """Where a label or a setting would go to another file than its writer believes."""
    srv.directory(name)
    (box.rootfs / "srv").symlink_to(target)
    box.annotations[KEY] = name
    refused(box.run(), 1, f"'/srv/{name}'", "it lies on procfs, sysfs")


def test_cve_2025_52881_a_file_of_procfs_bound_over_the_place_is_refused(srv, box):
    """What looks like the hook's own placeholder is a file that acts when it is written."""
    srv.write("license.txt", "words\n")
    (box.rootfs / "srv").mkdir()
    (box.rootfs / "srv/license.txt").touch()
    box.bundle.mount("/srv/license.txt", "/proc/sys/kernel/domainname", "bind")
    before = open("/proc/sys/kernel/domainname", encoding="ascii").read()
    refused(box.run(), 1, "'/srv/license.txt'", "it lies on procfs, sysfs")
    assert open("/proc/sys/kernel/domainname", encoding="ascii").read() == before


def test_cve_2025_52881_it_writes_to_no_file_at_all(box, scratch):
    """So that no file can be put in the place of the one it means: messages are all that it writes,
    and what parent and child share in memory."""
    trace = scratch / "trace"
    calls = "write,writev,pwrite64,pwritev,pwritev2,sendfile,splice,copy_file_range,ftruncate,truncate"
    box.wrapper = ("/usr/bin/strace", "-D", "-f", "-y", "-qq", "-o", trace, "-e", f"trace={calls}")
    assert started(box.run(READ)) == WORDS
    written = set(re.findall(r"^\d+ +\w+\((\d+<[^>]*>)", trace.read_text(), re.MULTILINE))
    assert written, trace.read_text()
    own = re.compile(r"2<(pipe:\[\d+\]|/dev/null.*)>|\d+</memfd:trees \(deleted\)>|\d+</memfd:trees>")
    assert all(own.fullmatch(each) for each in written), written


def test_cve_2024_0132_nothing_of_the_image_becomes_the_source_of_a_mount(box, outside):
    """Libraries and directories of the image are links to the host's root."""
    for name in ("usr/local/cuda/compat/libcuda.so.1", "usr/lib64", "lib64", "srv/datasets.link"):
        (box.rootfs / name).parent.mkdir(parents=True, exist_ok=True)
        (box.rootfs / name).symlink_to("/" if "lib64" in name else "../" * 20 + str(outside)[1:])
    mounts = box.mounts("/")
    ours = [m for m in mounts if m.root.endswith("/source/datasets")]
    assert [m.point for m in ours] == ["/srv/datasets"]
    box.annotations.clear()
    without_the_hook = {m.point for m in box.mounts("/")}
    assert [m.point for m in mounts if m.point not in without_the_hook] == ["/srv/datasets"]


@pytest.mark.parametrize("climb", ["", "../../../../../../../../../.."])
@pytest.mark.parametrize("first", ["data", "srv"])
def test_cve_2026_41579_the_first_component_is_a_link_out(box, outside, first, climb):
    """To a directory of the host that has all that the hook needs."""
    (box.rootfs / first).symlink_to(f"{climb}{outside}")
    box.args += ["--target-dir", f"/{first}/in"]
    message = refused(box.run(), 1, f"'/{first}")
    assert "leads nowhere" in message, message


@pytest.mark.parametrize("engine", engines.RUNTIMES, ids=str)
def test_cve_2026_41579_dev_is_a_link_out(srv, engine_box, outside, scratch, engine):
    """The runtimes of these tests would fill the directory themselves; a volume at /dev keeps them off."""
    srv.directory("datasets")
    box = engine_box(engine, "all", "--target-dir", "/dev/in")
    (box.rootfs / "dev").rmdir()
    (box.rootfs / "dev").symlink_to(outside)
    (box.rootfs / str(outside)[1:]).mkdir(parents=True)
    volume = scratch / "volume"
    volume.mkdir()
    box.config["mounts"] = [m for m in box.config["mounts"]
                            if not m["destination"].startswith("/dev")]
    box.volume("/dev", volume)
    refused(box.run(), 1, "'/dev/in'", "volume")
    assert not list(volume.iterdir())


def test_cve_2024_45310_a_parent_that_is_exchanged_gets_no_placeholder_outside(box, outside):
    """/srv becomes a link out when the hook has opened it, and before it makes a directory there."""
    (box.rootfs / "srv").mkdir()
    # Its first openat2 is that of the source, its second that of /srv.
    call, when = ("setfsuid", 1) if box.mapped else ("openat2", 2)
    with hook_stopped(box, call, when) as stop:
        exchange(box.rootfs / "srv", outside / "self")
    message = refused(stop.result, 1, "'/srv/datasets'")
    assert "changed" in message or "vanished" in message, message


def test_cve_2021_30465_a_target_that_is_exchanged_leads_nowhere_else(box, outside):
    """It becomes a link when the hook has checked it, and before it mounts there."""
    (box.rootfs / "srv/datasets").mkdir(parents=True)
    for target in (outside, "/"):
        (box.rootfs / "srv/datasets").mkdir(exist_ok=True)
        with hook_stopped(box, "openat2", 3) as stop:  # that of the target
            exchange(box.rootfs / "srv/datasets", target)
        refused(stop.result, 1, "'/srv/datasets'", "while it was mounted")
        (box.rootfs / "srv/datasets").unlink()
        (box.rootfs / "srv/datasets.away").rmdir()
