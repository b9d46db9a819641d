# SPDX-License-Identifier: Apache-2.0
"""The driver's files beside what an image has of its own: other libraries of the same names, files in the tree's
place, links' places that are taken, programs that renew the loader cache, and no C library that could use them."""

import os
import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest

from harness import driver_images, engines
from harness.driver_container import LD_LIBRARY_PATH, environment, found, image_files, opened
from harness.expect import started, told
from harness.ldcache import CACHE, CONF, listed, read
from harness.nvidia_container import CAPABILITIES, PROBE, given, probed, refused
from harness.source import tree
from hosts.driver import PARTS, POINT, PROFILE, VERSION

pytest_plugins = ["harness.nvidia_fixtures", "harness.ldcache_fixtures", "harness.driver_fixtures"]

RUNC, CRUN = engines.RUNTIMES
OURS = f"{POINT}/lib64/libcuda.so.{VERSION}"
PLAIN = [RUNC, CRUN, engines.MAPPED[0]]


@pytest.mark.parametrize("image, directory", [(driver_images.small, "usr/lib/x86_64-linux-gnu"),
                                           (driver_images.lib64, "usr/lib64"), (driver_images.distroless, "usr/lib")],
                         ids=lambda value: getattr(value, "__name__", None))
@pytest.mark.parametrize("cache", [True, False], ids=["cache", "LD_LIBRARY_PATH"])
def test_the_hosts_libcuda_wins_over_the_images(files_box, installed, stubs, image, directory, cache):
    """Of another version, or a stub as of the CUDA toolkit; also in the image's own cache."""
    box = files_box(image=image, cache=cache)
    for name in ("libcuda.so.1", "libcuda.so", "libnvidia-ml.so.1", "libnvidia-ml.so.470.1"):
        stubs.library(box.rootfs / directory / name, f"{name.partition('.so')[0]}.so.1")
    if image is not driver_images.distroless:
        subprocess.run(["chroot", box.rootfs, "/sbin/ldconfig"], check=True)
        names = [entry.name for entry in read((box.rootfs / CACHE).read_bytes())]
        assert "libcuda.so.1" in names and "libnvidia-ml.so.1" in names
    before = tree(box.rootfs / directory).items()
    if not cache:
        environment(box, LD_LIBRARY_PATH=LD_LIBRARY_PATH)
    names = {"libcuda.so.1", "libcuda.so", "libnvidia-ml.so.1"}
    expected = {name: path for name, path in installed.names(["compute", "utility"]).items() if name in names}
    assert opened(box, sorted(names)) == expected
    assert before <= tree(box.rootfs / directory).items()


@pytest.mark.parametrize("engine", PLAIN, ids=str)
def test_what_an_image_has_in_the_trees_place_is_hidden_and_stays(files_box, installed, stubs, engine):
    """As images have it that were made on a host with a driver."""
    box = files_box(engine=engine)
    place = box.rootfs / POINT[1:]
    stubs.library(place / "lib64/libcuda.so.1", "libcuda.so.1")
    stubs.library(place / "lib64/libother.so.1", "libother.so.1")
    (place / "bin").mkdir()
    (place / "bin/nvidia-smi").write_text("of the image")
    (place / "lib").symlink_to("/etc")
    before = tree(place)
    out = started(box.run(f"nvidia-smi libcuda.so.1 libother.so.1; ls {POINT} {POINT}/lib64 {POINT}/bin; id -u"))
    said = dict(line.split(" ", 1) for line in out.splitlines() if ".so.1 " in line)
    assert said["libcuda.so.1"] == OURS and said["libother.so.1"].startswith("- ") and "lib\n" not in out
    assert "libother" not in out.split(f"{POINT}:")[1]
    assert tree(place) == before and installed.places


