# SPDX-License-Identifier: Apache-2.0
"""oci-gpu-hooks check: what has failed by the kernel's log and sysfs, what of it is drained, and what never is."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from hosts import amd, nvidia

from harness.admin import InstalledHost, later
from harness.check import FAILED, FIRST, NOT_LOOKED_AT, NOTHING, SECOND, SLOT, XT, xid
from harness.host import LIMIT_S
from harness.leases import DIRECTORY

pytest_plugins = ["harness.check_fixtures"]

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
RESET = "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
OVER = "GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"
LOADING = "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  601.10.03  Release Build"
ALONE = " (not drained: only the kernel's log says so)"
# The lists of the table; what NVIDIA's catalogue says of each stands in it.
DRAIN = (46, 48, 62, 64, 79, 95, 110, 119, 120, 136, 140, 143, 156, 158)
REPORT = (13, 31, 43, 45, 61, 63, 68, 74, 92, 94, 109, 121, 155, 160, 162, 9999)


def test_nothing_is_found(checked):
    found, status = checked.find("--drain")
    assert (status, found["status"], found["gpus"]) == (NOTHING, "nothing found", 4)
    assert not found["faults"] and not found["reports"] and not found["notes"] and not checked.drains()
    assert checked.run().stdout == "4 GPUs: nothing found\n"


@pytest.mark.parametrize("number", DRAIN)
def test_an_xid_that_is_a_failure_where_the_bus_shows_it_too(checked, number):
    checked.log(xid(number), xid(number))
    found, status = checked.find("--drain")
    assert (status, found["faults"], checked.drains()) == (NOTHING, [], [])
    [report] = found["reports"]
    assert report["text"].startswith(f"Xid {number}: ") and report["text"].endswith(ALONE) and report["count"] == 2
    checked.falls(FIRST, xid(number))
    found, status = checked.find("--drain")
    assert (status, found["status"], found["reports"]) == (FAILED, "failed", [])
    assert [fault["text"] + ALONE for fault in found["faults"] if fault["text"].startswith("Xid ")] == [report["text"]]
    assert {fault["address"] for fault in found["faults"]} == {FIRST.address}
    assert [(gpu, by) for gpu, by, _ in checked.drains()] == [("0", "oci-gpu-hooks check")]


@pytest.mark.parametrize("number", REPORT)
def test_an_xid_that_is_reported_alone(checked, number):
    checked.log(xid(number), xid(number))
    found, status = checked.find("--drain")
    assert (status, found["faults"], checked.drains()) == (NOTHING, [], [])
    [report] = found["reports"]
    assert report["text"].startswith(f"Xid {number}: ") and report["count"] == 2
    assert not checked.find()[0]["reports"], "each message is looked at once"


@pytest.mark.parametrize("action, fails", [
    ("0x0 (None)", False), ("0x1 (GPU Reset Required)", True), ("0x1 (PF FLR)", True), ("0x2 (Node Reboot Required)", True),
    ("0x2 (OS Reboot)", True), ("0x3 (Drain P2P)", False), ("0x4 (Drain and Reset)", True), ("0x5 (Recover IMEX)", False),
    ("0x6 (Bus Reset)", True), ("0x7 (System Reboot)", True), ("0x8 (Something New)", False), ("0x", False)])
def test_the_drivers_own_verdict(checked, action, fails):
    checked.log(xid(154, f"GPU recovery action changed from 0x9 (x) to {action}"))
    [report] = checked.find("--drain")[0]["reports"]
    assert report["text"].endswith(ALONE) == fails and not checked.drains()


def test_the_drivers_verdict_counts_more(checked):
    checked.falls(SECOND, xid(79, slot=SECOND.address[:-2]), xid(154, RESET, slot=SECOND.address[:-2]))
    assert checked.drained() == ["1"]
    assert [fault["text"] for fault in checked.find()[0]["faults"] if "154" in fault["text"]] == [
        "Xid 154, recovery action: reset the GPU"]


def test_instances_and_words_of_programs(checked):
    """Which address it is, and where the driver's own words end."""
    checked.log(f"NVRM: Xid (PCI:{SLOT} GPU-I:05): 13, pid='<unknown>', name=<unknown>, Graphics Exception",
                xid(31, "pid=1, name=79, GPU recover"),
                xid(154, "pid=1, name=) to 0x2 (, GPU recovery action changed from 0x1 (x) to 0x0 (None)"),
                f"NVRM: Xid (PCI:{SLOT} GPU-I:05): 95, pid=7, name=python, Uncontained")
    assert [report["text"].endswith(ALONE) for report in checked.find("--drain")[0]["reports"]] == [
        False, False, False, True]


