# SPDX-License-Identifier: Apache-2.0
"""oci-gpu-hooks install and uninstall: what is on the host afterwards, and what the doctor says of it."""

import fcntl
import json
import os
import re
import signal
import subprocess
import tomllib

import pytest

from harness.admin import BOTH_DIRECTORIES, EXECDIR, FILES, OWN, SHIPPED, InstalledHost, later, when_of
from harness.box import PREFIX
from harness.host import LIMIT_S
from harness.stopped import find, wait_until

pytest_plugins = ["harness.admin_fixtures"]

CONF_D = "etc/containers/containers.conf.d"
DROP_INS = {"podman": (f"{CONF_D}/90-oci-gpu-hooks.conf", "engine"),
            "crio": ("etc/crio/crio.conf.d/90-oci-gpu-hooks.conf", "crio.runtime")}
DEFAULTS = f"{CONF_D}/99-oci-gpu-hooks-annotations.conf"
CONCOURSE = "etc/oci-gpu-hooks/concourse-hooks.d"
MANIFEST = "var/lib/oci-gpu-hooks/installed.json"
WARNING = 7
LOCK = "var/lib/oci-gpu-hooks/lock"
OWN_COPY = f"{OWN}/{FILES['mount-srv']}"
ALLOW = ("mount-srv", "--allow", "datasets")
ENGINES = ("podman", "crio", "concourse", "docker", "containerd")


def files(host):
    """Each file of the host that may be written, but for the lock: its text, or where a symlink leads."""
    return {str(path.relative_to(host.path)): os.readlink(path) if path.is_symlink() else path.read_text("utf-8")
            for top in ("etc", "var", "usr/share") for path in (host.path / top).rglob("*")
            if (path.is_symlink() or path.is_file()) and path != host.path / LOCK}


def policy(engine, *words):
    """A worker's containers can ask by their environment, or not at all."""
    return (*words, "--opt-in", "environment") if engine == "concourse" else words


def document(host, path):
    return json.loads((host.path / path).read_text("utf-8"))


def install(command, engine, *words):
    return command.run("install", "--engine", engine, *words)


def installed(command, engine, *words):
    done = install(command, engine, *words)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def no_errors(command):
    findings, status = command.doctor()
    assert status == 0, [each for each in findings if each[0] not in ("ok", "note")]
    return [text for _, text, _ in findings]


@pytest.fixture(name="host")
def host_fixture(installed_host):
    return installed_host


@pytest.fixture(name="only")
def only_fixture(host):
    """A function that leaves the host this engine alone: what is not in effect for another one is an error."""
    def only(engine):
        if engine == "crio":
            host.remove("usr/bin/podman")
            host.program("crio")
    return only


@pytest.mark.parametrize("engine", DROP_INS)
def test_a_policy_comes_into_force(command, host, only, engine):
    only(engine)
    said = installed(command, engine, *ALLOW)
    path, table = DROP_INS[engine]
    assert f"wrote '/{OWN_COPY}'\nwrote '/{path}'\n" in said
    assert document(host, OWN_COPY) == host.document("mount-srv", ["--allow", "datasets"])
    assert (host.path / path).read_text("utf-8").endswith(
        f"\n[{table}]\nhooks_dir = {BOTH_DIRECTORIES}\n")
    status = (host.path / OWN_COPY).stat()
    assert (status.st_uid, status.st_mode & 0o777) == (0, 0o644)
    assert f"mount-srv by '/{OWN_COPY}': whoever sets annotations; of these alone: 'datasets'" in no_errors(command)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_dry_run_writes_nothing_and_a_second_run_neither(command, host, only, engine):
    only(engine)
    words = policy(engine, "nvidia-devices", "amd-kfd", "--max-devices", "1")
    if engine == "concourse":
        installed(command, engine, "ldcache-update")
    before = files(host)
    shown = installed(command, engine, "--dry-run", *words)
    assert files(host) == before
    installed(command, engine, *words)
    after = files(host)
    for name in set(after) - set(before) - {MANIFEST}:
        assert f"'/{name}' would be written:\n{after[name]}" in shown, shown
    assert "wrote" not in installed(command, engine, *words)
    assert files(host) == after
    no_errors(command)


