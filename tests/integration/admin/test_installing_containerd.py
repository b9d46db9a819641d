# SPDX-License-Identifier: Apache-2.0
"""oci-gpu-hooks install --engine containerd for a runtime that pods name: what containerd itself makes of it, and what the
doctor says of such a runtime."""

import copy
import json
import shutil
import subprocess
import tomllib

import pytest

from harness.admin import EXECDIR, SHIPPED
from harness.containerd import programs
from harness.node import CONFIG, DROP_INS, FROM_MOUNTS, PLUGIN, PLUGIN_2, SPEC, Node, is_version_1

pytest_plugins = ["harness.admin_fixtures"]

OK, WARNING, ERROR = 0, 7, 6
OF_DEBIAN = f"""version = 2

[plugins]
  [plugins."{PLUGIN}"]
    [plugins."{PLUGIN}".cni]
      bin_dir = "/usr/lib/cni"
      conf_dir = "/etc/cni/net.d"
  [plugins."io.containerd.internal.v1.opt"]
    path = "/var/lib/containerd/opt"
"""


def runtime_table(name, plugin=PLUGIN, options="", **members):
    lines = [f'{key} = {json.dumps(value)}' for key, value in {"runtime_type": "io.containerd.runc.v2", **members}.items()]
    head = f'plugins."{plugin}".containerd.runtimes.{name}'
    return "\n".join([f"[{head}]", *lines, f"[{head}.options]", options, ""])


@pytest.fixture(name="node")
def node_fixture(machine, files, oci_gpu_hooks, scratch):
    return Node(machine, files, oci_gpu_hooks, scratch)


def runtimes(dumped):
    return dumped["plugins"][PLUGIN_2 if PLUGIN_2 in dumped["plugins"] else PLUGIN]["containerd"]["runtimes"]


def without(dumped, name="gpu"):
    rest = copy.deepcopy(dumped)
    del runtimes(rest)[name]
    return rest


CONFIGS = {
    "Debian's": OF_DEBIAN,
    "the systemd driver": OF_DEBIAN + runtime_table("runc", options="SystemdCgroup = true"),
    "another default": OF_DEBIAN + f'[plugins."{PLUGIN}".containerd]\ndefault_runtime_name = "kata"\n' +
                       runtime_table("kata", options="SystemdCgroup = true") + runtime_table("runc"),
    "no end of the last line": OF_DEBIAN + "# mine",
}


@pytest.mark.parametrize("name", CONFIGS)
def test_containerd_has_our_table_more_and_nothing_else(node, name):
    """Also where it names no runtime so far, and has the one of its own."""
    text = CONFIGS[name] if is_version_1() else f"imports = {DROP_INS}\n" + CONFIGS[name]
    node.write(text)
    node.machine.run(["chmod", "0600", CONFIG])
    before = node.dump()
    done = node.run(*FROM_MOUNTS, "--max-devices", "2")
    assert (done.returncode, done.stderr) == (0, ""), done
    assert "systemctl restart containerd" in done.stdout and "imports" not in done.stdout
    after = node.dump()
    assert without(after) == before
    ours = runtimes(after)["gpu"]
    assert ours["base_runtime_spec"] == SPEC and ours["runtime_type"] == "io.containerd.runc.v2"
    assert ours["pod_annotations"] == ["io.oci-gpu-hooks.*", "io.oci-gpu-hooks.*/*"]
    assert not ours["container_annotations"]
    fallback = "kata" if name == "another default" else "runc"
    assert ours["options"]["SystemdCgroup"] == runtimes(before)[fallback]["options"]["SystemdCgroup"]
    assert node.machine.run(["stat", "-c", "%a", CONFIG]).stdout == "600\n"
    again = node.run("install", "--engine", "containerd", "--runtime", "gpu", "nvidia-devices")
    assert again.returncode == 0 and "wrote" not in again.stdout, again
    assert not [each for each in node.findings() if each[0] not in ("ok", "note")]
    other = node.run("install", "--engine", "containerd", "--runtime", "two", "amd-kfd", "--from", "nodes")
    assert other.returncode == 0 and without(node.dump(), "two") == after, other
    gone = node.run("uninstall")
    assert gone.returncode == 0 and "systemctl restart containerd" in gone.stdout, gone
    assert node.read() == (text if text.endswith("\n") or not is_version_1() else text + "\n")
    assert node.dump() == before
    assert node.machine.run(["ls", "/etc/containerd"]).stdout.split() in (["config.toml"], ["conf.d", "config.toml"])


