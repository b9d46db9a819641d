# SPDX-License-Identifier: Apache-2.0
"""The same under runc, crun and podman, with and without a user namespace: what one container sees,
all see."""

import pytest

from harness import engines
from harness.expect import refused, refused_by, started
from harness.hooks_d import HookFile

# podman takes longest, and where it makes no difference one of each kind is enough.
FEW = [*engines.RUNTIMES, *engines.MAPPED, engines.PODMANS[0], engines.MAPPED_PODMANS[1]]
READ = "cat /srv/datasets/words /srv/datasets/live/words"
WORDS = "words of datasets\nwords of live\n"


@pytest.fixture(name="directories")
def directories_fixture(srv, journal_host):
    """Read-only, with a mount below; writable, with a read-only mount below; and a plain file."""
    srv.directories("datasets", "x_rw")
    srv.write("license.txt", "words\n")
    for name, options in (("datasets/live", "mode=755"), ("x_rw/fixed", "ro,noexec")):
        (srv / name).mkdir()
        journal_host.mount("-t", "tmpfs", "-o", options, "memory", srv / name)
    journal_host.run(["sh", "-c", 'echo words of live > "$0/words"', srv / "datasets/live"])
    return srv


def described(mounts):
    """All of a mount that must not depend on the engine."""
    return [(m.point, m.root, sorted(m.options), m.propagation, m.fstype, m.source) for m in mounts]


@pytest.mark.parametrize("engine", engines.ALL, ids=str)
def test_every_engine_gives_the_same_mounts(directories, engine_box, engine):
    """Down to the last flag, as a container by runc without a user namespace has them."""
    expected = described(engine_box(engines.RUNTIMES[0], "all").mounts())
    assert [(point, "ro" in options) for point, _, options, *_ in expected] == [
        ("/srv/datasets", True), ("/srv/datasets/live", True), ("/srv/license.txt", True),
        ("/srv/x_rw", False), ("/srv/x_rw/fixed", True)], directories
    assert all({"nosuid", "nodev"} <= set(options)
               for _, _, options, *_ in expected)
    assert described(engine_box(engine, "all").mounts()) == expected


@pytest.mark.usefixtures("directories")
@pytest.mark.parametrize("engine", [FEW[0], FEW[3], FEW[4]], ids=str)
def test_a_second_run_changes_nothing(engine_box, engine):
    """podman takes the hook once from each file of hooks.d."""
    box = engine_box(engine, "all")
    box.times = 2
    assert len(box.mounts()) == 5


@pytest.mark.usefixtures("directories")
@pytest.mark.parametrize("engine", [FEW[0], FEW[3], FEW[4]], ids=str)
def test_reads_and_is_refused_to_write(engine_box, engine):
    result = engine_box(engine, "all").run(f"{READ}; echo x > /srv/datasets/words;"
                                           " echo x > /srv/datasets/live/words; true")
    assert started(result) == WORDS
    assert result.err.count("Read-only file system") == 2, result.err


@pytest.mark.usefixtures("directories")
@pytest.mark.parametrize("engine", [FEW[0], FEW[3], FEW[4]], ids=str)
def test_nothing_without_the_annotation(engine_box, engine):
    assert started(engine_box(engine).run("ls -A /srv 2>/dev/null; echo none")) == "none\n"


@pytest.mark.usefixtures("directories")
@pytest.mark.parametrize("engine", engines.ALL, ids=str)
def test_a_refusal_reaches_syslog_and_the_container_does_not_start(engine_box, engine):
    """crun shows its caller the number alone."""
    message = refused(engine_box(engine, "datasets,nonsense").run(), 3, "'nonsense'")
    assert "'datasets'" in message


@pytest.mark.parametrize("engine", FEW, ids=str)
def test_a_misspelt_key_stops_the_container(built, engine_box, engine):
    """Because `when` of ldcache-update's file, as podman itself reads it, matches any key of ours."""
    box = engine_box(engine)
    box.hook = HookFile(built / "oci-hooks.d/90-ldcache-update.json", built / "hooks/ldcache-update/ldcache-update")
    box.args = []
    box.annotations["io.oci-gpu-hooks.mountsrv"] = "all"
    refused_by("ldcache-update", box.run(), 2, "mountsrv")


@pytest.mark.usefixtures("directories")
@pytest.mark.parametrize("engine", [e for e in engines.ALL if not e.podman], ids=str)
def test_a_read_only_root_is_no_obstacle(engine_box, engine):
    box = engine_box(engine, "all")
    box.config["root"]["readonly"] = True
    assert started(box.run(READ)) == WORDS


@pytest.mark.usefixtures("directories")
@pytest.mark.parametrize("engine", FEW[-2:], ids=str)
def test_a_read_only_root_of_podman_is_no_obstacle(engine_box, engine):
    box = engine_box(engine, "all")
    box.options.append("--read-only")
    assert started(box.run(READ)) == WORDS
