# SPDX-License-Identifier: Apache-2.0
"""oci-gpu-hooks doctor: a host on which all is well, and then one thing after the other broken."""

import json
import os

import pytest

from harness.admin import EXECDIR, FILES, OWN, SHIPPED, InstalledHost, later, when_of

pytest_plugins = ["harness.admin_fixtures"]

OK, WARNING, ERROR = 0, 7, 6
MOUNT_SRV = f"{SHIPPED}/{FILES['mount-srv']}"
NVIDIA = f"{SHIPPED}/{FILES['nvidia-devices']}"
LDCACHE = f"{SHIPPED}/{FILES['ldcache-update']}"
PROGRAM = f"{EXECDIR}/mount-srv"
LEASES = "run/oci-gpu-hooks/leases"
BY_KEY = later.shipped("mount-srv", "--opt-in", "environment", "--key-file", "/etc/keys", when={"always": True})


def test_nothing_is_wrong(command):
    findings, status = command.doctor()
    assert status == OK
    assert {severity for severity, _, _ in findings} <= {"ok", "note"}
    for name, file in FILES.items():
        assert ("ok", f"{name} by '/{SHIPPED}/{file}': whoever sets annotations; no limit", "") in findings


def test_the_policy_in_words(command, installed_host):
    installed_host.hooks_dir()
    installed_host.put(f"{OWN}/{FILES['nvidia-devices']}", installed_host.document(
        "nvidia-devices", ["--allow", "0,1", "--max-devices=1"]))
    findings, status = command.doctor()
    assert status == OK
    assert ("ok", f"nvidia-devices by '/{OWN}/{FILES['nvidia-devices']}': whoever sets annotations; of these alone: "
                  "'0,1'; GPUs for one container at most: '1'", "") in findings
    assert ("note", f"'/{NVIDIA}' is not in effect: '/{OWN}/{FILES['nvidia-devices']}' takes its place",
            "") in findings


def a_script(host):
    """A program that says something else, in place of the hook: it is not asked."""
    later.remove(PROGRAM).write(PROGRAM, "#!/bin/sh\necho mount-srv 0.2.0\n").chmod(PROGRAM, 0o755)(host)


def other_machine(host):
    """The executable says that it is for aarch64: elf(5)."""
    with open(host.path / PROGRAM, "r+b") as file:
        file.seek(18)
        file.write((183).to_bytes(2, "little"))


