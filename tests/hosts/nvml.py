# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's library (NVML) as a host has it: see nvml.c."""

import subprocess
from pathlib import Path

from .nvidia import VERSION

FILE = f"usr/lib64/libnvidia-ml.so.{VERSION}"


def build(directory, *options):
    """Returns its file."""
    library = directory / "libnvidia-ml.so.1"
    here = Path(__file__).resolve()
    subprocess.run(["gcc", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", *options, f"-Wl,-soname,{library.name}",
                    here.with_name("nvml.c"), here.with_name("nvml_attacks.c"), "-o", library], check=True)
    return library


class Nvml:
    """The library of a host, which answers what is said here."""

    def __init__(self, host, library):
        self.file = host.path / FILE
        self._library = library.read_bytes()
        self.file.unlink()
        self.says()

    def says(self, *lines):
        text = "".join(f"{line}\n" for line in lines).encode()
        self.file.write_bytes(self._library + text + f"{len(text):08}".encode())


def gpu(index, device, count=7):
    """A line for a GPU of hosts.nvidia, the host's number `index`."""
    return f"gpu {device.address} {index} {count}"


def instance(device, index, place, uuid, profile="1g.10gb"):
    """A line for an instance, `place` is "1/0"."""
    return f"mig {device.address} {index} {place.replace('/', ' ')} {uuid} NVIDIA Example 48 MIG {profile}"
