# SPDX-License-Identifier: Apache-2.0
"""Leases of a root that is not the host's: of a user's podman, and of a system container as LXD makes them."""

import os
import subprocess

import pytest

from harness.bundle import Bundle
from harness.expect import started, told
from harness.leases import Container, Leases, ask
from harness.nvidia_container import KEY, refused
from harness.rootless import UID, RootlessBox, RootlessPodman, add_user
from harness.system_container import FIRST, UserNamespace

pytest_plugins = ["harness.nvidia_fixtures"]

NODES = "ls -d /dev/nvidia[0-9]* | sort | tr '\\n' ' '; echo"
SCOPE = f"leases here bind the containers of user {UID} alone"


def nodes(*gpus):
    """What NODES prints."""
    return " ".join(sorted(gpu.node for gpu in gpus)) + " \n"


@pytest.fixture(name="podman")
def podman_fixture(nv_host, scratch):
    """podman of a user's, and its host."""
    host = nv_host("v2")
    os.chmod(host.path("/dev/log"), 0o666)
    add_user(host, scratch)
    podman = RootlessPodman(scratch / "podman")
    podman.host = host
    yield podman
    podman.clean(host)


@pytest.fixture(name="box")
def box_fixture(podman, nv_hook, machine, scratch):
    """A function that makes a container of the user's: box(request, lease=None)."""
    count = iter(range(100))

    def make(request, lease=None, wait=None):
        made = RootlessBox(podman.host, podman, Bundle(scratch / f"box{next(count)}"), nv_hook,
                           ["--sysroot", machine, "--log-level", "info", "--max-wait", "1m"])
        made.annotations[KEY] = request
        return ask(made, KEY, lease, wait)

    return make


@pytest.fixture(name="session")
def session_fixture(machine):
    """The directory that the user's session has below the sysroot."""
    directory = machine.path / f"run/user/{UID}"
    directory.mkdir(parents=True)
    directory.chmod(0o700)
    os.chown(directory, UID, UID)
    return directory


def as_user(podman, nv_hook, machine):
    """--list in the user's own namespace."""
    return Leases(nv_hook.executable, machine, podman.host.command(podman.command("unshare")))


def test_containers_of_a_user_compete(podman, box, session, nv_hook, machine):
    """`any:1` is what is free, and the list says whose leases it shows."""
    first = Container(box("any:1", "exclusive"), NODES).ready()
    second = Container(box("any:1", "exclusive"), NODES).ready()
    assert (first.out, second.out) == (nodes(machine.gpus[0]), nodes(machine.gpus[1]))
    refused(box("0", "exclusive").run(), 4, "exclusively", SCOPE)
    refused(box("0").run(), 4, "exclusively", SCOPE)
    listed = as_user(podman, nv_hook, machine).read()
    assert listed["scope"] == f"the containers of user {UID} alone"
    assert [row["gpus"] for row in listed["leases"]] == ["0", "1"]
    for each in (first, second):
        each.end()
    assert started(box("0", "exclusive").run(NODES)) == nodes(machine.gpus[0])
    state = session / "oci-gpu-hooks/leases/state"
    assert state.stat().st_uid == UID
    assert not (machine.path / "run/oci-gpu-hooks").exists()


def test_one_waits_for_another(box, session, machine):  # pylint: disable=unused-argument
    first = Container(box("0", "exclusive")).ready()
    second = Container(box("0", "exclusive", "20s"), NODES)
    first.end()
    assert second.ready().out == nodes(machine.gpus[0])
    second.end()


def test_without_a_session_there_are_no_leases(box, machine):
    """Which is said; who asks for one does not start."""
    result = box("any:1").run(NODES)
    assert started(result) == nodes(machine.gpus[0])
    told(result, "no lease is taken", f"'/run/user/{UID}'")
    for lease in ("shared", "exclusive"):
        refused(box("any:1", lease).run(), 3, "a lease is asked for", "loginctl enable-linger", str(UID))


def linked(directory):
    directory.rename(directory.parent / "elsewhere")
    directory.symlink_to("elsewhere")


def of_another_user(directory):
    os.chown(directory, UID + 1, UID + 1)


def for_everyone(directory):
    directory.chmod(0o777)


def above_for_everyone(directory):
    directory.parent.chmod(0o777)


@pytest.mark.parametrize("spoil", [linked, of_another_user, for_everyone, above_for_everyone])
def test_a_directory_that_others_may_have_made_is_none(box, session, spoil):
    spoil(session)
    refused(box("0", "exclusive").run(), 3, "a lease is asked for", "loginctl enable-linger")


def test_a_directory_in_it_that_is_a_link_stops_the_container(box, session):
    (session / "elsewhere").mkdir()
    (session / "oci-gpu-hooks").symlink_to("elsewhere")
    refused(box("0", "exclusive").run(), 6, f"run/user/{UID}/oci-gpu-hooks'")


class SystemContainer(UserNamespace):
    """With a /run of its own below the sysroot."""

    def __init__(self, host, machine):
        self._host, self.journal = host, host.journal
        super().__init__(host, f"mount -t tmpfs -o mode=755 tmpfs '{machine}/run'; exec sleep infinity")

    def check(self):
        self._host.check()


@pytest.fixture(name="system")
def system_fixture(nv_host, machine, scratch):
    (machine.path / "run").mkdir(exist_ok=True)
    host = nv_host("as-found")
    for name in ("subuid", "subgid"):  # by which newuidmap lets root map such ids
        (scratch / name).write_text(f"root:{FIRST}:65536\n", encoding="ascii")
        host.mount("--bind", scratch / name, f"/etc/{name}")
    os.chmod(host.path("/dev/log"), 0o666)
    system = SystemContainer(host, machine)
    yield system
    system.end()


@pytest.fixture(name="inner_box")
def inner_box_fixture(nv_box, system):
    """A function that makes a container of runc's in the system container, with what that runtime can do there."""
    def make(request, lease=None):
        made = ask(nv_box(request, cgroup="as-found"), KEY, lease)
        made.host = system
        linux = made.config["linux"]
        linux["namespaces"] = [each for each in linux["namespaces"] if each["type"] not in ("network", "cgroup")]
        del linux["resources"]
        made.config["mounts"] = [each for each in made.config["mounts"] if each["destination"] != "/sys/fs/cgroup"]
        for path in (made.bundle.directory, made.bundle.directory.parent / made.bundle.directory.name.replace("box", "run")):
            subprocess.run(["chown", "-hR", f"{FIRST}:{FIRST}", path], check=True)
        return made

    return make


def test_in_a_system_container_its_own_root_has_leases(system, inner_box, nv_hook, machine):
    """With ids as LXD maps them, and by runc, which is root there."""
    first = Container(inner_box("any:1", "exclusive"), NODES).ready()
    assert first.out == nodes(machine.gpus[0])
    refused(inner_box("0", "exclusive").run(), 4, "exclusively", "leases here bind the containers of this user "
            "namespace's root alone")
    assert started(inner_box("any:1").run(NODES)) == nodes(machine.gpus[1])
    listed = Leases(nv_hook.executable, machine, system.command([])).read()
    assert listed["scope"] == "the containers of this user namespace's root alone"
    assert [row["gpus"] for row in listed["leases"]] == ["0"]
    first.end()
    assert started(inner_box("0", "exclusive").run(NODES)) == nodes(machine.gpus[0])
    assert not any((machine.path / "run").iterdir()), "the host's own directory is another one"
