# SPDX-License-Identifier: Apache-2.0
"""What podman itself does after oci-gpu-hooks install and uninstall."""

import json
import subprocess

import pytest

from harness import rootfs
from harness.admin import FILES, OWN, SHIPPED
from harness.box import PREFIX
from harness.podman import LIMITS, is_version_4
from hosts import nvidia

pytest_plugins = ["harness.admin_fixtures"]

EVERYTHING, SOME = ["datasets", "models"], ["datasets"]


@pytest.fixture(name="run")
def run_fixture(machine, files, oci_gpu_hooks):
    """A function that runs the command: run(name, *words)."""
    files.program("podman")
    return lambda name, *words: machine.run([oci_gpu_hooks, name, "--sysroot", files.path, *words], check=False)


def test_podman_applies_the_policy_until_it_is_removed(files, seen, run):
    assert seen() == EVERYTHING
    assert run("install", "--engine", "podman", "mount-srv", "--allow", "datasets").returncode == 0
    assert seen() == SOME and (files.path / OWN / FILES["mount-srv"]).exists()
    assert run("uninstall").returncode == 0
    assert seen() == EVERYTHING


def test_podman_takes_the_devices(machine, files, seen, run, scratch):
    """By the name of a device, and no annotation."""
    done = run("install", "--engine", "docker", "mount-srv", "--allow", "datasets")
    assert done.returncode == 0, done.stderr
    for name in ("upper", "work"):
        (scratch / name).mkdir()
    machine.mount("-t", "overlay", "-o", f"lowerdir=/etc,upperdir={scratch}/upper,workdir={scratch}/work", "overlay",
                  "/etc")
    machine.run(["cp", "-r", files.path / "etc/cdi", "/etc/"])
    kind = "io.oci-gpu-hooks/mount-srv"
    spec, = (files.path / "etc/cdi").iterdir()
    names = [device["name"] for device in json.loads(spec.read_text("utf-8"))["devices"]]
    assert names == ["all", "datasets"], "and not what the policy does not allow"
    assert seen("--device", f"{kind}=all") == SOME
    assert seen("--device", f"{kind}=datasets") == SOME
    assert seen("--device", f"{kind}=models") is None


GPU = f"{PREFIX}nvidia-devices"
DEFAULTS = "etc/containers/containers.conf.d/99-oci-gpu-hooks-annotations.conf"
# What an image may say to be given something, by the names of containers as well, and to hide who has made it.
IMAGE = {"all": {GPU: "all"}, "none": {},
         "by name": {f"{GPU}/x": "all", f"{GPU}.lease/x": "exclusive", "io.kubernetes.container.name": "x",
                     "io.kubernetes.cri.container-name": "x", "io.container.manager": "cri-o",
                     "io.podman.annotations.init": "x"}}
IMAGE["both"] = {**IMAGE["all"], **IMAGE["by name"], f"{PREFIX}mount-srv": "all", f"{GPU}.lease": "exclusive",
                 f"{GPU}.capabilities": "all"}
# GPU 0 has the second node.
NOTHING, FIRST, EVERY = "/dev/nvidia*", "/dev/nvidia1", "/dev/nvidia0 /dev/nvidia1"


class Images:
    """podman, with images that have annotations; it reads /etc, and calls what it finds there."""

    def __init__(self, machine, files, scratch):
        self.machine, self.scratch = machine, scratch
        files.write("etc/containers/containers.conf", "[engine]\nno_pivot_root = false\n")
        machine.run(["tar", "-C", rootfs.make(scratch / "image"), "-cf", scratch / "image.tar", "."])
        self.podman("import", scratch / "image.tar", "localhost/none")
        (scratch / "Containerfile").write_text("FROM localhost/none\nLABEL a=b\n", encoding="utf-8")
        for name, annotations in IMAGE.items():
            words = [word for pair in annotations.items() for word in ("--annotation", "=".join(pair))]
            if words:
                self.podman("build", "--network", "none", *words, "--file", scratch / "Containerfile", "--tag",
                            f"localhost/{name.replace(' ', '-')}", rootfs.make(scratch / f"empty-{len(words)}"))

    def podman(self, *words, check=True):
        scratch = self.scratch
        return self.machine.run(
            ["podman", "--root", scratch / "root", "--runroot", scratch / "run", "--tmpdir", scratch / "tmp",
             "--cgroup-manager", "cgroupfs", "--storage-driver", "vfs", "--events-backend", "file", "--runtime", "runc",
             *words], check=check)

    def sees(self, image, *annotations, way="run"):
        """The GPUs in a container's /dev, and whether it has directories in /srv."""
        words = [word for each in annotations for word in ("--annotation", each)]
        words += ["--network", "none", *LIMITS, f"localhost/{image.replace(' ', '-')}", "sh", "-c",
                  "echo $(ls -d /dev/nvidia[0-9] 2>/dev/null || echo '/dev/nvidia*') $(ls /srv 2>/dev/null)"]
        if way == "run":
            return self.podman("run", "--rm", "--log-driver", "none", *words).stdout.strip()
        self.podman("create", "--name", "box", *words)
        try:
            return self.podman("start", "--attach", "box").stdout.strip()
        finally:
            self.podman("rm", "--force", "box")


