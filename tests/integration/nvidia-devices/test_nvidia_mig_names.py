# SPDX-License-Identifier: Apache-2.0
"""Instances of GPUs (MIG) by the names that NVIDIA's library alone knows: a program beside the hook asks it, and is
believed nothing that the driver does not show as well."""

import contextlib
import ctypes
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

from harness import engines
from harness.expect import started
from harness.gpu import nodes_of
from harness.nvidia_container import KEY, alive, asked, error_of, gpus_of, refused
from harness.stopped import wait_until
from hosts import nvml
from hosts.nvidia import EIGHT, gi_minor

pytest_plugins = ["harness.nvidia_fixtures"]

RUNC, CRUN = engines.RUNTIMES
PROGRAM = "nvidia-devices-nvml"
PARTED, PARTED_TOO = EIGHT[1], EIGHT[4]
UUID = "MIG-5a1c0de0-1111-5222-8333-0123456789{}".format
SMALL, LARGE = "1g.10gb", "2g.20gb"
ANSWER = [nvml.gpu(1, PARTED), nvml.instance(PARTED, 0, "7/0", UUID("a0")), nvml.instance(PARTED, 1, "8/0", UUID("a1")),
          nvml.instance(PARTED, 3, "1/0", UUID("a2"), LARGE),
          nvml.gpu(4, PARTED_TOO), nvml.instance(PARTED_TOO, 0, "9/0", UUID("b0"), f"{SMALL}+me")]
LOST = "cannot be right"


@pytest.fixture(scope="session")
def nvml_library(tmp_path_factory):
    return nvml.build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture(autouse=True)
def library(machine, nvml_library):
    """What the host's library says; two of its GPUs are divided."""
    for index, gpu_instance in ((1, 7), (1, 8), (1, 1), (4, 9)):
        machine.add_instance(index, gpu_instance, 0)
    made = nvml.Nvml(machine, nvml_library)
    made.says(*ANSWER)
    return made


def part(gpu, gpu_instance):
    return [f"/dev/nvidia-caps/nvidia-cap{gi_minor(gpu, gpu_instance) + n}" for n in range(2)]


def parts_of(edits):
    return sorted(path for path in nodes_of(edits) if "caps" in path)


@pytest.mark.parametrize("name, nodes", [
    ("1:0", part(PARTED, 7)), ("1:3", part(PARTED, 1)), ("4:0", part(PARTED_TOO, 9)), (UUID("a1"), part(PARTED, 8)),
    (UUID("B0").upper(), part(PARTED_TOO, 9)), (f"mig-{LARGE}", part(PARTED, 1)),
    (f"mig-{SMALL}", part(PARTED, 7) + part(PARTED, 8)), (f"any:mig-{SMALL}:2", part(PARTED, 7) + part(PARTED, 8)),
    (f"any:mig-{SMALL}:1", part(PARTED, 7)), (f"any:mig-{SMALL}.me:1", part(PARTED_TOO, 9)),
    (f"1:0,any:mig-{SMALL}:1", part(PARTED, 7) + part(PARTED, 8))])
def test_what_a_name_means(plan, name, nodes):
    assert parts_of(plan(**asked(name))) == sorted(nodes)


@pytest.mark.parametrize("engine", [RUNC, CRUN, engines.MAPPED[1], engines.PODMANS[1]], ids=str)
def test_a_container_has_them(nv_box, engine):
    for request, nodes in ((UUID("b0"), part(PARTED_TOO, 9)), ("1:3", part(PARTED, 1)),
                           (f"any:mig-{SMALL}:2", part(PARTED, 7) + part(PARTED, 8))):
        out = started(nv_box(request, engine=engine).run("find /dev -name 'nvidia-cap[0-9]*'"))
        assert sorted(out.split()) == sorted(nodes)


def test_the_variable_of_nvidias_tools(plan):
    for value, nodes in ((UUID("a0"), part(PARTED, 7)), ("4:0", part(PARTED_TOO, 9))):
        edits = plan(**asked("env", env=[f"NVIDIA_VISIBLE_DEVICES={value}"]))
        assert parts_of(edits) == nodes