@pytest.mark.parametrize("release, is_ours", [("bookworm", False), ("trixie", True)])
def test_a_library_for_a_newer_glibc_does_not_hide_the_images(files_box, installed, stubs, scratch, release, is_ours):
    """Debian 12 has glibc 2.36; on it the host's would not load."""
    soname, file = "libnvidia-egl-wayland.so.1", "libnvidia-egl-wayland.so.1.1.13"
    (installed.root / "usr/lib64" / file).unlink()
    stubs.needing(installed.root / "usr/lib64" / file, soname, "GLIBC_2.38")
    own = stubs.library(scratch / soname, soname)
    box = files_box("all", image=partial(driver_images.debian, release=release))
    box.host.run(["cp", own, box.rootfs / "usr/lib/x86_64-linux-gnu"])
    result = box.run(f"nvidia-smi {soname} libcuda.so.1")
    place = f"{POINT}/lib64/{file}" if is_ours else f"/usr/lib/x86_64-linux-gnu/{soname}"
    assert found(started(result)) == {soname: place, "libcuda.so.1": OURS}
    words = f"'{file}' of the host is left out: it needs 'GLIBC_2.38', and the image has glibc 2.36"
    assert len([line for line in result.said if words in line]) == (0 if is_ours else 1)


@pytest.mark.parametrize("engine", [RUNC, engines.MAPPED[1]], ids=str)
def test_an_image_whose_filesystem_is_read_only(files_box, installed, engine):
    """Not by config.json, but as on a squashfs: nothing can be made there. With the directory in the image it works, and
    the loader's cache is mounted over; without, the message says the way out."""
    for name in ("/usr/local", POINT):
        box = files_box(engine=engine)
        for directory in ("dev", "proc", "sys", "proc/driver", name[1:]):
            (box.rootfs / directory).mkdir(parents=True, exist_ok=True)
        box.host.mount("--bind", box.rootfs, box.rootfs)
        box.host.mount("-o", "remount,bind,ro", box.rootfs)
        result = box.run(f"{POINT}/bin/nvidia-smi libcuda.so.1")
        if name == POINT:
            assert started(result) == f"libcuda.so.1 {OURS}\n" and installed.places
            assert [line for line in result.said if "'/usr/bin/nvidia-smi' is left out" in line]
        else:
            refused(result, 1, f"cannot make '{POINT}'", "read-only; make it in the image")


def links(rootfs):
    """Those into the tree, by their paths in the image."""
    return {f"/{path.relative_to(rootfs)}": str(path.readlink()) for path in rootfs.rglob("*")
            if path.is_symlink() and str(path.readlink()).startswith(POINT)}


def test_links_in_an_image_of_debians_kind_and_of_the_other(files_box, installed):
    """Every program and data file has one where programs look for it."""
    seen = {}
    for image, directory in ((driver_images.small, "/usr/lib/x86_64-linux-gnu"), (driver_images.lib64, "/usr/lib64")):
        box = files_box("all", image=image)
        started(box.run())
        seen = links(box.rootfs)
        assert seen[f"{directory}/gbm/nvidia-drm_gbm.so"] == f"{POINT}/lib64/libnvidia-allocator.so.1"
        for path in installed.paths(PARTS):
            if path.startswith(("share/egl", "share/glvnd", "share/nvidia")):
                assert seen[f"/usr/{path}"] == f"{POINT}/{path}"
            if path.startswith("bin/"):
                assert seen[f"/usr/{path}"] == f"{POINT}/{path}"
        assert seen[f"/etc/{PROFILE}"] == f"{POINT}/share/{PROFILE}"
        assert seen["/etc/vulkan/icd.d/nvidia_icd.json"] == f"{POINT}/share/vulkan/icd.d/nvidia_icd.json"
    assert len(seen) > 20


