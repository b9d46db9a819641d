# SPDX-License-Identifier: Apache-2.0
"""The commands of the README, the guides and the man pages, as they stand there: only IMAGE is an image of the
test, and podman has storage of its own."""

import json
import re
import shlex
import subprocess

import pytest

from harness import debian_root, engines
from harness.expect import started
from harness.pages import PROJECT, guide, page, value_at
from harness.podman import LIMITS, is_version_4

pytest_plugins = ["harness.admin_fixtures", "harness.ldcache_fixtures"]

IMAGE = "localhost/words"


def hooks_and_annotations(text):
    """Of the piece of config.json in a text; the annotations are {} if it has none."""
    place = text.index('"hooks": {')
    before = text.rfind('"annotations": ', 0, place)
    annotations = value_at(text, before + len('"annotations": ')) if before >= 0 else {}
    return value_at(text, place + len('"hooks": ')), {
        key: value for key, value in annotations.items() if key.startswith("io.")}


def readme():
    return (PROJECT / "README.md").read_text(encoding="utf-8")


def lines_with_a_list():
    """Those of docs/podman.md: as podman 5 takes it, and with the quotes that podman 4 needs."""
    plain, quoted = re.findall(r"^ +(podman run .*mount-srv=datasets,models.* IMAGE ls /srv)$", guide("podman.md"),
                               re.MULTILINE)
    assert "'" in quoted and "'" not in plain
    return (quoted, plain) if is_version_4() else (plain, quoted)


@pytest.fixture(name="host")
def host_fixture(journal_host, srv, scratch):
    """The host of the texts: /srv as they have it, and an /etc that may be written."""
    srv.directories("datasets", "models", "outputs_writable")
    journal_host.mount("--bind", srv, "/srv")
    for name in ("etc", "work"):
        (scratch / name).mkdir()
    journal_host.mount("-t", "overlay", "-o", f"lowerdir=/etc,upperdir={scratch}/etc,"
                       f"workdir={scratch}/work", "overlay", "/etc")
    return journal_host


@pytest.fixture(name="shell")
def shell_fixture(host, hook, ld_hook, engine_box, scratch):
    """A function that runs a command line as a person would: shell(line)."""
    box = engine_box(engines.PODMANS[0])
    podman = box.runtime
    hook.write(podman.hooks / "10-mount-srv.json", hook.entry(), "createRuntime")
    ld_hook.write(podman.hooks / "90-ldcache-update.json", ld_hook.entry(), "createRuntime")
    debian_root.add_glibc(box.rootfs)
    archive = scratch / "image.tar"
    host.run(["tar", "-C", box.rootfs, "-cf", archive, "."])
    host.run(podman.command("import", archive, IMAGE))
    words = [shlex.quote(str(word)) for word in podman.command()]
    directory = scratch / "bin"
    directory.mkdir()
    (directory / "podman").write_text(
        '#!/bin/sh\nown=\nwhile [ "$1" != run ]; do own="$own $1"; shift; done\nshift\n'
        f"exec /usr/bin/{shlex.join([words[0]])} {' '.join(words[1:])} $own run"
        f" --rm --network none --log-driver none {shlex.join(LIMITS)} \"$@\"\n", encoding="utf-8")
    (directory / "podman").chmod(0o755)

    def run(line):
        line = line.replace("IMAGE", IMAGE)
        return host.run(["sh", "-c", f"PATH={directory}:$PATH; {line}"], check=False)

    yield run
    podman.clean(host)


def test_the_readmes_example_prints_what_it_says(shell):
    command, expected = re.search(r"^ +\$ (podman run \S+ \S+ \S+=all .*?mine')\n(.*?system)$", readme(),
                                  re.MULTILINE | re.DOTALL).groups()
    result = shell(command)
    said = [line.strip() for line in (result.stdout + result.stderr).splitlines()]
    for line in expected.splitlines():
        assert line.strip() in said, result


def test_the_readmes_mistake_fails_as_it_says(shell):
    command, answer = re.search(r"^ +\$ (podman run .*=dataset .*)\n((?: +.*\n)+)", readme(),
                                re.MULTILINE).groups()
    result = shell(command)
    assert result.returncode != 0
    told = re.search(r"no directory .*", " ".join(answer.split())).group(0)
    assert told in result.stderr, result


def test_the_podman_line_of_the_manual_with_a_device_works(shell, executable, scratch):
    text = page("oci-gpu-hooks.7")
    line, = re.findall(r"^ +(podman run .* IMAGE)$", text, re.MULTILINE)
    cdi = value_at(text, text.rindex("{", 0, text.index('"cdiVersion"')))
    device = cdi["devices"][0]["containerEdits"]["hooks"][0]
    assert device["path"].endswith("/libexec/oci/hooks.d/mount-srv")
    device["path"] = str(executable)
    (scratch / "etc/cdi").mkdir()
    (scratch / "etc/cdi/srv.json").write_text(json.dumps(cdi), encoding="utf-8")
    result = shell(line + " ls /srv")
    assert result.returncode == 0, result
    assert "datasets" in result.stdout.split(), result


def test_lines_for_directories_work_with_their_command(shell):
    """The quick start's, and the list for this version of podman."""
    line, = re.findall(r"^ +(podman run .*mount-srv=\S* IMAGE ls /srv)$", page("oci-gpu-hooks.7"), re.MULTILINE)
    for line in (line, lines_with_a_list()[0]):
        result = shell(line)
        assert result.returncode == 0 and {"datasets", "models"} <= set(result.stdout.split()), result