FORGED = [
    (xid(79), 1), (xid(79), 3), (xid(154, RESET), 1), (f"amdgpu {XT}: amdgpu: GPU reset end with ret = -110", 1)]
NOT_FROM_THE_FIRST_BYTE = [
    f"sh[1]: {xid(79)}", f" {xid(79)}", f"x\\x0a{xid(79)}", f"<4>{xid(79)}", f"NVRM:  Xid (PCI:{SLOT}): 79, x",
    f"NVRM: Xid (PCI:{SLOT}): 79x, x", f"NVRM: Xid (PCI:{SLOT}", f"NVRM: Xid (PCI:{SLOT}): -79, x",
    f"NVRM: Xid (PCI:{SLOT}): 79", "NVRM: Xid (PCI:zz): 79, x", "NVRM: Xid (PCI:): 79, x",
    f"amdgpu {XT}: amdgpu:  Process GPU reset end w pid 1", f"amdgpu {XT}: x GPU reset end with ret = -1",
    f"{xid(79)}IN=eth0 OUT= MAC=52:54 SRC=10.0.2.2 DST=10.0.2.15 LEN=40", f"{xid(79)}IN= OUT=lo ARP HTYPE=1",
    f"{xid(154, RESET)} IN=br0 OUT=br1 MACSRC=52:54 MACDST=52:55", f"{xid(79)}IN=tun0 OUT= ", f"{xid(79)}IN= OUT=a TRUNCATED",
    # As recorded of nft and ebtables.
    f"{xid(79)} IN= OUT=lo SRC=0000:0000:0000:0000:0000:0000:0000:0001 DST=0000:0000:0000:0000:0000:0000:0000:0001 LEN=56 "
    "TC=0 HOPLIMIT=64 FLOWLBL=0 OPT ( FRAG:0 INCOMPLETE ID:abcdef01 ) PROTO=59 UID=0 GID=0 ",
    f"{xid(48)} IN=v0 OUT= MAC source = 02:02:02:02:02:02 MAC dest = ff:ff:ff:ff:ff:ff proto = 0x86dd IPv6 SRC=0000:0000:0000:"
    "0000:0000:0000:0000:0000 IPv6 DST=0000:0000:0000:0000:0000:0000:0000:0000, IPv6 priority=0x0, Next Header=0",
    f"{xid(79)} IN=a OUT=b said IN=lo OUT= SRC=127.0.0.1 DST=127.0.0.1 DF PROTO=UDP INCOMPLETE [8 bytes] [SRC=1 DST=2 ] "]


@pytest.mark.parametrize("text, facility", FORGED)
def test_what_a_process_writes_into_the_log(checked, text, facility):
    """Root of a privileged container can write to /dev/kmsg; the kernel marks it."""
    checked.log(text, facility=facility)
    found, status = checked.find("--drain")
    assert (status, found["faults"], found["reports"], checked.drains()) == (NOTHING, [], [], [])


@pytest.mark.parametrize("text", NOT_FROM_THE_FIRST_BYTE)
def test_what_is_no_message_of_a_driver_from_its_first_byte(checked, text):
    checked.log(text)
    found, status = checked.find("--drain")
    assert (status, found["faults"], found["reports"], checked.drains()) == (NOTHING, [], [], [])


def test_amdgpus_messages_have_the_device_in_a_field(checked):
    """Which no text has a say in: not that of a record, nor that of another one."""
    checked.log(AMD_FAILED, device="")
    checked.log(AMD_FAILED, device=f"+pci:{FIRST.address}")
    checked.log(f"{AMD_FAILED}\\x0a DEVICE=+pci:{XT}", device="")
    checked.log(f"amdgpu {XT}: amdgpu: something")
    checked.log(AMD_FAILED, device="")
    found, status = checked.find("--drain")
    assert (status, found["faults"], found["reports"], checked.drains()) == (NOTHING, [], [], [])


