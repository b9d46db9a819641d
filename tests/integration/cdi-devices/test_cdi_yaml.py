# SPDX-License-Identifier: Apache-2.0
"""What cdi-devices makes of YAML beside the library by which the reference implementation of CDI reads it, as Debian has
it: what the hook takes is what the library takes it for, but it may refuse more. Needs neither a container nor root."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from harness.yaml_corpus import mutated, written

TESTS = Path(__file__).resolve().parents[1]
CACHE = TESTS.parents[1] / "build/deps/go"
SEED, MUTATED = 20261124, 60_000

# What only the hook takes: what is to be in the text, and in what the library says.
LOOSER = (
    ("an escape of JSON, which Go's library does not know", rb"\\/", "unknown escape character"),
    ("a question mark does not end a text in a flow, for libyaml", rb"\?",
     "did not find|end of stream|cannot start any token"),
    ("a byte order mark may begin any document, or the end, for libyaml", b"(?s).\xef\xbb\xbf",
     "could not find expected|did not find expected|unknown field .*ufeff|cannot unmarshal string"),
    ("libyaml reads a later version of YAML as well", b"%YAML 1.2", "incompatible YAML document"),
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


def compare(texts, record, oracle):
    """How many both take, the reasons why only the hook takes some, and what it takes without one or for another."""
    ours, theirs = answers(record, texts), answers(oracle, texts)
    assert len(ours) == len(theirs) == len(texts)
    taken, met, unexplained = 0, set(), []
    for text, our, their in zip(texts, ours, theirs):
        if "error" in our:
            continue
        if our == their:
            taken += 1
            continue
        reasons = [why for why, pattern, said in LOOSER
                   if re.search(pattern, text) and re.search(said, their.get("error", ""))]
        met.update(reasons[:1])
        if not reasons:
            unexplained.append((text, our, their))
    return taken, met, unexplained


def test_what_is_written_by_rule(record, oracle):
    texts = written()
    taken, met, unexplained = compare(texts, record, oracle)
    assert not unexplained, unexplained[:20]
    assert taken > 900 and len(texts) - taken > 2000
    assert met == {row[0] for row in LOOSER}, "a difference that there is no more, or not yet"


def test_what_is_nearly_that(record, oracle):
    texts = list(mutated(written(), MUTATED, SEED))
    taken, _, unexplained = compare(texts, record, oracle)
    assert not unexplained, unexplained[:20]
    assert taken > MUTATED / 40
