# SPDX-License-Identifier: Apache-2.0
"""podman without root: the hook runs in podman's user namespace, as its root, who is an ordinary user of
the host. What that user may read can be given; nothing else can."""

import os

import pytest

from harness.box import KEY
from harness.bundle import Bundle
from harness.expect import refused, started
from harness.host import Host
from harness.rootless import UID, RootlessBox, RootlessPodman, add_user


@pytest.fixture(name="host")
def host_fixture(scratch):
    if os.geteuid() != 0:
        pytest.skip("needs root")
    host = Host("v2")
    (scratch / "dev").mkdir()
    host.keep_journal(scratch / "dev")
    os.chmod(host.path("/dev/log"), 0o666)
    add_user(host, scratch)
    yield host
    try:
        host.check()
    finally:
        host.close()


@pytest.fixture(name="box")
def box_fixture(host, srv, hook, scratch):
    srv.directories("datasets", "x_rw")
    os.chown(srv / "x_rw", UID, UID)
    podman = RootlessPodman(scratch / "podman")
    yield RootlessBox(host, podman, Bundle(scratch / "box"), hook, ["--source-dir", srv], "all")
    podman.clean(host)


def test_directories_are_given_as_far_as_the_user_may_use_them(box, srv):
    srv.directory("private").chmod(0o700)
    result = box.run("cat /srv/datasets/words; echo x > /srv/datasets/words; touch /srv/x_rw/mine;"
                     " cat /srv/private/words; true")
    assert started(result) == "words of datasets\n"
    assert "/srv/datasets/words: Read-only file system" in result.err
    assert "/srv/private/words': Permission denied" in result.err
    assert (srv / "x_rw/mine").stat().st_uid == UID


def test_what_there_is_not_is_refused(box):
    box.annotations[KEY] = "nonsense"
    refused(box.run(), 3, "'nonsense'", "'datasets'")
