# SPDX-License-Identifier: Apache-2.0
"""podman gives GPUs by the name of a CDI device, the vendor's own names too, within the policy of the host; and what
the pages say of it."""

import json
import re

import pytest

from harness import amd_container, cdi_gpus, engines, nvidia_container
from harness.expect import started
from harness.pages import guide, page, value_at
from hosts.amd import CPX, SPX, AmdHost
from hosts.nvidia import CAPS, EIGHT, gi_minor

pytest_plugins = ["harness.nvidia_fixtures", "harness.amd_fixtures"]

PODMAN = engines.PODMANS[0]
VENDORS = {"nvidia-devices": "nvidia.com/gpu", "amd-kfd": "amd.com/gpu"}


@pytest.fixture(name="amd_machine")
def amd_machine_fixture(scratch):
    return AmdHost(scratch / "machine", gpus=SPX)


@pytest.fixture(name="specs")
def specs_fixture(nv_host, scratch):
    """The directory /etc/cdi of the host, which may be written."""
    host = nv_host()
    for name in ("etc", "work"):
        (scratch / name).mkdir()
    (scratch / "etc/cdi").mkdir()
    host.mount("-t", "overlay", "-o", f"lowerdir=/etc,upperdir={scratch}/etc,workdir={scratch}/work", "overlay", "/etc")
    return scratch / "etc/cdi"


@pytest.fixture(name="vendor", params=VENDORS)
def vendor_fixture(request, specs):  # pylint: disable=unused-argument
    """With its `run`, by podman: no file of hooks.d is there, and no annotation."""
    if request.param == "nvidia-devices":
        machine, make = request.getfixturevalue("machine"), request.getfixturevalue("nv_box")
        hook, gpus, given = request.getfixturevalue("nv_hook"), machine.gpus, nvidia_container.given
        show = f"{nvidia_container.PROBE} probe $(find /dev -name 'nvidia*' -type c | sort)"
    else:
        machine, make = request.getfixturevalue("amd_machine"), request.getfixturevalue("amd_box")
        hook, gpus, given, show = request.getfixturevalue("amd_hook"), SPX, amd_container.given, amd_container.SHOW
    vendor = cdi_gpus.Vendor(VENDORS[request.param], hook, machine, gpus, given)

    def box(*devices, hooks=0):
        made = make(engine=PODMAN)
        made.times = hooks
        made.options += [word for device in devices for word in ("--device", device)]
        return made

    vendor.show, vendor.box = show, box
    vendor.run = lambda *devices, **more: box(*devices, **more).run(show)
    return vendor


def test_devices_of_the_vendors_kind(vendor, specs):
    vendor.write(specs, f"--cdi={vendor.kind}")
    cdi_gpus.devices_bring_gpus(vendor, vendor.kind, vendor.run)
    cdi_gpus.all_of_them(vendor, vendor.kind, vendor.run)


def test_an_instance_of_a_gpu(specs, nv_hook, nv_box, machine):
    """By a name without a slash, which CDI does not allow. No other name is left out without a word."""
    machine.add_instance(1, 1, 0)
    machine.add_instance(1, 7, 0)
    vendor = cdi_gpus.Vendor(VENDORS["nvidia-devices"], nv_hook, machine, machine.gpus, nvidia_container.given)
    names = vendor.write(specs)
    assert {"1:7:0", f"{EIGHT[1].uuid}:7:0", f"{EIGHT[1].address}:7:0"} <= {*names} and not any("/" in n for n in names)
    box = nv_box(engine=PODMAN)
    box.times = 0
    box.options += ["--device", "io.oci-gpu-hooks/nvidia-devices=1:7:0"]
    outer = gi_minor(EIGHT[1], 7)
    caps = {f"/dev/nvidia-caps/nvidia-cap{minor}": nvidia_container.node(CAPS, minor, mode="444")
            for minor in (outer, outer + 1)}
    show = f"{nvidia_container.PROBE.replace('<>', '<')} probe $(find /dev -name 'nvidia*' -type c | sort)"
    seen = nvidia_container.probed(started(box.run(show)))
    assert seen == nvidia_container.given(EIGHT[1]) | caps


def test_partitions_have_the_names_that_annotations_accept(scratch, amd_hook):
    """All 64 of a host with more GPUs than most, each by its number, place and id."""
    machine = AmdHost(scratch / "cpx", gpus=CPX)
    vendor = cdi_gpus.Vendor(VENDORS["amd-kfd"], amd_hook, machine, CPX, amd_container.given)
    names = {*vendor.write(scratch)}
    assert {"63", "gpu63", "any:64", "7:7", "gfx942", "any:gfx942:64", CPX[63].uuid, CPX[63].address,
            f"renderD{CPX[63].render}", f"card{CPX[63].card}"} <= names


def test_the_policy_counts_what_the_container_has(vendor, specs):
    vendor.write(specs, f"--cdi={vendor.kind}", "--max-devices", "2")
    cdi_gpus.the_policy_holds(vendor, vendor.kind, vendor.run)


def test_a_device_adds_to_the_annotation(vendor, specs):
    """The container asks in two ways, and has what both bring."""
    vendor.write(specs)
    name = vendor.hook.executable.name
    box = vendor.box(f"io.oci-gpu-hooks/{name}=any:1", hooks=1)
    box.annotations[f"io.oci-gpu-hooks.{name}"] = "any:1"
    assert len(vendor.gpus_of(box.run(vendor.show))) == 2


def test_the_pages_examples(vendor, specs):
    """Each command line with a device, by podman, whatever engine it is for; and the specification that docs/cdi.md
    has, which is NVIDIA's, with one such device for each GPU."""
    name = vendor.hook.executable.name
    text, own = page(f"{name}.8"), guide("cdi.md").replace("nvidia-devices", name)
    written = value_at(own, own.rindex("{", 0, own.index('"cdiVersion": "0.5.0"')))
    if name != "nvidia-devices":
        del written["devices"][0]["containerEdits"]["hooks"][1]  # ldcache-update
    first, = written["devices"]
    assert first["containerEdits"]["hooks"][0]["path"].endswith(f"/libexec/oci/hooks.d/{name}")
    assert first["containerEdits"]["hooks"][0]["args"][-1] == "0"
    written["devices"].append(json.loads(json.dumps(first).replace('"0"', '"1"')))
    vendor.write_out(specs, written)
    for line in re.findall(rf"^ *# (?:\S*/)?{name} (--cdi.*) >/etc/cdi/(\S+)$", text, re.MULTILINE):
        vendor.write(specs, *line[0].split(), name=line[1])
    lines = [*cdi_gpus.lines_with_devices(text), *cdi_gpus.lines_with_devices(own)]
    assert {vendor.kind, written["kind"], f"io.oci-gpu-hooks/{name}"} == {
        device.split("=")[0] for _, devices in lines for device in devices}
    of_all = [each for file in ("docker.md", "podman.md") for each in cdi_gpus.lines_with_devices(guide(file))]
    assert any(f"{vendor.kind}=" in line for line, _ in of_all)
    lines += [each for each in of_all if re.search(f"(oci-gpu-hooks/{name}|{vendor.kind})=", each[0])]
    for line, devices in lines:
        names = [device.split("=")[1] for device in devices]
        wanted = 8 if names == ["all"] else len(names)
        assert len(vendor.gpus_of(vendor.run(*devices))) == wanted, line
