# SPDX-License-Identifier: Apache-2.0
"""What a container may do with what it was given, and with what flags it is mounted."""

import os
import stat

from harness.expect import refused, started
from harness.source import tree

TRY_TO_WRITE = """
at=$1
touch $at/new && echo created
echo x > $at/words && echo overwritten
rm $at/words && echo removed
chmod 777 $at && echo changed
true
"""


def try_to_write(*directories):
    """A script that tries each way of writing in each directory and prints what worked."""
    return "\n".join(f"set -- {directory}\n{TRY_TO_WRITE}" for directory in directories)


def test_all_lists_and_reads(srv, new_box):
    srv.directories("datasets", "models", "outputs_writable")
    seen = started(new_box("all").run("ls /srv; cat /srv/*/words"))
    assert seen.split("\n")[:3] == ["datasets", "models", "outputs_writable"]
    assert "words of datasets\nwords of models\nwords of outputs_writable\n" in seen


def test_without_options_it_is_srv_at_srv(srv, host, new_box):
    """The file of hooks.d as it is installed; the host's /srv is in its place for the test."""
    srv.directory("datasets")
    host.mount("--bind", srv, "/srv")
    box = new_box("all")
    box.args = []
    assert started(box.run("cat /srv/datasets/words")) == "words of datasets\n"


def test_only_named_directories_are_given(srv, new_box):
    srv.directories("datasets", "models", "secret")
    seen = started(new_box(" models ,datasets,models").run("ls /srv"))
    assert seen == "datasets\nmodels\n"


def test_read_only_directory_refuses_every_write(srv, new_box):
    srv.directory("datasets")
    before = tree(srv.path)
    result = new_box("all").run(try_to_write("/srv/datasets"))
    assert started(result) == ""
    assert result.err.count("Read-only file system") == 4, result.err
    assert tree(srv.path) == before


def test_read_only_all_the_way_down(srv, host, new_box):
    """A tmpfs mounted below the directory on the host, and one below that."""
    srv.directory("datasets/live/deeper")
    for point in ("datasets/live", "datasets/live/deeper"):
        (srv / point).mkdir(exist_ok=True)
        host.mount("-t", "tmpfs", "tmpfs", srv / point)
        host.run(["sh", "-c", 'mkdir -p "$0/deeper"; echo "words in $0" > "$0/words"', srv / point])
    box = new_box("all")
    result = box.run("cat /srv/datasets/live/words /srv/datasets/live/deeper/words;" +
                     try_to_write("/srv/datasets/live", "/srv/datasets/live/deeper"))
    assert started(result) == f"words in {srv}/datasets/live\nwords in {srv}/datasets/live/deeper\n"
    assert result.err.count("Read-only file system") == 8, result.err
    assert [m.options >= {"ro", "nosuid", "nodev"} for m in box.mounts()] == [True] * 3


def test_writable_directories_can_be_written(srv, new_box):
    srv.directories("outputs_writable", "my_writable_things", "x_rw")
    script = "cd /srv; for at in *; do mkdir $at/new; echo mine > $at/words; rmdir $at/new; done; ls"
    assert started(new_box("all").run(script)) == "my_writable_things\noutputs_writable\nx_rw\n"
    for name in ("outputs_writable", "my_writable_things", "x_rw"):
        assert (srv / name / "words").read_text() == "mine\n"


def test_names_that_only_look_writable_are_read_only(srv, new_box):
    srv.directories("x_rw_old", "rw", "writable", "X_RW", "x_Writable")
    options = {m.point: m.options for m in new_box("all").mounts()}
    assert len(options) == 5 and all("ro" in flags for flags in options.values()), options


def test_ro_suffix_makes_a_writable_directory_read_only(srv, new_box):
    srv.directories("a_rw", "b_rw")
    result = new_box("a_rw:ro,b_rw").run("touch /srv/b_rw/new; touch /srv/a_rw/new; true")
    started(result)
    assert "/srv/a_rw/new: Read-only file system" in result.err
    assert (srv / "b_rw/new").exists() and not (srv / "a_rw/new").exists()


