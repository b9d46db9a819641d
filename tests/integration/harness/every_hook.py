# SPDX-License-Identifier: Apache-2.0
"""A container of each of the hooks, for what has to hold for all of them. A test file names the fixtures of all in
its `pytest_plugins`."""

from . import engines

NAMES = ("mount-srv", "nvidia-devices", "amd-kfd", "ldcache-update", "cdi-devices")


def box_of(name, fixture, engine=engines.RUNTIMES[0]):
    """A container that asks the hook for as much as there is. `fixture` gives a fixture by its name."""
    if name == "mount-srv":
        fixture("srv").directory("datasets")
        return fixture("engine_box")(engine, "all")
    if name == "ldcache-update":
        return fixture("srv_box")(engine=engine)
    if name == "amd-kfd":
        return fixture("amd_box")("all", engine=engine)
    if name == "cdi-devices":
        fixture("cdi_gpu")
        return fixture("cdi_box")("vendor.com/gpu=0", engine=engine)
    fixture("installed")
    return fixture("files_box")("all", request="all", engine=engine, cache=False)
