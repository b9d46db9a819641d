# SPDX-License-Identifier: Apache-2.0
"""oci-gpu-hooks check, and lines that root of a container with CAP_NET_ADMIN has the kernel itself write into its log: the
LOG of nft and ebtables, in a network namespace of its own."""

import os
import re
import subprocess
import time
from pathlib import Path

import pytest

from harness.check import FIRST, NOTHING, SLOT, XT, xid

pytest_plugins = ["harness.check_fixtures"]

# Lines of other network namespaces than the host's are left out without it; since Linux 4.11.
ALL_NAMESPACES = Path("/proc/sys/net/netfilter/nf_log_all_netns")
LOADING = "NVRM: loading NVIDIA UNIX "
RESET_FAILED = f"amdgpu {XT}: amdgpu: GPU reset end with ret = -110 "
XIDS = {family: xid(number, f"{family} ") for family, number in (("inet", 79), ("arp", 48), ("bridge", 119))}
GONE = xid(79, "gone", "0000:77:00")

RULES = f"""
add table inet t
add chain inet t out {{ type filter hook output priority 0; }}
add rule inet t out exthdr frag exists log prefix "{XIDS['inet']}" flags all
add rule inet t out exthdr frag exists log prefix "{RESET_FAILED}"
add rule inet t out exthdr frag exists log prefix "{GONE}"
add table arp t
add chain arp t out {{ type filter hook output priority 0; }}
add rule arp t out log prefix "{XIDS['arp']}"
add table bridge t
add chain bridge t in {{ type filter hook input priority 0; }}
add rule bridge t in log prefix "{XIDS['bridge']}"
"""

# An IPv6 fragment whose identification has letters; a question by ARP; a frame of IPv6's type that ends in the middle.
SENDS = """
import socket, struct
def frame(type_of, body):
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    link.bind(("v1", 0))
    link.send(b"\\xff" * 6 + b"\\x02" * 6 + struct.pack("!H", type_of) + body)
raw = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_RAW)
own = socket.inet_pton(socket.AF_INET6, "::1")
raw.sendto(struct.pack("!IHBB", 6 << 28, 16, 44, 64) + own + own + struct.pack("!BBHI", 59, 0, 1, 0xabcdef01) + bytes(8),
           ("::1", 0))
frame(0x86dd, b"\\x60" + bytes(60))
datagram = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
datagram.sendto(b"x", ("10.9.9.9", 9))
"""

NAMESPACE = """
set -e
ip link set lo up
ip link add b0 type bridge
ip link add v0 type veth peer name v1
ip link set v0 master b0
ip address add 10.9.9.1/24 dev v1
for name in b0 v0 v1; do ip link set $name up; done
echo "$0" | nft -f -
ebtables -A INPUT --log-prefix "$1" --log-ip6 -j CONTINUE
/usr/bin/python3 -c "$2"
"""


def records(log):
    """What is in the kernel's log from there on, as /dev/kmsg has it."""
    texts = []
    while True:
        try:
            texts.append(os.read(log, 1 << 14).decode("utf-8", "replace"))
        except BlockingIOError:
            return texts
        except BrokenPipeError:  # some were dropped
            continue


@pytest.fixture(name="forged", scope="module")
def forged_fixture():
    """These lines, of this kernel."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    if not ALL_NAMESPACES.exists():
        pytest.skip("this kernel has no netfilter log")
    log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    before = ALL_NAMESPACES.read_text("ascii")
    try:
        os.lseek(log, 0, os.SEEK_END)
        ALL_NAMESPACES.write_text("1", "ascii")
        subprocess.run(["unshare", "--net", "sh", "-c", NAMESPACE, RULES, LOADING, SENDS], check=True, timeout=60)
        found = []
        for _ in range(50):  # ARP asks a second time after a second
            found += [text for text in records(log) if "IN=" in text and "OUT=" in text]
            if all(any(prefix in text for text in found) for prefix in (*XIDS.values(), LOADING, RESET_FAILED, GONE)):
                return found
            time.sleep(0.1)
        raise AssertionError(found)
    finally:
        ALL_NAMESPACES.write_text(before, "ascii")
        os.close(log)


def put(checked, texts):
    """The log has these alone."""
    numbered = [re.sub(r"^(\d+),\d+", rf"\1,{number}", text) for number, text in enumerate(texts)]
    (checked.host.path / "dev/kmsg").write_text("".join(numbered), "utf-8")


def test_the_kernel_itself_writes_them(forged):
    """Facility 0, from the first byte on, and with letters where it was thought that there are none."""
    assert all(int(text.split(",", 1)[0]) >> 3 == 0 for text in forged)
    assert any("ID:abcdef01" in text for text in forged) and any("proto = 0x86dd" in text for text in forged)
    assert not any("DEVICE=" in text for text in forged)


def test_none_of_them_drains_or_is_even_reported(checked, forged):
    put(checked, forged)
    found, status = checked.find("--drain")
    assert (status, found["faults"], found["reports"], checked.drains()) == (NOTHING, [], [], [])


def test_none_of_them_ends_a_drain(checked, forged):
    checked.falls(FIRST)
    assert checked.drained() == ["0"]
    checked.host.revive(FIRST.address)
    checked.memory(lambda document: document.update(next=0))
    put(checked, forged)
    checked.find("--drain", "--settle", "0s")
    assert [reason for *_, reason in checked.drains()] == ["Xid 79: the GPU has fallen off the bus"]
    checked.host.bind("nvidia", FIRST.address)
    checked.find("--drain", "--settle", "0s")
    assert not checked.drains()


def test_nor_would_their_words_without_what_netfilter_adds(checked, forged):
    """Were a rule's prefix not to be told at all: nothing is drained, as nothing else shows a failure."""
    cut = [text.split("IN=")[0] + "\n" for text in forged]
    assert any(SLOT in text for text in cut)
    put(checked, cut)
    found, status = checked.find("--drain")
    assert (status, found["faults"], checked.drains()) == (NOTHING, [], []) and found["reports"]


# The kernel's line about its end begins with the name that it has, and ends with that of its file.
CRASHES = """
#include <sys/prctl.h>
int main(void) { prctl(PR_SET_NAME, "NVRM: Xid (PCI:"); *(volatile int *)0 = 1; }
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_what_programs_write_or_are_called_is_nothing_of_a_driver(checked, tmp_path):
    """By whoever has /dev/kmsg, with any number in front; and by a program that crashes."""
    program = tmp_path / f"{SLOT}): 79, x"
    subprocess.run(["gcc", "-x", "c", "-o", program, "-"], input=CRASHES, text=True, check=True)
    log = os.open("/dev/kmsg", os.O_RDWR | os.O_NONBLOCK)
    try:
        os.lseek(log, 0, os.SEEK_END)
        for number in ("", "<0>", "<7>", "<2048>", "<16777216>"):
            os.write(log, f"{number}{xid(79)}".encode("ascii"))
        assert subprocess.run([program], check=False).returncode < 0
        texts = [text for text in records(log) if SLOT in text]
    finally:
        os.close(log)
    assert len(texts) >= 5, texts
    put(checked, texts)
    found, status = checked.find("--drain")
    assert (status, found["faults"], found["reports"], checked.drains()) == (NOTHING, [], [], [])
