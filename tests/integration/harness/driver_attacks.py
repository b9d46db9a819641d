# SPDX-License-Identifier: Apache-2.0
"""What attacks of an image on the driver's files have in common; harness.driver_attack_fixtures has their fixtures."""

import os

from hosts.driver import POINT, VERSION

from .mounts import parse
from .nvidia_container import refused

CLIMB = "../../../../../../../../../../../../../../.."
PLACE, COMPAT = POINT[1:], "usr/local/cuda/compat"
NEWER = "libcuda.so.575.51.03"
OURS = f"libcuda.so.1 {POINT}/lib64/libcuda.so.{VERSION}\n"
FILE = f"echo libcuda.so.1 $(readlink -f {POINT}/lib64/libcuda.so.1)"
LOOK = f"cat /proc/self/mountinfo; echo ==; {FILE}"
# Where links are made, by their directories; each is somewhere in `outside`, too.
PARENTS = ("etc/vulkan", "etc/OpenCL/vendors", "etc/nvidia", "usr/share/glvnd/egl_vendor.d", "usr/share/egl",
           "usr/share/nvidia", "usr/lib/firmware", "run/nvidia-persistenced", "run/nvidia-fabricmanager",
           "usr/lib/x86_64-linux-gnu/gbm")
LINKS = ("etc/vulkan/icd.d/nvidia_icd.json", "etc/OpenCL/vendors/nvidia.icd", "usr/share/nvidia/nvoptix.bin",
         f"usr/lib/firmware/nvidia/{VERSION}/gsp_tu10x.bin", "run/nvidia-persistenced/socket",
         "usr/bin/nvidia-debugdump", "tmp/nvidia-mps")
# What may be where something else belongs.
SHAPES = {"file": lambda path: path.write_text("of the image"), "FIFO": os.mkfifo,
          "device": lambda path: os.mknod(path, 0o20666, os.makedev(1, 5)),
          "setuid": lambda path: (path.write_text(""), path.chmod(0o6755))}


def look_at(box, scratch):
    """Runs it; gives what its program finds, or None if the container was refused, or the runtime itself was hit. Of
    the host nothing is mounted but the driver's files."""
    result = box.run(LOOK)
    if result.hook_status:
        refused(result, 1)
    if not result.out:
        return None
    table, _, said = result.out.partition("==\n")
    for mount in parse(table):
        assert str(scratch) not in mount.root or mount.point == "/", mount
    return said


def plant(path, target):
    """A link in place of what is there."""
    if path.is_dir() and not path.is_symlink():
        path.rename(path.with_name(f"{path.name}.away"))
    else:
        path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)
