# SPDX-License-Identifier: Apache-2.0
"""A container as Concourse 8.2.5 makes config.json for it: worker/runtime/spec/spec.go and mounts.go, the volumes of
atc/worker/gardenruntime/worker.go, and worker/runtime/cni_network.go."""

LARGEST = 4294967294
MAP = ((0, LARGEST, 1), (1, 1, LARGEST - 1))
INIT = "/tmp/gdn-init"
TASK = "/tmp/build/0123abcd"
METADATA = ("BUILD_ID=7", "BUILD_NAME=3", "BUILD_TEAM_NAME=main", "BUILD_JOB_NAME=job", "BUILD_PIPELINE_NAME=pipeline",
            "ATC_EXTERNAL_URL=https://ci.example.org")
VOLUMES = {"task": (TASK, f"{TASK}/repo"), "get": ("/tmp/build/get",),
           "put": ("/tmp/build/put", "/tmp/build/put/repo"), "check": ()}


def make(box, step, *volumes, params=(), image=()):
    """Turn `box` into the container of a step, `volumes` further ones of it, `params` those of a task, `image` the
    environment of its image. What box.run() is given runs as its program, as if `fly intercept` had it run there."""
    folder = box.bundle.folder
    init = folder / "gdn-init"
    box.bundle.init = init
    box.config["process"]["args"] = [INIT]
    box.config["hostname"] = folder.name
    box.loader = "concourse"
    box.annotations["user"] = ""
    own = METADATA if step != "task" else (METADATA[-1], *params)
    box.config["process"]["env"] = [*image, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", *own]
    box.bundle.mount(INIT, init, "bind")
    for number, target in enumerate(("/scratch", *VOLUMES[step], *volumes)):
        source = folder / f"volume-{number}"
        source.mkdir()
        box.bundle.mount(target, source, "bind", "rw")
    for name in ("hosts", "hostname", "resolv.conf"):
        (folder / name).write_text("", encoding="ascii")
        box.bundle.mount(f"/etc/{name}", folder / name, "bind", "rw")
    if step != "task":
        (folder / "certs").mkdir()
        box.bundle.mount("/etc/ssl/certs", folder / "certs", "bind", "ro")
    return box
