# SPDX-License-Identifier: Apache-2.0
"""oci-gpu-hooks doctor: CDI specifications, the engines that read them, and other vendors' ways to GPUs."""

import json
import os
import shutil

import pytest

from harness.admin import EXECDIR, SHIPPED, later

pytest_plugins = ["harness.admin_fixtures"]

OK, WARNING, ERROR = 0, 7, 6
SPEC = "etc/cdi/oci-gpu-hooks.json"
DAEMON = "etc/docker/daemon.json"
CONTAINERD = "etc/containerd/config.toml"
NODE = {"deviceNodes": [{"path": "/dev/nvidia0"}]}
UNIT = "nvidia-cdi-refresh.path"
LEGACY_HOOK = "usr/bin/nvidia-container-runtime-hook"
VENDOR_YAML = """# made by a tool
---
cdiVersion: "0.5.0"
kind: nvidia.com/gpu
devices:
  - name: "0"
    containerEdits:
      deviceNodes:
        - path: /dev/nvidia0
  - {name: all, containerEdits: {deviceNodes: [{path: /dev/nvidia0}]}}
"""


def devices(kind, edits):
    return {"cdiVersion": "0.6.0", "kind": kind, "devices": [{"name": "0", "containerEdits": edits}]}


def spec(path=f"/{EXECDIR}/nvidia-devices"):
    """One device, by nvidia-devices."""
    hook = {"hookName": "createRuntime", "path": path, "args": ["nvidia-devices", "--request", "0"]}
    return devices("oci-gpu-hooks.io/gpu", {"hooks": [hook]})


@pytest.fixture(name="host")
def host_fixture(installed_host):
    """With docker and containerd, which give the devices of a specification of ours."""
    for program in ("dockerd", "containerd"):
        installed_host.program(program)
    installed_host.link("var/run", "/run")
    installed_host.put(SPEC, spec())
    installed_host.put(DAEMON, {"features": {"cdi": True}})
    installed_host.write(CONTAINERD, 'version = 2\n[plugins."io.containerd.grpc.v1.cri"]\nenable_cdi = true\n')
    return installed_host


def test_nothing_is_wrong(command, host):
    done = command.run("doctor", "--format", "json")
    sections = {each["title"]: each["findings"] for each in json.loads(done.stdout)["sections"]}
    assert done.returncode == OK, sections
    for engine in ("docker", "containerd"):
        assert sections[engine] == [{"severity": "ok", "remedy": "",
                                     "text": "it gives the devices of the CDI specifications"}]
    assert sections["CDI"][0]["text"] == (f"'/{SPEC}': 1 devices of 'oci-gpu-hooks.io/gpu', by the hooks of this "
                                          "collection"), host


def test_without_a_specification(command, host):
    host.remove("etc/cdi")
    findings, status = command.doctor()
    assert status == OK
    assert sum(each[1].startswith("it calls no hooks by itself") for each in findings) == 2


@pytest.mark.parametrize("name,text", [(DAEMON, "{}"), (CONTAINERD, 'version = 2\n# enable_cdi = true\n'
                                       '# runtime = "nvidia-container-runtime"\n')])
def test_what_the_engines_version_decides(command, host, name, text):
    host.write(name, text)
    findings, status = command.doctor()
    assert status == OK and sum(each[1].startswith("CDI is not switched on") for each in findings) == 1, findings


LEGACY_FILE = {"version": "1.0.0", "stages": ["prestart"], "when": {"always": True},
               "hook": {"path": f"/{LEGACY_HOOK}", "args": ["hook", "prestart"]}}


def anybodys(host):
    """What a specification has called, in a directory of a user's."""
    shutil.copytree(host.path / EXECDIR, host.path / "opt/hooks")
    os.chown(host.path / "opt/hooks", 1000, 0)
    host.put(SPEC, spec("/opt/hooks/nvidia-devices"))


