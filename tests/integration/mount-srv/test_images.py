# SPDX-License-Identifier: Apache-2.0
"""Images that have something at the place already: each works, or fails in words. Nothing is made,
changed or mounted outside the root."""

import pytest

from harness.expect import refused, started
from harness.source import tree

READ = "cat /srv/datasets/words"
WORDS = "words of datasets\n"


@pytest.fixture(name="outside")
def outside_fixture(scratch):
    """A tree on the host that must be the same afterwards."""
    outside = scratch / "outside"
    (outside / "srv/datasets").mkdir(parents=True)
    (outside / "srv/datasets/sentinel").write_text("do not touch\n")
    before = tree(outside)
    yield outside
    assert tree(outside) == before


@pytest.fixture(name="box")
def box_fixture(srv, new_box):
    srv.directory("datasets")
    return new_box("all")


def test_read_only_root(box):
    box.config["root"]["readonly"] = True
    result = box.run(f"{READ}; touch /here")
    assert result.out == WORDS and "/here: Read-only file system" in result.err


def test_read_only_root_with_the_directory_in_the_image(box):
    box.config["root"]["readonly"] = True
    (box.rootfs / "srv/datasets").mkdir(parents=True)
    assert started(box.run(READ)) == WORDS


@pytest.mark.parametrize("target", ["/data/in", "data/in", "./data/../data/in"])
def test_srv_is_a_link_inside_the_image(box, target):
    (box.rootfs / "data/in").mkdir(parents=True)
    (box.rootfs / "srv").symlink_to(target)
    assert started(box.run(f"{READ}; cat /data/in/datasets/words")) == WORDS * 2
    assert (box.rootfs / "data/in/datasets").is_dir()


@pytest.mark.parametrize("climb", ["", "../../../../../../../../../../../../../.."])
def test_srv_is_a_link_that_would_lead_out(box, outside, climb):
    """It leads to the directory of that name inside, as it will for the container's programs."""
    target = f"{climb}{outside}/srv"
    (box.rootfs / target.lstrip("./")).mkdir(parents=True)
    (box.rootfs / "srv").symlink_to(target)
    assert started(box.run(READ)) == WORDS


@pytest.mark.parametrize("climb", ["", "../../../../../../../../../../../../../.."])
def test_srv_is_a_link_out_to_what_only_the_host_has(box, outside, climb):
    (box.rootfs / "srv").symlink_to(f"{climb}{outside}/srv")
    refused(box.run(), None, "/srv")
    assert not (box.rootfs / str(outside).lstrip("/")).exists()


def test_srv_is_a_dangling_link(box):
    (box.rootfs / "srv").symlink_to("/nowhere")
    before = tree(box.rootfs)
    refused(box.run(), None, "/srv")
    assert tree(box.rootfs) == before


def test_srv_is_a_link_to_itself(box):
    (box.rootfs / "srv").symlink_to("srv")
    refused(box.run(), None, "/srv")


def test_the_place_is_a_link_out(box, outside):
    (box.rootfs / "srv").mkdir()
    (box.rootfs / "srv/datasets").symlink_to(outside / "srv/datasets")
    refused(box.run(READ), 1, "datasets")


@pytest.mark.parametrize("target", ["/", ".."])
def test_the_place_is_the_root_itself(box, target):
    (box.rootfs / "srv").mkdir()
    (box.rootfs / "srv/datasets").symlink_to(target)
    refused(box.run(), None, "datasets")


@pytest.mark.parametrize("target", ["/proc/self/root/srv", "/proc/1/root", "/proc/self/cwd"])
def test_srv_leads_through_a_magic_link(box, target):
    (box.rootfs / "srv").symlink_to(target)
    refused(box.run(), None, "/srv")


def test_files_in_the_image_at_the_place_are_hidden(box):
    (box.rootfs / "srv/datasets").mkdir(parents=True)
    (box.rootfs / "srv/datasets/own").write_text("of the image\n")
    (box.rootfs / "srv/other").write_text("also of the image\n")
    assert started(box.run("ls /srv /srv/datasets")) == (
        "/srv:\ndatasets\nother\n\n/srv/datasets:\nwords\n")
    assert (box.rootfs / "srv/datasets/own").read_text() == "of the image\n"


def test_a_file_where_the_target_directory_is_needed(box):
    (box.rootfs / "srv").write_text("of the image\n")
    refused(box.run(), None, "/srv")
    assert (box.rootfs / "srv").read_text() == "of the image\n"


def test_a_file_where_a_directory_is_needed(box):
    (box.rootfs / "srv").mkdir()
    (box.rootfs / "srv/datasets").write_text("of the image\n")
    refused(box.run(), None, "/srv/datasets")


def test_a_directory_where_a_file_is_needed(srv, new_box):
    srv.write("license.txt", "words")
    box = new_box("all")
    (box.rootfs / "srv/license.txt").mkdir(parents=True)
    refused(box.run(), None, "/srv/license.txt")


def test_a_failure_leaves_the_image_as_it_was(srv, new_box):
    srv.directories("a", "b", "c")
    srv.write("d.txt", "words")
    box = new_box("a,b,d.txt,c", "--target-dir", "/data/in")
    (box.rootfs / "data").mkdir()
    (box.rootfs / "data/in").mkdir()
    (box.rootfs / "data/in/c").write_text("in the way\n")
    before = tree(box.rootfs)
    refused(box.run(), None, "/data/in/c")
    assert tree(box.rootfs) == before


def test_a_failure_leaves_no_parent_directory_behind(srv, new_box):
    srv.directory("a")
    box = new_box("a", "--target-dir", "/data/deep/in")
    (box.rootfs / "data").mkdir()
    (box.rootfs / "data/deep").symlink_to("/nowhere/at/all")
    before = tree(box.rootfs)
    refused(box.run(), None, "/data/deep")
    assert tree(box.rootfs) == before


def test_target_dir_elsewhere(srv, new_box):
    srv.directories("datasets", "x_rw")
    box = new_box("all", "--target-dir", "/data/in")
    assert started(box.run("ls /data/in; ls -d /srv || true")) == "datasets\nx_rw\n"
    made = [box.rootfs / "data", box.rootfs / "data/in", box.rootfs / "data/in/datasets"]
    assert [path.stat().st_mode & 0o7777 for path in made] == [0o755] * 3


def test_the_umask_of_the_engine_does_not_matter(srv, new_box):
    srv.directory("datasets")
    srv.write("license.txt", "words")
    box = new_box("all")
    box.wrapper = ("/bin/sh", "-c", 'umask 077; exec "$0" "$@"')
    started(box.run())
    modes = [(box.rootfs / path).stat().st_mode & 0o7777
             for path in ("srv", "srv/datasets", "srv/license.txt")]
    assert modes == [0o755, 0o755, 0o644]
