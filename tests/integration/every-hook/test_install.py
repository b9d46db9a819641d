# SPDX-License-Identifier: Apache-2.0
"""What `meson install` puts where: executables, JSON files, man pages, and nothing else."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.admin import when_of

SOURCE_ROOT = Path(__file__).resolve().parents[3]
HOOKS_DIR = Path("/usr/share/containers/oci/hooks.d")
HOOKS = {
    "amd-kfd": "21-amd-kfd.json",
    "cdi-devices": "22-cdi-devices.json",
    "ldcache-update": "90-ldcache-update.json",
    "mount-srv": "10-mount-srv.json",
    "nvidia-devices": "20-nvidia-devices.json",
}
COMMAND = "oci-gpu-hooks"
COMPLETIONS = ["bash-completion/completions/oci-gpu-hooks", "fish/vendor_completions.d/oci-gpu-hooks.fish",
               "zsh/site-functions/_oci-gpu-hooks"]
UNITS = ["systemd/system/oci-gpu-hooks-check.service", "systemd/system/oci-gpu-hooks-check.timer",
         "udev/rules.d/90-oci-gpu-hooks-check.rules"]
EXAMPLES = SOURCE_ROOT / "examples"
MAN_PAGES = ["man1/oci-gpu-hooks.1", "man7/oci-gpu-hooks.7", "man7/oci-gpu-hooks-leases.7",
             *(f"man8/{name}.8" for name in HOOKS)]
GUIDES = sorted(path.name for path in (SOURCE_ROOT / "docs").glob("*.md") if not re.search(r"\.[1-9]\.md$", path.name))


def meson(*args):
    return subprocess.run(["meson", *map(os.fspath, args)], check=True, capture_output=True,
                          encoding="utf-8").stdout


def options_of(build_root):
    options = json.loads(meson("introspect", build_root, "--buildoptions"))
    return {option["name"]: option["value"] for option in options}


def example_files():
    """All of the directory but what installs it, and what is installed where systemd and udev look."""
    return [path.relative_to(EXAMPLES) for path in EXAMPLES.rglob("*")
            if path.is_file() and path.name != "meson.build" and path.name not in map(os.path.basename, UNITS)]


PROGRAMS = ["nvidia-devices-nvml"]  # which hooks start


class Layout:
    """Where a build directory's options say that things belong, as absolute paths."""

    def __init__(self, options):
        self.prefix = prefix = Path(options["prefix"])
        self.execdir = prefix / options["libexecdir"] / "oci/hooks.d"
        self.bindir = prefix / options["bindir"]
        self.mandir = prefix / options["mandir"]
        self.hooksdir = Path(options["hooksdir"])
        self.datadir = prefix / options["datadir"]
        self.examples = prefix / options["datadir"] / "doc/oci-gpu-hooks/examples"

    def files(self):
        return sorted([*(self.execdir / name for name in [*HOOKS, *PROGRAMS]), self.bindir / COMMAND,
                       *(self.hooksdir / name for name in HOOKS.values()),
                       *(self.mandir / page for page in MAN_PAGES),
                       *(self.datadir / file for file in COMPLETIONS),
                       *(self.prefix / "lib" / name for name in UNITS),
                       *(self.examples.parent / name for name in GUIDES),
                       *(self.examples / name for name in example_files())])


@pytest.fixture(name="layout", scope="module")
def layout_fixture(build_root):
    return Layout(options_of(build_root))


@pytest.fixture(name="destdir", scope="module")
def destdir_fixture(build_root, tmp_path_factory):
    """Everything installed, once, from what is built already."""
    destdir = tmp_path_factory.mktemp("destdir")
    meson("install", "-C", build_root, "--no-rebuild", "--destdir", destdir)
    return destdir


def in_destdir(destdir, path):
    return destdir / path.relative_to("/")


@pytest.fixture(name="documents")
def documents_fixture(destdir, layout):
    """The installed JSON files, by the name of the hook."""
    return {name: json.loads(in_destdir(destdir, layout.hooksdir / file).read_text("utf-8"))
            for name, file in HOOKS.items()}