BROKEN = {
    "CDI switched off in docker": (later.put(DAEMON, {"features": {"cdi": False}}), ERROR, "CDI is switched off", "daemon"),
    "daemon.json is no file": (later.remove(DAEMON).mkdir(DAEMON), ERROR,
                               "daemon.json", "fix"),
    "CDI switched off in containerd": (
        later.write(CONTAINERD, '[plugins."io.containerd.cri.v1.runtime"]\n# enable_cdi = true\nenable_cdi = false\n'), ERROR,
        "CDI is switched off", "enable_cdi"),
    "specification is no JSON": (later.write(SPEC, "{"), WARNING, f"'/{SPEC}' is passed over: ", "fix"),
    "specification without a kind": (later.put(SPEC, {"cdiVersion": "0.6.0"}), WARNING, "the kind '' is not like", "fix"),
    "specification that others may write": (later.chmod(SPEC, 0o666), WARNING,
                                            "may be written by others than its owner", "fix"),
    "directory of specifications that others may write": (later.chmod("etc/cdi", 0o777), ERROR,
                                                       "who writes there could give any file of the host", "directory"),
    "specification without its executable": (later.put(SPEC, spec("/opt/nvidia-devices")), ERROR, "is not there",
                                             "install the hooks again"),
    "specification with anybody's executable": (anybodys, ERROR, "becomes root when a container is created", "0755"),
    "vendor's specification, YAML": (later.write("run/cdi/nvidia.yaml", VENDOR_YAML), WARNING,
                                     "'/var/run/cdi/nvidia.yaml' has 2 devices of 'nvidia.com/gpu'", "remove it"),
    "vendor's specification beside ours": (
        later.put("run/cdi/nvidia.json", devices("oci-gpu-hooks.io/gpu", NODE)), ERROR,
        "'/var/run/cdi/nvidia.json' has 1 devices of 'oci-gpu-hooks.io/gpu', as", "rm /var/run/cdi/nvidia.json"),
    "vendor's specification, JSON": (later.put("etc/cdi/amd.json", devices("amd.com/gpu", NODE)), WARNING,
                                     "'amd.com/gpu': whoever may name one", "remove it"),
    "specification is no YAML": (later.write("etc/cdi/x.yaml", "a: [b\nc: d"), WARNING, "line 2", "fix"),
    "aliases": (later.write("etc/cdi/x.yaml", "a: &a [x]\nb: *a\n"), WARNING, "line 2: an alias is not understood", "fix"),
    "vendor's hook": (later.program(os.path.basename(LEGACY_HOOK)).put(f"{SHIPPED}/oci-nvidia-hook.json", LEGACY_FILE), WARNING,
                      "NVIDIA's own hook '/usr/bin/nvidia-container-runtime-hook': an image that sets NVIDIA_VIS", "file"),
    "vendor's runtime in docker": (
        later.put(DAEMON, {"features": {"cdi": True}, "runtimes": {"nvidia": {"path": "nvidia-container-runtime"}}}),
        WARNING, "has NVIDIA's runtime: where that is asked for, or the default, an image that sets NVIDIA_VIS",
        "remove it"),
    "vendor's runtime in containerd": (later.write(CONTAINERD, 'BinaryName = "/usr/bin/amd-container-runtime"\n'), WARNING,
                                       "AMD's runtime", "remove it"),
    "vendor's runtime in podman": (
        later.write("etc/containers/containers.conf.d/nvidia.conf",
              '[engine]\nruntime = "nv"\n[engine.runtimes]\nnv = ["/usr/bin/nvidia-container-runtime"]\n'),
        WARNING, "'/etc/containers/containers.conf.d/nvidia.conf' has NVIDIA's runtime", "remove it"),
    "unit that makes a specification": (
        later.link(f"etc/systemd/system/multi-user.target.wants/{UNIT}", f"/usr/lib/systemd/system/{UNIT}")
            .write(f"usr/lib/systemd/system/{UNIT}", "[Path]\n"), WARNING, "nvidia-cdi-refresh.path is enabled",
        "systemctl disable"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_found(command, host, name):
    break_it, *expected = BROKEN[name]
    break_it(host)
    command.finds(*expected)


def test_what_a_specification_says_does_not_move_the_terminal(command, host):
    host.put("etc/cdi/x.json", {"cdiVersion": "0.6.0", "kind": "nvidia.com/\u001b[2J\u202e"})
    done = command.run("doctor")
    assert "\033" not in done.stdout and "\u202e" not in done.stdout and "x1b" in done.stdout
