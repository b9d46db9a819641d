# SPDX-License-Identifier: Apache-2.0
"""Images that have something at the place already: each works, or fails in words. Nothing is made,
changed or mounted outside the root."""

import pytest

from harness.expect import refused, started
from harness.source import tree

READ = "cat /srv/datasets/words"
WORDS = "words of datasets\n"
CLIMB = "../" * 13 + ".."


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


@pytest.mark.parametrize("climb", ["", CLIMB])
def test_srv_is_a_link_that_would_lead_out(box, outside, climb):
    """It leads to the directory of that name inside, as it will for the container's programs."""
    target = f"{climb}{outside}/srv"
    (box.rootfs / target.lstrip("./")).mkdir(parents=True)
    (box.rootfs / "srv").symlink_to(target)
    assert started(box.run(READ)) == WORDS


# What the image has, with "-> " in front of where a link leads, and which place is named then.
REFUSED = {
    "a link out to what only the host has": ({"srv": "-> {outside}/srv"}, None, "/srv"),
    "one that climbs": ({"srv": f"-> {CLIMB}{{outside}}/srv"}, None, "/srv"),
    "a dangling link": ({"srv": "-> /nowhere"}, None, "/srv"),
    "a link to itself": ({"srv": "-> srv"}, None, "/srv"),
    "the place is a link out": ({"srv/datasets": "-> {outside}/srv/datasets"}, 1, "datasets"),
    **{f"the place is {target}": ({"srv/datasets": f"-> {target}"}, None, "datasets") for target in ("/", "..")},
    **{target: ({"srv": f"-> {target}"}, None, "/srv") for target in ("/proc/self/root/srv", "/proc/1/root", "/proc/self/cwd")},
    "a file in place of the target directory": ({"srv": "of the image\n"}, None, "/srv"),
    "a file where a directory is needed": ({"srv/datasets": "of the image\n"}, None, "/srv/datasets"),
    "a directory where a file is needed": ({"srv/license.txt/x": "of the image\n"}, None, "/srv/license.txt"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_stays_as_it_was(box, srv, outside, what):
    files, status, place = REFUSED[what]
    srv.write("license.txt", "words")
    for name, content in files.items():
        path = box.rootfs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content.startswith("-> "):
            path.symlink_to(content[3:].format(outside=outside))
        else:
            path.write_text(content)
    before = tree(box.rootfs)
    refused(box.run(READ), status, place)
    assert tree(box.rootfs) == before


def test_files_in_the_image_at_the_place_are_hidden(box):
    (box.rootfs / "srv/datasets").mkdir(parents=True)
    (box.rootfs / "srv/datasets/own").write_text("of the image\n")
    (box.rootfs / "srv/other").write_text("also of the image\n")
    assert started(box.run("ls /srv /srv/datasets")) == (
        "/srv:\ndatasets\nother\n\n/srv/datasets:\nwords\n")
    assert (box.rootfs / "srv/datasets/own").read_text() == "of the image\n"


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
