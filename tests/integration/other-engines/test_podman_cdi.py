# SPDX-License-Identifier: Apache-2.0
"""podman, whose containers ask by the name of a CDI device instead of an annotation."""

import pytest

from harness import cdi, engines
from harness.amd_container import SHOW
from harness.amd_container import given as given_amd
from harness.expect import started
from harness.nvidia_container import PROBE, given, probed
from harness.podman import is_version_4

pytest_plugins = ["harness.nvidia_fixtures", "harness.amd_fixtures"]

ENGINES = [*engines.PODMANS, *engines.MAPPED_PODMANS]


@pytest.fixture(name="specs")
def specs_fixture(nv_host, scratch):
    """The directory that podman reads: version 5.4 reads no other, whatever its configuration says."""
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


@pytest.mark.skipif(is_version_4(), reason="podman has the flag from 5.0 on")
@pytest.mark.parametrize("engine", ENGINES[:2], ids=str)
def test_the_flag_gpus(nv_box, machine, built, specs, engine):
    """Each word of it is a name of the vendor's kind: a number is no count."""
    cdi.write(specs, built / "hooks/nvidia-devices/nvidia-devices", "--cdi=nvidia.com/gpu", "--max-devices", "3",
              sysroot=machine.path)
    for words, gpus in (("2", [2]), ("0,1", [0, 1]), (machine.gpus[5].uuid, [5]), ("any:1", 1), ("all", 3)):
        box = nv_box(engine=engine)
        box.times = 0
        box.options += ["--gpus", words]
        seen = probed(started(box.run(f"{PROBE} probe /dev/nvidia*")))
        places = [place for place, gpu in enumerate(machine.gpus) if gpu.node in seen]
        assert gpus in (places, len(places)), (words, seen)
        assert seen == given(*(machine.gpus[place] for place in places))
    box = nv_box(engine=engine)
    box.times = 0
    box.options += ["--gpus", "0,1,2,3"]
    result = box.run("echo started")
    assert result.code != 0 and result.out == "" and result.hook_status == 5, result.err


@pytest.mark.parametrize("engine", ENGINES[:2], ids=str)
def test_an_amd_gpu(amd_box, amd_machine, built, specs, engine):
    cdi.write(specs, built / "hooks/amd-kfd/amd-kfd", sysroot=amd_machine.path)
    box = amd_box(engine=engine)
    box.times = 0
    box.options += ["--device", f"{cdi.KIND}/amd-kfd=0"]
    assert probed(started(box.run(SHOW))) == given_amd(amd_machine.gpus[0])
