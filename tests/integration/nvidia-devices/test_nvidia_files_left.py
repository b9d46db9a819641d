# SPDX-License-Identifier: Apache-2.0
"""What is left of the driver's files in an image: an empty directory, and links. After another run, another request and
many starts, and in a picture that podman takes of the container."""

from pathlib import Path

import pytest

from harness import driver_images, engines
from harness.driver_container import (IN_PATH, LD_LIBRARY_PATH, environment, image_files, left_in, mounts_of_tree,
                                      opened, snapshot)
from harness.expect import started, told
from harness.ldcache import CACHE, CONF, in_the_container, mount_srv
from harness.mounts import parse
from harness.nvidia_container import CAPABILITIES
from harness.podman import LIMITS
from hosts.driver import PARTS, POINT, VERSION

pytest_plugins = ["harness.nvidia_fixtures", "harness.ldcache_fixtures", "harness.driver_fixtures"]

RUNC, CRUN = engines.RUNTIMES
PLACE = POINT[1:]


def check_left(new, path=False):
    """Of what is new in an image nothing is ours but the tree's directory, links into it, and directories of links."""
    links = {name: target for name, target in new.items() if target}
    assert new[PLACE] is None and not [name for name in new if name.startswith(f"{PLACE}/")]
    assert all(target.startswith(f"{POINT}/") for target in links.values()), links
    for name in set(new) - set(links) - {"usr/local", PLACE}:
        assert any(link.startswith(f"{name}/") for link in links), name
    assert ("usr/bin/nvidia-smi" in links) is not path
    return links


@pytest.mark.parametrize("engine, times", [(RUNC, 10), (engines.MAPPED[1], 3)], ids=str)
def test_after_many_starts_there_is_what_is_left_of_the_first(files_box, installed, engine, times):
    """On a read-only root, too, as the last one is."""
    box = files_box("all", engine=engine, cache=False)
    box.config["root"]["readonly"] = engine.mapped
    plain = files_box(request=None, engine=engine, cache=False)
    started(plain.run("true"))
    before = image_files(plain.rootfs)
    started(box.run("true"))
    links = check_left(left_in(before, image_files(box.rootfs)))
    assert len(links) > 20 or not installed.places
    assert {(box.rootfs / name).lstat().st_uid for name in links} == {engines.ROOT if engine.mapped else 0}

    def state():
        found = ((path, path.lstat()) for path in sorted(box.rootfs.rglob("*"))
                 if path.relative_to(box.rootfs).parts[0] not in ("dev", "proc", "sys"))
        return [(str(path), status.st_mode, status.st_ino, status.st_uid, status.st_nlink, status.st_mtime_ns)
                for path, status in found]

    before = state()
    for _ in range(times):
        result = box.runtime.start(box.host, box.bundle).finish()
        assert result.code == 0, (result.err, result.said)
    assert state() == before


@pytest.mark.parametrize("engine", [RUNC], ids=str)
def test_containers_of_one_image_that_start_at_the_same_time(files_box, installed, engine):
    """Each has the whole of it, whoever makes the directory and the links."""
    box = files_box("all", engine=engine, cache=False)
    environment(box, LD_LIBRARY_PATH=LD_LIBRARY_PATH)
    first = box.start("nvidia-smi libcuda.so.1")
    together = [first, *(box.runtime.start(box.host, box.bundle) for _ in range(5))]
    expected = f"libcuda.so.1 {POINT}/lib64/libcuda.so.{VERSION}\n"
    assert [started(each.finish()) for each in together] == [expected] * 6
    assert len(check_left(left_in({}, links_and_directories(box)))) > 20 and installed.places
    assert not list(box.rootfs.rglob(".oci-gpu-hooks*"))


@pytest.mark.parametrize("engine", engines.PODMANS[:1], ids=str)
def test_podmans_picture_of_the_container_has_only_that(files_box, nv_host, installed, scratch, engine):
    """Neither empty libraries nor full ones; and what is made of it works again."""
    box = files_box("all", engine=engine)
    podman, host = box.runtime, nv_host()
    host.run(["tar", "-C", box.rootfs, "-cf", scratch / "image.tar", "."])
    host.run(podman.command("import", scratch / "image.tar", "localhost/first"))
    box.hook.write(podman.hooks / "0.json", box._entry(), "createRuntime")  # pylint: disable=protected-access
    annotations = [word for key, value in box.annotations.items() for word in ("--annotation", f"{key}={value}")]

    def run(image, *options):
        """What a container of the image prints."""
        return host.run(podman.command("run", "--network", "none", "--log-driver", "none", *LIMITS, *box.options,
                                       *annotations, *options, image, "nvidia-smi", "libcuda.so.1")).stdout

    def files(image):
        place = host.run(podman.command("image", "mount", image)).stdout.strip()
        return image_files(Path(host.path(place)))

    expected = f"libcuda.so.1 {POINT}/lib64/libcuda.so.{VERSION}\n"
    assert run("localhost/first", "--name", "one") == expected
    host.run(podman.command("commit", "--quiet", "one", "localhost/second"))
    new = left_in_picture(files("localhost/first"), files("localhost/second"))
    check_left(new)
    assert run("localhost/second", "--rm") == expected
    assert installed.places


