# SPDX-License-Identifier: Apache-2.0
"""CVE-2025-23266: an image's own environment makes the loader put the image's library into a hook that
runs as the host's root. A static hook has no loader."""

import json
import os
import subprocess

import pytest

from harness import engines
from harness.expect import started
from harness.turns import in_turns

# Whatever loads it leaves a mark, in its working directory, on the host, and where the test looks.
LIBRARY = r"""
#include <fcntl.h>
#include <unistd.h>

__attribute__((constructor)) static void loaded(void)
{
    static const char *const marks[] = {"loaded", "MARK"};
    for (int i = 0; i < 2; ++i)
        close(open(marks[i], O_CREAT | O_WRONLY, 0666));
}
"""
WAYS = ("/proc/self/cwd/evil.so", "./evil.so", "/evil.so")
VARIABLES = ("LD_PRELOAD", "LD_AUDIT")


@pytest.fixture(name="mark")
def mark_fixture(scratch):
    """Where the library leaves its mark, whatever root and directory it runs with on the host."""
    directory = scratch / "marks"
    directory.mkdir()
    directory.chmod(0o777)
    return directory / "mark"


@pytest.fixture(name="library")
def library_fixture(scratch, mark):
    (scratch / "evil.c").write_text(LIBRARY.replace("MARK", str(mark)), encoding="ascii")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", scratch / "evil.so", scratch / "evil.c"],
                   check=True)
    return scratch / "evil.so"


def infect(box, library, way):
    """The image has the library at its root, and its environment names it."""
    (box.rootfs / "evil.so").write_bytes(library.read_bytes())
    (box.rootfs / "evil.so").chmod(0o755)
    for variable in VARIABLES:
        box.environment(f"{variable}={way}")


def untouched(box, mark):
    return not mark.exists() and not [*box.bundle.directory.rglob("loaded")]


def test_the_library_leaves_its_mark(library, mark, scratch):
    """Else the others prove nothing."""
    subprocess.run(["/bin/true"], env={"LD_PRELOAD": str(library)}, cwd=scratch, check=True)
    assert mark.exists() and (scratch / "loaded").exists()


@pytest.mark.parametrize("engine", [engines.ALL[0], engines.ALL[2], engines.ALL[5], engines.ALL[7]], ids=str)
def test_cve_2025_23266_at_create_runtime(srv, engine_box, library, mark, engine):
    srv.directory("datasets")
    for no_env in (False, True):
        box = engine_box(engine, "all")
        box.no_env = no_env
        infect(box, library, WAYS[0])
        assert started(box.run("cat /srv/datasets/words")) == "words of datasets\n"
        assert untouched(box, mark)


@in_turns("way", [*WAYS, WAYS[0]], "engine", among=engines.RUNTIMES + engines.MAPPED)
def test_cve_2025_23266_at_create_container(srv, engine_box, library, mark, engine, way):
    """Where runc before 1.3 gives a hook without `env` the container's environment, with the image's
    root for its working directory. The hook has no business there and says so."""
    srv.directory("datasets")
    for no_env in (False, True):
        box = engine_box(engine, "all")
        box.stage, box.no_env = "createContainer", no_env
        infect(box, library, way)
        result = box.run()
        assert result.code != 0 and result.out == "" and result.hook_status == 1, result.err
        assert untouched(box, mark)


@pytest.mark.parametrize("engine", engines.PODMANS, ids=str)
def test_cve_2025_23266_at_create_container_under_podman(srv, engine_box, library, mark, engine):
    srv.directory("datasets")
    box = engine_box(engine, "all")
    box.stage, box.no_env = "createContainer", True
    infect(box, library, WAYS[0])
    result = box.run()
    assert result.code != 0 and result.out == "" and result.hook_status == 1, result.err
    assert untouched(box, mark)


def test_cve_2025_23266_every_installed_file_has_an_environment(built):
    """An empty list is lost when Go programs write the entry again."""
    files = [*(built / "oci-hooks.d").glob("*.json")]
    assert files
    for path in files:
        assert json.loads(path.read_text(encoding="utf-8"))["hook"]["env"], path


def test_cve_2025_23266_the_callers_environment_is_not_used(srv, engine_box, library, mark):
    """An engine that was itself started with it hands it on to a hook without `env`."""
    srv.directory("datasets")
    box = engine_box(engines.RUNTIMES[0], "all")
    box.no_env = True
    infect(box, library, "/evil.so")
    box.wrapper = ("/usr/bin/env", f"LD_PRELOAD={library}", f"LD_LIBRARY_PATH={library.parent}")
    assert started(box.run("cat /srv/datasets/words")) == "words of datasets\n"
    assert untouched(box, mark) and os.path.exists(library)
