# SPDX-License-Identifier: Apache-2.0
"""oci-gpu-hooks install --engine docker --gpus: the script that docker calls, and what the doctor says of it. What it does
with docker itself is in other-engines/test_docker_gpus.py."""

import json
import subprocess

import pytest
from hosts import amd, nvidia

from harness.admin import EXECDIR
from harness.host import LIMIT_S

pytest_plugins = ["harness.admin_fixtures"]

SCRIPT = "usr/local/bin/nvidia-container-runtime-hook"
INSTALL = ("install", "--engine", "docker", "--gpus")
POLICY = ("--max-devices", "2", "--log-file", "/var/log/it's hooks.log")


@pytest.fixture(name="host")
def host_fixture(installed_host):
    installed_host.program("dockerd")
    return installed_host


def installed(command, *words):
    done = command.run(*INSTALL, *words)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def refused(command, host, status, words, *options):
    before = (host.path / SCRIPT).read_bytes() if (host.path / SCRIPT).exists() else None
    done = command.run(*INSTALL, *options)
    assert done.returncode == status and words in done.stderr, done
    assert before == ((host.path / SCRIPT).read_bytes() if (host.path / SCRIPT).exists() else None)


def section(command, title="docker --gpus"):
    """The doctor's findings: (severity, text)."""
    sections = json.loads(command.run("doctor", "--format", "json").stdout)["sections"]
    return [(each["severity"], each["text"]) for part in sections if part["title"] == title for each in part["findings"]]


def test_the_script(command, host):
    """So plain that nobody has to look twice."""
    (host.path / "var/log").mkdir(parents=True)
    said = installed(command, "nvidia-devices", *POLICY)
    path = host.path / SCRIPT
    assert (path.stat().st_uid, path.stat().st_mode & 0o7777) == (0, 0o755)
    lines = path.read_text("utf-8").splitlines()
    assert lines[0] == "#!/bin/sh" and lines[3:] == [
        "set -eu", "state=$(/bin/cat)",
        f"printf %s \"$state\" | /usr/bin/env -i /{EXECDIR}/nvidia-devices --request env --max-devices 2 "
        "--log-file '/var/log/it'\\''s hooks.log'",
        f'printf %s "$state" | /usr/bin/env -i /{EXECDIR}/ldcache-update --request auto']
    assert f"wrote '/{SCRIPT}'\n" in said and f"\nrestart docker: it looks for '/{SCRIPT}' when it starts\n" in said
    assert "is as it is to be" in installed(command), "and without options it keeps those that it has"
    assert section(command)[:2] == [
        ("note", f"it reads no directory of hooks (with --gpus it calls '/{SCRIPT}')"),
        ("ok", f"nvidia-devices by '/{SCRIPT}': every container that this file is called for: 'env'; GPUs for one "
               "container at most: '2'")]
    assert command.doctor()[1] == 0
    assert "nvidia-devices, as podman and docker --gpus call it\n" in command.run("list").stdout
    done = command.run("uninstall", "--engine", "docker")
    assert f"removed '/{SCRIPT}'\n" in done.stdout and not path.exists()


def calling(host, directory, hook_says):
    """The script as it would be, with other programs in the place of the hooks: each writes down what it gets."""
    text = (host.path / SCRIPT).read_text("utf-8")
    for name, status in hook_says.items():
        program = directory / name
        program.write_text(f'#!/bin/sh\n{{ echo {name} "$@"; env; cat; }} >>{directory}/seen\nexit {status}\n', "ascii")
        program.chmod(0o755)
        text = text.replace(f"/{EXECDIR}/{name}", str(program))
    return text


@pytest.mark.parametrize("statuses, expected", [((0, 0), 0), ((5, 0), 5), ((0, 6), 6)])
def test_what_the_hooks_get(command, host, tmp_path, statuses, expected):
    """The state, to the byte and each, and no environment but a shell's; a failure is the script's own."""
    installed(command, "nvidia-devices")
    script = tmp_path / "script"
    script.write_text(calling(host, tmp_path, dict(zip(("nvidia-devices", "ldcache-update"), statuses))), "utf-8")
    state = '{"id": "x\\\\n%s", "annotations": {"a": "' + "b" * 300000 + ' $(true) `true` "}}'
    done = subprocess.run(["/bin/sh", script, "prestart"], input=state, capture_output=True, encoding="utf-8", check=False,
                          timeout=LIMIT_S, env={"SECRET": "of dockerd", "PATH": "/nowhere"})
    assert (done.returncode, done.stdout, done.stderr) == (expected, "", "")
    seen = (tmp_path / "seen").read_text("utf-8")
    calls = 1 if statuses[0] else 2
    assert seen.count(state) == calls and "SECRET" not in seen and "nowhere" not in seen
    assert seen.startswith("nvidia-devices --request env\n") and seen.count("ldcache-update --request auto\n") == calls - 1


