# SPDX-License-Identifier: Apache-2.0
"""Where links in a container's /dev lead that its image brings, and the engines under which they are tried."""

from . import engines

SPACES = [engines.RUNTIMES[0], engines.MAPPED[1]]  # by runc; by crun, with a user namespace
CLIMB = "../../../../../../../../../../../../../../.."
TARGETS = {"the root": "/", "itself": "dri", "itself by a dot": ".", "nowhere": "/nowhere/at/all",
           "the root by procfs": "/proc/self/root", "init's root": "/proc/1/root/dev",
           "an open folder": "/proc/self/fd/3", "procfs": "/proc/sys", "a file": "/etc/passwd"}
