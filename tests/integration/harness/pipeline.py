# SPDX-License-Identifier: Apache-2.0
"""The little of YAML that the examples are written in, read without a library: mappings and lists by indentation of
two, plain scalars, and lists and mappings in one line. What is not of that kind is an error."""

import re

ENTRY = re.compile(r"(?P<key>[A-Za-z_][\w./-]*):(?: +(?P<value>\S.*))?$")
PLAIN = re.compile(r"""[\w/(~?.=+-][^#"'&*!|>%@`{}\[\],]*$|"[^"\\]*"$|\(\([a-z-]+\)\)$""")


def scalar(text):
    """A value in one line."""
    if text.startswith("[") and text.endswith("]"):
        return [scalar(word.strip()) for word in text[1:-1].split(",")]
    if text.startswith("{") and text.endswith("}"):
        return dict(pair(word.strip()) for word in text[1:-1].split(","))
    plain = re.sub(r",(?=\w)", "", text)  # a comma without a blank behind it is no separator outside of brackets
    assert PLAIN.match(plain) and ": " not in plain, text
    return text.strip('"')


def pair(text):
    found = ENTRY.match(text)
    assert found and found["value"], text
    return found["key"], scalar(found["value"])


def indent(line):
    return len(line) - len(line.lstrip(" "))


def block(lines, depth):
    """Takes what is indented by `depth` off the front of `lines`."""
    if lines[0].lstrip(" ").startswith("- "):
        return items(lines, depth)
    found = {}
    while lines and indent(lines[0]) == depth:
        entry = ENTRY.match(lines.pop(0).strip())
        assert entry and entry["key"] not in found, entry
        if entry["value"]:
            found[entry["key"]] = scalar(entry["value"])
        else:
            assert lines and indent(lines[0]) > depth and (indent(lines[0]) - depth) == 2, entry["key"]
            found[entry["key"]] = block(lines, depth + 2)
    return found


def items(lines, depth):
    found = []
    while lines and indent(lines[0]) == depth:
        line = lines[0]
        assert line[depth:depth + 2] == "- ", line
        lines[0] = " " * (depth + 2) + line[depth + 2:]
        found.append(block(lines, depth + 2))
    return found


def read(path):
    """The document in a file."""
    text = path.read_text(encoding="utf-8")
    assert "\t" not in text
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    document = block(lines, 0)
    assert not lines, lines[0]
    return document
