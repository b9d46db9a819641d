# SPDX-License-Identifier: Apache-2.0
"""What cdi-devices(8) and docs/cdi.md show, as it stands there."""

import json

import pytest

from harness import concourse, engines
from harness.cdi_fixtures import MAJOR
from harness.expect import started
from harness.pages import guide, page, value_at

pytest_plugins = ["harness.nvidia_fixtures", "harness.cdi_fixtures"]

LOOK = "stat -c '%t:%T' /dev/dri/card0"


@pytest.fixture(name="text")
def text_fixture():
    return page("cdi-devices.8")


@pytest.fixture(name="vendors")
def vendors_fixture(cdi_host):
    """A host with what the page asks for."""
    cdi_host.device("dri/card0", 5)
    for kind, name in (("intel.com/gpu", "gpu0"), ("nvidia.com/gpu", "all")):
        cdi_host.spec(f"{name}.json", {name: {"deviceNodes": [{"path": "/dev/dri/card0"}]}}, kind=kind)
    return cdi_host


@pytest.mark.parametrize("engine", engines.RUNTIMES, ids=str)
def test_the_entry_for_config_json(cdi_box, vendors, text, engine):
    lines = value_at("{" + text[text.index('"annotations": {'):].split("\n\n", 1)[0] + "}", 0)
    box = cdi_box(engine=engine)
    entry, = lines["hooks"]["createRuntime"]
    assert entry["path"].endswith("/libexec/oci/hooks.d/cdi-devices")
    box.times, box.first = 0, [{**entry, "path": str(box.hook.executable),
                                "args": [*entry["args"], "--sysroot", str(vendors)]}]
    box.annotations.update(lines["annotations"])
    assert started(box.run(LOOK)) == f"{MAJOR:x}:5\n"


@pytest.mark.parametrize("step, given", [("task", True), ("get", False)])
def test_the_file_for_concourse(cdi_box, vendors, step, given):
    text = guide("cdi.md")
    document = value_at(text, text.index("{", text.index("each task has the")))
    box = cdi_box()
    box.args = [*document["hook"]["args"][1:], *box.args]
    assert document["when"] == {"always": True} and document["stages"] == ["createRuntime"], json.dumps(document)
    result = concourse.make(box, step).run(LOOK)
    assert (result.code == 0 and result.out == f"{MAJOR:x}:5\n") is given, result
