# SPDX-License-Identifier: Apache-2.0
"""A caller that does not listen: SIGPIPE must not end the hook half-way, and its exit code counts."""

import os
import subprocess

import pytest

from harness import engines
from harness.expect import started


def broken_pipe():
    """The end for writing of a pipe that nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    return writer


@pytest.mark.parametrize("options, status", [(["--nonsense"], 2), (["--plan"], 2)])
def test_a_closed_stderr_does_not_change_the_exit_code(executable, options, status):
    end = broken_pipe()
    process = subprocess.run([executable, *options], stdin=subprocess.DEVNULL, stderr=end, check=False)
    os.close(end)
    assert process.returncode == status


def test_a_closed_stdout_is_an_error_that_is_told(executable):
    end = broken_pipe()
    process = subprocess.run([executable, "--plan", "--request", "all"], stdin=subprocess.DEVNULL,
                             stdout=end, stderr=subprocess.PIPE, encoding="utf-8", check=False)
    os.close(end)
    assert process.returncode == 1
    assert process.stderr.startswith("mount-srv: cannot write to stdout")


@pytest.mark.parametrize("engine", engines.RUNTIMES, ids=str)
def test_a_warning_that_nobody_reads_stops_nothing(srv, engine_box, engine):
    srv.directory("datasets")
    srv.link("broken", "/nowhere/at/all")
    box = engine_box(engine, "all")
    box.wrapper = ("/usr/bin/python3", "-c", "import os,sys; r,w=os.pipe(); os.close(r);"
                   " os.dup2(w,1); os.dup2(w,2); os.execv(sys.argv[1], sys.argv[1:])")
    result = box.run("cat /srv/datasets/words")
    assert started(result) == "words of datasets\n"
    assert [line for line in result.said if "'broken' is left out" in line], result.said
