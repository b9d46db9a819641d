# SPDX-License-Identifier: Apache-2.0
"""Containers with a user namespace of their own: whom things belong to, and who may write."""

import os

import pytest

from harness import engines
from harness.engines import MAP, ROOT
from harness.expect import refused, started
from harness.turns import in_turns

LARGEST = 4294967294
# Concourse's: the container's root is the highest id of the host, all others are the same on both sides.
CONCOURSE = ((0, LARGEST, 1), (1, 1, LARGEST - 1))


@pytest.fixture(name="files")
def files_fixture(srv):
    """A directory and a plain file, to which the hook makes two kinds of placeholders."""
    srv.directory("datasets")
    srv.write("license.txt", "words\n")
    return srv


def give(path, uid, gid=None):
    for each in [path, *path.rglob("*")]:
        os.lchown(each, uid, uid if gid is None else gid)


def with_power_over_files(box):
    """What engines give the container's root; `runc spec` does not."""
    box.add_capability("CAP_DAC_OVERRIDE")
    return box


def owners(directory):
    return {(path.lstat().st_uid, path.lstat().st_gid) for path in [directory, *directory.iterdir()]}


@pytest.mark.usefixtures("files")
@in_turns("image_of", [0, ROOT, 4711], "engine", among=engines.MAPPED)
def test_placeholders_belong_to_the_containers_root(engine_box, engine, image_of):
    """Whoever owns the image's root directory: host root, the container's root, or anyone else."""
    box = engine_box(engine, "all")
    give(box.rootfs, image_of)
    started(box.run())
    assert owners(box.rootfs / "srv") == {(ROOT, ROOT)}


@pytest.mark.usefixtures("files")
@in_turns("image_of", [0, 4711], "engine", among=engines.MAPPED)
def test_in_a_srv_of_another_owner_they_belong_to_the_containers_root(engine_box, engine, image_of):
    box = engine_box(engine, "all")
    (box.rootfs / "srv").mkdir()
    os.chown(box.rootfs / "srv", image_of, image_of)
    started(box.run())
    assert owners(box.rootfs / "srv") == {(image_of, image_of), (ROOT, ROOT)}


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("engine", engines.MAPPED_PODMANS, ids=str)
def test_placeholders_belong_to_the_containers_root_under_podman(engine_box, engine):
    box = engine_box(engine, "all")
    started(box.run())
    assert owners(box.rootfs / "srv") == {(ROOT, ROOT)}


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("engine", engines.MAPPED + engines.MAPPED_PODMANS, ids=str)
def test_they_are_made_on_a_tmpfs_of_the_container(engine_box, engine):
    """There the kernel refuses the host's root with EOVERFLOW. A bind of the tmpfs alone shows what
    the mounts are on."""
    box = engine_box(engine, "all")
    for name in ("srv", "tmp/look"):
        (box.rootfs / name).mkdir()
    box.tmpfs("/srv")
    box.add_capability("CAP_SYS_ADMIN")
    script = ("cat /srv/license.txt; mkdir /srv/mine;"
              " mount --bind /srv /tmp/look && stat -c '%n %u:%g %s' /tmp/look/license.txt")
    assert started(box.run(script)) == "words\n/tmp/look/license.txt 0:0 0\n"


@pytest.mark.parametrize("engine", engines.MAPPED + engines.MAPPED_PODMANS, ids=str)
def test_mapped_owners_can_write_and_the_host_sees_its_own(srv, engine_box, engine):
    give(srv.directory("x_rw"), 4711, 4712)
    box = with_power_over_files(engine_box(engine, "all", "--idmap"))
    script = "cd /srv/x_rw; stat -c %u:%g . words; echo new > words; touch mine; mkdir directory"
    assert started(box.run(script)) == "4711:4712\n4711:4712\n"
    seen = {path.name: (path.stat().st_uid, path.stat().st_gid)
            for path in [srv / "x_rw", *(srv / "x_rw").iterdir()]}
    assert seen == {"x_rw": (4711, 4712), "words": (4711, 4712),
                    "mine": (0, 0), "directory": (0, 0)}
    assert (srv / "x_rw/words").read_text() == "new\n"


@pytest.mark.parametrize("engine", engines.MAPPED, ids=str)
def test_a_user_of_the_container_writes_what_is_its_own(srv, engine_box, engine):
    """Owned by the host's uid N is owned by N inside, for those who are not root as well."""
    give(srv.directory("x_rw"), 1000)
    srv.directory("y_rw")
    box = engine_box(engine, "all", "--idmap")
    box.config["process"]["user"] = {"uid": 1000, "gid": 1000}
    box.config["process"]["capabilities"] = {}
    result = box.run("touch /srv/x_rw/mine; touch /srv/y_rw/mine; true")
    started(result)
    assert "/srv/y_rw/mine: Permission denied" in result.err
    assert (srv / "x_rw/mine").stat().st_uid == 1000 and not (srv / "y_rw/mine").exists()