@pytest.mark.parametrize("engine", [RUNC], ids=str)
def test_leases_are_those_of_the_instance(nv_box, engine):
    def box(request):
        made = nv_box(request, engine=engine)
        made.annotations[KEY + ".lease"] = "exclusive"
        return made

    same = (UUID("a0"), "1:0", f"MIG-{PARTED.uuid}/7/0", f"{PARTED.address}/7/0", "1")
    for request in same[:2]:
        with alive(box(request), "true"):
            for other in same:
                refused(box(other).run("true"), 4)
            refused(box(f"any:mig-{SMALL}:2").run("true"), 4)
            out = started(box(f"any:mig-{SMALL}:1").run("find /dev -name 'nvidia-cap[0-9]*'"))
            assert sorted(out.split()) == part(PARTED, 8)


def test_the_hosts_policy(plan, by_hand):
    for allow in (UUID("a0"), "1:0", f"1:0,mig-{LARGE}"):
        assert parts_of(plan("--allow", allow, **asked("1:0"))) == part(PARTED, 7)
        assert parts_of(plan("--allow", allow, **asked(f"{PARTED.address}/7/0"))) == part(PARTED, 7)
        error_of(by_hand("--plan", "--allow", allow, **asked("1:1")), 5, "(--allow)")
    assert parts_of(plan("--allow", f"mig-{SMALL}", **asked("all"))) == sorted(part(PARTED, 7) + part(PARTED, 8))
    listed = by_hand("--list", "--allow", UUID("b0")).stdout
    for name, refused_here in ((f"MIG-{PARTED_TOO.uuid}/9/0", False), (f"MIG-{PARTED.uuid}/7/0", True)):
        assert [line.endswith("not allowed") for line in listed.splitlines() if name in line] == [refused_here]


def test_what_is_not_there(by_hand):
    for name in (UUID("ff"), "1:2", "0:0", "mig-7g.80gb", "any:mig-7g.80gb:1"):
        error_of(by_hand("--plan", **asked(name)), 3, f"no GPU '{name}'", f"MIG-{PARTED.uuid}/7/0")
    error_of(by_hand("--plan", **asked(f"any:mig-{SMALL}:3")), 3,
             f"3 GPUs are asked for of 'mig-{SMALL}', and there are 2: this host has ", f"MIG-{PARTED.uuid}/7/0")


@pytest.mark.parametrize("lines, words", [
    (["do exit"], "its end is missing"), (["do crash"], "signal 6"), (["do flood"], "more than 65536 bytes"),
    (["fail nvmlInit_v2 9"], "'nvmlInit_v2 gives 9, driver not loaded: load it on the host (modprobe nvidia), "),
    (["fail nvmlInit_v2 18"], "gives 18, library and driver of different versions: restart the host"),
    (["fail nvmlInit_v2 17"], "and says 'nvmlInit_v2 gives 17'"), (["fail nvmlDeviceGetUUID 999"], "nvmlDeviceGetUUID gives 999"),
    (["fail nvmlDeviceGetHandleByPciBusId_v2 6"], "nvmlDeviceGetHandleByPciBusId_v2 gives 6"), (["say rubbish"], "a line 'rubbish'"),
    (["say end"], LOST),
    ([nvml.gpu(0, PARTED)], "counts the GPU 0000:0f:00.0 as 0, which is 1 here"),
    ([nvml.gpu(1, PARTED), nvml.instance(PARTED, 5, "2/0", UUID("c0"))], "shows no instance 0000:0f:00.0/2/0"),
    ([nvml.gpu(1, PARTED), nvml.instance(PARTED, 5, "7/1", UUID("c0"))], "shows no instance 0000:0f:00.0/7/1"),
    ([nvml.gpu(1, PARTED), nvml.instance(PARTED, 5, "8/0", UUID("c0"))], "'0000:0f:00.0/8/0' is there twice"),
    ([nvml.instance(PARTED, 0, "1/0", UUID("a1"))], f"'{UUID('a1')}' is there twice"),
    ([nvml.gpu(1, PARTED), nvml.instance(PARTED, 5, "1/0", "GPU-0")], "a line '"),
    ([nvml.gpu(1, PARTED), nvml.instance(PARTED, 5, "1/0", UUID("c0"), "1g 10gb")], "a line '"),
    ([nvml.gpu(1, PARTED), nvml.instance(PARTED, 5, "1/0", UUID("c0"), "\x1b[2J")], "a line '")])
