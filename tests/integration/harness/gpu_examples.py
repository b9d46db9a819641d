# SPDX-License-Identifier: Apache-2.0
"""What the files in examples/ for engines need of a host, which a test makes up: NVIDIA's image, a specification, and
podman with images of its own."""

import json
import os
from pathlib import Path

from . import cdi, proc_directories, rootfs
from .nvidia_container import PROBE

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
IMAGE = "docker.io/nvidia/cuda:12.9.1-base-ubuntu24.04"


def make_image(directory):
    """In place of NVIDIA's: its nvidia-smi prints what there is."""
    root = rootfs.make(directory)
    (root / "bin/nvidia-smi").write_text(f"#!/bin/sh\n{PROBE} probe /dev/nvidia*; ls /srv 2>/dev/null\ntrue\n",
                                         encoding="ascii")
    (root / "bin/nvidia-smi").chmod(0o755)
    return root


def specify(directory, hook, machine, *options):
    """The specification that --cdi prints; a container also gets the directory that this kernel's driver would make."""
    cdi.write(directory, hook.executable, *options, sysroot=machine.path)
    [file] = directory.iterdir()
    document = json.loads(file.read_text("utf-8"))
    [entry] = proc_directories.hooks(["/proc/driver", "/proc/driver/nvidia"])
    for device in document["devices"]:
        device["containerEdits"]["hooks"].insert(0, {"hookName": "createRuntime", **entry})
    file.write_text(json.dumps(document), encoding="utf-8")


def writable_etc(host, scratch):
    """The host's /etc/cdi, which podman 5.4 reads and no other directory."""
    for name in ("etc", "work", "etc/cdi"):
        (scratch / name).mkdir()
    host.mount("-t", "overlay", "-o", f"lowerdir=/etc,upperdir={scratch}/etc,workdir={scratch}/work", "overlay", "/etc")
    return scratch / "etc/cdi"


def podman_program(host, podman, image, directory):
    """A program that is podman with this storage, in which IMAGE is."""
    host.run(["tar", "-C", image, "-cf", directory / "image.tar", "."])
    host.run(podman.command("import", directory / "image.tar", IMAGE))
    words = " ".join(map(os.fspath, podman.command()))
    program = directory / "program"
    program.write_text(f'#!/bin/sh\nexec /usr/bin/{words} "$@"\n', encoding="ascii")
    program.chmod(0o755)
    return program


def nodes(done):
    """The lines about nodes that it printed."""
    return "\n".join(line for line in done.stdout.splitlines() if "|" in line)