@pytest.mark.parametrize("engine", ENGINES)
def test_uninstall_takes_away_what_was_written(command, host, only, engine):
    only(engine)
    before = files(host)
    installed(command, engine, *policy(engine, "nvidia-devices", "--max-devices", "1"))
    done = command.run("uninstall", "--dry-run")
    assert "would remove '/etc/" in done.stdout and files(host) != before
    done = command.run("uninstall", "--engine", engine)
    assert (done.returncode, done.stderr) == (0, "")
    gone = re.findall("^removed '(.*)'$", done.stdout, re.MULTILINE)
    assert "'oci-gpu-hooks list' shows who has which GPU" in done.stdout
    left = {name: text for name, text in files(host).items() if name not in (DEFAULTS, MANIFEST)}
    assert gone and left == before and (DEFAULTS in files(host)) == (engine == "podman")
    assert engine not in DROP_INS or gone[-1] == f"/{DROP_INS[engine][0]}", "the directory is read until it is empty"
    no_errors(command)
    assert ("nothing to do" in command.run("uninstall").stdout) == (engine != "podman")


def test_what_is_shipped_is_enough_without_options(command, host):
    before = files(host)
    said = installed(command, "podman")
    assert {**files(host), MANIFEST: ""} == {**before, MANIFEST: "", DEFAULTS: files(host)[DEFAULTS]}
    assert f"amd-kfd by '/{SHIPPED}/{FILES['amd-kfd']}': whoever sets annotations; no limit\n" in said


def test_a_hook_without_a_limit_gives_pods_nothing(command, host, only):
    only("crio")
    for name in FILES:
        said = f"'/{SHIPPED}/{FILES[name]}' has no limit: a pod that asks is refused"
        assert (said in no_errors(command)) == (name != "ldcache-update")
    installed(command, "crio", "nvidia-devices", "--max-devices", "1")
    assert not [text for text in no_errors(command) if "has no limit" in text and "nvidia-devices" in text]


def test_no_options_take_no_policy_away(command, host):
    for engine in ("podman", "concourse", "docker"):
        installed(command, engine, *policy(engine, *ALLOW))
    before = files(host)
    for engine in ("podman", "concourse", "docker"):
        installed(command, engine, "mount-srv")
    assert files(host) == before


def test_a_hook_without_a_file_gets_one(command, host):
    for file in FILES.values():
        host.remove(f"{SHIPPED}/{file}")
    installed(command, "podman")
    assert sorted(path.name for path in (host.path / OWN).iterdir()) == sorted(FILES.values())
    assert f"ldcache-update by '/{OWN}/{FILES['ldcache-update']}': whoever sets annotations; no limit" in \
        no_errors(command)


@pytest.mark.parametrize("options, when, timeout", [
    (["--opt-in", "always", "--request", "any:1"], {"always": True}, 30),
    (["--opt-in", "environment"], {"always": True}, 30), (["--from", "mounts"], {"always": True}, 30),
    (["--max-wait", "5m"], when_of("nvidia-devices"), 305),
])
def test_when_and_timeout_fit_the_options(command, host, options, when, timeout):
    installed(command, "podman", "nvidia-devices", *options)
    file = document(host, f"{OWN}/{FILES['nvidia-devices']}")
    assert (file["when"], file["hook"]["timeout"]) == (when, timeout)
    no_errors(command)


def edit(path):
    path.write_text(path.read_text("utf-8").replace("datasets", "models"), encoding="utf-8")


def make_link(path):
    path.unlink()
    path.symlink_to("/srv/elsewhere")


@pytest.mark.parametrize("change", [edit, make_link])
def test_what_somebody_has_changed_stays(command, host, change):
    """And nothing else is changed, so that no directory comes into force with a policy that nobody asked for."""
    installed(command, "podman", *ALLOW)
    change(host.path / OWN_COPY)
    before = files(host)
    done = install(command, "podman", "mount-srv", "nvidia-devices", "--allow", "0")
    assert done.returncode == 6 and f"'/{OWN_COPY}': not written by this command" in done.stderr
    after = files(host)
    assert after.pop(f"{OWN_COPY}.new") == json.dumps(host.document("mount-srv", ["--allow", "0"]), indent=2) + "\n"
    assert {**after, MANIFEST: ""} == {**before, MANIFEST: ""}
    done = command.run("uninstall")
    assert done.returncode == 6 and f"'/{OWN_COPY}' was changed by somebody, and stays" in done.stderr
    assert (host.path / DROP_INS["podman"][0]).exists(), "what is in effect by it stays in effect"
    assert not (host.path / f"{OWN_COPY}.new").exists() and files(host)[OWN_COPY] == before[OWN_COPY]


