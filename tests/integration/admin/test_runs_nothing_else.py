# SPDX-License-Identifier: Apache-2.0
"""The command is root's, and what processes, files and other hosts name is anybody's: it runs nothing but the hooks that
belong to it (and podman, for its version), and changes nothing by what a file says."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hosts import nvidia

from harness.admin import EXECDIR, FILES, SHIPPED, InstalledHost
from harness.admin_worker import COMMAND, ENVIRONMENT, DIRECTORY, MachineCommand, Worker
from harness.host import LIMIT_S

pytest_plugins = ["harness.admin_fixtures"]

ASKED = {"list": [], "status": [], "tags": [], "plan": ["nvidia-devices=0", "mount-srv=all"], "doctor": [], "cdi": [],
         "check": ["--drain"],
         "install": ["--engine", "podman", "--dry-run", "nvidia-devices", "--allow", "0"],
         "install concourse": ["--engine", "concourse", "--dry-run", "ldcache-update"], "install docker": ["--engine", "docker", "--dry-run"],
         "uninstall": ["--dry-run"], "unwrap": []}
CALL = re.compile(r"^\d+ +(\w+)\((.*)$")
EXECUTED = re.compile(r"^\d+<([^>]*)>, \"\"")
EVIL = "claims-to-be-one"


@pytest.fixture(name="host")
def host_fixture(processes, tmp_path):
    """With two GPUs, and a fixture of all that is wrong."""
    gpus = nvidia.NvidiaHost(tmp_path / "gpus", nvidia.TWO, numbers=nvidia.UNUSED)
    subprocess.run(["cp", "-a", f"{gpus}/.", processes.host.path], check=True)
    return processes.host


def evil_file(hook, program="/evil"):
    """The words make a shell's program a hook of that name."""
    document = InstalledHost.document(hook, ["-c", "id >/mark; id >/dev/mark", "--log-file", "/mark", "--drain", "0"],
                                      {"always": True})
    document["hook"]["path"] = program
    return document