def test_uninstall_takes_the_runtime_first(node):
    """containerd does not start with a runtime whose spec is not there."""
    node.write(f"imports = {DROP_INS}\n" + OF_DEBIAN)
    assert node.run(*FROM_MOUNTS).returncode == 0
    lines = [line for line in node.run("uninstall").stdout.splitlines() if line.startswith("removed ")]
    assert len(lines) == 2 and lines[1] == f"removed '{SPEC}'", lines


def test_the_spec_is_containerds_own(node):
    """As its client prints it: but for powercap, which old versions show, and the limits that CRI leaves out."""
    node.write(f"imports = {DROP_INS}\n" + OF_DEBIAN)
    assert node.run(*FROM_MOUNTS).returncode == 0
    ours = json.loads(node.read(SPEC))
    theirs = json.loads(subprocess.run([programs() / "ctr", "oci", "spec"], check=True, capture_output=True).stdout)
    hooks = ours.pop("hooks")["createRuntime"]
    assert [hook["args"] for hook in hooks] == [["nvidia-devices", "--from", "mounts"], ["ldcache-update"]]
    assert hooks[0]["path"] == f"/{EXECDIR}/nvidia-devices" and hooks[0]["env"] and hooks[0]["timeout"] == 30
    assert [limit["type"] for limit in theirs["process"].pop("rlimits")] == ["RLIMIT_NOFILE"]
    masked, theirs_masked = (set(each["linux"].pop("maskedPaths")) for each in (ours, theirs))
    assert masked - theirs_masked <= {"/sys/devices/virtual/powercap"} and theirs_masked <= masked
    for spec in (ours, theirs):
        del spec["ociVersion"]
    assert ours == theirs


def test_what_is_in_the_way(node):
    """Somebody's runtime of that name; a file that takes the place of all that is said here; a table cut in two."""
    node.write(OF_DEBIAN + runtime_table("gpu"))
    done = node.run(*FROM_MOUNTS)
    assert done.returncode == ERROR and f"'{CONFIG}' has a runtime 'gpu'" in done.stderr
    assert node.run(*FROM_MOUNTS, "--max-devices", "1").returncode == ERROR
    done = node.run("install", "--engine", "containerd", "--runtime", "ours", *FROM_MOUNTS[3:])
    assert done.returncode == 0, done
    if not is_version_1():
        return
    node.write(f"version = 2\nimports = {DROP_INS}\n")
    node.write(OF_DEBIAN, "/etc/containerd/conf.d/cri.toml")
    done = node.run(*FROM_MOUNTS)
    assert done.returncode == ERROR and "'/etc/containerd/conf.d/cri.toml' has the plugin for CRI" in done.stderr
    node.write("")
    assert "does not say version = 2" in node.run(*FROM_MOUNTS).stderr
    node.machine.run(["rm", CONFIG])
    assert f"containerd config default > {CONFIG}" in node.run(*FROM_MOUNTS).stderr


