# SPDX-License-Identifier: Apache-2.0
"""oci-gpu-hooks doctor: what `install` has written and what is not in effect, for engines that run and those that do not."""

import json
import os

import pytest
from hosts import nvidia

from harness.admin import EXECDIR, FILES, OWN, SHIPPED, Command

pytest_plugins = ["harness.admin_fixtures"]

OK, USAGE, WARNING, ERROR = 0, 2, 7, 6
OWN_COPY = f"{OWN}/{FILES['mount-srv']}"
CONCOURSE = "etc/oci-gpu-hooks/concourse-hooks.d"
ALWAYS = ("--opt-in", "always", "--request", "any:1")


def install(command, engine, *words):
    done = command.run("install", "--engine", engine, *words)
    assert (done.returncode, done.stderr) == (OK, ""), done
    return done.stdout


def renamed(path):
    path.rename(f"{path}.bak")


def removed(path):
    path.unlink()


@pytest.mark.parametrize("take_away", [renamed, removed])
def test_a_policy_that_is_gone(command, installed_host, take_away):
    install(command, "podman", "mount-srv", "--allow", "datasets")
    take_away(installed_host.path / OWN_COPY)
    command.finds(ERROR, f"'/{OWN_COPY}', which 'install' has written for 'podman', is not there: mount-srv is called "
                         "without this policy, or not at all",
                  "oci-gpu-hooks install --engine podman mount-srv --allow datasets; or have none of it")
    install(command, "podman", "mount-srv", "--allow", "datasets")
    assert command.doctor()[1] == OK


def with_args(host, args):
    host.change(OWN_COPY, lambda document: document["hook"].update(args=["mount-srv", *args]))


@pytest.mark.parametrize("args, text", [
    (["--writable", "never"], "it does not have '--allow datasets,models' any more"),
    (["--allow", "datasets,secrets", "--writable=never"], "it does not have '--allow datasets,models' any more"),
    (["--allow=datasets,models"], "it does not have '--writable never' any more"),
    (["--allow=datasets,models", "--writable", "never", "--opt-in", "environment"], "it has '--opt-in environment' by now"),
    (["--request", "all"], "it does not have '--allow datasets,models', '--writable never' any more, and it has "
                           "'--request all' by now")])
def test_a_limit_that_is_edited_out(command, installed_host, args, text):
    for name in ("models", "secrets"):
        (installed_host.path / "srv" / name).mkdir()
    install(command, "podman", "mount-srv", "--allow", "datasets,models", "--writable", "never")
    assert command.doctor()[1] == OK
    with_args(installed_host, args)
    findings, _ = command.doctor()
    assert [(severity, found) for severity, found, _ in findings if "was changed" in found] == [
        ("warning", f"'/{OWN_COPY}' was changed since 'install' wrote it: {text}")], findings
    remedy = next(remedy for _, found, remedy in findings if "was changed" in found)
    assert remedy == (f"have it written as it was: rm /{OWN_COPY}; oci-gpu-hooks install --engine podman mount-srv --allow "
                      "datasets,models --writable never; or with the options that are meant")
    installed_host.remove(OWN_COPY)
    install(command, "podman", *remedy.split("--engine podman ")[1].split("; ")[0].split())
    assert command.doctor()[1] == OK


@pytest.mark.parametrize("args", [["--allow", "datasets", "--writable=never"],
                                  ["--allow=datasets,models", "--writable", "never", "--log-level", "debug"]])
def test_what_is_edited_to_allow_no_more(command, installed_host, args):
    """And so is what is as it is meant, and said so."""
    (installed_host.path / "srv/models").mkdir()
    install(command, "podman", "mount-srv", "--allow", "datasets,models", "--writable", "never")
    with_args(installed_host, args)
    findings, status = command.doctor()
    assert status == OK and ("note", f"'/{OWN_COPY}' was changed since 'install' wrote it: neither 'install' nor "
                                     "'uninstall' touches it", "") in findings, findings


