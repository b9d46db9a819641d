# SPDX-License-Identifier: Apache-2.0
"""oci-gpu-hooks uninstall --keep and install --kept: what packages do as they are removed and installed again."""

import fcntl
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from harness.admin import EXECDIR, FILES, OWN, SHIPPED
from harness.stopped import wait_until

pytest_plugins = ["harness.admin_fixtures"]

OK, USAGE, BUSY, ERROR = 0, 2, 4, 6
LOCK = "var/lib/oci-gpu-hooks/lock"
TEMPORARY = ".oci-gpu-hooks"
KEPT = "var/lib/oci-gpu-hooks/disabled"
OWN_COPY = f"{OWN}/{FILES['mount-srv']}"
DROP_IN = "etc/containers/containers.conf.d/90-oci-gpu-hooks.conf"
CONCOURSE = "etc/oci-gpu-hooks/concourse-hooks.d"
SCRIPT = "usr/local/bin/nvidia-container-runtime-hook"
CONTAINERD = "etc/containerd/config.toml"
SPEC = "etc/containerd/oci-gpu-hooks-gpu.json"
MAIN = 'version = 2\n[plugins."io.containerd.grpc.v1.cri"]\n'


def files(host):
    """What engines may read: the text and the mode of each file."""
    return {str(path.relative_to(host.path)): (path.read_text("utf-8"), path.stat().st_mode & 0o777)
            for top in ("etc", "usr/share", "usr/local/bin") for path in sorted((host.path / top).rglob("*"))
            if path.is_file()}


def done_by(command, *words):
    done = command.run(*words)
    assert (done.returncode, done.stderr) == (OK, ""), done
    return done.stdout


@pytest.fixture(name="host")
def host_fixture(command, installed_host):
    """With a policy for each engine, by `install` and by hand."""
    host = installed_host
    host.write(CONTAINERD, MAIN)
    host.write("spec.json", json.dumps({"ociVersion": "1.0.2", "process": {}, "linux": {}}))
    (host.path / "usr/local/bin").mkdir(parents=True, exist_ok=True)
    for words in (("podman", "mount-srv", "--allow", "datasets"), ("docker", "mount-srv"),
                  ("docker", "--gpus", "nvidia-devices", "--max-devices", "1"),
                  ("concourse", "mount-srv", "--opt-in", "always", "--request", "all"),
                  ("containerd", "--runtime", "gpu", "--base-spec", "/spec.json", "nvidia-devices", "--max-devices", "1")):
        done_by(command, "install", "--engine", *words)
    host.program("containerd")
    host.put(f"{OWN}/{FILES['amd-kfd']}", host.document("amd-kfd", ["--max-devices", "1"]))
    host.write("etc/cdi/mine.yaml", "cdiVersion: 0.5.0\nkind: example.com/gpu\ndevices:\n- name: one\n  containerEdits:\n"
                                    f"    hooks:\n    - hookName: createRuntime\n      path: /{EXECDIR}/nvidia-devices\n")
    host.write("etc/cdi/vendors.yaml", "cdiVersion: 0.5.0\nkind: example.com/net\ndevices:\n- name: one\n"
                                       "  containerEdits:\n    env: [A=1]\n")
    host.before = files(host)
    return host


THEIRS = {CONTAINERD, "etc/cdi/vendors.yaml"}


def test_nothing_calls_the_hooks_and_all_of_it_comes_back(command, host):
    said = done_by(command, "uninstall", "--keep", "--dry-run")
    assert f"would move '/{OWN_COPY}' to '/{KEPT}/{OWN_COPY}'\n" in said and files(host) == host.before
    said = done_by(command, "uninstall", "--keep")
    left = files(host)
    assert set(left) & set(host.before) == THEIRS, left
    assert left[CONTAINERD] == (MAIN, 0o644) and host.before[SCRIPT][1] == 0o755
    for directory in ("etc", "usr"):
        found = subprocess.run(["grep", "-rIlF", "oci/hooks.d/", host.path / directory], check=False, capture_output=True)
        assert found.stdout == b"", found
    assert "gets nothing from now on, and nobody is told" in said and "refused by the engine" in said
    assert "systemctl restart concourse-worker" in said and "systemctl restart containerd" in said
    assert (host.path / KEPT / OWN_COPY).read_text("utf-8") == host.before[OWN_COPY][0]
    findings, status = command.doctor()
    assert status == ERROR and any("is out of effect: it is kept in" in text and remedy == "oci-gpu-hooks install --kept"
                                   for _, text, remedy in findings), findings
    assert "nothing to do" in done_by(command, "uninstall", "--keep")
    said = done_by(command, "install", "--kept")
    assert files(host) == host.before
    assert f"put back '/{OWN_COPY}'\n" in said
    assert not (host.path / KEPT).exists()
    assert done_by(command, "install", "--kept") == ""


