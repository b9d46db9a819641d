# SPDX-License-Identifier: Apache-2.0
"""The files of examples/concourse, and what oci-gpu-hooks(7) says of Concourse: each directory of hooks is put in effect as
a worker does it, and the steps of each pipeline run as its containers."""

import hashlib
import json
import re
import secrets
import shutil
import subprocess
from pathlib import Path

import pytest

from harness import concourse, pipeline
from harness.admin import Command
from harness.cdi_fixtures import MAJOR
from harness.expect import refused_by, started
from harness.nvidia_container import PROBE, alive, given, probed, refused
from harness.pages import page
from hosts.nvidia import EIGHT

pytest_plugins = ["harness.admin_fixtures", "harness.nvidia_fixtures"]

PROJECT = Path(__file__).resolve().parents[3]
EXAMPLES = PROJECT / "examples/concourse"
DIRECTORIES = ("by-key", "by-tag", "by-team")
LOOK = f"{PROBE} probe $(ls -d /dev/nvidia* 2>/dev/null | sort); echo; ls /srv 2>/dev/null || true"
NOTHING = "\n"
KEYS = Path("/etc/oci-gpu-hooks")
WRITTEN = KEYS / "concourse-hooks.d"
LOG = Path("/var/log/oci-gpu-hooks.log")
HOOKS_DIR = "CONCOURSE_CONTAINERD_OCI_HOOKS_DIR"
# Variables of Concourse's worker that the files name (worker/workercmd, and the BOSH release).
WORKERS = {HOOKS_DIR, "CONCOURSE_RUNTIME", "CONCOURSE_TAG", "CONCOURSE_TEAM"}
# Those of its web (atc/worker/placement.go, atc/atccmd/command.go).
WEBS = {"CONCOURSE_CONTAINER_PLACEMENT_STRATEGY", "CONCOURSE_MAX_ACTIVE_TASKS_PER_WORKER",
        "CONCOURSE_GC_FAILED_GRACE_PERIOD", "CONCOURSE_GC_ONE_OFF_GRACE_PERIOD"}


def readme():
    return (EXAMPLES / "README.md").read_text(encoding="utf-8")


def lines_of_the_readme():
    """What stands behind the names in its lines of a key file."""
    return re.findall("^    HASH nightly (.*)$", readme(), re.MULTILINE)


def steps_of(name):
    """The tasks of a pipeline, by name."""
    document = pipeline.read(EXAMPLES / "pipelines" / f"{name}.yml")
    return {step["task"]: step for job in document["jobs"] for step in job["plan"] if "task" in step}


def params_of(step, **variables):
    """What a step sets in its container; `variables` are what the credential manager has for the pipeline."""
    params = {**step.get("config", {}).get("params", {}), **step.get("params", {})}
    for name, value in params.items():
        variable = re.fullmatch(r"\(\((.*)\)\)", value)
        yield f"{name}={variables[variable[1].replace('-', '_')] if variable else value}"


@pytest.fixture(name="keys")
def keys_fixture(scratch):
    """The directory of the host's key file."""
    directory = scratch / "keys"
    directory.mkdir(mode=0o700)
    return directory


@pytest.fixture(name="new_key")
def new_key_fixture(keys):
    """A function that makes a key, and puts its lines into the key file, each with one of these words behind it:
    new_key(words…)."""
    def make(*words):
        key = secrets.token_hex(32)
        lines = "".join(f"{hashlib.sha256(key.encode()).hexdigest()} nightly {word}\n" for word in words or [""])
        file = keys / "keys"
        file.write_text(f"# keys\n{lines}", encoding="ascii")
        file.chmod(0o600)
        return key

    return make


@pytest.fixture(name="garden")
def garden_fixture(nv_host, scratch):
    """Takes the cgroup away that stays when unprivileged containers have ended."""
    yield nv_host("as-found")
    concourse.remove_garden(nv_host(), scratch)


