# SPDX-License-Identifier: Apache-2.0
"""GPUs that somebody uses without a lease are given last, and with --only-empty not at all; so are, last, those on
which containers end at once. The first console's memory (/dev/vcs1, vcsu1, vcsa1) stands for NVIDIA's GPUs, as nodes that
can be opened and are by nobody."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys

import pytest

from harness import amd_container, engines
from harness.amd_container import on_host
from harness.expect import started, told
from harness.fuse import Volume
from harness.leases import Container, ask
from harness.nvidia_container import KEY, refused
from harness.stopped import wait_until
from hosts.amd import CPX, CPX_BLANKS, GIB, MI210
from hosts.nvidia import MAJOR, Gpu, NvidiaHost

pytest_plugins = ["harness.nvidia_fixtures", "harness.amd_fixtures"]
pytestmark = pytest.mark.usefixtures("first_process_unseen")

RUNC, CRUN = engines.RUNTIMES
ENGINES = pytest.mark.parametrize("engine", [RUNC, CRUN, engines.PODMANS[1]], ids=str)
NODES = "ls -d /dev/nvidia[0-9]* | sort | tr '\\n' ' '; echo"
FIRST, SECOND, THIRD = GPUS = [Gpu("0000:18:00.0", 1, 1, 128), Gpu("0000:3b:00.0", 65, 2, 129),
                               Gpu("0000:86:00.0", 129, 3, 130)]
CONSOLES = 7
UNSEEN = "may be used by somebody who cannot be seen"
RENDER = "ls /dev/dri | grep render | sort | tr '\\n' ' '; echo"


def nodes(*gpus):
    """What NODES prints."""
    return " ".join(sorted(gpu.node for gpu in gpus)) + " \n"


@pytest.fixture(name="machine")
def machine_fixture(scratch):
    return NvidiaHost(scratch / "machine", GPUS, numbers={MAJOR: CONSOLES})


@pytest.fixture(name="trainer")
def trainer_fixture(scratch):
    """A program of that name."""
    shutil.copy("/bin/sleep", scratch / "trainer")
    return scratch / "trainer"


@pytest.fixture(name="using")
def using_fixture(machine, trainer):
    """A function that starts a program which has a GPU's node open until the end of the test, or another file; gives
    the process."""
    processes = []

    def use(gpu, program=trainer, before=(), mode="<", **options):
        path = machine.path / gpu.node[1:] if isinstance(gpu, Gpu) else gpu
        words = [*before, "sh", "-c", f'exec 3{mode}"$0"; echo; exec "$1" 1000', path, program]
        # pylint: disable=consider-using-with
        processes.append(subprocess.Popen(list(map(str, words)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                          **options))
        assert processes[-1].stdout.readline() == b"\n"
        return processes[-1]

    yield use
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()


@ENGINES
def test_any_prefers_what_nobody_uses(nv_box, using, engine):
    user = using(FIRST, user=1000)
    result = nv_box("any:1", engine=engine).run(NODES)
    assert started(result) == nodes(SECOND)
    told(result, "GPU 0 ", FIRST.uuid, f"is passed by: it is used by 'trainer' (pid {user.pid}, user 1000), "
                                                 "which has no lease of it")


def test_any_takes_it_where_there_is_no_other_and_says_so(nv_box, using):
    using(FIRST)
    result = nv_box("any:3").run(NODES)
    assert started(result) == nodes(*GPUS)
    told(result, "GPU 0 ", "is given, and is used by 'trainer'")
    assert len([line for line in result.said if "trainer" in line]) == 1


def test_what_is_named_is_given_with_a_warning_where_it_is_for_one_alone(nv_box, using):
    using(FIRST)
    result = ask(nv_box("0"), KEY, "exclusive").run(NODES)
    assert started(result) == nodes(FIRST)
    told(result, "GPU 0 ", "is given, and is used by 'trainer'")
    result = nv_box("0").run(NODES)
    assert started(result) == nodes(FIRST) and not [line for line in result.said if "trainer" in line]


@ENGINES
def test_only_empty_ones(nv_box, using, leases, engine):
    """For shared leases, too."""
    user = using(FIRST, user=1000)
    for request in ("0", "0-1", "any:3", "all"):
        refused(nv_box(request, "--only-empty", engine=engine).run(), 4, "--only-empty", "GPU 0 ",
                f"is used by 'trainer' (pid {user.pid}, user 1000)")
    assert leases.are_free()
    assert started(nv_box("any:2", "--only-empty", engine=engine).run(NODES)) == nodes(SECOND, THIRD)
    assert started(nv_box("1", "--only-empty", engine=engine).run(NODES)) == nodes(SECOND)


def test_who_has_a_lease_or_observes_is_nobody_else(nv_box, leases):
    """By the cgroup, so that it is every process of a container."""
    script = f"sleep 1000 <{FIRST.node} & true"
    holder = Container(nv_box("0"), script).ready()
    namespace = "io.kubernetes.cri.sandbox-namespace"
    watcher = nv_box(None, "--observer", f"{namespace}=gpu-*")
    watcher.annotations[namespace] = "gpu-operator"
    watcher.loader = "concourse"
    watcher = Container(watcher, script).ready()
    assert sorted(leases.rows("lease")) == [("observer",), ("shared",)]
    result = nv_box("0", "--only-empty").run(NODES)
    assert started(result) == nodes(FIRST)
    holder.end()
    watcher.end()


def test_a_container_without_a_lease_of_it_counts(nv_box, using, machine):
    """One of 1 that has opened 0, which came to it another way."""
    box = nv_box("1")
    box.config["mounts"].append({"destination": "/other", "source": str(machine.path / "dev"), "options": ["bind"]})
    box.config["linux"].setdefault("resources", {})["devices"] = [{"allow": True, "access": "rwm"}]
    holder = Container(box, f"sleep 1000 </other/nvidia{FIRST.minor} & true").ready()
    refused(nv_box("0", "--only-empty").run(), 4, "GPU 0 ", "is used by 'sleep' (pid ")
    assert started(nv_box("1", "--only-empty").run(NODES)) == nodes(SECOND)
    holder.end()


def test_monitors_are_told_by_their_files_in_this_mount_namespace(nv_box, nv_host, using, machine, scratch):
    program = machine.path / "usr/bin/nvidia-smi"
    program.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy("/bin/sleep", program)
    using(FIRST, program, before=nv_host().command([]))
    assert started(nv_box("0", "--only-empty").run(NODES)) == nodes(FIRST)
    other = scratch / "nvidia-smi"  # it says that it is one
    shutil.copy("/bin/sleep", other)
    using(SECOND, other, before=nv_host().command([]))
    refused(nv_box("1", "--only-empty").run(), 4, "'nvidia-smi'")
    (machine.path / "usr/bin/nv-hostengine").symlink_to("../../opt/engine")
    (machine.path / "opt").mkdir()
    other.rename(machine.path / "opt/engine")
    assert started(nv_box("1", "--only-empty").run(NODES)) == nodes(SECOND)
    using(THIRD, program, before=nv_host().command(["unshare", "--mount"]))
    refused(nv_box("2", "--only-empty").run(), 4, "'nvidia-smi'")


def test_a_monitor_is_no_file_of_the_same_number_on_another_filesystem(nv_box, nv_host, using, machine):
    programs = [machine.path / name / "nvidia-smi" for name in ("usr/bin", "two")]
    for program in programs:
        program.parent.mkdir(parents=True, exist_ok=True)
        nv_host().mount("-t", "tmpfs", "tools", program.parent)
        shutil.copy("/bin/sleep", nv_host().path(program))
    assert len({os.stat(nv_host().path(program)).st_ino for program in programs}) == 1
    using(FIRST, programs[0], before=nv_host().command([]))
    using(SECOND, programs[1], before=nv_host().command([]))
    assert started(nv_box("0", "--only-empty").run(NODES)) == nodes(FIRST)
    refused(nv_box("1", "--only-empty").run(), 4, "'nvidia-smi'")


def test_what_only_looks_like_it(nv_box, using, machine, scratch):
    """Another file of that name, another node, and a descriptor that opens nothing."""
    (scratch / "nvidia1").write_text("", "utf-8")
    using(scratch / "nvidia1")
    using("/dev/null")
    path = machine.path / FIRST.node[1:]
    script = f"import os, time; os.open({str(path)!r}, os.O_PATH); print(flush=True); time.sleep(1000)"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"\n"
        assert started(nv_box("0", "--only-empty").run(NODES)) == nodes(FIRST)
        process.kill()


def test_a_filesystem_that_does_not_answer_is_not_asked(nv_box, nv_host, using, scratch):
    """Not by the name of a file on it that is open, nor by that of a program."""
    volume = Volume(nv_host().pid, scratch / "volume")
    nv_host().expect_table_as_it_is()
    try:
        using(FIRST)
        refused(nv_box("0", "--only-empty").run(), 4, "'trainer'")
    finally:
        volume.close()


def looked_at(box, scratch):
    """Runs it; the processes whose descriptors the hook has listed."""
    trace = scratch / "trace"
    box.wrapper = ("/usr/bin/strace", "-f", "-qq", "-o", trace, "-e", "trace=openat")
    started(box.run("true"))
    return re.findall(r'openat\(\d+, "(\d+)/task"', trace.read_text("utf-8"))


def test_nobody_is_looked_for_where_it_makes_no_difference(nv_box, machine, scratch):
    """Whoever names what it shares gets it in any case; and nothing is open where the kernel says so."""
    assert not looked_at(nv_box("0"), scratch) and not looked_at(nv_box("all"), scratch)
    assert looked_at(nv_box("any:1"), scratch)
    assert looked_at(ask(nv_box("0"), KEY, "exclusive"), scratch)
    machine.write("sys/module/nvidia/refcnt", "2\n")
    for module in ("nvidia_uvm", "nvidia_modeset"):
        machine.link(f"sys/module/nvidia/holders/{module}", f"../../{module}")
    assert not looked_at(nv_box("any:1", "--only-empty"), scratch)
    machine.write("sys/module/nvidia/refcnt", "3\n")
    assert looked_at(nv_box("any:1"), scratch)


# What blinds it

HIDES = """
import array, ctypes, os, socket, sys, threading, time
libc = ctypes.CDLL(None)
def wait():
    print(flush=True)
    time.sleep(1000)
