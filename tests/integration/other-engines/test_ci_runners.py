# SPDX-License-Identifier: Apache-2.0
"""A GPU for each job of a CI runner that speaks docker's API with podman, and can set no annotation: the host asks for all
containers of that podman. With docker a device request does, see test_docker_gpus.py."""

import json

import pytest

from harness import rootfs
from harness.engine_api import PodmanService, Starting
from harness.podman import Podman
from harness.stopped import wait_until

pytest_plugins = ["harness.nvidia_fixtures"]

POLICY = ("--allow", "0", "--min-lease", "exclusive", "--max-wait", "1m")
JOB = "exec sleep 1000"


@pytest.fixture(name="podman", params=[()], ids=["policy"])
def podman_fixture(request, nv_host, nv_hook, machine, scratch):
    """Its service; the hook is called for each container of it, and asks for one that is free."""
    host, podman = nv_host("not-hybrid"), Podman(scratch / "podman", "runc")
    entry = nv_hook.entry(["--sysroot", machine, "--opt-in", "always", "--request", "any:1", *POLICY, *request.param])
    entry["timeout"] = 65
    (podman.hooks / "20.json").write_text(json.dumps(
        {"version": "1.0.0", "hook": entry, "when": {"always": True}, "stages": ["createRuntime"]}), encoding="utf-8")
    host.run(["tar", "-C", rootfs.make(scratch / "image"), "-cf", scratch / "image.tar", "."])
    host.run(podman.command("import", scratch / "image.tar", "localhost/image"))
    service = PodmanService(host, podman, scratch / "podman.sock")
    yield service.api
    service.close()
    host.run(podman.command("rm", "--all", "--force", "--time", "0"), check=False)


def has(leases, *names):
    """These containers have a GPU, by the beginning of their ids."""
    return [name for name, state in leases.rows("container", "state") if state not in ("waiting", "ended")] == [*names]


def test_jobs_have_one_each_and_wait(podman, leases):
    first, second = (podman.create(name, JOB) for name in ("first", "second"))
    assert podman.start(first)[0] == 204 and has(leases, first)
    starting = Starting(podman, second)
    leases.wait_for(second)
    assert podman.remove(first)[0] in (200, 204)
    assert starting.end()[0] == 204 and has(leases, second)
    podman.remove(second)


def test_a_job_is_cancelled_while_it_waits(podman, leases):
    """The runner lets go and removes the container, which podman does when the hook has ended."""
    first, second, third = (podman.create(name, JOB) for name in ("first", "second", "third"))
    assert podman.start(first)[0] == 204
    starting = Starting(podman, second)
    leases.wait_for(second)
    starting.connection.sock.close()
    removing = podman.begin("DELETE", f"/containers/{second}?force=true")
    leases.wait_for(second)
    podman.remove(first)
    assert podman.answer(removing)[0] in (200, 204)
    wait_until(leases.are_free, "the GPU of the job that was cancelled is not free")
    assert podman.start(third)[0] == 204 and has(leases, third)
    podman.remove(third)


@pytest.mark.parametrize("podman", [("--max-hold", "1s")], ids=["max-hold"], indirect=True)
def test_what_a_runner_that_was_killed_has_left_is_ended_for_the_next(podman, leases):
    """Its job goes on without it, and keeps its GPU as long as nobody removes it, or until the policy's time is over."""
    first, second = (podman.create(name, JOB) for name in ("first", "second"))
    connection = podman.begin("POST", f"/containers/{first}/start")
    wait_until(lambda: has(leases, first), "the job has no GPU")
    connection.close()
    assert podman.start(second)[0] == 204 and has(leases, second)
    podman.remove(second)