def test_what_somebody_has_changed_stays(node):
    """Between the marks of the part, or in the drop-in."""
    node.write(f"imports = {DROP_INS}\n" + OF_DEBIAN)
    assert node.run(*FROM_MOUNTS).returncode == 0
    path = CONFIG if is_version_1() else "/etc/containerd/conf.d/oci-gpu-hooks-gpu.toml"
    changed = node.read(path).replace("SystemdCgroup = false\n# The end", "SystemdCgroup = true\n# The end") if \
        is_version_1() else node.read(path).replace("SystemdCgroup = false", "SystemdCgroup = true")
    node.write(changed, path)
    assert ("error", "runtime 'gpu' has SystemdCgroup = true, and the default runtime 'runc' has false: kubelet cannot "
            "start its pods (FailedCreatePodSandBox)", "have SystemdCgroup = false in its options, and restart containerd"
            ) in node.findings()
    done = node.run(*FROM_MOUNTS)
    assert done.returncode == ERROR and path in done.stderr and node.read(path) == changed
    gone = node.run("uninstall")
    assert gone.returncode == ERROR and "was changed by somebody" in gone.stderr and node.read(path) == changed


# Another host's files: its containerd is not run.

@pytest.fixture(name="host")
def host_fixture(installed_host):
    installed_host.program("containerd")
    installed_host.write("spec.json", json.dumps(
        {"ociVersion": "1.2.0", "process": {"rlimits": [{"type": "RLIMIT_NOFILE", "hard": 1024, "soft": 1024}]},
         "linux": {}, "hooks": {"createRuntime": [{"path": "/opt/mine"}, {"path": "/old/nvidia-devices"}]}}))
    return installed_host


def test_a_version_that_is_not_known_needs_its_spec(command, host):
    """On another host none is: it is not run."""
    host.write(CONFIG[1:], f"version = 3\nimports = {DROP_INS}\n")
    done = command.run(*FROM_MOUNTS)
    assert done.returncode == ERROR and "ctr oci spec > FILE" in done.stderr and "--base-spec FILE" in done.stderr
    words = ("install", "--engine", "containerd", "--base-spec", "/spec.json", "nvidia-devices", "--from", "mounts")
    done = command.run(*words)
    assert (done.returncode, done.stderr) == (0, "")
    spec = json.loads((host.path / SPEC[1:]).read_text("utf-8"))
    assert [hook["path"] for hook in spec["hooks"]["createRuntime"]] == [
        "/opt/mine", f"/{EXECDIR}/nvidia-devices", f"/{EXECDIR}/ldcache-update"]
    assert spec["process"] == {}
    for wrong in ("/nowhere", "/etc/containerd/config.toml"):
        assert command.run(*words[:4], wrong, *words[5:]).returncode == ERROR


@pytest.mark.parametrize("text, said", [
    ("version = 3\n", 'imports = ["/etc/containerd/conf.d/*.toml"]'),
    ('version = 3\nimports = ["/x/*.conf", "one.toml"]\n', 'imports = ["/x/*.conf", "one.toml", "/etc/containerd/conf.d/'),
    (f"version = 3\nimports = {DROP_INS}\n", None), ('version = 3\nimports = ["./conf.d/*"]\n', None)])
def test_the_line_that_is_missing_is_said(command, host, text, said):
    host.write(CONFIG[1:], text)
    host.write("etc/containerd/one.toml", "version = 3\n")
    done = command.run("install", "--engine", "containerd", "--base-spec", "/spec.json", *FROM_MOUNTS[3:])
    assert done.returncode == 0 and (said in done.stdout if said else "imports" not in done.stdout), done
    assert (host.path / "etc/containerd/conf.d/oci-gpu-hooks-gpu.toml").exists()


