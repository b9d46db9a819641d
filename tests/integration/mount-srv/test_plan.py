# SPDX-License-Identifier: Apache-2.0
"""--plan: what would be done, as JSON, and nothing done."""

import json
import os

import pytest

from harness.expect import refused_by_hand
from harness.plan import read_plan
from harness.source import tree


@pytest.fixture(name="plan")
def plan_fixture(host, hook, srv):
    """Runs the hook by hand, without a container; gives the finished process."""
    def run(*args, text=""):
        return host.run([hook.executable, "--source-dir", srv, "--plan", *args], check=False,
                        input=text)
    return run


def mounts_of(process):
    assert process.returncode == 0, process.stderr
    return read_plan(process.stdout)["containerEdits"]["mounts"]


def test_plan_without_a_container(plan, srv):
    srv.directories("datasets", "x_rw")
    flags = ["nosuid", "nodev", "rprivate"]
    assert mounts_of(plan("--request", "all", "--target-dir", "/data")) == [
        {"hostPath": f"{srv}/datasets", "containerPath": "/data/datasets",
         "options": ["rbind", "ro", *flags]},
        {"hostPath": f"{srv}/x_rw", "containerPath": "/data/x_rw",
         "options": ["rbind", "rw", *flags]}]


def test_plan_names_the_end_of_a_link(plan, srv, scratch):
    (scratch / "elsewhere").mkdir()
    srv.link("data", "../elsewhere")
    assert [m["hostPath"] for m in mounts_of(plan("--request", "data"))] == [f"{scratch}/elsewhere"]


def test_plan_escapes_what_is_not_utf8(plan, srv):
    os.mkdir(os.fsencode(srv) + b"/caf\xe9")
    process = plan("--request", "all")
    [mount] = mounts_of(process)
    assert "caf" in mount["containerPath"] and "\ufffd" not in mount["containerPath"]
    process.stdout.encode("utf-8")  # no surrogate: the output is UTF-8 throughout


def test_plan_changes_nothing(new_box, srv):
    srv.directory("datasets")
    box = new_box("all", "--plan")
    before = tree(box.rootfs)
    assert box.mounts() == []
    assert tree(box.rootfs) == before


def test_plan_of_a_state(plan, srv, new_box):
    srv.directories("datasets", "models")
    box = new_box("models")
    box.bundle.write()
    state = {"ociVersion": "1.0.2", "id": "x", "status": "creating", "pid": 12345,
             "bundle": str(box.bundle.directory)}
    [mount] = mounts_of(plan(text=json.dumps(state)))
    assert mount["containerPath"] == "/srv/models"


def test_plan_refuses_what_a_run_refuses(plan, srv):
    srv.directories("datasets")
    refused_by_hand(plan("--request", "nonsense"), 3, "nonsense", "datasets")
    refused_by_hand(plan("--request", "datasets", "--allow", "models"), 5, "datasets")
    refused_by_hand(plan("--request", ""), 2)


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_need_no_container(host, hook, option):
    process = host.run([hook.executable, option], input="")
    assert "mount-srv" in process.stdout and process.stderr == ""
