# SPDX-License-Identifier: Apache-2.0
"""What a container has of the driver's files, and what was left in its image."""

from hosts.driver import POINT

from .box import Box
from .expect import started
from .ldcache import OWN_MOUNTS, in_the_container
from .mounts import parse

IN_PATH = f"{POINT}/bin:/usr/local/cuda/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
LD_LIBRARY_PATH = f"{POINT}/lib:{POINT}/lib64"  # as CUDA images have it


def environment(box, **variables):
    """Variables of the container's program, in place of those of the same names."""
    env = box.config["process"]["env"]
    for name, value in variables.items():
        if isinstance(box, Box) and not hasattr(box, "options"):
            env[:] = [setting for setting in env if not setting.startswith(f"{name}=")]
        box.environment(f"{name}={value}")


def found(text):
    """What the stand-in for nvidia-smi prints: by name, the file, or the reason."""
    return dict(line.split(" ", 1) for line in text.splitlines())


def opened(box, names):
    """What nvidia-smi, found by PATH, could open in the container."""
    return found(started(box.run(f"nvidia-smi {' '.join(names)}")))


def mounts_of_tree(text):
    """The mounts of a table at the tree and below."""
    return {mount.point: mount for mount in parse(text) if mount.below(POINT)}


def image_files(rootfs):
    """All that an image has, but for what a runtime itself makes there for every container."""
    seen = {}
    for path in sorted(rootfs.rglob("*")):
        name = str(path.relative_to(rootfs))
        if name.partition("/")[0] in ("dev", "proc", "sys"):
            continue
        status = path.lstat()
        seen[name] = (status.st_mode, status.st_uid, status.st_gid,
                      path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else None)
    return seen


def left_in(before, after):
    """What is new in an image, all of it either a link, with its target, or an empty directory; nothing else differs."""
    assert before.items() <= after.items(), [name for name in before if before[name] != after.get(name)]
    new = {name: each for name, each in after.items() if name not in before}
    for name, (mode, _, _, content) in new.items():
        assert content is None or not isinstance(content, bytes), (name, content)
        assert content is not None or mode == 0o40755, (name, oct(mode))
    return {name: content and str(content) for name, (_, _, _, content) in new.items()}


def snapshot(file):
    """A hook that only looks: the mounts, and all that is in the image and in the tree."""
    return in_the_container(f'({OWN_MOUNTS}; cd "$ROOT";'
                            ' find . -xdev -printf "%p %y %i %U %G %m %s %T@ %l\\n" | sort;'
                            f' find usr/local/nvidia -printf "%p %y %i %D %m %l\\n" | sort) > "{file}"')