def test_a_limit_of_dockers_flag_that_is_edited_out(command, installed_host):
    """In the script, which is none of the files of hooks."""
    installed_host.program("dockerd")
    install(command, "docker", "--gpus", "nvidia-devices", "--max-devices", "1")
    script = installed_host.path / "usr/local/bin/nvidia-container-runtime-hook"
    text = script.read_text("utf-8")
    script.write_text(text.replace(" --max-devices 1", ""), encoding="utf-8")
    assert text != script.read_text("utf-8")
    command.finds(WARNING, "was changed since 'install' wrote it: it does not have '--max-devices 1' any more", "--max-devices 1")


@pytest.mark.parametrize("quota, severity", [("ci=1", "note"), ("ci=3", "warning"), ("other=1", "warning")])
def test_a_quota_that_is_edited(command, installed_host, quota, severity):
    """A smaller one of the same name allows no more."""
    install(command, "podman", "mount-srv", "--allow", "datasets")
    install(command, "podman", "nvidia-devices", "--quota", "ci=2")
    installed_host.change("etc/containers/oci/hooks.d/20-nvidia-devices.json",
                          lambda document: document["hook"].update(args=["nvidia-devices", "--quota", quota]))
    assert [found for found, text, _ in command.doctor()[0] if "was changed" in text] == [severity]


def test_a_drop_in_that_is_gone(command, installed_host):
    install(command, "podman", "mount-srv", "--allow", "datasets")
    drop_in = "etc/containers/containers.conf.d/90-oci-gpu-hooks.conf"
    installed_host.remove(drop_in)
    command.finds(ERROR, f"'/{drop_in}', which 'install' has written for 'podman', is not there", "put it back")


def test_a_runtime_that_is_gone(command, installed_host):
    installed_host.program("containerd")
    installed_host.write("etc/containerd/config.toml", "version = 2\n")
    main = installed_host.path / "etc/containerd/config.toml"
    done = command.run("install", "--engine", "containerd", "--runtime", "gpu", "--base-spec", "/spec.json",
                       "nvidia-devices", "--max-devices", "1")
    if done.returncode != OK:  # which version this is is not known, and so is what it starts containers from
        installed_host.write("spec.json", json.dumps({"ociVersion": "1.0.2", "process": {}, "linux": {}}))
        install(command, "containerd", "--runtime", "gpu", "--base-spec", "/spec.json", "nvidia-devices",
                "--max-devices", "1")
    main.write_text("version = 2\n", encoding="utf-8")
    command.finds(ERROR, "the part 'gpu' of '/etc/containerd/config.toml', which 'install' has written", "--runtime gpu")


def test_a_list_that_cannot_be_read(command, installed_host):
    installed_host.write("var/lib/oci-gpu-hooks/installed.json", "{")
    command.finds(ERROR, "installed.json", "fix the file")


def test_what_waits_for_a_worker_counts_before_it_runs(command, installed_host):
    """With its policy: by `list` and `doctor` alike, in another directory too."""
    install(command, "concourse", "--directory", "/opt/hooks", "mount-srv", "--opt-in", "always", "--request", "all",
            "--allow", "datasets")
    (installed_host.path / "srv/models").mkdir()
    findings, status = command.doctor()
    path = f"/opt/hooks/{FILES['mount-srv']}"
    assert status == OK and any(text.startswith(f"mount-srv by '{path}': every container") and "'datasets'" in text
                                for _, text, _ in findings), findings
    listed = command.run("list").stdout
    assert "mount-srv, as concourse (no worker runs) calls it" in listed, listed
    installed_host.change(path[1:], lambda document: document["hook"]["args"].append("--alow"))
    command.finds(ERROR, "--alow", "'args'")


def test_a_hook_that_no_pipeline_can_ask(command, installed_host):
    for words in ((), ("nvidia-devices",), ("nvidia-devices", "--max-devices", "1")):
        done = command.run("install", "--engine", "concourse", *words)
        assert done.returncode == USAGE and "--opt-in always --request REQUEST, or --opt-in environment" in done.stderr
    assert not (installed_host.path / CONCOURSE).exists()
    install(command, "concourse", "ldcache-update")
    install(command, "concourse", "nvidia-devices", *ALWAYS)
    install(command, "concourse", "nvidia-devices")