@pytest.fixture(name="worker")
def worker_fixture(nv_box, machine, built, srv, keys, scratch, garden):  # pylint: disable=unused-argument
    """A function that makes the container of a step on a worker with one of the directories: worker(directory, step,
    *params, image=…)."""
    srv.directories("datasets", "outputs_writable")

    def make(directory, step, *params, image=(), mapped=False):
        box = concourse.make(nv_box(cgroup="as-found"), step, params=params, image=image)
        if mapped:
            concourse.unprivileged(box)
        box.times = 0
        box.first = concourse.entries(
            EXAMPLES / directory, built / "hooks", replaced={str(KEYS): keys, str(LOG): scratch / "hooks.log"},
            options={"nvidia-devices": ["--sysroot", machine],
                     "mount-srv": ["--source-dir", srv],
                     "amd-kfd": ["--sysroot", machine],
                     "cdi-devices": ["--sysroot", machine]})
        return box

    return make


def gpu_and_directories(text):
    """What LOOK prints: the nodes, and the directories."""
    nodes, directories = text.split("\n\n") if "\n\n" in text else ("", text.lstrip("\n"))
    return probed(nodes), directories.split()


@pytest.mark.parametrize("directory", DIRECTORIES)
def test_a_directory_for_the_worker_has_nothing_but_hooks(directory):
    """Concourse takes each file for a hook, and does not start with one that it cannot parse."""
    names = {path.name for path in (EXAMPLES / directory).iterdir()}
    hooks = {path.name.removesuffix(".in") for path in (PROJECT / "oci-hooks.d").glob("*.in")}
    assert names == hooks - ({"22-cdi-devices.json"} if directory == "by-tag" else set())


def test_the_pipelines_are_those_that_are_shown():
    names = {path.stem for path in (EXAMPLES / "pipelines").iterdir()}
    assert names == {"gpu-job", "by-tag", "by-key", "pull-requests"}


@pytest.mark.parametrize("mapped", [False, True], ids=["privileged", "unprivileged"])
def test_a_step_with_the_key_gets_what_it_asks_for(worker, new_key, mapped):
    """The line of the README for a pipeline that asks for directories too."""
    steps = steps_of("by-key")
    [served, *_] = lines_of_the_readme()
    key = new_key(served)
    params = [*params_of(steps["train"], gpu_key=key)]
    assert f"OCI_GPU_HOOKS_KEY={key}" in params
    nodes, directories = gpu_and_directories(started(worker("by-key", "task", *params, mapped=mapped).run(LOOK)))
    assert nodes == given(EIGHT[0]) and directories == ["datasets", "outputs_writable"]


def test_devices_of_a_specification_are_asked_for_as_the_others_are(worker, new_key, machine):
    spec = machine.path / "etc/cdi/intel.json"
    spec.parent.mkdir(parents=True, exist_ok=True)
    devices = [{"name": name, "containerEdits": {"deviceNodes": [
        {"path": f"/dev/gpu{name}", "type": "c", "major": MAJOR, "minor": int(name)}]}} for name in "01"]
    spec.write_text(json.dumps({"cdiVersion": "0.5.0", "kind": "intel.com/gpu", "devices": devices}), encoding="ascii")
    ask = "OCI_GPU_HOOKS_CDI_DEVICES=intel.com/gpu="
    look = f"{PROBE} probe $(ls -d /dev/gpu*)"
    for directory, more in (("by-key", [f"OCI_GPU_HOOKS_KEY={new_key('--for cdi-devices')}"]), ("by-team", [])):
        assert [*probed(started(worker(directory, "task", f"{ask}1", *more).run(look)))] == ["/dev/gpu1"]
    refused_by("cdi-devices", worker("by-key", "task", f"{ask}1").run(look), 5, "OCI_GPU_HOOKS_KEY")
    refused_by("cdi-devices", worker("by-team", "task", f"{ask}0,intel.com/gpu=1").run(look), 5, "--max-devices")


def test_a_key_of_another_pipeline_gets_nothing(worker, new_key):
    key = new_key("--for mount-srv,nvidia-devices")
    new_key("--for mount-srv,nvidia-devices")
    params = [param for param in params_of(steps_of("by-key")["train"], gpu_key=key) if "MOUNT_SRV" not in param]
    refused(worker("by-key", "task", *params).run(LOOK), 5, "not in --key-file")


