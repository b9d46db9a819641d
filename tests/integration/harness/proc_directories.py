# SPDX-License-Identifier: Apache-2.0
"""Directories in a container's /proc, as if this kernel had the driver that makes them."""

import functools
import re
import subprocess

# As root of the container's user namespace, if it has one: what the runtime mounts is that one's, too.
SCRIPT = """
set -- $(jq -r ".pid, .bundle"); cd "$2"; cd "$(jq -r .root.path config.json)"
own=--user; [ /proc/self/ns/user -ef /proc/$1/ns/user ] && own=
exec nsenter --target "$1" $own --mount sh -ec 'for path in DIRECTORIES; do
    [ -d "$0$path" ] || mkdir "$0$path"; mount -t tmpfs -o nosuid,mode=755 tmpfs "$0$path"; done' "$PWD"
"""


@functools.cache
def are_mounts(runtime):
    """Whether the runtime mounts what config.json has there. runc 1.1.15 refuses; the last that is known not to is
    Debian 12's."""
    if runtime != "runc":
        return True
    said = subprocess.run(["runc", "--version"], check=True, capture_output=True, text=True).stdout
    return tuple(map(int, re.findall(r"\d+", said)[:3])) <= (1, 1, 5)


def hooks(directories):
    """The hook that makes them instead, to be run first; none without directories."""
    if not directories:
        return []
    return [{"path": "/bin/sh", "args": ["sh", "-ec", SCRIPT.replace("DIRECTORIES", " ".join(directories))],
             "env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"]}]
