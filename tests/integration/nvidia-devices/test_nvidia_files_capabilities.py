# SPDX-License-Identifier: Apache-2.0
"""What each capability brings of the driver's files, what it cannot do without, and where the files are found on
hosts of several kinds. All of it by hand and with --plan, but for one container of each kind."""

import os
import posixpath
import re
import shutil
import subprocess

import pytest

from harness.nvidia_container import asked, error_of
from harness.source import tree
from hosts.driver import (DEBIAN, DIRECTORIES, LIB64, NIXOS, NO_CACHE, NO_CACHE_DEBIAN, OPENSUSE, POINT, PROFILE, RPM,
                          RPM_ALTERNATIVES, VERSION, Driver)
from hosts.nvidia import OPEN

pytest_plugins = ["harness.nvidia_fixtures", "harness.ldcache_fixtures", "harness.driver_fixtures"]

ALONE = ["compute", "utility", "video", "graphics", "display", "ngx"]
EVERY = [*ALONE, "compat32"]
OURS = {f"{POINT}/.oci-gpu-hooks/ld-directories", f"{POINT}/.oci-gpu-hooks/nvidia-devices"}


def shown(edits):
    """What is mounted in the tree: by path, the host's."""
    return {mount["containerPath"]: mount["hostPath"] for mount in edits["containerEdits"]["mounts"]
            if mount["containerPath"].startswith(f"{POINT}/")}


def expected(installed, capabilities):
    return {f"{POINT}/{path}": installed.places[path] for path in installed.paths(capabilities)
            if not (installed.layout.named and path.endswith((".json", ".icd")))}


def links_of(edits):
    return {link["path"]: link["target"] for link in edits.get("links", ())}


def resolved(edits, path):
    """Where a path of the container leads, by the plan's own links; None where a link dangles in the tree."""
    links, names = links_of(edits), {*shown(edits), *(file["path"] for file in edits["files"])}
    directories = {posixpath.dirname(name) for name in names}
    for _ in range(10):
        if path not in links:
            break
        path = posixpath.normpath(posixpath.join(posixpath.dirname(path), links[path]))
    inside = path in names or any(directory == path or directory.startswith(f"{path}/") for directory in directories)
    return path if inside else None


def hosts_links(installed, capabilities):
    """The links that these capabilities bring, with the file that each leads to."""
    links = {f"{POINT}/lib64/{name}": file for name, file in installed.names(capabilities).items()}
    if "compat32" in capabilities:
        links |= {f"{POINT}/lib/{name}": file for name, file in installed.names(capabilities, 32).items()}
    for path in installed.paths(capabilities):
        if path.startswith("bin/"):
            links[f"/usr/{path}"] = f"{POINT}/{path}"
        elif path.startswith(("share/vulkan/", "share/OpenCL/")):
            links[path.replace("share", "/etc", 1)] = f"{POINT}/{path}"
        elif path.startswith("share/firmware/"):
            links[path.replace("share", "/lib", 1)] = f"{POINT}/{path}"
        elif path.startswith("share/"):
            links[f"/usr/{path}"] = f"{POINT}/{path}"
        elif path.startswith("run/"):
            links["/tmp/nvidia-mps" if path.endswith("mps") else f"/{path}"] = f"{POINT}/{path}"
    if {"graphics", "display"} & set(capabilities):
        links[f"/etc/{PROFILE}"] = f"{POINT}/share/{PROFILE}"
        links["/usr/lib64/gbm/nvidia-drm_gbm.so"] = f"{POINT}/lib64/libnvidia-allocator.so.{installed.version}"
    return {path: target for path, target in links.items() if path != target}


@pytest.mark.parametrize("capabilities", [
    *([each] for each in ALONE), ["compute", "utility"], ["utility", "compat32"],
    ["compute", "graphics", "compat32"], EVERY], ids=",".join)
def test_what_a_capability_brings(plan, installed, capabilities):
    """Its files, all names of its libraries, and links from where programs look; no more, and no link dangles."""
    before = tree(installed.root)
    text = "all" if capabilities is EVERY else ",".join(capabilities)
    edits = plan(**asked("0", text))
    assert shown(edits) == expected(installed, capabilities)
    links = {path: resolved(edits, path) for path in links_of(edits) if not path.startswith("/dev/")}
    assert links == hosts_links(installed, capabilities)
    for mount in edits["containerEdits"]["mounts"]:
        if mount["containerPath"].startswith(f"{POINT}/"):
            assert {"nosuid", "nodev"} <= set(mount["options"]), mount
            assert ("ro" in mount["options"]) is not mount["containerPath"].startswith(f"{POINT}/run/")
    files = {file["path"]: file.get("content", "") for file in edits["files"]}
    assert OURS <= set(files)
    directories = ["lib64", "lib"] if "compat32" in capabilities else ["lib64"]
    assert files[f"{POINT}/.oci-gpu-hooks/ld-directories"].split() == directories
    assert tree(installed.root) == before


