# SPDX-License-Identifier: Apache-2.0
"""The hook against the image's own ldconfig and loader, of three Debian releases: the same entries in the
same order, and the same file for each SONAME."""

import shutil
from pathlib import Path

import pytest

from harness import libraries
from harness.debian_root import RELEASES, overlay, tree
from harness.expect import started
from harness.ldcache import CACHE, CONF, MAGIC, OLD_MAGIC, listed, probed

pytest_plugins = ["harness.ldcache_fixtures"]

MARK = "---- the loader ----\n"
LOOK = (f"ldconfig -p; echo '{MARK.strip()}';"
        " /probe $(ldconfig -p | sed -n 's/^\\t\\([^ ]*\\) .*/\\1/p' | sort -u)")
FORMS = ["compat", "new", "old"]

each_release = pytest.mark.parametrize("release", RELEASES)


@pytest.fixture(name="directories", scope="module")
def directories_fixture(shop, module_directory):
    """Two directories of libraries, which have some SONAMEs in common, and an empty one."""
    top = module_directory / "opt"
    libraries.hwcaps(shop, libraries.driver(shop, top / "driver"))
    for soname in ("libz.so.1", "libdriver-1.so.1", "libsecond.so.1", "libdriver-0.so.1"):
        shop.versioned(top / "second", soname, "5.4.3")
    (top / "empty").mkdir()
    return top


@pytest.fixture(name="image")
def image_fixture(ld_box, shop, directories):
    """A function that makes a container of a release with the directories in /opt."""
    def make(release, *request):
        box = ld_box(*request)
        box.upper = box.bundle.directory / "upper"
        libraries.copy(directories, box.upper / "opt")
        shutil.copy(shop.probe, box.upper / "probe")
        overlay(box, tree(release))
        return box

    return make


def look(box, before=""):
    """What ldconfig lists and what the loader finds in a container."""
    result = box.run(f"{before}{LOOK}")
    cache, _, loader = started(result).partition(MARK)
    assert loader and not [line for line in result.said if "error" in line], result.said
    return listed(cache), probed(loader)


def by_ldconfig(image, release, *directories):
    """The same of a container in which the real ldconfig has made the cache; gives the box, too."""
    box = image(release)
    lines = "\\n".join(directories)
    return (box, *look(box, f"echo '{lines}' > /{CONF} && ldconfig 2>/dev/null || exit 1;"))


def file_of(box, path):
    """Which file of /opt a path leads to."""
    top = (box.upper / "opt").resolve()
    file = (box.upper / path.lstrip("/")).resolve()
    return f"/opt/{file.relative_to(top)}" if file.exists() else None


class Difference:
    """All in which the hook's cache may differ from ldconfig's, and has to.

    ldconfig makes a link for a SONAME that has none, or that leads to an older version, and names the
    link. The hook changes nothing in the directories: it names the file. Before glibc 2.36 a 32-bit library
    that needs no C library is "ELF", not "libc6"; a loader would take it for its own, whatever it is."""

    def __init__(self, real, ours):
        self._real, self._ours = real, ours

    def path(self, path):
        if not path.startswith("/opt/"):
            return path
        file = file_of(self._real, path)
        return path if file_of(self._ours, path) == file else file

    def entry(self, entry):
        name, kind, path = entry
        return name, "libc6" if name == libraries.THIRTY_TWO else kind, self.path(path)

    def of_the_loader(self, found):
        """Files, as the loader names links and the files behind them."""
        return {name: self.path(path) for name, path in found.items()}


@each_release
@pytest.mark.parametrize("names", [("/opt/driver",), ("/opt/second", "/opt/driver"),
                                   ("/opt/driver", "/opt/second")], ids=",".join)
def test_the_cache_and_the_loader_are_as_after_the_real_ldconfig(image, release, names):
    real, real_cache, real_loader = by_ldconfig(image, release, *names)
    ours = image(release, ",".join(names))
    cache, loader = look(ours)
    difference = Difference(real, ours)
    assert len([entry for entry in cache if entry[2].startswith("/opt/")]) > 40
    assert cache == [difference.entry(entry) for entry in real_cache]
    assert loader == difference.of_the_loader(real_loader)
    assert loader["libdriver-1.so.1"].startswith(names[0]), loader
    assert loader["libtinfo.so.6"].partition("/lib/")[2], loader


@pytest.mark.parametrize("release", ["bookworm"])
def test_the_directory_is_left_as_it_was(image, release, directories):
    """No links are made there, as ldconfig does."""
    box = image(release, "/opt/driver")
    look(box)
    seen = {path.relative_to(box.upper / "opt") for path in (box.upper / "opt").rglob("*")}
    assert seen == {path.relative_to(directories) for path in directories.rglob("*")}


@pytest.mark.parametrize("release", ["bookworm"])
def test_a_directory_without_libraries_adds_nothing(image, release):
    """Nor is the cache written; the directory may have some later."""
    before, found = look(image(release))
    ours = image(release, "/opt/empty")
    assert look(ours) == (before, found)
    assert (ours.upper / CONF).exists() and not (ours.upper / CACHE).exists()


