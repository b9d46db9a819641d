# SPDX-License-Identifier: Apache-2.0
"""What a container gets of a device that a specification of the Container Device Interface describes."""

import hashlib
import json
import secrets
import stat
from functools import partial

import pytest

from harness import concourse, engines
from harness.cdi_fixtures import MAJOR
from harness.expect import refused_by, started
from harness.gpu_cells import CELLS
from harness.nvidia_container import ALLOWED, DENIED, PROBE, Seen, alive, probed

pytest_plugins = ["harness.nvidia_fixtures", "harness.cdi_fixtures"]

refused = partial(refused_by, "cdi-devices")
RUNC = engines.RUNTIMES[0]
LINKS = {"hookName": "createContainer", "path": "/usr/bin/nvidia-cdi-hook",
         "args": ["nvidia-cdi-hook", "create-symlinks", "--link", "libgpu.so.1::/usr/lib/vendor/libgpu.so"]}


@pytest.fixture
def gpus(cdi_host):
    """Two devices with a node each, and what they have in common."""
    cdi_host.device("gpu0", 0)
    cdi_host.device("gpu1", 1)
    cdi_host.device("store", 2, 0o666, stat.S_IFBLK)
    cdi_host.file("opt/vendor/libgpu.so.1.2.3")
    (cdi_host.path / "opt/vendor/libgpu.so.1").symlink_to("libgpu.so.1.2.3")
    cdi_host.file("opt/vendor/state/file")
    mounts = [{"hostPath": "/opt/vendor/state", "containerPath": "/var/lib/vendor", "options": ["rw", "rbind"]},
              {"hostPath": "/opt/vendor/libgpu.so.1", "containerPath": "/usr/lib/vendor/libgpu.so.1",
               "options": ["bind", "nosuid"]}]
    cdi_host.spec("gpu.json", {
        "0": {"deviceNodes": [{"path": "/dev/dri/gpu0", "hostPath": "/dev/gpu0"},
                              {"path": "/dev/store", "permissions": "r", "uid": 1000, "fileMode": 0o600}]},
        "1": {"deviceNodes": [{"path": "/dev/dri/gpu1", "hostPath": "/dev/gpu1"}]}},
                  containerEdits={"mounts": mounts, "hooks": [LINKS], "env": ["VENDOR=yes"]})
    return cdi_host


@pytest.mark.parametrize("engine", [RUNC, engines.MAPPED[1], engines.PODMANS[1], engines.MAPPED_PODMANS[0]], ids=str)
def test_a_device(cdi_box, gpus, engine):
    """Its nodes can be opened, and no other one's; mounts are read-only unless they are said to be writable."""
    box = cdi_box("vendor.com/gpu=0", engine=engine)
    (box.rootfs / "usr/lib/vendor").mkdir(parents=True)
    box.tmpfs("/usr/lib/vendor")
    (gpus.path / "opt/vendor/state").chmod(0o777)
    out = started(box.run(
        f"{PROBE} probe /dev/dri/gpu0 /dev/dri/gpu1 /dev/store; echo --; cat /usr/lib/vendor/libgpu.so;"
        " { echo x > /usr/lib/vendor/libgpu.so.1; } 2>&1; echo mine > /var/lib/vendor/new; ls /var/lib/vendor"))
    nodes, files = out.split("--\n")
    seen = probed(nodes)
    assert seen["/dev/dri/gpu0"] == Seen("character special file", "660", "0:0", (MAJOR, 0), ALLOWED)
    assert seen["/dev/dri/gpu1"] is None or seen["/dev/dri/gpu1"].said == DENIED
    assert seen["/dev/store"] == Seen("block special file", "600", "1000:0", (MAJOR, 2))
    assert files.startswith("of the host\n") and "Read-only file system" in files and files.endswith("file\nnew\n")
    assert (gpus.path / "opt/vendor/state/new").read_text(encoding="utf-8") == "mine\n"


@pytest.mark.parametrize("cell", [cell for cell in CELLS if cell.readonly], ids=str)
def test_a_read_only_root(cdi_box, gpus, cell):
    """What the image lacks is made there nevertheless; programs that are started later see the same."""
    look = "probe /dev/dri/gpu0; cat /usr/lib/vendor/libgpu.so; touch /usr/lib/vendor/new 2>&1; true"
    with alive(cell.box(cdi_box, "vendor.com/gpu=0"), look) as container:
        for out in (container.out, container.exec(0, PROBE + look)):
            node, library, touched = out.splitlines()
            assert probed(node)["/dev/dri/gpu0"].said == ALLOWED and library == "of the host"
            assert touched.endswith("Read-only file system")


