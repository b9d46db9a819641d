# SPDX-License-Identifier: Apache-2.0
"""What the doctor says of podman's directories, held against what podman itself does with them."""

import json

import pytest

from harness.admin import BOTH_DIRECTORIES, FILES, OWN, SHIPPED

pytest_plugins = ["harness.admin_fixtures"]

FILE = FILES["mount-srv"]
EVERYTHING, SOME, NOTHING = ["datasets", "models"], ["datasets"], []


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
    files.write("etc/containers/containers.conf.d/50-hooks.conf", f"[engine]\nhooks_dir = {BOTH_DIRECTORIES}\n")


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
    files.write("etc/containers/containers.conf", f"[engine]\nhooks_dirs = {BOTH_DIRECTORIES}\n")


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


# What a container sees, and the file that is in effect; None where there is none.
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
    # Before podman 4.5.1 it is an error that images may ask.
    files.program("podman")
    machine.run([oci_gpu_hooks, "install", "--sysroot", files.path, "--engine", "podman", "--defaults"], check=False)
    done = machine.run([oci_gpu_hooks, "doctor", "--format", "json"], check=False)
    findings = [finding for section in json.loads(done.stdout)["sections"] if section["title"] == "podman"
                for finding in section["findings"]]
    called = [each["text"] for each in findings
              if each["severity"] == "ok" and each["text"].startswith("mount-srv by ")]
    assert [text.split("'")[1] for text in called] == ([f"/{in_force}/{FILE}"] if in_force else []), findings
    is_meant = case in (own_copy, drop_in)
    bad = {each["severity"] for each in findings} - {"ok", "note"}
    assert not bad if is_meant else "error" in bad, done.stdout
