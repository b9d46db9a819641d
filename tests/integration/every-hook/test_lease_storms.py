# SPDX-License-Identifier: Apache-2.0
"""Containers that compete for four GPUs, while containers, hooks and runtimes are killed, and GPUs die and come back:
nobody ever has what another one has to itself, and no GPU is lost. STORM says of how many containers: 200 in tests/long."""

import os
import random
import time

import pytest

from harness import concourse
from harness.expect import started
from harness.leases import Leases, ask
from harness.nvidia_container import KEY
from harness.storm import FATES, Member, opened, rage
from hosts.nvidia import FOUR

pytest_plugins = ["harness.nvidia_fixtures"]

COUNT = int(os.environ.get("STORM", "20"))
REQUESTS = {"0": 1, "1": 1, "2-3": 2, "any:1": 1, "any:2": 2, "all": 4}
NODES = "ls -d /dev/nvidia[0-9]*"
MODES = {"exclusive": ["exclusive"], "mixed": ["exclusive", "shared", "shared"]}


@pytest.mark.parametrize("machine", [FOUR], indirect=True, ids=["four"])
@pytest.mark.parametrize("kind", MODES)
def test_a_storm(nv_box, nv_hook, machine, kind):
    chance = random.Random()
    seen = set()

    def start():
        request, mode = chance.choice(list(REQUESTS)), chance.choice(MODES[kind])
        box = ask(nv_box(request, "--max-wait", "10m", cgroup="as-found"), KEY, mode, "10m")
        box.timeout = 0
        script = f"{NODES}; sleep {chance.uniform(0, .2):.3f}"
        fate = chance.choice(FATES)
        delay = chance.choice([0, chance.uniform(0, .01), chance.uniform(0, .3)])
        return Member(box, script, REQUESTS[request], mode, fate, delay)

    def look(members):
        seen.update(name for member in members for name in member.nodes())

    members = rage([start] * COUNT, look)
    for member in members:
        if member.fate in FATES:
            assert len(started(member.result).split()) == member.count
    leases = Leases(nv_hook.executable, machine)
    assert leases.are_free()
    assert len(seen) > 1, "nothing was seen of what they had"
    assert len(started(ask(nv_box("all", cgroup="as-found"), KEY, "exclusive").run(NODES)).split()) == len(FOUR)


@pytest.mark.parametrize("machine", [FOUR], indirect=True, ids=["four"])
def test_a_storm_while_gpus_die(nv_box, nv_hook, machine):
    """One GPU at a time dies and comes back. Who asks, or looks once more after a wait, while it is dead, does not get it;
    and all of them are there at the end."""
    chance = random.Random()
    dead, given = [], []  # the one that is dead and since when, what was given

    def start():
        request, mode = chance.choice(["any:1", "any:2", "1", "all"]), chance.choice(MODES["mixed"])
        box = ask(nv_box(request, "--max-wait", "10m", cgroup="as-found"), KEY, mode, "10m")
        box.timeout = 0
        member = Member(box, f"{NODES}; sleep {chance.uniform(0, .2):.3f}", None, mode, chance.choice(FATES), 0)
        member.started = time.monotonic()
        return member

    def look(members):
        for member in members:
            nodes = member.nodes()
            if nodes and not hasattr(member, "got"):
                member.got = time.monotonic()
                given.append(nodes)
                # All of the hook ran while it was dead.
                assert not dead or dead[0].node[5:] not in nodes or member.started < dead[1], (dead, nodes)
        if dead and time.monotonic() > dead[2]:
            machine.revive(dead[0].address)
            dead.clear()
        elif not dead:
            now = time.monotonic()
            dead[:] = [chance.choice(machine.gpus), now, now + chance.uniform(.1, 1)]
            machine.kill(dead[0].address)
            dead[1] = time.monotonic()

    members = rage([start] * COUNT, look)
    if dead:
        machine.revive(dead[0].address)
    for member in members:
        if member.fate in FATES and member.result.code != 0:
            assert member.result.hook_status == 3 and "looks dead" in member.result.hook_message, member.result
    leases = Leases(nv_hook.executable, machine)
    assert leases.are_free() and given
    assert len(started(ask(nv_box("all", cgroup="as-found"), KEY, "exclusive").run(NODES)).split()) == len(FOUR)


@pytest.mark.parametrize("machine", [FOUR], indirect=True, ids=["four"])
def test_a_storm_of_steps_that_take_over(nv_box, nv_hook, machine):
    """Of which each is idle from its start on. Those from which was taken live, with their nodes, and may not open them;
    they end when that has been seen. The last ones stay."""
    chance = random.Random()
    begun, deprived, looked = set(), [], [0]

    def start():
        request = chance.choice(["0", "1-2", "any:1", "any:2"])
        # Some take at once, also from those that have not begun yet, which are ended then; others leave these their time.
        options = ("--max-wait", "10m", "--idle-after", "0s", "--begin-within", chance.choice(["0s", "1s"]))
        box = concourse.make(ask(nv_box(request, *options, cgroup="as-found"), KEY, "exclusive", "10m"), "task")
        box.timeout = 0
        fate = chance.choice(["ends"] * 5 + ["hook", "init"])
        script = f"{NODES}; exec sleep 100000"
        return Member(box, script, REQUESTS.get(request, 2), "exclusive", fate, chance.uniform(0, .3))

    def look(members):
        have_begun = begun.issuperset(members)  # as of the last look: this one has seen who has what
        for member in members:
            if member in begun and not member.has and member.nodes() and member.lives():
                deprived.append(member)
                member.kill_init()
            if member.has_started():
                begun.add(member)
        if have_begun and time.monotonic() - looked[0] > .5:
            looked[0] = time.monotonic()
            for member in members if not leases.waiting() else ():
                member.kill_init()

    leases = Leases(nv_hook.executable, machine)
    for member in rage([start] * COUNT, look, opened):
        # As nobody has to be of any age, some are ended before their program has begun.
        assert member.result.code in (137, 1), member.result
    assert leases.are_free() and deprived
