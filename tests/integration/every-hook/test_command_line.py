# SPDX-License-Identifier: Apache-2.0
"""What a person meets who calls a hook by hand: its options, its lists, and what it says of a mistake."""

import json
import re
import subprocess

import pytest

HOOKS = {"mount-srv": "--source-dir", "nvidia-devices": "--allow", "amd-kfd": "--allow", "cdi-devices": "--spec-dir",
         "ldcache-update": "--directory"}


@pytest.fixture(name="by_hand")
def by_hand_fixture(built):
    """A function that runs a hook: by_hand(name, *options)."""
    def run(name, *options):
        return subprocess.run([built / "hooks" / name / name, *options], check=False, input="",
                              capture_output=True, encoding="utf-8")
    return run


@pytest.mark.parametrize("name", HOOKS)
def test_help_has_the_hooks_own_options_first_and_every_default(by_hand, name):
    text = by_hand(name, "--help").stdout
    assert text == by_hand(name, "-h").stdout
    options = re.findall(r"^  (?:-\w,)?(--\S+)(.*)$", text, re.MULTILINE)
    assert options[0][0] == HOOKS[name] and options[-1][0] == "--version"
    assert [option for option, _ in options].index("--opt-in") > 0
    for option, rest in options:
        takes_a_value = re.match(r" [A-Z]", rest)
        assert "(default: " in rest or not takes_a_value, option


@pytest.mark.parametrize("name", HOOKS)
def test_a_mistake_is_named(by_hand, name):
    process = by_hand(name, "--alow", "3")
    assert process.returncode == 2
    assert process.stderr == f"{name}: unknown option '--alow'; see --help\n"


@pytest.mark.parametrize("option", ["--sysroot", "--log-file", "--history", "--key-file"])
@pytest.mark.parametrize("name", HOOKS)
def test_a_path_that_is_none_is_refused_before_anything_is_asked(by_hand, name, option):
    process = by_hand(name, "--opt-in=environment", option, "nowhere")
    assert process.returncode == 2
    assert process.stderr == f"{name}: {option} needs an absolute path, not 'nowhere'\n"


@pytest.mark.parametrize("name", HOOKS)
def test_an_option_in_place_of_the_name_is_refused(built, name):
    """It would be a limit that counts for nothing."""
    process = subprocess.run(["--log-level=error", "--plan", "--request", "none"], check=False, input="",
                             executable=built / "hooks" / name / name, capture_output=True, encoding="utf-8")
    assert process.returncode == 2 and "'--log-level=error' is taken for the name of the program" in process.stderr


def test_the_list_of_directories(by_hand, srv):
    srv.directories("datasets", "models", "out_rw")
    srv.link("gone", "nowhere")
    options = ["--list", "--source-dir", srv, "--allow", "datasets,gone,out_rw"]
    assert by_hand("mount-srv", *options).stdout.splitlines() == [
        line.rstrip() for line in (
            f"NAME      ACCESS     PATH{' ' * (len(str(srv)) + 7)}STATE",
            f"datasets  read-only  {srv}/datasets",
            f"gone      read-only  {srv}/gone{' ' * 6}its symlink leads nowhere",
            f"models    read-only  {srv}/models{' ' * 4}not allowed",
            f"out_rw    writable   {srv}/out_rw")]
    listed = by_hand("mount-srv", "--list=json", *options[1:]).stdout
    for words in ("--list", "--format", "json"), ("--format=json", "--list"):
        assert by_hand("mount-srv", *words, *options[1:]).stdout == listed, words
    directories = json.loads(listed)["directories"]
    assert directories[1] == {"name": "gone", "access": "read-only", "path": f"{srv}/gone",
                          "state": "its symlink leads nowhere"}
    assert [directory["name"] for directory in directories] == ["datasets", "gone", "models", "out_rw"]


def test_a_list_of_nothing_is_an_error(by_hand, tmp_path):
    for name, *options in [("mount-srv", "--source-dir", tmp_path / "srv"),
                           ("nvidia-devices", "--sysroot", tmp_path), ("amd-kfd", "--sysroot", tmp_path)]:
        process = by_hand(name, "--list", *options)
        assert process.returncode == 3 and process.stdout == "", process
        assert process.stderr.startswith(f"{name}: this host has no "), process
