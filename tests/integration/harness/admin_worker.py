# SPDX-License-Identifier: Apache-2.0
"""A worker of Concourse on a host in a folder: what /proc says of it, and the root that it sees."""

import shutil

from hosts.sysroot import Sysroot

from .admin import EXECDIR, FILES, SHIPPED, InstalledHost

PID = 812
BOOTED = 1_000_000_000
FOLDER = "opt/hooks"
ALWAYS = {"mount-srv": ["--opt-in", "always", "--request", "all"],
          "nvidia-devices": ["--opt-in", "always", "--request", "any:1"],
          "amd-kfd": ["--opt-in", "always", "--request", "any:1"],
          "cdi-devices": ["--opt-in", "always", "--request", "none"], "ldcache-update": []}


class Worker(Sysroot):
    """Its root; started() says how. All hooks are in the folder that it reads, always on."""

    def __init__(self, host, built):
        self.host = host
        (host.path / f"proc/{PID}").mkdir(parents=True)
        super().__init__(host.path / f"proc/{PID}/root")
        for folder in (FOLDER, EXECDIR, "usr/local/concourse/bin"):
            (self.path / folder).mkdir(parents=True)
        for name, file in FILES.items():
            shutil.copy(built / "hooks" / name / name, self.path / EXECDIR)
            self.put(f"{FOLDER}/{file}", InstalledHost.document(name, ALWAYS[name], {"always": True}))
        for name in ("concourse", "runc"):
            shutil.copy("/bin/true", self.path / "usr/local/concourse/bin" / name)
        self.started()

    put, change = InstalledHost.put, InstalledHost.change

    def started(self, words=("worker",), environment=(f"CONCOURSE_CONTAINERD_OCI_HOOKS_DIR=/{FOLDER}",
                                                      "CONCOURSE_RUNTIME=containerd"), age=2**33):
        """`age` is when it was started, in seconds after the host was: by default long after its files were written."""
        process = f"proc/{PID}"
        self.host.write(f"{process}/cmdline", "\0".join(["/usr/local/concourse/bin/concourse", *words, ""]))
        self.host.write(f"{process}/environ", "".join(f"{each}\0" for each in environment))
        self.host.write(f"{process}/stat", f"{PID} (con) course) S 1 {' '.join(['0'] * 17)} {age * 100} 0 0\n")
        self.host.write("proc/stat", f"cpu 1 2 3\nbtime {BOOTED}\nprocesses 5\n")
        link = self.host.path / f"{process}/exe"
        link.unlink(missing_ok=True)
        link.symlink_to("/usr/local/concourse/bin/concourse")

    def without_podman(self):
        """The host is for the worker alone."""
        self.host.remove("usr/bin/podman")
        self.host.remove(SHIPPED)
