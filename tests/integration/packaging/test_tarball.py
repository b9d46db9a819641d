# SPDX-License-Identifier: Apache-2.0
"""The archive that packaging/tarball makes, and its scripts, in roots of their own."""

import hashlib
import json
import os
import shutil
import stat
import subprocess
import tarfile
from pathlib import Path

import pytest

from harness.admin import EXECDIR, FILES, OWN, SHIPPED
from harness.newcomer import moving_over

pytest_plugins = ["harness.newcomer_fixtures"]

SOURCE_ROOT = Path(__file__).resolve().parents[3]
SHARE = "usr/local/share/oci-gpu-hooks"
STATE = "var/lib/oci-gpu-hooks"
MORE = "usr/local/share/doc/oci-gpu-hooks/more"


@pytest.fixture(name="unpacked")
def unpacked_fixture(archive, tmp_path):
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path / "unpacked")
    [directory] = (tmp_path / "unpacked").iterdir()
    return directory


@pytest.fixture(name="root")
def root_fixture(tmp_path):
    """A root in which there is a static busybox, and nothing of any C library."""
    root = tmp_path / "root"
    (root / "bin").mkdir(parents=True)
    shutil.copy("/bin/busybox", root / "bin")
    for name in ("sh", "cmp", "cp", "dirname", "find", "grep", "mkdir", "mv", "rm", "rmdir", "sed", "sha256sum", "sort",
                 "uname"):
        (root / "bin" / name).symlink_to("busybox")
    (root / "dev").mkdir()
    os.mknod(root / "dev/null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    return root


def in_root(root, *words, check=True, by=()):
    """With the root's own tools alone."""
    return subprocess.run([*by, "/usr/sbin/chroot", root, *map(os.fspath, words)], check=check, capture_output=True,
                          text=True, env={"PATH": "/bin:/usr/local/bin"})


def run_script(unpacked, root, name, *args, **options):
    """By the tools of the root, as on a worker without any library."""
    shutil.copytree(unpacked, root / "unpacked", dirs_exist_ok=True)
    done = in_root(root, "sh", f"/unpacked/{name}", *args, **options)
    shutil.rmtree(root / "unpacked")
    return done


def install(unpacked, root, *args, **options):
    return run_script(unpacked, root, "install", *args, **options)


def uninstall(unpacked, root, *args, **options):
    """What keeps policies has a lock, which stays with them."""
    done = run_script(unpacked, root, "uninstall", *args, **options)
    if (root / STATE / "disabled").exists():
        return done
    shutil.rmtree(root / "var", ignore_errors=True)
    return done


def files_of(root):
    """What is in the root beside its busybox: the content by the name, owner and mode."""
    return {path.relative_to(root).as_posix(): (path.lstat().st_mode, path.read_bytes())
            for path in root.rglob("*") if path.is_file() and "bin" != path.relative_to(root).parts[0]}


def test_the_archive_names_its_version(archive, build_root):
    version = json.loads(subprocess.run(["meson", "introspect", build_root, "--projectinfo"], check=True,
                                        capture_output=True, text=True).stdout)["version"]
    assert archive.name == f"oci-gpu-hooks-{version}-linux-{os.uname().machine}.tar.xz"
    subprocess.run(["sha256sum", "-c", "--quiet", f"{archive.name}.sha256"], check=True, cwd=archive.parent)


def test_executables_are_static_and_stripped(unpacked):
    for path in [unpacked / "usr/local/bin/oci-gpu-hooks", *(unpacked / EXECDIR / name for name in FILES)]:
        said = subprocess.run(["readelf", "--sections", "--program-headers", "--wide", path], check=True,
                              capture_output=True, text=True).stdout
        assert "INTERP" not in said and ".debug_info" not in said and ".symtab" not in said


# In bytes. A host maps one of these for each container that starts, and a worker downloads all of them.
LARGEST = 4_000_000


@pytest.mark.parametrize("name", ["amd-kfd", "cdi-devices", "ldcache-update", "mount-srv", "nvidia-devices"])
def test_no_hook_is_larger_than_it_has_to_be(unpacked, name):
    """What brings a part of a library that is used for next to nothing is noticed here."""
    assert (unpacked / EXECDIR / name).stat().st_size <= LARGEST


def test_licences_are_in_it(unpacked):
    names = {path.name for path in (unpacked / "licenses").iterdir()}
    assert {"oci-gpu-hooks", "util-linux", "libc6-dev", "libcap-ng-dev", "libmd-dev", "libseccomp-dev", "libyaml-dev",
            "LGPL-2.1", "GPL-3"} <= names


def test_what_the_archive_has_executable_can_be_run(unpacked, root):
    """The scripts among the examples, too."""
    install(unpacked, root)
    programs = [{path.relative_to(top).as_posix() for path in (top / "usr/local").rglob("*")
                 if path.is_file() and path.stat().st_mode & 0o111} for top in (unpacked, root)]
    assert "usr/local/share/doc/oci-gpu-hooks/examples/try/make-host" in programs[0]
    assert programs[0] == programs[1]


def test_install_run_and_uninstall_without_any_library(unpacked, root):
    before = files_of(root)
    assert "oci-gpu-hooks doctor" in install(unpacked, root).stdout
    assert in_root(root, "oci-gpu-hooks", "--version").stdout.startswith("oci-gpu-hooks ")
    for name, file in FILES.items():
        document = json.loads((root / SHIPPED / file).read_text("utf-8"))
        assert in_root(root, document["hook"]["path"], "--version").stdout.startswith(name)
        assert (root / SHIPPED / file).stat().st_mode & 0o777 == 0o644
    shutil.rmtree(unpacked / "usr")  # the installed command does it
    uninstall(unpacked, root)
    assert files_of(root) == before
    assert not (root / "usr").exists()


def test_a_second_run_changes_nothing(unpacked, root):
    install(unpacked, root)
    first = files_of(root)
    install(unpacked, root)
    assert files_of(root) == first


def seal(unpacked):
    sums = subprocess.run("find . -type f ! -name SHA256SUMS | xargs sha256sum", shell=True, check=True, cwd=unpacked,
                          capture_output=True).stdout
    (unpacked / "SHA256SUMS").write_bytes(sums)


def newer(unpacked, hook):
    """Another version: another JSON file of the hook, one file more and one less."""
    path = unpacked / SHIPPED / FILES[hook]
    path.write_text(path.read_text("utf-8") + "\n", encoding="utf-8")
    (unpacked / MORE).write_text("more", encoding="utf-8")
    next(unpacked.glob("usr/local/share/man/man8/*")).unlink()
    seal(unpacked)


def test_an_upgrade_leaves_the_hosts_policy(unpacked, root):
    install(unpacked, root)
    mine = root / SHIPPED / FILES["mount-srv"]
    mine.write_text(mine.read_text("utf-8").replace('["mount-srv"]', '["mount-srv", "--allow", "datasets"]'),
                    encoding="utf-8")
    (root / OWN).mkdir(parents=True)
    (root / OWN / FILES["amd-kfd"]).write_text("{}", encoding="utf-8")
    kept = mine.read_bytes()
    newer(unpacked, "mount-srv")
    for _ in range(2):
        done = install(unpacked, root)
        assert f"/{SHIPPED}/{mine.name}' was changed, and stays as it is" in done.stdout
        assert mine.read_bytes() == kept
    assert (root / OWN / FILES["amd-kfd"]).read_text("utf-8") == "{}"
    assert (root / SHARE / "hooks.d" / mine.name).read_bytes() == (unpacked / SHIPPED / mine.name).read_bytes()
    assert {path.name for path in (root / SHIPPED).iterdir()} == set(FILES.values())


def test_an_upgrade_takes_old_files_away(unpacked, root):
    install(unpacked, root)
    page = next(unpacked.glob("usr/local/share/man/man8/*")).relative_to(unpacked)
    newer(unpacked, "amd-kfd")
    install(unpacked, root)
    assert not (root / page).exists() and (root / MORE).exists()
    assert (root / SHIPPED / FILES["amd-kfd"]).read_bytes().endswith(b"\n\n")


def test_an_interrupted_run_goes_with_the_next(unpacked, root):
    """Whatever it has left: another version's executables, a file that is not whole."""
    newer(unpacked, "amd-kfd")
    (root / EXECDIR).mkdir(parents=True)
    (root / SHARE).mkdir(parents=True)
    for left in (root / EXECDIR / ".amd-kfd.oci-gpu-hooks", root / EXECDIR / "amd-kfd", root / SHARE / ".installed.oci-gpu-hooks"):
        left.write_text("x", encoding="utf-8")
    install(unpacked, root)
    assert (root / EXECDIR / "amd-kfd").read_bytes() == (unpacked / EXECDIR / "amd-kfd").read_bytes()
    uninstall(unpacked, root)
    assert [path for path in files_of(root) if "oci-gpu-hooks" in path] == []


BROKEN_OFF = """
for directory in /run /usr/local /usr/share; do mount -t tmpfs none $directory; done
"$@"
! PATH=$PWD:$PATH sh second/install
sh second/uninstall
find /usr/local /usr/share -type f >left
"""


@pytest.mark.parametrize("before", [["true"], ["sh", "first/install"]], ids=["new", "upgrade"])
@pytest.mark.parametrize("target", [f"{EXECDIR}/amd-kfd", f"{SHIPPED}/{FILES['amd-kfd']}", f"{SHARE}/installed"])
def test_an_interrupted_run_goes_with_uninstall(tmp_path, target, before):
    """Killed as this file is about to get its name, with files that stand in for the archive's."""
    for version, more in (("first", "old"), ("second", "new")):
        top = tmp_path / version
        for name in ("usr/local/bin/oci-gpu-hooks", f"{EXECDIR}/amd-kfd", f"{EXECDIR}/{more}", f"{SHIPPED}/{FILES['amd-kfd']}"):
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            (top / name).write_text(f"#!/bin/sh\n: {version}\n", "ascii")
            (top / name).chmod(0o755)
        for name in ("install", "uninstall"):
            text = (SOURCE_ROOT / "packaging/files" / name).read_text("utf-8")
            (top / name).write_text(text.replace("@machine@", os.uname().machine), "utf-8")
        seal(top)
    program = tmp_path / "mv"
    program.write_text(f'#!/bin/sh\ncase "$*" in *" /{target}") kill -9 $PPID ;; *) exec /bin/mv "$@" ;; esac\n', "ascii")
    program.chmod(0o755)
    subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-euc", BROKEN_OFF, "sh", *before], check=True,
                   cwd=tmp_path)
    assert (tmp_path / "left").read_text("utf-8") == ""