@pytest.mark.parametrize("engine", [*engines.RUNTIMES, engines.MAPPED[0]], ids=str)
def test_restarts_leave_the_root_as_after_the_first(cdi_box, gpus, engine):
    box, seen = cdi_box("vendor.com/gpu=0", engine=engine), []
    for _ in range(3):
        look = started(box.run(f"{PROBE} probe /dev/dri/gpu0; cat /usr/lib/vendor/libgpu.so"))
        files = ((path, path.lstat()) for path in sorted(box.rootfs.rglob("*")) if path.name != "ptmx")
        seen.append((look, [(str(path), status.st_mode, status.st_ino, status.st_nlink) for path, status in files]))
    assert seen[0] == seen[1] == seen[2] and ALLOWED in seen[0][0] and seen[0][0].endswith("\nof the host\n")


@pytest.mark.parametrize("engine", [RUNC, engines.MAPPED[1]], ids=str)
def test_a_jetson(cdi_box, cdi_host, engine):
    """219 mounts at places that the image lacks, 65 links by one hook, and nodes by their paths; in a second run none
    of it is done again."""
    names = [f"libnv{number}.so" for number in range(219)]
    links = [f"{name}::/usr/lib/tegra/{name}.1" for name in names[:65]]
    for name in names:
        cdi_host.file(f"usr/lib/tegra-host/{name}", name)
    cdi_host.device("nvmap", 1, 0o666)
    cdi_host.device("nvhost-ctrl", 2, 0o666)
    cdi_host.spec("tegra.json", {"all": {
        "deviceNodes": [{"path": "/dev/nvmap"}, {"path": "/dev/nvhost-ctrl"}],
        "mounts": [{"hostPath": f"/usr/lib/tegra-host/{name}", "containerPath": f"/usr/lib/tegra/{name}",
                    "options": ["ro", "nosuid", "nodev", "bind"]} for name in names],
        "hooks": [{"hookName": "createContainer", "path": "/usr/bin/nvidia-ctk",
                   "args": ["nvidia-ctk", "hook", "create-symlinks",
                            *(word for link in links for word in ("--link", link))]}]}})
    box = cdi_box("vendor.com/gpu=all", engine=engine)
    box.times = 2
    out = started(box.run(f"{PROBE} probe /dev/nvmap /dev/nvhost-ctrl; echo --; cd /usr/lib/tegra; cat *.so; echo;"
                          " ls -l | grep -c ' -> '; grep -c ' /usr/lib/tegra/' /proc/self/mountinfo"))
    nodes, rest = out.split("--\n")
    assert [seen.said for seen in probed(nodes).values()] == [ALLOWED, ALLOWED]
    assert rest == "".join(sorted(names)) + "\n65\n219\n"


def test_an_intel_gpu(cdi_box, cdi_host):
    """Its links by path are mounts of device nodes, and its directory of links one of a directory."""
    by_path = "/dev/dri/by-path/pci-0000:00:02.0-card"
    cdi_host.device("dri/card0", 5, 0o660)
    cdi_host.device("dri/renderD128", 6, 0o666)
    cdi_host.link(by_path[1:], "../card0")
    for options in ({"options": ["bind", "rw"]}, {"type": "none", "options": ["bind", "ro", "nosuid"]}):
        cdi_host.spec("intel.json", {"gpu0": {
            "deviceNodes": [{"path": "/dev/dri/card0"}, {"path": "/dev/dri/renderD128"}],
            "mounts": [{"hostPath": by_path, "containerPath": by_path, **options}]}}, cdiVersion="0.6.0")
        seen = probed(started(cdi_box("vendor.com/gpu=gpu0").run(
            f"{PROBE} probe /dev/dri/card0 /dev/dri/renderD128 {by_path}")))
        assert seen[by_path] == seen["/dev/dri/card0"] == \
            Seen("character special file", "660", "0:0", (MAJOR, 5), ALLOWED)


@pytest.mark.parametrize("cgroup", ["not-hybrid", "v2"])
def test_a_block_device(cdi_box, cdi_host, cgroup):
    """It may be read, and not be written; that of which no node is given may not be opened at all."""
    for name, minor in (("disk", 7), ("other", 8)):
        cdi_host.device(name, minor, 0o666, stat.S_IFBLK)
    cdi_host.spec("x.json", {"disk": {"deviceNodes": [{"path": "/dev/disk", "permissions": "r"}]}})
    box = cdi_box("vendor.com/gpu=disk", cgroup=cgroup)
    box.add_capability("CAP_MKNOD")
    out = started(box.run(f"mknod /other b {MAJOR} 8; for f in '</dev/disk' '>/dev/disk' '</other'; do"
                          " eval \"{ : $f; } 2>&1\" | sed 's/.*: //'; echo; done"))
    read, written, other = out.split("\n\n")[:3] if "\n\n" in out else out.split("\n")[:3]
    assert (read, written, other) == (ALLOWED, DENIED, DENIED)