def test_a_line_of_the_key_file_limits_what_its_key_is_good_for(worker, new_key):
    """The lines of the README, one for each hook."""
    [_, *limits] = lines_of_the_readme()
    key = f"OCI_GPU_HOOKS_KEY={new_key(*limits)}"
    ask = [key, "OCI_GPU_HOOKS_NVIDIA_DEVICES=any:1", "OCI_GPU_HOOKS_MOUNT_SRV=datasets"]
    nodes, directories = gpu_and_directories(started(worker("by-key", "task", *ask).run(LOOK)))
    assert nodes == given(EIGHT[0]) and directories == ["datasets"]
    ask = [key, "OCI_GPU_HOOKS_NVIDIA_DEVICES=any:2"]
    assert "--max-devices" in refused(worker("by-key", "task", *ask).run(LOOK), 5)
    refused_by("mount-srv", worker("by-key", "task", key, "OCI_GPU_HOOKS_MOUNT_SRV=outputs_writable").run(LOOK), 5)


def test_a_key_for_gpus_gives_an_image_no_directory(worker, new_key):
    """Of the variables nobody can tell which the image has set, and which the pipeline."""
    ask = [f"OCI_GPU_HOOKS_KEY={new_key()}", "OCI_GPU_HOOKS_NVIDIA_DEVICES=any:1"]
    nodes, directories = gpu_and_directories(started(worker("by-key", "task", *ask).run(LOOK)))
    assert nodes == given(EIGHT[0]) and directories == []
    for hook, asks in (("mount-srv", "MOUNT_SRV=datasets"), ("cdi-devices", "CDI_DEVICES=vendor.com/gpu=0")):
        image = [f"OCI_GPU_HOOKS_{asks}"]
        refused_by(hook, worker("by-key", "task", *ask, image=image).run(LOOK), 5, f"'--for {hook}'")


@pytest.mark.parametrize("task, code, words", [
    ("asks", 5, "OCI_GPU_HOOKS_KEY"), ("makes-up-a-key", 5, "OCI_GPU_HOOKS_KEY"),
    ("asks-as-for-the-toolkit", 0, ""), ("pretends", 0, "")])
def test_a_pull_request_gets_nothing(worker, new_key, task, code, words):
    new_key()
    params = [*params_of(steps_of("pull-requests")[task])]
    result = worker("by-key", "task", *params, image=["NVIDIA_VISIBLE_DEVICES=all"]).run(LOOK)
    if code:
        assert words in refused(result, code)
    else:
        assert started(result) == NOTHING


def test_every_task_of_the_pull_requests_is_tried():
    assert set(steps_of("pull-requests")) == {"asks", "makes-up-a-key", "asks-as-for-the-toolkit", "pretends"}


@pytest.mark.parametrize("step", concourse.VOLUMES)
def test_a_tag_gives_every_task_a_gpu_and_no_other_step(worker, step):
    """The tag is not the task's own."""
    tagged = steps_of("by-tag")["train"]
    assert tagged["tags"] == ["gpu"] and not list(params_of(tagged))
    nodes, directories = gpu_and_directories(started(worker("by-tag", step, mapped=True).run(LOOK)))
    assert (nodes, directories) == ((given(EIGHT[0]), ["datasets", "outputs_writable"]) if step in concourse.TASKS
                                else ({}, []))


@pytest.mark.parametrize("asks, code, nodes, words", [
    (("NVIDIA_DEVICES=any:2",), 0, 2, ""), (("NVIDIA_DEVICES=none",), 0, 0, ""),
    (("NVIDIA_DEVICES_CAPABILITIES=compute",), 0, 1, ""), (("NVIDIA_DEVICES=any:3",), 5, 0, "--max-devices"),
    (("NVIDIA_DEVICES=all",), 0, 2, ""), (("NVIDIA_DEVICES=12",), 3, 0, "no GPU '12'"),
    (("NVIDIA_DEVICES_CAPABILITIES=nonsense",), 2, 0, "nonsense"), (("NVIDIA_DEVICES=",), 2, 0, "is empty")], ids=str)
