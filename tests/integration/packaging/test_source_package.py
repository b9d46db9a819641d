# SPDX-License-Identifier: Apache-2.0
"""Debian's source package, as packaging/deb makes it of a tree that has nothing but what it needs itself."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE_ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(name="new_tree")
def new_tree_fixture(tmp_path):
    """A function that makes such a tree, in a directory of this name."""
    def make(name):
        tree = tmp_path / name
        shutil.copytree(SOURCE_ROOT / "packaging", tree / "packaging")
        for file in ("meson.build", "CHANGELOG.md"):
            shutil.copy(SOURCE_ROOT / file, tree)
        return tree
    return make


def make(tree, check=True, **environment):
    environment = {"PATH": os.environ["PATH"], "SOURCE_DATE_EPOCH": "1790000000", **environment}
    return subprocess.run([tree / "packaging/deb", "--source", tree / "output"], check=check, capture_output=True,
                          text=True, env=environment)


def test_meson_build_has_its_version(new_tree):
    dsc, archive = sorted(map(Path, make(new_tree("tree")).stdout.split()))
    version = subprocess.run(["meson", "introspect", SOURCE_ROOT / "meson.build", "--projectinfo"], check=True,
                             capture_output=True, text=True).stdout.split('"version": "')[1].split('"')[0]
    assert archive.name == f"oci-gpu-hooks_{version}.tar.xz" and f"\nVersion: {version}\n" in dsc.read_text("utf-8")
    names = subprocess.run(["tar", "-tf", archive], check=True, capture_output=True, text=True).stdout.split()
    assert f"oci-gpu-hooks-{version}/debian/rules" in names and not any("output" in name for name in names)


def test_the_same_sources_make_the_same_bytes(new_tree):
    one, other = new_tree("one"), new_tree("another-directory")
    make(one)
    for path in other.rglob("*"):
        path.chmod(path.stat().st_mode & 0o700)
        os.utime(path, (1, 1))
    os.umask(0o077)
    make(other, TZ="Asia/Tokyo")
    os.umask(0o022)
    for file in (one / "output").iterdir():
        assert (other / "output" / file.name).read_bytes() == file.read_bytes()


def test_a_version_without_its_changes_is_none(new_tree):
    tree = new_tree("tree")
    (tree / "CHANGELOG.md").write_text("# Changes\n\n## 0.0.1\n", encoding="utf-8")
    done = make(tree, check=False)
    assert done.returncode == 1 and "CHANGELOG.md does not begin with" in done.stderr
    assert not list((tree / "output").iterdir())


def test_what_has_no_date_takes_one(new_tree):
    done = make(new_tree("tree"), check=False, SOURCE_DATE_EPOCH="")
    assert done.returncode == 1 and "set SOURCE_DATE_EPOCH" in done.stderr
