# SPDX-License-Identifier: Apache-2.0
"""Attacks on runtimes and engines that became known in 2026, by the numbers of their CVEs, carried out on every hook.
What a runtime itself does with such an image is no matter here: the container is looked at directly before the hook and
directly after it."""

import json
import shlex
from dataclasses import replace

import pytest

from harness import engines, rootfs
from harness.box import KEY, PREFIX
from harness.every_hook import NAMES, box_of
from harness.expect import started
from harness.mounts import parse
from harness.nvidia_container import PROBE, given, node, probed, without_proc_driver
from harness.podman import LIMITS
from harness.source import tree
from hosts.nvidia import CTL, MAJOR, UVM

pytest_plugins = ["harness.nvidia_fixtures", "harness.amd_fixtures", "harness.ldcache_fixtures",
                  "harness.driver_fixtures", "harness.cdi_fixtures"]

RUNC, CRUN = engines.RUNTIMES
CLIMB = "../" * 15


@pytest.fixture(name="make_box", params=NAMES)
def make_box_fixture(request):
    """A function that gives a container of each hook."""
    def make(engine):
        box = box_of(request.param, request.getfixturevalue, engine)
        box.name = request.param
        return box

    return make


@pytest.fixture(name="box")
def box_fixture(make_box):
    return make_box(RUNC)


@pytest.fixture(name="outside")
def outside_fixture(scratch):
    """Files of the host's root, which must be the same afterwards."""
    outside = scratch / "outside"
    outside.mkdir()
    for name in ("null", "file"):
        (outside / name).write_text("of the host\n")
        (outside / name).chmod(0o600)
    before = tree(outside)
    yield outside
    assert tree(outside) == before


def around(box, directory, before="true", after="true"):
    """Runs a script in the container's mount namespace directly before the hook, and one directly after it; in between
    the hook, which gets neither stdout nor stderr. Gives a function for the container's mounts then and then, and the
    hook's exit status."""
    inside = 'nsenter --target "$pid" --mount sh -ec'
    box.wrapper = (str(rootfs.BUSYBOX), "sh", "-c", f"""
        state=$(cat); pid=$(echo "$state" | /bin/sed 's/.*"pid": *\\([0-9]*\\).*/\\1/'); export ROOT="{box.rootfs}"
        {inside} {shlex.quote(before)}; grep -F " $ROOT" "/proc/$pid/mountinfo" > "{directory}/before"
        echo "$state" | "$0" "$@" >&- 2>&-; status=$?
        grep -F " $ROOT" "/proc/$pid/mountinfo" > "{directory}/after"; {inside} {shlex.quote(after)}
        echo $status > "{directory}/status"; exit $status""")

    def seen():
        tables = [parse((directory / name).read_text()) for name in ("before", "after")]
        return *tables, (directory / "status").read_text().strip()

    return seen


def test_cve_2026_88264_cve_2026_88265_links_at_dev_console_and_dev_null(box, outside, watch, scratch):
    """To a file that is not there, and to one of the host that is bind-mounted."""
    names = ("console", "null", "tty", "zero")
    links = {"console": outside / "console", "null": "/data/null", "tty": f"{CLIMB}{outside}/null",
             "zero": f"{CLIMB}{outside}/zero"}
    box.volume("/data", outside)
    plant = " ".join(f'[ ! -e {name} ] || mv {name} .{name}; ln -s "{links[name]}" {name};' for name in names)
    away = " ".join(f"rm {name}; [ ! -e .{name} ] || mv .{name} {name};" for name in names)
    seen = around(box, scratch, f'cd "$ROOT/dev"; {plant}', f'cd "$ROOT/dev"; {away}')
    opened = watch(outside / "null")
    result = box.run("true")
    assert result.code == 0 and seen()[2] == "0", (result.err, result.said)
    assert opened() == []


@pytest.mark.parametrize("place, engine", [("image", RUNC), ("volume", CRUN)], ids=str)  # runc lets none be at /proc
def test_cve_2026_115521_descriptors_of_the_images_making(make_box, outside, scratch, place, engine):
    """There is no procfs, and what stands in its place has a link to a writable volume for each descriptor. Whoever
    remounts by such a name makes the volume read-only, or the directory that was asked for not."""
    box = make_box(engine)
    (scratch / "proc").mkdir()
    proc = box.rootfs / "proc" if place == "image" else scratch / "proc"
    for directory in ("self", "thread-self", "1"):
        (proc / directory / "fd").mkdir(parents=True)
        for number in range(64):
            (proc / directory / f"fd/{number}").symlink_to("../../../data")
    without_proc_driver(box)
    box.config["mounts"] = [m for m in box.config["mounts"] if m["destination"] != "/proc"]
    box.config["linux"].update(maskedPaths=[], readonlyPaths=[])
    if place == "volume":
        box.volume("/proc", proc)
    box.volume("/data", outside)
    seen = around(box, scratch)
    planted = tree(proc)
    box.start("true").finish()  # the runtime itself may want a procfs
    before, after, status = seen()
    assert status == "0"
    assert after[:len(before)] == before and (len(after) > len(before) or box.name in ("amd-kfd", "ldcache-update"))
    assert "rw" in next(mount for mount in after if mount.point.endswith("/data")).options
    assert all("ro" in mount.options for mount in after[len(before):] if mount.point.endswith("/srv/datasets"))
    assert tree(proc) == planted