def test_a_task_with_a_tag_gets_what_it_asks_for_or_does_not_start(worker, asks, code, nodes, words):
    """Nothing of its params is passed over without a word."""
    result = worker("by-tag", "task", *(f"OCI_GPU_HOOKS_{each}" for each in asks)).run(LOOK)
    if code:
        assert words in refused(result, code)
    else:
        seen, _ = gpu_and_directories(started(result))
        assert sum(bool(re.fullmatch(r"/dev/nvidia\d", name)) for name in seen) == nodes


@pytest.mark.parametrize("step", ["get", "put", "check"])
@pytest.mark.parametrize("directory", DIRECTORIES)
def test_no_other_step_gets_what_its_environment_asks_for(worker, new_key, keys, scratch, directory, step):
    """It has the pipeline's key, by its resource's variables or a cache of them, and starts, also with a wrong file."""
    image = [f"OCI_GPU_HOOKS_{each}" for each in (
        "NVIDIA_DEVICES=all", "MOUNT_SRV=all", f"KEY={new_key('--for nvidia-devices,mount-srv')}")]
    (keys / "keys").chmod(0o644)
    assert started(worker(directory, step, image=image).run(LOOK)) == NOTHING
    log = (scratch / "hooks.log").read_text("utf-8").splitlines()
    assert len(log) == 2 and all("left out, and starts without what it asks for: a get" in line for line in log)


def test_on_a_teams_own_worker_a_task_asks_by_its_params(worker):
    params = [*params_of(steps_of("gpu-job")["train"])]
    nodes, directories = gpu_and_directories(started(worker("by-team", "task", *params).run(LOOK)))
    assert nodes == given(EIGHT[0]) and directories == ["datasets", "outputs_writable"]
    refused(worker("by-team", "task", "OCI_GPU_HOOKS_NVIDIA_DEVICES=0,1").run(LOOK), 5, "--max-devices")
    assert started(worker("by-team", "task").run(LOOK)) == NOTHING


@pytest.mark.parametrize("step", ["task", "get"])
def test_who_intercepts_a_step_has_what_the_step_has(worker, step):
    """`fly intercept` makes no container: it starts a process in one that is there."""
    with alive(worker("by-tag", step), "true") as container:
        nodes, _ = gpu_and_directories(container.exec(0, LOOK))
    assert nodes == (given(EIGHT[0]) if step == "task" else {})


def files(*patterns):
    return [path for pattern in patterns for path in sorted(EXAMPLES.rglob(pattern))]


def test_what_the_examples_name_exists(built):
    """Variables, annotations, options of hooks, and where oci-gpu-hooks(7) says more."""
    text = (PROJECT / "meson.build").read_text(encoding="utf-8")
    hooks = re.findall(r"^    '([a-z-]+)' : \{'order' : .*'keys' : \[(.*)\]\},$", text, re.MULTILINE)
    keys = [key for name, more in hooks for key in (name, *(f"{name}.{key}" for key in re.findall(r"'(.*?)'", more)))]
    assert "nvidia-devices.capabilities" in keys and "mount-srv" in keys
    variables = {"OCI_GPU_HOOKS_" + re.sub("[.-]", "_", key).upper() for key in keys} | {"OCI_GPU_HOOKS_KEY"}
    helps = "".join(subprocess.run([path / path.name, "--help"], check=True, capture_output=True, text=True).stdout
                    for path in (built / "hooks").iterdir())
    named = ""
    for path in files("*.md", "*.json", "*.y*ml", "*.conf"):
        text = path.read_text(encoding="utf-8")
        named += text
        assert set(re.findall(r"OCI_GPU_HOOKS_\w+", text)) <= variables, path
        assert {*re.findall(r"io\.oci-gpu-hooks\.([\w.-]+)", text)} <= set(keys), path
        assert set(re.findall(r"CONCOURSE_\w+", text)) <= WORKERS | WEBS, path
        for option in {*re.findall(r"(?<=[\"` ])--[a-z-]+", text)} - {"--for", "--engine", "--hook", "--all"}:
            assert f"{option} " in helps or f"{option}\n" in helps, (path, option)
    assert variables <= set(re.findall(r"OCI_GPU_HOOKS_\w+", named)) | {"OCI_GPU_HOOKS_LDCACHE_UPDATE"}
    found = re.findall(r'"([^"]*)" in (oci-gpu-hooks(?:-leases)?|[a-z-]+)\(([1-8])\)', re.sub(r"\s+", " ", named))
    assert ("By a key", "oci-gpu-hooks", "7") in found
    for heading, name, section in found:
        assert re.search(f"^ *{heading}$", page(f"{name}.{section}"), re.MULTILINE), (heading, name)


