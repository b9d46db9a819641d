# SPDX-License-Identifier: Apache-2.0
"""The list of parts (SPDX) that packaging/sbom writes, beside what the linker's map and the specification say.

The specification is that of SPDX 2.3: chapters 6 (document), 7 (packages), 8 (files), 11 (relationships), annex D
(licence expressions).
"""

import hashlib
import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

SOURCE_ROOT = Path(__file__).resolve().parents[3]
EXECUTABLES = {"mount-srv": "hooks/mount-srv/mount-srv", "oci-gpu-hooks": "admin/oci-gpu-hooks"}
# Of SPDX's lists of licences and exceptions, those that may come up here.
LICENSES = {"Apache-2.0", "BSD-3-Clause", "GPL-2.0-only", "GPL-2.0-or-later", "GPL-3.0-or-later", "LGPL-2.1-only",
            "LGPL-2.1-or-later", "LGPL-3.0-or-later", "MIT"}
EXCEPTIONS = {"GCC-exception-3.1", "Linux-syscall-note"}


@pytest.fixture(name="tree", scope="module")
def tree_fixture(build_root, tmp_path_factory):
    tree = tmp_path_factory.mktemp("tree")
    subprocess.run(["meson", "install", "-C", build_root, "--no-rebuild", "--destdir", tree], check=True,
                   capture_output=True)
    return tree


@pytest.fixture(name="document", scope="module")
def document_fixture(build_root, tree, tmp_path_factory):
    output = tmp_path_factory.mktemp("parts") / "document.json"
    subprocess.run([SOURCE_ROOT / "packaging/sbom", build_root, tree, output], check=True, capture_output=True)
    return json.loads(output.read_text("utf-8"))


def archives_in_map(build_root, executable, tmp_path):
    """The names of the archives that are not this project's own and that gave a member."""
    said = subprocess.run(["ninja", "-C", build_root, "-t", "commands", "-s", executable], check=True,
                          capture_output=True, text=True).stdout
    command = shlex.split(said.splitlines()[-1])
    command[command.index("-o") + 1] = tmp_path / "linked"
    subprocess.run([*command, "-Wl,--strip-all", f"-Wl,-Map={tmp_path}/map"], check=True, cwd=build_root,
                   capture_output=True)
    head = (tmp_path / "map").read_text("utf-8").split("\nDiscarded input sections")[0]
    paths = set(re.findall(r"^(/\S+\.a)\(", head, re.MULTILINE))
    return {Path(path).name for path in paths}


@pytest.mark.parametrize("name", EXECUTABLES)
def test_it_names_each_library_that_the_linker_took(build_root, document, tmp_path, name):
    linked = [relation["relatedSpdxElement"] for relation in document["relationships"]
              if relation["spdxElementId"] == f"SPDXRef-File-{name}" and relation["relationshipType"] == "STATIC_LINK"]
    packages = {package["SPDXID"]: package for package in document["packages"]}
    for archive in archives_in_map(build_root, EXECUTABLES[name], tmp_path):
        [of] = [package for package in linked if f"{archive} of " in packages[package]["sourceInfo"]]
        assert packages[of]["versionInfo"][0].isdigit()


def test_it_says_who_links_what(document):
    """Most hooks have no business with YAML, and none with regular expressions."""
    linked = {(relation["spdxElementId"], relation["relatedSpdxElement"]) for relation in document["relationships"]
              if relation["relationshipType"] == "STATIC_LINK"}
    assert {("SPDXRef-File-mount-srv", f"SPDXRef-{part}") for part in ("libcap-ng", "libmd", "util-linux")} <= linked
    assert ("SPDXRef-File-oci-gpu-hooks", "SPDXRef-libyaml") in linked
    assert ("SPDXRef-File-mount-srv", "SPDXRef-libyaml") not in linked
    assert [name for name, part in linked if part == "SPDXRef-re2"] == ["SPDXRef-File-oci-gpu-hooks"]
    filters = {file for file, part in linked if part == "SPDXRef-libseccomp"}
    assert filters == {"SPDXRef-File-nvidia-devices-nvml"}


def test_headers_alone_are_parts_too(document):
    names = {package["name"] for package in document["packages"]}
    assert {"nlohmann-json3", "tomlplusplus"} <= names
    contained = {relation["relatedSpdxElement"] for relation in document["relationships"]
                 if relation["spdxElementId"] == "SPDXRef-File-oci-gpu-hooks"
                 and relation["relationshipType"] == "CONTAINS"}
    assert {"SPDXRef-nlohmann-json3", "SPDXRef-tomlplusplus"} <= contained


def test_the_document_is_valid(document):
    assert document["spdxVersion"] == "SPDX-2.3" and document["dataLicense"] == "CC0-1.0"
    assert document["SPDXID"] == "SPDXRef-DOCUMENT" and document["name"]
    assert re.fullmatch(r"https://[^#\s]+", document["documentNamespace"])
    assert re.fullmatch(r"\d{4}(-\d\d){2}T\d\d(:\d\d){2}Z", document["creationInfo"]["created"])
    assert all(re.match("(Person|Organization|Tool): ", who) for who in document["creationInfo"]["creators"])
    elements = ["SPDXRef-DOCUMENT", *(element["SPDXID"] for element in document["packages"] + document["files"])]
    assert all(re.fullmatch(r"SPDXRef-[a-zA-Z0-9.-]+", name) for name in elements)
    assert len(elements) == len(set(elements))
    for relation in document["relationships"]:
        assert {relation["spdxElementId"], relation["relatedSpdxElement"]} <= set(elements)
        assert relation["relationshipType"] in ("DESCRIBES", "CONTAINS", "STATIC_LINK")
    assert document["relationships"][0] == {
        "spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
        "relatedSpdxElement": "SPDXRef-oci-gpu-hooks"}


def is_expression(text):
    """Of annex D, without brackets, which nothing here needs."""
    for term in re.split(" AND | OR ", text):
        license_id, *exception = term.split(" WITH ")
        if license_id not in LICENSES or not set(exception) <= EXCEPTIONS:
            return False
    return True


def test_packages_are_valid(document):
    for package in document["packages"]:
        assert package["name"] and package["versionInfo"] and package["downloadLocation"] == "NOASSERTION"
        assert is_expression(package["licenseDeclared"])
        assert package["licenseConcluded"] == "NOASSERTION" or is_expression(package["licenseConcluded"])
        assert ("packageVerificationCode" in package) == package["filesAnalyzed"]
        for reference in package.get("externalRefs", []):
            assert reference["referenceCategory"] == "PACKAGE-MANAGER" and reference["referenceType"] == "purl"
            assert re.fullmatch(r"pkg:deb/debian/[a-z0-9.-]+@[A-Za-z0-9.~%:-]+\?arch=source",
                                reference["referenceLocator"])


def test_files_are_those_that_are_installed(document, tree):
    names = {path.name for path in [*(tree / "usr/local/libexec/oci/hooks.d").iterdir(),
                                    *(tree / "usr/local/bin").iterdir()]}
    assert {Path(file["fileName"]).name for file in document["files"]} == names
    digests = []
    for file in document["files"]:
        content = (tree / file["fileName"]).read_bytes()
        for checksum in file["checksums"]:
            assert hashlib.new(checksum["algorithm"].lower(), content).hexdigest() == checksum["checksumValue"]
        digests.append(hashlib.sha1(content).hexdigest())
    assert document["packages"][0]["packageVerificationCode"]["packageVerificationCodeValue"] == \
        hashlib.sha1("".join(sorted(digests)).encode()).hexdigest()