def of_its_own():
    assert libc.unshare(0x400) == 0  # CLONE_FILES
    os.open(sys.argv[1], os.O_RDWR)
    wait()
thread = threading.Thread(target=of_its_own)
"""
CLOSES = """
node = os.open(sys.argv[1], os.O_RDWR)
copies = range(10, 900)
def open_all():
    for each in copies:
        os.dup2(node, each)
open_all()
print(flush=True)
while True:
    for each in reversed(copies):
        os.close(each)
        end = time.perf_counter() + 2e-5
        while time.perf_counter() < end:
            pass
    open_all()
"""
EXIT = {"x86_64": 60, "aarch64": 93}[os.uname().machine]
# Other files of the driver's, of which the second descriptor is the first one's.
PADDED = """
here, there = socket.socketpair()
node = os.open(sys.argv[1], os.O_RDWR)
if sys.argv[2:]:
    here.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [node]))])
os.close(node)
other = os.open(os.path.dirname(sys.argv[1]) + "/other", os.O_RDWR)
for _ in range(3):
    os.dup(other)
wait()
"""


@pytest.fixture(name="hiding")
def hiding_fixture(machine):
    """A function that starts a program of user 1000's, in Python, which has the first GPU and says a line; gives it."""
    processes = []

    def hide(script, *words):
        node = machine.path / FIRST.node[1:]
        # pylint: disable=consider-using-with
        processes.append(subprocess.Popen([sys.executable, "-c", HIDES + script, node, *words], stdout=subprocess.PIPE,
                                          user=1000))
        assert processes[-1].stdout.readline() == b"\n"
        return processes[-1]

    yield hide
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.parametrize("script", ["thread.start()", f"thread.start(); time.sleep(0.1); libc.syscall({EXIT}, 0)"],
                         ids=["a thread's own", "without a first thread"])