def test_where_programs_find_files_is_not_linked_twice(plan, installed):
    """With a PATH that has the tree there is no link to a program."""
    assert installed.places
    for path, linked in ((f"/usr/bin:{POINT}/bin", False), (f"/usr/bin:{POINT}/bin2:{POINT}", True), (None, True)):
        config = asked("0", env=[f"PATH={path}"] if path else [])
        assert ("/usr/bin/nvidia-smi" in links_of(plan(**config))) is linked, path


def test_the_application_profile_names_the_gpus(plan, installed, machine):
    """By the minors of their nodes, as a mask."""
    assert installed.places
    for request, mask in (("0", 1 << 5), ("1,2", 1 << 2 | 1 << 7), ("all", 0xff)):
        edits = plan(**asked(request, "graphics"))
        [text] = [file["content"] for file in edits["files"] if file["path"] == f"{POINT}/share/{PROFILE}"]
        assert f'"EGLVisibleDGPUDevices",{mask:#x}' in "".join(text.split())
        assert '"_container_"' in text and len(machine.gpus) == 8
    assert f"/etc/{PROFILE}" not in links_of(plan(**asked("0", "compute,utility")))


NEEDS = {"compute": ["libcuda.so"], "utility": ["libnvidia-ml.so"], "ngx": ["libnvidia-ngx.so"],
         "video": ["libnvcuvid.so", "libnvidia-encode.so"], "graphics": ["libGLX_nvidia.so", "libEGL_nvidia.so"],
         "display": ["libGLX_nvidia.so", "libEGL_nvidia.so"]}


@pytest.mark.parametrize("installed, capability", [*((LIB64, each) for each in NEEDS), (NO_CACHE, "compute")],
                         ids=str, indirect=["installed"])
def test_a_capability_that_cannot_work_is_refused_by_name(plan, by_hand, installed, stubs, capability):
    """And left out where all of them are asked for, or no GPU is."""
    needed = [f"{name}.{VERSION}" for name in NEEDS[capability]]
    installed.remove(*needed)
    error_of(by_hand("--plan", **asked("0", capability)), 6, f"'{capability}'", f"'{needed[0]}'", "; searched: ",
             installed.layout.libraries)
    process = by_hand("--plan", "--log-level", "info", **asked("0", "all"))
    assert process.returncode == 0 and f"'{capability}'" in process.stderr, process.stderr
    seen = shown(plan(**asked("0", "all")))
    assert seen.items() <= expected(installed, EVERY).items()
    assert len(seen) > 20 or capability == "compute"
    assert f"{POINT}/lib64/{needed[0]}" not in shown(plan(**asked("none", capability)))
    stubs.library(installed.root / installed.layout.libraries / needed[0], needed[0])
    assert f"{POINT}/lib64/{needed[0]}" in shown(plan(**asked("0", capability)))


def test_compat32_needs_a_library_for_32_bits_and_another_capability(plan, by_hand, machine, stubs):
    error_of(by_hand("--plan", **asked("0", "compat32")), 2, "'compat32'")
    Driver(machine.path, stubs, NO_CACHE, bits=(64,))
    error_of(by_hand("--plan", **asked("0", "compute,compat32")), 6, "'compat32'", "searched")
    assert not [path for path in shown(plan(**asked("0", "all"))) if path.startswith(f"{POINT}/lib/")]


@pytest.mark.parametrize("missing", ["libnvidia-pkcs11.so.555.42.07", "nvidia-smi", "nvidia.icd", "socket",
                                     "nvidia-mps", "gsp_tu10x.bin"])
def test_any_other_file_may_be_missing(plan, installed, missing):
    installed.remove(missing)
    edits = plan(**asked("0"))
    assert shown(edits) == expected(installed, ["compute", "utility"])
    assert None not in [resolved(edits, path) for path in links_of(edits)]


def test_pipes_of_mps_on_a_mount_of_their_own_are_left_out(plan, installed):
    """Anybody may mount a FUSE there, which need not answer."""
    place = installed.root / "tmp/nvidia-mps"
    subprocess.run(["mount", "--bind", place, place], check=True)
    try:
        paths = shown(plan(**asked("0")))
    finally:
        subprocess.run(["umount", place], check=True)
    assert paths == {path: source for path, source in expected(installed, ["compute", "utility"]).items() if "nvidia-mps" not in path}


def test_without_a_gpu_there_are_files_for_what_is_asked_by_name(plan, installed):
    for config, capabilities in [
            (asked("none"), []), (asked("none", "compute"), ["compute"]), (asked("none", "all"), EVERY),
            (asked("env", env=["NVIDIA_VISIBLE_DEVICES=none", "NVIDIA_DRIVER_CAPABILITIES=utility"]), ["utility"])]:
        assert shown(plan(**config)) == expected(installed, capabilities)


