# SPDX-License-Identifier: Apache-2.0
"""What a container that asks gets before and after each step of an archive's life: by an annotation, and by a device of
CDI. The same is tried with Debian's package in test_deb.py, and with the rpm in tests/packaging/rpm."""

import subprocess
import tarfile

import pytest

from harness import rootfs as root_filesystem
from harness.host import Host
from harness.podman import LIMITS

ALL, SOME, NOTHING, REFUSED = ["datasets", "models"], ["datasets"], [], None
ANNOTATION, DEVICE = "--annotation=io.oci-gpu-hooks.mount-srv=all", "--device=io.oci-gpu-hooks/mount-srv=all"
STATE = "/var/lib/oci-gpu-hooks"


@pytest.fixture(name="unpacked", scope="module")
def unpacked_fixture(archive, tmp_path_factory):
    unpacked = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(archive) as tar:
        tar.extractall(unpacked)
    [directory] = unpacked.iterdir()
    return directory


@pytest.fixture(name="machine")
def machine_fixture(scratch):
    """This machine, on which nothing stays of what is written."""
    layers = [f"mkdir -p {scratch}/{name}/upper {scratch}/{name}/work && mount -t overlay -o lowerdir=/{path},"
              f"upperdir={scratch}/{name}/upper,workdir={scratch}/{name}/work overlay /{path}"
              for name, path in (("etc", "etc"), ("usr", "usr"), ("lib", "var/lib"))]
    for directory in ALL:
        (scratch / "srv" / directory).mkdir(parents=True)
    host = Host("not-hybrid", own_processes=True, set_up=[*layers, f"mount --bind {scratch}/srv /srv"])
    yield host
    host.close()


@pytest.fixture(name="gets")
def gets_fixture(scratch, machine):
    """What a container gets that asks so; None where podman starts none."""
    rootfs = root_filesystem.make(scratch / "rootfs")
    (rootfs / "srv").mkdir()

    def gets(option):
        for left in (rootfs / "srv").iterdir():
            left.rmdir()
        done = machine.run(
            ["podman", "--root", scratch / "root", "--runroot", scratch / "run", "--tmpdir", scratch / "tmp",
             "--cgroup-manager", "cgroupfs", "--storage-driver", "vfs", "--events-backend", "file", "--runtime", "runc",
             "run", "--rm", "--network", "none", "--log-driver", "none", *LIMITS, option, "--rootfs", rootfs, "ls", "/srv"],
            check=False)
        print(done.stderr)
        return sorted(done.stdout.split()) if done.returncode == 0 else REFUSED
    return gets


def test_the_life_of_an_archive(machine, unpacked, gets):
    def install():
        return machine.run([unpacked / "install"]).stdout

    def policy():
        machine.run(["oci-gpu-hooks", "install", "--engine", "podman", "mount-srv", "--allow", "datasets"])
        machine.run(["oci-gpu-hooks", "install", "--engine", "docker", "mount-srv"])

    def remove():
        said = machine.run([unpacked / "uninstall"]).stdout
        assert "gets nothing from now on, and nobody is told" in said, said

    def purge():
        machine.run(["rm", "-r", STATE])

    # Each step, and what an annotation and a device of CDI get after it.
    steps = ((install, ALL, REFUSED), (policy, SOME, SOME), (install, SOME, SOME), (remove, NOTHING, REFUSED),
             (install, SOME, SOME), (remove, NOTHING, REFUSED), (purge, NOTHING, REFUSED), (install, ALL, REFUSED))
    assert (gets(ANNOTATION), gets(DEVICE)) == (NOTHING, REFUSED)
    seen = []
    for step, *_ in steps:
        step()
        seen.append((step, gets(ANNOTATION), gets(DEVICE)))
    assert seen == [*steps]


@pytest.mark.parametrize("change, words", (("cp amd-kfd mount-srv", "is amd-kfd, and not mount-srv"),
                                           ("truncate -s 900000 mount-srv", "is no hook of this collection"),
                                           ("dd if=/dev/zero of=mount-srv bs=1000 seek=200 count=500 conv=notrunc",
                                            "does not run: it ended with the status ")))
def test_the_doctor_notices_an_executable_that_is_not_the_hook(machine, unpacked, change, words):
    """The first and the last one have the hooks' version."""
    machine.run([unpacked / "install"])
    machine.run(["oci-gpu-hooks", "install", "--engine", "podman", "mount-srv"])
    machine.run(["sh", "-ec", f"cd /usr/local/libexec/oci/hooks.d; {change}"])
    said = machine.run(["oci-gpu-hooks", "doctor"], check=False)
    assert said.returncode == 6 and f"'/usr/local/libexec/oci/hooks.d/mount-srv' {words}" in said.stdout, said


SYSTEMCTL = """#!/bin/sh
case "$*" in
*is-enabled*) [ -e /run/enabled ] ;;
*disable*) rm /run/enabled ;;
*) exit 1 ;;
esac
"""


def test_the_timer_goes_with_the_hooks_and_is_named(machine, unpacked):
    machine.mount("-t", "tmpfs", "-o", "mode=755", "tests", "/run")
    machine.run([unpacked / "install"])
    machine.run(["sh", "-ec", 'mkdir -p /run/systemd/system; >/run/enabled; printf "%s" "$0" >/usr/local/bin/systemctl;'
                              " chmod 755 /usr/local/bin/systemctl", SYSTEMCTL])
    remove = ["env", "PATH=/usr/local/bin:/usr/bin:/bin", unpacked / "uninstall"]
    said = machine.run(remove).stdout
    assert "systemctl enable --now oci-gpu-hooks-check.timer" in said
    assert machine.run(["ls", "/run/enabled"], check=False).returncode != 0
    machine.run([unpacked / "install"])
    assert "timer was enabled" not in machine.run(remove).stdout