def test_descriptors_of_a_thread(nv_box, hiding, script):
    user = hiding(script)
    refused(nv_box("0", "--only-empty").run(), 4, "GPU 0 ", f"is used by 'python3' (pid {user.pid}, user 1000)")
    result = nv_box("any:1").run(NODES)
    assert started(result) == nodes(SECOND)


@pytest.mark.parametrize("is_counted", [True, False], ids=["counted", "not counted"])
def test_who_closes_others_of_its_descriptors_is_not_missed(leases, hiding, machine, is_counted):
    """Of the same file, which is open by the lowest number all the time."""
    if is_counted:
        machine.write("sys/module/nvidia/refcnt", "1\n")
    user = hiding(CLOSES)
    for _ in range(20):
        found = json.loads(leases.run("--list=json", "--only-empty").stdout)
        assert f"(pid {user.pid}, user 1000)" in json.dumps(found)


def test_a_node_is_told_by_its_number(nv_box, nv_host, using, machine):
    """A bind mount of it has any name, as any user can make one in a namespace of their own."""
    machine.write("tmp/x", "")
    nv_host().mount("--bind", machine.path / FIRST.node[1:], machine.path / "tmp/x")
    using(machine.path / "tmp/x", before=nv_host().command([]))
    refused(nv_box("0", "--only-empty").run(), 4, "GPU 0 ", "is used by 'trainer'")