def test_exactly_these_files_are_installed(destdir, layout):
    found = [Path("/") / path.relative_to(destdir) for path in destdir.rglob("*")
             if path.is_symlink() or not path.is_dir()]
    assert sorted(found) == layout.files()


def test_no_empty_directory_is_installed(destdir):
    assert [path for path in destdir.rglob("*") if path.is_dir() and not any(path.iterdir())] == []


def test_modes_let_everybody_read_and_only_hooks_and_scripts_run(destdir, layout):
    scripts = [in_destdir(destdir, layout.examples / name) for name in example_files()
               if os.access(EXAMPLES / name, os.X_OK)]
    for path in destdir.rglob("*"):
        mode = path.stat().st_mode & 0o7777
        runs = path.is_dir() or path.name in [*HOOKS, *PROGRAMS] or path.parent.name == "bin" or path in scripts
        assert mode == (0o755 if runs else 0o644), path


def test_the_installed_executable_runs(destdir, layout):
    for name in HOOKS:
        path = in_destdir(destdir, layout.execdir / name)
        process = subprocess.run([path, "--version"], check=True, capture_output=True, text=True)
        assert process.stdout.startswith(name)


def test_hooks_d_files_have_what_engines_need(documents, layout):
    for name, document in documents.items():
        assert set(document) == {"version", "hook", "when", "stages"}
        assert document["version"] == "1.0.0"
        assert document["stages"] == ["createRuntime"]
        assert document["when"] == when_of(name)
        hook = document["hook"]
        assert hook["path"] == str(layout.execdir / name) and hook["path"].startswith("/")
        assert hook["args"][0] == name and hook["timeout"] == 30
        # An empty list would be lost when an engine writes it again, and the hook would then have
        # the engine's or the image's environment.
        assert hook["env"] and all("=" in setting for setting in hook["env"])


def test_hooks_d_files_name_what_is_installed(documents, destdir):
    for document in documents.values():
        path = in_destdir(destdir, Path(document["hook"]["path"]))
        assert path.is_file() and os.access(path, os.X_OK)


def test_man_pages_are_installed_as_written(destdir, layout):
    """The builds that are tested have the directories that the pages name."""
    for page in MAN_PAGES:
        installed = in_destdir(destdir, layout.mandir / page)
        assert installed.read_bytes() == (SOURCE_ROOT / "man" / installed.name).read_bytes()


def sections(executable):
    listed = subprocess.run(["readelf", "--wide", "--sections", executable], check=True,
                            capture_output=True, text=True).stdout
    return {word for word in listed.split() if word.startswith(".")}


def test_what_is_installed_is_stripped_and_what_was_built_is_not(build_root, destdir, layout):
    """What only a debugger reads is most of an executable."""
    for name in HOOKS:
        assert {".debug_info", ".symtab"} <= sections(build_root / "hooks" / name / name)
        installed = in_destdir(destdir, layout.execdir / name)
        assert not {each for each in sections(installed) if each.startswith((".debug", ".symtab"))}


def test_examples_are_installed_as_written(destdir, layout):
    for name in example_files():
        assert in_destdir(destdir, layout.examples / name).read_bytes() == (EXAMPLES / name).read_bytes()


def test_guides_lead_to_what_is_installed_with_them(destdir, layout):
    """In the sources to the man pages beside them and to the examples above; none leads to what is not installed."""
    for name in GUIDES:
        text = in_destdir(destdir, layout.examples.parent / name).read_text("utf-8")
        for link in re.findall(r"\]\(([^)#\s]+)", text):
            path = in_destdir(destdir, layout.examples.parent / link)
            assert ":" in link or path.exists(), (name, link)


def test_json_files_are_installed_last(destdir, layout):
    """podman would do without a hook whose executable is not there yet."""
    changed = {path: path.stat().st_ctime_ns for path in destdir.rglob("*") if path.is_file()}
    json_files = {in_destdir(destdir, layout.hooksdir / file) for file in HOOKS.values()}
    assert json_files < set(changed)
    assert (max(time for path, time in changed.items() if path not in json_files)
            <= min(changed[path] for path in json_files))