def test_a_file_that_is_there_already_is_not_overwritten(command, host):
    host.put(OWN_COPY, host.document("mount-srv", ["--allow", "models"]))
    before = files(host)
    assert install(command, "podman", *ALLOW).returncode == 6
    assert files(host)[OWN_COPY] == before[OWN_COPY] and DROP_INS["podman"][0] not in files(host)


def test_another_engine_keeps_what_both_use(command, host):
    host.program("crio")
    for engine in DROP_INS:
        installed(command, engine, *ALLOW)
    assert command.run("uninstall", "--engine", "podman").returncode == 6, "CRI-O's file is of use to podman as well"
    assert OWN_COPY in files(host)
    assert command.run("uninstall").returncode == 0
    assert not {OWN_COPY, *(path for path, _ in DROP_INS.values())} & set(files(host))


def test_directories_that_the_engine_reads_stay(command, host):
    (host.path / "opt/hooks.d").mkdir(parents=True)
    host.hooks_dir(f'["/{SHIPPED}", "/opt/hooks.d"]')
    installed(command, "podman", *ALLOW)
    assert f'["/{SHIPPED}", "/opt/hooks.d", "/{OWN}"]' in files(host)[DROP_INS["podman"][0]]
    no_errors(command)


def test_no_drop_in_where_the_directory_is_read(command, host):
    host.hooks_dir()
    installed(command, "podman", *ALLOW)
    assert DROP_INS["podman"][0] not in files(host)


def defaults(host, path=DEFAULTS):
    """podman's defaults in a file, in order."""
    return tomllib.loads((host.path / path).read_text("utf-8"))["containers"]["annotations"]


def own_defaults(command):
    """One for each annotation that a hook knows."""
    known = command.run("plan", "unknown=1").stderr.partition("there are ")[2]
    keys = re.findall("'([^']*)'", known)
    assert {"mount-srv", "nvidia-devices.lease", "amd-kfd.wait", "nvidia-devices.imex", "ldcache-update"} <= set(keys)
    return [f"{PREFIX}{key}=-" for key in keys]


def test_the_defaults_of_podman(command, host):
    """Which podman a directory has is not known, so an image is kept from asking there too. What is in effect stays so."""
    findings, _ = command.doctor()
    assert any("which one this is is not known" in text and "--defaults" in remedy for _, text, remedy in findings)
    odd = 'org.example.odd="q\\\\ \t\u007f \N{SNOWMAN}'
    mine = ["org.example=1", odd, f"{PREFIX}mount-srv=models"]
    host.write("usr/share/containers/containers.conf", '[containers]\nannotations = ["replaced=1"]\n')
    host.write(f"{CONF_D}/50-mine.conf", f"[containers]\nannotations = {json.dumps(mine)}\n".replace("\x7f", "\\u007f"))
    assert defaults(host, f"{CONF_D}/50-mine.conf") == mine
    assert f"wrote '/{DEFAULTS}'\n" in installed(command, "podman", "--defaults")
    ours = own_defaults(command)
    assert defaults(host) == [*mine, *(each for each in ours if not each.startswith(f"{PREFIX}mount-srv="))]
    assert not (host.path / OWN).exists()
    assert any(f"the defaults in '/{DEFAULTS}' keep images from asking" in text for text in no_errors(command))
    assert installed(command, "podman", "--defaults") == f"'/{DEFAULTS}' is as it is to be\n"

    host.write(f"{CONF_D}/50-mine.conf", '[containers]\nannotations = ["org.example=2"]\n')
    command.finds(7, f"'org.example=2' of 'annotations' in '/{CONF_D}/50-mine.conf' is not in effect", "--defaults")
    installed(command, "podman", *ALLOW)
    assert defaults(host) == ["org.example=2", *ours]
    no_errors(command)


