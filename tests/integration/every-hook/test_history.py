# SPDX-License-Identifier: Apache-2.0
"""What was given, ended and refused stands in a file of root's, and no container waits for it."""

import json
import os
import subprocess

import pytest

from harness.expect import started
from harness.hooks_d import HookFile
from harness.host import LIMIT_S
from harness.leases import Container, ask, counts, refusals
from harness.nvidia_container import KEY, refused
from hosts.nvidia import EIGHT

pytest_plugins = ["harness.nvidia_fixtures"]

PLACE = "var/lib/oci-gpu-hooks/history"
POD = {"io.kubernetes.cri.container-name": "train", "io.kubernetes.cri.sandbox-name": "job-1",
       "io.kubernetes.cri.sandbox-namespace": "ml", "io.kubernetes.cri.image-name": "a\nb"}
GPU = f"nvidia:{EIGHT[0].address}"


@pytest.fixture(name="history")
def history_fixture(machine):
    """A function that gives the events so far."""
    return lambda: [json.loads(line) for line in (machine.path / PLACE).read_text("ascii").splitlines()]


@pytest.fixture(name="command")
def command_fixture(build_root, machine):
    """`oci-gpu-hooks history`."""
    return lambda *args, name="history": subprocess.run(
        [f"{build_root}/admin/oci-gpu-hooks", name, "--sysroot", machine.path, *args], check=False,
        capture_output=True, text=True, timeout=LIMIT_S)


def test_a_grant_an_end_and_a_refusal(nv_box, machine, history, command):
    box = ask(nv_box("0", "--only", "io.kubernetes.cri.sandbox-namespace=ml"), KEY, "exclusive")
    box.annotations.update(POD)
    container = Container(box).ready()
    refused(nv_box("0").run(), 4)
    container.end()
    started(nv_box("0").run())  # who comes next notices
    granted, busy, ended, _ = history()
    assert {key: granted[key] for key in ("event", "hook", "container", "name", "image", "user", "asker", "gpus",
                                          "lease")} == {
        "event": "granted", "hook": "nvidia-devices", "container": container.result.name, "name": "job-1/train",
        "image": "a\nb", "user": "ml", "asker": "annotation", "gpus": [GPU], "lease": "exclusive"}
    assert (busy["event"], busy["status"]) == ("refused", 4) and "held exclusively" in busy["reason"]
    assert (ended["event"], ended["how"], ended["gpus"], ended["container"]) == (
        "ended", "ended", [GPU], container.result.name) and ended["since"] >= granted["time"]
    assert (machine.path / PLACE).stat().st_mode & 0o7777 == 0o600
    assert (machine.path / PLACE).parent.stat().st_mode & 0o7777 == 0o755
    assert [line.split()[1] for line in command().stdout.splitlines()] == [
        "EVENT", "granted", "refused", "ended", "granted"]
    assert command("--refused", "--since", "2d").stdout.count("\n") == 2
    assert "ml    1        0        0." in command("--by", "user").stdout
    assert [json.loads(line)["event"] for line in command("--format", "json", "--gpu", EIGHT[0].address)
            .stdout.splitlines()] == ["granted", "ended", "granted"]
    assert command("--gpu", EIGHT[1].address).stdout.count("\n") == 1



def test_under_podman_a_pods_annotations_name_nobody(nv_box, history):
    """It writes none: they are the user's or the image's, who would be somebody else in it."""
    box = nv_box("0", "--max-devices", "1")
    box.annotations.update(POD | {"io.container.manager": "libpod"})
    box.loader = "concourse"
    started(box.run())
    assert not {"name", "image"} & {*history()[0]} and history()[0].get("user") != "ml"


def test_a_name_that_somebody_has_chosen_is_whole(machine, command):
    """An id that an engine has made up is as short as engines show it."""
    place = machine.path / PLACE
    place.parent.mkdir(parents=True, exist_ok=True)
    names = {"buildah-buildah3141592653": "buildah-buildah3141592653", "3f2a9c0d" * 8: "3f2a9c0d3f2a"}
    place.write_text("".join(json.dumps({"time": "2026-11-28T01:02:03Z", "event": "granted", "container": name,
                                         "gpus": [GPU]}) + "\n" for name in names), encoding="ascii")
    assert [line.split()[2] for line in command().stdout.splitlines()] == ["CONTAINER", *names.values()]


