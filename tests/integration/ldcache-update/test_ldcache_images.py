# SPDX-License-Identifier: Apache-2.0
"""Images of other kinds: musl, no C library at all, nothing at all, and machines of other makers."""

import shutil
import stat

import pytest

from harness import debian_root, engines
from harness.expect import started
from harness.ldcache import AARCH64, CACHE, CONF, I386, PPC64, X86_64, Entry, read, snapshot, write
from harness.source import tree
from harness.turns import in_turns
from hosts import elf

pytest_plugins = ["harness.ldcache_fixtures"]

PATH_FILE = "etc/ld-musl-x86_64.path"
PROBE = "/musl-probe libgpu.so.1 libimage.so.1"
PLAIN = engines.RUNTIMES + engines.MAPPED


@pytest.fixture(name="musl_box")
def musl_box_fixture(ld_box, shop, driver):
    """A function that makes a container of an image with musl, which has a library of its own."""
    def make(request="/opt/driver", engine=engines.RUNTIMES[0], at="usr/local/lib"):
        box = ld_box(request, "--log-level", "info", engine=engine)
        if engine.mapped:
            box.map_ids(engines.MAP)
        debian_root.add_musl(box.rootfs)
        shutil.copytree(driver, box.rootfs / "opt/driver", symlinks=True)
        shutil.copy(shop.musl_probe, box.rootfs / "musl-probe")
        shop.library(box.rootfs / at / "libimage.so.1", "libimage.so.1")
        return box

    return make


@pytest.mark.parametrize("engine", [PLAIN[0], PLAIN[3]], ids=str)
def test_a_musl_program_finds_the_directory_and_what_it_found_before(musl_box, engine):
    box = musl_box(engine=engine)
    script = f"{PROBE}; stat -c '%u:%g %a' /{PATH_FILE}"
    assert started(box.run(script)) == ("libgpu.so.1 /opt/driver/libgpu.so.1\n"
                                        "libimage.so.1 /usr/local/lib/libimage.so.1\n0:0 644\n")
    assert not (box.rootfs / CACHE).exists() and not (box.rootfs / CONF).exists()


@pytest.mark.parametrize("text", ["/opt/own\n", "/opt/own", "/lib:/opt/own:/usr/lib\n",
                                  "\n\n/opt/own\n/lib\n", "/opt/own/\n/opt/driver2\n"], ids=repr)
def test_the_lines_of_the_path_file_stay(musl_box, text):
    box = musl_box(at="opt/own")
    (box.rootfs / PATH_FILE).write_text(text)
    found = started(box.run(PROBE)).replace("//", "/")
    assert found == ("libgpu.so.1 /opt/driver/libgpu.so.1\nlibimage.so.1 /opt/own/libimage.so.1\n")
    now = (box.rootfs / PATH_FILE).read_text().replace(":", "\n").split()
    assert now == ["/opt/driver", *text.replace(":", "\n").split()]


@pytest.mark.parametrize("text", ["/opt/own\n/opt/driver\n/lib\n", "/opt/driver:/lib:/opt/own",
                                  "/opt/own:/lib:/opt/driver"], ids=repr)
def test_no_directory_is_in_the_path_file_twice(musl_box, text, shop):
    """Nor behind others, where a library of the image would be found in place of the directory's."""
    box = musl_box(at="opt/own")
    shop.library(box.rootfs / "opt/own/libgpu.so.1", "libgpu.so.1")
    (box.rootfs / PATH_FILE).write_text(text)
    out = started(box.run(PROBE))
    now = (box.rootfs / PATH_FILE).read_text().replace(":", "\n").split()
    assert sorted(now) == sorted(["/opt/driver", "/lib", "/opt/own"])
    assert out == "libgpu.so.1 /opt/driver/libgpu.so.1\nlibimage.so.1 /opt/own/libimage.so.1\n"


@pytest.mark.parametrize("engine, text", [(PLAIN[1], None), (PLAIN[2], "/opt/own\n")], ids=str)
def test_musl_on_a_read_only_root(musl_box, engine, text):
    box = musl_box(engine=engine, at="opt/own" if text else "usr/local/lib")
    box.config["root"]["readonly"] = True
    if text:
        (box.rootfs / PATH_FILE).write_text(text)
    out = started(box.run(PROBE))
    assert out.startswith("libgpu.so.1 /opt/driver/libgpu.so.1\nlibimage.so.1 /"), out
    assert not text or (box.rootfs / PATH_FILE).read_text() == text


@pytest.mark.parametrize("readonly", [False, True])
def test_a_second_run_changes_nothing_with_musl(musl_box, scratch, readonly):
    box = musl_box()
    box.config["root"]["readonly"] = readonly
    box.first += [box._entry(), snapshot(scratch / "1")]  # pylint: disable=protected-access
    box.last = [snapshot(scratch / "2")]
    started(box.run(PROBE))
    assert (scratch / "1").read_text() == (scratch / "2").read_text()


def test_musl_in_an_etc_that_is_a_volume(musl_box, scratch):
    box = musl_box()
    shutil.copytree(box.rootfs / "etc", scratch / "volume")
    (scratch / "volume" / PATH_FILE[4:]).write_text("/usr/local/lib\n")
    before = tree(scratch / "volume")
    box.bundle.mount("/etc", scratch / "volume", "rbind", "rprivate")
    assert started(box.run(PROBE)).startswith("libgpu.so.1 /opt/driver/libgpu.so.1\nlibimage.so.1 /usr")
    assert tree(scratch / "volume") == before