def test_a_changed_file_is_out_of_force_after_uninstall_and_kept(unpacked, root):
    install(unpacked, root)
    mine = root / SHIPPED / FILES["mount-srv"]
    mine.write_text("mine", encoding="utf-8")
    assert "was changed; it is in" in uninstall(unpacked, root).stdout
    assert not mine.exists() and (root / SHARE / "kept" / mine.name).read_text("utf-8") == "mine"


def test_directories_that_were_there_stay(unpacked, root):
    for directory in ("usr/local/bin", "usr/local/share/man/man8", "usr/share/containers"):
        (root / directory).mkdir(parents=True)
    before = sorted(root.rglob("*"))
    for _ in range(2):
        install(unpacked, root)
        install(unpacked, root)
        uninstall(unpacked, root)
        assert sorted(root.rglob("*")) == before


def test_json_files_are_the_last_and_the_first_out(unpacked, root, tmp_path):
    """An engine never finds one whose executable is missing."""
    def touched(script, calls):
        trace = tmp_path / "trace"
        script(unpacked, root, by=["strace", "-f", "-qq", "-s", "200", "-o", trace, "-e", f"trace={calls}"])
        return [line for line in trace.read_text("utf-8").splitlines() if line.endswith("= 0")]

    lines = touched(install, "?rename,renameat,renameat2")
    first_json = next(i for i, line in enumerate(lines) if SHIPPED in line)
    assert any(EXECDIR in line for line in lines[:first_json])
    assert all(EXECDIR not in line for line in lines[first_json:])
    lines = touched(uninstall, "?unlink,unlinkat")
    last_json = max(i for i, line in enumerate(lines) if SHIPPED in line)
    assert any(EXECDIR in line for line in lines[last_json:])
    assert all(EXECDIR not in line for line in lines[:last_json])


