# SPDX-License-Identifier: Apache-2.0
"""What the doctor says of podman's directories, held against what podman itself does with them."""

import json

import pytest

from harness.admin import BOTH_DIRECTORIES, FILES, OWN, SHIPPED, later

pytest_plugins = ["harness.admin_fixtures"]

FILE = FILES["mount-srv"]
EVERYTHING, SOME, NOTHING = ["datasets", "models"], ["datasets"], []


OWN_COPY = later.own("mount-srv", "--allow", "datasets")
IN_EFFECT = OWN_COPY.hooks_dir()
CONF, DROP_IN = "etc/containers/containers.conf", "etc/containers/containers.conf.d/50-hooks.conf"

# What a container sees, and the file that is in effect; None where there is none.
CASES = {
    "own copy alone": (OWN_COPY, EVERYTHING, SHIPPED),
    "own copy": (IN_EFFECT, SOME, OWN),
    "empty list": (OWN_COPY.hooks_dir("[]"), NOTHING, None),
    "drop-in": (OWN_COPY.hooks_dir(f'["/{SHIPPED}"]').write(DROP_IN, f"[engine]\nhooks_dir = {BOTH_DIRECTORIES}\n"), SOME, OWN),
    "drop-in that takes it away": (
        IN_EFFECT.write(DROP_IN, f'[engine]\nhooks_dir = ["/{SHIPPED}"]\n'), EVERYTHING, SHIPPED),
    "other order": (OWN_COPY.hooks_dir(f'["/{OWN}", "/{SHIPPED}"]'), EVERYTHING, SHIPPED),
    "typo": (later.hooks_dir('["/usr/share/container/oci/hooks.d"]'), NOTHING, None),
    "key with a typo": (OWN_COPY.write(CONF, f"[engine]\nhooks_dirs = {BOTH_DIRECTORIES}\n"), EVERYTHING, SHIPPED),
    "wrong path": (IN_EFFECT.hook_members(f"{OWN}/{FILE}", path="/usr/local/libexec/mount-srv"), EVERYTHING, SHIPPED),
    "no JSON": (IN_EFFECT.write(f"{OWN}/{FILE}", "{"), None, None),
    "no TOML": (later.write(CONF, "[engine\n"), None, None),
    "unlike the schema": (IN_EFFECT.members(f"{OWN}/{FILE}", stages=["createRuntim"]), None, None),
    "other when": (IN_EFFECT.members(f"{OWN}/{FILE}", when={"annotations": {"^org\\.example": ".*"}}), NOTHING, None),
    "no condition": (IN_EFFECT.members(f"{OWN}/{FILE}", when={}), NOTHING, None),
}


@pytest.mark.parametrize("case", CASES)
def test_the_doctor_says_what_podman_does(machine, files, seen, oci_gpu_hooks, case):
    make, sees, in_force = CASES[case]
    make(files)
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
    is_meant = case in ("own copy", "drop-in")
    bad = {each["severity"] for each in findings} - {"ok", "note"}
    assert not bad if is_meant else "error" in bad, done.stdout
