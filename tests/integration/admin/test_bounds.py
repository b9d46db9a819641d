# SPDX-License-Identifier: Apache-2.0
"""Files that somebody has made to bring the command down: too large, too many, nested too deep, patterns that nobody
has written. Each word of the command comes to its end, and says which file it was."""

import json
import os
import shutil
import time

import pytest

from harness.admin import FILES, OWN, SHIPPED, InstalledHost
from harness.admin_worker import DIRECTORY, MachineCommand, Worker, without_podman

pytest_plugins = ["harness.admin_fixtures"]

ASKED = {"list": [], "status": [], "tags": [], "plan": ["mount-srv=all"], "doctor": [], "cdi": [],
         "install": ["--engine", "podman", "--dry-run"], "uninstall": ["--dry-run"]}
LIMIT_S = 20  # it takes a fraction of one; other tests run beside it
EVIL = "50-evil.json"


def hook_file(change=lambda document: None):
    document = InstalledHost.document("mount-srv", [])
    change(document)
    return json.dumps(document)


def when(**conditions):
    return hook_file(lambda document: document.update(when=conditions))


def args(*words):
    return hook_file(lambda document: document["hook"].update(args=["mount-srv", *words]))


def text(content):
    return lambda path: path.write_text(content, "utf-8")


def gigabyte(path):
    path.touch()
    os.truncate(path, 1 << 30)


def many(content, suffix=".json", count=100_000):
    def make(path):
        first = path.parent / f"0{suffix}"
        first.write_text(content, "utf-8")
        for i in range(1, count):
            os.link(first, path.parent / f"{i}{suffix}")
    return make


PARENTHESES = "(" * 60_000 + ")" * 60_000
LETTERS = "a" * 400_000
PATTERNS = "patterns of more than 4096 bytes"
MANY = "has more than %d entries to read"

# What lies in a directory of hooks, and what is said of it.
HOOK_FILES = {
    "parentheses in a key": (text(when(annotations={PARENTHESES: ".*"})), PATTERNS),
    "parentheses in a value": (text(when(annotations={".*": PARENTHESES})), PATTERNS),
    "parentheses in a command": (text(when(commands=["(" * 30_000 + ")" * 30_000])), PATTERNS),
    "letters in a key": (text(when(annotations={LETTERS: ".*"})), "larger than 262144 bytes"),
    "letters in a command": (text(when(commands=[LETTERS[:60_000]])), PATTERNS),
    "repeated repetitions": (text(when(annotations={"(" * 9 + "a" + "{1000})" * 9: ""})), "is no regular expression"),
    "a large program": (text(when(commands=[r"\pL{999}"])), "is too large a regular expression"),
    "what takes others for ever": (text(when(annotations={"(a*)*(a*)*(a*)*b$": "."})), "does not match the annotation"),
    "classes": (text(when(commands=[r"\pL" * 20_000])), PATTERNS),
    "conditions": (text(when(annotations={f"{i:04}": "" for i in range(20_000)})), PATTERNS),
    "depth": (text("[" * 250_000), "nested deeper than 64 levels"),
    "depth of objects": (text('{"":' * 60_000), "nested deeper than 64 levels"),
    "more depth": (text("[" * 1_000_000), "larger than 262144 bytes"),
    "a word": (text(args("--allow", "a" * 200_000)), "'args' has more than 65536 bytes"),
    "words": (text(args(*["--allow"] * 20_000)), "'args' has more than 1024 words"),
    "a gigabyte": (gigabyte, "larger than 262144 bytes"),
    "a pipe": (os.mkfifo, "it is no plain file"),
    "files": (many("{}"), MANY % 128),
}

YAML_BOMB = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 60))
NAMES = ".".join("a" * 100_000)

# Of an engine: the file, what lies there, and what is said of it.
CONFIGURATIONS = {
    "podman, arrays": ("etc/containers/containers.conf", text("a=" + "[" * 100_000), "line 1"),
    "podman, no name": ("etc/containers/containers.conf", text("[=]\n"), "it is no TOML"),
    "podman, a letter": ("etc/containers/containers.conf", text("[ä]\n"), "it is no TOML"),
    "podman, names": ("etc/containers/containers.conf", text(f"[{NAMES}]\n"), "more than 100 dots"),
    "podman, names in a value": ("etc/containers/containers.conf", text(f"a = {{ {NAMES} = 1 }}\n"),
                                 "more than 100 dots"),
    "podman, a gigabyte": ("etc/containers/containers.conf", gigabyte, "larger than 262144 bytes"),
    "podman, a pipe": ("etc/containers/containers.conf", os.mkfifo, "it is no plain file"),
    "podman, files": ("etc/containers/containers.conf.d/x.conf", many("", ".conf"), MANY % 128),
    "podman, directories": ("etc/containers/containers.conf", text("[engine]\nhooks_dir = [" + '"/a", ' * 20_000 + "]\n"),
                        "hooks_dir names more than 16 directories"),
    "docker, a gigabyte": ("etc/docker/daemon.json", gigabyte, "larger than 4194304 bytes"),
    "containerd, a pipe": ("etc/containerd/config.toml", os.mkfifo, "it is no plain file"),
    "CDI, aliases": ("etc/cdi/x.yaml", text(YAML_BOMB), "an alias is not understood"),
    "CDI, depth of YAML": ("etc/cdi/x.yaml", text("- " * 1_000_000), "nested deeper than 64 levels"),
    "CDI, depth of JSON": ("etc/cdi/x.json", text("[" * 1_000_000), "nested deeper than 64 levels"),
    "CDI, a pipe": ("etc/cdi/x.json", os.mkfifo, "it is no plain file"),
    "CDI, files": ("etc/cdi/x.yaml", many(""), MANY % 10_000),
}


