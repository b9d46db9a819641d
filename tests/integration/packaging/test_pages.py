# SPDX-License-Identifier: Apache-2.0
"""What README.md, docs/install.md, docs/try-without-gpu.md and HACKING.md tell people to type, in roots of Debian's releases
that have apt and nothing else.

The tests whose names begin with test_first are what a newcomer does with the sources: tests/run calls them with Debian 12.
"""

import re
import subprocess
from pathlib import Path

import pytest

from harness.debian_host import PROJECT, RELEASES, DebianHost, plain
from harness.newcomer import Newcomer, blocks, sections

pytest_plugins = ["harness.newcomer_fixtures"]

TYPED = {
    "README.md": ["Ten lines", "Three ways in", "More examples"],
    "docs/install.md": ["From a release's tarball", "Debian's package", "From the sources", "Remove"],
    "docs/try-without-gpu.md": [None, "A container"],
    "HACKING.md": ["One test", "Tests"],
}
NO_COMMANDS = {"HACKING.md": ["One way through a hook", "The tree"]}
# Of what the page says that it is refused; podman ends with 126 where runc has started nothing.
REFUSED = {"plan --sysroot /tmp/host nvidia-devices=7": 3, "--plan --request 0,1 --max-devices 1": 5,
           "nvidia-devices=7 IMAGE true": 126, "lease=exclusive IMAGE true": 126}
# What hooks start to ask NVIDIA's library has no options, and does nothing where it is not shut in.
VERSIONS = ('for file in /usr/local/libexec/oci/hooks.d/* /usr/local/bin/oci-gpu-hooks; do case $file in'
            ' *-nvml) "$file"; [ "$?" = 1 ];; *) "$file" --version;; esac || exit 1; done')
WITH_VERSION = 6
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"  # root's, as Debian sets it for whoever logs in


def copy_sources(host):
    subprocess.run(["bash", "-euc", '. packaging/sources.sh; mkdir -p "$0"; list_sources |'
                    ' tar --null --files-from=- --ignore-failed-read -c | tar -x -C "$0" --no-same-owner',
                    host.path(PROJECT)], check=True, cwd=PROJECT)


def type_all(newcomer, *lines):
    for line in lines:
        assert newcomer.type(line).returncode == 0, line


@pytest.fixture(name="sources", params=RELEASES, scope="module")
def sources_fixture(request, build_root, tmp_path_factory):
    """Somebody in the sources, with the packages that they take. What this machine's compiler has made is there: its cache and, by
    overlays, the static build and its libmount, which the demo takes for its own."""
    cache = Path(subprocess.run(["ccache", "--get-config", "cache_dir"], check=True, capture_output=True,
                                text=True).stdout.strip())
    cache.mkdir(parents=True, exist_ok=True)
    made = (build_root, build_root.parent / "deps")
    host = DebianHost(plain(request.param), tmp_path_factory.mktemp(request.param), cache, *made)
    copy_sources(host)
    for path in made:
        upper, work = f"/run/{path.name}", f"/run/{path.name}-work"
        host.run(["mkdir", upper, work])
        host.mount("-t", "overlay", "-o", f"lowerdir={path},upperdir={upper},workdir={work}", "overlay", path)
    host.run(["tee", "/etc/apt/apt.conf.d/yes"],
             input='APT::Get::Assume-Yes "1"; APT::Install-Recommends "0"; DPkg::Options:: "--force-unsafe-io";')
    host.run(["sh", "-ec", "apt-get update; apt-get install ccache"])
    newcomer = Newcomer(host, PROJECT, CCACHE_DIR=cache, SOURCE_DATE_EPOCH=1, PATH=PATH)
    [(packages, _), *_], _ = blocks("docs/install.md", "From the sources")
    type_all(newcomer, packages)
    yield newcomer
    host.close()


def test_first_the_build(sources):
    [_, *build], _ = blocks("docs/install.md", "From the sources")
    type_all(sources, *(line for line, _ in build))
    said = sources.type(VERSIONS)
    assert said.returncode == 0
    assert len(re.findall(r"^[a-z-]+ [0-9.]+$", said.stdout, re.MULTILINE)) == WITH_VERSION


@pytest.mark.parametrize("sources", ["bookworm"], indirect=True)
def test_first_the_demo(sources):
    """README.md names it for Debian 12."""
    said = sources.type("./tests/demo")
    assert said.returncode == 1 and said.stderr.startswith("give --install-deps ")
    said = sources.type("./tests/demo --install-deps")
    assert said.returncode == 0 and re.search("All [0-9]+ checks are as promised", said.stdout)


def test_other_ways_to_build(sources):
    """Static, behind the default build; and Debian's package; and what is said of both to be removed."""
    _, static = blocks("docs/install.md", "From the sources")
    type_all(sources, "rm -r build/deps/*", *(line for line, _ in static), VERSIONS)
    sources.follows("docs/install.md", "Remove")
    assert sources.type("command -v oci-gpu-hooks").returncode != 0
    type_all(sources, "apt-get install debhelper")
    sources.follows("docs/install.md", "Debian's package")
    type_all(sources, "oci-gpu-hooks --version")


def test_a_directory_of_ones_own(sources):
    """What HACKING.md has built there is named as it should be; not built, as that is a quarter of an hour: tests/run and the test
    gcc-trixie compile the same. Its other blocks take directories that tests/run has built, an emulator, LXD, and ten minutes
    for each target that is fuzzed."""
    [(setup, _), *others], _ = blocks("HACKING.md", "One test")
    built = [line.split(" && ")[0] for line, _ in others if line.startswith("ninja ")]
    suites = [re.search("--run_test=([a-z]+)", line)[1] for line, _ in others if "--run_test" in line]
    assert len(built) == 3 and len(suites) == 2
    type_all(sources, "apt install libboost-test-dev", setup, *(line.replace("ninja", "ninja -n") for line in built))
    for suite in suites:
        assert list((PROJECT / "tests").glob(f"*/**/{suite}_test.cpp")), suite


def test_the_archive_and_the_try(release):
    release.follows("README.md", *TYPED["README.md"])
    release.follows("docs/try-without-gpu.md", *TYPED["docs/try-without-gpu.md"], status=REFUSED)
    type_all(release, "mkdir /tmp/rootfs", *(line.replace("ROOTFS", "/tmp/rootfs") for block in blocks(
        "docs/install.md", "From a release's tarball") for line, _ in block))


@pytest.mark.parametrize("page", TYPED)
def test_no_block_is_left_out(page):
    assert [heading for heading in sections(page) if blocks(page, heading)] == sorted(
        [*TYPED[page], *NO_COMMANDS.get(page, [])], key=list(sections(page)).index)
