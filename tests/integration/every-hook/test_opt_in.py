# SPDX-License-Identifier: Apache-2.0
"""Who opts a container in, and who cannot."""

import re

import pytest

from harness import concourse
from harness.admin import FILES
from harness.box import KEY, PREFIX
from harness.expect import refused, started
from harness.hooks_d import HookFile

ENVIRONMENT = "OCI_GPU_HOOKS_MOUNT_SRV"
LOOK = "ls /srv 2>/dev/null || echo nothing"
POD_NAMES = ["io.kubernetes.container.name", "io.kubernetes.cri.container-name"]


@pytest.fixture(name="everywhere")
def everywhere_fixture(srv, new_box):
    """A container for which the hook runs in any case, annotation or not."""
    srv.directories("datasets", "models", "x_rw")

    def make(*args):
        box = new_box(None, *args)
        box.loader = "concourse"
        return box

    return make


@pytest.fixture(name="bare", params=["engine", "concourse"])
def bare_fixture(request, everywhere):
    """A container without the annotation, under an engine that reads `when` and one that does not."""
    def make():
        box = everywhere()
        box.loader = request.param
        return box
    return make


# What gives nothing, by what: annotations, and what whoever builds an image sets, its environment.
NOTHING = {
    "no annotation": ({}, ()),
    "those of others": ({
        "user": "root", "mount-srv": "all", "oci-gpu-hooks.mount-srv": "all", "example.io.oci-gpu-hooks.mount-srv": "all",
        "IO.OCI-GPU-HOOKS.MOUNT-SRV": "all", "io.oci-gpu-hooks": "all", "ioXoci-gpu-hooks.mount-srv": "all",
        " " + KEY: "all"}, ()),
    **{name: ({PREFIX + name: "all"}, ())
       for name in ("nvidia-devices", "nvidia-devices.capabilities", "amd-kfd", "ldcache-update")},
    "the environment alone": ({}, (f"{ENVIRONMENT}=all", "NVIDIA_VISIBLE_DEVICES=all", f"{KEY}=all")),
}


@pytest.mark.parametrize("what", NOTHING)
def test_what_gives_nothing(bare, what):
    annotations, environment = NOTHING[what]
    box = bare()
    box.annotations.update(annotations)
    box.bundle.environment(*environment)
    assert started(box.run(LOOK)) == "nothing\n"


BY_ENVIRONMENT, ALWAYS = ("--opt-in", "environment"), ("--opt-in", "always", "--request", "models")
OWN = {KEY: "models", f"{KEY}/web": "datasets"}
# Options, annotations, environment; and what the container sees, or the status and a word of the refusal.
ASKED = {
    "the environment, where the host says so": (BY_ENVIRONMENT, {}, f"{ENVIRONMENT}=datasets,models", "datasets\nmodels\n"),
    "the annotation there, too": (BY_ENVIRONMENT, {KEY: "models"}, None, "models\n"),
    "an unset environment": (BY_ENVIRONMENT, {}, None, "nothing\n"),
    "an unknown directory in the environment": (BY_ENVIRONMENT, {}, f"{ENVIRONMENT}=nonsense", (3, "nonsense")),
    "the environment beyond the host's limit": (
        (*BY_ENVIRONMENT, "--allow", "models"), {}, f"{ENVIRONMENT}=datasets", (5, "datasets")),
    "always": (ALWAYS, {}, None, "models\n"),
    "always, under another engine, which has no environment to look at": (ALWAYS, {}, "BUILD_TEAM_NAME=main", "models\n"),
    "a request alone": (("--request", "datasets"), {}, None, "datasets\n"),
    **{f"{words}, {name_key}": ((), {**annotations, name_key: name}, None, seen) for name_key in POD_NAMES
       for words, annotations, name, seen in (("a container's own name in a pod", OWN, "web", "datasets\n"),
                                              ("beside another one's", OWN, "db", "models\n"),
                                              ("another one's alone", {f"{KEY}/web": "datasets"}, "db", "nothing\n"))},
    "a container's own name, which is not known": ((), {f"{KEY}/web": "datasets"}, None, (None, f"{KEY}/web")),
    "and beside that of all": ((), OWN, None, (None, f"{KEY}/web")),
    # By each hook that is called. An engine calls ldcache-update for it.
    **{f"misspelt: '{key}'": ((), {PREFIX + key: "all"}, None, (2, PREFIX + key))
       for key in ("mount-svr", "mount_srv", "Mount-Srv", "mount-srv.", "mountsrv", "mount-srv ", "")},
    "misspelt, beside the right one": ((), {KEY: "datasets", PREFIX + "mount-svr": "all"}, None, (2, "mount-svr")),
    "forged, beside a request": ((), {KEY: "models", KEY + "=datasets,models": ""}, None, (2, "")),
}


@pytest.mark.parametrize("what", ASKED)
def test_who_asks(everywhere, what):
    options, annotations, environment, outcome = ASKED[what]
    box = everywhere(*options)
    box.annotations.update(annotations)
    box.bundle.environment(*filter(None, [environment]))
    result = box.run(LOOK)
    if isinstance(outcome, str):
        assert started(result) == outcome
    else:
        refused(result, *outcome)


