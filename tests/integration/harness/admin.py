# SPDX-License-Identifier: Apache-2.0
"""A host on which the hooks are installed, in a directory (--sysroot), and the command oci-gpu-hooks run for it."""

import json
import shutil
import subprocess

from hosts.sysroot import Sysroot

from .host import LIMIT_S

SHIPPED = "usr/share/containers/oci/hooks.d"
OWN = "etc/containers/oci/hooks.d"
EXECDIR = "usr/local/libexec/oci/hooks.d"
FILES = {"mount-srv": "10-mount-srv.json", "nvidia-devices": "20-nvidia-devices.json", "amd-kfd": "21-amd-kfd.json",
         "cdi-devices": "22-cdi-devices.json", "ldcache-update": "90-ldcache-update.json"}
BOTH_DIRECTORIES = f'["/{SHIPPED}", "/{OWN}"]'


def when_of(hook):
    """Its own annotations, and for ldcache-update all: that one refuses a misspelt one."""
    own = "" if hook == "ldcache-update" else f"{hook}([./]|$)"
    return {"annotations": {rf"^io\.oci-gpu-hooks\.{own}": "^([^-]|-.)|^$"}}


class InstalledHost(Sysroot):
    """All hooks, with their files as they are shipped; `programs` are engines that seem to be there."""

    def __init__(self, path, built, programs=("podman",)):
        super().__init__(path)
        self.write("proc/sys/kernel/osrelease", "6.1.0-example\n")
        (self.path / "srv/datasets").mkdir(parents=True)
        for directory in (SHIPPED, EXECDIR):
            (self.path / directory).mkdir(parents=True)
        for name, file in FILES.items():
            shutil.copy(built / "hooks" / name / name, self.path / EXECDIR)
            self.put(f"{SHIPPED}/{file}", self.document(name, []))
        for program in programs:
            self.program(program)

    def program(self, name):
        path = self.path / "usr/bin" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy("/bin/true", path)

    @staticmethod
    def document(hook, args, when=None):
        """What the installed file of the hook says, with further args."""
        return {"version": "1.0.0",
                "hook": {"path": f"/{EXECDIR}/{hook}", "args": [hook, *args],
                         "env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"], "timeout": 30},
                "when": when or when_of(hook),
                "stages": ["createRuntime"]}

    def put(self, name, document):
        self.write(name, json.dumps(document))

    def change(self, name, change):
        """Have `change` do something to what a JSON file says."""
        document = json.loads((self.path / name).read_text("utf-8"))
        change(document)
        self.put(name, document)

    def shipped(self, hook, *args, when=None):
        """The installed file of the hook has these further words."""
        self.put(f"{SHIPPED}/{FILES[hook]}", self.document(hook, args, when))

    def own(self, hook, *args):
        """There is such a file in the administrator's directory."""
        self.put(f"{OWN}/{FILES[hook]}", self.document(hook, args))

    def members(self, name, **members):
        """What a JSON file says of these is replaced."""
        self.change(name, lambda document: document.update(members))

    def hook_members(self, name, **members):
        self.change(name, lambda document: document["hook"].update(members))

    def hooks_dir(self, directories=BOTH_DIRECTORIES):
        self.write("etc/containers/containers.conf", f"[engine]\nhooks_dir = {directories}\n")


class Later:
    """What is done to a host when it is called with one: later.write(NAME, TEXT).remove(NAME)."""

    def __init__(self, *calls):
        self._calls = calls

    def __getattr__(self, name):
        return lambda *args, **more: Later(*self._calls, (name, args, more))

    def __call__(self, host):
        for name, args, more in self._calls:
            getattr(host, name)(*args, **more)


later = Later()


class RealHost(InstalledHost):
    """Files of an InstalledHost in the place of this machine's own, for one mount namespace."""

    def __init__(self, path, built, host):
        super().__init__(path, built, programs=())
        (self.path / "srv/models").mkdir()
        for name in ("etc/containers", "var/lib"):
            (self.path / name).mkdir(parents=True)
        for name in ("etc/containers", "usr/share/containers", "usr/local", "srv", "var/lib"):
            if name == "usr/share/containers":  # podman has more of its own there
                shutil.copytree("/usr/share/containers", self.path / name, dirs_exist_ok=True)
            host.mount("--bind", self.path / name, f"/{name}")


class Command:
    """oci-gpu-hooks for a host."""

    def __init__(self, executable, host=None):
        self._executable, self._host = executable, host

    def run(self, name, *args):
        sysroot = ["--sysroot", self._host.path] if self._host else []
        return subprocess.run([self._executable, name, *sysroot, *args], check=False, capture_output=True,
                              stdin=subprocess.DEVNULL, encoding="utf-8", timeout=LIMIT_S, env={})

    def doctor(self, *args):
        """Its findings: (severity, text, remedy), and the exit status."""
        done = self.run("doctor", "--format", "json", *args)
        assert done.stderr == "", done.stderr
        return [(each["severity"], each["text"], each["remedy"])
                for section in json.loads(done.stdout)["sections"] for each in section["findings"]], done.returncode

    def finds(self, status, text, remedy):
        """The doctor ends with this status, one of its findings has these words, and each says what to do."""
        findings, found_status = self.doctor()
        bad = [each for each in findings if each[0] in ("warning", "error")]
        assert any(text in each[1] and remedy in each[2] for each in bad), findings
        assert all(each[2] for each in bad), "each says what to do"
        assert found_status == status