def test_hooks_come_one_after_the_other(command, host):
    """Each keeps its options; those of the one that is named change."""
    host.write(CONFIG[1:], f"version = 3\nimports = {DROP_INS}\n")
    words = ("install", "--engine", "containerd", "--base-spec", "/spec.json", "--runtime", "ml")
    for more in (["nvidia-devices", "--from", "cdi-annotations"], ["amd-kfd", "--from", "nodes"],
                 ["nvidia-devices", "--from", "cdi-annotations", "--max-devices", "1"], ["ldcache-update"]):
        assert command.run(*words, *more).returncode == 0, more
    spec = json.loads((host.path / "etc/containerd/oci-gpu-hooks-ml.json").read_text("utf-8"))
    assert [hook["args"] for hook in spec["hooks"]["createRuntime"][1:]] == [
        ["nvidia-devices", "--from", "cdi-annotations", "--max-devices", "1"], ["amd-kfd", "--from", "nodes"],
        ["ldcache-update"]]
    drop_in = tomllib.loads((host.path / "etc/containerd/conf.d/oci-gpu-hooks-ml.toml").read_text("utf-8"))
    ours = drop_in["plugins"][PLUGIN_2]["containerd"]["runtimes"]["ml"]
    assert ours["container_annotations"] == ["cdi.k8s.io/*", "nvidia.cdi.k8s.io/*"]


@pytest.mark.parametrize("words, said", [
    (["--runtime", "Gpu", "nvidia-devices"], "small letters"), (["--base-spec", "/x", "nvidia-devices"], "--from"),
    (["--runtime", "gpu", "nvidia-devices", "--from", "colours"], "'colours'")])
def test_what_makes_no_sense(command, host, words, said):
    host.write(CONFIG[1:], "version = 3\n")
    done = command.run("install", "--engine", "containerd", *words)
    assert done.returncode in (2, ERROR) and (said in done.stderr or "--base-spec" in done.stderr), done
    done = command.run("install", "--engine", "podman", "--runtime", "gpu", "nvidia-devices")
    assert done.returncode == 2 and "--engine podman takes no --runtime" in done.stderr


# The doctor.

HOOKS = [{"path": f"/{EXECDIR}/nvidia-devices", "args": ["nvidia-devices", "--from", "mounts"], "timeout": 30,
          "env": ["PATH=/usr/bin"]}, {"path": f"/{EXECDIR}/ldcache-update", "args": ["ldcache-update"], "timeout": 30,
                                      "env": ["PATH=/usr/bin"]}]
FOR_PODS = {"base_runtime_spec": SPEC, "pod_annotations": ["io.oci-gpu-hooks.*", "io.oci-gpu-hooks.*/*"]}


def with_args(*args, **more):
    return [{**HOOKS[0], "args": ["nvidia-devices", *args], **more}]


def configured(host, hooks=tuple(HOOKS), text=None, **members):
    (host.path / "usr/bin/podman").unlink(missing_ok=True)
    shutil.rmtree(host.path / SHIPPED, ignore_errors=True)
    host.write(CONFIG[1:], text if text is not None else "version = 2\n" +
               runtime_table("gpu", **{**FOR_PODS, **members}) + runtime_table("runc"))
    host.put(SPEC[1:], {"hooks": {"createRuntime": list(hooks)}})


def test_a_runtime_that_is_right(command, host):
    configured(host)
    findings, status = command.doctor()
    assert status == OK, findings
    texts = [text for _, text, _ in findings]
    assert f"it reads '{SPEC}' (base_runtime_spec in '{CONFIG}')" in texts
    assert any(text.startswith(f"nvidia-devices by '{SPEC}': Kubernetes' device plugin, by 'mounts'") for text in texts)
    assert any("pods that name no runtimeClassName have 'runc'" in text for text in texts)
    assert not any("calls no hooks by itself" in text for text in texts)


