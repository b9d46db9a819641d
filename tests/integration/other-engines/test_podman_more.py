# SPDX-License-Identifier: Apache-2.0
"""What podman does beside run and exec: restarts, commit, automatic user namespaces, pods, kube play, build, and images
with annotations. podman 4.3 and 5.4 differ where a test says so."""

import json
import os
import subprocess

import pytest

from harness import cdi, rootfs
from harness.box import KEY
from harness.host import LIMIT_S
from harness.nvidia_container import KEY as GPU_KEY
from harness.nvidia_container import PROBE, given, probed
from harness.podman import LIMITS, Podman, is_version_4

pytest_plugins = ["harness.nvidia_fixtures"]

IMAGE, INFRA = "localhost/image", "localhost/infra"
ALL = ("--annotation", f"{KEY}=all")
RUN = ("--network", "none", "--log-driver", "none")
DIRECTORIES = "datasets\nmodels\n"
CONF = f"""[engine]
infra_image = "{INFRA}"
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
"""
POD = """apiVersion: v1
kind: Pod
metadata: {{name: pod, annotations: {{"{key}": "datasets,models"}}}}
spec:
  restartPolicy: Never
  containers:
  - {{name: main, image: {image}, imagePullPolicy: Never, command: [/bin/sh, -c, "sleep 1000"]}}
"""


class Engine:
    """podman with an image of its own, and the hooks mount-srv and nvidia-devices."""

    def __init__(self, host, directory):
        self.host, self.podman, self.directory = host, Podman(directory, "runc"), directory
        self.configure("")

    def configure(self, more):
        (self.directory / "containers.conf").write_text(CONF + more, encoding="utf-8")

    def call(self, *words, check=True):
        environment = {**os.environ, "CONTAINERS_CONF": str(self.directory / "containers.conf")}
        done = subprocess.run(self.host.command(self.podman.command(*words)), check=False, capture_output=True,
                              encoding="utf-8", stdin=subprocess.DEVNULL, env=environment, timeout=LIMIT_S)
        assert done.returncode == 0 or not check, (words, done.stderr)
        return done

    def run(self, *words, **options):
        return self.call("run", *RUN, *words, **options)

    def build(self, *words):
        """What `RUN ls /srv` prints while an image is built."""
        done = self.call("build", "--no-cache", "--isolation", "oci", "--network", "none", *LIMITS, *words, "--file",
                         self.directory / "Containerfile", self.podman.hooks)
        return done.stdout.partition("STEP 2/2: RUN ls /srv || true\n")[2].partition("COMMIT")[0]

    def close(self):
        self.call("pod", "rm", "--all", "--force", check=False)
        self.call("rm", "--all", "--force", "--time", "0", check=False)


@pytest.fixture(name="podman")
def podman_fixture(nv_host, hook, nv_hook, machine, srv, scratch):
    host = nv_host("not-hybrid")
    srv.directories("datasets", "models")
    engine = Engine(host, scratch / "podman")
    hook.write(engine.podman.hooks / "10.json", hook.entry(["--source-dir", srv]), "createRuntime")
    nv_hook.write(engine.podman.hooks / "20.json", nv_hook.entry(["--sysroot", machine]), "createRuntime")
    host.run(["tar", "-C", rootfs.make(scratch / "image"), "-cf", scratch / "image.tar", "."])
    for name, entrypoint in ((IMAGE, []), (INFRA, ["--change", 'ENTRYPOINT ["/bin/sleep", "1000"]'])):
        engine.call("import", *entrypoint, scratch / "image.tar", name)
    yield engine
    engine.close()


def test_twenty_restarts_and_a_commit(podman, machine):
    """The GPU comes again each time; an image that is made of the container has the empty directories, and nothing else."""
    look = f"{PROBE} probe /dev/nvidia*"
    podman.run("--detach", "--name", "box", "--annotation", f"{GPU_KEY}=1", *ALL, IMAGE, "sleep", "1000")
    for restart in range(21):
        if restart:
            podman.call("restart", "--time", "0", "box")
        for user in ("0:0", "1000:1000"):
            out = podman.call("exec", "--user", user, "box", "sh", "-c", look).stdout
            assert probed(out) == given(machine.gpus[1]), restart
    assert podman.call("exec", "box", "ls", "/srv").stdout == DIRECTORIES
    assert podman.call("exec", "box", "grep", "-c", " /srv/", "/proc/self/mountinfo").stdout == "2\n"
    podman.call("commit", "box", "localhost/committed")
    seen = podman.run("--rm", "localhost/committed", "sh", "-c", "echo /dev/nvidia*; find /srv /usr/local").stdout
    assert sorted(seen.split()) == sorted(["/dev/nvidia*", "/srv", "/srv/datasets", "/srv/models", "/usr/local",
                                           "/usr/local/nvidia"]), seen


def test_an_automatic_user_namespace(podman, machine, scratch):
    for name in ("subuid", "subgid"):
        (scratch / name).write_text("containers:700000:655360\n", encoding="ascii")
        podman.host.mount("--bind", scratch / name, f"/etc/{name}")
    out = podman.run("--rm", "--userns=auto", "--annotation", f"{GPU_KEY}=1", *ALL, IMAGE, "sh", "-c",
                     f"cat /proc/self/uid_map; ls /srv; {PROBE} probe /dev/nvidia*").stdout
    ids, *lines = out.splitlines()
    assert ids.split()[:2] == ["0", "700000"] and lines[:2] == DIRECTORIES.split()
    assert probed("\n".join(lines[2:])) == given(machine.gpus[1])