def test_the_files_for_workers_name_the_directory_that_install_writes():
    lines = (EXAMPLES / "worker/oci-gpu-hooks.conf").read_text(encoding="utf-8").splitlines()
    settings = dict(line.removeprefix("Environment=").split("=") for line in lines if line.startswith("Environment="))
    values = pipeline.read(EXAMPLES / "worker/helm-values.yaml")
    operations = {each["path"].rpartition("/")[2]: each["value"]
                  for each in pipeline.read(EXAMPLES / "worker/bosh-operations.yml")}
    assert {settings[HOOKS_DIR], values["concourse"]["worker"]["containerd"]["ociHooksDir"],
            operations["oci_hooks_dir"]} == {str(WRITTEN)}
    mounts = {each["name"]: each["mountPath"] for each in values["worker"]["additionalVolumeMounts"]}
    paths = {each["name"]: each["hostPath"]["path"] for each in values["worker"]["additionalVolumes"]}
    assert mounts == paths | {"host": "/host"} and {str(KEYS), "/srv"} <= set(mounts.values())
    assert WRITTEN.is_relative_to(KEYS)


@pytest.fixture(name="as_the_readme_says")
def as_the_readme_says_fixture(installed_host, oci_gpu_hooks):
    """A function that runs the command's lines of the README on a host: those below `# DIRECTORY`, with what begins so."""
    blocks = dict(re.findall(r"^    # (by-\w+)\n((?:    .*\n)+)", readme(), re.MULTILINE))
    blocks["key"] = "".join(re.findall(r"^    oci-gpu-hooks key new .*\n", readme(), re.MULTILINE))

    def run(block):
        output = ""
        for line in blocks[block].replace("\\\n", "").splitlines():
            _, word, *words = line.split()
            done = Command(oci_gpu_hooks, installed_host).run(word, *words)
            assert (done.returncode, done.stderr) == (0, ""), done
            output += done.stdout
        return output

    return run


@pytest.mark.parametrize("directory", DIRECTORIES)
def test_a_directory_is_what_the_lines_of_the_readme_write(as_the_readme_says, installed_host, directory):
    said = as_the_readme_says(directory)
    written = installed_host.path / str(WRITTEN)[1:]
    shown = {path.name: json.loads(path.read_text("utf-8")) for path in (EXAMPLES / directory).iterdir()}
    assert {path.name: json.loads(path.read_text("utf-8")) for path in written.iterdir()} == shown
    assert ("oci-gpu-hooks key new NAME --hook" in said) == (directory == "by-key")
    drop_in = (EXAMPLES / "worker/oci-gpu-hooks.conf").read_text("utf-8")
    assert all(f"    {line}\n" in said for line in drop_in.splitlines() if line.startswith("Environment="))


def test_a_key_as_the_readme_makes_it_serves_its_pipeline(as_the_readme_says, installed_host, keys, worker):
    as_the_readme_says("by-key")
    key = as_the_readme_says("key").strip()
    shutil.copy(installed_host.path / str(KEYS)[1:] / "keys", keys)
    for name, step in steps_of("by-key").items():
        result = worker("by-key", "task", *params_of(step, gpu_key=key)).run(LOOK)
        if name == "train":
            nodes, directories = gpu_and_directories(started(result))
            assert nodes == given(EIGHT[0]) and directories == ["datasets", "outputs_writable"]
        else:  # the host has none of AMD's
            refused_by("amd-kfd", result, 3, "no AMD GPU")
