# SPDX-License-Identifier: Apache-2.0
"""oci-gpu-hooks key: the lines of key files, and what the doctor and install say of such a file."""

import hashlib
import re
import subprocess

import pytest

from harness.admin import FILES, OWN

pytest_plugins = ["harness.admin_fixtures"]

KEYS = "/etc/oci-gpu-hooks/keys"
BY_KEY = ("--opt-in", "environment", "--key-file", KEYS)
DIRECTORIES = "/etc/oci-gpu-hooks/directory-keys"


@pytest.fixture(name="host")
def host_fixture(installed_host, command):
    """Its GPU hooks go by one key file, mount-srv by another one, the others by none."""
    for hook, file in (("nvidia-devices", KEYS), ("amd-kfd", KEYS), ("mount-srv", DIRECTORIES)):
        done = command.run("install", "--engine", "concourse", hook, *BY_KEY[:3], file)
        assert done.returncode == 0, done
    return installed_host


def lines(host, path=KEYS):
    file = host.path / path[1:]
    assert file.stat().st_mode & 0o7777 == 0o600
    return file.read_text("utf-8").splitlines()


def new(command, *words):
    """The key that is made."""
    done = command.run("key", "new", *words)
    assert (done.returncode, done.stderr) == (0, ""), done
    [key] = re.findall(r"\A([0-9a-f]{64})\n\Z", done.stdout)
    return key, hashlib.sha256(key.encode()).hexdigest()


def test_a_key_has_a_line_for_its_hooks(command, host):
    _, one = new(command, "nightly", "--hook", "nvidia-devices", "amd-kfd", "--max-devices", "1", "--quota", "2")
    assert lines(host) == [f"{one} nightly --for nvidia-devices,amd-kfd --max-devices 1 --quota 2"]
    _, two = new(command, "release", "--hook", "mount-srv", "--allow", "datasets")
    assert lines(host, DIRECTORIES) == [f"{two} release --for mount-srv --allow datasets"] and len(lines(host)) == 1
    listed = command.run("key", "list")
    assert sorted(listed.stdout.splitlines()[1:]) == [
        f"nightly  nvidia-devices,amd-kfd  --max-devices 1 --quota 2  {KEYS}",
        f"release  mount-srv               --allow datasets           {DIRECTORIES}"]
    assert one not in listed.stdout and two not in listed.stdout
    assert command.run("key", "remove", "nightly").stdout == f"removed 'nightly' from '{KEYS}'\n"
    assert lines(host) == [] and len(lines(host, DIRECTORIES)) == 1


def test_hooks_that_take_no_leases_have_a_line_without_limits_to_devices(command, host):
    command.run("install", "--engine", "concourse", "mount-srv", *BY_KEY)
    _, key = new(command, "nightly", "--hook", "mount-srv", "nvidia-devices", "--quota", "1", "--max-devices", "1")
    assert lines(host) == [f"{key} nightly --for nvidia-devices --max-devices 1 --quota 1",
                           f"{key} nightly --for mount-srv"]


def test_what_is_in_the_file_stays(command, host):
    host.write(KEYS[1:], f"# who has what\n\n{'0' * 64} old --for mount-srv")
    (host.path / KEYS[1:]).chmod(0o600)
    _, key = new(command, "nightly", "--hook", "nvidia-devices")
    before = ["# who has what", "", f"{'0' * 64} old --for mount-srv"]
    assert lines(host) == [*before, f"{key} nightly --for nvidia-devices"]
    command.run("key", "remove", "nightly")
    assert lines(host) == before


def test_fifty_at_once_are_fifty_lines(oci_gpu_hooks, host):
    started = [subprocess.Popen([oci_gpu_hooks, "key", "new", "--sysroot", host.path, f"key-{number}", "--hook",
                                 "nvidia-devices"], stdout=subprocess.PIPE, encoding="ascii") for number in range(50)]
    said = [process.communicate()[0].strip() for process in started]
    assert {process.returncode for process in started} == {0}
    digests = {hashlib.sha256(key.encode()).hexdigest(): f"key-{number}" for number, key in enumerate(said)}
    assert len(digests) == 50
    assert sorted(lines(host)) == sorted(f"{digest} {name} --for nvidia-devices" for digest, name in digests.items())


def test_a_key_that_nobody_sees_is_none(oci_gpu_hooks, command, host):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([oci_gpu_hooks, "key", "new", "--sysroot", host.path, "lost", "--hook", "amd-kfd"],
                              check=False, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1 and "lost" not in command.run("key", "list").stdout


REFUSED = {
    "no hook": (("new", "x"), 2, "which hooks"),
    "no such hook": (("new", "x", "--hook", "all"), 2, "there is no hook 'all'"),
    "a name that is there": (("new", "there", "--hook", "amd-kfd"), 2, "has a key 'there' already"),
    "no key file": (("new", "x", "--hook", "cdi-devices"), 6, "no engine calls cdi-devices with --key-file"),
    "words of two hooks": (("new", "x", "--hook", "amd-kfd", "mount-srv", "--allow", "a"), 2, "a line of their own"),
    "a second line": (("new", "x\ny", "--hook", "amd-kfd"), 2, "the name of a key takes"),
    "a blank": (("new", "x", "--hook", "amd-kfd", "--allow", "0, 1"), 2, "--allow takes"),
    "no number": (("new", "x", "--hook", "amd-kfd", "--quota", "0"), 2, "--quota needs a number"),
    "no name": (("new",), 2, "takes one name"),
    "a word that there is not": (("make", "x"), 2, "'list' or 'remove NAME'"),
    "none to remove": (("remove", "x"), 2, "there is no key 'x'"),
    "options for no key": (("remove", "there", "--hook", "amd-kfd"), 2, "are for 'key new'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(command, host, name):
    words, status, message = REFUSED[name]
    new(command, "there", "--hook", "nvidia-devices")
    before = lines(host)
    done = command.run("key", *words)
    assert (done.returncode, done.stdout) == (status, "") and message in done.stderr, done
    assert lines(host) == before


WRONG = {
    "missing": (lambda file: file.unlink(), "is not there", "oci-gpu-hooks key new NAME --hook amd-kfd"),
    "mode": (lambda file: file.chmod(0o644), "has mode 0644", "fix the key file"),
    "line": (lambda file: file.write_text("nonsense\n"), "line 1 of the key file", "fix the key file"),
}


@pytest.mark.parametrize("engine", ["podman", "concourse"])
@pytest.mark.parametrize("what", WRONG)
def test_a_key_file_that_no_hook_takes(command, installed_host, what, engine):
    """Every request by a key is refused then."""
    spoil, why, remedy = WRONG[what]
    installed_host.write(KEYS[1:], "")
    file = installed_host.path / KEYS[1:]
    file.chmod(0o600)

    def said(*options):
        done = command.run("install", "--engine", engine, *options, "amd-kfd", *BY_KEY)
        assert done.returncode == 0, done
        return [line for line in done.stdout.splitlines() if line.startswith(("the key file", "line 1"))]

    assert said("--dry-run") == []
    assert said() == []
    spoil(file)
    for options in (["--dry-run"], []):
        [line] = said(*options)
        assert why in line and remedy in line and "refuses each container that asks" in line
    if what != "missing":
        done = command.run("key", "new", "x", "--hook", "amd-kfd")
        assert done.returncode == 6 and done.stdout == "" and why in done.stderr
    if engine == "podman":
        command.finds(6, why, remedy)
        own = [each for each in command.doctor()[0] if each[1].startswith(f"amd-kfd by '/{OWN}/{FILES['amd-kfd']}'")]
        assert [each[0] for each in own] == ["note"]
