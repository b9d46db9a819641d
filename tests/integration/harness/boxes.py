# SPDX-License-Identifier: Apache-2.0
"""What the fixtures of every hook are made of: a host, containers on it, and a hook that is run by hand."""

import itertools
import json
import os
import subprocess
from contextlib import contextmanager

import pytest

from . import engines
from .box import PREFIX
from .bundle import Bundle
from .host import LIMIT_S, Host
from .ldcache import box_class
from .plan import read_plan


@contextmanager
def opened_host(cgroup, journal_in=None):
    """A host with these cgroups, which keeps what hooks say to syslog if it has a directory for that."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    host = Host(cgroup)
    if journal_in:
        (journal_in / "dev").mkdir()
        host.keep_journal(journal_in / "dev")
    try:
        yield host
        host.check()
    finally:
        host.close()


@contextmanager
def boxes(host_of, hook, options, scratch, prepare=lambda box: None, maps=True):
    """A function that makes a container with the hook: make(request, *options of the hook, engine=…, cgroup=…).
    `prepare` does to each box what all of them have; it `maps` ids where the engine is to have a user namespace."""
    name = hook.executable.name
    numbers, runtimes = itertools.count(), []

    def make(request=None, *args, engine=engines.RUNTIMES[0], cgroup="not-hybrid"):
        number = next(numbers)
        host = host_of(cgroup)
        runtime = engine.open(scratch / f"{name[:3]}-run-{number}")
        runtimes.append((runtime, host))
        box = box_class(engine)(host, runtime, Bundle(scratch / f"{name[:3]}-box-{number}"), hook, [*options, *args])
        prepare(box)
        if maps and engine.mapped:
            box.map_ids(engines.MAP)
        if request is not None:
            box.annotations[PREFIX + name] = request
        return box

    yield make
    for runtime, host in runtimes:
        runtime.clean(host)


def by_hand(hook, sysroot, scratch, pid=12345):
    """A function that runs the hook without a container: run(*options, wrapper=(), **config). With `config`, members of
    config.json, it gets the state of a container that has just been created, with an empty root."""
    def run(*args, wrapper=(), **config):
        text = ""
        if config:
            (scratch / "bundle/rootfs").mkdir(parents=True, exist_ok=True)
            config = {"ociVersion": "1.0.2", "root": {"path": "rootfs"}, "process": {}, **config}
            (scratch / "bundle/config.json").write_text(json.dumps(config), encoding="utf-8")
            text = json.dumps({"ociVersion": "1.0.2", "id": "x", "status": "creating", "pid": pid,
                               "bundle": str(scratch / "bundle")})
        words = [*wrapper, hook.executable, "--sysroot", sysroot, *args]
        return subprocess.run([os.fspath(word) for word in words], check=False, input=text, capture_output=True,
                              encoding="utf-8", timeout=LIMIT_S)
    return run


def planned(run):
    """The same with --plan; gives what it prints, as a dictionary."""
    def plan(*args, **config):
        process = run("--plan", *args, **config)
        assert process.returncode == 0, process.stderr
        return read_plan(process.stdout)
    return plan