def test_defaults_stay_as_long_as_a_hook_is_called(command, host):
    """An image asked for what the hooks give as soon as a policy was taken back."""
    installed(command, "podman", *ALLOW)
    for words in (("uninstall", "--dry-run"), ("uninstall", "--engine", "podman"), ("uninstall",)):
        done = command.run(*words)
        assert done.returncode == 0 and f"'/{DEFAULTS}' stays" in done.stdout, done
        assert DEFAULTS in files(host) and "nothing to do" not in done.stdout
    assert DROP_INS["podman"][0] not in files(host)
    for name in FILES.values():
        host.remove(f"{SHIPPED}/{name}")
    done = command.run("uninstall")
    assert done.returncode == 0 and f"removed '/{DEFAULTS}'\n" in done.stdout and DEFAULTS not in files(host)


def test_no_defaults_where_there_are_enough(command, host):
    """Whatever value somebody wants them to have, and in whichever file."""
    entries = [each.replace("=-", "=none") for each in own_defaults(command)]
    for name in ("10-mine", "99-zz"):
        host.write(f"{CONF_D}/{name}.conf", f"[containers]\nannotations = {json.dumps(entries)}\n")
        assert installed(command, "podman", "--defaults") == "" and DEFAULTS not in files(host)
        assert any(f"the defaults in '/{CONF_D}/{name}.conf' keep images" in text for text in no_errors(command))


def test_defaults_that_somebody_has_taken_the_place_of(command, host):
    """It is what is in effect after all files that counts."""
    installed(command, "podman", "--defaults")
    host.write(f"{CONF_D}/99-zz.conf", "[containers]\nannotations = []\n")
    assert any("which one this is is not known" in text for text in no_errors(command))
    done = install(command, "podman", "--defaults")
    assert done.returncode == 6 and f"'/{CONF_D}/99-zz.conf' has annotations for all containers" in done.stderr
    assert f"'{PREFIX}amd-kfd.wait'" in done.stderr


OTHERS = f"the directory '/{OWN}' may be written by others"


@pytest.mark.parametrize("prepare, words, status, message", [
    (later.write(f"{CONF_D}/99-mine.conf", f'[engine]\nhooks_dir = ["/{SHIPPED}"]\n'), ALLOW, 6,
     "'/etc/containers/containers.conf.d/99-mine.conf' has hooks_dir and is read after"),
    (later.write(f"{CONF_D}/99-zz.conf", '[containers]\nannotations = ["org.example=1"]\n'), ALLOW, 6,
     "'/etc/containers/containers.conf.d/99-zz.conf' has annotations for all containers"),
    (later.hooks_dir(f'["/{SHIPPED}", "/{OWN}", "/opt/hooks.d"]').put(
        f"opt/hooks.d/{FILES['mount-srv']}", InstalledHost.document("mount-srv", [])), ALLOW, 6,
     "'/opt/hooks.d/10-mount-srv.json' takes its place"),
    (later.write(f"{OWN}/50-other.json", "{"), ALLOW, 6, "'/etc/containers/oci/hooks.d/50-other.json' cannot be read"),
    (later.put(f"{SHIPPED}/15-mount-srv.json", InstalledHost.document("mount-srv", [])), ALLOW, 6, "mount-srv is called by each of"),
    (later.mkdir("opt/oci").link("etc/containers/oci", "/opt/oci"), ALLOW, 6,
     "'/etc/containers/oci' is a symlink, which is not followed"),
    (later.mkdir(OWN).chmod(OWN, 0o775), ALLOW, 6, OTHERS),
    (later.mkdir(OWN).chmod(OWN, 0o1777), ALLOW, 6, OTHERS),
    (later.mkdir(OWN).chown(OWN, 1000), ALLOW, 6, f"the directory '/{OWN}' belongs to user 1000"),
    (later, ("mount-srv", "--alow", "datasets"), 2, "unknown option '--alow'"),
    (later, ("mount_srv",), 2, "there is no hook 'mount_srv'; there are 'mount-srv', "),
    (later, ("--defaults", "mount-srv"), 2, "--defaults goes with no hook"),
    (later, ("--directory", "/x"), 2, "--engine podman takes no --directory"),
    (later.remove("usr/bin/podman"), (), 6, "there is no podman on this host"),
    (later.remove(f"{EXECDIR}/mount-srv"), ALLOW, 6, "which is not there"),
])
def test_what_would_not_be_in_force_is_refused(command, host, prepare, words, status, message):
    prepare(host)
    before = files(host)
    done = install(command, "podman", *words)
    assert done.returncode == status and message in done.stderr, done
    assert files(host) == before


