# SPDX-License-Identifier: Apache-2.0
"""oci-gpu-hooks doctor: a host on which all is well, and then one thing after the other broken."""

import json
import os

import pytest

from harness.admin import EXECDIR, FILES, OWN, SHIPPED, when_of

pytest_plugins = ["harness.admin_fixtures"]

OK, WARNING, ERROR = 0, 7, 6
MOUNT_SRV = f"{SHIPPED}/{FILES['mount-srv']}"
NVIDIA = f"{SHIPPED}/{FILES['nvidia-devices']}"


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


def own_copy(host, path=f"{OWN}/{FILES['mount-srv']}"):
    host.put(path, host.document("mount-srv", ["--allow", "datasets"]))


def change_hook(**members):
    return lambda host: host.change(MOUNT_SRV, lambda document: document["hook"].update(members))


def change_file(**members):
    return lambda host: host.change(MOUNT_SRV, lambda document: document.update(members))


def with_args(*args):
    return lambda host: host.put(MOUNT_SRV, host.document("mount-srv", args))


def with_owner(host):
    os.chown(host.path / EXECDIR / "mount-srv", 1000, 0)


def with_mode(name, mode):
    return lambda host: (host.path / name).chmod(mode)


def no_executable(host):
    host.remove(f"{EXECDIR}/mount-srv")


def typo_in_directory(host):
    host.hooks_dir('["/usr/share/container/oci/hooks.d"]')


def no_toml(host):
    host.write("etc/containers/containers.conf", "[engine\n")


def drop_in_wins(host):
    host.hooks_dir()
    own_copy(host)
    host.write("etc/containers/containers.conf.d/99-mine.conf", f'[engine]\nhooks_dir = ["/{SHIPPED}"]\n')


def by_two_names(host):
    own_copy(host, f"{SHIPPED}/15-mount-srv.json")


def a_script(host):
    """A program that says something else, in place of the hook: it is not asked."""
    host.remove(f"{EXECDIR}/mount-srv")
    path = host.path / EXECDIR / "mount-srv"
    path.write_text("#!/bin/sh\necho mount-srv 0.2.0\n", encoding="utf-8")
    path.chmod(0o755)


def broken_executable(host):
    (host.path / EXECDIR / "mount-srv").write_text("no program", encoding="utf-8")


def dangling_link(host):
    host.hooks_dir()
    path = host.path / OWN / FILES["mount-srv"]
    path.parent.mkdir(parents=True)
    path.symlink_to("nowhere.json")


def other_machine(host):
    """The executable says that it is for aarch64: elf(5)."""
    with open(host.path / EXECDIR / "mount-srv", "r+b") as file:
        file.seek(18)
        file.write((183).to_bytes(2, "little"))


def leases_of_all(name):
    def break_it(host):
        (host.path / "run/oci-gpu-hooks/leases").mkdir(parents=True)
        (host.path / name).chmod(0o777)
    return break_it


def by_key(mode):
    def break_it(host):
        host.put(MOUNT_SRV, host.document("mount-srv", ["--opt-in", "environment", "--key-file", "/etc/keys"],
                                          {"always": True}))
        if mode:
            host.write("etc/keys", "# none so far\n")
            (host.path / "etc/keys").chmod(mode)
    return break_it


def byte_order_mark(host):
    text = (host.path / MOUNT_SRV).read_text("utf-8")
    (host.path / MOUNT_SRV).write_text(text, encoding="utf-8-sig")


def a_directory(host):
    host.remove(MOUNT_SRV)
    (host.path / MOUNT_SRV).mkdir()


def state_of_leases(text):
    def break_it(host):
        (host.path / "run/oci-gpu-hooks/leases").mkdir(parents=True)
        (host.path / "run/oci-gpu-hooks/leases/state").write_bytes(text)
    return break_it


def leases_in_a_file(host):
    (host.path / "run").mkdir(exist_ok=True)
    host.write("run/oci-gpu-hooks", "")


def a_link(name, target):
    def break_it(host):
        path = host.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)
    return break_it


def settings_of_all(host):
    host.hooks_dir()
    (host.path / "etc/containers/containers.conf").chmod(0o666)