def test_messages_of_what_the_host_does_not_have(checked):
    """No such GPU is drained, and nobody's inventions are repeated without an end."""
    checked.log(xid(79, slot="0000:77:00"), "amdgpu 0000:77:00.0: amdgpu: GPU reset end with ret = -110")
    found, status = checked.find("--drain", "--wedged", "0000:77:00.0=rebind")
    assert (status, found["faults"], found["reports"], checked.drains()) == (NOTHING, [], [], [])
    assert found["notes"] == [
        "3 messages are left out: of GPUs that this host does not have, or more than can be shown"]
    checked.log(*(xid(9000 + number) for number in range(300)))
    found, _ = checked.find()
    assert len(found["reports"]) == 256 and found["notes"][0].startswith("44 messages are left out")


def test_a_line_of_another_record_is_none(checked):
    """What stands behind a record's first line belongs to it."""
    with open(checked.host.path / "dev/kmsg", "a", encoding="ascii") as file:
        file.write(f"4,0,1,-;x\n 4,1,1,-;{xid(79)}\n4,1;{xid(79)}\n,,;{xid(79)}\nx,1,1,-;{xid(79)}\n")
    assert not checked.drained()


AMD_FAILED = f"amdgpu {XT}: amdgpu: GPU reset end with ret = -110"
AMD_LATER = f"amdgpu {XT}: GPU reset end with ret = -62"
AMD_RING = f"amdgpu {XT}: amdgpu: ring gfx_0.0.0 timeout, signaled seq=7, emitted seq=9"
AMD_OVER = [f"amdgpu {XT}: amdgpu: GPU reset(2) succeeded!", f"amdgpu {XT}: GPU reset(2) succeeded!"]


@pytest.mark.parametrize("text", [AMD_FAILED, AMD_LATER])
def test_a_reset_of_amdgpu_that_failed(checked, text):
    checked.log(AMD_RING, f"amdgpu {XT}: amdgpu: GPU reset begin!", text)
    found, status = checked.find("--drain")
    assert status == FAILED and found["reports"][0]["text"] == "ring gfx_0.0.0 timeout"
    assert [(by, reason) for _, by, reason in checked.drains()] == [
        ("oci-gpu-hooks check", f"its reset failed: {text.split('ret = ')[1]}")]


@pytest.mark.parametrize("end", AMD_OVER)
def test_a_reset_of_amdgpu_that_succeeded(checked, end):
    checked.log(AMD_RING, f"amdgpu {XT}: amdgpu: GPU reset begin!", end)
    assert not checked.drained()
    checked.log(AMD_FAILED, end)
    assert not checked.drained()
    checked.log(AMD_FAILED)
    assert len(checked.drained()) == 1
    checked.log(end)
    assert checked.find("--drain", "--settle", "0s")[1] == NOTHING and not checked.drains()


@pytest.mark.parametrize("method, drains", [
    ("none", False), ("rebind", True), ("bus-reset", True), ("vendor-specific", True), ("unknown", True),
    ("rebind,bus-reset", True)])
def test_a_uevent(checked, method, drains):
    assert checked.find("--drain", "--wedged", f"{XT}={method}")[1] == (FAILED if drains else NOTHING)
    assert len(checked.drains()) == (1 if drains else 0)
    assert checked.find("--drain", "--wedged", f"{XT}=none", "--settle", "0s")[1] == NOTHING
    assert not checked.drains()


@pytest.mark.parametrize("words", [["--wedged", XT], ["--wedged", "x=rebind"], ["--wedged", f"{XT}="], ["--settle", "x"],
                                   ["--kmsg", "/x", "--drain"], ["--kmsg", "/x", "--wedged", f"{XT}=none"],
                                   ["--kmsg", "/x", "--max-uncorrectable", "0"], ["--format", "xml"]])
def test_what_cannot_be_asked(checked, words):
    assert checked.run(*words).returncode == 2


# What was drained is given again

