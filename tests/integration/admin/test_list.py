# SPDX-License-Identifier: Apache-2.0
"""oci-gpu-hooks list, tags, status and plan: what the installed hooks say, with the policy in effect."""

import json
import re
import struct
import subprocess

import pytest
from hosts import amd, nvidia

from harness.admin import BOTH_DIRECTORIES, EXECDIR, FILES, OWN, SHIPPED
from harness.leases import write_counts

pytest_plugins = ["harness.admin_fixtures"]


@pytest.fixture(name="gpus")
def gpus_fixture(installed_host, tmp_path):
    """The same host with two GPUs."""
    other = nvidia.NvidiaHost(tmp_path / "gpus", nvidia.TWO, numbers=nvidia.UNUSED)
    subprocess.run(["cp", "-a", f"{other}/.", installed_host.path], check=True)
    return other.gpus


def test_list(command, gpus):
    for words, name in ((["list"], "address"), (["list", "--format", "table"], "uuid")):
        done = command.run(*words)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("mount-srv, as podman calls it\nNAME ")
        assert "\n\nnvidia-devices, as podman calls it\ndriver: " in done.stdout
        assert all(getattr(gpu, name) in done.stdout for gpu in gpus)
        assert "\n\namd-kfd, as podman calls it\nthis host has no AMD GPU" in done.stdout