def test_a_container_that_the_hook_could_not_start(nv_box, history):
    """The lease is taken back, and that is no end like any other."""
    box = nv_box("0")
    (box.rootfs / "dev").mkdir(exist_ok=True)
    box.config["mounts"] = [mount for mount in box.config["mounts"] if mount["destination"] != "/dev"]
    (box.rootfs / "dev/nvidiactl").mkdir()
    assert box.run().code != 0
    assert [(event["event"], event.get("how")) for event in history()] == [
        ("granted", None), ("ended", "not started"), ("refused", None)]


@pytest.mark.parametrize("name", ["mount-srv", "ldcache-update"])
def test_other_hooks_write_refusals_too(nv_box, machine, history, built, name):
    box = nv_box(None)
    [document] = built.glob(f"oci-hooks.d/*-{name}.json")
    box.hook = HookFile(document, built / f"hooks/{name}/{name}")
    box.annotations[f"io.oci-gpu-hooks.{name}"] = "/../x"
    assert box.run().code != 0 and machine
    assert [(event["event"], event["hook"], event["status"]) for event in history()] == [("refused", name, 2)]


@pytest.mark.parametrize("obstacle", ["a directory", "for all to write", "a link"])
def test_a_history_that_fails_stops_no_container(nv_box, machine, obstacle):
    file = machine.path / PLACE
    file.parent.mkdir(parents=True)
    if obstacle == "a directory":
        file.mkdir()
    elif obstacle == "a link":
        file.symlink_to("/tmp/elsewhere")
    else:
        file.touch()
        file.chmod(0o666)
    result = nv_box("0").run()
    started(result)
    assert any("history" in line and line.endswith(", ignoring") for line in result.said) and not os.path.exists("/tmp/elsewhere")


def test_it_is_turned_off_and_has_another_place(nv_box, machine, command):
    started(nv_box("0", "--history", "none").run())
    assert not (machine.path / "var/lib/oci-gpu-hooks").exists() and command().returncode == 3
    (machine.path / "srv").mkdir(exist_ok=True)
    started(nv_box("0", "--history", "/srv/mine").run())
    assert command("--file", "/srv/mine").stdout.count("granted") == 1


def test_numbers_are_counted_without_a_history_too(nv_box, machine):
    """Grants, refusals without the lock, and the time of what has ended; not a wrong command line."""
    container = Container(ask(nv_box("0", "--history", "none"), KEY, "exclusive")).ready()
    refused(nv_box("0", "--history", "none").run(), 4)
    refused(nv_box("1", "--history", "none", "--allow", "0").run(), 5)
    assert nv_box("1", "--no-such-option").run().code != 0
    assert (machine.path / "var/lib/oci-gpu-hooks").exists() is False
    before = counts(machine.path)
    assert sum(before["waits"]) == 1
    assert before == {"grants": 1, "takeovers": 0, "revocations": 0, "waited_ns": before["waited_ns"],
                      "waits": before["waits"], "device_ns": [0] * 3}
    assert refusals(machine.path) == {"nvidia-devices": [0, 0, 0, 0, 1, 1, 0]}
    container.end()
    started(nv_box("0", "--history", "none").run())
    after = counts(machine.path)
    assert after["device_ns"][1] > 0 and after["grants"] == 2


@pytest.mark.parametrize("name", ["mount-srv", "ldcache-update"])
def test_refusals_of_other_hooks_count(nv_box, machine, built, name):
    box = nv_box(None)
    [document] = built.glob(f"oci-hooks.d/*-{name}.json")
    box.hook = HookFile(document, built / f"hooks/{name}/{name}")
    box.annotations[f"io.oci-gpu-hooks.{name}"] = "/../x"
    assert box.run().code != 0 and not (machine.path / "run").exists()
    (machine.path / "run").mkdir()
    assert box.run().code != 0
    assert [sum(of_hook) for of_hook in refusals(machine.path).values()] == [1] and name in refusals(machine.path)