def test_a_drain_ends_when_it_is_over_and_has_settled(checked):
    checked.log(AMD_FAILED)
    assert checked.drained() == ["0"]
    checked.log(AMD_OVER[0])
    found, status = checked.find("--drain")
    assert (status, found["faults"][0]["over"]) == (NOTHING, True) and len(checked.drains()) == 1
    assert "is well again" in checked.run().stdout
    checked.find("--settle", "0s")
    assert len(checked.drains()) == 1, "only who drains gives again"
    assert checked.find("--drain", "--settle", "0s")[1] == NOTHING
    assert not checked.drains() and not checked.memory()["faults"]


def test_a_failure_after_the_end_of_another_one(checked):
    checked.log(AMD_FAILED)
    checked.drained()
    checked.log(AMD_OVER[0], AMD_LATER)
    assert checked.find("--drain", "--settle", "0s")[1] == FAILED
    assert [reason for *_, reason in checked.drains()] == ["its reset failed: -62"]


def test_a_drain_lasts_without_a_sign(checked):
    """Words of the log are none: those of a driver that is loaded, and of one that has reset its GPU."""
    checked.falls(FIRST)
    checked.log(AMD_FAILED)
    assert checked.drained() == ["0", "0"]
    checked.host.revive(FIRST.address)
    checked.log(LOADING, xid(13), xid(154, OVER), f"[drm] Initialized amdgpu 3.64.0 for {XT} on minor 1")
    checked.log(*AMD_OVER, device="")
    assert checked.find("--drain", "--settle", "0s")[1] == FAILED and len(checked.drains()) == 2


def test_a_driver_has_taken_a_gpu_anew(checked):
    for gpu in nvidia.TWO:
        checked.falls(gpu)
    checked.log(AMD_FAILED)
    assert sorted(checked.drained()) == ["0", "0", "1"]
    for gpu in nvidia.TWO:
        checked.host.revive(gpu.address)
    checked.host.bind("nvidia", FIRST.address)
    assert checked.find("--drain", "--settle", "0s")[1] == FAILED
    assert sorted(reason for *_, reason in checked.drains()) == [
        "Xid 79: the GPU has fallen off the bus", "its reset failed: -110"]
    checked.host.remove(f"sys/bus/pci/drivers/amdgpu/{XT}")
    assert checked.find("--drain", "--settle", "0s")[1] == FAILED, "it has not taken it yet"
    checked.host.bind("amdgpu", XT)
    checked.host.bind("nvidia", SECOND.address)
    assert checked.find("--drain", "--settle", "0s")[1] == NOTHING and not checked.drains()


def test_a_persons_drain_is_left_alone(checked):
    checked.hook("--drain", "0=dust", name="amd-kfd")
    checked.log(AMD_FAILED)
    checked.find("--drain")
    assert sorted(checked.drains()) == [("0", "", "dust"), ("0", "oci-gpu-hooks check", "its reset failed: -110")]
    checked.log(AMD_OVER[0])
    checked.find("--drain", "--settle", "0s")
    assert checked.drains() == [("0", "", "dust")]


def test_what_a_person_gives_again_stays_given(checked):
    checked.log(AMD_FAILED)
    assert checked.drained() == ["0"]
    checked.hook("--undrain", "0", name="amd-kfd")
    found, status = checked.find("--drain")
    assert (status, found["faults"], checked.drains()) == (NOTHING, [], [])
    checked.log(AMD_FAILED)
    assert checked.drained() == ["0"], "it has failed once more"


def test_who_only_looks_drains_nothing_and_loses_nothing(checked):
    checked.log(AMD_FAILED)
    for _ in range(2):
        assert checked.find()[1] == FAILED and not checked.drains()
    assert "it is not drained" in checked.run().stdout
    assert checked.drained() == ["0"]
    assert "it is drained" in checked.run().stdout


def test_a_memory_that_is_lost_ends_no_drain(checked):
    checked.log(AMD_FAILED)
    checked.drained()
    (checked.host.path / DIRECTORY / "check").write_text("{", "utf-8")
    (checked.host.path / "dev/kmsg").write_text("", "utf-8")
    assert checked.find("--drain", "--settle", "0s")[1] == FAILED and len(checked.drains()) == 1
    checked.log(AMD_OVER[0])
    assert checked.find("--drain", "--settle", "0s")[1] == NOT_LOOKED_AT and not checked.drains()


# What cannot be looked at

