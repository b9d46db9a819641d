# SPDX-License-Identifier: Apache-2.0
"""Specifications in the forms in which vendors' own tools write them, with devices and versions that are made up. The
words of hooks and of their options are the vendor's: they stay as they are, whatever this project calls the same things.
The source of each form stands above it."""

import json
import os
import re
import stat
import subprocess

import pytest

LIBRARIES = "/usr/lib/x86_64-linux-gnu"


def hook(*words, program="nvidia-cdi-hook", **more):
    words = [program, "hook", *words] if program == "nvidia-ctk" else [program, *words]
    return {"hookName": "createContainer", "path": f"/usr/bin/{program}", "args": words, **more}


def ctk(*words):
    return hook(*words, program="nvidia-ctk")


def quiet(*words):
    return hook(*words, env=["NVIDIA_CTK_DEBUG=false"])


def mount(path, *options, host=""):
    return {"hostPath": host + path, "containerPath": path, "options": ["ro", "nosuid", "nodev", *options]}


def device(edits, name="0", kind="nvidia.com/gpu", version="0.5.0", **members):
    return {"cdiVersion": version, "kind": kind, "devices": [{"name": name, "containerEdits": edits}], **members}


def folders(*paths):
    return [word for path in paths for word in ("--folder", path)]


FORMS = {
    # lf-edge/eve pkg/nvidia/cdi/jp6: by nvidia-ctk, on Jetson, whose links lead to files as well
    "jetson by nvidia-ctk": device({
        "deviceNodes": [{"path": "/dev/nvmap"}, {"path": "/dev/nvhost-gpu"}],
        "hooks": [ctk("create-symlinks", "--link", f"{LIBRARIES}/made/icd.json::/etc/vulkan/icd.d/icd.json",
                      "--link", f"../made/liballocator.so::{LIBRARIES}/gbm/made_gbm.so"),
                  ctk("update-ldcache", *folders(f"{LIBRARIES}/made", f"{LIBRARIES}/made-egl", f"{LIBRARIES}/made/weston"))],
        "mounts": [mount("/etc/made_release.txt", "bind"), mount("/dev/dri/by-path", "bind"),
                   mount(f"{LIBRARIES}/made/libcuda.so.1.1", "bind")]}, containerEdits={}),
    # the same, jp7: by nvidia-cdi-hook
    "jetson by nvidia-cdi-hook": device({
        "deviceNodes": [{"path": "/dev/nvidia0"}, {"path": "/dev/dri/card1"}],
        "hooks": [hook("create-symlinks", "--link", f"libcuda.so.1.1::{LIBRARIES}/made/libcuda.so.1"),
                  hook("update-ldcache", *folders(f"{LIBRARIES}/made"))],
        "mounts": [mount(f"{LIBRARIES}/made/libcuda.so.1.1", "rbind", "rprivate")]},
        containerEdits={"env": ["NVIDIA_VISIBLE_DEVICES=void"]}),
    # the same, jp5: a class with a dash
    "a class with a dash": device({
        "deviceNodes": [{"path": "/dev/nvhost-ctrl"}],
        "hooks": [ctk("update-ldcache", *folders(f"{LIBRARIES}/made", LIBRARIES))]}, kind="nvidia.com/made-gpu"),
    # pkg/nvcdi/lib-csv.go, internal/discover/compat_libs.go of NVIDIA/nvidia-container-toolkit 1.19 and later
    "forward compatibility on Orin": device({
        "deviceNodes": [{"path": "/dev/nvgpu"}],
        "hooks": [hook("enable-cuda-compat", "--host-cuda-version=12.6", "--cuda-compat-container-root=/usr/local/made"),
                  hook("enable-cuda-compat")]}),
    # docs.docker.com, "CDI" of docker build: nvidia-ctk cdi generate of 1.17
    "a host with one GPU": device(
        {"deviceNodes": [{"path": "/dev/nvidia0"}]}, version="0.6.0",
        containerEdits={
            "deviceNodes": [{"path": "/dev/nvidiactl"}], "env": ["NVIDIA_VISIBLE_DEVICES=void"],
            "hooks": [hook("create-symlinks", "--link", f"../libmade.so.1::{LIBRARIES}/gbm/made_gbm.so"),
                      hook("create-symlinks", "--link", f"libcuda.so.1::{LIBRARIES}/libcuda.so"),
                      hook("enable-cuda-compat", "--host-driver-version=999.10.01"),
                      hook("update-ldcache", *folders(LIBRARIES))],
            "mounts": [mount("/run/made/socket.0", "bind", "noexec"), mount(f"{LIBRARIES}/libcuda.so.999.10.01", "bind")]}),
    # cmd/nvidia-ctk/cdi/generate/generate_test.go of the toolkit's 1.20: all hooks that are there by default, a driver root
    "all hooks, below a driver's root": device(
        {"deviceNodes": [{"path": "/dev/nvidia0", "hostPath": "/made-root/dev/nvidia0"}]},
        containerEdits={
            "deviceNodes": [{"path": "/dev/nvidiactl", "hostPath": "/made-root/dev/nvidiactl"}],
            "hooks": [quiet("create-symlinks", "--link", "libcuda.so.1::/lib/x86_64-linux-gnu/libcuda.so"),
                      quiet("enable-cuda-compat", "--host-driver-version=999.10.01"),
                      quiet("update-ldcache", *folders("/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu/vdpau")),
                      quiet("disable-device-node-modification"), quiet("update-application-profile")],
            "mounts": [mount("/lib/x86_64-linux-gnu/libcuda.so.999.10.01", "rbind", "rprivate", host="/made-root")]}),
    # the same file, with the hook chmod
    "the old hook for permissions": device({
        "deviceNodes": [{"path": "/dev/nvidia-caps/nvidia-cap1", "hostPath": "/made-root/dev/nvidia-caps/nvidia-cap1"}],
        "hooks": [quiet("chmod", "--mode", "755", "--path", "/dev/nvidia-caps"),
                  quiet("update-ldcache", "--ldconfig-path", "/sbin/ldconfig", *folders("/lib/x86_64-linux-gnu"))]}),
}