def test_what_an_image_has_where_a_link_belongs_stays(files_box, installed):
    """But for an empty file, which is what other tools leave behind."""
    box = files_box("all")
    own = {"usr/bin/nvidia-smi": "of the image", "etc/OpenCL/vendors/nvidia.icd": "libimage.so",
           "etc/vulkan/icd.d/nvidia_icd.json": "", "usr/bin/nvidia-debugdump": ""}
    for name, text in own.items():
        (box.rootfs / name).parent.mkdir(parents=True, exist_ok=True)
        (box.rootfs / name).write_text(text)
    (box.rootfs / "usr/share/glvnd/egl_vendor.d/10_nvidia.json").mkdir(parents=True)
    (box.rootfs / "lib/firmware/nvidia/gp102").mkdir(parents=True)
    (box.rootfs / "usr/share/nvidia").mkdir(parents=True)
    (box.rootfs / "usr/share/nvidia/nvoptix.bin").symlink_to("/nowhere")
    before = image_files(box.rootfs)
    started(box.run())
    after = image_files(box.rootfs)
    changed = {name for name, each in before.items() if each != after.get(name)}
    assert changed == {CACHE, *(name for name, text in own.items() if text == "")}
    for name in ("etc/vulkan/icd.d/nvidia_icd.json", f"lib/firmware/nvidia/{VERSION}/gsp_tu10x.bin"):
        assert str((box.rootfs / name).readlink()).startswith(POINT)
    assert installed.places


@pytest.mark.parametrize("engine", PLAIN, ids=str)
def test_an_image_with_musl_gets_nodes_alone(files_box, installed, machine, engine):
    """And /proc. ldcache-update finds nothing to do."""
    plain = files_box(image=driver_images.musl, engine=engine, request=None)
    started(plain.run("true"))
    box = files_box("all", image=driver_images.musl, engine=engine)
    result = box.run(f"{PROBE} probe /dev/nvidia[0-9] /dev/nvidiactl /dev/nvidia-uvm*; cat /proc/driver/nvidia/params;"
                     f" grep -c {POINT} /proc/self/mountinfo || true")
    *seen, end = started(result).splitlines()
    assert probed("\n".join(line for line in seen if "|" in line)) == given(machine.gpus[1])
    assert "ModifyDeviceFiles: 0" in seen and end == "0"
    told(result, "the image has musl, and the driver's libraries need glibc")
    assert image_files(box.rootfs) == image_files(plain.rootfs) and installed.places


@pytest.mark.parametrize("image", [driver_images.musl_for_glibc, driver_images.musl_and_glibc],
                         ids=lambda image: image.__name__)
def test_an_image_with_musl_and_a_loader_of_glibcs_name_gets_libraries(files_box, installed, shop, image):
    """Programs for glibc find them by whichever of the loaders it is, and by the right file; those for musl as well."""
    box = files_box(image=image)
    shutil.copy(shop.musl_probe, box.rootfs / "musl-probe")
    result = box.run("nvidia-smi libcuda.so.1; /musl-probe libcuda.so.1; cat /etc/ld-musl-x86_64.path")
    program, other, *searched = started(result).splitlines()  # the first says where a link leads
    by_musl = f"libcuda.so.1 {POINT}/lib64/libcuda.so.1"
    assert program == f"libcuda.so.1 {OURS}"
    assert other == by_musl and searched == [f"{POINT}/lib64", "/lib", "/usr/local/lib", "/usr/lib"]
    cached = {entry.path for entry in read((box.rootfs / CACHE).read_bytes()) if entry.name == "libcuda.so.1"}
    assert cached == {f"{POINT}/lib64/libcuda.so.1"} and installed.places
    assert not any("LD_LIBRARY_PATH" in line or "musl, and" in line for line in result.said), result.said


@pytest.mark.parametrize("engine", [RUNC, engines.MAPPED[1]], ids=str)
def test_an_image_without_a_loader_gets_the_tree(files_box, installed, engine):
    """Programs may bring theirs; and a static one may look at files."""
    box = files_box(image=driver_images.busybox, engine=engine)
    out = started(box.run(f"cd {POINT}/lib64; ls; readlink libcuda.so.1; readlink libcuda.so"))
    *names, link, development = out.split()
    assert f"libcuda.so.{VERSION}" in names and "libcuda.so.1" in names
    assert (link, development) == (f"libcuda.so.{VERSION}", "libcuda.so.1") and installed.places