# What is broken, by what: exit status, words of a finding, words of what to do about it.
BROKEN = {
    "own copy in a directory that is not read": (own_copy, ERROR, "podman does not read that directory", "hooks_dir ="),
    "directory with a typo": (typo_in_directory, ERROR, "there is no directory '/usr/share/container/oci/hooks.d'", "name"),
    "containers.conf is no TOML": (no_toml, ERROR, "is no TOML, line 1", "fix the file"),
    "drop-in that takes the directory away": (drop_in_wins, ERROR, "podman does not read that directory", "hooks_dir ="),
    "by two names": (by_two_names, ERROR, "mount-srv is called by each of", "remove one"),
    "no executable": (no_executable, ERROR, "which is not there", "install the hooks again"),
    "executable of another user": (with_owner, ERROR, "belongs to user 1000", "give it to root"),
    "executable that all may write": (with_mode(f"{EXECDIR}/mount-srv", 0o777), ERROR, "written by others", "0755"),
    "directory that a group may write": (with_mode(EXECDIR, 0o775), ERROR, "a directory on the way", "0755"),
    "a script that is none": (a_script, ERROR, "is no hook of this collection", "install the hooks again"),
    "no program": (broken_executable, ERROR, "is no hook of this collection", "install the hooks again"),
    "no JSON": (lambda host: host.write(MOUNT_SRV, "{"), ERROR, "starts no container with a file that it", "fix the file"),
    "another schema": (change_file(version="0.1.0"), ERROR, "the version is '0.1.0'", "fix the file"),
    "unknown stage": (change_file(stages=["createRuntim"]), ERROR, "no stage 'createRuntim'", "fix the file"),
    "no stage": (change_file(stages=[]), ERROR, "names no stage", "fix the file"),
    "another stage": (change_file(stages=["createContainer"]), ERROR, "does not name the stage", "createRuntime"),
    "two stages": (change_file(stages=["prestart", "createRuntime"]), ERROR, "names other stages", "createRuntime"),
    "path that is not absolute": (change_hook(path="mount-srv"), ERROR, "is not absolute", "fix the file"),
    "no environment": (change_hook(env=[]), WARNING, "no environment of its own", '"env"'),
    "library that is loaded first": (change_hook(env=["PATH=/usr/bin", "LD_PRELOAD=/tmp/mine.so"]), ERROR,
                                     "sets 'LD_PRELOAD'", '"env"'),
    "conversions from elsewhere": (change_hook(env=["GCONV_PATH=/tmp"]), ERROR, "sets 'GCONV_PATH'", '"env"'),
    "timeout too short": (change_hook(timeout=5), ERROR, "ends the hook after 5 s", '"timeout": 30'),
    "timeout for waiting": (
        lambda host: host.put(NVIDIA, host.document("nvidia-devices", ["--max-wait", "5m"])), ERROR,
        "--max-wait is '5m'", '"timeout": 305'),
    "when that matches nothing": (change_file(when={"annotations": {"^org\\.example": ".*"}}), ERROR,
                                  "does not match the annotation", '"when"'),
    "when without conditions": (change_file(when={}), ERROR, "does not match the annotation", '"when"'),
    "when for one key": (change_file(when={"annotations": {"^io\\.oci-gpu-hooks\\.mount-srv$": ".+"}}), WARNING,
                         "those for one container of a pod", "^io\\\\.oci-gpu-hooks\\\\.mount-srv([./]|$)"),
    "when without misspelt ones": (
        lambda host: host.change(f"{SHIPPED}/90-ldcache-update.json", lambda document: document.update(
            when=when_of("mount-srv"))), ERROR, "does not match the annotation", '"when"'),
    "when for its own alone": (
        lambda host: host.change(f"{SHIPPED}/90-ldcache-update.json", lambda document: document.update(
            when={"annotations": {"^io\\.oci-gpu-hooks\\.ldcache-update([./]|$)": ".*"}})), WARNING,
        "misspelt annotations", '"when"'),
    "when that is no expression": (change_file(when={"annotations": {"(": ".*"}}), ERROR, "no regular expression",
                                   "fix the file"),
    "when that does not fit the opt-in": (with_args("--opt-in", "always", "--request", "all"), ERROR,
                                          "without an annotation", '"always": true'),
    "option that there is not": (with_args("--alow", "datasets"), ERROR, "unknown option '--alow'", "'args'"),
    "value that there is not": (with_args("--writable", "often"), ERROR, "--writable", "'args'"),
    "libraries that nobody finds": (lambda host: host.remove(f"{SHIPPED}/90-ldcache-update.json"), WARNING,
                                    "ldcache-update is not called", "90-ldcache-update.json"),
    "file that all may write": (with_mode(MOUNT_SRV, 0o666), ERROR, "says what runs as root", "0644"),
    "directory that all may write": (with_mode(SHIPPED, 0o777), ERROR, f"'/{SHIPPED}' may be written by others", "0755"),
    "directory that all may add to": (with_mode(SHIPPED, 0o1777), ERROR, f"'/{SHIPPED}' may be written by others", "0755"),
    "settings that all may write": (settings_of_all, ERROR, "'/etc/containers/containers.conf' may be written", "0644"),
    "link that leads nowhere": (dangling_link, ERROR, "podman leaves the file out without a word, and", "put back"),
    "executable for another machine": (other_machine, ERROR, "is for aarch64, and this host is x86-64", "this machine"),
    "executable without that mode": (with_mode(f"{EXECDIR}/mount-srv", 0o644), ERROR, "is not executable", "chmod 755"),
    "leases that all may write": (leases_of_all("run/oci-gpu-hooks/leases"), ERROR,
                                  "the directory '/run/oci-gpu-hooks/leases' may be written",
                                  "chmod 755 /run/oci-gpu-hooks/leases"),
    "run that all may write": (leases_of_all("run"), ERROR, "the directory '/run' may be written", "chmod 755 /run"),
    "leases in a file": (leases_in_a_file, ERROR, "'/run/oci-gpu-hooks' is no directory", "rm /run/oci-gpu-hooks"),
    "rubbish for a state": (state_of_leases(b"rubbish\xff\n"), ERROR, "no container is given a GPU",
                            "rm /run/oci-gpu-hooks/leases/state"),
    "file that begins with a mark": (byte_order_mark, ERROR, "begins with a byte order mark", "fix the file"),
    "directory in place of a file": (a_directory, ERROR, "it is a directory", "remove it"),
    "options without the hook's name": (
        lambda host: host.change(MOUNT_SRV, lambda document: document["hook"].update(args=["--allow=datasets"])), ERROR,
        "'--allow=datasets' is taken for the name of the program", '"args": ["mount-srv", '),
    "executable that is setuid": (with_mode(f"{EXECDIR}/mount-srv", 0o4755), ERROR, "is setuid", "chmod 755"),
    "log file in no directory": (with_args("--log-file", "/nowhere/log"), WARNING, "'/nowhere' is not there", "mkdir"),
    "directories from nowhere": (with_args("--source-dir", "/data"), WARNING, "there is no directory '/data'", "--source-dir"),
    "history that is a directory": (lambda host: (host.path / "var/lib/oci-gpu-hooks/history").mkdir(parents=True), WARNING,
                                    "'/var/lib/oci-gpu-hooks/history' is no plain file", "remove it"),
    "history in a directory that is a link": (a_link("var/lib/oci-gpu-hooks", "gone"), WARNING,
                                              "'/var/lib/oci-gpu-hooks' is a symlink", "rm /var/lib/oci-gpu-hooks"),
    "history by a link on the way": (a_link("var/lib", "../other"), WARNING, "'/var/lib' is a symlink", "mount --bind"),
    "no key file": (by_key(0), ERROR, "the key file '/etc/keys' is not there", "key new NAME --hook mount-srv"),
    "key file that all may read": (by_key(0o644), ERROR, "'/etc/keys'", "fix the key file"),
    "old kernel": (lambda host: host.write("proc/sys/kernel/osrelease", "5.10.0-9-amd64\n"), ERROR, "is too old",
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