def test_messages_that_the_kernel_has_dropped(checked):
    checked.log("a", "b")
    assert checked.find()[1] == NOTHING
    (checked.host.path / "dev/kmsg").write_text(f"4,7,1,-;{xid(31)}\n", "utf-8")
    found, status = checked.find("--drain")
    assert (status, found["status"]) == (NOT_LOOKED_AT, "not looked at") and len(found["reports"]) == 1
    assert found["not_looked_at"][0].startswith("5 messages of the kernel's log")
    assert checked.find()[1] == NOTHING


def test_the_log_of_another_boot(checked):
    """The same log is read from its beginning, and what was known of the GPUs is forgotten."""
    checked.log("a", "b")
    checked.find()
    checked.memory(lambda document: document.update(
        boot="0", next=99, faults=[{"gpu": f"nvidia:{SECOND.address}", "text": "x", "evidence": 0, "since": 1,
                                    "over_ns": 0, "is_drained": False, "binding": 0}]))
    found, status = checked.find("--drain")
    assert (status, found["faults"], checked.drains(), checked.memory()["next"]) == (NOTHING, [], [], 2)


def test_there_is_no_log(checked):
    (checked.host.path / "dev/kmsg").unlink()
    found, status = checked.find("--drain")
    assert status == NOT_LOOKED_AT and found["not_looked_at"] == ["the kernel's log: there is no /dev/kmsg"]
    (checked.host.path / "dev/kmsg").symlink_to("console")
    checked.host.node("dev/console", 5, 1)
    assert "is not the kernel's log here" in checked.find()[0]["not_looked_at"][0]
    (checked.host.path / "dev/kmsg").unlink()
    checked.host.node("dev/kmsg", 1, 3)
    assert "is not the kernel's log here" in checked.find()[0]["not_looked_at"][0]


def test_only_root_may_look(oci_gpu_hooks):
    done = subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", oci_gpu_hooks, "check"],
                          check=False, capture_output=True, encoding="utf-8")
    assert done.returncode == 6 and "only root may do this" in done.stderr


# Cases that must not drain

def test_another_pid_namespace(checked, oci_gpu_hooks):
    """There the host's leases are not known: it is said, and nothing is changed."""
    checked.hook("--drain", "1")
    checked.log(AMD_FAILED)
    words = ["unshare", "--pid", "--fork", "--mount-proc", oci_gpu_hooks, "check", "--sysroot", checked.host, "--drain"]
    done = subprocess.run(words, check=False, capture_output=True, encoding="utf-8")
    assert done.returncode == 6 and "another pid namespace" in done.stderr
    assert checked.drains() == [("1", "", "")]
    assert checked.drained() == ["0"], "the message is not lost"


SUSPENDED = ["nvidia 0000:18:00.0: can't change power state from D3cold to D0", "NVRM: GPU 0000:18:00.0: suspending",
             f"amdgpu {XT}: amdgpu: PSP is resuming...", "PM: suspend entry (deep)", "PM: suspend exit",
             "[drm] PCIE GART of 512M enabled.", f"amdgpu {XT}: amdgpu: SMU is resumed successfully!"]
PERSISTENCE_OFF = ["NVRM: GPU 0000:18:00.0: RmInitAdapter", "nvidia-nvlink: Unregistered Nvlink Core, major device number 236"]
UPGRADE = ["NVRM: API mismatch: the client has the version 601.10.05, but\\x0aNVRM: this kernel module has the version "
           "601.10.03.", "nvidia-modeset: Unloading", LOADING, "nvidia-nvlink: Nvlink Core is being initialized"]
MIG = [f"NVRM: Xid (PCI:{SLOT} GPU-I:01): 45, pid=9, name=nvidia-smi, Ch 00000008", "NVRM: MIG mode changed"]
VFIO = ["vfio-pci 0000:18:00.0: vgaarb: changed VGA decodes", "vfio-pci 0000:18:00.0: enabling device (0000 -> 0003)",
        "vfio-pci 0000:18:00.0: resetting"]
DCGM = [f"NVRM: Xid (PCI:{SLOT}): 43, pid=8, name=dcgmproftester1, Ch 00000010",
        f"NVRM: Xid (PCI:{SLOT}): 45, pid=8, name=nvidia-device-p, Ch 00000010"]


