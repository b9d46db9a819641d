# SPDX-License-Identifier: Apache-2.0
"""Fixtures of tests that have containerd start pods."""

import os

import pytest

from .containerd import programs
from .cri_node import CriNode


@pytest.fixture(name="kubepods")
def kubepods_fixture(machine, scratch):
    """The cgroup that kubelet makes for pods, here one for each test; it stays when they have ended."""
    name = f"kubepods-{scratch.name}"
    yield f"/{name}"
    found = ["find", "/sys/fs/cgroup", "-ignore_readdir_race", "-type", "d", "-path", f"*/{name}*"]
    machine.run([*found, "-delete"], check=False)
    left = machine.run(found, check=False).stdout
    assert not left, left


@pytest.fixture(name="node")
def node_fixture(machine, files, oci_gpu_hooks, kubepods, scratch, monkeypatch):  # pylint: disable=unused-argument
    monkeypatch.setenv("PATH", f"{programs()}:{os.environ['PATH']}")
    node = CriNode(machine, files, oci_gpu_hooks, scratch)
    yield node
    if node.daemon:
        node.daemon.close()