def test_the_list_for_the_other_podman_gives_nothing(shell):
    """Quotes are a part of the name for podman 5, which says nothing; podman 4 takes what stands behind a comma for another
    annotation."""
    result = shell(lines_with_a_list()[1])
    assert "models" not in result.stdout.split() and (is_version_4() or result.returncode == 0), result


@pytest.mark.parametrize("text", [lambda: guide("images.md"), lambda: page("ldcache-update.8")],
                         ids=["images.md", "ldcache-update.8"])
def test_the_line_with_libraries_makes_them_known(shell, srv, shop, text):
    shop.versioned(srv / "libraries", "libgreeting.so.1")
    line, = re.findall(r"^ +(podman run .*=libraries \\\n.*IMAGE.*)$", text(), re.MULTILINE)
    result = shell(line.removesuffix(" ldconfig -p") + " ldconfig -p")
    assert "libgreeting.so.1 (libc6,x86-64) => /srv/libraries/libgreeting.so.1" in result.stdout, result


@pytest.mark.parametrize("where", ["mount-srv.8", "oci-gpu-hooks.7"])
@pytest.mark.parametrize("engine", engines.RUNTIMES, ids=str)
def test_the_entry_for_config_json_works(host, srv, engine_box, executable, engine, where):
    hooks, annotations = hooks_and_annotations(page(where))
    host.mount("--bind", srv, "/mnt")
    box = engine_box(engine)
    box.times = 0
    entry, = hooks["createRuntime"]
    assert entry["path"] == "/usr/local/libexec/oci/hooks.d/mount-srv"
    entry["path"] = str(executable)
    entry["args"] = [word.replace("/data", "/mnt") for word in entry["args"]]
    box.first = [entry]
    box.annotations.update(annotations or {"io.oci-gpu-hooks.mount-srv": "datasets"})
    assert "datasets" in started(box.run("ls /srv")).split()


@pytest.mark.parametrize("engine", engines.RUNTIMES, ids=str)
def test_the_entries_for_libraries_work(host, srv, shop, small_box, executable, ld_hook, engine):
    hooks, annotations = hooks_and_annotations(page("ldcache-update.8"))
    shop.versioned(srv / "libraries", "libgreeting.so.1")
    host.mount("--bind", srv, "/srv")
    box = small_box(engine=engine)
    box.times = 0
    for entry, own in zip(hooks["createRuntime"], (executable, ld_hook.executable), strict=True):
        assert entry["path"] == f"/usr/local/libexec/oci/hooks.d/{own.name}"
        box.first.append({**entry, "path": str(own)})
    box.annotations.update(annotations)
    assert "/srv/libraries/libgreeting.so.1" in started(box.run("ldconfig -p"))


def test_what_is_tried_without_a_gpu(shell, built, oci_gpu_hooks, scratch):
    """Each line of docs/try-without-gpu.md, with the hooks of this build."""
    place, made = "/usr/local/libexec/oci/hooks.d", scratch / "made-up"
    text = guide("try-without-gpu.md").replace("/usr/local/share/doc/oci-gpu-hooks", str(PROJECT)).replace(
        "/tmp/host", str(made)).replace("\\\n", "")
    _, make, *lines = re.findall(r"^    (\S.*)$", text, re.MULTILINE)
    assert shell(make).returncode == 0
    hooks = {path.name: path / path.name for path in (built / "hooks").iterdir() if (path / path.name).is_file()}
    hooks["oci-gpu-hooks"] = oci_gpu_hooks
    for path in (made / "hooks.d").iterdir():
        words = path.read_text("utf-8")
        name = re.search(rf'"{place}/(.*?)"', words)[1]
        path.write_text(words.replace(f"{place}/{name}", str(hooks[name])), encoding="utf-8")
    said = []
    for line in lines:
        done = shell(re.sub("^[a-z-]+(?= )", lambda found: str(hooks.get(found[0], found[0])), line))
        refused = line.endswith(("=7", "=7 IMAGE true", "--max-devices 1")) or "exclusive" in line
        assert (done.returncode == 0) is not refused, (line, done)
        said.append(done.stdout + done.stderr)
    assert len(said) == 14 and sum("this host has 0 (GPU-" in text for text in said) == 4, said
    assert "drained" in "".join(said) and "is held shared by container" in "".join(said), said
    assert any(len({"nvidia0", "nvidia1"} & set(text.split())) == 1 for text in said), said


def test_each_option_stands_in_the_pages(built):
    """In the page of the hook, or in one of those for all hooks; and no page describes one that its hook does not take."""
    taken = set()
    common = {name: set(re.findall(r"^ +(--[a-z-]+)", options_of(name), re.MULTILINE))
              for name in ("oci-gpu-hooks.7", "oci-gpu-hooks-leases.7")}
    for directory in (built / "hooks").iterdir():
        if not (directory / directory.name).is_file():
            continue
        said = subprocess.run([directory / directory.name, "--help"], check=True, capture_output=True, text=True).stdout
        options = set(re.findall(r"^  (?:-h,)?(--[a-z-]+)", said, re.MULTILINE))
        own = set(re.findall(r"^ +(--[a-z-]+)", options_of(f"{directory.name}.8"), re.MULTILINE))
        missing = options - own - common["oci-gpu-hooks.7"] - common["oci-gpu-hooks-leases.7"] - {"--help", "--version"}
        assert not missing, (directory.name, missing)
        assert own <= options, (directory.name, own - options)
        taken |= options
    for name, options in common.items():
        assert options <= taken, (name, options - taken)


def options_of(name):
    """What stands below OPTIONS in a man page."""
    return re.search(r"^OPTIONS\n(.*?)^[A-Z]", page(name), re.MULTILINE | re.DOTALL)[1]