def test_a_monitor_is_roots_or_of_the_user_whose_daemon_it_is(nv_box, nv_host, using, machine):
    """Anybody can preload what they like into a program of the host's."""
    programs = [machine.path / "usr/bin" / name for name in ("nvidia-smi", "nvidia-persistenced")]
    programs[0].parent.mkdir(parents=True, exist_ok=True)
    directory = machine.path / "run/nvidia-persistenced"
    directory.mkdir(parents=True)
    user = nv_host().command(["setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups"])
    for gpu, program in zip((FIRST, SECOND), programs):
        shutil.copy("/bin/sleep", program)
        using(gpu, program, before=user)
    refused(nv_box("1", "--only-empty").run(), 4, "is used by 'nvidia-persist", "user 1000")
    os.chown(directory, 1000, 1000)
    assert started(nv_box("1", "--only-empty").run(NODES)) == nodes(SECOND)
    refused(nv_box("0", "--only-empty").run(), 4, "is used by 'nvidia-smi'", "user 1000")


def test_somebody_who_cannot_be_seen(nv_box, hiding, machine):
    """A descriptor in a socket's queue: the driver's own count has it. Each file counts once, however often it is open."""
    machine.node("dev/other", CONSOLES, 0, 0o666)
    machine.write("sys/module/nvidia/refcnt", "2\n")
    machine.link("sys/module/nvidia/holders/nvidia_uvm", "../../nvidia_uvm")
    hiding(PADDED)
    assert started(nv_box("0", "--only-empty").run(NODES)) == nodes(FIRST)
    hiding(PADDED, "sends")
    machine.write("sys/module/nvidia/refcnt", "4\n")
    refused(nv_box("0", "--only-empty").run(), 4, "GPU 0 ", UNSEEN)
    result = nv_box("any:1").run()
    assert started(result)
    told(result, "is given, and " + UNSEEN)
    holder = Container(nv_box("1")).ready()  # it may be the holder's
    assert started(nv_box("1", "--only-empty").run(NODES)) == nodes(SECOND)
    holder.end()


