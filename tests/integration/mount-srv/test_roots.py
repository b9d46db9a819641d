# SPDX-License-Identifier: Apache-2.0
"""Root filesystems that are mounts of the host themselves, as engines make them."""

import shutil

import pytest

from harness.expect import refused, started
from harness.source import tree

READ = "cat /srv/datasets/words"
WORDS = "words of datasets\n"


@pytest.fixture(name="box")
def box_fixture(srv, new_box):
    srv.directory("datasets")
    return new_box("all")


@pytest.fixture(name="upper")
def upper_fixture(box, host):
    """Makes the box's root an overlay, as of an image's layer; gives its upper directory."""
    lower = box.bundle.directory / "lower"
    box.rootfs.rename(lower)
    for name in ("rootfs", "upper", "work"):
        (box.bundle.directory / name).mkdir()
    layers = [f"{key}dir={box.bundle.directory}/{name}"
              for key, name in (("lower", "lower"), ("upper", "upper"), ("work", "work"))]
    host.mount("-t", "overlay", "-o", ",".join(layers), "overlay", box.rootfs)
    return box.bundle.directory / "upper"


def test_an_overlay_root_gets_nothing_but_the_placeholder(box, upper):
    lower = tree(box.bundle.directory / "lower")
    assert started(box.run(READ)) == WORDS
    made = [str(path.relative_to(upper)) for path in sorted(upper.rglob("*"))]
    assert [path for path in made if path.startswith("srv")] == ["srv", "srv/datasets"]
    assert tree(box.bundle.directory / "lower") == lower


@pytest.mark.parametrize("propagation", ["rslave", "rprivate", "rshared"])
def test_an_overlay_root_of_any_propagation(box, upper, propagation):
    box.config["linux"]["rootfsPropagation"] = propagation
    assert started(box.run(READ)) == WORDS
    assert (upper / "srv/datasets").is_dir()


def test_a_read_only_overlay_root(box, upper):
    box.config["root"]["readonly"] = True
    assert started(box.run(READ)) == WORDS
    assert (upper / "srv/datasets").is_dir()


def test_a_failure_leaves_the_upper_layer_as_it_was(box, upper, srv, host):
    srv.directory("models")
    host.run(["sh", "-c", 'mkdir "$0/srv" && touch "$0/srv/models"', box.rootfs])
    before = tree(upper)
    refused(box.run(), None, "/srv/models")
    assert tree(upper) == before


def test_a_root_on_a_tmpfs_of_the_host(box, host):
    copy = box.bundle.directory / "copy"
    shutil.copytree(box.rootfs, copy, symlinks=True)
    host.mount("-t", "tmpfs", "tmpfs", box.rootfs)
    host.run(["cp", "-a", f"{copy}/.", box.rootfs])
    assert started(box.run(READ)) == WORDS


def make_read_only(box, host):
    host.mount("--bind", box.rootfs, box.rootfs)
    host.mount("-o", "remount,bind,ro", box.rootfs)


def test_a_root_that_cannot_be_written_is_refused_by_name(box, host):
    """No directory in the image, and no way to make one."""
    make_read_only(box, host)
    refused(box.run(), None, "/srv")


def test_a_root_that_cannot_be_written_works_where_the_directory_is(box, host):
    (box.rootfs / "srv/datasets").mkdir(parents=True)
    make_read_only(box, host)
    assert started(box.run(READ)) == WORDS
