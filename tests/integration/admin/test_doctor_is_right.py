# SPDX-License-Identifier: Apache-2.0
"""What the doctor says of podman's folders, held against what podman itself does with them."""

import json
import shutil

import pytest

from harness import rootfs as root_filesystem
from harness.admin import BOTH_FOLDERS, FILES, OWN, SHIPPED, InstalledHost
from harness.host import Host
from harness.podman import LIMITS

pytest_plugins = ["harness.admin_fixtures"]

FILE = FILES["mount-srv"]
EVERYTHING, SOME, NOTHING = ["datasets", "models"], ["datasets"], []


class RealHost(InstalledHost):
    """Files of an InstalledHost in the place of this machine's own, for one mount namespace."""

    def __init__(self, path, built, host):
        super().__init__(path, built, programs=())
        (self.path / "srv/models").mkdir()
        (self.path / "etc/containers").mkdir(parents=True)
        for name in ("etc/containers", "usr/share/containers", "usr/local", "srv"):
            if name == "usr/share/containers":  # podman has more of its own there
                shutil.copytree("/usr/share/containers", self.path / name, dirs_exist_ok=True)
            host.mount("--bind", self.path / name, f"/{name}")


@pytest.fixture(name="machine")
def machine_fixture(scratch):
    host = Host("not-hybrid")
    yield host
    host.close()


@pytest.fixture(name="files")
def files_fixture(scratch, built, machine):
    return RealHost(scratch / "host", built, machine)


@pytest.fixture(name="seen")
def seen_fixture(scratch, machine):
    """What a container that asks for all sees; None if podman starts none."""
    rootfs = root_filesystem.make(scratch / "rootfs")
    (rootfs / "srv").mkdir()

    def seen():
        done = machine.run(
            ["podman", "--root", scratch / "root", "--runroot", scratch / "run", "--tmpdir", scratch / "tmp",
             "--cgroup-manager", "cgroupfs", "--storage-driver", "vfs", "--events-backend", "file", "--runtime", "runc",
             "run", "--rm", "--network", "none", "--log-driver", "none", *LIMITS,
             "--annotation", "io.oci-gpu-hooks.mount-srv=all", "--rootfs", rootfs, "ls", "/srv"], check=False)
        print(done.stderr)
        return sorted(done.stdout.split()) if done.returncode == 0 else None
    return seen


def policy(files, path=f"{OWN}/{FILE}"):
    files.put(path, files.document("mount-srv", ["--allow", "datasets"]))


def own_copy_alone(files):
    policy(files)


def own_copy(files):
    policy(files)
    files.hooks_dir()


def empty_list(files):
    policy(files)
    files.hooks_dir("[]")


def drop_in(files):
    policy(files)
    files.hooks_dir(f'["/{SHIPPED}"]')
    files.write("etc/containers/containers.conf.d/50-hooks.conf", f"[engine]\nhooks_dir = {BOTH_FOLDERS}\n")


def drop_in_that_takes_it_away(files):
    policy(files)
    files.hooks_dir()
    files.write("etc/containers/containers.conf.d/50-hooks.conf", f'[engine]\nhooks_dir = ["/{SHIPPED}"]\n')


def other_order(files):
    policy(files)
    files.hooks_dir(f'["/{OWN}", "/{SHIPPED}"]')


def typo(files):
    files.hooks_dir('["/usr/share/container/oci/hooks.d"]')


def key_with_typo(files):
    policy(files)
    files.write("etc/containers/containers.conf", f"[engine]\nhooks_dirs = {BOTH_FOLDERS}\n")


def wrong_path(files):
    own_copy(files)
    files.change(f"{OWN}/{FILE}", lambda document: document["hook"].update(path="/usr/local/libexec/mount-srv"))


def no_json(files):
    own_copy(files)
    files.write(f"{OWN}/{FILE}", "{")


def no_toml(files):
    files.write("etc/containers/containers.conf", "[engine\n")


def unlike_schema(files):
    own_copy(files)
    files.change(f"{OWN}/{FILE}", lambda document: document.update(stages=["createRuntim"]))


def other_when(files):
    own_copy(files)
    files.change(f"{OWN}/{FILE}", lambda document: document.update(when={"annotations": {"^org\\.example": ".*"}}))


def no_condition(files):
    own_copy(files)
    files.change(f"{OWN}/{FILE}", lambda document: document.update(when={}))


# What a container sees, and the file that is in force; None where there is none.
CASES = {
    own_copy_alone: (EVERYTHING, SHIPPED), own_copy: (SOME, OWN), empty_list: (NOTHING, None), drop_in: (SOME, OWN),
    drop_in_that_takes_it_away: (EVERYTHING, SHIPPED), other_order: (EVERYTHING, SHIPPED), typo: (NOTHING, None),
    key_with_typo: (EVERYTHING, SHIPPED), wrong_path: (EVERYTHING, SHIPPED), no_json: (None, None),
    no_toml: (None, None), unlike_schema: (None, None), other_when: (NOTHING, None), no_condition: (NOTHING, None),
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_the_doctor_says_what_podman_does(machine, files, seen, oci_gpu_hooks, case):
    sees, in_force = CASES[case]
    case(files)
    assert seen() == sees
    done = machine.run([oci_gpu_hooks, "doctor", "--format", "json"], check=False)
    findings = [finding for section in json.loads(done.stdout)["sections"] if section["title"] == "podman"
                for finding in section["findings"]]
    called = [each["text"] for each in findings
              if each["severity"] == "ok" and each["text"].startswith("mount-srv by ")]
    assert [text.split("'")[1] for text in called] == ([f"/{in_force}/{FILE}"] if in_force else []), findings
    is_meant = case in (own_copy, drop_in)
    assert done.returncode == (0 if is_meant else 6), done.stdout
