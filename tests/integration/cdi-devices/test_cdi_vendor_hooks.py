# SPDX-License-Identifier: Apache-2.0
"""What NVIDIA's hooks are for, done without running one: a specification as nvidia-ctk writes it, with all six."""

import shutil
from functools import partial

import pytest

from harness import debian_root, engines
from harness.cdi_fixtures import MAJOR
from harness.expect import refused_by, started
from harness.ldcache import CACHE, CONF, read, snapshot

pytest_plugins = ["harness.nvidia_fixtures", "harness.ldcache_fixtures", "harness.driver_fixtures",
                  "harness.cdi_fixtures"]

refused = partial(refused_by, "cdi-devices")
RUNC = engines.RUNTIMES[0]
VERSION, NEWER = "555.42.06", "575.51.03"
LIBRARIES = "/usr/lib/x86_64-linux-gnu"
PROFILE = "/etc/nvidia/nvidia-application-profiles-rc.d/10-container.conf"
PARAMS = "/proc/driver/nvidia/params"


def hook(*args, program="nvidia-cdi-hook"):
    return {"hookName": "createContainer", "path": f"/usr/bin/{program}", "args": [program, *args]}


HOOKS = [
    hook("create-symlinks", "--link", f"libcuda.so.{VERSION}::{LIBRARIES}/libcuda.so.1",
         "--link", f"libcuda.so.1::{LIBRARIES}/libcuda.so"),
    hook("enable-cuda-compat", f"--host-driver-version={VERSION}"),
    hook("update-ldcache", "--folder", LIBRARIES, "--ldconfig-path", "/sbin/ldconfig.real"),
    hook("hook", "disable-device-node-modification", program="nvidia-ctk"),
    hook("update-application-profile"),
    hook("hook", "chmod", "--mode", "755", "--path", "/dev/dri", program="nvidia-ctk"),
]