@pytest.mark.parametrize("change", [
    lambda text: text.replace('"annotations"', '"Annotations"'),
    lambda text: text.replace('"annotations"', f'"Annotations": {{"{KEY}": "none"}}, "annotations"'),
    lambda text: text.replace('"annotations"', f'"annotations": {{"{KEY}": "none"}}, "annotations"'),
])
def test_what_runtimes_read_differently_starts_nothing(everywhere, change):
    """runc takes each of these for annotations, joined; crun the first or the last, or none."""
    box = everywhere()
    box.annotations[KEY] = "all"
    write = box.bundle.write

    def write_changed():
        write()
        path = box.bundle.directory / "config.json"
        text = path.read_text(encoding="utf-8")
        assert change(text) != text
        path.write_text(change(text), encoding="utf-8")

    box.bundle.write = write_changed
    refused(box.run(LOOK), 1, "config.json: the member ")


@pytest.mark.parametrize("value", ["", " ", ",", "datasets,", ",datasets", "datasets,,models"])
def test_an_empty_value_or_name_is_refused(srv, new_box, value):
    srv.directories("datasets", "models")
    refused(new_box(value).run(), 2)


@pytest.mark.parametrize("key", ["mount-svr", "mount-srv.", "nvidia-device", "nvidia-devices/x", "amd-kfd.leases", ""])
def test_an_engine_calls_a_hook_for_a_misspelt_key(built, key):
    """Of all files of an installation one matches at least."""
    files = [HookFile(built / "oci-hooks.d" / file, "") for file in FILES.values()]
    for value in ("all", "", "--"):
        assert any(file.matches({PREFIX + key: value}) for file in files)
    assert not any(file.matches({PREFIX + key: "-"}) for file in files)


@pytest.mark.parametrize("hook", FILES)
def test_an_engine_calls_a_hook_for_its_own_annotations(built, hook):
    """And ldcache-update, which goes along with it."""
    for key in (hook, f"{hook}.lease", f"{hook}/container"):
        called = {name for name, file in FILES.items()
                  if HookFile(built / "oci-hooks.d" / file, "").matches({PREFIX + key: "all"})}
        assert called == {hook, "ldcache-update"}


@pytest.mark.parametrize("key, value, starts", [
    (KEY + "=all", "", False), (KEY + "=datasets,", "x_rw", False), (KEY + "=datasets", "", False),
    ("user", f"root\n{KEY}=all", True), ("bundle=/tmp", "all", True), ("=" + KEY, "all", True),
])
def test_a_key_forged_with_an_equals_sign_gives_nothing(bare, built, key, value, starts):
    """runc hands annotations on as key=value and splits at the first equals sign. A key of ours is a misspelt one."""
    box = bare()
    box.annotations[key] = value
    if box.loader == "engine":  # calls ldcache-update for it
        assert starts or HookFile(built / "oci-hooks.d" / FILES["ldcache-update"], "").matches(box.annotations)
    elif starts:
        assert started(box.run(LOOK)) == "nothing\n"
    else:
        refused(box.run(LOOK), 2)


def test_a_forged_bundle_is_not_believed(srv, new_box, scratch):
    """Another bundle's config.json would opt in."""
    srv.directory("datasets")
    other = new_box("all")
    other.bundle.write()
    box = new_box()
    box.loader = "concourse"
    box.annotations[f"bundle={other.bundle.directory}"] = "x"
    box.annotations["bundle"] = str(other.bundle.directory)
    assert started(box.run(LOOK)) == "nothing\n"


def test_always_needs_a_request(everywhere):
    result = everywhere("--opt-in", "always").run()
    assert result.out == "" and result.hook_status == 2, result.err
    assert "--request" in result.hook_message


@pytest.mark.parametrize("step, further, seen", [
    ("task", (), "models\n"), ("get", (), "nothing\n"), ("put", (), "nothing\n"), ("check", (), "nothing\n"),
    ("put", (concourse.TASK,), "nothing\n")], ids=str)
def test_always_leaves_out_concourses_own_steps(everywhere, step, further, seen):
    """Whatever the environment says; the last is a put with an artifact that is named "../0123abcd"."""
    options = ("--opt-in", "always", "--request", "models")
    box = concourse.make(everywhere(*options), step, *further, params=("BUILD_TYPE=Release", "BUILD_ID=1"))
    assert started(box.run(LOOK)) == seen


def test_messages_go_to_a_file_as_well(everywhere, scratch):
    file = scratch / "hooks.log"
    for name, code in (("models", 0), ("nonsense", 3)):
        box = everywhere("--request", name, "--log-level", "info", "--log-file", file)
        assert bool(box.run().code) == bool(code)
    *notes, last = file.read_text().splitlines()
    assert notes and all(re.match(r"\d{4}-\d\d-\d\dT[0-9:]{8}Z mount-srv: container [0-9a-f]{12}: ", line)
                         for line in [*notes, last])
    assert "no directory 'nonsense'" in last and file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("spoil", [lambda file: file.symlink_to(file.with_name("target")),
                                   lambda file: file.mkdir(), lambda file: file.symlink_to("/dev/full")])
def test_a_file_that_cannot_be_used_stops_no_container(everywhere, scratch, spoil):
    spoil(scratch / "hooks.log")
    box = everywhere("--request", "models", "--log-level", "info", "--log-file", scratch / "hooks.log")
    assert started(box.run(LOOK)) == "models\n"
    assert not (scratch / "target").exists()