def test_two_at_a_time(command, host):
    (host.path / LOCK).parent.mkdir(parents=True)
    lock = os.open(host.path / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for done in install(command, "podman", *ALLOW), command.run("uninstall"):
            assert done.returncode == 4 and "is at work" in done.stderr
    finally:
        os.close(lock)
    assert not (host.path / OWN_COPY).exists()
    installed(command, "podman", *ALLOW)


def test_the_lock_is_held_to_the_end(oci_gpu_hooks, command, host, tmp_path):
    """One stands still behind each of its renames, the last of which is that of its list."""
    for number in RENAMES:
        trace = tmp_path / "trace"
        trace.write_text("", "utf-8")
        process = subprocess.Popen(
            ["strace", "-qq", "-o", trace, "-e", f"inject=renameat:signal=SIGSTOP:when={number}", oci_gpu_hooks, "install",
             "--engine", "podman", "--sysroot", host.path, *ALLOW], stdout=subprocess.DEVNULL)
        wait_until(lambda trace=trace: "stopped by SIGSTOP" in trace.read_text("utf-8"), "it does not stop", process)
        for done in install(command, "podman", "amd-kfd", "--max-devices", "1"), command.run("uninstall"):
            assert done.returncode == 4 and "is at work" in done.stderr
        os.kill(find(oci_gpu_hooks, str(host.path)), signal.SIGCONT)
        assert process.wait(LIMIT_S) == 0
        assert command.run("uninstall").returncode == 0
        host.remove(DEFAULTS)


def test_who_comes_second_goes_by_what_the_first_has_written(oci_gpu_hooks, command, host):
    """The second has read the list before it has the lock, and reads it again."""
    with subprocess.Popen(
            ["strace", "-qq", "-o", "/dev/null", "-e", "inject=flock:delay_enter=6000000", oci_gpu_hooks, "install",
             "--engine", "docker", "--sysroot", host.path, *ALLOW], stdout=subprocess.DEVNULL) as second:
        wait_until((host.path / LOCK).exists, "it does not come to its lock", second)
        installed(command, "podman", *ALLOW)
        assert second.poll() is None, "it waited"
        assert second.wait(LIMIT_S) == 0
    names = {each["path"] for each in document(host, MANIFEST)["files"]}
    assert {f"/{OWN_COPY}", "/etc/cdi/oci-gpu-hooks-mount-srv.json"} <= names
    assert command.run("uninstall").returncode == 0 and not (host.path / OWN_COPY).exists()


# Locks all that it can open, and says how many these are.
HOLDER = """
import fcntl, os, sys, time
held = []
for directory, names, files in os.walk(sys.argv[1]):
    for path in (directory, *(os.path.join(directory, name) for name in files)):
        try:
            held.append(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
            fcntl.flock(held[-1], fcntl.LOCK_NB | getattr(fcntl, sys.argv[2]))
        except OSError:
            continue
print(len(held), flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("kind", ["LOCK_EX", "LOCK_SH"])
def test_nobody_else_holds_it_up(command, host, kind):
    """A user who has locked all that a user can open, each file that an earlier run has left included."""
    installed(command, "podman", *ALLOW)
    for directory in host.path.parents:
        if not directory.stat().st_mode & 1:
            directory.chmod(0o711)  # pytest's own
    with subprocess.Popen(["setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups", "/usr/bin/python3", "-c", HOLDER,
                           host.path, kind], stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert int(holder.stdout.readline()) > 20, "it found them"
            installed(command, "podman", "amd-kfd", "--max-devices", "1")
            assert command.run("uninstall").returncode == 0
            assert (host.path / LOCK).stat().st_mode & 0o7777 == 0o600
        finally:
            holder.kill()


def link(path):
    """To a file of root's alone."""
    path.symlink_to(path.rename(path.with_name("other")))


@pytest.mark.parametrize("change", [lambda path: path.chmod(0o644), lambda path: os.chown(path, 1000, 1000), link,
                                    lambda path: os.link(path, path.with_name("other"))])
def test_a_lock_that_others_may_hold_is_none(command, host, change):
    path = host.path / LOCK
    path.parent.mkdir(parents=True)
    path.touch(0o600)
    change(path)
    before = files(host)
    for done in install(command, "podman", *ALLOW), command.run("uninstall"):
        assert done.returncode == 6 and "/var/lib/oci-gpu-hooks/lock" in done.stderr
    assert files(host) == before


def test_without_an_engine(command):
    done = command.run("install")
    assert done.returncode == 2 and "which engine? --engine takes 'podman', " in done.stderr


def test_what_comes_into_force_too_is_said(command, host):
    host.put(f"{OWN}/{FILES['nvidia-devices']}", host.document("nvidia-devices", ["--max-devices", "1"]))
    said = installed(command, "podman", *ALLOW)
    assert f"\nnvidia-devices by '/{OWN}/{FILES['nvidia-devices']}': whoever sets " \
        "annotations; GPUs for one container at most: '1'" in said


def test_concourse(command, host):
    """Every file of the directory is a hook for it."""
    said = installed(command, "concourse", "nvidia-devices", "--opt-in", "environment", "--max-devices", "1")
    path = f"{CONCOURSE}/{FILES['nvidia-devices']}"
    assert document(host, path)["hook"]["args"] == ["nvidia-devices", "--opt-in", "environment", "--max-devices", "1"]
    assert f"Environment=CONCOURSE_CONTAINERD_OCI_HOOKS_DIR=/{CONCOURSE}\n" in said
    assert "systemctl restart concourse-worker" in said and "ldcache-update is not called" in said
    edit_me = host.path / path
    edit_me.write_text(edit_me.read_text("utf-8").replace("1", "2"), encoding="utf-8")
    assert install(command, "concourse", *policy("concourse", "nvidia-devices", "--max-devices", "3")).returncode == 6
    assert [each.name for each in (host.path / CONCOURSE).iterdir()] == [FILES["nvidia-devices"]]
    assert (host.path / "etc/oci-gpu-hooks/20-nvidia-devices.json.new").exists()
    host.write("opt/worker/README", "which hooks these are")
    done = install(command, "concourse", "--directory", "/opt/worker", *policy("concourse", *ALLOW))
    assert done.returncode == 6 and "'/opt/worker/README' cannot be read" in done.stderr


@pytest.mark.parametrize("engine, words", [("docker", '"features": {"cdi": true}'), ("containerd", "enable_cdi = true")])
def test_cdi_devices_have_the_policy_of_the_host(command, host, engine, words):
    """Without options, that of the engines which read files of hooks: a device is no way around it."""
    installed(command, "podman", "nvidia-devices", "--max-devices", "1", "--opt-in", "environment")
    assert words in installed(command, engine)
    names = sorted(path.name for path in (host.path / "etc/cdi").iterdir())
    assert names == [f"oci-gpu-hooks-{hook}.json" for hook in ("amd-kfd", "mount-srv", "nvidia-devices")]
    spec = document(host, "etc/cdi/oci-gpu-hooks-nvidia-devices.json")
    assert (spec["cdiVersion"], spec["kind"]) == ("0.5.0", "io.oci-gpu-hooks/nvidia-devices")
    devices = {device["name"]: device["containerEdits"]["hooks"] for device in spec["devices"]}
    gpu, libraries = devices["any:2"]
    assert gpu["args"] == ["nvidia-devices", "--max-devices", "1", "--request", "any:2"]
    assert gpu["path"] == f"/{EXECDIR}/nvidia-devices"
    assert libraries["path"] == f"/{EXECDIR}/ldcache-update" and libraries["args"][1:] == ["--request", "auto"]
    assert {"all", "0", "31", "any:1", "any:8"} <= set(devices)
    assert command.run("cdi", "nvidia-devices").stdout == json.dumps(spec, indent=2) + "\n"


def test_cdi_devices_look_and_log_where_the_others_do(command, host):
    """What is no policy goes along, and no hook that the command runs has it; who may ask does not: a device does."""
    more = ["--driver-root", "/run/driver", "--log-file", "/var/log/gpus", "--log-level", "info"]
    installed(command, "podman", "nvidia-devices", *more, "--max-devices", "1", "--opt-in", "environment", "--key-file",
              "/etc/keys")
    installed(command, "docker", "nvidia-devices")
    spec = document(host, "etc/cdi/oci-gpu-hooks-nvidia-devices.json")
    hooks = {device["name"]: device["containerEdits"]["hooks"][0]["args"] for device in spec["devices"]}
    assert hooks["0"] == ["nvidia-devices", "--max-devices", "1", "--request", "0", *more]
    assert not (host.path / "var/log/gpus").exists()


def broken_off(oci_gpu_hooks, host, number, how):
    """install, with this done at one of the steps by which a file gets its name."""
    return subprocess.run(["strace", "-f", "-qq", "-o", "/dev/null", "-e",
                           f"inject=renameat,renameat2:{how}:when={number}", oci_gpu_hooks, "install",
                           "--engine", "podman", "--sysroot", host.path, *ALLOW],
                          check=False, capture_output=True, encoding="utf-8")


RENAMES = range(1, 6)


@pytest.mark.parametrize("number", RENAMES)
def test_a_policy_is_never_looser_in_between(oci_gpu_hooks, command, host, number):
    """Killed at each of the steps by which a file gets its name. A file that somebody has left in the directory, which is
    not read so far, allows more; the policy before is that of the installed file."""
    host.put(f"{SHIPPED}/{FILES['mount-srv']}", host.document("mount-srv", ["--allow", "datasets,models"]))
    host.put(OWN_COPY, host.document("mount-srv", []))
    text = (host.path / OWN_COPY).read_text("utf-8")
    host.write(MANIFEST, json.dumps({"files": [{
        "path": f"/{OWN_COPY}", "engines": ["podman"], "hook": "mount-srv", "options": [], "part": "", "before": "",
        "hash": subprocess.run(["sha256sum"], input=text, check=True, capture_output=True,
                               encoding="utf-8").stdout.split()[0]}]}))
    assert broken_off(oci_gpu_hooks, host, number, "signal=KILL").returncode != 0
    policies = [text for _, text, _ in command.doctor()[0] if text.startswith("mount-srv by ")]
    assert len(policies) == 1 and "of these alone: " in policies[0], policies
    installed(command, "podman", *ALLOW)
    assert any("of these alone: 'datasets'" in text for text in no_errors(command))
    assert not [name for name in files(host) if ".oci-gpu-hooks" in name], "what the first run has left is gone"


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("before, number", [(False, each) for each in RENAMES] + [(True, 1), (True, 2), (True, 3)])
def test_what_a_killed_one_has_written_goes_with_uninstall(oci_gpu_hooks, command, host, before, number, again):
    """Also what is in effect by then, and what it was about to replace; but for the defaults against images, which stay with
    the hooks, and known."""
    shipped = files(host)
    if before:
        installed(command, "podman", "mount-srv", "--allow", "datasets", "--log-level", "info")
    assert broken_off(oci_gpu_hooks, host, number, "signal=KILL").returncode != 0
    if again:
        installed(command, "podman", *ALLOW)
    done = command.run("uninstall")
    assert (done.returncode, done.stderr) == (0, "")
    left = {name: text for name, text in files(host).items() if ".oci-gpu-hooks" not in name}
    assert DEFAULTS in left.pop(MANIFEST, "") or DEFAULTS not in left
    left.pop(DEFAULTS, None)
    assert left == shipped


def test_the_doctor_says_that_one_was_killed(oci_gpu_hooks, command, host):
    installed(command, "podman", "mount-srv", "--allow", "datasets", "--log-level", "info")
    broken_off(oci_gpu_hooks, host, 2, "signal=KILL")
    command.finds(WARNING, f"'/{OWN_COPY}' is as it was before an 'install' that was killed",
                  "install --engine podman mount-srv --allow datasets")


def test_a_failure_leaves_all_as_it_was(oci_gpu_hooks, host):
    before = files(host)
    for number in RENAMES:
        done = broken_off(oci_gpu_hooks, host, number, "error=EIO")
        assert done.returncode == 6 and "Input/output error" in done.stderr, done
        assert files(host) == before and not (host.path / "etc/containers").exists()