@pytest.mark.parametrize("messages", [SUSPENDED, PERSISTENCE_OFF, UPGRADE, MIG, VFIO, DCGM, [xid(63)], [xid(94)],
                                      [xid(154, OVER)], [xid(79)], [AMD_RING]], ids=str)
def test_messages_of_what_is_no_failure(checked, messages):
    checked.log(*messages)
    found, status = checked.find("--drain", "--max-uncorrectable", "0")
    assert (status, found["faults"], checked.drains()) == (NOTHING, [], [])


VIRTUAL, SWITCH = "0000:18:00.4", "0000:c1:00.0"
UNLISTED = later.remove(f"proc/driver/nvidia/gpus/{SECOND.address}")
NOT_LISTED = "has its driver, and no hook lists it"
# How a host is without a failure, and what is said of it.
HOSTS = {
    "no node": (later.remove(f"dev/nvidia{FIRST.minor}"), []),
    "no KFD": (later.remove(amd.AmdHost.directory_in_kfd(amd.BOTH, amd.XT)), [f"the amd GPU {XT} {NOT_LISTED}"]),
    "unlisted": (UNLISTED, [f"the nvidia GPU {SECOND.address} {NOT_LISTED}"]),
    "given to a VM": (
        UNLISTED.remove(f"sys/bus/pci/drivers/nvidia/{SECOND.address}").bind("vfio-pci", SECOND.address), []),
    "virtual functions": (later.add_device(VIRTUAL, "nvidia").link(
        f"{InstalledHost.device_directory(VIRTUAL)}/physfn", "../0000:18:00.0").bind("nvidia", VIRTUAL), []),
    "an NVSwitch": (later.add_device(SWITCH, "nvidia").bind("nvidia", SWITCH).write(
        f"{InstalledHost.device_directory(SWITCH)}/class", "0x068000\n"), []),
    "the driver is away": (later.remove("proc/driver").remove("sys/bus/pci/drivers/nvidia"), []),
    "asleep": (later.power(XT, "suspended").write(
        f"{InstalledHost.device_directory(XT)}/ras/umc_err_count", "ue: 9\nce: 0\n"), []),
}


@pytest.mark.parametrize("name", HOSTS)
def test_hosts_without_a_failure(checked, name):
    change, notes = HOSTS[name]
    change(checked.host)
    found, status = checked.find("--drain", "--max-uncorrectable", "0")
    assert (status, found["faults"], found["notes"], checked.drains()) == (NOTHING, [], notes, [])


@pytest.mark.parametrize("gpu, name", [(FIRST, "0"), (amd.XT, "0")])
def test_a_gpu_that_looks_dead(checked, gpu, name):
    """It is given again some time after it has answered."""
    checked.host.kill(gpu.address)
    found, status = checked.find("--drain")
    assert status == FAILED and found["faults"][0]["address"] == gpu.address
    assert checked.drains() == [(name, "oci-gpu-hooks check", "it looks dead: nothing answers for it on its bus")]
    checked.log(*([xid(154, OVER)] if gpu is FIRST else [AMD_OVER[0]]))
    assert checked.find("--drain", "--settle", "0s")[1] == FAILED and checked.drains()
    checked.host.power(gpu.address, "suspended")
    assert checked.find("--drain", "--settle", "0s")[1] == FAILED and checked.drains(), "it is not asked"
    checked.host.power(gpu.address, "active")
    checked.host.revive(gpu.address)
    assert checked.find("--drain")[1] == NOTHING and checked.drains()
    assert checked.find("--drain", "--settle", "0s")[1] == NOTHING and not checked.drains()


def test_a_gpu_that_fell_off_the_bus_and_answers_again(checked):
    """The driver has to have it from the start: what it said counts until then."""
    checked.falls(FIRST)
    assert len(checked.find("--drain")[0]["faults"]) == 2 and len(checked.drains()) == 1
    checked.host.revive(FIRST.address)
    assert checked.find("--drain", "--settle", "0s")[1] == FAILED
    checked.host.bind("nvidia", FIRST.address)
    assert checked.find("--drain", "--settle", "0s")[1] == NOTHING and not checked.drains()


