# SPDX-License-Identifier: Apache-2.0
"""podman, whose containers ask by the name of a CDI device instead of an annotation."""

import pytest

from harness import cdi, engines
from harness.amd_container import SHOW
from harness.amd_container import given as given_amd
from harness.expect import started
from harness.nvidia_container import PROBE, given, probed

pytest_plugins = ["harness.nvidia_fixtures", "harness.amd_fixtures"]

ENGINES = [*engines.PODMANS, *engines.MAPPED_PODMANS]


@pytest.fixture(name="specs")
def specs_fixture(nv_host, scratch):
    """The folder that podman reads: version 5.4 reads no other, whatever its configuration says."""
    host = nv_host("not-hybrid")
    for name in ("etc", "work"):
        (scratch / name).mkdir()
    (scratch / "etc/cdi").mkdir()
    host.mount("-t", "overlay", "-o", f"lowerdir=/etc,upperdir={scratch}/etc,workdir={scratch}/work", "overlay", "/etc")
    return scratch / "etc/cdi"


@pytest.mark.parametrize("engine", ENGINES, ids=str)
def test_gpus(nv_box, machine, built, specs, engine):
    cdi.write(specs, built / "hooks/nvidia-devices/nvidia-devices", "--max-devices", "2", sysroot=machine.path)
    for names, gpus in ((["1"], [1]), ([machine.gpus[2].uuid, "0"], [0, 2]), (["7", "8"], None), (["any:3"], None)):
        box = nv_box(engine=engine)
        box.times = 0  # no file of hooks
        for name in names:
            box.options += ["--device", f"{cdi.KIND}/nvidia-devices={name}"]
        result = box.run(f"{PROBE} probe /dev/nvidia*")
        if gpus:
            assert probed(started(result)) == given(*(machine.gpus[number] for number in gpus))
        else:
            assert result.code != 0 and result.out == ""
            assert result.hook_status == (5 if names == ["any:3"] else 3), result.err


@pytest.mark.parametrize("engine", ENGINES[:2], ids=str)
def test_an_amd_gpu(amd_box, amd_machine, built, specs, engine):
    cdi.write(specs, built / "hooks/amd-kfd/amd-kfd", sysroot=amd_machine.path)
    box = amd_box(engine=engine)
    box.times = 0
    box.options += ["--device", f"{cdi.KIND}/amd-kfd=0"]
    assert probed(started(box.run(SHOW))) == given_amd(amd_machine.gpus[0])