# What is broken, by what: exit status, words of a finding, words of what to do about it.
BROKEN = {
    "own copy in a directory that is not read": (
        later.own("mount-srv", "--allow", "datasets"), ERROR, "podman does not read that directory", "hooks_dir ="),
    "directory with a typo": (
        later.hooks_dir('["/usr/share/container/oci/hooks.d"]'), ERROR,
        "there is no directory '/usr/share/container/oci/hooks.d'", "name"),
    "containers.conf is no TOML": (
        later.write("etc/containers/containers.conf", "[engine\n"), ERROR, "is no TOML, line 1", "fix the file"),
    "drop-in that takes the directory away": (
        later.hooks_dir().own("mount-srv", "--allow", "datasets")
            .write("etc/containers/containers.conf.d/99-mine.conf", f'[engine]\nhooks_dir = ["/{SHIPPED}"]\n'), ERROR,
        "podman does not read that directory", "hooks_dir ="),
    "by two names": (
        later.put(f"{SHIPPED}/15-mount-srv.json", InstalledHost.document("mount-srv", ["--allow", "datasets"])), ERROR,
        "mount-srv is called by each of", "remove one"),
    "no executable": (later.remove(PROGRAM), ERROR, "which is not there", "install the hooks again"),
    "executable of another user": (later.chown(PROGRAM, 1000), ERROR, "belongs to user 1000", "give it to root"),
    "executable that all may write": (later.chmod(PROGRAM, 0o777), ERROR, "written by others", "0755"),
    "directory that a group may write": (later.chmod(EXECDIR, 0o775), ERROR, "a directory on the way", "0755"),
    "a script that is none": (a_script, ERROR, "is no hook of this collection", "install the hooks again"),
    "no program": (later.write(PROGRAM, "no program"), ERROR, "is no hook of this collection", "install the hooks again"),
    "no JSON": (later.write(MOUNT_SRV, "{"), ERROR, "starts no container with a file that it", "fix the file"),
    "another schema": (later.members(MOUNT_SRV, version="0.1.0"), ERROR, "the version is '0.1.0'", "fix the file"),
    "unknown stage": (later.members(MOUNT_SRV, stages=["createRuntim"]), ERROR, "no stage 'createRuntim'", "fix the file"),
    "no stage": (later.members(MOUNT_SRV, stages=[]), ERROR, "names no stage", "fix the file"),
    "another stage": (later.members(MOUNT_SRV, stages=["createContainer"]), ERROR, "does not name the stage", "createRuntime"),
    "two stages": (
        later.members(MOUNT_SRV, stages=["prestart", "createRuntime"]), ERROR, "names other stages", "createRuntime"),
    "path that is not absolute": (later.hook_members(MOUNT_SRV, path="mount-srv"), ERROR, "is not absolute", "fix the file"),
    "no environment": (later.hook_members(MOUNT_SRV, env=[]), WARNING, "no environment of its own", '"env"'),
    "library that is loaded first": (later.hook_members(MOUNT_SRV, env=["PATH=/usr/bin", "LD_PRELOAD=/tmp/mine.so"]), ERROR,
                                     "sets 'LD_PRELOAD'", '"env"'),
    "conversions from elsewhere": (later.hook_members(MOUNT_SRV, env=["GCONV_PATH=/tmp"]), ERROR, "sets 'GCONV_PATH'", '"env"'),
    "timeout too short": (later.hook_members(MOUNT_SRV, timeout=5), ERROR, "ends the hook after 5 s", '"timeout": 30'),
    "timeout for waiting": (
        later.shipped("nvidia-devices", "--max-wait", "5m"), ERROR, "--max-wait is '5m'", '"timeout": 305'),
    "when that matches nothing": (later.members(MOUNT_SRV, when={"annotations": {"^org\\.example": ".*"}}), ERROR,
                                  "does not match the annotation", '"when"'),
    "when without conditions": (later.members(MOUNT_SRV, when={}), ERROR, "does not match the annotation", '"when"'),
    "when for one key": (later.members(MOUNT_SRV, when={"annotations": {"^io\\.oci-gpu-hooks\\.mount-srv$": ".+"}}), WARNING,
                         "those for one container of a pod", "^io\\\\.oci-gpu-hooks\\\\.mount-srv([./]|$)"),
    "when without misspelt ones": (
        later.members(LDCACHE, when=when_of("mount-srv")), ERROR, "does not match the annotation", '"when"'),
    "when for its own alone": (
        later.members(LDCACHE, when={"annotations": {"^io\\.oci-gpu-hooks\\.ldcache-update([./]|$)": ".*"}}), WARNING,
        "misspelt annotations", '"when"'),
    "when that is no expression": (later.members(MOUNT_SRV, when={"annotations": {"(": ".*"}}), ERROR, "no regular expression",
                                   "fix the file"),
    "when that does not fit the opt-in": (later.shipped("mount-srv", "--opt-in", "always", "--request", "all"), ERROR,
                                          "without an annotation", '"always": true'),
    "option that there is not": (later.shipped("mount-srv", "--alow", "datasets"), ERROR, "unknown option '--alow'", "'args'"),
    "value that there is not": (later.shipped("mount-srv", "--writable", "often"), ERROR, "--writable", "'args'"),
    "libraries that nobody finds": (later.remove(LDCACHE), WARNING,
                                    "ldcache-update is not called", "90-ldcache-update.json"),
    "file that all may write": (later.chmod(MOUNT_SRV, 0o666), ERROR, "says what runs as root", "0644"),
    "directory that all may write": (later.chmod(SHIPPED, 0o777), ERROR, f"'/{SHIPPED}' may be written by others", "0755"),
    "directory that all may add to": (later.chmod(SHIPPED, 0o1777), ERROR, f"'/{SHIPPED}' may be written by others", "0755"),
    "settings that all may write": (
        later.hooks_dir().chmod("etc/containers/containers.conf", 0o666), ERROR,
        "'/etc/containers/containers.conf' may be written", "0644"),
    "link that leads nowhere": (
        later.hooks_dir().link(f"{OWN}/{FILES['mount-srv']}", "nowhere.json"), ERROR,
        "podman leaves the file out without a word, and", "put back"),
    "executable for another machine": (other_machine, ERROR, "is for aarch64, and this host is x86-64", "this machine"),
    "executable without that mode": (later.chmod(PROGRAM, 0o644), ERROR, "is not executable", "chmod 755"),
    "leases that all may write": (later.mkdir(LEASES).chmod(LEASES, 0o777), ERROR,
                                  "/run/oci-gpu-hooks/leases' may be written by others than root: no container", "chmod 755"),
    "run that all may write": (
        later.mkdir(LEASES).chmod("run", 0o777), ERROR, "/run' may be written by others than root: no container", "chmod 755"),
    "leases in a file": (
        later.write("run/oci-gpu-hooks", ""), ERROR, "/run/oci-gpu-hooks': Not a directory: no container",
        "rm -r /run/oci-gpu-hooks"),
    "rubbish for a state": (
        later.mkdir(LEASES).write(f"{LEASES}/state", "rubbish\udcff\n"), ERROR, "no container is given a GPU",
        "rm -r /run/oci-gpu-hooks"),
    "file that begins with a mark": (
        lambda host: host.write(MOUNT_SRV, "\ufeff" + (host.path / MOUNT_SRV).read_text("utf-8")), ERROR,
        "begins with a byte order mark", "fix the file"),
    "directory in place of a file": (later.remove(MOUNT_SRV).mkdir(MOUNT_SRV), ERROR, "it is a directory", "remove it"),
    "options without the hook's name": (
        later.hook_members(MOUNT_SRV, args=["--allow=datasets"]), ERROR,
        "'--allow=datasets' is taken for the name of the program", '"args": ["mount-srv", '),
    "executable that is setuid": (later.chmod(PROGRAM, 0o4755), ERROR, "is setuid", "chmod 755"),
    "log file in no directory": (
        later.shipped("mount-srv", "--log-file", "/nowhere/log"), WARNING, "'/nowhere' is not there", "mkdir"),
    "directories from nowhere": (
        later.shipped("mount-srv", "--source-dir", "/data"), WARNING, "there is no directory '/data'", "--source-dir"),
    "history that is a directory": (later.mkdir("var/lib/oci-gpu-hooks/history"), WARNING,
                                    "'/var/lib/oci-gpu-hooks/history' is no plain file", "remove it"),
    "history in a directory that is a link": (later.link("var/lib/oci-gpu-hooks", "gone"), WARNING,
                                              "'/var/lib/oci-gpu-hooks' is a symlink", "rm /var/lib/oci-gpu-hooks"),
    "history by a link on the way": (later.link("var/lib", "../other"), WARNING, "'/var/lib' is a symlink", "mount --bind"),
    "no key file": (BY_KEY, ERROR, "the key file '/etc/keys' is not there", "key new NAME --hook mount-srv"),
    "key file that all may read": (
        BY_KEY.write("etc/keys", "# none so far\n").chmod("etc/keys", 0o644), ERROR, "'/etc/keys'", "fix the key file"),
    "old kernel": (later.write("proc/sys/kernel/osrelease", "5.10.0-9-amd64\n"), ERROR, "is too old",
                   "newer kernel"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_found(command, installed_host, name):
    break_it, *expected = BROKEN[name]
    break_it(installed_host)
    command.finds(*expected)


@pytest.mark.parametrize("hook", ["mount-srv", "nvidia-devices"])
def test_what_others_may_change_is_not_run(command, installed_host, tmp_path, hook):
    path = installed_host.path / EXECDIR / hook
    path.unlink()
    path.write_text(f"#!/bin/sh\ntouch {tmp_path}/was-run\n", encoding="utf-8")
    path.chmod(0o777)
    assert command.doctor()[1] == ERROR
    assert not (tmp_path / "was-run").exists()


def test_no_hook_is_called(command, installed_host):
    for file in FILES.values():
        installed_host.remove(f"{SHIPPED}/{file}")
    findings, status = command.doctor()
    assert any(text.startswith("a directory that is named by --hooks-dir alone is forgotten")
               for severity, text, *_ in findings if severity == "note")
    assert ("warning", "it calls none of the hooks of this collection",
            "oci-gpu-hooks install --engine podman") in findings
    assert status == WARNING


def test_text_is_plain_in_a_pipe(command):
    done = command.run("doctor")
    assert done.returncode == OK and "\033" not in done.stdout
    assert done.stdout.startswith("this host\n  ok       Linux 6.1.0-example\n\npodman\n  note     it reads")


def test_text_has_colours_on_a_terminal(oci_gpu_hooks, installed_host):
    ours, theirs = os.openpty()
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        pid = os.posix_spawn(oci_gpu_hooks, ["oci-gpu-hooks", "doctor", "--sysroot", str(installed_host)], {},
                             file_actions=[(os.POSIX_SPAWN_DUP2, theirs, 1)])
        os.waitpid(pid, 0)
        os.close(theirs)
        assert b"\033[32mok" in terminal.read(4096)


def test_control_characters_do_not_reach_the_terminal(command, installed_host):
    installed_host.hooks_dir(json.dumps(["/etc/\u001b[2J"]))
    done = command.run("doctor")
    assert "\033" not in done.stdout and "x1b" in done.stdout
