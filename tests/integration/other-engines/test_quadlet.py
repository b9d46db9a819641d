# SPDX-License-Identifier: Apache-2.0
"""The file in examples/podman-quadlet: podman's generator for systemd takes it as it stands, and what systemd would
start for it has a GPU and a directory."""

import shlex
import subprocess

from harness.gpu_examples import EXAMPLES, make_image, podman_program, specify, writable_etc
from harness.nvidia_container import given, probed
from harness.podman import LIMITS, Podman

pytest_plugins = ["harness.nvidia_fixtures"]

GENERATOR = "/usr/lib/systemd/system-generators/podman-system-generator"


def started_by_systemd(directory):
    """The words of ExecStart of the one unit that the generator makes of the files in a directory."""
    made = subprocess.run([GENERATOR, "--dryrun"], check=True, capture_output=True, encoding="utf-8",
                          env={"QUADLET_UNIT_DIRS": str(directory), "PATH": "/usr/bin:/bin"})
    [line] = [line for line in made.stdout.splitlines() if line.startswith("ExecStart=")]
    return shlex.split(line.removeprefix("ExecStart="))


def test_the_unit(nv_host, nv_hook, hook, machine, srv, scratch):
    host = nv_host("not-hybrid")
    srv.directories("datasets", "models")
    specify(writable_etc(host, scratch), nv_hook, machine)
    podman = Podman(scratch / "podman", "runc")
    hook.write(podman.hooks / "10-mount-srv.json", hook.entry(["--source-dir", srv]), "createRuntime")
    program, *words = started_by_systemd(EXAMPLES / "podman-quadlet")
    assert program == "/usr/bin/podman" and words.pop(0) == "run"
    # No service's cgroup is here to be divided, and no limit may be raised.
    words.remove("--cgroups=split")
    words = [word.replace("%t", str(scratch)).replace("%N", "train") for word in words]
    done = host.run([podman_program(host, podman, make_image(scratch / "image"), scratch), "run", "--log-driver", "none",
                     *LIMITS, *words], check=False)
    podman.clean(host)
    *seen, last = done.stdout.splitlines() or [""]
    assert last == "datasets" and probed("\n".join(seen)) == given(machine.gpus[0]), done
