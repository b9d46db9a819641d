# SPDX-License-Identifier: Apache-2.0
"""The hook at other stages, in a container that runs already, and where it does not belong."""

import json
import os
import socket
import subprocess
import time

import pytest

from harness.expect import refused, refused_by_hand, started


@pytest.fixture(name="box")
def box_fixture(srv, new_box):
    srv.directory("datasets")
    return new_box("all")


@pytest.fixture(name="by_hand")
def by_hand_fixture(box, host):
    """Runs the hook on the host with a state that the test writes."""
    box.bundle.write()

    def run(state, text=None):
        full = {"ociVersion": "1.0.2", "id": "by-hand", "status": "creating",
                "bundle": str(box.bundle.directory), **state}
        return host.run([box.hook.executable, *box.args], check=False,
                        input=json.dumps(full) if text is None else text)

    return run


def test_prestart_works_like_create_runtime(box):
    """Old engines have it in place of createRuntime; it is the same moment."""
    box.stage = "prestart"
    assert started(box.run("cat /srv/datasets/words")) == "words of datasets\n"


def test_create_container_is_refused(box):
    """There the state's pid is 1, and /proc/1 is the host's init, which must not be entered."""
    box.stage = "createContainer"
    refused(box.run(), None, "pid")


def test_poststart_is_refused(box):
    """The init has pivoted by then."""
    box.stage = "poststart"
    result = box.run("sleep 1; ls /srv")
    assert result.code != 0 and result.hook_status, result.err
    assert "datasets" not in result.out
    assert result.hook_message.startswith("mount-srv: container "), result.err


def test_an_image_cannot_hide_that_the_init_has_pivoted(box):
    """It has a directory at the very path where the root was before."""
    decoy = box.rootfs / str(box.rootfs).lstrip("/")
    decoy.mkdir(parents=True)
    box.stage = "poststart"
    result = box.run("sleep 1; ls /srv")
    assert result.code != 0 and result.hook_status, result.err
    assert list(decoy.iterdir()) == []


def test_an_image_hears_nothing_of_it(box, host, scratch):
    """Where nobody on the host listens at /dev/log and the image does: by then the hook has entered the container."""
    (scratch / "dev").mkdir()
    host.syslog(scratch / "dev").close()
    os.unlink(host.path("/dev/log"))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(scratch / "log"))
        box.volume("/dev/log", scratch / "log")
        box.stage = "poststart"
        refused(box.run("sleep 1"), None, "has pivoted already")
        listening.setblocking(False)
        with pytest.raises(BlockingIOError):
            listening.recv(4096)


def test_a_running_container_is_refused(box, srv, host, by_hand):
    srv.directory("later")
    run = box.start("echo up; cat /srv/later/words; until [ -e /stop ]; do sleep 0.1; done;"
                    " ls /srv")
    try:
        assert run.process.stdout.readline() == "up\n"
        state = host.run(box.runtime.command("state", run.name)).stdout
        refused_by_hand(by_hand({}, text=state), None, run.name[:12])
    finally:
        (box.rootfs / "stop").touch()
        assert run.finish().code == 0
    host.check()


def test_our_own_mount_namespace_is_refused(host, by_hand):
    """A state that names a process of the host: everything would be mounted on the host itself."""
    before = host.table()
    refused_by_hand(by_hand({"pid": host.pid}), None, str(host.pid))
    assert host.table() == before


@pytest.mark.parametrize("pid", [None, 0, 1, -1, "12", "", 1.5, True, [2], {}, 2**31, 2**32 + 2,
                                 2**63, 10**30])
def test_a_pid_that_is_none_is_refused(by_hand, pid):
    refused_by_hand(by_hand({"pid": pid}), 1, "pid")


def test_a_missing_pid_is_refused(by_hand):
    refused_by_hand(by_hand({}), None, "pid")


