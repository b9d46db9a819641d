# SPDX-License-Identifier: Apache-2.0
"""CUDA forward compatibility: which libcuda a program gets in an image that carries one for older kernel modules,
by the rules and by every way to it. The files stay the image's; nothing of it is mounted."""

import os

import pytest

from harness import driver_images, engines
from harness.driver_container import LD_LIBRARY_PATH, environment, found, image_files, opened, snapshot
from harness.expect import started, told
from harness.mounts import parse
from harness.nvidia_container import asked
from hosts.driver import POINT, VERSION

pytest_plugins = ["harness.nvidia_fixtures", "harness.ldcache_fixtures", "harness.driver_fixtures"]

RUNC, CRUN = engines.RUNTIMES
DIRECTORY = "/usr/local/cuda/compat"
NEWER = "575.51.03"
OURS = f"{POINT}/lib64/libcuda.so.{VERSION}"
NAMES = ["libcuda.so.1", "libcuda.so", "libnvidia-ptxjitcompiler.so.1", "libnvidia-nvvm.so.4", "libcudadebugger.so.1",
         "libnvidia-ml.so.1", "libnvidia-opencl.so.1"]


def note(*drivers):
    return f'{{"Format": 1, "CUDA Version": "12.9", "Driver": [{", ".join(map(str, drivers))}], "Device": [1, 2]}}'


@pytest.fixture(name="put")
def put_fixture(stubs):
    """A function that gives an image the libraries of a version, as CUDA images have them."""
    def make(root, version=NEWER, text=None):
        """Where /usr/local/cuda is a link, so is it in NVIDIA's own images."""
        compat = root / "usr/local/cuda-12.9/compat"
        for name, number in (("libcuda", 1), ("libnvidia-ptxjitcompiler", 1), ("libnvidia-nvvm", 4),
                             ("libcudadebugger", 1)):
            stubs.library(compat / f"{name}.so.{version}", f"{name}.so.{number}")
            if not os.path.lexists(compat / f"{name}.so.{number}"):
                (compat / f"{name}.so.{number}").symlink_to(f"{name}.so.{version}")
        if text is not None:
            stubs.with_note(compat / f"libcuda.so.{version}", "libcuda.so.1", text)
        if not os.path.lexists(root / "usr/local/cuda"):
            (root / "etc/alternatives").mkdir(parents=True, exist_ok=True)
            (root / "etc/alternatives/cuda").symlink_to("/usr/local/cuda-12.9")
            (root / "usr/local/cuda").symlink_to("/etc/alternatives/cuda")
        return compat

    return make


CASES = [
    # Without a note: a later major version.
    ("575.51.03", None, True), ("556.1", None, True), ("555.99.99", None, False), ("545.23.06", None, False),
    # With one: it has our major version, and this one is later.
    (NEWER, note(535, 555), True), (NEWER, note(535, 550), False), (NEWER, note(), False),
    ("555.52.04", note(555), True), ("555.42.07", note(555), False), ("555.42.06", note(555), False),
    ("555.42", note(555), False), ("555.100.1", note(550, 555), True), ("545.23.06", note(555), False),
    # What cannot be understood counts as none.
    (NEWER, "{", True), (NEWER, "[]", True), ("555.52.04", '{"Driver": "555"}', False)]


@pytest.mark.parametrize("version, text, wins", CASES)
def test_which_libcuda_is_used(plan, by_hand, installed, scratch, put, version, text, wins):
    put(scratch / "bundle/rootfs", version, text)
    links = {link["path"]: link["target"] for link in plan(**asked("1"))["links"]}
    for name, soname in (("libcuda", "libcuda.so.1"), ("libnvidia-nvvm", "libnvidia-nvvm.so.4")):
        expected = f"{DIRECTORY}/{name}.so.{version}" if wins else f"{name}.so.{VERSION}"
        assert links[f"{POINT}/lib64/{soname}"] == expected
    assert links[f"{POINT}/lib64/libcuda.so"] == "libcuda.so.1"
    assert links[f"{POINT}/lib64/libnvidia-ml.so.1"] == f"libnvidia-ml.so.{VERSION}" and installed.places
    said = by_hand("--plan", "--log-level", "info", **asked("1")).stderr
    words = f"CUDA forward compatibility: the image's {version} is used instead of the host's {VERSION}"
    assert (words in said) is wins, said


@pytest.mark.parametrize("capabilities, used", [("utility", False), ("video", True), ("compute", True),
                                                ("all", True), ("graphics", False)])
def test_it_belongs_to_compute_and_video(plan, installed, scratch, put, capabilities, used):
    put(scratch / "bundle/rootfs")
    targets = [link["target"] for link in plan(**asked("1", capabilities))["links"]]
    assert bool([target for target in targets if target.startswith(DIRECTORY)]) is used and installed.places


