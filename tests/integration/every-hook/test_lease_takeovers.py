# SPDX-License-Identifier: Apache-2.0
"""Steps of a Concourse build that want one GPU after the other: Concourse keeps the container of a step that has ended
until its build has, and that of a failed build for days. Its GPU is taken away, and it lives on."""

import json
import shutil
import subprocess
import time
from dataclasses import dataclass
from functools import partial

import pytest

from harness import concourse, engines
from harness.admin import BOTH_DIRECTORIES, EXECDIR, FILES, OWN, SHIPPED, Command, InstalledHost
from harness.box import PREFIX
from harness.host import LIMIT_S
from harness.leases import Container, ask, counts
from harness.nvidia_container import refused
from harness.stopped import wait_until
from hosts.amd import CPX, DRM, SPX, AmdHost
from hosts.nvidia import CAPS, EIGHT, MAJOR, gi_minor

pytest_plugins = ["harness.nvidia_fixtures", "harness.amd_fixtures", "harness.cdi_fixtures"]

BEGUN = ("--idle-after", "0s", "--max-wait", "20s")
NOW = (*BEGUN, "--begin-within", "0s")
GPU = EIGHT[0]
NODE = GPU.node
NOT_PERMITTED = "Operation not permitted"
RUNC, CRUN = engines.RUNTIMES


@dataclass(frozen=True)
class Gives:
    """A GPU, as a hook gives it."""

    box: str  # the fixture of its containers
    request: str
    nodes: dict  # its own, with their numbers
    of_driver: tuple  # those for all GPUs
    options: tuple = ()
    beside: tuple = ()  # another part of the same GPU, and a node by which it is seen that who has that keeps it


def amd(request, gpu, beside=()):
    """A GPU of the host below, or a partition."""
    nodes = {f"/dev/dri/{name}": (DRM, minor) for name, minor in gpu.nodes().items()}
    return Gives("amd_box", request, nodes, ("/dev/kfd",), beside=beside)


CDI_GPU = "nvidia.com/gpu=0"
NVIDIA = Gives("nv_box", "0", {NODE: (MAJOR, GPU.minor)}, ("/dev/nvidiactl", "/dev/nvidia-uvm"))
PARTED = EIGHT[1]
PART = {f"/dev/nvidia-caps/nvidia-cap{minor}": (CAPS, minor) for minor in (gi_minor(PARTED, 1), gi_minor(PARTED, 1) + 1)}
MIG = Gives("mig_box", f"MIG-{PARTED.uuid}/1/0", {PARTED.node: (MAJOR, PARTED.minor), **PART}, NVIDIA.of_driver,
            beside=(f"MIG-{PARTED.uuid}/2/0", PARTED.node))
GIVES = {"nvidia": NVIDIA, "mig": MIG, "amd": amd(SPX[-1].address, SPX[-1]),
         "amd-partition": amd("0:3", CPX[3], beside=("0:2", f"/dev/dri/renderD{CPX[2].render}")),
         "cdi": Gives("cdi_box", CDI_GPU, NVIDIA.nodes, ("/dev/nvidiactl",),
                      ("--give-gpus", "--allow", CDI_GPU, "--max-devices", "1"))}


@pytest.fixture
def amd_machine(scratch):
    """A GPU in eight partitions, and a whole one."""
    return AmdHost(scratch / "machine", [*CPX[:8], SPX[-1]])


@pytest.fixture
def cdi_host(machine):
    """NVIDIA's, with a specification of its first GPU."""
    edits = [{"deviceNodes": [{"path": path}]} for path in (NODE, "/dev/nvidiactl")]
    machine.write("etc/cdi/nvidia.json", json.dumps({
        "cdiVersion": "0.6.0", "kind": CDI_GPU.split("=", maxsplit=1)[0], "containerEdits": edits[1],
        "devices": [{"name": "0", "containerEdits": edits[0]}]}))
    return machine


@pytest.fixture
def mig_box(nv_box, machine):
    """The second GPU is divided."""
    for gpu_instance in (1, 2):
        machine.add_instance(1, gpu_instance, 0)
    return nv_box