@pytest.mark.parametrize("status", ["suspended", "suspending", "resuming"])
def test_a_gpu_that_sleeps_is_not_woken(checked, status):
    checked.falls(FIRST)
    checked.host.power(FIRST.address, status)
    assert checked.find("--drain")[1] == NOTHING and not checked.drains()


def test_uncorrectable_errors(checked):
    directory = f"{checked.host.device_directory(XT)}/ras"
    checked.host.write(f"{directory}/umc_err_count", "ue: 2\nce: 70\n")
    checked.host.write(f"{directory}/gfx_err_count", "ue: 1\nce: 0\n")
    checked.host.write(f"{directory}/sdma_err_count", "Query currently inaccessible\n")
    assert checked.find("--drain")[1] == NOTHING
    assert checked.find("--drain", "--max-uncorrectable", "3")[1] == NOTHING
    assert checked.find("--drain", "--max-uncorrectable", "2")[1] == FAILED
    assert [reason for *_, reason in checked.drains()] == ["3 uncorrectable errors of its memory"]


# What others make of it

def npd(checked, *words):
    done = checked.run("--format", "npd", *words)
    assert done.stderr == "" and done.stdout.endswith("\n") and done.stdout.count("\n") == 1
    assert len(done.stdout) <= 81 and done.stdout.isascii()
    return done.stdout[:-1], done.returncode


def test_for_node_problem_detector(checked):
    assert npd(checked) == ("4 GPUs: nothing found", 0)
    checked.log(xid(79))
    assert npd(checked, "--drain") == ("4 GPUs: nothing found", 0)
    checked.log(AMD_FAILED)
    assert npd(checked, "--drain") == (f"GPU 0 ({XT}): its reset failed: -110", 1)
    checked.falls(FIRST)
    line, status = npd(checked)
    assert status == 1 and line.startswith(f"3 faults, GPU 0 ({XT}): ")
    checked.host.revive(FIRST.address)
    checked.hook("--undrain", "0", name="amd-kfd")
    checked.memory(lambda document: document.update(faults=[]))
    (checked.host.path / "dev/kmsg").unlink()
    assert npd(checked) == ("not looked at: the kernel's log: there is no /dev/kmsg", 2)
    checked.host.remove("run")
    checked.host.write("run", "")
    line, status = npd(checked)
    assert status == 2 and len(line) == 80


@pytest.fixture(name="script")
def script_fixture(checked, oci_gpu_hooks, tmp_path):
    """Runs a script of the examples on the host, with a scontrol that writes down what it is told."""
    binaries = tmp_path / "bin"
    binaries.mkdir()
    for name, text in {"oci-gpu-hooks": f'exec {oci_gpu_hooks} "$@" --sysroot {checked.host}',
                       "scontrol": f'printf "%s\\n" "$@" >>{tmp_path}/told; cat {tmp_path}/node'}.items():
        (binaries / name).write_text(f"#!/bin/sh\n{text}\n", "utf-8")
        (binaries / name).chmod(0o755)
    (tmp_path / "node").write_text("   State=IDLE ThreadsPerCore=1\n", "utf-8")

    def run(name):
        done = subprocess.run([EXAMPLES / "node-health" / name], check=False, capture_output=True, encoding="utf-8",
                              env={"PATH": f"{binaries}:/usr/bin:/bin", "SLURMD_NODENAME": "n1"})
        assert done.stderr == ""
        told = tmp_path / "told"
        return done.returncode, told.read_text("utf-8").splitlines() if told.exists() else []
    return run


def test_for_slurm(checked, script, tmp_path):
    checked.log(xid(79))
    assert script("slurm-health-check") == (0, [])
    checked.log(AMD_FAILED)
    reason = f"Reason=GPU 0 ({XT}): its reset failed: -110"
    words = ["show", "node", "n1", "update", "NodeName=n1", "State=drain", reason]
    assert script("slurm-health-check") == (0, words)
    (tmp_path / "node").write_text("   State=IDLE+DRAIN ThreadsPerCore=1\n", "utf-8")
    assert script("slurm-health-check") == (0, [*words, "show", "node", "n1"])


