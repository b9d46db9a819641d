# SPDX-License-Identifier: Apache-2.0
"""Attacks on the hook's own process that were carried out on others, by the numbers of their CVEs."""

import hashlib
import os
import subprocess

import pytest

from harness import engines, peer
from harness.expect import started
from harness.stopped import hook_stopped, status

CAP_DAC_OVERRIDE, CAP_SYS_ADMIN = 1 << 1, 1 << 21
NOTHING, EVERYTHING = set(), set(peer.TRIES)
# When it has entered: as soon as it acts as the container's root where that is another, else when it
# has mounted. Before that it opens what it will mount.
INSIDE = {False: "move_mount", True: "setfsuid"}
SPACES = [engines.RUNTIMES[1], engines.MAPPED[0]]


@pytest.fixture(name="box", params=SPACES, ids=str)
def box_fixture(request, srv, engine_box):
    srv.directory("datasets")
    box = engine_box(request.param, "all")
    box.moments = ("open_tree", INSIDE[request.param.mapped])
    return box


def got_hold(output):
    """Which of the tries worked; the others must have ended with EPERM."""
    ends = dict(line.split(": ") for line in output.splitlines())
    assert set(ends) == EVERYTHING and set(ends.values()) <= {"done", "EPERM"}, output
    return {what for what, end in ends.items() if end == "done"}


def attack(pid, *before, namespace=()):
    # Not by the path of this directory: a peer without capabilities may not be able to walk to it.
    with open(peer.__file__, encoding="utf-8") as program:
        argv = [*before, "/usr/bin/python3", "-", str(pid), *namespace]
        return got_hold(subprocess.run(argv, stdin=program, check=True, capture_output=True,
                                       encoding="utf-8", timeout=60, cwd="/").stdout)


def with_capabilities(*names):
    return ("/usr/bin/setpriv", "--bounding-set=" + ",".join(["-all", *(f"+{n}" for n in names)]))


def user_namespace_of_the_container(hook):
    """That of a sibling of the hook: the container's init."""
    ours = os.stat("/proc/self/ns/user").st_ino
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                theirs = os.stat(f"/proc/{entry}/ns/user").st_ino
                inside = os.path.samefile(f"/proc/{entry}/ns/mnt", f"/proc/{hook}/ns/mnt")
            except OSError:
                continue
            if theirs != ours and inside:
                return f"/proc/{entry}/ns/user"
    raise AssertionError("no container's init")


def test_cve_2016_9962_a_peer_in_the_user_namespace_gets_nothing(srv, engine_box):
    """The root of the container's user namespace, with all capabilities in it, that sees the hook."""
    srv.directory("datasets")
    for engine in engines.MAPPED:
        with hook_stopped(engine_box(engine, "all"), "setfsuid") as stop:
            namespace = user_namespace_of_the_container(stop.pid)
            assert attack(stop.pid, namespace=[namespace]) == NOTHING
        assert started(stop.result).startswith("started\n")


def test_cve_2016_9962_a_peer_with_the_hooks_own_capabilities_gets_nothing(box):
    """The same user, no less capable, in the same user namespace: what keeps it off is that the hook
    is not dumpable. A peer that may trace anyone shows that each try can work."""
    peer_of = with_capabilities("sys_admin", "dac_override", "setuid", "setgid", "chown", "sys_chroot")
    with hook_stopped(box, box.moments[1]) as stop:
        assert attack(stop.pid, *peer_of) == NOTHING
        assert attack(stop.pid) == EVERYTHING
    assert started(stop.result).startswith("started\n")


def test_cve_2022_29162_no_capability_can_be_inherited(box):
    """Some that the hook needs and some that it does not need are inheritable and ambient before."""
    some = "+sys_admin,+dac_override,+kill,+setuid,+net_admin"
    before = ("/usr/bin/setpriv", f"--inh-caps={some}", f"--ambient-caps={some}")
    for moment in box.moments:
        with hook_stopped(box, moment, before=before) as stop:
            seen = status(stop.pid)
        started(stop.result)
        assert [int(seen[name], 16) for name in ("CapInh", "CapAmb", "CapBnd")] == [0, 0, 0]
        assert seen["NoNewPrivs"] == "1"


def test_cve_2022_29162_inside_it_has_what_mounting_takes(srv, engine_box):
    srv.directory("datasets")
    for engine in engines.RUNTIMES:
        with hook_stopped(engine_box(engine, "all"), "move_mount") as stop:
            seen = status(stop.pid)
        started(stop.result)
        assert [int(seen[name], 16) for name in ("CapPrm", "CapEff")] == [
            CAP_SYS_ADMIN | CAP_DAC_OVERRIDE] * 2


def test_cve_2024_21626_no_descriptor_or_directory_of_the_caller_is_taken_along(box, scratch):
    """The caller has leaked directories of the host, and stands in one of them by /proc/self/fd."""
    leak = scratch / "leak"
    leak.mkdir()
    before = ("/bin/sh", "-c", f'exec 7<{leak} 8<{leak}; cd /proc/self/fd/7; exec "$0" "$@"')
    for moment in box.moments:
        with hook_stopped(box, moment, before=before) as stop:
            links = {fd: os.readlink(f"/proc/{stop.pid}/fd/{fd}")
                     for fd in os.listdir(f"/proc/{stop.pid}/fd")}
            assert os.readlink(f"/proc/{stop.pid}/cwd") == "/"
        assert not [target for target in links.values() if str(leak) in target], links
        seen = started(stop.result)
        assert str(leak) not in seen and seen.endswith("\n/\n"), seen


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("engine", [engines.ALL[0], engines.ALL[3], engines.ALL[5]], ids=str)
def test_cve_2019_5736_nothing_of_the_image_is_run_or_opened(srv, engine_box, engine, watch, scratch):
    """Not one exec after the hook's own, by it or a child; its file stays what it was; the image's
    loader, shell and helpers are not even opened."""
    srv.directory("datasets")
    box = engine_box(engine, "all")
    traps = ["sbin/ldconfig", "lib64/ld-linux-x86-64.so.2", "usr/bin/getent", "sbin/modprobe",
             "etc/ld.so.cache", "etc/ld.so.preload", "etc/nsswitch.conf", "etc/localtime"]
    for trap in traps:
        (box.rootfs / trap).parent.mkdir(exist_ok=True)
        (box.rootfs / trap).write_bytes(b"#!/proc/self/exe\n")
        (box.rootfs / trap).chmod(0o755)
    opened = watch(*(box.rootfs / trap for trap in traps))
    before = digest(box.hook.executable)
    trace = scratch / "trace"
    box.wrapper = ("/usr/bin/strace", "-D", "-f", "-qq", "-o", trace, "-e",
                   "trace=execve,execveat,fork,vfork")
    assert started(box.run("cat /srv/datasets/words")) == "words of datasets\n"
    assert trace.read_text().count("exec") == 1, trace.read_text()
    assert digest(box.hook.executable) == before
    assert opened() == []