def test_a_library_that_lies(by_hand, library, lines, words):
    """What comes first counts, so that the other GPU's is as it should be."""
    library.says(*lines, *ANSWER)
    for name in (UUID("b0"), "4:0"):
        process = by_hand("--plan", **asked(name))
        error_of(process, 6, words)
        assert "\x1b" not in process.stderr


def test_a_driver_from_before_instances(by_hand, machine, tmp_path):
    """As 390 and 418."""
    nvml.Nvml(machine, nvml.build(tmp_path, "-DWITHOUT_INSTANCES"))
    error_of(by_hand("--plan", **asked(UUID("a0"))), 6, "this driver knows no instances: nvmlDeviceGetMaxMigDeviceCount'")


def with_open(file):
    """The processes that have the file as descriptor 4."""
    found, wanted = [], file.stat()
    for fd in Path("/proc").glob("[0-9]*/fd/4"):
        with contextlib.suppress(OSError):
            if (fd.stat().st_dev, fd.stat().st_ino) == (wanted.st_dev, wanted.st_ino):
                found.append(fd)
    return found


def test_a_library_that_hangs(by_hand, library):
    """It is killed."""
    library.says("do hang")
    before = time.monotonic()
    process = by_hand("--plan", **asked("1:0"))
    assert 5 <= time.monotonic() - before < 8
    error_of(process, 6, "did not answer within 5 s")
    assert with_open(library.file) == []


def test_what_the_library_may_do(by_hand, library):
    """Nothing: nobody without an environment, a capability or one to gain, a file to write, a descriptor of the hook's: 5 is its own."""
    library.says("do look", "do end")
    nobody = "65534,65534,65534"
    error_of(by_hand("--plan", **asked("1:0")), 6,
             f"status 3, and says 'variables=0 uid={nobody} gid={nobody} groups=0 pid=2 CapInh=0 CapPrm=0 CapEff=0 CapBnd=0"
             " CapAmb=0 NoNewPrivs=1 Seccomp=2 files=0,1,2,3,4,5, may-write=0 dumpable=0 saw-host=0'")


def shown(by_hand, library, *lines):
    """What the library writes, as lines."""
    library.says(*lines, "do end")
    said = by_hand("--plan", **asked("1:0")).stderr
    assert "ended with status 3, and says '" in said, said
    return said.split("and says '")[1].split("'; ask")[0].removesuffix("\\n").split("\\n")


def test_what_the_library_sees(by_hand, library, machine):
    """Of the host the driver's nodes. All that the kernel shows of itself, but for other processes and the network."""
    (machine.path / "dev/nvidia-caps").mkdir()
    machine.node("dev/nvidia-caps/nvidia-cap2", 511, 2)
    nodes = sorted(["null", "nvidia-caps", "nvidiactl", *(f"nvidia{gpu.minor}" for gpu in EIGHT)])
    assert shown(by_hand, library, *(f"show {path}" for path in ("/", "/dev", "/dev/nvidia-caps", "/proc/2/task", "/sys/class/net"))) == [
        "/: dev proc sys", f"/dev: {' '.join(nodes)}", "/dev/nvidia-caps: nvidia-cap2", "/proc/2/task: 2", "/sys/class/net: lo"]
    out = shown(by_hand, library, "try read /proc/1/status", "try read /proc/3/status", "try read /proc/driver",
                "try read /proc/devices", "try read /sys/bus/pci/devices", "try read /proc/self/maps", "show /proc/self/task")
    assert out == ["read=ENOENT", "read=ENOENT", "read=done", "read=done", "read=done", "read=done", "/proc/self/task: 2"]


@pytest.fixture
def victims(scratch):
    """What is root's on the host: a file for all, one for itself, a socket for all, a process, a message queue for all."""
    scratch.chmod(0o755)
    file, secret, path = scratch / "file", scratch / "secret", scratch / "socket"
    for each, mode in ((file, 0o666), (secret, 0o600)):
        each.write_text("as it was", encoding="utf-8")
        each.chmod(mode)
    libc, queue = ctypes.CDLL(None), f"/oci-gpu-hooks-{os.getpid()}"
    assert libc.mq_open(queue.encode(), os.O_CREAT | os.O_RDONLY, 0o644, None) >= 0
    with socket.socket(socket.AF_UNIX) as server, subprocess.Popen(["sleep", "60"]) as process:
        server.bind(str(path))
        path.chmod(0o777)
        server.listen()
        yield {"file": file, "secret": secret, "socket": path, "process": process, "queue": queue}
        assert process.poll() is None
        process.kill()
    libc.mq_unlink(queue.encode())