def test_list_for_programs(command, gpus):
    done = command.run("list", "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    hooks = {entry["hook"]: entry for entry in json.loads(done.stdout)["hooks"]}
    assert all(entry["engines"] == ["podman"] for entry in hooks.values())
    assert [gpu["uuid"] for gpu in hooks["nvidia-devices"]["gpus"]] == [gpu.uuid for gpu in gpus]
    assert hooks["nvidia-devices"]["leases"] == hooks["nvidia-devices"]["drains"] == []
    assert "no AMD GPU" in hooks["amd-kfd"]["error"] and "directories" in hooks["mount-srv"]


def test_each_registration_has_its_gpus_and_what_is_of_the_host_stands_once(command, gpus, installed_host):
    installed_host.put(f"{SHIPPED}/30-again.json", installed_host.document("nvidia-devices", ["--allow", "1"]))
    hook = installed_host.path / EXECDIR / "nvidia-devices"
    subprocess.run([hook, "--sysroot", installed_host.path, "--drain", "0=dust"], check=True)
    hooks = json.loads(command.run("list", "--format", "json").stdout)["hooks"]
    twice = [entry for entry in hooks if entry["hook"] == "nvidia-devices"]
    assert [len(entry["gpus"]) for entry in twice] == [len(gpus)] * 2
    assert [[drain["reason"] for drain in entry["drains"]] for entry in twice] == [["dust"], []]


def test_list_has_the_policy_in_force(command, gpus, installed_host):
    installed_host.put(f"{SHIPPED}/{FILES['nvidia-devices']}",
                       installed_host.document("nvidia-devices", ["--allow", "1"]))
    done = command.run("list", "--format", "table")
    line = next(line for line in done.stdout.splitlines() if gpus[0].uuid in line)
    assert "policy" in line or "not allowed" in line, line


def test_list_without_an_engine(command, gpus, installed_host):
    installed_host.remove("usr/bin/podman")
    done = command.run("list")
    assert done.returncode == 0 and "nvidia-devices, which no engine calls\ndriver: " in done.stdout, gpus


def test_where_it_is_not_known_who_has_which_gpu_that_is_said(command, gpus, installed_host):
    leases = installed_host.path / "run/oci-gpu-hooks/leases"
    leases.mkdir(parents=True)
    leases.chmod(0o1777)
    why = f"who has which GPU is not shown: the directory '{leases}' may be written by others than root"
    done = command.run("list")
    assert f"\nnvidia-devices, as podman calls it\n{why}\ndriver: " in done.stdout and gpus[0].address in done.stdout
    hooks = {entry["hook"]: entry for entry in json.loads(command.run("list", "--format", "json").stdout)["hooks"]}
    assert hooks["nvidia-devices"]["error"] == why and len(hooks["nvidia-devices"]["gpus"]) == len(gpus)
    done = command.run("metrics")
    assert (done.returncode, done.stdout, done.stderr) == (6, "", f"oci-gpu-hooks: nvidia-devices: {why}\n")


def test_a_list_of_nothing_says_so(command, installed_host):
    """And has no heading of a table."""
    (installed_host.path / "srv/datasets").rmdir()
    for words in (["list"], ["list", "--format", "table"]):
        assert command.run(*words).stdout == (
            f"mount-srv, as podman calls it\nnothing in '{installed_host.path}/srv' can be given\n\n"
            "nvidia-devices, as podman calls it\nthis host has no NVIDIA driver (no /proc/driver/nvidia/version)\n\n"
            "amd-kfd, as podman calls it\nthis host has no AMD GPU (no /sys/class/kfd)\n\n"
            "cdi-devices, as podman calls it\nno CDI specification in '/etc/cdi', '/var/run/cdi' has a device\n")


def test_tags_and_status(command, gpus):
    assert command.run("tags").stdout.splitlines()[:3] == ["cuda", "gpu", "gpu-type=nvidia"]
    assert command.run("status").stdout == (f"nvidia: {len(gpus)} GPUs, {len(gpus)} free, 0 shared, 0 exclusive, "
                                            "0 drained, 0 kept for those who wait; 0 waiting\n")


def test_what_is_the_same_stands_once_where_engines_call_a_hook_in_two_ways(command, gpus, installed_host):
    installed_host.program("crio")
    installed_host.write("etc/crio/crio.conf", f"[crio.runtime]\nhooks_dir = {BOTH_DIRECTORIES}\n")
    for options, listed in ((["--max-devices", "1"], ["podman and crio call"]),
                            (["--allow", "1"], ["podman calls", "crio calls"])):
        installed_host.put(f"{OWN}/{FILES['nvidia-devices']}", installed_host.document("nvidia-devices", options))
        text = command.run("list").stdout
        assert re.findall("nvidia-devices, as (.*) it\n", text) == listed, text
        assert len(command.run("status").stdout.splitlines()) == len(listed) and gpus


def test_each_registration_is_asked_once_and_the_list_comes_from_one(command, gpus, installed_host, oci_gpu_hooks, tmp_path):
    for number in range(3):
        installed_host.put(f"{SHIPPED}/3{number}-again.json",
                           installed_host.document("nvidia-devices", ["--max-devices", str(number + 1)]))
    trace = tmp_path / "trace"
    subprocess.run(["strace", "-f", "-qq", "-e", "trace=execveat", "-o", trace, oci_gpu_hooks, "list", "--sysroot",
                    installed_host.path], check=True, stdout=subprocess.DEVNULL)
    calls = [line for line in trace.read_text("utf-8").splitlines() if '["nvidia-devices"' in line]
    assert len(calls) == 4 + 1 and "json" in calls[3] and "json" not in calls[4], calls
    assert command.run("list").stdout.count(gpus[0].address) == 1


def test_plan(command, gpus):
    done = command.run("plan", "nvidia-devices=1", "io.oci-gpu-hooks.mount-srv=datasets")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "mount-srv, as podman calls it"
    assert lines[1].startswith("  mount   /srv/datasets  from ")
    node = f"  device  {gpus[1].node}  {nvidia.UNUSED[nvidia.MAJOR]}:{gpus[1].minor} rw"
    assert node in lines and f"  cgroup  c {nvidia.UNUSED[nvidia.MAJOR]}:{gpus[1].minor} rw" in lines


def test_plan_is_within_the_policy(command, gpus, installed_host):
    installed_host.put(f"{SHIPPED}/{FILES['nvidia-devices']}", installed_host.document(
        "nvidia-devices", ["--opt-in", "always", "--request", "any:1", "--allow", "1"], {"always": True}))
    done = command.run("plan", "nvidia-devices=0")
    assert done.returncode == 3 or done.returncode == 5, gpus
    assert "--allow" in done.stdout
    installed_host.put(f"{SHIPPED}/{FILES['nvidia-devices']}", installed_host.document(
        "nvidia-devices", ["--from", "mounts", "--allow", "1"], {"always": True}))
    assert command.run("plan", "nvidia-devices=1").returncode == 0
    assert "--allow" in command.run("plan", "nvidia-devices=0").stdout
    assert "by 'mounts'" in command.run("doctor").stdout


def test_cdi_has_the_gpus_of_the_day(command, gpus):
    done = command.run("cdi", "nvidia-devices", "mount-srv")
    assert (done.returncode, done.stderr) == (0, "")
    spec, end = json.JSONDecoder().raw_decode(done.stdout)
    names = [device["name"] for device in spec["devices"]]
    assert {*(gpu.uuid for gpu in gpus), "all", "0", "gpu0", "31", "gpu31"} < set(names)
    assert len(names) == len(set(names))
    assert json.loads(done.stdout[end:])["kind"] == "io.oci-gpu-hooks/mount-srv"
    assert command.run("cdi", "ldcache-update").returncode == 2
    done = command.run("cdi", "--kind", "nvidia.com/gpu", "nvidia-devices")
    assert json.loads(done.stdout) == {**spec, "kind": "nvidia.com/gpu"}
    assert command.run("cdi", "--kind", "amd.com/gpu", "nvidia-devices").returncode == 2
    assert command.run("cdi", "--kind", "nvidia.com/gpu").returncode == 2


SAMPLE = re.compile(r'([a-z_]+)(\{[^ ].*\})? (\S+)')


def exposition(text):
    """The samples of Prometheus' text format, each in the one group of its family."""
    family, seen, samples = None, set(), {}
    for line in text.splitlines():
        if line.startswith("# HELP "):
            family = line.split()[2]
            assert family not in seen
            seen.add(family)
        elif line.startswith("# TYPE "):
            assert line.split()[2] == family and line.split()[3] in ("gauge", "counter", "histogram")
        else:
            name, labels, value = SAMPLE.fullmatch(line).groups()
            assert name.startswith(family) and (name + (labels or "")) not in samples
            samples[name + (labels or "")] = float(value)
    return samples


def test_metrics(command, gpus, installed_host):
    """The counters are those of the state, and of the file of refusals beside it."""
    samples = exposition(command.run("metrics").stdout)
    assert samples["oci_gpu_hooks_grants_total"] == samples["oci_gpu_hooks_wait_seconds_sum"] == 0
    write_counts(installed_host.path, {
        "grants": 6, "takeovers": 1, "revocations": 4, "waited_ns": 55 * 10**8, "waits": [3, 0, 2, 0, 0, 0, 1],
        "device_ns": [7 * 10**9, 14 * 10**9, 2 * 10**9]},
        {hook: [0, place, 2, 3, 4, 5, 6] for place, hook in enumerate(FILES)})
    done = command.run("metrics")
    assert (done.returncode, done.stderr) == (0, "")
    samples = exposition(done.stdout)
    assert samples['oci_gpu_hooks_gpus{vendor="nvidia",state="free"}'] == len(gpus)
    assert samples['oci_gpu_hooks_gpus{vendor="nvidia",state="kept"}'] == 0
    assert samples['oci_gpu_hooks_gpus{vendor="nvidia",state="dead"}'] == 0
    assert (samples["oci_gpu_hooks_grants_total"], samples["oci_gpu_hooks_takeovers_total"]) == (6, 1)
    assert samples["oci_gpu_hooks_taken_away_total"] == 4
    assert [samples[f'oci_gpu_hooks_gpu_seconds_total{{vendor="{name}"}}'] for name in ("amd", "nvidia", "other")] == [
        7, 14, 2]
    hooks = sorted({re.search('hook="([^"]*)"', name)[1] for name in samples if "refusals_total" in name})
    assert hooks == sorted(FILES)
    assert sum(samples[f'oci_gpu_hooks_refusals_total{{hook="{hook}",reason="failure"}}'] for hook in hooks) == 10
    assert samples['oci_gpu_hooks_refusals_total{hook="mount-srv",reason="broken host"}'] == 6
    assert [samples[f'oci_gpu_hooks_wait_seconds_bucket{{le="{bound}"}}']
            for bound in ("0.1", "1", "10", "60", "3600", "+Inf")] == [3, 3, 5, 5, 5, 6]
    assert (samples["oci_gpu_hooks_wait_seconds_sum"], samples["oci_gpu_hooks_wait_seconds_count"]) == (5.5, 6)


def test_metrics_of_what_looks_dead(command, gpus, installed_host):
    """It is not free, whatever its lease says."""
    (installed_host.path / installed_host.device_directory(gpus[0].address) / "config").write_bytes(b"\xff" * 64)
    samples = exposition(command.run("metrics").stdout)
    assert [samples[f'oci_gpu_hooks_gpus{{vendor="nvidia",state="{state}"}}'] for state in ("dead", "free")] == [1, 1]


def test_history_of_one_gpu(command, gpus, installed_host):
    file = installed_host.path / "var/lib/oci-gpu-hooks/history"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"time": "2999", "event": "granted", "gpus": [f"nvidia:{gpus[0].address}"]}) + "\n{\n",
                    encoding="ascii")
    assert [command.run("history", "--gpu", number).stdout.count("granted") for number in "01"] == [1, 0]
    assert command.run("history", "--gpu", "9").returncode == 3


