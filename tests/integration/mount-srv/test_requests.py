# SPDX-License-Identifier: Apache-2.0
"""What is asked for, what there is, and what the host allows."""

import re

import pytest

from harness.expect import refused, started


ALLOWED = ("--allow", "datasets,models")
# What is asked for, and options; the status, words of the message, and a word that it has not.
REFUSED = {
    "an unknown one, of which those are listed that there are": (
        "datasets,nonsense", (), 3, ("'nonsense'", "datasets", "models", "x_rw"), ".secret"),
    "an unknown one, of which those are listed that are allowed": ("nonsense", ("--allow", "datasets"), None, (), "models"),
    **{f"not allowed: {value}": (value, ALLOWED, 5, ("'x_rw'",), ".secret")
       for value in ("x_rw", "datasets,x_rw", "x_rw:ro")},
    **{f"not the name of an entry: {name!r}": (name, (), None, (), ".secret") for name in (
        "..", ".", "/", "/etc", "../etc", "datasets/", "datasets/deep", "datasets/../../etc", "\0", "datasets\0", "data\0sets")},
    **{f"malformed: {value!r}": (value, (), None, (), ".secret") for value in (
        ":ro", "datasets:rw", "datasets:ro:ro", "datasets :ro,", "all,", "*", "data*", "$(id)", "datasets models", "\n", "%n")},
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused(srv, new_box, what):
    value, options, status, words, left_out = REFUSED[what]
    srv.directories("datasets/deep", "models", "x_rw", ".secret")
    assert left_out not in refused(new_box(value, *options).run(), status, *words)


def test_a_named_directory_that_vanished_is_refused(srv, new_box):
    srv.directories("datasets", "models")
    box = new_box("datasets,models", "--allow", "datasets,models")
    assert started(box.run("ls /srv")) == "datasets\nmodels\n"
    (srv / "models/words").unlink()
    (srv / "models").rmdir()
    refused(box.run(), 3, "models")


def test_a_long_value_is_refused_or_understood(srv, new_box):
    srv.directory("datasets")
    assert started(new_box(",".join(["datasets"] * 500)).run("ls /srv")) == "datasets\n"
    refused(new_box("n" * 100000).run())


def test_messages_escape_what_is_not_text(srv, new_box):
    srv.directory("datasets")
    message = refused(new_box("a\x1b[31m\tb\nc").run())
    assert message.isprintable(), message


@pytest.mark.parametrize("request_value", ["datasets", "datasets:ro", "datasets,models"])
def test_what_the_host_allows_is_given(srv, new_box, request_value):
    srv.directories("datasets", "models", "x_rw")
    seen = started(new_box(request_value, "--allow", "datasets,models").run("ls /srv"))
    assert seen.split()[0] == "datasets"


def test_all_is_all_that_the_host_allows(srv, new_box, host, scratch):
    (scratch / "dev").mkdir()
    log = host.syslog(scratch / "dev")
    srv.directories("datasets", "models", "x_rw")
    seen = started(new_box("all", "--allow", "models,datasets,notyet").run("ls /srv"))
    assert seen == "datasets\nmodels\n"
    line = log.recv(4096).decode()
    assert line.startswith("<28>") and f"--allow names what '{srv}' does not have: 'notyet'" in line, line


def test_all_without_a_source_directory_starts_with_a_warning(srv, new_box, host, scratch):
    (scratch / "dev").mkdir()
    log = host.syslog(scratch / "dev")
    srv.path.rmdir()
    assert started(new_box("all").run("ls -d /srv || echo nothing")) == "nothing\n"
    line = log.recv(4096).decode()
    # Facility daemon (3), priority warning (4).
    assert line.startswith("<28>") and f"'{srv}' does not exist" in line, line


def test_a_name_without_a_source_directory_is_refused(srv, new_box):
    srv.path.rmdir()
    refused(new_box("datasets").run(), None, str(srv))


def test_all_of_an_empty_source_directory_is_nothing_to_do(srv, new_box):
    assert list(srv.path.iterdir()) == []
    started(new_box("all").run())


def test_the_message_also_goes_to_syslog(srv, new_box, host, scratch):
    (scratch / "dev").mkdir()
    log = host.syslog(scratch / "dev")
    srv.directory("datasets")
    result = new_box("nonsense").run()
    message = refused(result, 3)
    line = log.recv(4096).decode()
    # Facility daemon (3), priority err (3), and no time: whoever receives it knows that.
    assert re.fullmatch(r"<27>mount-srv\[\d+\]: " + re.escape(message.split("mount-srv: ", 1)[1]), line), (line, message)


@pytest.mark.parametrize("options", [
    ["--nonsense"], ["--writable", "sometimes"], ["--opt-in", "never"], ["--log-level", "loud"],
    ["operand"], ["--target-dir", "relative"], ["--target-dir", ""], ["--request"],
])
def test_a_bad_option_is_refused(srv, new_box, options):
    """A mistake of the host stops the container; it does not start silently without its data."""
    srv.directory("datasets")
    result = new_box("all", *options).run()
    assert result.code != 0 and result.out == "" and result.hook_status == 2, result.err
    assert result.hook_message.startswith("mount-srv: "), result.err


def test_a_second_run_changes_nothing(srv, new_box, host):
    srv.directories("datasets/live", "x_rw")
    srv.write("license.txt", "words")
    host.mount("-t", "tmpfs", "tmpfs", srv / "datasets/live")
    once, twice = new_box("all"), new_box("all")
    twice.times = 3
    assert twice.mounts() == once.mounts() != []


def test_a_second_run_after_others_changes_nothing(srv, new_box):
    """An engine that runs prestart and createRuntime hooks, with different requests."""
    srv.directories("datasets", "models")
    box = new_box("all")
    box.times = 2
    box.first = [box.hook.entry(["--source-dir", srv, "--allow", "models"])]
    assert [mount.point for mount in box.mounts()] == ["/srv/models", "/srv/datasets"]