@pytest.mark.parametrize("words, status, options", [
    ("--gpus calls nvidia-devices, and not amd-kfd", 2, ["amd-kfd"]),
    ("says who asks", 2, ["nvidia-devices", "--request=any:1"]),
    ("says who asks", 2, ["nvidia-devices", "--opt-in", "always"]),
    ("says who asks", 2, ["nvidia-devices", "--observer", "io.kubernetes.pod.namespace=x"]),
    ("unknown option '--max'", 2, ["nvidia-devices", "--max", "1"]),
    ("characters that do not belong", 2, ["nvidia-devices", "--log-file", "/x\nrm"]),
    ("needs an absolute path", 2, ["nvidia-devices", "--log-file", "x"]),
])
def test_what_is_refused(command, host, words, status, options):
    refused(command, host, status, words, *options)


def test_for_docker_alone(command):
    done = command.run("install", "--engine", "containerd", "--gpus")
    assert done.returncode == 2 and "--engine containerd takes no --gpus" in done.stderr


@pytest.mark.parametrize("place", ["usr/local/bin", "usr/bin", "usr/sbin"])
def test_nvidias_own(command, host, place):
    """Known by what it is: under that name ours lies, too."""
    installed(command, "nvidia-devices")
    host.program(f"../../{place}/nvidia-container-runtime-hook")
    refused(command, host, 6, f"'/{place}/nvidia-container-runtime-hook' is NVIDIA's own", "nvidia-devices", "--allow", "0")
    assert any(f"'/{place}/nvidia-container-runtime-hook' is NVIDIA's own hook" in text for _, text in section(command))
    command.finds(7, "gets GPUs past the hooks", "oci-gpu-hooks install --engine docker --gpus")


def test_a_link_to_it(command, host):
    host.program("nvidia-container-toolkit")
    host.link(SCRIPT, "/usr/bin/nvidia-container-toolkit")
    refused(command, host, 6, f"'/{SCRIPT}' is NVIDIA's own", "nvidia-devices")


def test_a_host_of_amds(command, host, tmp_path):
    """There docker takes --gpus for AMD's by a specification, from 29.3 on, and the script would be in its way."""
    subprocess.run(["cp", "-a", f"{amd.AmdHost(tmp_path / 'amd', amd.SPX).path}/.", host.path], check=True)
    refused(command, host, 6, "the GPUs of this host are AMD's", "nvidia-devices")
    devices = (host.path / "proc/devices").read_text("ascii")
    subprocess.run(["cp", "-a", f"{nvidia.NvidiaHost(tmp_path / 'nvidia', nvidia.TWO).path}/.", host.path], check=True)
    both = (host.path / "proc/devices").read_text("ascii").replace("Character devices:\n", devices.partition("\n\n")[0] + "\n")
    host.write("proc/devices", both)
    assert "AMD's GPUs are not given by --gpus, but by --device amd.com/gpu=0" in installed(command, "nvidia-devices")


def test_a_script_that_was_changed(command, host):
    installed(command, "nvidia-devices", "--max-devices", "1")
    path = host.path / SCRIPT
    path.write_text(path.read_text("utf-8").replace("--max-devices 1", ""), "utf-8")
    command.finds(6, f"'/{SCRIPT}' was changed: what it calls is not known", "oci-gpu-hooks install")
    refused(command, host, 6, "not written by this command, or changed since", "nvidia-devices")
    done = command.run("uninstall")
    assert done.returncode == 6 and path.exists() and not path.with_suffix(".new").exists()


def test_it_can_be_run_again(command, host):
    installed(command, "nvidia-devices")
    (host.path / SCRIPT).chmod(0o644)
    assert f"wrote '/{SCRIPT}'\n" in installed(command, "nvidia-devices")
    assert (host.path / SCRIPT).stat().st_mode & 0o777 == 0o755


def test_beside_nvidias_cdi_hook(command, host):
    installed(command, "nvidia-devices")
    host.program("nvidia-cdi-hook")
    assert any("'/usr/bin/nvidia-cdi-hook' is there: docker 29.2" in text for _, text in section(command))


def test_its_policy_goes_to_devices_too(command, host):
    """Without options, as that of files of hooks; but not who asks, and how a count is meant."""
    host.remove("usr/bin/podman")
    installed(command, "nvidia-devices", "--count-means", "any", "--max-devices", "1")
    assert command.run("install", "--engine", "docker", "nvidia-devices").returncode == 0
    text = (host.path / "etc/cdi/oci-gpu-hooks-nvidia-devices.json").read_text("utf-8")
    assert '"--max-devices"' in text and "--count-means" not in text and '"env"' not in text.replace('"env":', "")
    assert command.doctor()[1] == 0