def left_in_picture(before, after):
    """As left_in, but for what podman makes for every container, and for ldcache-update's own files."""
    own = ("etc/hosts", "etc/hostname", "etc/resolv.conf", "run/.containerenv", "etc/mtab", CACHE, CONF)
    return left_in(*({name: each for name, each in files.items() if name not in own} for files in (before, after)))


@pytest.mark.parametrize("engine, path", [(RUNC, True), (engines.MAPPED[1], False)], ids=str)
def test_a_second_run_changes_nothing(files_box, installed, scratch, engine, path):
    box = files_box("all", engine=engine)
    if path:
        environment(box, PATH=IN_PATH)
    box.first += [box._entry(), snapshot(scratch / "first")]  # pylint: disable=protected-access
    box.last = [snapshot(scratch / "second"), *box.last]
    names = installed.names(PARTS)
    assert opened(box, names) == names
    first = (scratch / "first").read_text()
    assert f"lib64/libcuda.so.{VERSION} " in first and "ld-directories" in first
    assert (scratch / "second").read_text() == first
    check_left(left_in({}, links_and_directories(box)), path)


def links_and_directories(box):
    """What of the image may be ours: links into the tree, and the directory."""
    return {name: each for name, each in image_files(box.rootfs).items()
            if name == PLACE or (each[3] and str(each[3]).startswith(POINT))}


@pytest.mark.parametrize("engine", [RUNC, engines.MAPPED[1]], ids=str)
def test_a_second_request_adds_to_the_first(files_box, installed, engine):
    """As from two devices of a CDI specification: what either of them brings, in one tree."""
    box = files_box("compute", engine=engine, request=None)
    box.loader = "concourse"
    plain = list(box.args)
    box.args += ["--request", "1"]
    box.first.append(box._entry())  # pylint: disable=protected-access
    box.args = plain
    box.annotations["io.oci-gpu-hooks.nvidia-devices"] = "4"
    box.annotations[CAPABILITIES] = "utility,graphics"
    names = installed.names(["compute", "utility", "graphics"])
    out = started(box.run(f"nvidia-smi {' '.join(names)}; ls /dev/nvidia[0-9]; cat /proc/self/mountinfo"))
    assert dict(line.split(" ") for line in out.splitlines()[:len(names)]) == names
    assert "/dev/nvidia2\n/dev/nvidia3\n" in out
    table = "\n".join(out.splitlines()[len(names) + 2:])
    points = [mount.point for mount in parse(table) if mount.below(POINT) and mount.point != POINT]
    assert set(points) >= {f"{POINT}/{path}" for path in installed.paths(["compute", "utility", "graphics"])}


@pytest.mark.parametrize("second", ["compute", "compute,utility"])
def test_a_second_request_for_less_takes_nothing_away(files_box, installed, scratch, second):
    box = files_box("all")
    first = box._entry()  # pylint: disable=protected-access
    box.first += [first, snapshot(scratch / "first")]
    box.args += ["--request", "1"]
    box.last = [snapshot(scratch / "second"), *box.last]
    names = installed.names(PARTS)
    assert second and opened(box, names) == names
    first, again = ((scratch / name).read_text().splitlines() for name in ("first", "second"))
    assert mounts_of_tree("\n".join(line for line in again if " - " in line)).keys() == mounts_of_tree(
        "\n".join(line for line in first if " - " in line)).keys()


@pytest.mark.parametrize("engine", [CRUN, engines.MAPPED_PODMANS[1]], ids=str)
def test_between_mount_srv_and_ldcache_update(files_box, installed, hook, srv, engine):
    """All three in one container, in the order of their files."""
    srv.directory("data")
    box = files_box("all", engine=engine)
    mount_srv(box, hook, srv, "data")
    words, seen = started(box.run("cat /srv/data/words; nvidia-smi libcuda.so libcuda.so.1")).split("\n", 1)
    assert words == "words of data"
    assert seen.split() == ["libcuda.so", installed.names(PARTS)["libcuda.so"], "libcuda.so.1",
                            installed.names(PARTS)["libcuda.so.1"]]


def test_what_was_done_is_told(files_box, installed):
    assert installed.places
    told(files_box().run(), POINT, "tree")


def test_without_the_annotation_the_image_is_left_alone(files_box, installed, scratch):
    """Though it runs, as under a loader that does not read `when`."""
    box = files_box(request=None, image=driver_images.small)
    box.loader = "concourse"
    before = image_files(box.rootfs)
    box.last.append(in_the_container(f'ls -A "$ROOT/usr/local" > "{scratch}/seen" 2>&1 || true'))
    assert started(box.run("ls /usr/bin | grep nvidia || echo none")) == "none\n"
    assert image_files(box.rootfs) == before and installed.places
    assert "nvidia" not in (scratch / "seen").read_text().replace(str(box.rootfs), "")