def test_the_loaders_cache_renewed_inside_still_has_our_libraries_first(files_box, installed):
    """ldconfig as any package runs it. It knows libraries by their SONAMEs, and forgets their other names."""
    box = files_box(image=driver_images.debian)
    names = installed.names(["compute", "utility"])
    others = {library.file for library in installed.libraries(["compute", "utility"])
              if library.soname != library.file}
    look = f"ldconfig -p; nvidia-smi {' '.join(names)}"
    before, after = started(box.run(f"{look}; echo ==; ldconfig && {look}")).split("==\n")
    assert [entry for entry in listed(before) if entry[0] not in others] == listed(after)
    said = [found("\n".join(line for line in text.splitlines() if line.startswith("lib"))) for text in (before, after)]
    assert said[0] == names and len(others) > 10
    assert {name: path for name, path in said[1].items() if not path.startswith("- ")} == {
        name: path for name, path in names.items() if name not in others}
    conf = (box.upper / CONF).read_text().splitlines()
    assert conf[-1] == f"{POINT}/lib64" and f"{POINT}/lib" not in conf


INSTALL = "dpkg --install /package.deb >/tmp/said 2>&1 || { cat /tmp/said >&2; exit 1; }"


def debian_with_package(files_box, top):
    """A container of Debian in which INSTALL installs the files below `top`."""
    (top / "DEBIAN").mkdir()
    (top / "DEBIAN/control").write_text("Package: package1\nVersion: 1\nArchitecture: amd64\n"
                                        "Maintainer: nobody <n@example.org>\nDescription: a package\n")
    (top / "DEBIAN/triggers").write_text("activate-noawait ldconfig\n")
    package = top.with_name("package.deb")
    subprocess.run(["dpkg-deb", "--root-owner-group", "--build", top, package], check=True,
                   stdout=subprocess.DEVNULL)
    box = files_box(image=driver_images.debian)
    box.host.run(["cp", package, box.rootfs / "package.deb"])
    for capability in ("CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER"):
        box.add_capability(capability)
    return box


def test_a_package_that_renews_the_cache(files_box, installed, stubs, scratch):
    """dpkg runs ldconfig by a trigger, and the package's own libcuda does not come first."""
    top = scratch / "deb"
    stubs.library(top / "usr/lib/x86_64-linux-gnu/libcuda.so.1", "libcuda.so.1")
    stubs.library(top / "usr/lib/x86_64-linux-gnu/libpackage.so.1", "libpackage.so.1")
    box = debian_with_package(files_box, top)
    out = started(box.run(f"{INSTALL}; grep -o 'Processing triggers for libc-bin' /tmp/said;"
                          " nvidia-smi libcuda.so.1 libpackage.so.1"))
    assert out == (f"Processing triggers for libc-bin\nlibcuda.so.1 {OURS}\n"
                   "libpackage.so.1 /usr/lib/x86_64-linux-gnu/libpackage.so.1\n")
    assert installed.places


def test_tools_of_another_driver(files_box, installed):
    """As from a package that does not belong into an image. They win, and somebody has to say so."""
    box = files_box()
    (box.rootfs / "usr/bin/nvidia-smi").write_text("#!/bin/sh\necho of the image\n", "ascii")
    (box.rootfs / "usr/bin/nvidia-smi").chmod(0o755)
    (box.rootfs / "usr/lib/x86_64-linux-gnu/libnvidia-ml.so.535.104.05").write_text("")
    result = box.run("nvidia-smi")
    assert started(result) == "of the image\n"
    told = [line for line in result.said if "'/usr/bin/nvidia-smi' is found before the host's" in line]
    assert len(told) == 1 and "of version 535.104.05, and this host has 555.42.07" in told[0], result.said
    assert installed.places