@pytest.mark.parametrize("engine", ["podman", "concourse", "docker", "containerd"])
def test_an_option_that_there_is_not(command, installed_host, engine):
    done = command.run("install", "--engine", engine, "nvidia-devices", *ALWAYS, "--max-device", "1")
    assert done.returncode == USAGE and done.stdout == "", done
    assert "nvidia-devices: unknown option '--max-device'" in done.stderr and "/etc/" not in done.stderr
    assert not (installed_host.path / "var").exists()


def test_a_directory_with_devices_alone(oci_gpu_hooks, tmp_path):
    """What the hooks of this host would give there."""
    gpus = nvidia.NvidiaHost(tmp_path / "gpus", nvidia.TWO, numbers=nvidia.UNUSED)
    done = Command(oci_gpu_hooks, gpus).run("list")
    assert done.returncode == OK and "nvidia-devices, which no engine calls\n" in done.stdout, done
    assert nvidia.TWO[0].address in done.stdout
    done = Command(oci_gpu_hooks, gpus).run("plan", "nvidia-devices=any:1")
    assert done.returncode == OK, done


def test_the_options_of_a_hook(oci_gpu_hooks):
    done = Command(oci_gpu_hooks).run("install", "--help")
    assert "Usage: oci-gpu-hooks install [OPTIONS] [HOOK... [OPTION...]]\n" in done.stdout
    done = Command(oci_gpu_hooks).run("install", "mount-srv", "--help")
    assert done.returncode == OK and done.stdout.startswith("Gives") and "--source-dir" in done.stdout, done


def test_crun_keeps_the_reason(command, installed_host):
    """The one that podman takes where both are there."""
    def is_said():
        findings, status = command.doctor()
        assert status == OK
        return any(severity == "note" and "exit code: 3" in text and "history --refused" in remedy
                   for severity, text, remedy in findings)
    assert not is_said()
    installed_host.program("runc")
    assert not is_said()
    installed_host.program("crun")
    assert is_said()
    installed_host.write("etc/containers/containers.conf", '[engine]\nruntime = "runc"\n')
    assert not is_said()
    installed_host.write("etc/containers/containers.conf.d/50.conf", '[engine]\nruntime = "/usr/bin/crun"\n')
    assert is_said()


def test_a_filesystem_without_programs(machine, files, oci_gpu_hooks):
    directory = f"/{EXECDIR}"
    machine.run(["mount", "--bind", directory, directory])
    machine.run(["mount", "-o", "remount,bind,noexec", directory])
    files.program("podman")
    done = machine.run([oci_gpu_hooks, "doctor", "--sysroot", "/"], check=False)
    assert done.returncode == ERROR and "is mounted noexec: no container is created" in done.stdout, done.stdout
    assert f"findmnt --target {directory}/mount-srv" in done.stdout and "install the hooks again" not in done.stdout


def test_a_link_is_judged_as_podman_does(machine, files, seen, oci_gpu_hooks):
    """podman leaves it out, and has the file of /usr/share in its place: without the limit."""
    files.hooks_dir()
    files.put(OWN_COPY, files.document("mount-srv", ["--allow", "datasets"]))
    assert seen() == ["datasets"]
    os.rename(files.path / OWN_COPY, files.path / "etc/containers/moved")
    os.symlink("gone", files.path / OWN_COPY)
    assert seen() == ["datasets", "models"]
    done = machine.run([oci_gpu_hooks, "doctor"], check=False)
    assert done.returncode == ERROR
    assert (f"'/{OWN_COPY}' is a symlink that leads nowhere: podman leaves the file out without a word, and "
            f"'/{SHIPPED}/{FILES['mount-srv']}' is in effect in its place") in done.stdout, done.stdout
    assert "starts no container" not in done.stdout