@pytest.fixture(name="images")
def images_fixture(machine, files, scratch):
    return Images(machine, files, scratch)


@pytest.fixture(name="real")
def real_fixture(machine, files, oci_gpu_hooks, scratch):
    """A function that runs the command on the machine itself, whose podman has a version: real(name, *words)."""
    for name in ("upper", "work"):
        (scratch / name).mkdir()
    machine.mount("-t", "overlay", "-o", f"lowerdir=/var/lib,upperdir={scratch}/upper,workdir={scratch}/work", "overlay",
                  "/var/lib")
    (files.path / "etc/containers/policy.json").write_text('{"default": [{"type": "insecureAcceptAnything"}]}\n',
                                                           encoding="utf-8")
    return lambda name, *words: machine.run([oci_gpu_hooks, name, *words], check=False)


def says(real):
    """What the doctor says of podman and images: (severity, text)."""
    sections = json.loads(real("doctor", "--format", "json").stdout)["sections"]
    return [(each["severity"], each["text"]) for section in sections if section["title"] == "podman"
            for each in section["findings"] if "an image's annotations" in each["text"]]


def test_an_image_asks_for_nothing(real, files, images, scratch):
    """With podman before 4.5.1 its annotations are the container's; who calls podman still gets what they ask for."""
    gpus = nvidia.NvidiaHost(scratch / "gpus", nvidia.TWO, numbers=nvidia.UNUSED)
    look = ["--sysroot", str(gpus.path)]
    files.put(f"{SHIPPED}/{FILES['nvidia-devices']}", files.document("nvidia-devices", look))
    if is_version_4():
        assert images.sees("all") == EVERY, "the image opts itself in"
        assert says(real) and says(real)[0][0] == "error"
    done = real("install", "--engine", "podman", "nvidia-devices", *look)
    assert done.returncode == 0, done.stderr
    assert (files.path / DEFAULTS).exists() == is_version_4()
    assert [severity for severity, _ in says(real)] == (["ok"] if is_version_4() else [])
    for image in IMAGE:
        assert images.sees(image) == NOTHING, image
        assert images.sees(image, "org.example=1") == NOTHING, image
        assert images.sees(image, way="create") == NOTHING, image
        assert images.sees(image, f"{GPU}=0") == FIRST, image
        assert images.sees(image, f"{GPU}=all", f"{GPU}.lease=exclusive") == EVERY, image
    assert real("uninstall").returncode == 0
    assert (files.path / DEFAULTS).exists() == is_version_4(), "the hooks are still called"
    assert images.sees("all") == NOTHING


@pytest.mark.skipif(not is_version_4(), reason="an image's annotations are the container's before podman 4.5.1")
def test_the_hosts_other_ways_in_go_on(real, files, images):
    """Which `none` as a default turned off: a request of the host's for every container."""
    files.hooks_dir()
    always = ("--opt-in", "always", "--request", "datasets")
    assert real("install", "--engine", "podman", "mount-srv", *always).returncode == 0
    for image in IMAGE:
        assert images.sees(image) == f"{NOTHING} datasets", image


@pytest.mark.skipif(not is_version_4(), reason="an image's annotations are the container's before podman 4.5.1")
def test_the_administrators_defaults_stay_in_effect(real, files, images):
    conf = "etc/containers/containers.conf.d/50-mine.conf"
    files.write(conf, f'[containers]\nannotations = ["org.example=1", "{PREFIX}mount-srv=models"]\n')
    assert images.sees("none") == f"{NOTHING} models"
    assert real("install", "--engine", "podman", "--defaults").returncode == 0
    assert images.sees("none") == images.sees("both") == f"{NOTHING} models"
    files.write("etc/containers/containers.conf.d/99-zz.conf", "[containers]\nannotations = []\n")
    assert says(real)[0][0] == "error", "what is in effect after all files"


@pytest.mark.parametrize("version, severity", [("4.5.0", "error"), ("4.5.1", None), ("4.10.0", None),
                                               ("of mine", "note")])
def test_the_first_version_under_which_no_image_asks(real, files, machine, scratch, version, severity):
    """By programs that say nothing but a version: podman's notes have it among the fixes of 4.5.1."""
    subprocess.run(["gcc", "-x", "c", "-", "-o", scratch / "podman"], check=True, encoding="ascii",
                   input=f'int puts(const char *);int main(void){{puts("podman version {version}");}}')
    machine.mount("--bind", scratch / "podman", "/usr/bin/podman")
    assert [said for said, _ in says(real)] == ([severity] if severity else [])
    assert real("install", "--engine", "podman", "--defaults").returncode == 0
    assert (files.path / DEFAULTS).exists() == (severity is not None)
