# SPDX-License-Identifier: Apache-2.0
"""Debian's package, built from its source package, installed, upgraded and removed in releases of Debian's own."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.admin import FILES, OWN, SHIPPED
from harness.box import PREFIX, Box
from harness.bundle import Bundle
from harness.debian_host import APT, LIMIT_S, PROJECT, RELEASES, DebianHost, tree
from harness.hooks_d import HookFile
from harness.leases import DIRECTORY, Container, ask
from harness.podman import LIMITS
from harness.runtime import Runc
from hosts.amd import AmdHost

# In a directory of that release's own, whose name is the same in each run, so that the compiler's cache knows it.
BUILD = """
    mkdir -p "$0"
    cd "$0"
    dpkg-source -x "$1" tree
    cd tree
    export DEB_BUILD_OPTIONS=noautodbgsym # they take as long as the rest to be compressed
    dpkg-buildpackage --build=binary --unsigned-changes --unsigned-buildinfo
    cp ../*.deb "$2" """
CACHED = ("env", "PATH=/usr/lib/ccache:/usr/sbin:/usr/bin:/sbin:/bin")
EXECDIR = "usr/libexec/oci/hooks.d"
EXECUTABLES = {f"{EXECDIR}/{name}" for name in FILES}
PROGRAMS = {f"{EXECDIR}/nvidia-devices-nvml"}  # which hooks start
REGISTERED = {f"{SHIPPED}/{name}" for name in FILES.values()}
DOC = "usr/share/doc/oci-gpu-hooks"
DEFAULTS = "99-oci-gpu-hooks-annotations.conf"
MANIFEST = "var/lib/oci-gpu-hooks/installed.json"
KEPT = "var/lib/oci-gpu-hooks/disabled"
DEVICE = "io.oci-gpu-hooks/mount-srv=all"
PAGES = ("man1/oci-gpu-hooks.1", "man7/oci-gpu-hooks.7", "man7/oci-gpu-hooks-leases.7",
         *(f"man8/{name}.8" for name in FILES))
COMPLETIONS = ("usr/share/bash-completion/completions/oci-gpu-hooks", "usr/share/zsh/vendor-completions/_oci-gpu-hooks",
               "usr/share/fish/vendor_completions.d/oci-gpu-hooks.fish")
CHECK = ("usr/lib/systemd/system/oci-gpu-hooks-check.service", "usr/lib/systemd/system/oci-gpu-hooks-check.timer",
         "usr/lib/udev/rules.d/90-oci-gpu-hooks-check.rules")
DOCS = ("CHANGELOG.md", "README.Debian", "README.md", "SECURITY.md", "changelog", "copyright")


def expected_files():
    """By their names before debhelper compressed those of more than 4 kB."""
    examples = [path.relative_to(PROJECT).as_posix() for path in (PROJECT / "examples").rglob("*")
                if path.is_file() and path.name != "meson.build" and "oci-gpu-hooks-check" not in path.name]
    guides = [path.name for path in (PROJECT / "docs").glob("*.md") if not re.search(r"\.[1-9]\.md$", path.name)]
    return {"usr/bin/oci-gpu-hooks", "usr/share/lintian/overrides/oci-gpu-hooks", *COMPLETIONS, *CHECK, *EXECUTABLES,
            *PROGRAMS, *REGISTERED,
            *(f"usr/share/man/{page}" for page in PAGES),
            *(f"{DOC}/{name}" for name in (*DOCS, *guides, *examples))}


def cache(release):
    """What the compiler of a release has made before."""
    return PROJECT / f"build/packaging-{release}.ccache"


def version_of(deb):
    return subprocess.run(["dpkg-deb", "--field", deb, "Version"], check=True, capture_output=True,
                          text=True).stdout.strip()


@pytest.fixture(name="directory", scope="module")
def directory_fixture(tmp_path_factory):
    """What the tests and the releases share."""
    directory = tmp_path_factory.mktemp("shared")
    for path in (directory, *directory.parents[:2]):
        path.chmod(0o755)
    return directory


@pytest.fixture(name="source", scope="module")
def source_fixture(directory):
    """The .dsc."""
    subprocess.run([PROJECT / "packaging/deb", "--source", directory / "source"], check=True, capture_output=True)
    dsc, = (directory / "source").glob("*.dsc")
    return dsc


@pytest.fixture(name="builder", scope="module")
def builder_fixture(directory, tmp_path_factory):
    """A function that gives the host on which a release builds."""
    hosts = {}

    def builder(release):
        if release not in hosts:
            cache(release).mkdir(exist_ok=True)
            hosts[release] = DebianHost(tree(release, "build"), tmp_path_factory.mktemp(f"build-{release}"), directory,
                                        cache(release))
        return hosts[release]
    yield builder
    for host in hosts.values():
        host.close()


@pytest.fixture(name="packages", scope="module")
def packages_fixture(directory, source, builder):
    """A function that gives what a release makes of the source package, by the package's name: by the compiler's cache
    unless it is told what to start the build with."""
    made = {}

    def build(release, work="a", before=()):
        if (release, work) not in made:
            place = directory / release / work
            place.mkdir(parents=True)
            start = before or (*CACHED, f"CCACHE_DIR={cache(release)}")
            builder(release).run([*start, "sh", "-ec", BUILD, f"/root/{work}", source, place])
            made[release, work] = {deb.name.split("_")[0]: deb for deb in place.glob("*.deb")}
        return made[release, work]
    return build


@pytest.fixture(name="debian", params=RELEASES)
def debian_fixture(request, packages):
    """A function that gives a fresh host of the release: debian(kind), whose `packages` are those it has made."""
    hosts, scratch = [], request.getfixturevalue("scratch")
    built = packages(request.param)

    def fresh(kind):
        (scratch / "shared").mkdir()
        host = DebianHost(tree(request.param, kind), scratch / "host", scratch / "shared")
        hosts.append(host)
        host.shared, host.deb = scratch / "shared", scratch / "shared" / built["oci-gpu-hooks"].name
        shutil.copy(built["oci-gpu-hooks"], host.deb)
        return host
    yield fresh
    for host in hosts:
        host.close()


def older(deb):
    """A version before, with a file more, and another JSON file."""
    directory, result = deb.parent / "older", deb.parent / "older.deb"
    subprocess.run(["dpkg-deb", "--raw-extract", deb, directory], check=True)
    control = directory / "DEBIAN/control"
    control.write_text(re.sub("(?m)^Version: .*", "Version: 0.0.1", control.read_text("utf-8")), encoding="utf-8")
    (directory / "DEBIAN/md5sums").unlink()
    (directory / SHIPPED / "11-older.json").write_text("{}", encoding="utf-8")
    with open(directory / SHIPPED / FILES["mount-srv"], "a", encoding="utf-8") as file:
        file.write("\n")
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "--build", directory, result], check=True,
                   capture_output=True)
    return result


@pytest.mark.parametrize("release", RELEASES)
def test_lintian_has_nothing_to_say(release, source, packages, builder):
    said = builder(release).run(["lintian", "--allow-root", "--fail-on", "error,warning", source,
                                 *packages(release).values()], check=False)
    assert said.returncode == 0 and said.stdout == "", said.stdout


def test_the_same_sources_make_the_same_package(source, packages):
    """In another directory, on another day, in another time zone, with another umask, without a cache."""
    first = packages("bookworm")
    second = packages("bookworm", "another/and/much/longer/directory",
                      ("faketime", "-f", "+400d", "env", "TZ=Asia/Tokyo", "sh", "-c", 'umask 077; exec "$0" "$@"'))
    assert set(first) == {"oci-gpu-hooks"}
    assert second["oci-gpu-hooks"].read_bytes() == first["oci-gpu-hooks"].read_bytes()


def test_install_and_purge_leave_a_plain_debian_as_it_was(debian):
    host = debian("plain")
    host.apt("install", host.deb)
    listed = [path for path in host.run(["dpkg", "-L", "oci-gpu-hooks"]).stdout.split()
              if not os.path.isdir(host.path(path))]
    assert {path[1:].removesuffix(".gz") for path in listed} == expected_files()
    assert {path[1:] for path in listed} <= host.changes()
    control = Path(host.path("/var/lib/dpkg/info")).glob("oci-gpu-hooks.*")
    assert {path.suffix for path in control} == {
        ".list", ".md5sums", ".postinst", ".postrm", ".prerm", ".triggers"}, "no conffiles"
    host.run(["mkdir", "-p", "/srv/datasets"])
    assert "/srv/datasets" in host.run(["oci-gpu-hooks", "list"]).stdout
    for name, file in FILES.items():
        path = HookFile(host.path(f"/{SHIPPED}/{file}"), None).document["hook"]["path"]
        assert path == f"/{EXECDIR}/{name}" and host.run([path, "--version"]).stdout.startswith(f"{name} ")
    host.run(["rmdir", "/srv/datasets"])
    host.apt("purge", "--autoremove", "oci-gpu-hooks")
    assert host.changes() == set()


def in_order(host, *args):
    """Runs apt; gives the executables and JSON files that dpkg, or the command that prerm calls, has put in place or
    removed, in their order."""
    log = host.shared / "log"
    subprocess.run(["strace", "-f", "--seccomp-bpf", "-z", "-y", "-qq", "-e", "signal=none", "-e",
                    "trace=rename,unlink,unlinkat", "-o", log, *host.command([*APT, *args])], check=True,
                   capture_output=True, timeout=LIMIT_S)
    found = re.findall(r'(?:<([^>]*)>, )?"([^"]*)"(?:, 0)?\) += 0', log.read_text("utf-8"))
    paths = [os.path.join(directory, name)[1:] for directory, name in found]
    return [path for path in paths if path in {*EXECUTABLES, *REGISTERED}]


def test_an_engine_never_finds_a_hook_without_its_executable(debian):
    host = debian("plain")
    installed = in_order(host, "install", host.deb)
    assert set(installed[:len(FILES)]) == EXECUTABLES and set(installed[len(FILES):]) == REGISTERED
    removed = in_order(host, "remove", "oci-gpu-hooks")
    assert set(removed[:len(FILES)]) == REGISTERED and set(removed[len(FILES):]) == EXECUTABLES


@pytest.fixture(name="engines")
def engines_fixture(debian):
    """A release with podman and runc, an older version of the package, a policy for podman, two directories, and GPUs whose
    leases are where the host's own are."""
    host = debian("engines")
    host.apt("install", older(host.deb))
    host.run(["mkdir", "-p", "/srv/datasets", "/srv/models"])
    host.machine = AmdHost(host.shared / "machine")
    (host.machine.path / "run").mkdir()
    host.mount("--bind", "/run", host.machine.path / "run")
    done = host.run(["oci-gpu-hooks", "install", "--engine", "podman", "mount-srv", "--allow", "datasets"])
    print(done.stdout, done.stderr)
    host.run(["oci-gpu-hooks", "install", "--engine", "docker", "mount-srv"])
    return host


def policy(host):
    """What is in /etc of the hooks."""
    return {path.name: path.read_bytes() for part in ("containers/oci/hooks.d", "containers/containers.conf.d", "cdi")
            for path in Path(host.path(f"/etc/{part}")).glob("*")}


def takes_image_annotations(host):
    return "version 4.3" in host.run(["podman", "--version"]).stdout


def test_an_image_is_kept_from_asking(debian):
    """By the package alone, whichever of it and podman comes first; what the administrator has in effect stays so."""
    host = debian("engines")
    host.run(["sh", "-ec", """mkdir -p /etc/containers/containers.conf.d
        printf '[containers]\nannotations = ["org.example=1"]\n' >/etc/containers/containers.conf.d/50-mine.conf"""])
    host.apt("install", host.deb)
    assert (DEFAULTS in policy_files(host)) == takes_image_annotations(host)
    host.apt("purge", "oci-gpu-hooks")
    assert policy_files(host) == {"50-mine.conf"}
    if not takes_image_annotations(host):
        return
    host.run(["mv", "/usr/bin/podman", "/usr/bin/podman.later"])
    host.apt("install", host.deb)
    assert policy_files(host) == {"50-mine.conf"}
    host.run(["mv", "/usr/bin/podman.later", "/usr/bin/podman"])
    host.run(["dpkg-trigger", "--by-package=podman", "/usr/bin/podman"])
    host.run(["dpkg", "--triggers-only", "--pending"])
    text = Path(host.path(f"/etc/containers/containers.conf.d/{DEFAULTS}")).read_text("utf-8")
    assert '"org.example=1"' in text and f'"{PREFIX}nvidia-devices.lease=-"' in text
    doctor = host.run(["oci-gpu-hooks", "doctor"], check=False).stdout
    assert "keep images from asking" in doctor, doctor


def policy_files(host):
    return {path.name for path in Path(host.path("/etc/containers/containers.conf.d")).iterdir()}


def gpu_box(host, name):
    """A container of runc's that asks for the first GPU, for itself."""
    hook = HookFile(host.path(f"/{SHIPPED}/{FILES['amd-kfd']}"), f"/{EXECDIR}/amd-kfd")
    runtime, bundle = Runc(host.shared / f"{name}-runtime"), Bundle(host.shared / name)
    box = Box(host, runtime, bundle, hook, ["--sysroot", host.machine])
    box.annotations[f"{PREFIX}amd-kfd"] = "0"
    return ask(box, f"{PREFIX}amd-kfd", lease="exclusive")


def podman_sees(host, request, device=None):
    """The directories that a container gets; podman reads what it reads by default. None if it starts none."""
    asks = ["--device", device] if device else ["--annotation", f"{PREFIX}mount-srv={request}"]
    rootfs = Bundle(host.shared / f"podman-{request}").rootfs
    (rootfs / "srv").mkdir()
    done = host.run(["podman", "--cgroup-manager", "cgroupfs", "--storage-driver", "vfs", "--events-backend", "file",
                     "--runtime", "runc", "run", "--rm", "--network", "none", "--log-driver", "none", *LIMITS,
                     *asks, "--rootfs", rootfs, "ls", "/srv"], check=False)
    print(done.stderr)
    shutil.rmtree(rootfs.parent)
    return done.stdout.split() if done.returncode == 0 else None


def test_an_upgrade_and_a_purge_beside_a_running_container(engines):
    host = engines
    before = policy(host)
    assert set(before) - {DEFAULTS} == {FILES["mount-srv"], "90-oci-gpu-hooks.conf", "oci-gpu-hooks-mount-srv.json"}
    assert (DEFAULTS in before) == takes_image_annotations(host)
    container = Container(gpu_box(host, "running"), "ls /dev/dri").ready()
    assert "card2" in container.out.split()
    leases = Path(host.path(f"/{DIRECTORY}"))

    def leases_now():
        """But for what was refused."""
        return {path.name: path.read_bytes() for path in leases.iterdir() if path.name != "refusals"}
    held = leases_now()
    assert held

    def is_untouched(gone=()):
        runtime, name = container.box.runtime, container.run.name
        assert '"running"' in host.run(runtime.command("state", name)).stdout
        assert "renderD129" in host.run(runtime.command("exec", name, "ls", "/dev/dri")).stdout
        assert leases_now() == held
        assert policy(host) == {name: text for name, text in before.items() if name not in gone}
        host.check()

    host.apt("install", host.deb)
    is_untouched()
    assert host.run(["dpkg-query", "-W", "-f", "${Version}", "oci-gpu-hooks"]).stdout == version_of(host.deb)
    assert {path.name for path in Path(host.path(f"/{SHIPPED}")).iterdir()} == set(FILES.values())
    refused = gpu_box(host, "refused").run()
    assert refused.code != 0 and refused.hook_status == 4, (refused.err, refused.out)
    assert podman_sees(host, "all") == ["datasets"]
    assert podman_sees(host, "models") is None

    said = host.apt("remove", "oci-gpu-hooks")
    assert "gets nothing from now on, and nobody is told" in said, said
    is_untouched(gone=before)
    kept = Path(host.path(f"/{KEPT}"))
    assert (kept / OWN / FILES["mount-srv"]).read_bytes() == before[FILES["mount-srv"]]
    assert not Path(host.path(f"/{SHIPPED}")).exists() and Path(host.path(f"/{MANIFEST}")).exists()
    assert (podman_sees(host, "all"), podman_sees(host, "all", DEVICE)) == ([], None)
    host.apt("install", host.deb)
    is_untouched()
    assert (podman_sees(host, "all"), podman_sees(host, "all", DEVICE)) == (["datasets"], ["datasets"]), "it is back"
    assert not kept.exists()
    host.apt("purge", "oci-gpu-hooks")
    is_untouched(gone=before)
    assert not Path(host.path(f"/{MANIFEST}")).parent.exists()
    host.apt("install", host.deb)
    assert podman_sees(host, "all") == ["datasets", "models"], "of the policy nothing is left"
    container.end()


def test_uninstall_before_a_purge_leaves_nothing(engines):
    host = engines
    host.run(["oci-gpu-hooks", "uninstall"])
    host.run(["rmdir", "/srv/datasets", "/srv/models"])
    host.apt("purge", "--autoremove", "oci-gpu-hooks")
    assert {path for path in host.changes() if not Path(host.path(f"/{path}")).is_dir()} == set()
    assert not Path(host.path(f"/{MANIFEST}")).parent.exists()