def test_a_dead_process_is_refused(by_hand):
    process = subprocess.Popen(["true"])
    process.wait()
    refused_by_hand(by_hand({"pid": process.pid}), 1)


def test_a_zombie_is_refused(by_hand):
    process = subprocess.Popen(["true"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    try:
        refused_by_hand(by_hand({"pid": process.pid}))
    finally:
        process.wait()


def test_no_state_at_all_is_refused(by_hand):
    refused_by_hand(by_hand({}, text=""), 2, "stdin")


@pytest.mark.parametrize("text", ["{", "[]", "null", "{}", "\0", "nonsense", "[" * 100000,
                                  '{"id": 7}', '{"id": "x", "pid": 2, "bundle": 7}',
                                  '{"id": "x", "pid": 2, "bundle": "relative"}',
                                  '{"id": "x", "pid": 2, "bundle": "/nowhere/at/all"}',
                                  '{"id": "x", "pid": 2, "bundle": "/tmp\\u0000/x"}'])
def test_a_state_that_is_none_is_refused(by_hand, text):
    refused_by_hand(by_hand({}, text=text), 1)


def test_a_huge_state_is_refused(by_hand):
    refused_by_hand(by_hand({}, text='{"id": "' + "x" * (4 << 20) + '"}'), 1)


def test_a_config_that_is_a_fifo_or_link_is_refused(box, by_hand, host):
    """Opening a fifo would hang."""
    config = box.bundle.directory / "config.json"
    config.rename(box.bundle.directory / "moved.json")
    config.symlink_to("moved.json")
    refused_by_hand(by_hand({"pid": host.pid}), 1, "config.json")
    config.unlink()
    os.mkfifo(config)
    begun = time.monotonic()
    refused_by_hand(by_hand({"pid": host.pid}), 1, "config.json")
    assert time.monotonic() - begun < 20


@pytest.mark.parametrize("text", ['{"io.oci-gpu-hooks.', '["io.oci-gpu-hooks."]', '"io.oci-gpu-hooks."',
                                  '{"annotations": ["io.oci-gpu-hooks.mount-srv"]}',
                                  '{"annotations": {"io.oci-gpu-hooks.mount-srv": 7}}',
                                  '{"annotations": {"io.oci-gpu-hooks.mount-srv": "all"},'
                                  ' "root": {"path": 7}}',
                                  '{"annotations": {"io.oci-gpu-hooks.mount-srv": "all"}}'])
def test_a_config_that_is_none_and_may_ask_is_refused(box, by_hand, host, text):
    (box.bundle.directory / "config.json").write_text(text)
    refused_by_hand(by_hand({"pid": host.pid}), 1)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"annotations": []}'])
def test_a_config_that_cannot_ask_is_not_looked_into(box, by_hand, host, text):
    """The runtime has read it before."""
    (box.bundle.directory / "config.json").write_text(text)
    done = by_hand({"pid": host.pid})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_descriptors_and_directory_of_the_caller_do_not_matter(box):
    """Extra descriptors, none of the first three, and a working directory that is gone."""
    script = 'mkdir /tmp/gone-$$; cd /tmp/gone-$$; rmdir /tmp/gone-$$; exec 5</ 6</etc; exec "$0" "$@"'
    box.wrapper = ("/bin/sh", "-c", script)
    assert started(box.run("cat /srv/datasets/words")) == "words of datasets\n"
    box.wrapper = ("/bin/sh", "-c", 'exec 1>&- 2>&-; exec "$0" "$@"')
    assert started(box.run("cat /srv/datasets/words")) == "words of datasets\n"


def test_a_relative_root_path_works_and_an_absolute_one(box):
    assert box.config["root"]["path"] == "rootfs"
    assert started(box.run("cat /srv/datasets/words")) == "words of datasets\n"
    box.config["root"]["path"] = str(box.rootfs)
    assert started(box.run("cat /srv/datasets/words")) == "words of datasets\n"
