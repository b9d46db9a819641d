# SPDX-License-Identifier: Apache-2.0
"""The archive that packaging/tarball makes, and its scripts, in roots of their own."""

import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import tarfile
from pathlib import Path

import pytest

from harness import newcomer
from harness.admin import EXECDIR, FILES, OWN, SHIPPED

pytest_plugins = ["harness.newcomer_fixtures"]

SOURCE_ROOT = Path(__file__).resolve().parents[3]
SHARE = "usr/local/share/oci-gpu-hooks"
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
    for name in ("sh", "awk", "cat", "cmp", "cp", "cut", "dirname", "find", "grep", "mkdir", "mv", "rm", "rmdir",
                 "sha256sum", "sort", "uname"):
        (root / "bin" / name).symlink_to("busybox")
    (root / "dev").mkdir()
    os.mknod(root / "dev/null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    return root


def in_root(root, *words, check=True):
    """With the root's own tools alone."""
    return subprocess.run(["/usr/sbin/chroot", root, *map(os.fspath, words)], check=check, capture_output=True, text=True,
                          env={"PATH": "/bin:/usr/local/bin"})


def install(unpacked, root, *args, check=True):
    """By the tools of the root, as in a worker's image."""
    shutil.copytree(unpacked, root / "unpacked", dirs_exist_ok=True)
    done = in_root(root, "sh", "/unpacked/install", *args, check=check)
    shutil.rmtree(root / "unpacked")
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


def test_what_the_archive_has_executable_can_be_run(unpacked, tmp_path):
    """The scripts among the examples, too."""
    subprocess.run([unpacked / "install", "--root", tmp_path], check=True, capture_output=True)
    programs = [{path.relative_to(top).as_posix() for path in (top / "usr/local").rglob("*")
                 if path.is_file() and path.stat().st_mode & 0o111} for top in (unpacked, tmp_path)]
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
    shutil.copy(unpacked / "uninstall", root)
    in_root(root, "sh", "/uninstall")
    (root / "uninstall").unlink()
    assert files_of(root) == before
    assert not (root / "usr").exists()


def test_a_second_run_changes_nothing(unpacked, root):
    install(unpacked, root)
    first = files_of(root)
    install(unpacked, root)
    assert files_of(root) == first


def test_a_worker_has_a_directory_of_its_own(unpacked, root):
    install(unpacked, root, "--hooks-dir", "/etc/concourse-hooks")
    assert sorted(path.name for path in (root / "etc/concourse-hooks").iterdir()) == sorted(FILES.values())
    assert not (root / SHIPPED).exists()


def test_into_an_image_that_runs_nothing(unpacked, tmp_path):
    image = tmp_path / "image"
    image.mkdir()
    subprocess.run([unpacked / "install", "--root", image], check=True, capture_output=True)
    assert (image / EXECDIR / "amd-kfd").stat().st_mode & 0o777 == 0o755
    subprocess.run([unpacked / "uninstall", "--root", image], check=True, capture_output=True)
    assert list(image.iterdir()) == []


def newer(unpacked, hook):
    """Another version: another JSON file of the hook, one file more and one less."""
    path = unpacked / SHIPPED / FILES[hook]
    path.write_text(path.read_text("utf-8") + "\n", encoding="utf-8")
    (unpacked / MORE).write_text("more", encoding="utf-8")
    next(unpacked.glob("usr/local/share/man/man8/*")).unlink()
    sums = subprocess.run("find . -type f ! -name SHA256SUMS | xargs sha256sum", shell=True, check=True, cwd=unpacked,
                          capture_output=True).stdout
    (unpacked / "SHA256SUMS").write_bytes(sums)


@pytest.mark.parametrize("directory", [SHIPPED, "etc/concourse-hooks"])
def test_an_upgrade_leaves_the_hosts_policy(unpacked, root, directory):
    options = ["--hooks-dir", f"/{directory}"]
    install(unpacked, root, *options)
    mine = root / directory / FILES["mount-srv"]
    mine.write_text(mine.read_text("utf-8").replace('["mount-srv"]', '["mount-srv", "--allow", "datasets"]'),
                    encoding="utf-8")
    (root / OWN).mkdir(parents=True)
    (root / OWN / FILES["amd-kfd"]).write_text("{}", encoding="utf-8")
    kept = mine.read_bytes()
    newer(unpacked, "mount-srv")
    for _ in range(2):
        done = install(unpacked, root, *options)
        assert f"/{directory}/{mine.name}' was changed, and stays as it is" in done.stdout
        assert mine.read_bytes() == kept
    assert (root / OWN / FILES["amd-kfd"]).read_text("utf-8") == "{}"
    assert (root / SHARE / "hooks.d" / mine.name).read_bytes() == (unpacked / SHIPPED / mine.name).read_bytes()
    assert {path.name for path in (root / directory).iterdir()} == set(FILES.values())


def test_an_upgrade_takes_old_files_away(unpacked, root):
    install(unpacked, root)
    page = next(unpacked.glob("usr/local/share/man/man8/*")).relative_to(unpacked)
    newer(unpacked, "amd-kfd")
    install(unpacked, root)
    assert not (root / page).exists() and (root / MORE).exists()
    assert (root / SHIPPED / FILES["amd-kfd"]).read_bytes().endswith(b"\n\n")


def test_a_changed_file_is_out_of_force_after_uninstall_and_kept(unpacked, root):
    install(unpacked, root)
    mine = root / SHIPPED / FILES["mount-srv"]
    mine.write_text("mine", encoding="utf-8")
    done = subprocess.run([unpacked / "uninstall", "--root", root], check=True, capture_output=True, text=True)
    assert "was changed; it is in" in done.stdout
    assert not mine.exists() and (root / SHARE / "kept" / mine.name).read_text("utf-8") == "mine"


def test_json_files_are_the_last_and_the_first_out(unpacked, tmp_path):
    """An engine never finds one whose executable is missing."""
    root = tmp_path / "image"
    root.mkdir()

    def touched(script, call):
        trace = tmp_path / "trace"
        subprocess.run(["strace", "-f", "-y", "-qq", "-o", trace, "-e", f"trace={call}", unpacked / script, "--root", root],
                       check=True, capture_output=True)
        return [line for line in trace.read_text("utf-8").splitlines() if line.endswith("= 0")]

    lines = touched("install", "renameat,renameat2")
    first_json = next(i for i, line in enumerate(lines) if SHIPPED in line)
    assert any(EXECDIR in line for line in lines[:first_json])
    assert all(EXECDIR not in line for line in lines[first_json:])
    lines = touched("uninstall", "unlinkat")
    last_json = max(i for i, line in enumerate(lines) if SHIPPED in line and "AT_REMOVEDIR" not in line)
    assert any(EXECDIR in line for line in lines[last_json:])
    assert all(EXECDIR not in line for line in lines[:last_json])


HOST_FILE = "what is the host's"


@pytest.fixture(name="outside")
def outside_fixture(tmp_path):
    """A file and directories of the host's: nothing of them may be changed."""
    directory = tmp_path / "host"
    for name in ("opt", "etc", "usr/local/share/oci-gpu-hooks/kept", "usr/local/bin", "usr/share/containers/oci/hooks.d"):
        (directory / name).mkdir(parents=True)
        (directory / name / "mine").write_text(HOST_FILE, encoding="utf-8")
    before = files_of(directory), sorted(directory.rglob("*"))
    yield directory
    assert (files_of(directory), sorted(directory.rglob("*"))) == before


DIRECTORIES = ["usr", "usr/local", "usr/local/bin", "usr/local/libexec", EXECDIR, "usr/local/share", SHARE, f"{SHARE}/hooks.d",
           "usr/share", "usr/share/containers", SHIPPED]
PLACES = ["usr/local/bin/oci-gpu-hooks", f"{EXECDIR}/amd-kfd", f"{SHIPPED}/{FILES['amd-kfd']}", f"{SHARE}/installed",
          f"{SHARE}/hooks.d/{FILES['amd-kfd']}"]


def on_the_way(place):
    """What a file is called until it is whole."""
    return str(Path(place).with_name(f".{Path(place).name}.oci-gpu-hooks"))


def run_at(unpacked, script, image, *args):
    return subprocess.run([unpacked / script, "--root", image, *args], check=False, capture_output=True, text=True)


def by_both_ways(path):
    return path, Path("../" * 30 + str(path)[1:])


@pytest.mark.parametrize("name", DIRECTORIES)
def test_a_linked_directory_of_an_image_leads_nowhere_else(unpacked, outside, tmp_path, name):
    for target in by_both_ways(outside / name):
        image = tmp_path / "image"
        (image / name).parent.mkdir(parents=True)
        (image / name).symlink_to(target)
        done = run_at(unpacked, "install", image)
        assert done.returncode == 6 and f"cannot make the directory '/{name}'" in done.stderr, done
        done = run_at(unpacked, "uninstall", image)
        assert done.returncode == 1 and "nothing was installed" in done.stderr
        shutil.rmtree(image)


@pytest.mark.parametrize("name", [*PLACES, *map(on_the_way, PLACES)])
def test_a_linked_file_of_an_image_leads_nowhere_else(unpacked, outside, tmp_path, name):
    for target in by_both_ways(outside / "opt/mine"):
        image = tmp_path / "image"
        (image / name).parent.mkdir(parents=True)
        (image / name).symlink_to(target)
        assert run_at(unpacked, "install", image).returncode == 0
        if name in (f"{SHIPPED}/{FILES['amd-kfd']}",):
            assert (image / name).is_symlink(), "it is somebody's own"
        else:
            assert name not in PLACES or not (image / name).is_symlink()
        assert run_at(unpacked, "uninstall", image).returncode == 0
        shutil.rmtree(image)


@pytest.mark.parametrize("target", ["/var/usrlocal", "../var/usrlocal", "../../../../var/usrlocal"])
def test_links_within_an_image_lead_there(unpacked, tmp_path, target):
    """As in images of systems whose /usr is not written to."""
    image = tmp_path / "image"
    (image / "var/usrlocal").mkdir(parents=True)
    (image / "usr").mkdir()
    (image / "usr/local").symlink_to(target)
    assert run_at(unpacked, "install", image).returncode == 0
    assert (image / "var/usrlocal/bin/oci-gpu-hooks").is_file() and not Path("/var/usrlocal").exists()
    assert run_at(unpacked, "uninstall", image).returncode == 0
    assert [path for path in image.rglob("*") if path.is_file()] == []


def listed(path, target):
    """A line of the list: what is at `path` is as it was installed, as `target`."""
    return f"{hashlib.sha256(path.read_bytes()).hexdigest()} {target}"


@pytest.mark.parametrize("script", ["install", "uninstall"])
def test_a_list_of_somebodys_making_removes_nothing_else(unpacked, outside, tmp_path, script):
    image = tmp_path / "image"
    image.mkdir()
    run_at(unpacked, "install", image)
    mine = image / "etc/mine"
    mine.parent.mkdir()
    mine.write_text(HOST_FILE, encoding="utf-8")
    (image / "up").symlink_to("../../../../")
    paths = [*(f"/..{'/..' * 30}{outside}/{name}/mine" for name in ("opt", "etc")),
             f"/usr/local/share/oci-gpu-hooks{'/..' * 30}{outside}/opt/mine", f"/up{outside}/etc/mine", "/etc/mine",
             "/etc/../etc/mine", "etc/mine", "/etc//mine", f"/usr/local/share/oci-gpu-hooks/../../../../etc/mine"]
    lines = [listed(outside / "opt/mine", path) for path in paths]
    with open(image / SHARE / "installed", "a", encoding="utf-8") as file:
        file.write("\n".join([*lines, "x", "0  /etc/mine", f"0 /etc/mine\n"]))
    done = run_at(unpacked, script, image)
    assert done.returncode == 0 and mine.read_text("utf-8") == HOST_FILE, done
    if script == "uninstall":
        assert done.stdout.count("none of this package's") == len(lines) + 3
        assert [path for path in image.rglob("*") if path.is_file()] == [mine]


def test_nothing_of_a_root_is_run(unpacked, tmp_path):
    """Not even where the archive has gone."""
    image, alone = tmp_path / "image", tmp_path / "alone"
    image.mkdir()
    run_at(unpacked, "install", image)
    command = image / "usr/local/bin/oci-gpu-hooks"
    command.write_text(f"#!/bin/sh\n>{tmp_path}/mark\n", encoding="utf-8")
    alone.mkdir()
    shutil.copy(unpacked / "uninstall", alone)
    done = run_at(alone, "uninstall", image)
    assert done.returncode == 1 and "--root takes the unpacked archive" in done.stderr
    assert run_at(unpacked, "uninstall", image).returncode == 0
    assert not (tmp_path / "mark").exists() and not command.exists()


def test_an_archive_for_another_machine_is_not_tried(unpacked, tmp_path):
    """A shell would take its programs for scripts."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/uname").write_text("#!/bin/sh\necho another\n", encoding="utf-8")
    (tmp_path / "bin/uname").chmod(0o755)
    for script in ("install", "uninstall"):
        done = subprocess.run([unpacked / script, "--root", tmp_path], check=False, capture_output=True, text=True,
                              env={"PATH": f"{tmp_path}/bin:/usr/bin:/bin"})
        assert done.returncode == 1 and "on such a machine alone" in done.stderr
    assert not (tmp_path / "usr").exists()


def test_a_damaged_archive_installs_nothing(unpacked, root):
    with open(unpacked / EXECDIR / "amd-kfd", "ab") as file:
        file.write(b"x")
    done = install(unpacked, root, check=False)
    assert done.returncode == 1 and "Nothing was installed" in done.stderr
    assert not (root / "usr").exists()


@pytest.mark.parametrize("args", [["--root", "relative"], ["--hooks-dir"], ["--unknown"], ["--hooks-dir", "/etc/../x"]])
def test_wrong_options(unpacked, args):
    done = subprocess.run([unpacked / "install", *args], check=False, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr


def test_what_a_newcomer_types(shell):
    """Nobody is left with a line of README.md that does not work."""
    (install, _), *others = newcomer.blocks("Ten lines")
    assert shell(install).returncode == 0
    ways = [line for line, _ in newcomer.blocks("Three ways in") if line.startswith("oci-gpu-hooks ")]
    guide = newcomer.moving_over()
    assert len(others) == 6 and len(ways) == 5 and len(guide) == 10
    for line, expected in [*others, *((line, None) for line in ways + guide)]:
        done = shell(line)
        assert expected is not None or done.returncode == 0, (line, done)
        if expected is not None:
            said = " ".join((done.stdout + done.stderr).split())
            assert re.fullmatch(newcomer.pattern_of(expected), said), (line, said)
        if line.startswith("oci-gpu-hooks list"):
            shown = done.stdout
    (_, expected), = [example for example in newcomer.blocks("More examples") if example[0] == "oci-gpu-hooks list"]
    squeezed = [line.split() for line in shown.splitlines()]
    assert all(line.split() in squeezed for line in expected.splitlines()), shown