@pytest.fixture(name="nvidia")
def nvidia_fixture(cdi_host, stubs):
    """A host with a GPU, and what nvidia-ctk says of it."""
    for name, minor in (("nvidia0", 0), ("nvidia1", 1), ("nvidiactl", 255), ("renderD128", 128)):
        cdi_host.device(name, minor, 0o666)
    directory = cdi_host.path / LIBRARIES[1:]
    for name, soname in (("libcuda", "libcuda.so.1"), ("libnvidia-ml", "libnvidia-ml.so.1")):
        stubs.library(directory / f"{name}.so.{VERSION}", soname)
    proc = "proc/driver/nvidia"
    cdi_host.file(f"{proc}/params", "ModifyDeviceFiles: 1\nDeviceFileMode: 438\n")
    cdi_host.file(f"{proc}/version", f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {VERSION}\n")
    cdi_host.file(f"{proc}/gpus/0000:01:00.0/information", "Device Minor: \t 0\n")
    mounts = [{"hostPath": f"{LIBRARIES}/{name}.so.{VERSION}", "containerPath": f"{LIBRARIES}/{name}.so.{VERSION}",
               "options": ["ro", "nosuid", "nodev", "bind"]} for name in ("libcuda", "libnvidia-ml")]
    render = {"path": "/dev/dri/renderD128", "hostPath": "/dev/renderD128"}
    cdi_host.spec("nvidia.json", {str(number): {"deviceNodes": [{"path": f"/dev/nvidia{number}"}, render]}
                                  for number in (0, 1)},
                  containerEdits={"deviceNodes": [{"path": "/dev/nvidiactl"}], "mounts": mounts, "hooks": HOOKS,
                                  "env": ["NVIDIA_VISIBLE_DEVICES=void"]})
    return cdi_host


@pytest.fixture(name="make")
def make_fixture(cdi_box, shop):
    """A function that makes a container with glibc and the program `probe`."""
    def make(request, *args, engine=RUNC):
        box = cdi_box(request, *args, engine=engine)
        debian_root.add_glibc(box.rootfs)
        shutil.copy(shop.probe, box.rootfs / "probe")
        for directory in ("/proc/driver", "/proc/driver/nvidia"):
            box.tmpfs(directory)
        return box
    return make


@pytest.mark.parametrize("engine", [*engines.RUNTIMES, engines.MAPPED[1]], ids=str)
def test_all_six(make, nvidia, engine):
    out = started(make("vendor.com/gpu=1", engine=engine).run(
        "/probe libcuda.so.1 libnvidia-ml.so.1; echo --; "
        f"for link in libcuda.so.1 libcuda.so; do readlink {LIBRARIES}/$link; done; echo --; "
        f"cat {PARAMS}; ls /proc/driver/nvidia; echo --; cat {PROFILE}; stat -c '%a %t:%T' /dev/dri /dev/nvidia1"))
    loaded, links, proc, rest = out.split("--\n")
    assert loaded == (f"libcuda.so.1 {LIBRARIES}/libcuda.so.1\n"
                      f"libnvidia-ml.so.1 {LIBRARIES}/libnvidia-ml.so.{VERSION}\n")
    assert links == f"libcuda.so.{VERSION}\nlibcuda.so.1\n"
    assert proc == "ModifyDeviceFiles: 0\nDeviceFileMode: 438\ngpus\nparams\nversion\n"
    profile, *modes = rest.splitlines()
    assert '"EGLVisibleDGPUDevices", 0x2]' in profile
    assert modes == ["755 0:0", f"666 {MAJOR:x}:1"]


def test_a_host_with_its_driver_in_one_directory(make, nvidia, stubs):
    """NVIDIA's tools name the host's paths, and this one is where nvidia-devices has its tree in other containers."""
    directory = "/usr/local/nvidia/lib64"
    library = f"{directory}/libcuda.so.{VERSION}"
    stubs.library(nvidia.path / library[1:], "libcuda.so.1")
    nvidia.spec("moved.json", {"moved": {
        "mounts": [{"hostPath": library, "containerPath": library, "options": ["ro", "bind"]}],
        "hooks": [hook("create-symlinks", "--link", f"libcuda.so.{VERSION}::{directory}/libcuda.so.1"),
                  hook("update-ldcache", "--folder", directory)]}})
    assert started(make("vendor.com/gpu=moved").run("/probe libcuda.so.1")) == f"libcuda.so.1 {directory}/libcuda.so.1\n"


def test_the_second_run_changes_nothing(make, nvidia):
    """Nor do files of the image that were there before get lost."""
    box = make("vendor.com/gpu=0")
    started(box.run("true"))
    first = snapshot(box.rootfs)
    box.times = 2
    started(box.run("true"))
    assert snapshot(box.rootfs) == first
    paths = [entry.path for entry in read((box.rootfs / CACHE).read_bytes())]
    assert f"{LIBRARIES}/libcuda.so.1" in paths and LIBRARIES in (box.rootfs / CONF).read_text()


@pytest.mark.parametrize("engine", [*engines.RUNTIMES, engines.MAPPED[0]], ids=str)
def test_egl_shows_the_gpus_of_all_requests(make, nvidia, engine):
    """And not those that an earlier start had: the file stays in the container's layer."""
    look = f"grep -o '0x[0-9a-f]*' {PROFILE}"
    box = make("vendor.com/gpu=1", engine=engine)
    box.first = [{"path": str(box.hook.executable),
                  "args": ["cdi-devices", *map(str, box.args), "--request", "vendor.com/gpu=0"]}]
    assert started(box.run(look)) == "0x3\n"
    box.first = []
    assert started(box.run(look)) == "0x2\n"


@pytest.mark.parametrize("version, wins", [(NEWER, True), ("545.23.06", False)])
def test_forward_compatibility(make, nvidia, stubs, version, wins):
    """By the rules of nvidia-devices: the image's own libcuda, if it is the newer one."""
    box = make("vendor.com/gpu=0")
    compat = "/usr/local/cuda/compat"
    stubs.library(box.rootfs / f"{compat[1:]}/libcuda.so.{version}", "libcuda.so.1")
    (box.rootfs / f"{compat[1:]}/libcuda.so.1").symlink_to(f"libcuda.so.{version}")
    out = started(box.run("/probe libcuda.so.1 libnvidia-ml.so.1"))
    assert out.splitlines()[0] == f"libcuda.so.1 {compat if wins else LIBRARIES}/libcuda.so.1"
    assert f"{LIBRARIES}/libnvidia-ml.so.{VERSION}" in out


@pytest.mark.parametrize("note, wins", [('{"CUDA Version": "12.9"}', True), ('{"CUDA Version": "12.6"}', False), (None, False)])
def test_forward_compatibility_where_a_host_is_known_by_its_cuda(make, nvidia, stubs, note, wins):
    """As on Jetson Orin, whose images have the libraries in a directory of their own."""
    compat = "/usr/local/cuda/compat_orin"
    nvidia.spec("orin.json", {"orin": {"hooks": [hook("enable-cuda-compat", "--host-cuda-version=12.6",
                                                      f"--cuda-compat-container-root={compat}")]}})
    box = make("vendor.com/gpu=orin")
    library = box.rootfs / f"{compat[1:]}/libcuda.so.{NEWER}"
    library.parent.mkdir(parents=True)
    if note:
        stubs.with_note(library, "libcuda.so.1", note)
    else:
        stubs.library(library, "libcuda.so.1")
    (library.parent / "libcuda.so.1").symlink_to(library.name)
    out = started(box.run("/probe libcuda.so.1 || true"))
    assert (f"libcuda.so.1 {compat}/libcuda.so.1\n" in out) == wins


def test_a_read_only_directory_for_the_profile_stops_nobody(make, nvidia, scratch):
    """NVIDIA's own hook did."""
    box = make("vendor.com/gpu=0")
    (scratch / "settings").mkdir()
    box.volume("/etc/nvidia", scratch / "settings", "ro")
    result = box.run("ls /etc/nvidia")
    assert started(result) == "" and f"'{PROFILE}' is not written" in str(result.said)


@pytest.mark.parametrize("wrong, words", [
    (hook("create-symlinks", "--link", "a"), "not like TARGET::PATH"),
    (hook("create-symlinks", "--link", "a::/b::/c"), "not like TARGET::PATH"),
    (hook("update-ldcache", "--folder", "/usr/lib/a=b"), "cannot be named"),
    (hook("chmod", "--mode", "666", "--path", "/etc/shadow"), "'/etc/shadow'"),
    (hook("create-symlinks", "--link", "a::/proc/b"), "that is not done"),
    (hook("something-new"), "'something-new'"),
    (hook("update-ldcache", "--folder", "/a", "--newer", "x"), "'--newer' is not known"),
], ids=str)
def test_what_is_refused(cdi_box, nvidia, wrong, words):
    nvidia.spec("other.json", {"x": {"hooks": [wrong]}})
    refused(cdi_box("vendor.com/gpu=x").run(), 5, words)