def make_host(root, text):
    """All that the specification names: nodes below /dev, directories and files."""
    (root / "etc/cdi").mkdir(parents=True)
    (root / "etc/cdi/made-up.json").write_text(text, encoding="utf-8")
    (root / "proc/driver/nvidia").mkdir(parents=True)
    (root / "proc/driver/nvidia/params").write_text("ModifyDeviceFiles: 1\n", encoding="utf-8")
    (root / "proc/devices").write_text("Character devices:\n240 made_up\n\nBlock devices:\n", encoding="utf-8")
    for number, path in enumerate(sorted(set(re.findall(r'"(?:hostPath|path)": "(/[^"]*)"', text)))):
        place = root / path[1:]
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith("by-path"):
            place.mkdir()
        elif "/dev/" in path:
            if not place.exists():
                os.mknod(place, stat.S_IFCHR | 0o666, os.makedev(240, number))
        else:
            place.touch()


@pytest.mark.parametrize("form", FORMS)
def test_it_is_understood(build_root, tmp_path, form):
    specification = FORMS[form]
    make_host(tmp_path, json.dumps(specification))
    name = f"{specification['kind']}={specification['devices'][0]['name']}"
    done = subprocess.run([build_root / "hooks/cdi-devices/cdi-devices", "--sysroot", tmp_path, "--spec-dir", "/etc/cdi",
                           "--history", "none", "--opt-in", "always", "--request", name, "--give-gpus", "--allow", name,
                           "--max-devices", "10", "--plan"],
                          check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    # What the loader finds depends on the container: all else has been understood by then.
    if "depends on the image" not in done.stderr:
        assert done.returncode == 0 and json.loads(done.stdout), done