def test_what_a_hook_cannot_do_is_said_once(cdi_box, gpus):
    result = cdi_box("vendor.com/gpu=0,vendor.com/gpu=1").run()
    started(result)
    assert str(result.said).count("'VENDOR=yes'") == 1, result.said


def test_annotations_of_engines(cdi_box, cdi_by_hand, gpus):
    """They count where the host says so, and add up with the hook's own."""
    look = "ls /dev/dri 2>/dev/null || true"
    engine = {"cdi.k8s.io/plugin_1": "vendor.com/gpu=1", "cdi.k8s.io/plugin_2": "vendor.com/gpu=1"}
    for own, args, given in ((None, (), []), (None, ("--engine-annotations",), ["gpu1"]),
                             ("vendor.com/gpu=0", (), ["gpu0"]),
                             ("vendor.com/gpu=0", ("--engine-annotations",), ["gpu0", "gpu1"])):
        box = cdi_box(own, *args)
        box.loader = "concourse"
        box.annotations.update(engine)
        assert started(box.run(look)).split() == given
    box.annotations["cdi.k8s.io/plugin_2"] = "vendor.com/gpu=1, vendor.com/gpu=0"
    refused(box.run(), 2, "' vendor.com/gpu=0'")
    box.annotations.update(engine)
    box.args = [*box.args, "--allow", "vendor.com/gpu=0"]
    refused(box.run(), 5, "vendor.com/gpu=1")
    box.annotations["cdi.k8s.io/x"] = box.annotations["cdi.k8s.io/y"] = ",".join(["vendor.com/gpu=0"] * 2500)
    refused(box.run(), 2, "the annotations 'cdi.k8s.io/...' are longer than 65536 bytes")
    process = cdi_by_hand("--engine-annotations", "--only", "a=b", "--plan", "--request", "none")
    assert process.returncode == 2 and "--only" in process.stderr


def test_annotations_of_engines_in_a_pod(cdi_box, gpus):
    """A pod's author can set them too; also beside an annotation that asks for nothing."""
    for own in (None, "none"):
        box = cdi_box(own, "--engine-annotations")
        box.loader = "concourse"
        box.annotations.update({"cdi.k8s.io/plugin_1": "vendor.com/gpu=1", "io.kubernetes.pod.namespace": "ml"})
        refused(box.run(), 5, "annotations 'cdi.k8s.io/...'", "'--engine-annotations'")
        box.args = [*box.args, "--allow", "vendor.com/gpu=1"]
        assert started(box.run("ls /dev/dri")) == "gpu1\n"


def test_annotations_of_engines_under_podman(cdi_box, gpus):
    """Before 4.5.1 an image may have them; nobody sets them for podman, which takes devices otherwise."""
    box = cdi_box(None, "--engine-annotations")
    box.loader = "concourse"
    box.annotations.update({"cdi.k8s.io/plugin_1": "vendor.com/gpu=1", "io.podman.annotations.init": "FALSE"})
    assert started(box.run("ls /dev/dri 2>/dev/null || true")) == ""


def test_never_writable(cdi_box, gpus):
    box = cdi_box("vendor.com/gpu=1", "--writable", "never")
    assert "Read-only" in started(box.run("{ echo x > /var/lib/vendor/new; } 2>&1 || true"))


def test_who_did_not_ask_gets_nothing(cdi_box, gpus):
    assert started(cdi_box().run("ls /dev/dri /var/lib/vendor 2>/dev/null || true")) == ""


@pytest.mark.parametrize("request_of, args, status, words", [
    ("vendor.com/gpu=7", (), 3, ("no device 'vendor.com/gpu=7'", "'vendor.com/gpu=0', 'vendor.com/gpu=1'")),
    ("vendor.com/gpu=0", ("--allow", "vendor.com/gpu=1"), 5, ("--allow",)),
], ids=["missing", "policy"])
def test_refusals(cdi_box, gpus, request_of, args, status, words):
    refused(cdi_box(request_of, *args).run(), status, *words)


@pytest.mark.parametrize("of_host, of_key, asks, allows", [
    ("--allow vendor.com/gpu=0", "--allow vendor.com/gpu=1", "gpu=1", False),
    ("--allow vendor.com/gpu=0", "--allow vendor.com/gpu", "gpu=1", False),
    ("--allow vendor.com/gpu", "--allow vendor.com/gpu=0", "gpu=1", False),
    ("--allow vendor.com/gpu", "--allow vendor.com/gpu=0", "gpu=0", True),
    ("--max-devices 9", "--max-devices 1", "gpu=1,vendor.com/gpu=0", False),
    ("--max-devices 1", "--max-devices 9", "gpu=1,vendor.com/gpu=0", False)])