@pytest.mark.parametrize("shape", ["two versions", "none", "of one number", "text", "no directory", "a file"])
def test_what_cannot_be_decided_is_left_alone(plan, installed, scratch, put, shape):
    """The host's driver is used, as if there were no such directory."""
    root = scratch / "bundle/rootfs"
    compat = put(root, *({"two versions": ["565.57.01"], "none": [], "of one number": ["575"],
                          "text": ["575.rc.1"]}.get(shape, [])))
    if shape == "two versions":
        put(root)
    if shape == "none":
        (compat / f"libcuda.so.{NEWER}").unlink()
    if shape in ("no directory", "a file"):
        (root / "usr/local/cuda").unlink()
    if shape == "a file":
        (root / DIRECTORY[1:]).parent.mkdir()
        (root / DIRECTORY[1:]).write_text("")
    targets = [link["target"] for link in plan(**asked("1"))["links"]]
    assert not [target for target in targets if target.startswith(DIRECTORY)] and installed.places


@pytest.mark.parametrize("engine, image, cache", [
    (RUNC, driver_images.debian, True), (CRUN, driver_images.distroless, False), (RUNC, driver_images.lib64, False),
    (engines.MAPPED[0], driver_images.small, True), (engines.MAPPED[1], driver_images.distroless, True),
    (engines.PODMANS[0], driver_images.small, True)],
    ids=lambda value: getattr(value, "__name__", None) or str(value))
def test_the_images_libcuda_is_the_one_that_opens(files_box, installed, put, engine, image, cache):
    """By the loader's cache and by LD_LIBRARY_PATH; the other libraries are still the host's."""
    box = files_box(image=image, engine=engine, cache=cache)
    put(getattr(box, "upper", box.rootfs))
    if not cache:
        environment(box, LD_LIBRARY_PATH=LD_LIBRARY_PATH)
    before = {} if hasattr(box, "upper") else image_files(box.rootfs)
    real = DIRECTORY.replace("cuda", "cuda-12.9")
    expected = {"libcuda.so.1": f"{real}/libcuda.so.{NEWER}", "libcuda.so": f"{real}/libcuda.so.{NEWER}",
                "libnvidia-ptxjitcompiler.so.1": f"{real}/libnvidia-ptxjitcompiler.so.{NEWER}",
                "libnvidia-nvvm.so.4": f"{real}/libnvidia-nvvm.so.{NEWER}",
                "libcudadebugger.so.1": f"{real}/libcudadebugger.so.{NEWER}",
                "libnvidia-ml.so.1": f"{POINT}/lib64/libnvidia-ml.so.{VERSION}",
                "libnvidia-opencl.so.1": f"{POINT}/lib64/libnvidia-opencl.so.{VERSION}"}
    assert opened(box, NAMES) == expected
    if before:
        real = DIRECTORY.replace("cuda", "cuda-12.9")[1:]
        after = image_files(box.rootfs)
        assert {name: each for name, each in after.items() if name.startswith(real)} == {
            name: each for name, each in before.items() if name.startswith(real)}
    assert installed.places


def test_a_second_run_with_it_changes_nothing(files_box, installed, scratch, put):
    box = files_box()
    put(box.rootfs)
    box.first += [box._entry(), snapshot(scratch / "1")]  # pylint: disable=protected-access
    box.last = [snapshot(scratch / "2"), *box.last]
    assert opened(box, ["libcuda.so.1"])["libcuda.so.1"].endswith(NEWER) and installed.places
    assert (scratch / "1").read_text() == (scratch / "2").read_text()


@pytest.mark.parametrize("engine", [RUNC, engines.MAPPED[1]], ids=str)
def test_nothing_of_the_image_is_mounted(files_box, installed, machine, put, engine):
    """Every mount of ours is a file of the host's driver, or our own tmpfs. And ldconfig keeps the choice."""
    box = files_box("all", engine=engine)
    put(box.rootfs)
    result = box.run("cat /proc/self/mountinfo; echo ==; ldconfig 2>/dev/null; nvidia-smi libcuda.so.1 libcuda.so")
    table, said = started(result).split("==\n")
    mounts = [mount for mount in parse(table) if mount.source == "oci-gpu-hooks" or mount.below(POINT)]
    assert len(mounts) > 30
    for mount in mounts:
        assert mount.source == "oci-gpu-hooks" or str(machine) in mount.root, mount
    assert not [mount for mount in parse(table) if "compat" in mount.root or "compat" in mount.point]
    assert set(found(said).values()) == {f"{DIRECTORY.replace('cuda', 'cuda-12.9')}/libcuda.so.{NEWER}"}
    told(result, "CUDA forward compatibility")
    assert installed.places
