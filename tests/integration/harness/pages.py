# SPDX-License-Identifier: Apache-2.0
"""The man pages and guides, as people read them."""

import json
import re
import subprocess
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[3]


def page(name):
    """A man page as a person reads it, without bold type."""
    text = subprocess.run(["mandoc", "-T", "utf8", PROJECT / "man" / name], check=True,
                          capture_output=True, encoding="utf-8").stdout
    return re.sub(".\b", "", text)


def guide(name):
    """A guide of docs/."""
    return (PROJECT / "docs" / name).read_text("utf-8")


def value_at(text, place):
    """The JSON value that begins there."""
    return json.JSONDecoder().raw_decode(text[place:].lstrip())[0]
