# SPDX-License-Identifier: Apache-2.0
"""podman's volumes where directories are to be mounted: nothing is made in the host's directory, and the
message says what is in the way."""

import os

import pytest

from harness import engines
from harness.expect import refused, started
from harness.source import tree

READ = "cat /srv/datasets/words"
WORDS = "words of datasets\n"
PODMANS = [engines.PODMANS[0], engines.MAPPED_PODMANS[1]]  # by runc; by crun, with a user namespace


@pytest.fixture(name="volume")
def volume_fixture(scratch):
    volume = scratch / "volume"
    volume.mkdir()
    (volume / "own").write_text("of the volume\n")
    return volume


@pytest.fixture(name="box", params=PODMANS, ids=str)
def box_fixture(request, srv, engine_box):
    srv.directory("datasets")
    return engine_box(request.param, "all")


def names(host, directory):
    """All that there is, but for podman's own lock."""
    seen = host.run(["find", directory, "-xdev", "-not", "-name", "libpod_lock", "-printf", "%p %y %m\n"])
    return sorted(seen.stdout.splitlines())


@pytest.mark.parametrize("options", [(), ("ro",), ("rslave",)], ids=",".join)
def test_nothing_is_made_in_a_volume_at_srv(box, volume, options):
    box.volume("/srv", volume, *options)
    before = tree(volume)
    message = refused(box.run(), 1, "'/srv/datasets'", "volume ('/srv')")
    assert "leave the volume out" in message
    assert tree(volume) == before


def test_a_directory_of_a_volume_at_srv_is_mounted_over(box, volume):
    (volume / "datasets").mkdir()
    box.volume("/srv", volume)
    before = tree(volume)
    assert started(box.run(READ)) == WORDS
    assert tree(volume) == before


def test_a_volume_over_the_directory_itself_is_mounted_over(box, volume):
    """podman makes the place for its volume; what was asked for is what the container finds there."""
    box.volume("/srv/datasets", volume)
    before = tree(volume)
    assert started(box.run(f"{READ}; ls /srv/datasets")) == f"{WORDS}words\n"
    assert tree(volume) == before


def test_a_shared_volume_is_refused(box, volume, journal_host):
    """The mount would appear on the host, too."""
    (volume / "datasets").mkdir()
    journal_host.mount("--bind", volume, volume)
    box.volume("/srv", volume, "rshared")
    before = tree(volume)
    refused(box.run(), 1, "'/srv/datasets'", "shared mount ('/srv')")
    assert tree(volume) == before


def test_the_hosts_dev_as_a_volume_stays_as_it_is(box, journal_host):
    box.volume("/dev", "/dev")
    before = names(journal_host, "/dev")
    assert started(box.run(READ)) == WORDS
    assert names(journal_host, "/dev") == before


def test_nothing_is_made_in_the_hosts_dev(box, journal_host):
    box.volume("/dev", "/dev")
    box.args += ["--target-dir", "/dev/srv"]
    before = names(journal_host, "/dev")
    refused(box.run(), 1, "'/dev/srv'", "volume ('/dev')")
    assert names(journal_host, "/dev") == before


def test_podmans_own_tmpfs_is_no_volume(box, journal_host):
    """/dev without a volume is the container's alone."""
    box.args += ["--target-dir", "/dev/srv"]
    before = names(journal_host, "/dev")
    assert started(box.run("cat /dev/srv/datasets/words")) == WORDS
    assert names(journal_host, "/dev") == before
    assert not os.path.exists(journal_host.path("/dev/srv"))


def test_a_volume_of_podmans_own_is_a_volume(box):
    """A named one lies in podman's storage, which outlives the container."""
    box.options += ["--volume", "things:/srv"]
    refused(box.run(), 1, "'/srv/datasets'", "volume ('/srv')")
