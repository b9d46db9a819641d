# SPDX-License-Identifier: Apache-2.0
"""What a container has of a host's AMD GPUs, and what their hook says."""

from functools import partial

import pytest

from hosts.amd import DRM, KFD

from . import gpu
from .box import PREFIX
from .expect import refused_by
from .nvidia_container import ALLOWED, PROBE, node

KEY = PREFIX + "amd-kfd"
refused = partial(refused_by, "amd-kfd")
error_of = partial(gpu.error_of, "amd-kfd")
asked = partial(gpu.asked, KEY)
# Each node that there may be, and each link in /dev/dri/by-path with what it says.
SHOW = f"{PROBE} probe /dev/kfd $(find /dev/dri -name 'card*' -o -name 'render*' | sort)"
LINKS = ('for l in $(find /dev/dri/by-path -type l | sort); do echo "${l##*/} $(readlink $l)'
         ' $(stat -Lc "%t:%T" $l)"; done')


def on_host(gpus, **more):
    """For a test that needs a host with these GPUs."""
    return pytest.mark.parametrize("amd_machine", [{"gpus": gpus, **more}], indirect=True, ids=["host"])


def given(*gpus, said=ALLOWED):
    """The nodes for these GPUs."""
    nodes = {"/dev/kfd": node(KFD, 0, said)}
    for gpu in gpus:
        nodes |= {f"/dev/dri/{name}": node(DRM, minor, said) for name, minor in gpu.nodes().items()}
    return nodes


def linked(*gpus):
    """What LINKS prints for these GPUs."""
    return "".join(sorted(f"{link} {target} {DRM:x}:{gpu.nodes()[target[3:]]:x}\n"
                          for gpu in gpus for link, target in gpu.links().items()))


def nodes_for(*gpus, more=()):
    """The nodes that a plan for these GPUs has."""
    return sorted(["/dev/kfd", *more, *(f"/dev/dri/{name}" for gpu in gpus for name in gpu.nodes())])


def nothing(process):
    """A hook that was run by hand has nothing to do; gives what it says of that."""
    assert process.returncode == 0, process.stderr
    assert "/dev/" not in process.stdout, process.stdout
    return process.stderr


def rows_of(process):
    """The lines of --list, as dictionaries by the names of the columns; where these begin, so do the cells."""
    assert process.returncode == 0, process.stderr
    head, *rows = process.stdout.splitlines()
    names = head.split()
    starts = [head.index(name) for name in names]
    ends = [*starts[1:], None]
    return [{name: row[start:end].strip() for name, start, end in zip(names, starts, ends)} for row in rows]