def test_a_package_with_firmware(files_box, installed, scratch):
    """Of other GPUs, and of this driver itself: dpkg writes into the directories of the image, which are no links."""
    directory = f"lib/firmware/nvidia/{VERSION}"
    names = [f"{directory}/gsp_tu10x.bin", f"{directory}/other.bin", "lib/firmware/nvidia/gp102/acr/bl.bin"]
    for name in names:
        (scratch / "deb" / name).parent.mkdir(parents=True, exist_ok=True)
        (scratch / "deb" / name).write_text("of the package\n")
    box = debian_with_package(files_box, scratch / "deb")
    out = started(box.run(f"cat /{directory}/*; {INSTALL}; cd /; cat {' '.join(names)} {directory}/gsp_ga10x.bin"))
    assert out == ("gsp_ga10x.bin of the host\ngsp_tu10x.bin of the host\n" + 3 * "of the package\n"
                   + "gsp_ga10x.bin of the host\n")
    assert installed.places


@pytest.mark.parametrize("volume, engine", [("etc", RUNC), ("usr/share", RUNC), ("tmp", RUNC),
                                            ("tmp", engines.MAPPED[1])], ids=str)
def test_h17_no_link_is_made_on_a_volume(files_box, installed, scratch, volume, engine):
    """It is a directory of the host; the container works all the same, and is told what it lacks."""
    (scratch / "volume/kept").mkdir(parents=True)
    (scratch / "volume/passwd").write_text("root:x:0:0::/:/bin/sh\n")
    before = tree(scratch / "volume")
    box = files_box("all", engine=engine, cache=volume != "etc")
    box.volume(f"/{volume}", scratch / "volume")
    environment(box, LD_LIBRARY_PATH=LD_LIBRARY_PATH)
    result = box.run("nvidia-smi libcuda.so.1")
    assert started(result) == f"libcuda.so.1 {OURS}\n"
    assert [line for line in result.said if "is left out: " in line and f"'/{volume}/" in line], result.said
    assert tree(scratch / "volume") == before and installed.places


def test_the_capabilities_of_the_environment(files_box, installed):
    """As images say it for NVIDIA's own tools: counted where the selector is `env`."""
    box = files_box(request="env")
    box.environment("NVIDIA_VISIBLE_DEVICES=1")
    box.environment("NVIDIA_DRIVER_CAPABILITIES=utility")
    assert CAPABILITIES not in box.annotations
    seen = opened(box, ["libnvidia-ml.so.1", "libcuda.so.1"])
    assert seen["libnvidia-ml.so.1"].startswith(POINT) and seen["libcuda.so.1"].startswith("- ")
    assert installed.places


@pytest.mark.parametrize("place", ["image", "a tmpfs of the host"])
def test_a_record_that_somebody_else_has_written_is_not_believed(files_box, installed, machine, scratch, place):
    """Of an earlier request, here for everything; neither is that of another owner on a tmpfs called like ours."""
    box = files_box("utility", image=driver_images.busybox, cache=False)
    (box.rootfs / POINT[1:]).mkdir(parents=True)
    directory = box.rootfs / POINT[1:]
    if place != "image":
        directory = scratch / "volume"
        directory.mkdir()
        box.host.mount("-t", "tmpfs", "-o", "mode=755", "oci-gpu-hooks", directory)
        box.volume(POINT, directory)
    record = Path(box.host.path(directory)) / ".oci-gpu-hooks"
    record.mkdir()
    (record / "nvidia-devices").write_text("compute,utility,graphics,display,ngx,compat32\n0,1,2,3,4,5,6,7\n")
    os.chown(record / "nvidia-devices", 1000, 1000)
    result = box.run(f"ls {POINT}/lib64; ls -d /dev/nvidia*")
    if result.hook_status:
        refused(result, 1)
    else:
        words = started(result).split()
        assert "libnvidia-ml.so.1" in words and "libcuda.so.1" not in words
        assert [word for word in words if word[-1].isdigit() and "/dev/" in word] == [machine.gpus[1].node]
    assert sorted(path.name for path in record.iterdir()) == ["nvidia-devices"] and installed.places