def test_an_image_of_both_is_served_in_both(musl_box, shop):
    box = musl_box()
    shutil.rmtree(box.rootfs / "lib")
    debian_root.add_glibc(box.rootfs)
    shutil.copy(debian_root.MUSL_LOADER, box.rootfs / "lib/ld-musl-x86_64.so.1")
    shutil.copy(shop.probe, box.rootfs / "probe")
    line = "libgpu.so.1 /opt/driver/libgpu.so.1\n"
    assert started(box.run("/probe libgpu.so.1; /musl-probe libgpu.so.1")) == line * 2


@pytest.mark.parametrize("text", [b"\0" * 100, b"/lib\n" * (1 << 20), b"\xff\xfe\n/lib\n"], ids=len)
def test_a_strange_path_file_is_no_harm(musl_box, text):
    box = musl_box()
    (box.rootfs / PATH_FILE).write_bytes(text)
    started(box.run())


@pytest.mark.parametrize("engine, request_", [(PLAIN[0], "auto"), (PLAIN[3], "/opt/driver")], ids=str)
def test_h18_an_image_without_a_c_library_is_left_alone(ld_box, driver, engine, request_):
    """A busybox image: a line in the log, and the container runs."""
    box = ld_box(request_, "--log-level", "info", engine=engine)
    shutil.copytree(driver, box.rootfs / "opt/driver", symlinks=True)
    before = tree(box.rootfs / "etc")
    result = box.run("echo started")
    assert started(result) == "started\n"
    assert len(result.said) >= 1 and tree(box.rootfs / "etc") == before


@in_turns("kept", [[], ["bin"], ["bin", "usr"], ["bin", "etc"]], "engine", among=engines.RUNTIMES)
def test_h18_an_image_with_next_to_nothing(ld_box, engine, kept):
    """No /etc, no /usr, or an empty root: not a program to run, but the hook has no quarrel with it."""
    box = ld_box("auto", "--log-level", "info", engine=engine)
    for path in box.rootfs.iterdir():
        if path.name not in kept:
            shutil.rmtree(path)
    result = box.run("echo started")
    assert result.hook_status is None and len(result.said) >= 1, (result.err, result.said)
    assert result.code == 0 if kept else result.code != 0
    assert not (box.rootfs / CACHE).exists() and not (box.rootfs / PATH_FILE).exists()


@pytest.mark.parametrize("machine, loader, flags", [
    (elf.AARCH64, "lib/ld-linux-aarch64.so.1", AARCH64), (elf.PPC64LE, "lib64/ld64.so.2", PPC64),
    (elf.I386, "lib/ld-linux.so.2", I386), (elf.ARM_HARD_FLOAT, "lib/ld-linux-armhf.so.3", 0x0903),
    (elf.X86_64, "lib64/ld-linux-x86-64.so.2", X86_64)], ids=lambda value: str(value))
@pytest.mark.parametrize("cache", [True, False])
def test_images_of_other_machines(ld_box, machine, loader, flags, cache):
    """The flags are those of the files, not of the machine that runs the hook."""
    box = ld_box("/opt/driver")
    (box.rootfs / loader).parent.mkdir()
    (box.rootfs / loader).write_bytes(elf.library(loader.rpartition("/")[2], machine))
    (box.rootfs / "opt/driver").mkdir(parents=True)
    (box.rootfs / "opt/driver/libgpu.so.1").write_bytes(elf.library("libgpu.so.1", machine, ["libc.so.6"]))
    own = [Entry("libz.so.1", "/usr/lib/libz.so.1", flags, 0x30200),
           Entry("libc.so.6", "/lib/libc.so.6", flags)]
    if cache:
        (box.rootfs / CACHE).write_bytes(write(own))
    started(box.run())
    expected = [own[0], Entry("libgpu.so.1", "/opt/driver/libgpu.so.1", flags), own[1]]
    now = read((box.rootfs / CACHE).read_bytes())
    assert now == (expected if cache else expected[1:2])
    status = (box.rootfs / CACHE).stat()
    assert stat.S_IMODE(status.st_mode) == 0o644


def test_entries_with_legacy_bits_keep_them(ld_box):
    """As glibc before 2.33 wrote them for directories like haswell or tls; the most bits come first."""
    box = ld_box("/opt/driver")
    (box.rootfs / "opt/driver").mkdir(parents=True)
    (box.rootfs / "opt/driver/liba.so.1").write_bytes(elf.library("liba.so.1"))
    (box.rootfs / "lib64").mkdir()
    (box.rootfs / "lib64/ld-linux-x86-64.so.2").write_bytes(elf.library())
    own = [Entry("libz.so.1", "/usr/lib/haswell/avx/libz.so.1", X86_64, 0x30200, 3 << 48),
           Entry("libz.so.1", "/usr/lib/tls/libz.so.1", X86_64, 0, 1 << 63),
           Entry("libz.so.1", "/usr/lib/haswell/libz.so.1", X86_64, 0x30200, 1 << 50),
           Entry("libz.so.1", "/usr/lib/libz.so.1", X86_64, 0x30200, 0),
           Entry("libz.so.1", "/usr/lib32/libz.so.1", I386, 0, 0)]
    (box.rootfs / CACHE).write_bytes(write(own))
    started(box.run())
    assert read((box.rootfs / CACHE).read_bytes()) == [
        *own, Entry("liba.so.1", "/opt/driver/liba.so.1", X86_64)]
