# SPDX-License-Identifier: Apache-2.0
"""Entries of the source directory: links, mounts below, names of every kind, many of them."""

import os
import subprocess

import pytest

from harness.expect import refused, started

ODD_NAMES = [
    b"with space", b"quo\"te's", b"new\nline", b"tab\tbell\a", b"back\\slash", b"\xff\xfe", b"\xc3",
    "gr\u00fc\u00dfe \u2603".encode(), b"com,ma", b"colon:ro", b"-dash", b"*", b"$(reboot)", b"%s%n", b"#",
    b"n" * 255,
]


def test_what_is_mounted_when_somebody_needs_it_is(scratch, executable):
    """As by autofs: tracefs in debugfs, which a walk by O_PATH alone passes by."""
    (scratch / "debug").mkdir()
    subprocess.run(["mount", "-t", "debugfs", "debug", scratch / "debug"], check=True)
    try:
        done = subprocess.run([executable, "--source-dir", scratch / "debug/tracing/events", "--list"], check=False,
                              capture_output=True, encoding="utf-8")
    finally:
        subprocess.run(["umount", "-l", scratch / "debug"], check=True)
    assert (done.returncode, done.stderr) == (0, "") and "\nsched " in done.stdout


@pytest.mark.parametrize("absolute", [False, True])
def test_a_link_is_followed_on_the_host(srv, scratch, new_box, absolute):
    (scratch / "elsewhere/data").mkdir(parents=True)
    (scratch / "elsewhere/data/words").write_text("from elsewhere\n")
    srv.link("data", scratch / "elsewhere/data" if absolute else "../elsewhere/data")
    box = new_box("all")
    assert started(box.run("cat /srv/data/words; test -L /srv/data || echo directory")) == (
        "from elsewhere\ndirectory\n")
    assert ["ro" in m.options for m in box.mounts()] == [True]


def test_a_chain_of_links_is_followed_on_the_host(srv, scratch, new_box):
    (scratch / "elsewhere").mkdir()
    (scratch / "elsewhere/words").write_text("the end\n")
    (scratch / "hop").symlink_to("elsewhere")
    srv.link("data", scratch / "hop")
    srv.link("words.txt", "data/words")
    assert started(new_box("data,words.txt").run("cat /srv/data/words /srv/words.txt")) == (
        "the end\nthe end\n")


def plant_links(srv, scratch):
    """Links whose way leads through a directory that containers may write."""
    srv.directory("datasets")
    srv.directory("outputs_writable/inside")
    (scratch / "secret").mkdir()
    (srv / "outputs_writable/out").symlink_to(scratch / "secret")
    (scratch / "hop").symlink_to(srv / "outputs_writable/inside")
    srv.link("direct", "outputs_writable/inside")
    srv.link("absolute", srv / "outputs_writable/inside")
    srv.link("chain", scratch / "hop")
    srv.link("links", "direct")
    srv.link("dotdot", "outputs_writable/../datasets")
    srv.link("deeper", "outputs_writable/inside/../../datasets")
    srv.link("planted", "outputs_writable/out")
    (scratch / "home/deep").mkdir(parents=True)
    srv.link("home_rw", "../home")
    srv.link("behind", scratch / "home/deep")


@pytest.mark.parametrize("name", ["direct", "absolute", "chain", "links", "dotdot", "deeper",
                                  "planted", "behind"])
def test_a_link_through_a_writable_directory_is_refused(srv, scratch, new_box, name):
    plant_links(srv, scratch)
    refused(new_box(name).run(), None, name)


def test_all_gives_no_link_through_a_writable_directory(srv, scratch, new_box):
    """It leaves those out."""
    plant_links(srv, scratch)
    assert started(new_box("all").run("cd /srv; ls")) == "datasets\nhome_rw\noutputs_writable\n"


def test_a_link_through_a_writable_directory_elsewhere_is_refused(srv, scratch, new_box, host):
    """The directory that may be written is itself reached by another name: a bind mount of it."""
    srv.directory("outputs_rw/inside")
    (scratch / "alias").mkdir()
    host.mount("--bind", srv / "outputs_rw", scratch / "alias")
    srv.link("data", scratch / "alias/inside")
    refused(new_box("data").run(), None, "data")


def test_the_source_directory_may_be_a_link(srv, scratch, new_box):
    srv.directory("datasets")
    (scratch / "link").symlink_to("source")
    box = new_box("all")
    box.args = ["--source-dir", scratch / "link"]
    assert started(box.run("cat /srv/datasets/words")) == "words of datasets\n"


def test_a_dangling_link_is_refused_by_name(srv, new_box):
    srv.link("data", "nowhere")
    refused(new_box("data").run(), None, "data")


def test_a_loop_of_links_is_refused_by_name(srv, new_box):
    srv.link("one", "two")
    srv.link("two", "one")
    refused(new_box("one").run(), None, "one")


def test_a_mount_below_is_carried_along(srv, host, scratch, new_box):
    srv.directory("datasets/live")
    (scratch / "disk").mkdir()
    (scratch / "disk/words").write_text("on another disk\n")
    host.mount("--bind", scratch / "disk", srv / "datasets/live")
    assert started(new_box("datasets").run("cat /srv/datasets/live/words")) == "on another disk\n"


def test_a_source_entry_that_is_a_mount_itself(srv, host, new_box):
    (srv / "x_rw").mkdir()
    host.mount("-t", "tmpfs", "tmpfs", srv / "x_rw")
    started(new_box("x_rw").run("echo words > /srv/x_rw/words"))
    assert host.run(["cat", srv / "x_rw/words"]).stdout == "words\n"


def test_a_fifo_socket_or_device_is_not_given(srv, new_box):
    """And nothing opens them: a fifo without a writer would hang the hook."""
    os.mkfifo(srv / "fifo")
    os.mknod(srv / "null", 0o020666, os.makedev(1, 3))
    srv.directory("datasets")
    for name in ("fifo", "null"):
        refused(new_box(name).run(), None, name)
    assert started(new_box("all").run("ls /srv")) == "datasets\n"


def test_names_of_any_bytes_are_given_by_all(srv, new_box):
    for name in ODD_NAMES:
        directory = os.fsencode(srv) + b"/" + name
        os.mkdir(directory)
        with open(directory + b"/words", "wb") as file:
            file.write(name.hex().encode() + b"\n")
    box = new_box("all")
    seen = started(box.run("cd /srv; for name in *; do cat ./\"$name\"/words; done"))
    assert sorted(seen.split()) == sorted(name.hex() for name in ODD_NAMES)
    made = os.listdir(os.fsencode(box.rootfs / "srv"))
    assert sorted(made) == sorted(ODD_NAMES)


def test_odd_names_can_be_asked_for_one_by_one(srv, new_box):
    names = ["with space", "quo\"te's", "gr\u00fc\u00dfe", "back\\slash", "$(reboot)"]
    for name in names:
        srv.directory(name)
    assert started(new_box(",".join(names)).run("ls /srv | wc -l")) == f"{len(names)}\n"


def test_a_thousand_directories(srv, new_box):
    for number in range(1000):
        srv.directory(f"directory-{number:04}", f"{number}\n")
    box = new_box("all")
    seen = started(box.run("cd /srv; cat */words; grep -c ' /srv/' /proc/self/mountinfo"))
    assert seen.split() == [str(number) for number in range(1000)] + ["1000"]
