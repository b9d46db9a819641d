# SPDX-License-Identifier: Apache-2.0
"""The hook killed, held up or hindered in the middle: the container does not start, the host is as
it was, and the next try works."""

import shutil
import signal
import subprocess

import pytest

from harness.expect import refused, started
from harness.faults import changing_calls, strace
from harness.source import tree

READ = "cat /srv/a/words /srv/b/words /srv/license.txt"
WORDS = "words of a\nwords of b\nwords\n"


@pytest.fixture(name="box")
def box_fixture(srv, new_box, host):
    srv.directories("a", "b")
    (srv / "a/live").mkdir()
    srv.write("license.txt", "words\n")
    host.mount("-t", "tmpfs", "tmpfs", srv / "a/live")
    return new_box("all")


def not_started(result):
    assert result.code != 0 and result.out == "", (result.out, result.err)
    return result.err


def test_killed_at_any_call_that_changes_something(box, srv, new_box):
    """At the first and at the last one of each kind; the same image then works."""
    before = tree(srv.path)
    for name, count in changing_calls(new_box("all"), READ, WORDS).items():
        for when in {1, count}:
            box.wrapper = strace("-e", f"inject={name}:signal=SIGKILL:when={when}")
            # What the run before left in the image would spare this one some calls.
            shutil.rmtree(box.rootfs / "srv", ignore_errors=True)
            assert "killed" in not_started(box.run(READ)), (name, when)
    assert tree(srv.path) == before
    box.wrapper = ()
    assert started(box.run(READ)) == WORDS


@pytest.mark.parametrize("call", ["open_tree", "move_mount"])
def test_timed_out_in_the_middle(box, call):
    # strace lets go of a process that was killed only when the delay is over, so it is a short one.
    box.wrapper = strace("-e", f"inject={call}:delay_enter=3000000:when=1")
    box.timeout = 1
    assert "timeout" in not_started(box.run(READ))
    box.wrapper, box.timeout = (), None
    assert started(box.run(READ)) == WORDS


@pytest.mark.parametrize("call, when, error", [
    ("openat2", 3, "EMFILE"), ("mkdirat", 2, "ENOSPC"), ("open_tree", 2, "ENOMEM"), ("move_mount", 2, "EIO"),
    ("mount_setattr", 1, "ENOMEM")])
def test_a_failure_in_the_middle_leaves_the_image_as_it_was(box, call, when, error):
    before = tree(box.rootfs)
    box.wrapper = strace("-e", f"inject={call}:error={error}:when={when}")
    refused(box.run(READ))
    assert tree(box.rootfs) == before
    box.wrapper = ()
    assert started(box.run(READ)) == WORDS


def test_a_kernel_that_is_busy_is_asked_again(box):
    """openat2 gives EAGAIN when something was renamed or mounted anywhere meanwhile."""
    for error in ("EAGAIN", "EINTR"):
        box.wrapper = strace("-e", f"inject=openat2:error={error}:when=1..20")
        assert started(box.run(READ)) == WORDS


def test_a_kernel_that_stays_busy_is_reported(box):
    box.wrapper = strace("-e", "inject=openat2:error=EAGAIN")
    refused(box.run(READ))


def test_no_program_is_run(box):
    """Neither the image's nor the host's: all it does, it does itself."""
    trace = box.bundle.directory / "trace"
    box.wrapper = ("/usr/bin/strace", "-D", "-f", "-qq", "-o", trace, "-e", "trace=execve,execveat")
    assert started(box.run(READ)) == WORDS
    assert trace.read_text().count("exec") == 1


@pytest.mark.parametrize("capability", ["sys_admin", "sys_chroot", "sys_ptrace"])
def test_a_missing_capability_is_named(box, capability):
    """These three together are needed to enter."""
    box.wrapper = ("/usr/bin/setpriv", f"--bounding-set=-{capability}")
    message = refused(box.run())
    assert capability in message.lower().replace("cap_", ""), message


def test_blocked_signals_are_heard(executable):
    """crun starts hooks with every signal blocked."""
    def block():
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    with subprocess.Popen([executable], stdin=subprocess.PIPE, preexec_fn=block) as process:
        process.terminate()
        assert process.wait(timeout=20) == -signal.SIGTERM
