# SPDX-License-Identifier: Apache-2.0
"""The completion of oci-gpu-hooks, in real shells."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.admin import FILES

pytest_plugins = ["harness.admin_fixtures"]

COMMANDS = ["cancel", "cdi", "check", "doctor", "history", "install", "key", "list", "metrics", "plan", "status", "tags",
            "uninstall", "unwrap"]
KEYS = sorted(["nvidia-devices.capabilities=", *(f"{hook}=" for hook in FILES)])

# Each prints what it offers for the words in "$@", the last of which is being typed.
BASH = """source "$COMPLETIONS/oci-gpu-hooks.bash"
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_oci_gpu_hooks
printf '%s\\n' "${COMPREPLY[@]}"
"""
ZSH = """compadd() { while [[ $1 != -- ]]; do shift; done; shift; print -rl -- ${(M)@:#$PREFIX*} }
_files() { print -rl -- $PREFIX*(/) }
words=("$@") CURRENT=$# PREFIX=${@[-1]}
source "$COMPLETIONS/_oci-gpu-hooks"
"""
FISH = """source "$COMPLETIONS/oci-gpu-hooks.fish"
complete -C "$argv" | string split -f 1 \\t; true
"""


@pytest.fixture(name="offered", params=["bash", "zsh", "fish"])
def offered_fixture(request, build_root, oci_gpu_hooks, tmp_path):
    """What a shell offers for the words."""
    binaries = tmp_path / "bin"
    binaries.mkdir()
    os.symlink(oci_gpu_hooks, binaries / "oci-gpu-hooks")
    script = {"bash": BASH, "zsh": ZSH, "fish": FISH}[request.param]
    assert shutil.which(request.param)

    def offered(*words):
        words = ["oci-gpu-hooks", *words]
        given = [" ".join(words)] if request.param == "fish" else words
        head = [] if request.param == "fish" else [request.param]
        done = subprocess.run(
            [request.param, "-c", script, *head, *given], check=True, capture_output=True, text=True, cwd=tmp_path,
            env={"PATH": f"{binaries}:/usr/bin:/bin", "COMPLETIONS": str(build_root / "completions"),
                 "HOME": str(tmp_path)})
        assert done.stderr == ""
        return sorted(filter(None, done.stdout.splitlines()))
    return offered


def test_commands(offered):
    assert offered("") == COMMANDS
    assert offered("pl") == ["plan"]


def test_options(offered):
    assert offered("doctor", "--") == ["--format", "--help", "--sysroot", "--version"]
    assert offered("list", "--s") == ["--sysroot"]
    assert offered("list", "--sysroot", "/", "--h") == ["--help"]


def test_values(offered):
    assert offered("doctor", "--format", "") == ["json", "text"]
    assert offered("doctor", "--format", "j") == ["json"]
    assert offered("list", "--format", "") == ["json", "screen", "table"]
    assert offered("history", "--format", "") == ["json", "table"]
    assert offered("key", "") == ["list", "new", "remove"]
    assert offered("key", "new", "nightly", "--hook", "") == sorted(FILES)
    assert offered("key", "new", "nightly", "--ho") == ["--hook"]


def test_engines(offered, oci_gpu_hooks):
    """Each once, and the same ones in the command, in its page and here."""
    text = subprocess.run([oci_gpu_hooks, "install", "--help"], check=True, capture_output=True, text=True).stdout
    names = re.findall("'([^']*)'", text.partition("--engine ")[2].partition("\n")[0])
    assert len(set(names)) == len(names) > 4
    page = (Path(__file__).parents[3] / "man/oci-gpu-hooks.1").read_text("utf-8")
    described = [name for line in re.findall(r"^\.It Fl -engine Cm (.*)$", page, re.MULTILINE) for name in line.split(" | ")]
    assert described == names
    assert offered("install", "--engine", "") == offered("uninstall", "--engine", "") == sorted(names)


def test_keys(offered):
    assert offered("plan", "") == KEYS
    assert offered("plan", "mount-srv=all", "am") == [key for key in KEYS if key.startswith("am")]


def test_hooks_and_their_options(offered):
    assert set(FILES) <= set(offered("install", ""))
    assert offered("install", "--engine", "podman", "mou") == ["mount-srv"]
    assert "--source-dir" in offered("install", "--engine", "podman", "mount-srv", "--")
    assert "--engine" not in offered("install", "--engine", "podman", "mount-srv", "--")
    assert set(FILES) <= set(offered("cdi", "")) and offered("cdi", "--k") == ["--kind"]


def test_the_value_of_an_annotation_is_not_another_one(offered):
    assert offered("plan", "nvidia-devices=a") == []


def test_a_word_of_bashs_own(build_root, oci_gpu_hooks, tmp_path):
    """It takes the sign between a name and its value for one."""
    os.symlink(oci_gpu_hooks, tmp_path / "oci-gpu-hooks")

    def offered(*words):
        return subprocess.run(["bash", "-c", BASH, "bash", "oci-gpu-hooks", *words], check=True, capture_output=True, text=True,
                              env={"PATH": f"{tmp_path}:/usr/bin:/bin", "COMPLETIONS": str(build_root / "completions")}
                              ).stdout.split()
    assert offered("plan", "nvidia-devices", "=", "a") == offered("plan", "nvidia-devices", "=") == []
    assert offered("doctor", "--format", "=", "j") == ["json"] and offered("doctor", "--format", "=") == ["text", "json"]


def test_directories(offered, tmp_path):
    (tmp_path / "directory").mkdir()
    (tmp_path / "document").touch()
    assert [name.rstrip("/") for name in offered("list", "--sysroot", "d")] == ["directory"]