def make_cache(box, shop, form):
    """By the image's own ldconfig, in an older form; gives what is in it. The image has variants of a
    library for newer processors."""
    top = Path(box.host.path(box.rootfs)) / "usr/local/lib"
    shop.library(top / "libown.so.1", "libown.so.1")
    for name in ("x86-64-v2", "x86-64-v3"):
        shop.library(top / f"glibc-hwcaps/{name}/libown.so.1", "libown.so.1", "-z", name)

    def run(form):
        box.host.run(["chroot", box.rootfs, "/sbin/ldconfig", "-c", form])
        data = (box.upper / CACHE).read_bytes()
        return data, listed(box.host.run(["chroot", box.rootfs, "/sbin/ldconfig", "-p"]).stdout)

    # In the form "compat" even glibc 2.41 cannot read the names of glibc-hwcaps that it has written.
    _, content = run("new")
    data, seen = run(form)
    if form == "old" and data[12] % 2:  # of an odd number glibc 2.31 cannot read anything
        shop.library(top / "libeven.so.1", "libeven.so.1")
        data, seen = run(form)
    assert data.startswith(MAGIC if form == "new" else OLD_MAGIC), data[:20]
    return seen if form == "old" else content


@each_release
@pytest.mark.parametrize("form", FORMS)
def test_every_form_that_the_images_ldconfig_writes_is_read(image, shop, release, form):
    """The image's own entries stay, in their order; those of the directory are the same whatever the form."""
    ours = image(release, "/opt/driver")
    before = make_cache(ours, shop, form)
    assert len(before) > 40 and ("hwcap:" in str(before)) == (release != "bullseye" and form != "old")
    cache, loader = look(ours)
    assert [entry for entry in cache if not entry[2].startswith("/opt/")] == before
    real, real_cache, _ = by_ldconfig(image, release, "/opt/driver")
    added = [Difference(real, ours).entry(entry) for entry in real_cache if "/opt/" in entry[2]]
    if form == "old":  # which a glibc without glibc-hwcaps might have written as well
        added = [entry for entry in added if "hwcap" not in entry[1]]
    assert [entry for entry in cache if entry[2].startswith("/opt/")] == added
    assert loader["libcrypt.so.1"] == "/opt/driver/libcrypt.so.1"


@pytest.mark.parametrize("release, form", zip(RELEASES, FORMS))
def test_a_cache_that_is_only_written_again_keeps_every_entry(image, release, shop, form):
    """Because a library of the directory is gone, the only one that it had."""
    ours = image(release, "/opt/empty")
    gone = ours.upper / "opt/empty/libgone.so.1"
    shop.library(gone, "libgone.so.1")
    ours.host.run(["sh", "-c", f"echo /opt/empty > '{ours.rootfs}/{CONF}'"])
    before = make_cache(ours, shop, form)
    gone.unlink()
    cache, _ = look(ours)
    assert len(before) == len(cache) + 1
    assert cache == [entry for entry in before if entry[0] != "libgone.so.1"]


@each_release
def test_old_entries_of_the_directory_go(image, release, shop):
    """As after a driver update: the cache names libraries of the directory that are gone."""
    expected, _ = look(image(release, "/opt/second"))
    ours = image(release, "/opt/second")
    gone = [ours.upper / "opt/second" / name for name in (
        "libgone.so.1", "libz.so.0", "glibc-hwcaps/x86-64-v2/libgone.so.1")]
    for path in gone:
        shop.library(path, path.name)
    ours.host.run(["sh", "-c", f"echo /opt/second > '{ours.rootfs}/{CONF}'"])
    before = make_cache(ours, shop, "new")
    assert "/opt/second/libgone.so.1" in [entry[2] for entry in before]
    for path in gone:
        path.unlink()
    assert [entry for entry in look(ours)[0] if "libown" not in entry[0]] == expected


@pytest.mark.parametrize("release", ["trixie"])
def test_a_library_of_two_types_is_there_for_both(image, release, shop):
    """ldconfig keeps the one that it reads first, which is no order at all."""
    ours = image(release, "/opt/second")
    shop.library(ours.upper / "opt/second/libsecond32.so", "libsecond.so.1", bits=32)
    cache, loader = look(ours)
    assert [entry[1:] for entry in cache if entry[0] == "libsecond.so.1"] == [
        ("libc6,x86-64", "/opt/second/libsecond.so.1"), ("libc6", "/opt/second/libsecond32.so")]
    assert loader["libsecond.so.1"] == "/opt/second/libsecond.so.1"


@each_release
def test_the_directory_wins_over_libraries_that_name_a_kernel(image, release, shop):
    """Until glibc 2.35 ldconfig has those first that name the oldest kernel that they need ("OS ABI"), as
    the C library's own do; so Debian 11's would not let a directory have a say about libm.so.6."""
    real, ours = image(release), image(release, "/opt/second")
    for box in (real, ours):
        shop.versioned(box.upper / "opt/second", "libm.so.6")
    _, found = look(real, f"echo /opt/second > /{CONF}; ldconfig 2>/dev/null;")
    assert found["libm.so.6"].startswith("/opt/second") == (release != "bullseye")
    cache, found = look(ours)
    assert found["libm.so.6"] == "/opt/second/libm.so.6"
    assert len([entry for entry in cache if entry[0] == "libm.so.6"]) == 2


@pytest.mark.parametrize("release", ["bullseye"])
def test_what_package_managers_leave_behind_is_no_library(image, release, shop):
    """ldconfig of Debian 11 and 12 still takes them for libraries, that of Debian 13 does not."""
    ours = image(release, "/opt/second")
    for name in ("libsecond.so.1;5f3759df", "libsecond.so.2.dpkg-new", "libsecond.so.3.dpkg-tmp"):
        shop.library(ours.upper / "opt/second" / name, "libtemporary.so.1")
    cache, _ = look(ours)
    assert not [entry for entry in cache if "temporary" in entry[0] + entry[2]]