OWN = "/proc/self/fd/4"  # the library's file, which is root's
TRIED_AT_ONCE = 9  # a message has no more of what the program says
ATTACKS = [
    ("map {file}", "ENOENT"), ("map {secret}", "ENOENT"), (f"map {OWN}", "EACCES"), ("map /proc/self/mem", "EACCES"),
    ("chmod {file}", "ENOENT"), (f"chmod {OWN}", "EPERM"), ("chmod /dev/nvidia0", "EROFS"), ("chmod /proc/version", "EROFS"),
    ("chmod /sys/kernel", "EROFS"), ("rename {file}", "ENOENT"), ("mkdir /made", "EROFS"), ("mkdir /dev/made", "EROFS"),
    ("read {file}", "ENOENT"), ("read /etc/shadow", "ENOENT"), ("read /etc/passwd", "ENOENT"), ("read /proc/self/root/etc", "ENOENT"), ("read /../etc/passwd", "ENOENT"),
    ("read /proc/self/cwd/../etc", "ENOENT"), ("connect {socket}", "EPERM"), ("socketpair", "EPERM"),
    ("kill {process}", "EPERM"), ("kill-self", "EPERM"), ("kill-first", "EPERM"), ("tell-self", "done"), ("sigqueue", "EPERM"),
    ("pidfd", "EPERM"), ("ptrace", "EPERM"), ("memory", "EPERM"), ("mount", "EPERM"), ("umount", "EPERM"), ("open-tree", "EPERM"),
    ("chroot", "EPERM"), ("unshare", "EPERM"), ("setns", "EPERM"), ("clone-user", "EPERM"), ("clone-both", "EPERM"),
    ("clone", "EPERM"), ("fork", "EPERM"), ("thread", "done"), ("threads", "EAGAIN"), ("reserve 2", "done"), ("reserve 4", "ENOMEM"),
    ("setsid", "EPERM"), ("setpgid", "EPERM"), ("newer", "ENOSYS"), ("clone3", "ENOSYS"), ("bpf", "EPERM"), ("keyctl", "EPERM"), ("add-key", "EPERM"), ("io-uring", "EPERM"),
    ("perf", "EPERM"), ("execve", "EPERM"), ("setuid", "EPERM"), ("queue {queue}", "ENOENT"), ("shmget", "EPERM"),
    ("semget", "EPERM"), ("msgget", "EPERM")]


def test_what_a_bad_library_tries(by_hand, library, victims):
    """All of it is refused, and what is harmless, so that the driver's own library may need it, is not."""
    named = {**victims, "process": victims["process"].pid}
    tried, expected = [], [f"{attack.split()[0]}={result}" for attack, result in ATTACKS]
    for first in range(0, len(ATTACKS), TRIED_AT_ONCE):
        tried += shown(by_hand, library, *(f"try {attack.format(**named)}" for attack, _ in ATTACKS[first:first + TRIED_AT_ONCE]))
    assert tried == expected
    for each in ("file", "secret"):
        assert victims[each].read_text(encoding="utf-8") == "as it was"


def test_a_node_or_a_file_that_nobody_may_open(by_hand, library, machine):
    """It is said before anything is started: the library would count fewer GPUs, or not load."""
    for path in (machine.path / "dev/nvidiactl", machine.path / EIGHT[0].node[1:]):
        path.chmod(0o660)
        error_of(by_hand("--plan", **asked("1:0")), 6, f"'{path}' is for its owner and its group alone", "nobody (user 65534)",
                 "0666", "ask for them as")
        path.chmod(0o666)
    library.file.chmod(0o640)
    error_of(by_hand("--plan", **asked("1:0")), 6, f"'{library.file}' is not for everybody", "nobody (user 65534)", "0755")
    library.file.chmod(0o644)
    node = machine.path / PARTED.node[1:]
    node.unlink()
    error_of(by_hand("--plan", **asked("1:0")), 6, f"there is no '{node}', which NVIDIA's library opens")
    node.write_text("", encoding="utf-8")
    error_of(by_hand("--plan", **asked("1:0")), 6, f"'{node}' is not the driver's device")


