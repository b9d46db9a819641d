# SPDX-License-Identifier: Apache-2.0
"""A host with GPUs of both vendors, a kernel's log, and oci-gpu-hooks check for it."""

import json
import re
import subprocess

from hosts import amd, nvidia

from .leases import DIRECTORY

NOTHING, NOT_LOOKED_AT, FAILED = 0, 7, 8
FIRST, SECOND = nvidia.TWO
SLOT = FIRST.address[:-2]
XT = amd.XT.address


def xid(number, words="what the driver says", slot=SLOT):
    """What NVIDIA's driver writes into the log."""
    return f"NVRM: Xid (PCI:{slot}): {number}, {words}"


class Checked:
    """The command for such a host."""

    def __init__(self, host, command):
        self.host, self._command, self._next = host, command, 0
        self.log()

    def log(self, *messages, facility=0, level=4, device=None):
        """The kernel's log has these in addition: of amdgpu with the device in a field, as dev_printk() writes them."""
        path = self.host.path / "dev/kmsg"
        with open(path, "a", encoding="utf-8") as file:
            for text in messages:
                address = re.match(r"amdgpu ([0-9a-f:.]+): ", text)
                field = f"+pci:{address[1]}" if device is None and address else device
                file.write(f"{facility << 3 | level},{self._next},{1000000 + self._next},-;{text}\n" +
                           (f" SUBSYSTEM=pci\n DEVICE={field}\n" if field else ""))
                self._next += 1

    def falls(self, gpu, *messages):
        """It does not answer any more, and its driver says so."""
        self.host.kill(gpu.address)
        self.log(*(messages or [xid(79, slot=gpu.address[:-2])]))

    def run(self, *args):
        return self._command.run("check", *args)

    def find(self, *args):
        """What it says, and its exit status."""
        done = self.run("--format", "json", *args)
        assert done.stderr == "", done.stderr
        return json.loads(done.stdout), done.returncode

    def drains(self):
        """GPU, who has drained it, and why."""
        lists = json.loads(self._command.run("list", "--format", "json").stdout)["hooks"]
        return [(drain["gpu"], drain["by"], drain["reason"]) for each in lists for drain in each.get("drains", [])]

    def hook(self, *args, name="nvidia-devices"):
        executable = self.host.path / f"usr/local/libexec/oci/hooks.d/{name}"
        done = subprocess.run([executable, "--sysroot", self.host.path, *args], check=False, capture_output=True,
                              stdin=subprocess.DEVNULL, encoding="utf-8")
        assert done.returncode == 0, done.stderr

    def memory(self, change=None):
        path = self.host.path / DIRECTORY / "check"
        document = json.loads(path.read_text("utf-8"))
        if change:
            change(document)
            path.write_text(json.dumps(document), "utf-8")
        return document

    def drained(self):
        """After a look that drains."""
        self.find("--drain")
        return [gpu for gpu, by, _ in self.drains() if by == "oci-gpu-hooks check"]
