# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks work on: source directories, and bundles as runc gets them."""

import json
import pathlib
import shutil

PREFIX = "io.oci-gpu-hooks."


def make_source(path, count):
    """Directories with names as on a worker, one in ten writable. The wrapper's rule is the hook's."""
    path.mkdir()
    for number in range(count):
        suffix = "_writable" if number % 10 == 2 else ""
        directory = path / f"dataset-{number:04}{suffix}"
        directory.mkdir()
        (directory / "README").write_text(f"data set {number}\n")


def make_bundle(path, annotations, *, program=None, hooks=(), read_only=True):
    """A bundle whose container runs /program and has these annotations, which all begin with PREFIX.

    `program`, a static executable, is put there; without it the rootfs is only a place for an image.
    `hooks`, commands, are registered at createRuntime.
    """
    rootfs = path / "rootfs"
    rootfs.mkdir(parents=True)
    if program:
        shutil.copy(program, rootfs / "program")
    config = _config()
    config["annotations"] = {PREFIX + name: value for name, value in annotations.items()}
    config["root"]["readonly"] = read_only
    if hooks:
        config["hooks"] = {"createRuntime": [
            {"path": hook[0], "args": hook, "env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"]} for hook in hooks]}
    (path / "config.json").write_text(json.dumps(config, indent="\t"))
    return path


def empty_target(path):
    """Gives the rootfs an empty /srv again: placeholders of the last round are gone."""
    target = path / "rootfs" / "srv"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()


def copy_config(source, target):
    shutil.copy(pathlib.Path(source) / "config.json", pathlib.Path(target) / "config.json")


def _mount(destination, kind, *options):
    return {"destination": destination, "type": kind, "source": kind, "options": list(options)}


def _config():
    capabilities = ["CAP_AUDIT_WRITE", "CAP_KILL", "CAP_NET_BIND_SERVICE"]
    sets = ("bounding", "effective", "permitted", "ambient")
    safe = ("nosuid", "noexec", "nodev")
    return {
        "ociVersion": "1.0.2-dev",
        "process": {
            "terminal": False,
            "user": {"uid": 0, "gid": 0},
            "args": ["/program"],
            "env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TERM=xterm"],
            "cwd": "/",
            "capabilities": {name: capabilities for name in sets},
            "rlimits": [{"type": "RLIMIT_NOFILE", "hard": 1024, "soft": 1024}],
            "noNewPrivileges": True,
        },
        "root": {"path": "rootfs"},
        "hostname": "benchmark",
        "mounts": [
            _mount("/proc", "proc"),
            _mount("/dev", "tmpfs", "nosuid", "strictatime", "mode=755", "size=65536k"),
            _mount("/dev/pts", "devpts", "nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"),
            _mount("/dev/shm", "tmpfs", *safe, "mode=1777", "size=65536k"),
            _mount("/dev/mqueue", "mqueue", *safe),
            _mount("/sys", "sysfs", *safe, "ro"),
            _mount("/sys/fs/cgroup", "cgroup", *safe, "relatime", "ro"),
        ],
        "linux": {
            "resources": {"devices": [{"allow": False, "access": "rwm"}]},
            "namespaces": [{"type": kind} for kind in ("pid", "network", "ipc", "uts", "mount")],
            "maskedPaths": [
                "/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
                "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/sys/firmware", "/proc/scsi",
            ],
            "readonlyPaths": ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"],
        },
    }