@pytest.fixture(name="garden")
def garden_fixture(nv_host, scratch):
    """Takes the cgroup away that stays when unprivileged containers have ended."""
    yield
    concourse.remove_garden(nv_host(), scratch)


# What has run is told by its time on a processor, of which 5 ms count, whatever kind of processor it is.
WORK = "i=0; while [ $i -lt 10000 ]; do i=$((i+1)); done; "


class Step(Container):
    """The container of a step, whose init is gdn-init and does nothing once it is ready."""

    def exec(self, *words, options=()):
        """Starts a program in it, as a step's own, and `fly intercept`."""
        box = self.box
        return subprocess.Popen(box.host.command(box.runtime.command("exec", *options, self.run.name, *words)),
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")

    def says(self, script, *options):
        """What a shell in it prints, as `fly intercept` would show it."""
        shell = self.exec("sh", "-c", WORK + script, options=options)
        out, err = shell.communicate(timeout=LIMIT_S)
        return out + err

    def can_open(self, node=NODE):
        """Whether the device cgroup lets a program in it open a node."""
        answer = self.says(f"(: <> {node})")
        assert answer and (NOT_PERMITTED in answer or "No such device" in answer), answer
        return NOT_PERMITTED not in answer

    def opens(self, nodes):
        """Of nodes, with their numbers, which can be opened, and which of its own making by the same numbers."""
        own = {f"/own-{major}-{minor}": f"mknod /own-{major}-{minor} c {major} {minor} && "
               for major, minor in nodes.values()}
        # Those of parts are there to be read.
        tries = [f"(: {'<' if 'caps' in path else '<>'} {path})" for path in nodes]
        tries += [f"{make}(: <> {path})" for path, make in own.items()]
        lines = self.says("; ".join([*tries, f"rm -f {' '.join(own)}"]), "--cap", "CAP_MKNOD").splitlines()
        assert len(lines) == len(tries), lines
        return [path for path, line in zip([*nodes, *own], lines) if NOT_PERMITTED not in line]

    def is_deprived(self):
        """Whether it lives, and its GPU cannot be opened."""
        assert self.run.process.poll() is None, "its init was ended"
        return not self.can_open()


@pytest.fixture(name="step")
def step_fixture(request, garden):  # pylint: disable=unused-argument
    """A function that starts the container of a task: step(lease, wait, *options of the hook, init=…)."""
    steps = []

    def start(lease="exclusive", wait=None, *args, mapped=False, init=concourse.INIT, uid=0, gives=NVIDIA, asks="",
              seccomp=None, **where):
        box = request.getfixturevalue(gives.box)(asks or gives.request, *gives.options, *(args or NOW),
                                                 **(where or {"cgroup": "as-found"}))
        concourse.make(ask(box, PREFIX + box.hook.executable.name, lease, wait), "task")
        if init != concourse.INIT:
            box.bundle.mount(init, box.bundle.init, "bind")
            box.config["process"]["args"] = [init]
        if mapped:
            concourse.unprivileged(box)
        box.config["process"]["user"] = {"uid": uid, "gid": uid}
        if seccomp:
            box.config["linux"]["seccomp"] = seccomp
        steps.append(Step(box))
        return steps[-1]

    yield start
    for each in steps:
        each.end()


def states(leases):
    """Of each container its lease and the first word of its state."""
    return [(name, lease, state.split(",")[0].split(" since")[0]) for name, lease, state in
            leases.rows("container", "lease", "state")]


@pytest.mark.parametrize("mapped", [False, True], ids=["privileged", "unprivileged"])
def test_the_second_step_of_a_build_takes_the_gpu_of_the_first(step, leases, mapped):
    """The first step's program has ended, its container is there; the second one's then, and its build fails: the next
    build takes it from that one."""
    first = step(mapped=mapped).ready()
    assert first.can_open()
    program = first.exec("sh", "-c", "echo runs; read line")
    assert program.stdout.readline() == "runs\n"
    refused(step(mapped=mapped).end(), 4, first.run.name)
    assert leases.rows("state") == [("running",)]
    program.communicate(timeout=LIMIT_S)
    assert states(leases) == [(first.run.name, "exclusive", "idle")]
    second = step(mapped=mapped).ready()
    assert first.is_deprived() and second.can_open()
    assert states(leases)[:2] == [(second.run.name, "exclusive", "idle"), (first.run.name, "none", "taken away")]
    third = step("shared", mapped=mapped).ready()
    assert second.is_deprived() and first.is_deprived() and third.can_open()
    assert states(leases)[0] == (third.run.name, "shared", "idle")


@pytest.mark.parametrize("engine, cgroup", [(RUNC, "as-found"), (RUNC, "v2"), (CRUN, "not-hybrid")])
@pytest.mark.parametrize("gives", GIVES.values(), ids=GIVES)
def test_all_that_share_a_gpu_lose_it_and_nothing_else(step, gives, engine, cgroup):
    """By a node of their own making either. What is the driver's stays, and who has another part of the GPU keeps it."""
    start = partial(step, gives=gives, engine=engine, cgroup=cgroup)
    other = start(asks=gives.beside[0]).ready() if gives.beside else None
    sharers = [start("shared").ready(), start("shared").ready()]
    assert [len(each.opens(gives.nodes)) for each in sharers] == 2 * [2 * len(gives.nodes)]
    owner = start().ready()
    for each in sharers:
        assert each.run.process.poll() is None and each.opens(gives.nodes) == []
        assert each.says(": < /dev/null") == "" and all(map(each.can_open, gives.of_driver))
    assert len(owner.opens(gives.nodes)) == 2 * len(gives.nodes)
    assert other is None or other.can_open(gives.beside[1])


def test_a_lease_stands_once_where_two_engines_call_the_hook(step, machine, built, build_root):
    """Its state is that by which another one may have what it has."""
    machine.mkdir(EXECDIR)
    shutil.copy(built / "hooks/nvidia-devices/nvidia-devices", machine.path / EXECDIR)
    machine.write("etc/crio/crio.conf", f"[crio.runtime]\nhooks_dir = {BOTH_DIRECTORIES}\n")
    for directory, option in ((SHIPPED, ["--idle-after", "never"]), (OWN, ["--log-level", "info"])):
        machine.write(f"{directory}/{FILES['nvidia-devices']}",
                      json.dumps(InstalledHost.document("nvidia-devices", option)))
    machine.mkdir("usr/bin")
    for name in ("podman", "crio"):
        shutil.copy("/bin/true", machine.path / "usr/bin" / name)
    first = step().ready()
    command = Command(build_root / "admin/oci-gpu-hooks", machine)
    hooks = json.loads(command.run("list", "--format", "json").stdout)["hooks"]
    assert [row["container"] for hook in hooks for row in hook.get("leases", ())] == [first.run.name]
    text = command.run("list", "--format", "table").stdout
    assert "nvidia-devices, as podman and crio call it\n" in text, text
    assert text.count(first.run.name) == 1 and "not begun, may be taken from 2" in text, text


@pytest.mark.parametrize("disabled, refuses, lives", [
    ("0", False, False), ("1", False, False), ("2", False, True), ("0", True, True)])
def test_one_that_could_keep_it_by_io_uring_is_ended(step, machine, disabled, refuses, lives):
    """A file that is registered with a ring whose own descriptor is closed is in no list, and can become a descriptor
    again."""
    sysctl = machine.path / "proc/sys/kernel/io_uring_disabled"
    sysctl.parent.mkdir(parents=True)
    sysctl.write_text(f"{disabled}\n", encoding="ascii")
    filters = {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [
        {"names": ["io_uring_setup"], "action": "SCMP_ACT_ERRNO" if refuses else "SCMP_ACT_LOG"}]}
    first = step(seccomp=filters).ready()
    step().ready()
    if lives:
        assert first.is_deprived()
    else:
        first.run.process.wait(LIMIT_S)


def test_the_step_of_another_user_is_taken_from_too(step):
    first = step(uid=1000).ready()
    step(uid=1000).ready()
    assert first.is_deprived()


def test_what_has_run_counts_and_the_history_says_what_became_of_it(step, leases, machine):
    first = step().ready()
    assert first.exec("sh", "-c", WORK).wait(LIMIT_S) == 0
    second = step().ready()
    lines = (machine.path / "var/lib/oci-gpu-hooks/history").read_text("utf-8").splitlines()
    ended = [line for line in map(json.loads, lines) if line["event"] == "ended"]
    assert [(line["container"], line["how"].split(" since ")[0]) for line in ended] == [
        (first.run.name, "taken away: idle")]
    assert (counts(machine.path)["takeovers"], counts(machine.path)["revocations"]) == (0, 1)
    assert states(leases)[0][0] == second.run.name


def test_a_step_that_waits_takes_over_once_the_other_is_idle(step, leases):
    first = step().ready()
    program = first.exec("sh", "-c", "echo runs; read line")
    assert program.stdout.readline() == "runs\n"
    second = step("exclusive", "20s")
    wait_until(leases.waiting, "it does not wait", second.run.process)
    program.communicate(timeout=LIMIT_S)
    second.ready()
    assert first.is_deprived()


def test_one_in_which_nothing_has_begun_is_left_alone_until_something_has(step, leases):
    """Its step is still on the way: the program is started over the network."""
    first = step().ready()
    refused(step("exclusive", None, *BEGUN).end(), 4, first.run.name)
    [(state,)] = leases.rows("state")
    assert state.startswith("not begun, may be taken from 2")
    second = step("exclusive", "20s", *BEGUN)
    wait_until(leases.waiting, "it does not wait", second.run.process)
    assert first.exec("sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done").wait(LIMIT_S) == 0
    second.ready()
    assert first.is_deprived()


def test_one_that_begins_too_late_finds_its_gpu_gone_and_the_history_says_so(step, leases, machine):
    first = step().ready()
    step().ready()
    assert states(leases)[1] == (first.run.name, "none", "taken away")
    assert first.is_deprived()
    step().ready()  # who comes next notices
    history = (machine.path / "var/lib/oci-gpu-hooks/history").read_text("utf-8").splitlines()
    late = [line for line in map(json.loads, history) if line["event"] == "late"]
    assert [(line["container"], line["how"]) for line in late] == [
        (first.run.name, "began too late: its devices had been taken away")]


def test_one_that_has_just_become_idle_is_waited_for(step):
    first = step().ready()
    refused(step("exclusive", None, "--idle-after", "1m").end(), 4, first.run.name)
    start = time.monotonic()
    assert first.exec("sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done").wait(LIMIT_S) == 0
    step("exclusive", None, "--idle-after", "1s").ready()
    assert first.is_deprived() and 1 < time.monotonic() - start < 15


def test_what_the_host_does_not_call_idle_is_left_alone(step, leases):
    first = step().ready()
    assert first.exec("sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done").wait(LIMIT_S) == 0
    refused(step("exclusive", None, "--idle-after=never").end(), 4, first.run.name)
    assert leases.rows("container") == [(first.run.name,)]
    assert first.can_open() and first.end().code == 0


def test_a_single_program_is_never_idle(step, leases):
    """As under podman: its init is the work itself."""
    first = step(init="/work").ready()
    refused(step().end(), 4, first.run.name)
    assert leases.rows("container") == [(first.run.name,)] and first.can_open()


@pytest.mark.parametrize("can_be_taken_from", [True, False])
def test_what_policy_refuses_takes_nothing_over(step, leases, nv_box, nv_hook, machine, can_be_taken_from):
    """Two requests of one container, each within the limit, and both beyond it. Of whom nothing can be taken is ended."""
    if not can_be_taken_from:
        machine.write("proc/sys/kernel/io_uring_disabled", "0\n")
    first = step().ready()
    options = ("--max-devices", "1", "--min-lease", "exclusive", *NOW)
    box = nv_box("0", *options)
    box.first.append(nv_hook.entry(["--sysroot", machine, *options, "--request", "1"]))
    result = box.run()
    refused(result, 5, "2 GPUs", "--max-devices allows 1")
    assert first.run.name not in result.err, result.err
    assert leases.rows("container") == [(first.run.name,)] and first.can_open()


def test_shared_leases_take_nothing_over(step, leases):
    """Nothing is in the way."""
    steps = [step("shared").ready(), step("shared").ready()]
    assert leases.rows("container") == [(each.run.name,) for each in steps]
