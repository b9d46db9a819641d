# SPDX-License-Identifier: Apache-2.0
"""Who gets a renewed loader cache, for which directories, what is refused in words, and what --plan prints."""

import pytest

from harness import engines
from harness.box import PREFIX
from harness.expect import started, told
from harness.ldcache import CACHE, CONF, refused
from harness.plan import read_plan
from harness.source import tree

pytest_plugins = ["harness.ldcache_fixtures"]

PROBE = "/probe libgpu.so.1 libz.so.1"
FOUND = "libgpu.so.1 /srv/driver/libgpu.so.1\nlibz.so.1 /srv/driver/libz.so.1\n"
LD_SO_CONF = "etc/ld.so.conf"


@pytest.mark.parametrize("value, status, words", [
    ("relative/directory", 2, ["relative/directory"]), ("/", 2, ["'/'"]), ("/srv/../etc", 2, [".."]),
    ("/srv//driver", 2, ["/srv//driver"]), ("", 2, []), ("none,/srv/driver", 2, ["none"]),
    ("/srv/nowhere", 3, ["'/srv/nowhere' in the container"]),
    (f"/srv/driver,/{LD_SO_CONF}", 3, [f"'/{LD_SO_CONF}' in the container"]),
    ("/srv/driver/libz.so.1", 3, ["in the container"])])
def test_a_directory_that_cannot_be_is_refused(srv_box, value, status, words):
    box = srv_box(value)
    before = tree(box.rootfs / "etc")
    refused(box.run(), status, *words)
    assert tree(box.rootfs / "etc") == before


def test_directories_of_the_hosts_policy(srv_box):
    """Behind those that were asked for, and only where someone asked."""
    box = srv_box("/usr/local", "--directory", "/srv/driver")
    (box.rootfs / "usr/local").mkdir(exist_ok=True)
    assert started(box.run(PROBE)) == FOUND
    assert (box.rootfs / CONF).read_text().split()[-2:] == ["/usr/local", "/srv/driver"]
    box = srv_box(None, "--directory", "/srv/driver")
    assert started(box.run(PROBE)) != FOUND


def test_what_was_done_is_told(srv_box):
    box = srv_box("/srv/driver", "--log-level", "info")
    told(box.run(), f"'/{CACHE}'")


def left_alone(box):
    """The container runs, and its image's files are as they were."""
    before = tree(box.rootfs / "etc")
    assert started(box.run(PROBE)).startswith("libgpu.so.1 - ")
    assert tree(box.rootfs / "etc") == before


@pytest.mark.parametrize("name, value", [
    ("annotation", None), ("ENV", "OCI_GPU_HOOKS_LDCACHE_UPDATE=/srv/driver"),
    ("ENV", "NVIDIA_VISIBLE_DEVICES=all"), ("key", PREFIX + "mount-srv")])
def test_e10_a_loader_that_runs_every_hook_gives_nothing_away(srv_box, name, value):
    """As Concourse's; neither does an image by its own environment."""
    box = srv_box(None)
    box.loader = "concourse"
    if name == "ENV":
        box.environment(value)
    left_alone(box)


def test_a_misspelt_key_stops_the_container(srv_box):
    box = srv_box(None)
    box.annotations[PREFIX + "ldcache"] = "/srv/driver"
    box.first.clear()  # mount-srv would say so first
    refused(box.run(), 2, "ldcache")


def test_where_the_host_lets_the_environment_ask(srv_box):
    box = srv_box(None, "--opt-in", "environment")
    box.loader = "concourse"
    left_alone(box)
    box.environment("OCI_GPU_HOOKS_LDCACHE_UPDATE=/srv/driver")
    assert started(box.run(PROBE)) == FOUND


def test_where_the_host_asks_for_every_container(srv_box):
    box = srv_box(None, "--opt-in", "always", "--request", "/srv/driver")
    box.loader = "concourse"
    assert started(box.run(PROBE)) == FOUND


@pytest.fixture(name="plan")
def plan_fixture(srv_box, scratch):
    """A function that runs a container in which the hook only plans; gives the box and the plan."""
    def make(change=lambda box: None, **options):
        box = srv_box("/srv/driver", "--plan", **options)
        change(box)
        box.wrapper = ("/bin/sh", "-c", f'exec "$0" "$@" > "{scratch}/plan"')
        before = tree(box.rootfs / "etc")
        assert started(box.run(PROBE)).startswith("libgpu.so.1 - ")
        assert tree(box.rootfs / "etc") == before
        return read_plan((scratch / "plan").read_text())

    return make


@pytest.mark.parametrize("engine", engines.RUNTIMES + engines.MAPPED, ids=str)
def test_a_plan_names_each_file_and_changes_nothing(plan, engine):
    edits = plan(engine=engine)
    assert edits["containerEdits"]["mounts"] == []
    files = {entry["path"]: entry for entry in edits["files"]}
    assert set(files) == {f"/{CACHE}", f"/{CONF}"}
    assert {entry["how"] for entry in files.values()} == {"replace"}
    assert "/srv/driver\n" in files[f"/{CONF}"]["content"]
    assert "content" not in files[f"/{CACHE}"] and files[f"/{CACHE}"]["size"] > 500


def test_a_plan_for_a_read_only_root(plan):
    def read_only(box):
        box.config["root"]["readonly"] = True

    assert [(entry["path"], entry["how"]) for entry in plan(read_only)["files"]] == [(f"/{CACHE}", "mount")]