def run_all(command, words=None):
    """What each word of the command says, by word; none is ended by a signal or takes long."""
    said = {}
    for name, more in (words or ASKED).items():
        begin = time.monotonic()
        said[name] = command.run(name, *more)
        assert said[name].returncode in (0, 3, 6, 7), (name, said[name].returncode, said[name].stderr[-1000:])
        assert time.monotonic() - begin < LIMIT_S, name
    return said


def check_doctor(said, path, words):
    lines = [line for line in said["doctor"].stdout.splitlines() if path in line and words in line]
    assert lines and said["doctor"].returncode in (6, 7), said["doctor"].stdout[:3000]
    assert len(said["doctor"].stdout) < 20_000 and not said["doctor"].stderr, "for people"


@pytest.mark.parametrize("what", HOOK_FILES)
def test_a_file_of_hooks(command, installed_host, what):
    make, words = HOOK_FILES[what]
    installed_host.hooks_dir()
    directory = installed_host.path / OWN
    directory.mkdir(parents=True)
    make(directory / EVIL)
    said = run_all(command)
    path = f"/{OWN}" if what == "files" else f"/{OWN}/{EVIL}"
    check_doctor(said, path, words)
    if "match" not in words:
        for name in ASKED.keys() - {"doctor"}:
            assert path in said[name].stderr and words in said[name].stderr, (name, said[name].stderr[:1000])
            assert len(said[name].stderr) < 2_000


@pytest.mark.parametrize("what", CONFIGURATIONS)
def test_a_configuration_of_an_engine(command, installed_host, what):
    name, make, words = CONFIGURATIONS[what]
    for program in "dockerd", "containerd":
        installed_host.program(program)
    path = installed_host.path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    make(path)
    check_doctor(run_all(command), "/" + str(name if "files" not in what else os.path.dirname(name)), words)


def test_letters_of_any_language_stay_what_they_are(command, installed_host):
    installed_host.write("etc/containers/containers.conf", "# — ä\n[engine]\nhooks_dir = ['/ä', \"/\\u3042/😀\"]\n")
    findings, _ = command.doctor()
    said = "it reads '/ä', '/あ/😀' (hooks_dir of '/etc/containers/containers.conf')"
    assert ("note", said, "") in findings, findings


@pytest.mark.parametrize("what", HOOK_FILES)
def test_a_file_of_a_worker(processes, built, waiting_program, tmp_path, what):
    """Read through the root of a process."""
    make, words = HOOK_FILES[what]
    without_podman(processes.host)
    worker = Worker(tmp_path / "worker", built, waiting_program)
    make(worker.path / DIRECTORY / EVIL)
    processes.start(worker.path)
    said = run_all(MachineCommand(processes), {name: ASKED[name] for name in ("doctor", "list", "uninstall")})
    if "match" in words:
        return  # a worker goes by no `when`
    for name in said:
        assert words in said[name].stdout + said[name].stderr, (name, said[name].stderr[:1000])
    shutil.rmtree(worker.path)


def test_directories_and_other_names_are_passed_over(command, installed_host):
    for name in "50-directory", "x.d":
        (installed_host.path / SHIPPED / name).mkdir()
    many("{", ".txt", 1_000)(installed_host.path / SHIPPED / "x")
    findings, status = command.doctor()
    assert status == 0, findings
    assert not command.run("list").stderr


def test_each_installed_file_is_understood(command, installed_host, tmp_path):
    """The list of what was installed is somebody's, where the host is a directory of theirs."""
    for content, words in (('{"files": [' + '{"path": "/a"},' * 1_000 + "{}]}", "more than 256 files"),
                           ("[" * 1_000_000, "nested deeper"), ("{}" + " " * 2_000_000, "larger than")):
        installed_host.write("var/lib/oci-gpu-hooks/installed.json", content)
        done = command.run("uninstall", "--dry-run")
        assert done.returncode == 6 and words in done.stderr and "installed.json" in done.stderr
    assert not list(tmp_path.glob("core*")) and FILES