def calls(call, command, host, *words):
    """The paths of each call of the kernel's that succeeded."""
    trace = host.path / "trace"
    subprocess.run(["strace", "-f", "-y", "-qq", "-o", trace, "-e", f"trace={call}", command.executable, *words,
                    "--sysroot", host.path], check=True, capture_output=True)
    lines = [line for line in trace.read_text("utf-8").splitlines() if line.endswith("= 0")]
    trace.unlink()
    return [[os.path.relpath(os.path.join(*pair), host.path) for pair in re.findall(r'<([^>]*)>, "([^"]*)"', line)]
            for line in lines]


def waits_for_a_lock(pid):
    lines = Path("/proc/locks").read_text("ascii").splitlines()
    return any("->" in line and f" {pid} " in line for line in lines)


def in_order(call, command, host, *words):
    """The files that the call has put in place, or taken away."""
    return [paths[-1] for paths in calls(call, command, host, *words) if paths[-1] in host.before]


def test_at_no_time_is_a_looser_policy_in_force(oci_gpu_hooks, command, host):
    command.executable = oci_gpu_hooks
    gone = in_order("unlinkat", command, host, "uninstall", "--keep")
    assert gone.index(f"{SHIPPED}/{FILES['mount-srv']}") < gone.index(OWN_COPY) < gone.index(DROP_IN)
    assert set(gone) == set(host.before) - THEIRS
    back = in_order("renameat", command, host, "install", "--kept")
    assert back.index(DROP_IN) < back.index(OWN_COPY) < back.index(f"{SHIPPED}/{FILES['mount-srv']}")
    assert back.index(SPEC) < back.index(CONTAINERD)


def test_what_is_put_back_is_whole_when_an_engine_finds_it(oci_gpu_hooks, command, host):
    """Whatever is in the directory is read: a file of another name would be one more."""
    command.executable = oci_gpu_hooks
    done_by(command, "uninstall", "--keep")
    moved = {to: os.path.dirname(origin) for origin, to in calls("renameat", command, host, "install", "--kept")}
    for path in (OWN_COPY, DROP_IN, f"{OWN}/{FILES['amd-kfd']}", f"{SHIPPED}/{FILES['mount-srv']}"):
        assert moved[path] == os.path.dirname(os.path.dirname(path))


def test_killed_at_any_change_it_is_taken_back_whole_by_the_next(oci_gpu_hooks, command, host):
    """A copy that nothing knows of would stay for good."""
    killed = -signal.SIGKILL
    nth = 0
    while killed == -signal.SIGKILL:
        nth += 1
        killed = subprocess.run(
            ["strace", "-qq", "-o", "/dev/null", "-e", f"inject=renameat,unlinkat:signal=KILL:when={nth}",
             oci_gpu_hooks, "uninstall", "--keep", "--sysroot", host.path], check=False, capture_output=True).returncode
        assert killed in (OK, -signal.SIGKILL)
        done_by(command, "install", "--kept")
        # The next that writes the same file removes the temporary one.
        assert {path: file for path, file in files(host).items() if not path.endswith(TEMPORARY)} == host.before
        assert not [path for path in (host.path / KEPT).rglob("*") if path.is_file() and not path.name.endswith(TEMPORARY)]
    assert nth > len(host.before) and not (host.path / KEPT).exists()


