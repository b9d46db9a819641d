# SPDX-License-Identifier: Apache-2.0
"""What the tests of the archive share: to compress it takes ten seconds."""

import subprocess
from pathlib import Path

import pytest

SOURCE_ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(name="archive", scope="session")
def archive_fixture(build_root, tmp_path_factory):
    done = subprocess.run([SOURCE_ROOT / "packaging/tarball", "--build", build_root, tmp_path_factory.mktemp("output")],
                          check=True, capture_output=True, text=True)
    return Path(done.stdout.splitlines()[0])
