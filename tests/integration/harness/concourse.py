# SPDX-License-Identifier: Apache-2.0
"""A container as Concourse 8.2.5 makes config.json for it: worker/runtime/spec/spec.go and mounts.go, the volumes of
atc/worker/gardenruntime/worker.go, and worker/runtime/cni_network.go."""

import os
from pathlib import Path

from .hooks_d import HookFile

LARGEST = 4294967294
MAP = ((0, LARGEST, 1), (1, 1, LARGEST - 1))
INIT = "/tmp/gdn-init"
TASK = "/tmp/build/0123abcd"
METADATA = ("BUILD_ID=7", "BUILD_NAME=3", "BUILD_TEAM_NAME=main", "BUILD_JOB_NAME=job", "BUILD_PIPELINE_NAME=pipeline",
            "ATC_EXTERNAL_URL=https://ci.example.org")
VOLUMES = {"task": (TASK, f"{TASK}/repo"), "fly execute": (TASK, f"{TASK}/project", f"{TASK}/out"),
           "get": ("/tmp/build/get",), "put": ("/tmp/build/put", "/tmp/build/put/repo"), "check": ()}
TASKS = ("task", "fly execute")


def make(box, step, *volumes, params=(), image=()):
    """Turn `box` into the container of a step, `volumes` further ones of it, `params` those of a task, `image` the
    environment of its image. What box.run() is given runs as its program, as if `fly intercept` had it run there."""
    directory = box.bundle.directory
    init = directory / "gdn-init"
    box.bundle.init = init
    box.config["process"]["args"] = [INIT]
    box.config["hostname"] = directory.name
    box.loader = "concourse"
    box.annotations["user"] = ""
    is_task = step in TASKS
    own = (METADATA[-1], *params) if is_task else METADATA
    box.config["process"]["env"] = [*image, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", *own]
    box.bundle.mount(INIT, init, "bind")
    for number, target in enumerate(("/scratch", *VOLUMES[step], *volumes)):
        source = directory / f"volume-{number}"
        source.mkdir()
        box.bundle.mount(target, source, "bind", "rw")
    for name in ("hosts", "hostname", "resolv.conf"):
        (directory / name).write_text("", encoding="ascii")
        box.bundle.mount(f"/etc/{name}", directory / name, "bind", "rw")
    if not is_task:
        (directory / "certs").mkdir()
        box.bundle.mount("/etc/ssl/certs", directory / "certs", "bind", "ro")
    return box


def garden(scratch):
    """The cgroup's name in one test: others run at the same time."""
    return f"garden-{scratch.name}"


def remove_garden(host, scratch):
    """Takes away the cgroup that stays when unprivileged containers have ended."""
    gardens = ["find", "/sys/fs/cgroup", "-ignore_readdir_race", "-type", "d", "-name", garden(scratch)]
    # Its status is of no use: a directory of another test may vanish before it is opened, which is no readdir race.
    host.run([*gardens, "-delete"], check=False)
    left = host.run(gardens, check=False).stdout
    assert not left, left


def unprivileged(box):
    """As every step that does not say `privileged: true`: with a user namespace whose root is the highest id, and
    below the cgroup `garden`, which stays until remove_garden()."""
    box.map_ids(*MAP)
    box.config["linux"]["cgroupsPath"] = f"{garden(box.bundle.directory.parent)}/{box.bundle.directory.name}"
    for path in [box.rootfs, *box.rootfs.rglob("*"), *box.bundle.directory.glob("volume-*")]:
        os.lchown(path, LARGEST, LARGEST)
    return box


def entries(directory, executables, *, options, replaced, wrapper=()):
    """The hooks of a directory for CONCOURSE_CONTAINERD_OCI_HOOKS_DIR, as worker/runtime/backend.go takes them: each file
    but those in directories, in the order of their names, whatever `when` says.

    executables     a directory with HOOK/HOOK
    options         by the name of a hook: further arguments
    replaced        what stands for a path of the files on the test's host
    wrapper         a program that runs each hook
    """
    hooks = []
    for path in sorted(Path(directory).iterdir()):
        if path.is_dir():
            continue
        file = HookFile(path, None)
        assert file.stages() == ["createRuntime"]
        name = Path(file.document["hook"]["path"]).name
        file.executable = executables / name / name
        entry = file.entry(options.get(name, ()), wrapper)
        for word, place in replaced.items():
            entry["args"] = [arg.replace(word, os.fspath(place)) for arg in entry["args"]]
        hooks.append(entry)
    return hooks