@pytest.fixture(name="claims")
def claims_fixture(processes, built, waiting_program, tmp_path):
    """Processes that call themselves workers, each with a directory of hooks that name a program of its own; one that ends
    and begins again all the time; and a real worker, whose root has such files too."""
    roots = []
    for name, rights in {"user": {"uid": 1000}, "container": {"sys_admin": False}, "userns": {"userns": True},
                         "real": {}}.items():
        root = Worker(tmp_path / (name if name == "real" else f"{EVIL}-{name}"), built, waiting_program)
        for hook, file in FILES.items():
            root.put(f"{DIRECTORY}/{file}", evil_file(hook, "/bin/sh" if name == "user" else "/evil"))
            root.remove(f"{EXECDIR}/{hook}")
        for program in "evil", "bin/sh":
            root.write(program, "#!/bin/sh\n>/mark\n")
            (root.path / program).chmod(0o755)
        processes.start(root.path, **rights)
        roots.append(root.path)
    # Of the host's own root, whose /bin/sh is root's: by a user of the host, and by one that is hardly ever there.
    directory = processes.host.path / DIRECTORY
    directory.mkdir(parents=True)
    for hook, file in FILES.items():
        processes.host.put(f"{DIRECTORY}/{file}", evil_file(hook, "/bin/sh"))
    shutil.copytree(roots[0] / "usr/local/concourse", processes.host.path / "usr/local/concourse")
    (processes.host.path / "bin").mkdir(exist_ok=True)
    shutil.copy("/bin/busybox", processes.host.path / "bin/sh")
    processes.start(processes.host.path, uid=1000)
    flicker = subprocess.Popen(processes.inside(
        ["setpriv", "--reuid", "1000", "--clear-groups", "sh", "-c",
         'while :; do timeout 0.002 env "$@" "$0" worker; done', waiting_program, *ENVIRONMENT]),
        stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    yield roots
    flicker.kill()
    flicker.wait()
    for root in roots:
        shutil.rmtree(root)


def traced(processes, output, word, *args):
    """The calls of the command and of all that it starts, from its own execve(2) on: (name, arguments)."""
    strace = ["strace", "-f", "-y", "-qq", "-s", "4096", "-o", str(output), "-e",
              "trace=execve,execveat,open,openat,openat2,readlink,readlinkat"]
    command = processes.launch(processes.host.path, f"/{COMMAND}", [f"/{COMMAND}", word, *args], proc=True)
    done = subprocess.run(processes.inside([*strace, *command]), check=False, capture_output=True,
                          stdin=subprocess.DEVNULL, encoding="utf-8", timeout=LIMIT_S)
    calls = [match.groups() for line in output.read_text("utf-8", "replace").splitlines()
             if (match := CALL.match(line))]
    begin = next(i for i, (name, rest) in enumerate(calls) if name == "execve" and f'"/{COMMAND}"' in rest)
    return done, calls[begin + 1:]


def seen(host):
    """Each file of the host, and when it was changed."""
    return {path: path.lstat().st_mtime_ns for path in host.path.rglob("*") if "proc" not in path.parts}


def left(host, roots):
    return [path for root in (host.path, *roots) for path in (root / "mark", root / "dev/mark") if path.exists()]


@pytest.mark.parametrize("words", ASKED)
def test_no_word_of_the_command_runs_anything_else(processes, host, claims, scratch, words):
    done, calls = traced(processes, scratch / "trace", words.split()[0], *ASKED[words])
    assert done.returncode in (0, 3, 6, 7), done.stderr
    executed = [EXECUTED.match(rest).group(1) if name == "execveat" else rest
                for name, rest in calls if name.startswith("execve")]
    ours = {str(host.path / EXECDIR / hook) for hook in FILES} | {f"/{EXECDIR}/{hook}" for hook in FILES}
    if words in ("doctor", "install"):  # which podman it is decides what an image may ask
        assert executed.count("/usr/bin/podman") == 1
        assert ["--version" in rest for name, rest in calls if name == "execveat" and "/podman>" in rest] == [True]
        executed.remove("/usr/bin/podman")
    assert set(executed) <= ours, executed
    assert executed or words in ("uninstall", "unwrap"), "and it does run them"
    opened = [rest for name, rest in calls if name.startswith("open") and EVIL in rest]
    assert not opened, "nothing is opened in the root of whoever claims to be a worker"
    assert not left(host, claims)


def test_a_file_of_another_program_is_not_run_either(processes, host, tmp_path):
    """podman's own directory says it, which is root's: it is an error that the doctor finds, and not by running it."""
    host.write("evil", "#!/bin/sh\n>/mark\n")
    (host.path / "evil").chmod(0o755)
    host.put(f"{SHIPPED}/{FILES['nvidia-devices']}", evil_file("nvidia-devices"))
    command = MachineCommand(processes)
    command.finds(6, "is no hook of this collection", "'path'")
    assert "nvidia-devices, which no engine calls\n" in command.run("list").stdout
    assert not left(host, []), tmp_path


@pytest.mark.parametrize("words", ["list", "status", "doctor", "plan", "cdi", "uninstall"])
def test_words_of_a_file_change_nothing(processes, host, words):
    """Our own executable, and words that drain a GPU, write files, and look elsewhere."""
    args = ["--log-file", "/mark", "--drain", "0", "--undrain=1", "--sysroot", "/nowhere", "--driver-root=/nowhere",
            "--key-file", "/nowhere", "--allow", "0"]
    host.put(f"{SHIPPED}/{FILES['nvidia-devices']}", host.document("nvidia-devices", args))
    before = seen(host)
    done = MachineCommand(processes).run(words, *(["nvidia-devices=0"] if words == "plan" else []),
                                         *(["--dry-run"] if words == "uninstall" else []))
    assert seen(host) == before, "no log, no lease"
    assert done.returncode == (6 if words == "doctor" else 0), "they look where the command looks"
    assert "drained" not in done.stdout or " 0 drained" in done.stdout
    if words == "doctor":
        assert "'--drain' is for a command line, and not for a file" in done.stdout


def test_nothing_of_another_host_is_run(command, installed_host, tmp_path):
    """--sysroot: whoever owns that directory owns its executables."""
    for hook in FILES:
        path = installed_host.path / EXECDIR / hook
        path.unlink()
        path.write_text(f"#!/bin/sh\n>{tmp_path}/mark\n", encoding="utf-8")
        path.chmod(0o755)
        os.chown(path, 1000, 1000)
    for words in ["list"], ["status"], ["tags"], ["plan", "mount-srv=all"], ["doctor"], ["cdi"], ["uninstall"]:
        command.run(*words)
        assert not (tmp_path / "mark").exists(), words


@pytest.mark.parametrize("name", ["hooks", f"hooks/{next(iter(FILES))}"])
def test_our_own_executables_are_run_only_if_they_are_roots(oci_gpu_hooks, built, tmp_path, installed_host, name):
    """What lies beside this command may have been put there by somebody else."""
    build = tmp_path / "build"
    (build / "admin").mkdir(parents=True)
    shutil.copy(oci_gpu_hooks, build / "admin")
    for hook in FILES:
        (build / "hooks" / hook).mkdir(parents=True)
        shutil.copy(built / "hooks" / hook / hook, build / "hooks" / hook)

    def run():
        return subprocess.run([build / "admin/oci-gpu-hooks", "list", "--sysroot", installed_host.path], check=False,
                              capture_output=True, encoding="utf-8", timeout=LIMIT_S)
    assert run().returncode == 0
    os.chown(build / name, 1000, 1000)
    done = run()
    assert done.returncode == 6 and "a directory on the way" in done.stderr and "belongs to user 1000" in done.stderr
    os.chown(build / name, 0, 0)
    (build / name).chmod(0o777)
    assert "may be written by others" in run().stderr
    (build / name).chmod(0o755)
    (build / "hooks/mount-srv/mount-srv").unlink()
    assert "which belongs to this command" in run().stderr


@pytest.mark.parametrize("hook", FILES)
def test_no_option_of_a_hook_is_unknown(command, installed_host, built, hook):
    """The list of what a file may have knows each option, and whether it has a value."""
    text = subprocess.run([built / "hooks" / hook / hook, "--help"], check=True, capture_output=True,
                          encoding="utf-8").stdout
    options = re.findall(r"^  (?:-\w,)?(--[a-z-]+)( [A-Z])?", text, re.MULTILINE)
    args, actions = [], ["--cdi", "--drain", "--for", "--format", "--help", "--list", "--plan", "--undrain", "--version"]
    for name, has_value in options:
        if name not in actions:
            args += [name, "/value"] if has_value else [name]
    assert len(args) > 8
    document = installed_host.document(hook, args)
    installed_host.put(f"{SHIPPED}/{FILES[hook]}", document)
    texts = [text for _, text, _ in command.doctor()[0] if f"'/{SHIPPED}/{FILES[hook]}': " in text]
    assert texts and not re.search("unknown option|unexpected argument|takes no value|needs a value", " ".join(texts))
    document["hook"]["args"] += ["--alow"]
    installed_host.put(f"{SHIPPED}/{FILES[hook]}", document)
    command.finds(6, "unknown option '--alow'", "'args'")


def test_what_a_user_may_run_is_not_what_engines_may(processes, host):
    """The hooks are that user's own, who may look; and root would run them when a container is created."""
    for hook in FILES:
        host.put(f"{SHIPPED}/{FILES[hook]}", host.document(hook, []))
        os.chown(host.path / EXECDIR / hook, 1000, 1000)
    command = MachineCommand(processes, uid=1000)
    assert command.run("list").returncode == 0
    command.finds(6, "belongs to user 1000: whoever that is becomes root", "give it to root")
    assert "belongs to user 1000" in MachineCommand(processes).run("list").stderr


def test_a_hook_that_is_to_say_something_changes_nothing(built, tmp_path):
    hook, machine = built / "hooks/nvidia-devices/nvidia-devices", nvidia.NvidiaHost(tmp_path / "machine", nvidia.EIGHT)
    log = tmp_path / "log"

    def say(*words):
        return subprocess.run([hook, "--sysroot", machine.path, *words, "--log-file", log, "--log-level", "debug"],
                              check=False, capture_output=True, encoding="utf-8", timeout=LIMIT_S, stdin=subprocess.DEVNULL)
    for look in ["--list"], ["--list=json"], ["--cdi"], ["--plan", "--request", "0"]:
        done = say(*look)
        assert done.returncode == 0 and done.stdout, done
    for drain in "--drain", "--undrain":
        done = say("--plan", drain, "0")
        assert done.returncode == 2 and "--plan changes nothing" in done.stderr
    assert not log.exists() and not (machine.path / "run/oci-gpu-hooks").exists()
