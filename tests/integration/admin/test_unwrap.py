# SPDX-License-Identifier: Apache-2.0
"""oci-gpu-hooks unwrap: runc is put back in each place where a recipe for a wrapper has moved it away from, and whatever
happens no copy of it is lost."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hosts.sysroot import Sysroot

from harness.admin import Command
from harness.host import LIMIT_S

pytest_plugins = ["harness.admin_fixtures"]

CONCOURSE = ("var/lib/concourse", "usr/local/concourse", "opt/concourse")
WRAPPER = "opt/bin/runc-wrapper"
NVIDIA = "usr/bin/nvidia-container-runtime"
LOCK = "var/lib/oci-gpu-hooks/lock"
SCRIPT = '#!/bin/bash\nexec "$REAL" "$@"\n'
ELF = Path("/bin/true").read_bytes()


class WrappedHost(Sysroot):
    """Files are said in short: "script", "-> /target", or a word that is the end of a program, runc mostly."""

    def __init__(self, path):
        super().__init__(path)
        self.put(WRAPPER, "script")

    def put(self, name, what):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if what.startswith("-> "):
            path.symlink_to(what[3:])
            return
        path.write_bytes(SCRIPT.encode() if what == "script" else ELF + what.encode() if what else b"")
        path.chmod(0o755)

    def layout(self, files):
        for name, what in files.items():
            self.put(name, what)

    def files(self):
        """Of each name but the lock's, where a link leads, or owner, mode and content."""
        return {path.relative_to(self.path).as_posix():
                os.readlink(path) if path.is_symlink() else
                (path.stat().st_uid, path.stat().st_mode, path.read_bytes())
                for path in self.path.rglob("*")
                if (path.is_symlink() or path.is_file()) and path != self.path / LOCK}

    def is_runc(self, name, what):
        path = self.path / name
        status = path.lstat()
        return path.is_file() and not path.is_symlink() and path.read_bytes() == ELF + what.encode() and \
            (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (0, 0, 0o755)


@pytest.fixture(name="host")
def host_fixture(tmp_path):
    yield WrappedHost(tmp_path / "host")
    shutil.rmtree(tmp_path / "host")


@pytest.fixture(name="command")
def command_fixture(oci_gpu_hooks, host):
    return Command(oci_gpu_hooks, host)


def beside(directory):
    return {f"{directory}/bin/runc": f"-> /{WRAPPER}", f"{directory}/bin/runc.real": "runc"}


# What there is, and what is put back where.
LAYOUTS = {
    "the charm's, without a runc of the host's": (
        {**beside(CONCOURSE[0]), "opt/bin/runc": f"-> /{WRAPPER}", "opt/bin/runc.real": "runc",
         "usr/bin/runc.real": "runc"}, ["opt/bin/runc", "var/lib/concourse/bin/runc"]),
    "the charm's, with the host's own": (
        {**beside(CONCOURSE[0]), "opt/bin/runc": f"-> /{WRAPPER}", "opt/bin/runc.real": "runc",
         "usr/sbin/runc": "another"}, ["opt/bin/runc", "var/lib/concourse/bin/runc"]),
    **{f"beside it in {directory}": (beside(directory), [f"{directory}/bin/runc"]) for directory in CONCOURSE},
    "two of Concourse's": ({**beside(CONCOURSE[1]), **beside(CONCOURSE[2])},
                           [f"{CONCOURSE[1]}/bin/runc", f"{CONCOURSE[2]}/bin/runc"]),
    "in /opt/bin alone": ({"opt/concourse/bin/runc": f"-> /{WRAPPER}", "opt/bin/runc.real": "runc"},
                          ["opt/concourse/bin/runc"]),
    "/usr/bin/runc is a link": ({"usr/bin/runc": f"-> /{WRAPPER}", "opt/bin/runc.real": "runc"}, ["usr/bin/runc"]),
    "by a link to a link": ({"usr/bin/runc": "-> /opt/bin/runc", "opt/bin/runc": "-> runc-wrapper",
                             "opt/bin/runc.real": "runc"}, ["usr/bin/runc", "opt/bin/runc"]),
    "/usr/bin/runc is the script": ({"usr/bin/runc": "script", "usr/bin/runc.real": "runc"}, ["usr/bin/runc"]),
    "/usr/bin/runc is gone": ({"opt/bin/runc": f"-> /{WRAPPER}", "opt/bin/runc.real": "runc", "usr/bin/env": "env"},
                              ["usr/bin/runc", "opt/bin/runc"]),
    "/usr/bin/runc.real alone is left": ({"usr/bin/runc.real": "runc"}, ["usr/bin/runc"]),
    "the package's is gone, and Concourse has its own": (
        {"var/lib/dpkg/info/runc.list": "", "opt/bin/runc.real": "runc", "var/lib/concourse/bin/runc": "another",
         "usr/sbin/nologin": "nologin"}, ["usr/sbin/runc"]),
    "a link to NVIDIA's runtime": ({"usr/local/concourse/bin/runc": f"-> /{NVIDIA}", NVIDIA: "nvidia",
                                    "usr/local/concourse/bin/runc.real": "runc"}, ["usr/local/concourse/bin/runc"]),
    "a copy of NVIDIA's runtime": ({"usr/bin/runc": "nvidia", NVIDIA: "nvidia", "usr/bin/runc.real": "runc"},
                                   ["usr/bin/runc"]),
    "the script that the link leads to is gone": ({"usr/bin/runc": "-> /opt/gone", "usr/bin/runc.real": "runc"},
                                                  ["usr/bin/runc"]),
    "a link in the way to the directory": ({"var/lib/concourse": "-> /mnt/shared", **beside("mnt/shared")},
                                        ["mnt/shared/bin/runc"]),
}


def wrapped(host, name):
    files, places = LAYOUTS[name]
    host.layout(files)
    if "var/lib/dpkg/info/runc.list" in files:
        host.write("var/lib/dpkg/info/runc.list", "/.\n/usr/sbin\n/usr/sbin/runc\n")
    return places


def said(done, how):
    return re.findall(rf"^'/(.*?)' is .*: {how} a copy of '/.*/runc\.real'$", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("name", LAYOUTS)
def test_runc_is_put_back(command, host, name):
    places = wrapped(host, name)
    before = host.files()
    done = command.run("unwrap", "--dry-run")
    assert (done.returncode, done.stderr) == (0, "")
    assert said(done, "would be") == places, done.stdout
    assert host.files() == before
    done = command.run("unwrap")
    assert (done.returncode, done.stderr) == (0, "")
    assert said(done, "now") == places, done.stdout
    assert all(host.is_runc(place, "runc") for place in places)
    after = host.files()
    assert {**after, **{place: before.get(place) for place in places}}.items() >= before.items(), "all else is left"
    kept = {f"{place}.wrapper": before[place] for place in places if before.get(place, "")[2:] == (SCRIPT.encode(),)}
    assert set(after) - set(before) - set(places) == set(kept) and kept.items() <= after.items(), "and a script is kept"
    done = command.run("unwrap")
    assert (done.returncode, done.stderr) == (0, "") and "nothing to do" in done.stdout
    assert host.files() == after


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_doctor_sees_what_is_wrapped(command, host, name):
    places = wrapped(host, name)
    found = [text for severity, text, remedy in command.doctor()[0]
             if (severity, remedy) == ("warning", "oci-gpu-hooks unwrap")]
    assert [re.match("'/(.*?)' ", text)[1] for text in found] == places
    assert command.run("unwrap").returncode == 0
    assert "oci-gpu-hooks unwrap" not in [remedy for _, _, remedy in command.doctor()[0]]


@pytest.mark.parametrize("name", LAYOUTS)
def test_it_runs_nothing_and_uses_no_directory_that_it_is_in(oci_gpu_hooks, host, tmp_path, name):
    """Not even where files of these names lie in the directory that it was called in."""
    places = wrapped(host, name)
    (tmp_path / "here").mkdir()
    for own in ("runc", "runc.real"):
        shutil.copy("/bin/false", tmp_path / "here" / own)
    done = subprocess.run(["strace", "-f", "-qq", "-o", str(tmp_path / "trace"), "-e", "trace=process,unlink,unlinkat",
                           oci_gpu_hooks, "unwrap", "--sysroot", host.path], check=False, capture_output=True,
                          encoding="utf-8", cwd=tmp_path / "here", timeout=LIMIT_S)
    assert done.returncode == 0 and all(host.is_runc(place, "runc") for place in places)
    trace = (tmp_path / "trace").read_text("utf-8")
    calls = re.findall(r"^[0-9]+ +([a-z0-9_]+)\(", trace, re.MULTILINE)  # a path may have such a word
    assert calls.count("execve") == 1 and not {"fork", "vfork", "clone", "clone3", "execveat"} & set(calls)
    removed = [line for line in trace.splitlines() if "unlink" in line and line.endswith("= 0")]
    assert not removed, "no name is removed at all"
    assert sorted(path.name for path in (tmp_path / "here").iterdir()) == ["runc", "runc.real"]


def of_user(host, name):
    os.chown(host.path / name, 1000, 1000)


def for_all(host, name):
    (host.path / name).chmod(0o777)


WITH_BOTH = {**beside(CONCOURSE[0]), "opt/bin/runc.real": "crun"}
IN_OPT_BIN = {"opt/concourse/bin/runc": f"-> /{WRAPPER}", "opt/bin/runc.real": "runc"}
REFUSED = {
    "two that differ": (WITH_BOTH, None,
                        ["'/var/lib/concourse/bin/runc.real'", "'/opt/bin/runc.real'", "differ", "move away"]),
    "none": ({"usr/bin/runc": f"-> /{WRAPPER}"}, None, ["'/usr/bin/runc'", "no runc.real", "package"]),
    "a script that is called so": ({"usr/bin/runc": f"-> /{WRAPPER}", "usr/bin/runc.real": "script"}, None,
                                   ["'/usr/bin/runc.real' is a script"]),
    "a link that is called so": ({"usr/bin/runc": f"-> /{WRAPPER}", "usr/bin/runc.real": f"-> /{WRAPPER}"}, None,
                                 ["'/usr/bin/runc.real' is a symlink to '/opt/bin/runc-wrapper'"]),
    "a link to a program": ({"usr/bin/runc": f"-> /{WRAPPER}", "usr/bin/runc.real": "-> /usr/lib/x", "usr/lib/x": "x"},
                            None, ["'/usr/bin/runc.real' is a symlink to '/usr/lib/x'"]),
    "NVIDIA's runtime that is called so": (
        {"usr/bin/runc": f"-> /{WRAPPER}", "usr/bin/runc.real": "nvidia", NVIDIA: "nvidia"}, None,
        ["'/usr/bin/runc.real' is a copy of '/usr/bin/nvidia-container-runtime'"]),
    "a user's": (beside(CONCOURSE[2]), lambda host: of_user(host, "opt/concourse/bin/runc.real"),
                 ["'/opt/concourse/bin/runc.real' belongs to user 1000"]),
    "one that others may write": (beside(CONCOURSE[2]), lambda host: for_all(host, "opt/concourse/bin/runc.real"),
                                  ["'/opt/concourse/bin/runc.real' may be written by others"]),
    "a user's, beside a good one": ({**beside(CONCOURSE[2]), "opt/bin/runc.real": "runc"},
                                    lambda host: of_user(host, "opt/concourse/bin/runc.real"),
                                    ["'/opt/concourse/bin/runc.real' belongs to user 1000"]),
    "a directory of a user's": (IN_OPT_BIN, lambda host: of_user(host, "opt/concourse/bin"),
                             ["/opt/concourse/bin", "belongs to user 1000"]),
    "a directory above that others may write": (IN_OPT_BIN, lambda host: for_all(host, "opt/concourse"),
                                             ["a directory on the way to '/opt/concourse/bin'"]),
    "a directory that others may add to": (IN_OPT_BIN, lambda host: (host.path / "opt/concourse/bin").chmod(0o1777),
                                        ["'/opt/concourse/bin' may be written by others"]),
    "neither program nor script": ({"usr/bin/runc": "", "usr/bin/runc.real": "runc"}, None,
                                   ["'/usr/bin/runc'", "neither a program nor a script"]),
    "a directory in place of it": ({"usr/bin/runc/x": "x", "usr/bin/runc.real": "runc"}, None,
                                ["'/usr/bin/runc'", "neither a program nor a script"]),
    "what it would be kept as is there": ({"usr/bin/runc": "script", "usr/bin/runc.real": "runc",
                                           "usr/bin/runc.wrapper": "other"}, None,
                                          ["'/usr/bin/runc.wrapper'", "is there already"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_certain_is_refused(command, host, name):
    files, change, words = REFUSED[name]
    host.layout(files)
    if change:
        change(host)
    before = host.files()
    for args in (["--dry-run"], []):
        done = command.run("unwrap", *args)
        assert done.returncode == 6 and all(word in done.stderr for word in words), done
        assert host.files() == before


def test_one_place_that_is_not_certain_leaves_the_others(command, host):
    host.layout({**beside(CONCOURSE[0]), "usr/bin/runc": ""})
    done = command.run("unwrap")
    assert done.returncode == 6 and "'/usr/bin/runc' is neither" in done.stderr
    assert host.is_runc("var/lib/concourse/bin/runc", "runc") and (host.path / "usr/bin/runc").read_bytes() == b""


def test_after_one_of_two_was_moved_away(command, host):
    host.layout({**WITH_BOTH, "opt/bin/runc": f"-> /{WRAPPER}"})
    assert command.run("unwrap").returncode == 6
    (host.path / "opt/bin/runc.real").rename(host.path / "opt/older")
    done = command.run("unwrap")
    assert (done.returncode, done.stderr) == (0, "")
    assert host.is_runc("var/lib/concourse/bin/runc", "runc") and host.is_runc("opt/bin/runc", "runc")


@pytest.mark.parametrize("files", [
    {}, {"usr/sbin/runc": "runc"}, {"usr/bin/runc": "-> /usr/lib/runc-1.3", "usr/lib/runc-1.3": "runc"},
    {"var/lib/concourse/bin/runc": "runc", "var/lib/concourse/bin/runc.real": "older"},
    {"var/lib/concourse/bin/runc": "runc", "opt/bin/runc.real": "runc"},
])
def test_where_there_is_no_wrapper_nothing_is_done(command, host, files):
    host.layout(files)
    before = host.files()
    done = command.run("unwrap")
    assert (done.returncode, done.stderr) == (0, "") and "nothing to do" in done.stdout
    assert host.files() == before and not (host.path / "var/lib/oci-gpu-hooks").exists()


CALLS = {"linkat": (1,), "fsync": range(1, 3), "fchmod": (1,), "renameat": (1,), "write": (1,), "openat": range(1, 60)}


@pytest.mark.parametrize("call", CALLS)
def test_interrupted_anywhere_it_is_the_wrapper_or_runc(oci_gpu_hooks, command, host, call):
    """Killed at a call, or with the call failing: the place is never empty or half, and the next run ends well."""
    host.layout({"usr/bin/runc": "script", "usr/bin/runc.real": "runc"})
    before = host.files()
    for number in CALLS[call]:
        for fault in ("signal=KILL", "error=EIO"):
            done = subprocess.run(["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"inject={call}:{fault}:when={number}",
                                   oci_gpu_hooks, "unwrap", "--sysroot", host.path], check=False, capture_output=True,
                                  encoding="utf-8", timeout=LIMIT_S)
            after = host.files()
            assert done.returncode != 0 or call == "openat"
            if done.returncode != 0:
                assert after["usr/bin/runc"] == before["usr/bin/runc"] or host.is_runc("usr/bin/runc", "runc")
                assert after["usr/bin/runc.real"] == before["usr/bin/runc.real"]
            assert command.run("unwrap").returncode == 0 and host.is_runc("usr/bin/runc", "runc")
            assert set(host.files()) == {*before, "usr/bin/runc.wrapper"}, "what the first run has left is gone"
            for name in ("usr/bin/runc", "usr/bin/runc.wrapper"):
                host.remove(name)
            host.put("usr/bin/runc", "script")


def test_a_copy_that_is_not_the_same_is_not_put_in_place(oci_gpu_hooks, host):
    """As on a disk that is full without a word."""
    host.layout(beside(CONCOURSE[1]))
    before = host.files()
    done = subprocess.run(["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"inject=write:retval={len(ELF) + 4}:when=1",
                           oci_gpu_hooks, "unwrap", "--sysroot", host.path], check=False, capture_output=True,
                          encoding="utf-8", timeout=LIMIT_S)
    assert done.returncode == 6 and "what was written for '/usr/local/concourse/bin/runc' is not what is there" in done.stderr
    assert host.files() == before