@pytest.mark.parametrize("engine", engines.MAPPED, ids=str)
def test_only_writable_directories_are_mapped(srv, engine_box, engine):
    """In those that are read-only there is nothing to gain by it."""
    srv.directories("datasets", "x_rw")
    box = engine_box(engine, "all", "--idmap")
    assert started(box.run("stat -c %u /srv/datasets /srv/x_rw")) == "65534\n0\n"
    box = engine_box(engine, "x_rw:ro", "--idmap")
    assert started(box.run("stat -c %u /srv/x_rw")) == "65534\n"


@pytest.mark.parametrize("engine", engines.RUNTIMES, ids=str)
def test_without_a_user_namespace_there_is_nothing_to_map(srv, engine_box, engine):
    give(srv.directory("x_rw"), 4711)
    box = with_power_over_files(engine_box(engine, "all", "--idmap"))
    assert started(box.run("stat -c %u /srv/x_rw; touch /srv/x_rw/mine")) == "4711\n"


@pytest.mark.parametrize("engine", [engines.MAPPED[0], engines.MAPPED_PODMANS[1]], ids=str)
def test_without_the_option_a_warning_names_it(srv, engine_box, engine):
    srv.directory("x_rw")
    result = engine_box(engine, "all").run("touch /srv/x_rw/mine || echo refused")
    assert started(result) == "refused\n"
    assert len(result.said) == 1, result.said
    for word in ("'/srv/x_rw'", "uid 0", "--idmap"):
        assert word in result.said[0], result.said


@pytest.mark.parametrize("engine", engines.MAPPED[1:], ids=str)
def test_no_warning_where_there_is_nothing_to_warn_of(srv, engine_box, engine):
    """Read-only; of the container's own root; open to all; mapped."""
    srv.directories("datasets", "x_rw", "y_rw")
    give(srv / "x_rw", ROOT)
    (srv / "y_rw").chmod(0o777)
    result = engine_box(engine, "all").run("touch /srv/x_rw/mine /srv/y_rw/mine")
    started(result)
    assert result.said == ()
    assert engine_box(engine, "all", "--idmap").run().said == ()


@in_turns("kind", ["ramfs", "overlay", "below"], "engine", among=engines.MAPPED)
def test_a_filesystem_that_cannot_be_mapped_is_told(srv, journal_host, scratch, engine_box, engine,
                                                    kind):
    """Also where it is mounted somewhere below the directory. Nothing is left in the image."""
    srv.directory("x_rw/below")
    for layer in ("upper", "work"):
        (scratch / layer).mkdir()
    if kind == "overlay":
        journal_host.mount("-t", "overlay", "-o", f"lowerdir={srv / 'x_rw'},"
                           f"upperdir={scratch}/upper,workdir={scratch}/work", "overlay",
                           srv / "x_rw")
    else:
        journal_host.mount("-t", "ramfs", "ramfs",
                           srv / ("x_rw/below" if kind == "below" else "x_rw"))
    box = engine_box(engine, "all", "--idmap")
    message = refused(box.run(), 6, "'" + str(srv / "x_rw") + "'", "--idmap")
    assert "filesystem" in message
    assert not (box.rootfs / "srv").exists()
    # Without the option it is given like any other.
    started(engine_box(engine, "all").run("ls /srv/x_rw"))


@in_turns("options", [((),), (("--idmap",),)], "engine", among=engines.RUNTIMES)
def test_concourses_map(srv, engine_box, engine, options):
    """Its root has no number in common with the owner of the host's directories."""
    srv.directories("datasets", "x_rw", "y_rw")
    give(srv / "y_rw", 1000)
    box = with_power_over_files(engine_box(engine, "all", *options))
    give(box.rootfs, LARGEST)
    box.map_ids(*CONCOURSE)
    result = box.run("cat /srv/datasets/words; stat -c %u /srv/y_rw; touch /srv/x_rw/mine &&"
                     " echo written; touch /srv/y_rw/mine && echo written; true")
    assert started(result) == "words of datasets\n1000\n" + (
        "written\nwritten\n" if options else "written\n"), result.err
    assert owners(box.rootfs / "srv") == {(LARGEST, LARGEST)}
    assert [("'/srv/x_rw'" in line) for line in result.said] == ([] if options else [True])


def test_the_map_of_these_tests_has_no_number_of_the_hosts(srv):
    assert MAP[0] == 0 and srv.directory("x").stat().st_uid < ROOT