def test_a_key_has_limits_of_its_own(cdi_box, gpus, scratch, of_host, of_key, asks, allows):
    """They narrow the host's, and widen nothing."""
    key = secrets.token_hex(16)
    keys = scratch / "keys"
    keys.write_text(f"{hashlib.sha256(key.encode()).hexdigest()} nightly --for cdi-devices {of_key}\n", encoding="ascii")
    keys.chmod(0o600)
    box = cdi_box(None, "--opt-in", "environment", "--key-file", keys, *of_host.split())
    concourse.make(box, "task", params=(f"OCI_GPU_HOOKS_CDI_DEVICES=vendor.com/{asks}", f"OCI_GPU_HOOKS_KEY={key}"))
    if allows:
        assert started(box.run("ls /dev/dri")) == "gpu0\n"
    else:
        refused(box.run(), 5)


@pytest.mark.parametrize("engine", [*engines.RUNTIMES, engines.MAPPED[0]], ids=str)
@pytest.mark.parametrize("earlier, most, given", [
    ("vendor.com/gpu=0", 3, ["gpu0", "gpu1"]), ("vendor.com/gpu=1", 1, ["gpu1"]), ("vendor.com/gpu=0", 2, None)])
def test_max_devices_counts_every_request_of_a_container(cdi_box, gpus, engine, earlier, most, given):
    """And each node once where it is all that is known of a device: the first one has two. What containers had that have
    ended does not count."""
    for _ in range(2):
        box = cdi_box("vendor.com/gpu=1", "--max-devices", str(most), engine=engine)
        box.first = [{"path": str(box.hook.executable),
                      "args": ["cdi-devices", *map(str, box.args), "--request", earlier]}]
        result = box.run("ls /dev/dri")
        if given:
            assert started(result).split() == given
        else:
            refused(result, 5, "3 devices, and --max-devices allows 2")


def test_a_hook_that_is_not_known_is_not_run(cdi_box, cdi_host):
    """Nor is anything else done."""
    trap = cdi_host.file("opt/trap", f"#!/bin/sh\ntouch {cdi_host.path}/ran\n")
    trap.chmod(0o755)
    cdi_host.spec("x.json", {"x": {"hooks": [{"hookName": "createContainer", "path": str(trap)}]}})
    refused(cdi_box("vendor.com/gpu=x").run(), 5, "no program of a specification is run", "opt/trap")
    assert not (cdi_host.path / "ran").exists()


def test_a_stale_specification(cdi_box, cdi_host):
    """The driver was updated, and the specification was not."""
    gone = "/usr/lib/libcuda.so.555.42.06"
    cdi_host.spec("x.json", {"x": {"mounts": [{"hostPath": gone, "containerPath": gone}]}})
    refused(cdi_box("vendor.com/gpu=x").run(), 6, gone, "this host lacks it")
    cdi_host.write("sys/module/nvidia/version", "560.35.03\n")
    refused(cdi_box("vendor.com/gpu=x").run(), 6, gone, "560.35.03 is loaded", "nvidia-ctk cdi generate")


def test_what_others_could_write_is_not_used(cdi_by_hand, gpus):
    """A file of theirs is passed over; a directory of theirs may not have any."""
    ask = ("--plan", "--request", "vendor.com/gpu=0")
    assert json.loads(cdi_by_hand(*ask).stdout)["devices"][0]["containerEdits"]["deviceNodes"]
    spec = gpus.path / "etc/cdi/gpu.json"
    spec.chmod(0o664)
    process = cdi_by_hand(*ask)
    assert process.returncode == 3 and "passed over: it may be written by others" in process.stderr
    spec.chmod(0o644)
    (gpus.path / "etc").chmod(0o777)
    process = cdi_by_hand(*ask)
    assert process.returncode == 6 and "a directory on the way to it may be written" in process.stderr


def test_list(cdi_by_hand, gpus):
    gpus.spec("later.json", {"1": {"env": ["A=b"]}}, "run/cdi")
    gpus.file("etc/cdi/bad.yaml", "cdiVersion: 0.5.0\n")
    process = cdi_by_hand("--list=json")
    assert process.returncode == 0 and "'/etc/cdi/bad.yaml' is passed over" in process.stderr, process.stderr
    rows = {row["device"]: row for row in json.loads(process.stdout)["devices"]}
    assert list(rows) == ["vendor.com/gpu=0", "vendor.com/gpu=1"]
    assert rows["vendor.com/gpu=0"]["nodes"] == 2 and rows["vendor.com/gpu=0"]["mounts"] == 2
    assert rows["vendor.com/gpu=1"]["specification"] == "/var/run/cdi/later.json"