def test_an_archive_for_another_machine_is_not_tried(unpacked, root):
    """A shell would take its programs for scripts. linux32: `uname -m` then says that the machine is another."""
    install(unpacked, root)
    before = files_of(root)
    for script in (install, uninstall):
        done = script(unpacked, root, check=False, by=["linux32"])
        assert done.returncode == 1 and "on such a machine alone" in done.stderr
    assert files_of(root) == before


def test_a_damaged_archive_installs_nothing(unpacked, root):
    with open(unpacked / EXECDIR / "amd-kfd", "ab") as file:
        file.write(b"x")
    done = install(unpacked, root, check=False)
    assert done.returncode == 1 and "Nothing was installed" in done.stderr
    assert not (root / "usr").exists()


@pytest.mark.parametrize("script", [install, uninstall])
def test_what_is_not_known_is_refused(unpacked, root, script):
    done = script(unpacked, root, "--root", check=False)
    assert done.returncode == 2 and "'--root' is not known" in done.stderr
    assert not (root / "usr").exists()


def test_what_a_newcomer_types(newcomer):
    """Nobody is left with a line of README.md that does not work."""
    newcomer.follows("README.md", "Ten lines", "Three ways in", "More examples")
    guide = moving_over()
    assert len(guide) == 10
    for line in guide:
        assert newcomer.type(line).returncode == 0