def test_history_of_a_partitions_gpu(command, installed_host, tmp_path):
    """Each partition of AMD's has a number, and all have the address of their GPU."""
    host = amd.AmdHost(tmp_path / "gpus", amd.CPX, amd.CPX_BLANKS)
    subprocess.run(["cp", "-a", f"{host}/.", installed_host.path], check=True)
    first = sorted(gpu.address for gpu in amd.CPX)[0]
    file = installed_host.path / "var/lib/oci-gpu-hooks/history"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"time": "2999", "event": "granted", "gpus": [f"amd:{first}/3"]}) + "\n", encoding="ascii")
    numbers = [row["index"] for hook in json.loads(command.run("list", "--format", "json").stdout)["hooks"]
               for row in hook.get("gpus", ()) if row["address"] == first]
    assert len(numbers) > 6
    for number in numbers:
        assert command.run("history", "--gpu", str(number)).stdout.count("granted") == 1
    assert command.run("history", "--gpu", "40").stdout.count("granted") == 0


@pytest.mark.parametrize("words", [["list"], ["plan", "nvidia-devices=1"]])
def test_a_list_of_what_was_written_that_cannot_be_read(command, gpus, installed_host, words):
    """A policy of a worker that does not run is known by it alone."""
    assert gpus and "installed.json" not in command.run(*words).stderr
    installed_host.write("var/lib/oci-gpu-hooks/installed.json", '{"files": [{}]}')
    assert "(/var/lib/oci-gpu-hooks/installed.json) is not as 'install' writes it" in command.run(*words).stderr