def test_ro_suffix_wins_when_a_name_is_repeated(srv, new_box):
    srv.directory("a_rw")
    for request in ("a_rw:ro,a_rw", "a_rw,a_rw:ro"):
        assert ["ro" in m.options for m in new_box(request).mounts()] == [True]


def test_writable_never_makes_everything_read_only(srv, new_box):
    srv.directories("outputs_writable", "x_rw")
    for request in ("all", "outputs_writable,x_rw"):
        mounts = new_box(request, "--writable", "never").mounts()
        assert ["ro" in m.options for m in mounts] == [True, True]


def test_every_mount_is_nosuid_nodev_and_private(srv, host, new_box):
    """On a host whose mounts are all shared, as systemd has it."""
    srv.directories("datasets/live", "x_rw/live")
    srv.write("license.txt", "words")
    for name in ("datasets", "x_rw"):
        host.mount("-t", "tmpfs", "tmpfs", srv / name / "live")
    mounts = new_box("all").mounts()
    assert [m.point for m in mounts] == [
        "/srv/datasets", "/srv/datasets/live", "/srv/license.txt", "/srv/x_rw", "/srv/x_rw/live"]
    for mount in mounts:
        assert mount.options >= {"nosuid", "nodev"}, mount
        assert mount.propagation == (), mount
        assert ("ro" in mount.options) == ("x_rw" not in mount.point), mount


def test_a_read_only_mount_below_a_writable_directory_stays_read_only(srv, host, new_box):
    srv.directory("x_rw/fixed")
    host.mount("-t", "tmpfs", "-o", "ro,noexec", "tmpfs", srv / "x_rw/fixed")
    box = new_box("x_rw")
    below = [m.options for m in box.mounts() if m.point == "/srv/x_rw/fixed"]
    assert below and below[0] >= {"ro", "noexec", "nosuid", "nodev"}


def test_a_device_node_in_a_directory_cannot_be_opened(srv, new_box):
    srv.directory("x_rw")
    # 1:3, which the device cgroup of every runtime lets through.
    os.mknod(srv / "x_rw/null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    result = new_box("x_rw").run("cat /dev/null && echo own; cat /srv/x_rw/null || echo refused")
    assert started(result) == "own\nrefused\n"


def test_plain_files_are_given_read_only(srv, new_box):
    srv.write("license.txt", "the words\n")
    srv.write("notes_rw", "old\n")
    box = new_box("all")
    result = box.run("cat /srv/license.txt; echo new > /srv/notes_rw; echo x > /srv/license.txt")
    assert result.out == "the words\n" and "Read-only file system" in result.err
    assert (srv / "notes_rw").read_text() == "new\n"
    placeholder = box.rootfs / "srv/license.txt"
    assert placeholder.read_bytes() == b"" and placeholder.stat().st_mode & 0o7777 == 0o644


def test_dot_names_are_left_out(srv, new_box):
    srv.directories("datasets", ".hidden", "..data")
    srv.write(".secret", "words")
    assert started(new_box("all").run("ls -A /srv")) == "datasets\n"
    for name in (".hidden", ".secret", "..data"):
        refused(new_box(name).run(), None, name)


def test_only_an_empty_placeholder_is_left_in_the_image(srv, new_box):
    srv.directory("datasets")
    box = new_box("all")
    started(box.run())
    assert [(p.name, p.stat().st_mode & 0o7777) for p in box.rootfs.glob("srv/**/*")] == [
        ("datasets", 0o755)]


def test_sees_nothing_without_the_annotation(srv, new_box):
    srv.directory("datasets")
    for loader in ("engine", "concourse"):
        box = new_box()
        box.loader = loader
        assert started(box.run("ls -d /srv || echo none")) == "none\n"