def test_nothing_is_started_where_no_name_needs_it(plan, library):
    library.says("do crash")
    for request in ("all", "0", "1", f"MIG-{PARTED.uuid}/7/0", "any:1", "none"):
        plan(**asked(request))
    plan("--allow", "1:0", **asked("none"))


@pytest.fixture
def moved(nv_hook, scratch):
    """A copy of the hook, and of the program beside it: (hook, program)."""
    directory = scratch / "hooks"
    directory.mkdir()
    made = [directory / name for name in (nv_hook.executable.name, PROGRAM)]
    for path in made:
        shutil.copy(nv_hook.executable.parent / path.name, path)
    return made


def run(hook, machine, request="1:0"):
    return subprocess.run([hook, "--sysroot", machine.path, "--plan", "--request", request], check=False, stdin=subprocess.DEVNULL,
                          capture_output=True, encoding="utf-8")


def test_who_cannot_shut_it_in(moved, machine, library):
    """Root never goes without, in whatever namespace. Who is not root asks the library as any program of theirs would."""
    hook, _ = moved
    words = [hook, "--sysroot", machine.path, "--plan", "--request", "1:0", "--log-level", "info"]
    library.says("do look", "do end")

    def said(*before):
        return subprocess.run([*before, *words], check=False, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8").stderr

    assert "no user and no group 65534 (nobody)" in said("unshare", "-Urm")
    assert "in namespaces of its own (clone): Operation not permitted" in said("setpriv", "--bounding-set=-sys_admin")
    for directory in (hook.parent, *hook.parent.parents, machine.path, *machine.path.parents):
        if directory.stat().st_mode & 0o555 != 0o555:  # `/` may be read-only
            directory.chmod(directory.stat().st_mode | 0o555)
    user = ("setpriv", "--reuid=1000", "--regid=1000", "--clear-groups")
    out = said(*user)
    assert "uid=1000,1000,1000 gid=1000" in out and "NoNewPrivs=1 Seccomp=2" in out and "saw-host=1" in out, out
    library.says("do stay")
    assert "did not answer within 5 s" in said(*user)
    # There is no PID namespace to wait for: it is killed, as its keeper is, and its end may come a moment later.
    wait_until(lambda: with_open(library.file) == [], "the library goes on")
    library.says(*ANSWER)
    assert said(*user) == ("nvidia-devices: NVIDIA's library is asked with the rights of this user, who cannot shut it in: it"
                           " sees this user's files\n")


def test_the_program_is_not_there(moved, machine):
    hook, program = moved
    assert run(hook, machine).returncode == 0
    program.unlink()
    for name in ("1:0", UUID("a0"), f"any:mig-{SMALL}:1"):
        error_of(run(hook, machine, name), 3, f"there is no '{program}', which asks it", "ask for them as 'MIG-GPU-")
    assert run(hook, machine, f"MIG-{PARTED.uuid}/7/0").returncode == 0


def test_a_program_or_a_library_that_others_may_change(moved, machine, library):
    hook, program = moved
    for path in (program, program.parent, library.file, library.file.parent):
        mode = path.stat().st_mode & 0o7777
        for change in (lambda: path.chmod(0o775), lambda: path.chmod(0o757), lambda: os.chown(path, 1000, 0)):
            change()
            why = "belongs to user 1000" if path.stat().st_uid else "may be written by others than its owner"
            error_of(run(hook, machine), 6, "no GPU '1:0': ", f"'{path if path.is_file() else path / 'x'}"[:-1], why, "ask for them as")
            os.chown(path, 0, 0)
            path.chmod(mode)
        assert run(hook, machine).returncode == 0
    program.parent.chmod(0o1777)
    assert run(hook, machine).returncode == 0, "nobody can exchange what is in a sticky directory"


def test_a_driver_without_the_library(by_hand, library):
    library.file.unlink()
    error_of(by_hand("--plan", **asked("1:0")), 3, "this host has no 'libnvidia-ml.so.", "ask for them as")