@pytest.mark.parametrize("layout", [LIB64, NO_CACHE], ids=str)
def test_a_driver_that_was_updated_while_it_is_loaded(plan, by_hand, machine, stubs, layout):
    """The message says what to do; with both versions on the host it is the module's that counts."""
    Driver(machine.path, stubs, layout, version="560.10.01")
    for capabilities in (None, "all"):
        error_of(by_hand("--plan", **asked("0", capabilities)), 6, "'libcuda.so.560.10.01'", "reboot", VERSION)
    for name in ("libcuda", "libnvidia-ml"):
        stubs.library(machine.path / f"usr/lib64/{name}.so.{VERSION}", f"{name}.so.1")
    assert {os.path.basename(path) for path in shown(plan(**asked("0"))) if "libcuda.so" in path} == {
        f"libcuda.so.{VERSION}"}


def test_the_open_module(plan, machine, stubs):
    machine.write("proc/driver/nvidia/version", OPEN)
    installed = Driver(machine.path, stubs, version="601.10.03")
    assert shown(plan(**asked("0", "all"))) == expected(installed, EVERY)


def test_a_version_that_cannot_be_understood(plan, by_hand, machine):
    machine.write("proc/driver/nvidia/version", "NVRM version: of another day\n")
    error_of(by_hand("--plan", **asked("0")), 6, "version")
    assert shown(plan(**asked("none"))) == {}


@pytest.mark.parametrize("installed", [LIB64, DEBIAN, DIRECTORIES, NO_CACHE, NO_CACHE_DEBIAN, NIXOS, RPM, RPM_ALTERNATIVES,
                                       OPENSUSE], ids=str, indirect=True)
def test_where_files_are_found(plan, installed):
    assert shown(plan(**asked("0", "all"))) == expected(installed, EVERY)


def paths_named(text):
    """The libraries that a file names to a loader."""
    return re.findall(r'"library_path": *"([^"]*)"', text) if text.startswith("{") else [text.strip()]


@pytest.mark.parametrize("installed", [RPM, RPM_ALTERNATIVES, NIXOS], ids=str, indirect=True)
def test_files_that_name_directories_of_the_host(plan, installed):
    """In the container each names what is there, and the host's own files are as they were."""
    before = tree(installed.root)
    edits = plan(**asked("0", "all"))
    texts = {file["path"]: file["content"] for file in edits["files"] if file["path"].endswith((".json", ".icd"))}
    assert len(texts) == 6 and f"{POINT}/share/vulkan/icd.d/nvidia_icd.x86_64.json" in texts
    for path, text in texts.items():
        for name in paths_named(text):
            assert name.startswith(f"{POINT}/lib64/lib") and resolved(edits, name), (path, text)
            assert installed.layout.named not in text
        assert resolved(edits, path.replace(POINT, "/usr")) or resolved(edits, path.replace(f"{POINT}/share", "/etc"))
    assert tree(installed.root) == before


@pytest.mark.parametrize("cache", [b"", b"glibc-ld.so.cache1.1" * 3, "gone"], ids=["empty", "broken", "dangling"])
def test_a_cache_that_is_of_no_use(plan, installed, cache):
    """The usual directories are searched, as where there is none."""
    path = installed.root / "etc/ld.so.cache"
    path.unlink()
    if cache == "gone":
        path.symlink_to("gone")
    else:
        path.write_bytes(cache)
    assert shown(plan(**asked("0", "all"))) == expected(installed, EVERY)


def test_a_file_goes_with_the_library_that_it_names(plan, by_hand, installed):
    """Without it a loader takes the file for a mistake."""
    installed.remove("libnvidia-opencl.so.555.42.07")
    edits = plan(**asked("0", "all"))
    assert shown(edits) == {path: place for path, place in expected(installed, EVERY).items() if not path.endswith(".icd")}
    assert "/etc/OpenCL/vendors/nvidia.icd" not in links_of(edits)
    said = by_hand("--plan", **asked("0", "all")).stderr
    assert "nvidia.icd' is left out: it names 'libnvidia-opencl.so.1', which the container does not get" in said


@pytest.mark.parametrize("layout", [DEBIAN, NO_CACHE], ids=str)
def test_a_driver_root(plan, by_hand, machine, stubs, layout):
    """As of a driver container. Absolute links stay below it, and what the host itself has is not looked at."""
    shutil.rmtree(machine.path / "usr")
    (machine.path / "run/nvidia/driver/etc").mkdir(parents=True)
    installed = Driver(machine.path / "run/nvidia/driver", stubs, layout)
    edits = plan("--driver-root", "/run/nvidia/driver", **asked("0", "all"))
    assert shown(edits) == expected(installed, EVERY)
    error_of(by_hand("--plan", **asked("0")), 6, "libcuda", "searched")
    error_of(by_hand("--plan", "--driver-root", "/nowhere", **asked("0")), 6, "/nowhere")
