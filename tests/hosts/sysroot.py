# SPDX-License-Identifier: Apache-2.0
"""A directory that hooks take for their host's root (--sysroot): what drivers show in /proc, /sys and /dev, linked as the
kernel and udev do."""

import os
import shutil
import stat
from pathlib import Path


class Sysroot:
    """Paths are relative to the directory, `path`. Device nodes take root to be made; none is ever opened."""

    def __init__(self, path):
        self.path = Path(path)
        self.path.mkdir(mode=0o755)

    def __fspath__(self):
        return str(self.path)

    __str__ = __fspath__

    def write(self, name, text):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", "surrogateescape")

    def link(self, name, target):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)

    def node(self, name, major, minor, mode=0o666, kind=stat.S_IFCHR):
        """A device node in place of what has the name."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        os.mknod(path, kind | mode, os.makedev(major, minor))
        path.chmod(mode)

    def mkdir(self, name):
        (self.path / name).mkdir(parents=True, exist_ok=True)

    def chmod(self, name, mode):
        (self.path / name).chmod(mode)

    def chown(self, name, user):
        os.chown(self.path / name, user, 0)

    def remove(self, name):
        path = self.path / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()

    def proc_devices(self, numbers):
        """/proc/devices: `numbers` are the majors of character devices, by name."""
        lines = [f"{major:3} {name}" for name, major in numbers.items()]
        self.write("proc/devices", "\n".join(["Character devices:", "  1 mem", *lines, "", "Block devices:", "  8 sd",
                                              ""]))

    @staticmethod
    def device_directory(device):
        """Where sysfs has a device: `device` is a PCI address, or the name of a platform device."""
        return f"sys/devices/{f'pci{device[:4]}:00' if ':' in device else 'platform'}/{device}"

    def add_device(self, device, driver, **files):
        """A device bound to a driver; `files` are further ones in its directory, with their lines."""
        directory, bus = self.device_directory(device), "pci" if ":" in device else "platform"
        for name, line in files.items():
            self.write(f"{directory}/{name}", f"{line}\n")
        if bus == "pci":
            self.write(f"{directory}/power/runtime_status", "active\n")
            self.revive(device)
        self.link(f"{directory}/driver", f"../../../bus/{bus}/drivers/{driver}")
        self.link(f"{directory}/subsystem", f"../../../bus/{bus}")
        self.link(f"sys/bus/{bus}/devices/{device}", f"../../../{directory[4:]}")
        return directory

    def bind(self, driver, address):
        """The driver has that GPU, whether it lists it or not."""
        directory = self.device_directory(address)
        self.write(f"{directory}/class", "0x030000\n")
        link = self.path / f"sys/bus/pci/devices/{address}"
        if not link.is_symlink():
            self.link(f"sys/bus/pci/devices/{address}", f"../../../{directory[4:]}")
        # Made before the old one goes: its number is another one, as in sysfs.
        self.link(f"sys/bus/pci/drivers/{driver}/new", f"../../../../{directory[4:]}")
        (self.path / f"sys/bus/pci/drivers/{driver}/new").rename(self.path / f"sys/bus/pci/drivers/{driver}/{address}")

    def configuration(self, device, text):
        """What a PCI device says of itself on the bus from now on."""
        (self.path / self.device_directory(device) / "config").write_bytes(text)

    def kill(self, device):
        """It has fallen off the bus: nothing answers for it, and its driver has not noticed."""
        self.configuration(device, b"\xff" * 64)

    def revive(self, device):
        """A display controller of some vendor that is as well as new."""
        self.configuration(device, bytes.fromhex("de10302306041000a1000203").ljust(64, b"\0"))

    def power(self, device, status):
        """What the kernel says of its runtime power management: "active", "suspended" and the like."""
        (self.path / self.device_directory(device) / "power/runtime_status").write_text(f"{status}\n", encoding="ascii")

    def add_node(self, subsystem, device, name, major, minor, place):
        """A node of a device in a class of sysfs, and in /dev at `place`; for its owner and group, as udev makes it."""
        directory = f"{self.device_directory(device)}/{subsystem}/{name}"
        self.write(f"{directory}/dev", f"{major}:{minor}\n")
        self.link(f"{directory}/device", f"../../../{device}")
        self.link(f"{directory}/subsystem", f"../../../../../class/{subsystem}")
        self.link(f"sys/class/{subsystem}/{name}", f"../../{directory[4:]}")
        self.link(f"sys/dev/char/{major}:{minor}", f"../../{directory[4:]}")
        self.node(f"dev/{place}/{name}", major, minor, 0o660)

    def state(self):
        """All that there is to see of the nodes in /dev, but for when they were opened last."""
        found = ((path, path.lstat()) for path in sorted((self.path / "dev").rglob("*")))
        return [(str(path), status.st_ino, status.st_mode, status.st_rdev, status.st_uid, status.st_gid,
                 status.st_nlink, status.st_mtime_ns, status.st_ctime_ns) for path, status in found]
