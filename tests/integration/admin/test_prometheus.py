# SPDX-License-Identifier: Apache-2.0
"""What `metrics` prints is what Prometheus' own programs take, those of Debian."""

import re
import socket
import subprocess
import urllib.request

import pytest
from hosts import nvidia

from harness.host import LIMIT_S
from harness.leases import write_counts
from harness.stopped import wait_until

pytest_plugins = ["harness.admin_fixtures"]


@pytest.fixture(name="metrics")
def metrics_fixture(command, installed_host, tmp_path):
    """A file of them, in a directory of its own: two GPUs, of which one is drained, and something counted of each kind."""
    other = nvidia.NvidiaHost(tmp_path / "gpus", nvidia.TWO, numbers=nvidia.UNUSED)
    subprocess.run(["cp", "-a", f"{other}/.", installed_host.path], check=True)
    write_counts(installed_host.path, {"grants": 1, "takeovers": 2, "revocations": 3, "waited_ns": 4,
                                       "waits": [*range(5, 12)], "device_ns": [12, 13, 14]},
                 {"nvidia-devices": [*range(15, 22)]})
    done = command.run("metrics")
    assert (done.returncode, done.stderr) == (0, "")
    file = tmp_path / "textfile/oci-gpu-hooks.prom"
    file.parent.mkdir()
    file.write_text(done.stdout, encoding="ascii")
    return file


def samples(lines):
    """Each by its name and its labels, which the exporter sorts."""
    return {tuple(sorted(re.split("[{,}]", line.rpartition(" ")[0]))) for line in lines if line[0] != "#"}


def test_promtool(metrics):
    done = subprocess.run(["promtool", "check", "metrics"], input=metrics.read_text(encoding="ascii"), check=False,
                          capture_output=True, text=True, timeout=LIMIT_S)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    subprocess.run(["promtool", "check", "rules", "examples/prometheus/rules.yml"], check=True, timeout=LIMIT_S,
                   stdout=subprocess.DEVNULL)


def test_node_exporter(metrics):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    process = subprocess.Popen(
        ["prometheus-node-exporter", "--collector.disable-defaults", "--collector.textfile",
         f"--collector.textfile.directory={metrics.parent}", f"--web.listen-address={address}"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    pages = []

    def is_there():
        try:
            with urllib.request.urlopen(f"http://{address}/metrics", timeout=LIMIT_S) as answer:
                pages.append(answer.read().decode())
        except OSError:
            return False
        return True

    try:
        wait_until(is_there, "node_exporter does not answer", process)
    finally:
        process.kill()
        process.wait()
    lines = pages[0].splitlines()
    assert "node_textfile_scrape_error 0" in lines
    assert samples(metrics.read_text(encoding="ascii").splitlines()) <= samples(lines)