def test_cve_2026_115520_cve_2026_119101_names_that_mean_something_to_criu(engine_box, srv):
    """A destination that holds `]:` looks to CRIU like the end of a name and a path of the host."""
    names = ["a]:", "a]:b", "mnt[a]:etc", "b:c"]
    srv.directories(*names, "x,y")
    found = [mount.point for mount in engine_box(RUNC, "all").mounts()]
    assert found == [f"/srv/{name}" for name in sorted([*names, "x,y"])]
    assert [mount.point for mount in engine_box(RUNC, ",".join(names)).mounts()] == [
        f"/srv/{name}" for name in sorted(names)]


def test_cve_2026_53488_a_label_of_an_image_is_no_annotation(journal_host, engine_box, hook, scratch):
    """podman: it does not reach config.json, neither as a key of ours nor at all; what the caller says does."""
    podman = engine_box(engines.PODMANS[0]).runtime
    image = rootfs.make(scratch / "image")
    labels = [f"{PREFIX}{name}=all" for name in NAMES] + [f"{KEY}/main=all", "io.kubernetes.container.name=main"]
    journal_host.run(["tar", "-C", image, "-cf", scratch / "image.tar", "."])
    journal_host.run(podman.command("import", *(word for label in labels for word in ("--change", f"LABEL {label}")),
                                    scratch / "image.tar", "localhost/labelled"))
    dump = {"path": "/bin/sh", "env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"], "args": [
        "sh", "-c", f"""cd "$(sed 's/.*"bundle": *"\\([^"]*\\).*/\\1/')"; cat config.json > "{scratch}/seen" """]}
    hook.document = {**hook.document, "when": {"always": True}}
    hook.write(podman.hooks / "0.json", dump, "createRuntime")

    def annotations(*options):
        journal_host.run(podman.command("run", "--rm", "--network", "none", "--log-driver", "none", *LIMITS, *options,
                                        "localhost/labelled", "true"))
        return json.loads((scratch / "seen").read_text())["annotations"]

    told = journal_host.run(podman.command("inspect", "localhost/labelled", "--format", "{{.Labels}}")).stdout
    assert all(label.replace("=", ":", 1) in told for label in labels), told
    seen = annotations()
    assert not [key for key in seen if key.startswith((PREFIX, "io.kubernetes.container.name"))], seen
    assert annotations("--annotation", f"{KEY}=all")[KEY] == "all"


@pytest.mark.parametrize("make_box", NAMES[:3], indirect=True)
def test_a_read_only_directory_stops_nobody_who_asked_for_nothing_there(box, ld_hook, scratch):
    """A GPU is not refused for the files that only go along with it: the links to the driver's in /etc and elsewhere,
    AMD's names, and the loader cache, where nothing was asked of ldcache-update."""
    if box.name == "nvidia-devices":
        box.last.append(ld_hook.entry())
    for name in ("etc", "usr/share", "usr/bin", "lib/firmware"):
        (scratch / "volume" / name).mkdir(parents=True)
        box.bundle.mount(f"/{name}", scratch / "volume" / name, "rbind", "ro")
    before = tree(scratch / "volume")
    result = box.run("echo started")
    assert started(result) == "started\n", result.said
    assert tree(scratch / "volume") == before


@pytest.mark.parametrize("engine", [RUNC, engines.MAPPED[1]], ids=str)
def test_nodes_come_from_the_drivers_numbers_alone(nv_box, machine, engine):
    """A host that was just started has none of them in /dev: programs of the driver's make them at their first use."""
    for path in (machine.path / "dev").glob("nvidia*"):
        path.unlink()
    box = nv_box("1", engine=engine)
    gpu = machine.gpus[1]
    out = started(box.run(f"{PROBE} probe /dev/nvidia*"))
    assert probed(out) == given(gpu)
    assert given(gpu)["/dev/nvidiactl"] == replace(node(MAJOR, CTL)) and node(UVM, 0) in given(gpu).values()
    assert not list((machine.path / "dev").glob("nvidia*"))