def test_one_at_a_time(oci_gpu_hooks, command, host):
    """What takes out of effect fails while an install is at work; what puts back, which packages call, waits for its end."""
    done_by(command, "uninstall", "--keep")
    done_by(command, "install", "--kept")
    lock = os.open(host.path / LOCK, os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    done = command.run("uninstall", "--keep")
    assert done.returncode == BUSY and "is at work" in done.stderr and files(host) == host.before
    with subprocess.Popen([oci_gpu_hooks, "install", "--kept", "--sysroot", host.path]) as waiting:
        wait_until(lambda: waits_for_a_lock(waiting.pid), "it does not wait", waiting)
        os.close(lock)
        assert waiting.wait() == OK


def test_a_package_has_its_own_files_by_then(command, host):
    """Of another version."""
    done_by(command, "uninstall", "--keep")
    path = f"{SHIPPED}/{FILES['mount-srv']}"
    host.write(path, host.before[path][0] + "\n")
    said = done_by(command, "install", "--kept")
    assert path not in said
    assert files(host) == {**host.before, path: (host.before[path][0] + "\n", 0o644)}
    assert not (host.path / KEPT).exists()


def test_what_somebody_has_in_its_place_or_has_changed_stays(command, host):
    done_by(command, "uninstall", "--keep")
    host.write(OWN_COPY, "{}")
    changed = f"{OWN}/{FILES['amd-kfd']}"
    (host.path / KEPT / changed).write_text("changed", encoding="utf-8")
    host.remove(CONTAINERD)
    said = done_by(command, "install", "--kept")
    assert f"'/{OWN_COPY}' is there again: what was kept is not in effect, and stays in '/{KEPT}/{OWN_COPY}'\n" in said
    assert f"'/{KEPT}/{changed}' was changed: " in said and f"there is no '/{CONTAINERD}': " in said
    assert (host.path / OWN_COPY).read_text("utf-8") == "{}" and not (host.path / changed).exists()
    host.remove(OWN_COPY)
    assert f"put back '/{OWN_COPY}'\n" in done_by(command, "install", "--kept")
    assert files(host)[OWN_COPY] == host.before[OWN_COPY]


def test_a_changed_policy_is_kept_too(command, host):
    """It would be one without its hook."""
    host.change(OWN_COPY, lambda document: document["hook"]["args"].append("--writable=none"))
    before = files(host)
    done_by(command, "uninstall", "--keep")
    assert OWN_COPY not in files(host)
    done_by(command, "install", "--kept")
    assert files(host) == before


def test_a_symlink_stays_and_is_named(command, host):
    """Its text is elsewhere, and would be lost."""
    path = f"{OWN}/{FILES['amd-kfd']}"
    (host.path / path).rename(host.path / "mine.json")
    (host.path / path).symlink_to("../../../../mine.json")
    assert f"'/{path}' is no plain file, and stays: remove it\n" in done_by(command, "uninstall", "--keep")
    assert (host.path / path).is_symlink() and not (host.path / KEPT / path).exists()


def test_hooks_of_others_stay_in_force(command, host):
    host.write(f"{OWN}/50-other.json", json.dumps({
        "version": "1.0.0", "hook": {"path": "/usr/bin/podman"}, "when": {"always": True}, "stages": ["poststop"]}))
    said = done_by(command, "uninstall", "--keep")
    assert f"'/{DROP_IN}' stays: without it '/{OWN}/50-other.json' would not be in effect" in said
    assert {f"{OWN}/50-other.json", DROP_IN} <= set(files(host))


def test_uninstall_leaves_nothing_of_it(command, host):
    done_by(command, "uninstall", "--keep")
    assert f"would remove '/{KEPT}/{OWN_COPY}'" in done_by(command, "uninstall", "--dry-run")
    assert f"removed '/{KEPT}/{OWN_COPY}'" in done_by(command, "uninstall")
    assert {path.name for path in (host.path / "var/lib/oci-gpu-hooks").iterdir()} == {"lock"}


@pytest.mark.parametrize("words", [("uninstall", "--keep", "--engine", "podman"), ("install", "--kept", "mount-srv"),
                                   ("install", "--kept", "--engine", "podman"), ("install", "--kept", "--dry-run")])
def test_what_does_not_go_together(command, words):
    assert command.run(*words).returncode == USAGE