def test_a_pod(podman):
    """Each container asks for itself."""
    podman.call("pod", "create", "--name", "pod", "--network", "none", "--infra-image", INFRA)
    for asks, seen in ((ALL, DIRECTORIES), ((), "")):
        assert podman.call("run", "--rm", "--pod", "pod", "--log-driver", "none", *asks, IMAGE, "sh", "-c",
                           "ls /srv 2>/dev/null || true").stdout == seen


def test_kube_play(podman, scratch):
    """The annotations of the pod are its containers', and not those of the one that podman adds, which would hold a GPU.
    The name of a container is not said, so a key for one of them is refused."""
    (scratch / "pod.yaml").write_text(POD.format(key=KEY, image=IMAGE), encoding="utf-8")
    podman.call("kube", "play", "--network", "none", scratch / "pod.yaml")
    assert podman.call("exec", "pod-main", "/bin/ls", "/srv").stdout == DIRECTORIES
    names = podman.call("ps", "--format", "{{.Names}}").stdout.split()
    seen = {name: podman.call("inspect", "--format", "{{json .Config.Annotations}}", name).stdout for name in names}
    assert [name for name, text in seen.items() if KEY in json.loads(text)] == ["pod-main"] and len(names) == 2, seen
    podman.call("pod", "rm", "--force", "--time", "0", "pod")
    (scratch / "pod.yaml").write_text(POD.format(key=f"{KEY}/main", image=IMAGE), encoding="utf-8")
    result = podman.call("kube", "play", "--network", "none", scratch / "pod.yaml", check=False)
    assert result.returncode != 0 and "exit status 2" in result.stderr
    assert "this container's name is not known" in result.stderr


def own_etc(podman, scratch):
    """/etc with an empty directory for specifications, scratch/etc/cdi."""
    for name in ("etc/cdi", "work"):
        (scratch / name).mkdir(parents=True)
    podman.host.mount("-t", "overlay", "-o", f"lowerdir=/etc,upperdir={scratch}/etc,workdir={scratch}/work", "overlay",
                      "/etc")


def test_build(podman, hook, srv, scratch):
    """Its annotations are the image's alone, so no hook finds a request, not even where an image that is built upon has
    one, for which hooks are called; a device is one, from podman 5 on."""
    for base, tag in ((IMAGE, "localhost/asks"), ("localhost/asks", "localhost/more")):
        (podman.directory / "Containerfile").write_text(f"FROM {base}\nRUN ls /srv || true\n", encoding="utf-8")
        assert podman.build("--hooks-dir", podman.podman.hooks, *ALL, "--tag", tag) == ""
    if is_version_4():
        return
    own_etc(podman, scratch)
    cdi.write(scratch / "etc/cdi", hook.executable, "--source-dir", srv.path)
    assert podman.build("--device", f"{cdi.KIND}/mount-srv=all") == DIRECTORIES


def test_a_step_of_a_build_has_a_gpu(podman, nv_hook, machine, scratch):
    """By a device, within the policy; its lease ends with the step. Without a runtime nothing is given. podman 4.3 knows no
    such devices, and says so."""
    def build(name, *words, steps=2):
        file = podman.directory / "Containerfile"
        file.write_text(f"FROM {IMAGE}\n" + f"RUN {PROBE} probe /dev/nvidia*\n" * steps, encoding="utf-8")
        return podman.call("build", "--no-cache", *LIMITS, "--device", f"{cdi.KIND}/nvidia-devices={name}", *words, "--file",
                           file, podman.podman.hooks, check=False)

    own_etc(podman, scratch)
    cdi.write(scratch / "etc/cdi", nv_hook.executable, "--max-devices", "1", "--min-lease", "exclusive", sysroot=machine.path)
    done = build("1", "--isolation", "oci", "--network", "none")
    if is_version_4():
        assert done.returncode != 0 and "no such file" in done.stderr, done.stderr
        return
    steps = done.stdout.split("STEP ")[2:]
    nodes = ["\n".join(line for line in step.splitlines() if line.startswith("/dev/")) for step in steps]
    assert [probed(each) for each in nodes] == [given(machine.gpus[1])] * 2, done
    listed = podman.host.run([nv_hook.executable, "--sysroot", machine.path, "--list"]).stdout
    assert "exclusive" not in listed and "buildah" not in listed, listed
    done = build("any:2", "--isolation", "oci", "--network", "none")
    assert done.returncode != 0 and "2 GPUs asked for, and the host's policy" in done.stderr, done.stderr
    done = build("1", "--isolation", "chroot", "--network", "host", steps=1)
    assert "\n/dev/nvidiactl|" not in done.stdout, "the page says that nothing is given"


def test_an_image_with_our_annotations(podman):
    """Before podman 4.5.1 it opts itself in, unless containers.conf says otherwise."""
    (podman.directory / "Containerfile").write_text(f"FROM {IMAGE}\nRUN ls /srv || true\n", encoding="utf-8")
    podman.build(*ALL, "--tag", "localhost/asks")
    look = ("--rm", "localhost/asks", "sh", "-c", "ls /srv 2>/dev/null || true")
    assert podman.run(*look).stdout == (DIRECTORIES if is_version_4() else "")
    podman.configure(f'annotations = ["{KEY}=-"]\n')
    assert podman.run(*look).stdout == ""
