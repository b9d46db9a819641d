# SPDX-License-Identifier: Apache-2.0
"""The archive that packaging/tarball makes, and its scripts, in roots of their own."""

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


def make(build_root, output):
    done = subprocess.run([SOURCE_ROOT / "packaging/tarball", "--build", build_root, output], check=True,
                          capture_output=True, text=True)
    return Path(done.stdout.splitlines()[0])


@pytest.fixture(name="archive", scope="module")
def archive_fixture(build_root, tmp_path_factory):
    return make(build_root, tmp_path_factory.mktemp("output"))


@pytest.fixture(name="unpacked")
def unpacked_fixture(archive, tmp_path):
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path / "unpacked")
    [folder] = (tmp_path / "unpacked").iterdir()
    return folder


@pytest.fixture(name="root")
def root_fixture(tmp_path):
    """A root in which there is a static busybox, and nothing of any C library."""
    root = tmp_path / "root"
    (root / "bin").mkdir(parents=True)
    shutil.copy("/bin/busybox", root / "bin")
    for name in ("sh", "awk", "cat", "cmp", "cp", "cut", "dirname", "find", "grep", "mkdir", "mv", "rm", "rmdir",
                 "sha256sum", "sort"):
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
    assert archive.name == f"oci-gpu-hooks-{version}-linux-{os.uname().machine}.tar.gz"
    subprocess.run(["sha256sum", "-c", "--quiet", f"{archive.name}.sha256"], check=True, cwd=archive.parent)


def test_executables_are_static_and_stripped(unpacked):
    for path in [unpacked / "usr/local/bin/oci-gpu-hooks", *(unpacked / EXECDIR / name for name in FILES)]:
        said = subprocess.run(["readelf", "--sections", "--program-headers", "--wide", path], check=True,
                              capture_output=True, text=True).stdout
        assert "INTERP" not in said and ".debug_info" not in said and ".symtab" not in said


def test_licences_are_in_it(unpacked):
    names = {path.name for path in (unpacked / "licenses").iterdir()}
    assert {"oci-gpu-hooks", "util-linux", "libc6-dev", "libcap-ng-dev", "nettle-dev", "libyaml-dev", "LGPL-2.1",
            "LGPL-3"} <= names


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


def test_a_worker_has_a_folder_of_its_own(unpacked, root):
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
    (unpacked / "usr/local/share/more").write_text("more", encoding="utf-8")
    next(unpacked.glob("usr/local/share/man/man8/*")).unlink()
    sums = subprocess.run("find . -type f ! -name SHA256SUMS | xargs sha256sum", shell=True, check=True, cwd=unpacked,
                          capture_output=True).stdout
    (unpacked / "SHA256SUMS").write_bytes(sums)


@pytest.mark.parametrize("folder", [SHIPPED, "etc/concourse-hooks"])
def test_an_upgrade_leaves_the_hosts_policy(unpacked, root, folder):
    options = ["--hooks-dir", f"/{folder}"]
    install(unpacked, root, *options)
    mine = root / folder / FILES["mount-srv"]
    mine.write_text(mine.read_text("utf-8").replace('["mount-srv"]', '["mount-srv", "--allow", "datasets"]'),
                    encoding="utf-8")
    (root / OWN).mkdir(parents=True)
    (root / OWN / FILES["amd-kfd"]).write_text("{}", encoding="utf-8")
    kept = mine.read_bytes()
    newer(unpacked, "mount-srv")
    for _ in range(2):
        done = install(unpacked, root, *options)
        assert f"/{folder}/{mine.name} was changed, and stays as it is" in done.stdout
        assert mine.read_bytes() == kept
    assert (root / OWN / FILES["amd-kfd"]).read_text("utf-8") == "{}"
    assert (root / SHARE / "hooks.d" / mine.name).read_bytes() == (unpacked / SHIPPED / mine.name).read_bytes()
    assert {path.name for path in (root / folder).iterdir()} == set(FILES.values())


def test_an_upgrade_takes_old_files_away(unpacked, root):
    install(unpacked, root)
    page = next(unpacked.glob("usr/local/share/man/man8/*")).relative_to(unpacked)
    newer(unpacked, "amd-kfd")
    install(unpacked, root)
    assert not (root / page).exists() and (root / "usr/local/share/more").exists()
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
    log, tools, root = tmp_path / "log", tmp_path / "tools", tmp_path / "image"
    root.mkdir()
    tools.mkdir()
    for name in ("mv", "rm"):
        (tools / name).write_text(f'#!/bin/sh\nfor path; do echo "$path" >>{log}; done\nexec /bin/{name} "$@"\n',
                                  encoding="utf-8")
        (tools / name).chmod(0o755)

    def touched(script):
        log.write_text("", encoding="utf-8")
        subprocess.run([unpacked / script, "--root", root], check=True, capture_output=True,
                       env={"PATH": f"{tools}:/usr/bin:/bin"})
        return [line for line in log.read_text("utf-8").splitlines() if not line.endswith(".new")]

    lines = touched("install")
    first_json = next(i for i, line in enumerate(lines) if SHIPPED in line)
    assert any(EXECDIR in line for line in lines[:first_json])
    assert all(EXECDIR not in line for line in lines[first_json:])
    lines = touched("uninstall")
    last_json = max(i for i, line in enumerate(lines) if SHIPPED in line)
    assert any(EXECDIR in line for line in lines[last_json:])
    assert all(EXECDIR not in line for line in lines[:last_json])


def test_a_damaged_archive_installs_nothing(unpacked, root):
    with open(unpacked / EXECDIR / "amd-kfd", "ab") as file:
        file.write(b"x")
    done = install(unpacked, root, check=False)
    assert done.returncode == 1 and "Nothing was installed" in done.stderr
    assert not (root / "usr").exists()


@pytest.mark.parametrize("args", [["--root", "relative"], ["--hooks-dir"], ["--unknown"]])
def test_wrong_options(unpacked, args):
    done = subprocess.run([unpacked / "install", *args], check=False, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr


def test_what_a_newcomer_types(shell):
    """Nobody is left with a line of README.md that does not work."""
    (install, _), *others = newcomer.blocks("Ten lines")
    assert shell(install).returncode == 0
    ways = [line for line, _ in newcomer.blocks("Three ways in") if line.startswith("oci-gpu-hooks ")]
    guide = newcomer.moving_over()
    assert len(others) == 5 and len(ways) == 5 and len(guide) == 8
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