IMPORTED = runtime_table("gpu", PLUGIN_2, "SystemdCgroup = true", **FOR_PODS)
WRONG = {
    "annotations kept back": ({"hooks": with_args("--max-devices", "1"), "pod_annotations": []}, ERROR,
                              "keeps the annotation 'io.oci-gpu-hooks.nvidia-devices' from the hooks", "pod_annotations ="),
    "those of one container kept back": (
        {"hooks": with_args("--max-devices", "1"), "pod_annotations": ["io.oci-gpu-hooks.*"]}, ERROR,
        "keeps the annotation 'io.oci-gpu-hooks.nvidia-devices/x' from the hooks", "pod_annotations ="),
    "the plugin's kept back": ({"hooks": with_args("--from", "cdi-annotations")}, ERROR,
                               "keeps the device plugin's annotations from the hooks", 'container_annotations = ["cdi.'),
    "a pod's taken for the plugin's": (
        {"hooks": with_args("--from", "cdi-annotations"), "container_annotations": ["cdi.k8s.io/*"],
         "pod_annotations": ["*/*"]}, WARNING, "who writes pods can name any GPU", "pod_annotations"),
    "drivers that differ": ({"options": "SystemdCgroup = true"}, ERROR, "kubelet cannot start its pods", "= false"),
    "drivers that differ, by an imported file": (
        {"text": "version = 3\nimports = ['x/*.toml']\n" + runtime_table("runc", PLUGIN_2)}, ERROR,
        "kubelet cannot start its pods", "= false"),
    "drivers that differ, the other way": (
        {"text": "version = 2\n" + runtime_table("gpu", **FOR_PODS) +
                 runtime_table("runc", options="SystemdCgroup = true")}, ERROR,
        "its containers run outside of their pods' cgroups and limits", "= true"),
    "hook that is not there": ({"hooks": with_args(path="/opt/nvidia-devices")}, ERROR,
                               f"'{SPEC}' names '/opt/nvidia-devices', which is not there", "install the hooks again"),
    "no limit, and no ldcache-update": ({"hooks": with_args()}, None, None, None),
    "file that is not there": ({"text": "imports = ['nowhere.toml']\n"}, ERROR,
                               "'/etc/containerd/nowhere.toml' is imported, and is not there", "fix"),
    "a star in a directory's name": ({"text": "imports = ['*/x.toml']\n"}, ERROR, "is not followed here", "fix"),
    "no TOML": ({"text": "[="}, ERROR, f"'{CONFIG}': it is no TOML", "fix"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_found(command, host, name):
    how, status, *expected = WRONG[name]
    host.write("etc/containerd/x/gpu.toml", "version = 3\n" + IMPORTED)
    configured(host, **how)
    if status is None:
        findings, found = command.doctor()
        bad = [each[1] for each in findings if each[0] != "note" and each[0] != "ok"]
        assert found == WARNING and len(bad) == 1 and "ldcache-update is not called" in bad[0], bad
        assert any("oci-gpu-hooks install --engine containerd --runtime gpu nvidia-devices --only "
                                   "io.kubernetes.cri.sandbox-namespace=NAMESPACE" in each[2] for each in findings)
    else:
        command.finds(status, *expected)


def test_files_of_containerd_1_do_not_merge(command, host):
    """A later file's table takes the place of all; later versions merge, as the first of them in a file shows."""
    for version, calls in ("2", False), ("3", True):
        plugin = PLUGIN if version == "2" else PLUGIN_2
        host.write("etc/containerd/last.toml", f"version = {version}\n" + runtime_table("runc", plugin))
        configured(host, text=f"version = {version}\nimports = ['last.toml']\n" + runtime_table("gpu", plugin, **FOR_PODS))
        texts = [text for _, text, _ in command.doctor()[0]]
        assert any(text.startswith("it reads '/etc/containerd/oci") for text in texts) == calls, texts


def test_what_a_device_plugin_has_made_is_to_stay(command, host):
    host.put("var/run/cdi/plugin.json", {"cdiVersion": "0.6.0", "kind": "k8s.device-plugin.nvidia.com/gpu", "devices": [
        {"name": "0", "containerEdits": {"deviceNodes": [{"path": "/dev/nvidia0"}]}}]})
    findings, status = command.doctor()
    assert status == OK and any("of a driver of Kubernetes" in text for _, text, _ in findings), findings
