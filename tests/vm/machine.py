# SPDX-License-Identifier: Apache-2.0
"""A virtual machine, emulated in software, that runs a list of tests and ends."""

import dataclasses
import subprocess
import tarfile
import time

BOOT = " ".join([
    "console=ttyS0 quiet panic=-1 systemd.unit=vm-tests.service",
    # A host with much to do can keep the machine from seeing the interrupts that this check counts: it would panic.
    "no_timer_check",
    # Processors that are emulated have no such flaws.
    "mitigations=off",
    # The emulator translates a library anew for each address that it lies at, which took most of its time.
    "norandmaps",
    # Zeroes in all memory that is given out: a tenth of what is left.
    "init_on_alloc=0",
])
CPUS = 2
MEMORY = "1536M"
POLL_S = 0.2
CONSOLE_LINES = 40


@dataclasses.dataclass(frozen=True)
class Boot:
    """Options of the kernel, and what the machine has beside disks, in qemu's words."""

    options: str
    devices: list = dataclasses.field(default_factory=list)


class Failure(Exception):
    """The machine did not come as far as the result that was asked for."""


def write_payload(path, trees, tests):
    """The second disk, a tar file: `trees` maps names in it to directories; `tests` are to be run."""
    names = path.with_suffix(".tests")
    names.write_text("".join(f"{test}\n" for test in tests), encoding="ascii")
    with tarfile.open(path, "w") as payload:
        payload.add(names, "tests")
        for name, tree in trees.items():
            payload.add(tree, name)


class Machine:
    """Files in `directory`: `console` (the kernel's), `results` (see guest/run), `emulator` (qemu's)."""

    def __init__(self, directory, image, payload, boot, limit_s):
        self._results, self._console = directory / "results", directory / "console"
        self._deadline = time.monotonic() + limit_s
        disks = []
        for number, (disk, mode) in enumerate([(image, "snapshot=on"), (payload, "readonly=on")], 1):
            disks += ["-drive", f"id=disk{number},if=none,format=raw,{mode},file={disk}",
                      "-device", f"nvme-ns,drive=disk{number},nsid={number}"]
        devices = [word for device in boot.devices for word in ("-device", device)]
        with open(directory / "emulator", "wb") as log:
            self._process = subprocess.Popen(
                # Seldom alone on its host, and the only one that can wait. Page tables of five levels take the emulator a fifth
                # more time, and no test needs them.
                ["nice", "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max,la57=off",
                 "-smp", str(CPUS), "-m", MEMORY, "-nodefaults", "-display", "none", "-no-reboot",
                 "-kernel", image.with_name("vmlinux"), "-initrd", image.with_name("initrd"),
                 "-append", f"{BOOT} {boot.options}",
                 "-serial", f"file:{self._console}", "-serial", f"file:{self._results}",
                 "-device", "nvme,serial=tests", *disks, *devices],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def result(self, name):
        """Wait for the test `name`; gives its status (0 is good) and its output."""
        while (found := self._find(name)) is None:
            if self._process.poll() is not None and self._find(name) is None:
                raise Failure(f"the machine ended without a result of '{name}'\n{self._last_words()}")
            if time.monotonic() > self._deadline:
                raise Failure(f"the machine had no time left for '{name}'\n{self._last_words()}")
            time.sleep(POLL_S)
        return found

    def _find(self, name):
        output = None
        for line in read(self._results).split("\n")[:-1]:
            if line == f"begin {name}":
                output = []
            elif output is not None and line.startswith(f"end {name} "):
                return line.rsplit(" ", 1)[1], "\n".join(output)
            elif output is not None:
                output.append(line[1:])
        return None

    def _last_words(self):
        return "\n".join(read(self._console).splitlines()[-CONSOLE_LINES:])

    def close(self):
        self._process.kill()
        self._process.wait()


def read(path):
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