def test_for_nhc(checked, script):
    assert script("no-gpu-has-failed")[0] == 0
    (checked.host.path / "dev/kmsg").unlink()
    assert script("no-gpu-has-failed")[0] == 0, "what could not be looked at takes no node out"
    checked.host.kill(FIRST.address)
    assert script("no-gpu-has-failed")[0] == 1


def test_the_other_examples():
    monitor = json.loads((EXAMPLES / "node-health/gpu-monitor.json").read_text("utf-8"))
    [rule] = monitor["rules"]
    assert rule["args"] == ["check", "--format", "npd"] and monitor["pluginConfig"]["max_output_length"] == 80
    assert rule["condition"] == monitor["conditions"][0]["type"]
    only_if_enabled, line, end = [line for line in
                                  (EXAMPLES / "systemd/90-oci-gpu-hooks-check.rules").read_text("utf-8").splitlines()
                                  if line and not line.startswith("#")]
    assert "oci-gpu-hooks check --drain --wedged $id=$env{WEDGED}" in line and 'ENV{WEDGED}=="?*"' in line
    [wanted] = re.findall("WantedBy=(.*)", (EXAMPLES / "systemd/oci-gpu-hooks-check.timer").read_text("utf-8"))
    [label] = re.findall('^LABEL="(.*)"$', end)
    assert only_if_enabled == \
        f'TEST!="/etc/systemd/system/{wanted}.wants/oci-gpu-hooks-check.timer", GOTO="{label}"'


def test_a_recorded_log(checked, tmp_path):
    """It needs no GPU, changes nothing, and is told from the kernel's own."""
    file = tmp_path / "kmsg"
    file.write_text(f"4,700,1,-;{xid(79)}\n4,900,1,-;{xid(31)}\n12,901,1,-;{xid(48)}\n", "utf-8")
    found, status = checked.find("--kmsg", str(file))
    assert (status, [fault["text"] for fault in found["faults"]]) == (FAILED, ["Xid 79: the GPU has fallen off the bus"])
    assert found["reports"][0]["text"] == "Xid 31: page fault of the GPU" and not found["not_looked_at"]
    assert not (checked.host.path / "run").exists()
    assert checked.run("--kmsg", "/does/not/exist").returncode == 3


def test_the_real_log(checked):
    """This machine's kernel marks what a process writes; it has no such GPU."""
    (checked.host.path / "dev/kmsg").unlink()
    checked.host.node("dev/kmsg", 1, 11)
    checked.find("--drain")
    seen = checked.memory()["next"]
    with open(checked.host.path / "dev/kmsg", "w", encoding="ascii") as log:
        log.write(f"<4>{xid(79)}\n")
    found, status = checked.find("--drain")
    assert (status, found["faults"], found["reports"], checked.drains()) == (NOTHING, [], [], [])
    assert checked.memory()["next"] > seen


# Starts a program for which the kernel's log has always dropped what came next: EPIPE for each read(2) of its size, see
# seccomp(2) and struct seccomp_data.
ENDLESS_LOG = """
import ctypes, os, struct, sys
READ = {"x86_64": 0, "aarch64": 63}[os.uname().machine]
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
lines = [(LOAD, 0, 0, 0), (EQUAL, 0, 3, READ), (LOAD, 0, 0, 32), (EQUAL, 0, 1, 16384), (RETURN, 0, 0, 0x50000 | 32),
         (RETURN, 0, 0, 0x7fff0000)]
text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
program = ctypes.create_string_buffer(struct.pack("HP", len(lines), ctypes.addressof(text)))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0  # no new privileges, and the filter
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_a_log_without_an_end(checked, oci_gpu_hooks):
    """Of who writes faster than it is read: it stops, and says that it has not seen all."""
    (checked.host.path / "dev/kmsg").unlink()
    checked.host.node("dev/kmsg", 1, 11)
    done = subprocess.run(["/usr/bin/python3", "-c", ENDLESS_LOG, oci_gpu_hooks, "check", "--sysroot", checked.host.path,
                           "--format", "json"], check=False, capture_output=True, encoding="utf-8", timeout=LIMIT_S, env={})
    assert (done.returncode, done.stderr) == (NOT_LOOKED_AT, ""), done
    assert json.loads(done.stdout)["not_looked_at"] == [
        "the end of the kernel's log, which grows faster than it can be read"]
