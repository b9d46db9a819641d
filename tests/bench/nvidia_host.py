# SPDX-License-Identifier: Apache-2.0
"""A host with NVIDIA GPUs and a whole driver, made up. No device of it is ever there to be opened."""

import os
import stat
import subprocess

import images

GPUS = {f"0000:{bus:02x}:00.0": (5 * number + 2) % 8 for number, bus in enumerate(range(0x18, 0x98, 0x10))}
MAJOR, UVM_MAJOR = 1195, 1510  # above 511, so that no driver can have them
UUID = "GPU-5a1c0de0-1111-4222-8333-01234567890{}"
DRIVER = "/proc/driver/nvidia"
VERSION = "555.42.07"
VERSION_TEXT = f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {VERSION}  Mon Jan  5 10:11:12 UTC 2026\n"
PARAMS = "ResmanDebugLevel: 4294967295\nRmLogonRC: 1\nModifyDeviceFiles: {}\nDeviceFileMode: 438\n"

# By capability. Those in VERSIONED have the whole version in their SONAMEs.
COMPUTE = ("cuda cudadebugger nvidia-opencl nvidia-gpucomp nvidia-ptxjitcompiler nvidia-fatbinaryloader"
           " nvidia-allocator nvidia-compiler nvidia-pkcs11 nvidia-pkcs11-openssl3 nvidia-nvvm nvidia-nvvm70"
           " nvidia-tileiras").split()
UTILITY = "nvidia-ml nvidia-cfg nvidia-nscq nvidia-sandboxutils".split()
OTHERS = ("vdpau_nvidia nvidia-encode nvidia-opticalflow nvcuvid nvidia-eglcore nvidia-glcore nvidia-tls nvidia-glsi"
          " nvidia-fbc nvidia-ifr nvidia-rtcore nvoptix GLX_nvidia EGL_nvidia GLESv2_nvidia GLESv1_CM_nvidia"
          " nvidia-glvkspirv nvidia-cbl nvidia-vulkan-producer nvidia-api nvidia-egl-gbm nvidia-egl-wayland"
          " nvidia-egl-xcb nvidia-ngx").split()
OWN_VERSIONS = {"nvidia-nvvm70": "4", "nvidia-api": "1", "nvidia-egl-gbm": "1.1.1",
                "nvidia-egl-wayland": "1.1.13", "nvidia-egl-xcb": "1.0.0"}
VERSIONED = {"nvidia-gpucomp", "nvidia-compiler", "nvidia-fatbinaryloader", "nvidia-eglcore", "nvidia-glcore",
             "nvidia-tls", "nvidia-glsi", "nvidia-rtcore", "nvidia-glvkspirv", "nvidia-cbl", "nvidia-pkcs11",
             "nvidia-pkcs11-openssl3", "nvidia-nvvm70"}
PROGRAMS = ("nvidia-smi nvidia-debugdump nvidia-persistenced nv-fabricmanager nvidia-imex nvidia-imex-ctl"
            " nvidia-cuda-mps-control nvidia-cuda-mps-server nvidia-xconfig").split()
SOCKETS = ("run/nvidia-persistenced/socket", "run/nvidia-fabricmanager/socket")
DATA = (
    f"lib/firmware/nvidia/{VERSION}/gsp_ga10x.bin", f"lib/firmware/nvidia/{VERSION}/gsp_tu10x.bin",
    "etc/OpenCL/vendors/nvidia.icd", "etc/vulkan/icd.d/nvidia_icd.json",
    "etc/vulkan/implicit_layer.d/nvidia_layers.json", "usr/share/glvnd/egl_vendor.d/10_nvidia.json",
    "usr/share/egl/egl_external_platform.d/10_nvidia_wayland.json",
    "usr/share/egl/egl_external_platform.d/15_nvidia_gbm.json", "usr/share/nvidia/nvoptix.bin",
    "usr/share/X11/xorg.conf.d/10-nvidia.conf",
)


def _write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _make_gpus(path):
    """What the driver and udev show of it."""
    driver, dev = path / DRIVER[1:], path / "dev"
    dev.mkdir(parents=True)
    for number, (address, minor) in enumerate(GPUS.items()):
        _write(driver / "gpus" / address / "information",
               f"Model: \t\t NVIDIA Example 48\nIRQ:   \t\t 91\nGPU UUID: \t {UUID.format(number)}\n"
               f"Bus Location: \t {address}\nDevice Minor: \t {minor}\nGPU Excluded:\t No\n")
        os.mknod(dev / f"nvidia{minor}", 0o020666, os.makedev(MAJOR, minor))
    _write(driver / "version", VERSION_TEXT)
    _write(driver / "params", PARAMS.format(1))
    _write(driver / "registry", 'Binary: ""\n')
    _write(path / "proc/devices",
           f"Character devices:\n  1 mem\n{MAJOR} nvidia\n{MAJOR} nvidiactl\n{UVM_MAJOR} nvidia-uvm\n\n"
           "Block devices:\n")
    for name, major, minor in (("ctl", MAJOR, 255), ("-uvm", UVM_MAJOR, 0), ("-uvm-tools", UVM_MAJOR, 1)):
        os.mknod(dev / f"nvidia{name}", 0o020666, os.makedev(major, minor))


def _make_libraries(path):
    """As packages of Debian have them; SONAME links and the cache are made by the machine's ldconfig."""
    folder = path / images.LIBRARIES
    folder.mkdir(parents=True)
    longest = "lib" + "x" * 60
    content = images.link(folder, longest)
    for name in COMPUTE + UTILITY + OTHERS:
        file = f"lib{name}.so.{OWN_VERSIONS.get(name, VERSION)}"
        soname = file if name in VERSIONED else f"lib{name}.so.1"
        (folder / file).write_bytes(content.replace(longest.encode(), soname.encode().ljust(len(longest), b"\0")))
    _write(path / "etc/ld.so.conf", f"/{images.LIBRARIES}\n")
    subprocess.run(["/sbin/ldconfig", "-r", path], check=True)


def make(path):
    _make_gpus(path)
    _make_libraries(path)
    for name in PROGRAMS:
        _write(path / "usr/bin" / name, "#!/bin/sh\n")
        (path / "usr/bin" / name).chmod(0o755)
    for name in DATA:
        _write(path / name, f"{name}\n")
    for name in SOCKETS:
        (path / name).parent.mkdir(parents=True)
        os.mknod(path / name, stat.S_IFSOCK | 0o666)
    (path / "tmp/nvidia-mps").mkdir(parents=True)
    os.mkfifo(path / "tmp/nvidia-mps/control")