# What is too much to look at

MANY = """
import ctypes, os, resource, sys, time
most = min(20000, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
count, user, effective = map(int, sys.argv[1:4])
namespaces = sys.argv[4]
unshare = ctypes.CDLL(None).unshare
read, write = os.pipe()
owner = os.fork() if namespaces == "user" else 0
if owner:
    os.read(read, 1)
    with open(f"/proc/{owner}/uid_map", "w") as users:
        users.write(f"0 100000 {count}")
    time.sleep(1000)
os.setgroups([]); os.setgid(user); os.setresuid(user, effective, effective)
if namespaces == "user":
    assert unshare(0x10000000) == 0  # CLONE_NEWUSER
    os.write(write, b" ")
    while not open("/proc/self/uid_map").read():
        time.sleep(0.01)
for number in range(count):
    if os.fork() == 0:
        if namespaces == "user":
            os.setresuid(number, number, number)
        if namespaces == "pid":
            assert unshare(0x20000000) == 0  # CLONE_NEWPID
            if os.fork():
                time.sleep(1000)
        for _ in range(most - 10):
            os.dup(0)
        print(flush=True)
        time.sleep(1000)
time.sleep(1000)
"""

CROWDS = {
    "a user's": ([], 65534, 65534, "", "user 65534"),
    "of programs with root's rights": ([], 65534, 0, "", "user 65534"),
    "of all users in a user's namespace": ([], 65534, 65534, "user", "user 65534"),
    "of a container's root": (["unshare", "--pid", "--fork", "--kill-child"], 0, 0, "", "pid namespace 402653"),
    "of a container's root in pid namespaces of its own":
        (["unshare", "--pid", "--fork", "--kill-child"], 0, 0, "pid", "pid namespace 402653"),
}


@pytest.fixture(name="crowd", params=CROWDS.values(), ids=CROWDS)
def crowd_fixture(request):
    """25 processes with 20,000 descriptors each or so; what the hook calls them by."""
    before, *words, name = request.param
    count = 25
    with subprocess.Popen([*before, sys.executable, "-c", MANY, str(count), *map(str, words)],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True) as process:
        for _ in range(count):
            assert process.stdout.readline() == b"\n"
        yield "may be used by " + name, "which has more files and processes than are looked at"
        os.killpg(process.pid, signal.SIGKILL)


def test_many_files_are_no_reason_where_the_driver_has_none_left(nv_box, crowd, using, machine):
    machine.write("sys/module/nvidia/refcnt", "1\n")
    (machine.path / "sys/module/nvidia/holders").mkdir(parents=True)
    using(SECOND)
    assert started(nv_box("0", "--only-empty").run(NODES)) == nodes(FIRST)
    refused(nv_box("1", "--only-empty").run(), 4, "GPU 1 ", "is used by 'trainer'")
    machine.write("sys/module/nvidia/refcnt", "2\n")
    refused(nv_box("0", "--only-empty").run(), 4, "GPU 0 ", *crowd)


NEST = """
import ctypes, os, sys, time
depth, count = 30, int(sys.argv[1])
libc = ctypes.CDLL(None)
os.setgid(65534); os.setuid(65534); libc.prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: its files in /proc are its own
outer = 65534
for _ in range(depth):
    assert libc.unshare(0x10000000) == 0  # CLONE_NEWUSER
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {outer} 1"), ("gid_map", f"0 {outer} 1")):
        with open("/proc/self/" + name, "w") as file:
            file.write(text)
    outer = 0
for _ in range(depth):
    assert libc.unshare(0x20000000) == 0  # CLONE_NEWPID
    if child := os.fork():
        os.waitpid(child, 0)
        sys.exit()
for _ in range(count):
    if os.fork() == 0:
        if sys.argv[2]:
            assert libc.unshare(0x30000000) == 0
        if not sys.argv[2] or os.fork() == 0:
            print(flush=True)
        time.sleep(1000)
time.sleep(1000)
"""
NESTED = 200