@pytest.mark.parametrize("words, message", [
    ([], "which annotations?"),
    (["mount-srv"], "is NAME=VALUE, and not 'mount-srv'"),
    (["mount_srv=all"], "no hook knows the annotation 'mount_srv'; there are 'mount-srv', "),
    (["nvidia-devices.capabilities=all"], "asks for nothing without 'nvidia-devices'"),
    (["nvidia-devices=1", "nvidia-devices.tenure=shared"], "no hook knows the annotation 'nvidia-devices.tenure'; there are "),
    (["nvidia-devices=1", "nvidia-devices.imex=0"], "a plan does not show 'nvidia-devices.imex': leave it out; beside "
     "what is asked for it takes 'capabilities', 'hold', 'lease', 'wait'"),
])
def test_plan_of_what_cannot_be_asked(command, words, message):
    done = command.run("plan", *words)
    assert (done.returncode, done.stdout) == (2, "") and message in done.stderr


@pytest.mark.parametrize("args, status, text", [
    ([], 2, "no command is named"),
    (["lst"], 2, "there is no command 'lst'"),
    (["list", "--al"], 2, "unknown option '--al'"),
    (["list", "more"], 2, "unexpected argument 'more'"),
])
def test_wrong_command_lines(oci_gpu_hooks, args, status, text):
    done = subprocess.run([oci_gpu_hooks, *args], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (status, "") and text in done.stderr


def test_help_and_version(oci_gpu_hooks):
    def said(*args):
        return subprocess.run([oci_gpu_hooks, *args], check=True, capture_output=True, text=True).stdout

    for command in ("list", "tags", "status", "plan", "doctor", "install", "uninstall", "cdi"):
        assert f"\n  {command} " in said("--help")
        assert f"Usage: oci-gpu-hooks {command} " in said(command, "--help")
        assert "See oci-gpu-hooks(1).\n" in said(command, "--help")
    assert said("--version") == said("list", "--version").replace(" list", "")
