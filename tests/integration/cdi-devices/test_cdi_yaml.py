# SPDX-License-Identifier: Apache-2.0
"""What cdi-devices makes of YAML beside the library by which the reference implementation of CDI reads it, from Debian's
package: texts for each rule of YAML 1.1, and many that are nearly such. Neither a container nor root is needed."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from harness.yaml_corpus import mutated, written

TESTS = Path(__file__).resolve().parents[1]
CACHE = TESTS.parents[1] / "build/deps/go"
SEED, MUTATED = 20261123, 60_000

# Why the two do not agree: what is to be in the text, and in what the hook says, or the library.
STRICTER = (
    ("a path would be cut short there", rb"\\0|\\x00|\\u0000", "has a NUL character"),
    ("there is a limit", rb"(?s).{400}", "nested deeper than 64 levels"),
    ("one key, twice, whatever its case, type or base", b"", "the key '.*' is there twice"),
    ("nobody writes these", b"!", "tag '!!(binary|timestamp)' is not understood here"),
    ("Go takes ſ for s, and K (Kelvin) for k", "[ſK]".encode(), "is not known"),
    ("of an empty list or mapping at the beginning Go's library reads no further", rb"^[^,:]*(\{\s*\}|\[\s*\])", ""),
    ("an escape that only Go's library knows", rb"\\'", "unknown escape character"),
    ("libyaml wants a colon behind a byte order mark on a line of its own", b"\xef\xbb\xbf\\s",
     "could not find expected ':'"),
    ("a tag ends at one of these, for libyaml", rb"![^\s]*[,\[\]{}]", ""),
    ("a colon ends a text in a flow, for libyaml", rb":[,\[\]{}]", "found unexpected ':'"),
)
LOOSER = (
    ("an escape of JSON, which Go's library does not know", rb"\\/", "unknown escape character"),
    ("a tag ends at one of these, for libyaml", rb"![^\s]*[,\[\]{}]", "did not find|unexpected"),
    ("a question mark does not end a text in a flow, for libyaml", rb"\?",
     "did not find|end of stream|cannot start any token"),
    ("a byte order mark may begin a document or the end, for libyaml", b"(?s)\n.*\xef\xbb\xbf",
     "could not find expected ':'|unknown field .*ufeff|cannot unmarshal string"),
    ("libyaml reads a later version of YAML as well", b"%YAML 1.2", "incompatible YAML document"),
    ("0.0 and -0.0 are one key for Go", rb"-0?\.0", "key -?0 already set"),
)
OTHER = (
    ("digits behind the fifteenth of what is no whole number, or said to be none", rb"\d[\d_.]{14}"),
    ("a tag ends at one of these, for libyaml", rb"![^\s]*[,\[\]{}]"),
)


@pytest.fixture(name="oracle", scope="module")
def oracle_fixture():
    """The library's program. Go knows what of it has been compiled before."""
    program = CACHE / "cdi_yaml_oracle"
    CACHE.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "GOCACHE": str(CACHE / "cache"),
                   "GOFLAGS": "", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"}
    subprocess.run(["go", "build", "-o", program, TESTS / "cdi_yaml_oracle.go"], check=True, env=environment)
    return program


@pytest.fixture(name="record", scope="module")
def record_fixture(build_root):
    return build_root / "tests/integration/cdi_yaml_record"


def answers(program, texts):
    """Of each text the value, or why it is refused."""
    said = subprocess.run([program], input=b"".join(b"%d\n%s" % (len(text), text) for text in texts), check=True,
                          stdout=subprocess.PIPE).stdout
    return [json.loads(line) for line in said.splitlines()]


def why_other(text, ours, theirs):
    """The reason for a difference; nothing if there is none that is known."""
    if "error" in ours:
        known = [why for why, pattern, said in STRICTER if re.search(pattern, text) and re.search(said, ours["error"])]
    elif "error" in theirs:
        known = [why for why, pattern, said in LOOSER if re.search(pattern, text) and re.search(said, theirs["error"])]
    else:
        known = [why for why, pattern in OTHER if re.search(pattern, text)]
    return known[0] if known else None


def compare(texts, record, oracle):
    """How many both take, the reasons for differences that were met, and differences without one."""
    ours, theirs = answers(record, texts), answers(oracle, texts)
    assert len(ours) == len(theirs) == len(texts)
    taken, met, unexplained = 0, set(), []
    for text, our, their in zip(texts, ours, theirs):
        if "error" in our and "error" in their:
            continue
        if our == their:
            taken += 1
        elif reason := why_other(text, our, their):
            met.add(reason)
        else:
            unexplained.append((text, our, their))
    return taken, met, unexplained


def test_what_is_written_by_rule(record, oracle):
    texts = written()
    taken, met, unexplained = compare(texts, record, oracle)
    assert not unexplained, unexplained[:20]
    assert len(texts) > 20_000 and 6_000 < taken < len(texts) - 6_000
    assert met == {row[0] for row in (*STRICTER, *LOOSER, *OTHER)}, "a difference that there is no more, or not yet"


def test_what_is_nearly_that(record, oracle):
    texts = list(mutated(written(), MUTATED, SEED))
    taken, _, unexplained = compare(texts, record, oracle)
    assert not unexplained, unexplained[:20]
    assert taken > MUTATED / 20