@pytest.fixture(name="nest")
def nest_fixture(request):
    """30 namespaces of each kind in each other, which any user may make, and 200 processes of one user in the innermost or
    each in two of its own there."""
    with subprocess.Popen([sys.executable, "-c", NEST, str(NESTED), request.param], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, start_new_session=True) as process:
        for _ in range(NESTED):
            assert process.stdout.readline() == b"\n"
        yield
        os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.parametrize("nest", ["", "own"], indirect=True)
def test_namespaces_in_namespaces_are_walked_through_once(nest, leases, scratch):  # pylint: disable=unused-argument
    """60 steps for each process would be too many. At other calls it is not stopped, as it has little time."""
    trace = scratch / "trace"
    listed = leases.run("--list", "--only-empty", before=("/usr/bin/strace", "-f", "--seccomp-bpf", "-qq", "-o", trace,
                                                          "-e", "trace=ioctl"))
    assert (listed.returncode, listed.stderr) == (0, "") and "may be used" not in listed.stdout
    assert 30 < trace.read_text().count("NS_GET_PARENT") < 4 * NESTED


def test_who_has_too_many_files_is_named(nv_box, crowd, using):
    """Where nobody counts them."""
    using(SECOND, user=1000)
    refused(nv_box("0", "--only-empty").run(), 4, "GPU 0 ", *crowd)
    refused(nv_box("1", "--only-empty").run(), 4, "GPU 1 ", "is used by 'trainer'")


class OtherPids:
    """A host whose processes have a pid namespace of their own."""

    def __init__(self, host):
        self._host, self.journal = host, host.journal

    def command(self, argv):
        return self._host.command(["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", *argv])

    def check(self):
        self._host.check()


def test_in_another_pid_namespace_it_is_not_known(nv_box, nv_host, using, machine):
    using(FIRST)
    for args in ((), ("--only-empty",)):
        box = nv_box("any:1", *args)
        box.host = OtherPids(nv_host())
        if args:
            refused(box.run(), 3, "--only-empty", "is not known: this is not the first pid namespace")
        else:
            result = box.run(NODES)
            assert started(result) == nodes(FIRST)
            told(result, "who uses GPUs is not known: this is not the first pid namespace")


def test_after_a_wait_it_is_looked_at_again(nv_box, using, leases):
    first = Container(ask(nv_box("0"), KEY, "exclusive")).ready()
    box = ask(nv_box("any:1", "--allow", "0", "--only-empty", "--max-wait", "1h"), KEY, "exclusive", "1h")
    box.timeout = 3700
    second = Container(box, NODES)
    wait_until(lambda: len(leases.waiting()) == 1, "it does not wait", second.run.process)
    user = using(FIRST)
    first.end()
    wait_until(lambda: state_of(leases, FIRST) == "used", "GPU 0 is not used", second.run.process)
    assert len(leases.waiting()) == 1
    user.kill()
    user.wait()
    assert second.ready().out == nodes(FIRST)
    second.end()
    assert leases.are_free()


def state_of(leases, gpu):
    """What the list has in place of a lease, where GPUs that are used are not given."""
    found = json.loads(leases.run("--list=json", "--only-empty").stdout)
    return next(row["lease"] for row in found["gpus"] if row["uuid"] == gpu.uuid)