@pytest.mark.parametrize("prefix, libexecdir, execdir", [
    ("/opt/elsewhere", "libexec", "/opt/elsewhere/libexec/oci/hooks.d"),
    ("/usr", "/usr/lib/hooks", "/usr/lib/hooks/oci/hooks.d")])
def test_a_build_for_users(tmp_path, prefix, libexecdir, execdir):
    """Engines read one directory; the files in it, and the man pages, name whatever prefix the hooks
    went to. Nothing is built that only tests need."""
    build = tmp_path / "build"
    meson("setup", "-Dtests=false", "-Dlink=shared", f"--prefix={prefix}",
          f"--libexecdir={libexecdir}", build, SOURCE_ROOT)
    assert not [target["name"] for target in json.loads(meson("introspect", build, "--targets"))
                if Path(target["defined_in"]).is_relative_to(SOURCE_ROOT / "tests")]
    for name in HOOKS:
        linked = subprocess.run(["ninja", "-C", build, "-t", "commands", "-s", f"hooks/{name}/{name}"], check=True,
                                capture_output=True, text=True).stdout
        assert "/libmount.so" in linked and "/libcap-ng.so" in linked
    for page in MAN_PAGES:
        text = (build / "man" / Path(page).name).read_text("utf-8")
        source = (SOURCE_ROOT / "man" / Path(page).name).read_text("utf-8")
        assert ("/usr/local/libexec" in source) is (f"{execdir}/" in text) and "/usr/local/libexec" not in text
        assert "/usr/local/share/doc" not in text
    placed = json.loads(meson("introspect", build, "--installed"))
    for name, file in HOOKS.items():
        assert placed[str(build / "oci-hooks.d" / file)] == str(HOOKS_DIR / file)
        document = json.loads((build / "oci-hooks.d" / file).read_text("utf-8"))
        assert document["hook"]["path"] == f"{execdir}/{name}"
        assert document["hook"]["path"] in placed.values()
        example = json.loads((build / f"examples/concourse-by-key-{file}").read_text("utf-8"))
        assert example["hook"]["path"] == f"{execdir}/{name}"


def test_the_default_hooksdir_is_where_engines_look():
    described = json.loads(meson("introspect", SOURCE_ROOT / "meson.build", "--buildoptions"))
    [default] = [option["value"] for option in described if option["name"] == "hooksdir"]
    assert default == str(HOOKS_DIR)


# A function for each part of the C and C++ libraries that a hook can do without.
PARTS = {
    "locales and streams": "_ZNSt6locale7classicEv",
    "the demangler": "__cxa_demangle",
    "users and groups by name, and so shared libraries that are loaded late": "__nss_lookup",
}


@pytest.mark.parametrize("part", PARTS)
def test_no_hook_brings_more_of_the_libraries_than_it_needs(built, part):
    for name in HOOKS:
        said = subprocess.run(["nm", "--defined-only", built / "hooks" / name / name], check=True, capture_output=True,
                              text=True).stdout
        symbols = {line.split()[-1] for line in said.splitlines()}
        assert "main" in symbols and PARTS[part] not in symbols, name


def test_a_static_build_without_a_static_libmount_says_what_to_do(tmp_path):
    """Debian has none, and the last link of all would be what fails."""
    sources = shutil.copytree(SOURCE_ROOT, tmp_path / "sources", ignore=shutil.ignore_patterns("build*", ".git"))
    said = subprocess.run(["meson", "setup", "-Dtests=false", "-Dlink=static", tmp_path / "build", sources], check=False,
                          capture_output=True, encoding="utf-8")
    assert said.returncode != 0
    assert f"\n  {sources}/tests/deps/libmount\n  meson setup -Dlink=static {tmp_path}/build {sources}\n" in said.stdout


def test_man_pages_name_the_hooksdir(tmp_path):
    build = tmp_path / "build"
    meson("setup", "-Dtests=false", "-Dlink=shared", "-Dhooksdir=/opt/hooks", build, SOURCE_ROOT)
    for name, file in HOOKS.items():
        text = (build / f"man/{name}.8").read_text("utf-8")
        assert f"/opt/hooks/{file}" in text and str(HOOKS_DIR / file) not in text
