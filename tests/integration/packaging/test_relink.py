# SPDX-License-Identifier: Apache-2.0
"""The archive with which whoever has the executables links them again, with libraries of their own."""

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

SOURCE_ROOT = Path(__file__).resolve().parents[3]

CHANGED = """
#include <unistd.h>
#include <yaml.h>
void original_delete(yaml_event_t *);
void yaml_event_delete(yaml_event_t *event) { original_delete(event); }
__attribute__((constructor)) static void say_so(void)
{
    if (write(2, "changed\\n", 8) < 0)
        _exit(99);
}
"""


@pytest.fixture(name="directories", scope="module")
def directories_fixture(build_root, tmp_path_factory):
    """What both archives have in them: of the executables, and to link them again."""
    output = tmp_path_factory.mktemp("output")
    subprocess.run([SOURCE_ROOT / "packaging/tarball", "--build", build_root, output], check=True, capture_output=True)
    for archive in output.glob("*.tar.?z"):
        subprocess.run(["sha256sum", "-c", "--quiet", f"{archive.name}.sha256"], check=True, cwd=output)
        with tarfile.open(archive) as tar:
            tar.extractall(output)
        archive.unlink()
    relink, = output.glob("*-relink")
    return output / relink.name.removesuffix("-relink"), relink


def relink(kit, *args, check=True):
    """By what is on every machine with a compiler."""
    return subprocess.run([kit / "relink", *args], check=check, capture_output=True, text=True,
                          env={"PATH": "/usr/bin:/bin"})


def without_build_id(path, tmp_path):
    """What was built for debuggers has another ID than without what these read, which is not in the archive."""
    target = tmp_path / f"{path.name}-{os.urandom(4).hex()}"
    subprocess.run(["objcopy", "--remove-section=.note.gnu.build-id", path, target], check=True)
    return target.read_bytes()


def installed(tree, name):
    directory = "usr/local/bin" if name == "oci-gpu-hooks" else "usr/local/libexec/oci/hooks.d"
    return tree / directory / name


def test_the_same_libraries_make_the_same_executables(directories, tmp_path):
    tree, kit = directories
    made = relink(kit).stdout.split()
    assert {Path(path).name for path in made} == {
        "amd-kfd", "cdi-devices", "ldcache-update", "mount-srv", "nvidia-devices", "nvidia-devices-nvml", "oci-gpu-hooks"}
    for path in map(Path, made):
        assert without_build_id(path, tmp_path) == without_build_id(installed(tree, path.name), tmp_path)
        if path.name == "nvidia-devices-nvml":
            continue  # it has no options
        versions = [subprocess.run([file, "--version"], check=True, capture_output=True).stdout
                    for file in (path, installed(tree, path.name))]
        assert versions[0] == versions[1] != b""


def test_a_changed_library_is_in_it(directories, tmp_path):
    """libyaml as the machine has it, but for one function."""
    _, kit = directories
    mine = tmp_path / "my own"
    mine.mkdir()
    shutil.copy(subprocess.run(["gcc", "-print-file-name=libyaml.a"], check=True, capture_output=True,
                               text=True).stdout.strip(), mine / "libyaml.a")
    (mine / "changed.c").write_text(CHANGED, encoding="utf-8")
    subprocess.run("objcopy --redefine-sym yaml_event_delete=original_delete libyaml.a"
                   " && gcc -O2 -fPIE -c changed.c && ar q libyaml.a changed.o", shell=True, check=True, cwd=mine)
    output = relink(kit, "--libraries", mine, "--output", tmp_path / "out", "cdi-devices").stdout.strip()
    done = subprocess.run([output, "--version"], check=True, capture_output=True, text=True)
    assert done.stdout.startswith("cdi-devices ") and done.stderr == "changed\n"


@pytest.mark.parametrize("args", [["--libraries"], ["--unknown"], ["unknown"]])
def test_wrong_options(directories, args):
    done = relink(directories[1], *args, check=False)
    assert done.returncode == 2 and done.stderr


def test_licences_are_in_it(directories):
    names = {path.name for path in (directories[1] / "licenses").iterdir()}
    assert {"util-linux", "libcap-ng-dev", "libseccomp-dev", "libc6-dev", "LGPL-2.1", "GPL-3"} <= names