# In a user namespace of its own that has all users.
ALL_USERS = """
import ctypes, os, sys
(is_made, made), (is_mapped, mapped) = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    assert ctypes.CDLL(None).unshare(0x10000000) == 0  # CLONE_NEWUSER
    os.write(made, b" ")
    os.read(is_mapped, 1)
    os.execvp(sys.argv[1], sys.argv[1:])
os.read(is_made, 1)
for kind in "ug":
    with open(f"/proc/{child}/{kind}id_map", "w") as users:
        users.write("0 0 4294967295")
os.write(mapped, b" ")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_where_it_may_not_see_what_is_open(using, leases, machine):
    """Directories of descriptors can be read there, and not what the descriptors are."""
    using(FIRST)
    (machine.path / "run/user/0").mkdir(0o700, parents=True)
    listed = leases.run("--list", "--only-empty", before=(sys.executable, "-c", ALL_USERS))
    assert "who uses GPUs is not known, and --only-empty gives none: there are processes that this one may not look at" \
        in listed.stderr
    machine.write("sys/module/nvidia/refcnt", "0\n")
    (machine.path / "sys/module/nvidia/holders").mkdir()
    listed = leases.run("--list", "--only-empty", before=(sys.executable, "-c", ALL_USERS))
    assert "not known" not in listed.stderr


# Of a user's FUSE root may not know anything, either (fuse_allow_current_process() of the kernel); O_PATH asks no daemon.
OWN_FUSE = """
import ctypes, os, sys, time
options = f"fd={os.open('/dev/fuse', os.O_RDWR)},rootmode=40000,user_id=65534,group_id=65534"
libc = ctypes.CDLL(None)
assert libc.unshare(0x20000) == 0 and libc.mount(None, b"/", None, 1 << 18 | 1 << 14, None) == 0
assert libc.mount(b"fuse", sys.argv[1].encode(), b"fuse", 6, options.encode()) == 0
os.setgid(65534); os.setuid(65534)
os.open(sys.argv[1], os.O_PATH)
print(flush=True)
time.sleep(1000)
"""


def test_a_users_own_filesystem_hides_no_device(leases, scratch):
    """Or each of them could have nothing be known."""
    (scratch / "own").mkdir()
    with subprocess.Popen([sys.executable, "-c", OWN_FUSE, scratch / "own"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"\n"
        listed = leases.run("--list", "--only-empty")
        process.kill()
    assert (listed.returncode, listed.stderr) == (0, "")


def test_what_somebody_uses_is_waited_for(nv_box, using, leases):
    """As for what is leased; and lists and messages say what it is."""
    user = using(FIRST, user=1000)
    words = f"is used by 'trainer' (pid {user.pid}, user 1000), which has no lease of it"
    box = ask(nv_box("any:1", "--allow", "0", "--only-empty", "--max-wait", "1h"), KEY, wait="2s")
    refused(box.run(), 4, "not as many GPUs are empty as are asked for (--only-empty): GPU 0 ", words,
            "it has waited 2s of 2s")
    assert [state_of(leases, gpu) for gpu in GPUS] == ["used", "free", "free"]
    assert f" used {words}\n" in re.sub(" +", " ", leases.run("--list", "--only-empty").stdout)
    status = leases.run("--list=status", "--only-empty").stdout
    assert status.startswith("nvidia: 3 GPUs, 2 free, ") and ", 1 used without a lease; " in status
    assert "used" not in leases.run("--list=status").stdout
    holder = Container(ask(nv_box("1"), KEY, "exclusive")).ready()
    box = ask(nv_box("any:1", "--allow", "0,1", "--only-empty"), KEY, "exclusive")
    refused(box.run(), 4, "held exclusively by container", "; and not empty (--only-empty): GPU 0 ", words)
    box = ask(nv_box("any:1", "--allow", "0,1", "--only-empty", "--max-wait", "1h"), KEY, "exclusive", "1m")
    box.timeout = 100
    waiting = Container(box, NODES)
    wait_until(lambda: len(leases.waiting()) == 1, "it does not wait", waiting.run.process)
    holder.end()
    assert waiting.ready().out == nodes(SECOND)
    waiting.end()


@ENGINES
def test_where_containers_end_at_once_is_given_last(nv_box, engine):
    for _ in range(3):
        started(nv_box("0", engine=engine).run("true"))
    for gpu in (SECOND, THIRD, SECOND):  # of which each was given later than 0
        result = nv_box("any:1", engine=engine).run(NODES)
        assert started(result) == nodes(gpu)
    told(result, "GPU 0 ", "is passed by: the last 3 containers that had it ended within 10 seconds")
    result = nv_box("any:1", "--allow", "0", engine=engine).run(NODES)
    assert started(result) == nodes(FIRST) and not [line for line in result.said if "passed by" in line]


def test_an_end_counts_for_whoever_finds_it(nv_box):
    for _ in range(2):
        started(nv_box("0").run("true"))
    third = Container(nv_box("0")).ready()
    started(nv_box("1").run("true"))  # which is given later than 0
    third.end()
    assert started(nv_box("any:1", "--allow", "0,1").run(NODES)) == nodes(SECOND)


def vram(amd_machine, pid, gpu, size):
    """What KFD says that the process has of it."""
    number = (amd_machine.path / amd_machine.topology(gpu) / "gpu_id").read_text("ascii").strip()
    amd_machine.write(f"sys/devices/virtual/kfd/kfd/proc/{pid}/vram_{number}", f"{size}\n")


@pytest.fixture(name="process")
def process_fixture():
    with subprocess.Popen(["sleep", "1000"], user=1000) as process:
        yield process
        process.kill()


@on_host(MI210)
@ENGINES
def test_amd_processes_with_memory(amd_box, amd_machine, process, engine):
    first, second = sorted(MI210, key=lambda gpu: gpu.address)[:2]
    vram(amd_machine, process.pid, first, 4096)
    vram(amd_machine, process.pid, second, 0)
    for gpu in (first, second):
        vram(amd_machine, 2 ** 22 + 1, gpu, 4096)  # one that has ended
    result = amd_box("any:1", engine=engine).run(RENDER)
    assert started(result) == f"renderD{second.render} \n"
    told(result, "GPU 0 ", f"is passed by: it is used by 'sleep' (pid {process.pid}, user 1000)")
    amd_container.refused(amd_box("0", "--only-empty", engine=engine).run(), 4, "is used by 'sleep'")


@on_host(MI210)
def test_amd_memory_that_is_nobodys(amd_box, amd_machine):
    first, second = sorted(MI210, key=lambda gpu: gpu.address)[:2]
    for gpu, used in ((first, GIB // 2), (second, GIB // 2 - 1)):
        amd_machine.write(f"{amd_machine.device_directory(gpu.address)}/mem_info_vram_used", f"{used}\n")
    amd_container.refused(amd_box("0", "--only-empty").run(), 4, "GPU 0 ", "has 512 MiB of its memory in use")
    assert started(amd_box("any:1", "--only-empty", "--allow", "0,1").run(RENDER)) == f"renderD{second.render} \n"
    assert started(amd_box("0", "--only-empty", "--empty-below", "1GiB").run(RENDER)) == f"renderD{first.render} \n"
    holder = Container(amd_box("0")).ready()  # it may be the holder's
    assert started(amd_box("0", "--only-empty").run(RENDER)) == f"renderD{first.render} \n"
    holder.end()


@on_host(CPX, blanks=CPX_BLANKS)
def test_amd_partitions_are_used_with_their_gpu(amd_box, amd_machine, process):
    vram(amd_machine, process.pid, CPX[3], 4096)
    amd_container.refused(amd_box("any:57", "--only-empty").run(), 4, "is used by 'sleep'")
    assert started(amd_box("any:56", "--only-empty").run("ls /dev/dri | grep -c render")) == "56\n"


@pytest.mark.parametrize("size", ["", "512", "512M", "-1MiB", "1.5GiB", "MiB"])
def test_amd_sizes_that_are_none(amd_by_hand, size):
    process = amd_by_hand("--list", "--empty-below", size)
    assert process.returncode == 2 and "--empty-below" in process.stderr
