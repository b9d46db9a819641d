# SPDX-License-Identifier: Apache-2.0
"""A key that a pipeline has and a pull request's does not: the same worker, the same task file, one gets the directory."""

import hashlib
import os
import secrets

import pytest

from harness import concourse
from harness.expect import refused, started
from harness.plan import read_plan

KEY = secrets.token_hex(16)
LOOK = "ls /srv 2>/dev/null || echo nothing"
ASKS = "OCI_GPU_HOOKS_MOUNT_SRV=datasets"


@pytest.fixture(name="keys")
def keys_fixture(scratch):
    """The host's key file, with three keys; the limits of the second are narrower, the third is for GPUs alone."""
    lines = [f"{hashlib.sha256(key.encode()).hexdigest()} {name}" for key, name in (
        (KEY, "nightly --for mount-srv"), (f"{KEY}2", "release --for nvidia-devices,mount-srv --allow models"),
        (f"{KEY}3", "gpus"))]
    file = scratch / "keys"
    file.write_text("# keys\n" + "\n".join(lines) + "\n", encoding="ascii")
    file.chmod(0o600)
    return file


@pytest.fixture(name="task")
def task_fixture(srv, new_box, keys):
    """A function that makes the container of a task with these params."""
    srv.directories("datasets", "models")

    def make(*params, options=(), step="task", image=()):
        box = new_box(None, "--opt-in", "environment", "--key-file", keys, "--log-level", "debug", *options)
        return concourse.make(box, step, params=params, image=image)

    return make


def test_with_the_key_the_environment_counts(task):
    assert started(task(ASKS, f"OCI_GPU_HOOKS_KEY={KEY}").run(LOOK)) == "datasets\n"


@pytest.mark.parametrize("params", [(), ("OCI_GPU_HOOKS_KEY=",), ("OCI_GPU_HOOKS_KEY=" + "0" * 32,),
                                    (f"OCI_GPU_HOOKS_KEY={KEY[:-1]}",), (f"OCI_GPU_HOOKS_KEY={KEY} ",),
                                    (f"oci_gpu_hooks_key={KEY}",)], ids=range(6))
def test_a_pull_request_without_the_key_is_refused(task, params, keys):
    """It may change the task file and its params as it likes; the message helps whoever forgot the key, nobody else."""
    message = refused(task(ASKS, *params).run(LOOK), 5, "OCI_GPU_HOOKS_KEY")
    for secret in (KEY[:8], "0000", hashlib.sha256(KEY.encode()).hexdigest()[:8], str(keys)):
        assert secret not in message


def test_the_hash_is_no_key(task):
    digest = hashlib.sha256(KEY.encode()).hexdigest()
    refused(task(ASKS, f"OCI_GPU_HOOKS_KEY={digest}").run(LOOK), 5)


def test_an_image_without_a_key_gets_nothing_by_its_environment(task):
    refused(task(image=(ASKS,)).run(LOOK), 5, "has none")


def test_a_key_whose_line_does_not_serve_the_hook_is_as_none(task, keys):
    """The pipeline has it for GPUs; its image asks for directories by it."""
    key = f"OCI_GPU_HOOKS_KEY={KEY}3"
    message = refused(task(key, image=(ASKS,)).run(LOOK), 5, "'gpus'", "does not serve", "'--for mount-srv'")
    assert KEY[:8] not in message and str(keys) not in message
    refused(task(ASKS, key).run(LOOK), 5, "does not serve")
    assert started(task(key).run(LOOK)) == "nothing\n"


def test_a_container_that_does_not_ask_needs_no_key(task, keys):
    assert started(task().run(LOOK)) == "nothing\n"
    keys.chmod(0o644)
    assert started(task(f"OCI_GPU_HOOKS_KEY={KEY}").run(LOOK)) == "nothing\n"


def test_a_key_has_limits_of_its_own(task):
    narrow = f"OCI_GPU_HOOKS_KEY={KEY}2"
    refused(task(ASKS, narrow).run(LOOK), 5, "datasets")
    assert started(task("OCI_GPU_HOOKS_MOUNT_SRV=all", narrow).run(LOOK)) == "models\n"
    refused(task("OCI_GPU_HOOKS_MOUNT_SRV=models", narrow, options=("--allow", "datasets")).run(LOOK), 5)


@pytest.mark.parametrize("spoil", [
    lambda file: file.chmod(0o640), lambda file: file.unlink(),
    lambda file: (file.rename(file.with_name("real")), file.symlink_to("real")),
    lambda file: file.parent.chmod(0o775), lambda file: os.chown(file.parent, 1000, 1000),
    lambda file: file.write_text("nonsense\n"), lambda file: file.write_text(f"{'0' * 64} x --for mount\n"),
    lambda file: file.write_text(f"{'0' * 64} x --for mount-srv --quota 1\n")],
    ids=["mode", "missing", "link", "directory", "owner of the directory", "line", "hook", "quota"])
def test_a_key_file_that_others_may_shape_is_not_believed(task, keys, spoil):
    spoil(keys)
    refused(task(ASKS, f"OCI_GPU_HOOKS_KEY={KEY}").run(LOOK), 6, "key file")


def test_the_key_is_in_no_output(task, scratch):
    box = task(ASKS, f"OCI_GPU_HOOKS_KEY={KEY}", options=("--plan",))
    box.wrapper = ("/bin/sh", "-c", f'exec "$0" "$@" > "{scratch}/plan" 2> "{scratch}/errors"')
    assert started(box.run(LOOK)) == "nothing\n"
    plan = (scratch / "plan").read_text()
    assert read_plan(plan)["containerEdits"]["mounts"]
    log = scratch / "log"
    assert task(ASKS, f"OCI_GPU_HOOKS_KEY={KEY}", options=("--log-file", log)).run(LOOK).code == 0
    for text in (plan, (scratch / "errors").read_text(), log.read_text()):
        assert KEY not in text and hashlib.sha256(KEY.encode()).hexdigest() not in text


def test_only_some_containers_may_ask(srv, new_box):
    srv.directory("datasets")
    for user, seen in (("trusted", True), ("other", False)):
        box = new_box("datasets", "--only", "example.org/pipeline=trust*")
        box.annotations["example.org/pipeline"] = user
        if seen:
            assert started(box.run(LOOK)) == "datasets\n"
        else:
            refused(box.run(LOOK), 5, "example.org/pipeline", "--only")
