# SPDX-License-Identifier: Apache-2.0
"""Texts in YAML, good and bad, as records with the fields of tests/integration/cdi_yaml_oracle.go."""

import random
from pathlib import Path

# What programs write, and what is a number or a word for some reader of YAML.
SCALARS = r"""
0 1 -1 5 432 4294967295 4294967296 999999999999999999 9223372036854775808 0660 00 08 true false null ~
a /dev/a a.b a:b a#b a-b -a 0.5.0 v0.5.0 1g.5gb --link 0:1 1:30 10.0.0.1 none now ä "a" 'a' "1" '0660' 'yes' '~' "" ''
"a\tb" "\x41" "\u00e4" "\U0001F600" "\/" "\q" "\0" 'a''b' "a\"b" 'a': [] {} [~] [a,b] {a:b} "a 'a
-0 +0 -0660 0_7 0o17 -0O17 0x1F -0x1f 0_x1F 0x_1 0x1p4 0b101 0b-11 -0b-11 1_000 _1 -_1 +_0x1 1_0.5 .5_0 ._5 1.0 1. .5
-.5 . .. -. +. 1.5 1e3 1E+3 1e-3 e3 1.e3 1e400 0.0001 .inf .Inf -.INF +.inf inf .nan .NaN -.nan nan 2001-01-01
2001-01-01T00:00:00Z 1,000 1/2 1% 1f 0777L ٣ 1.2.3 1-2 - -- + +-1 y Y yes Yes YES yEs n no No on ON oN off OFF t T True
TRUE tRUE False f Null NULL nULL nil ~~ ~a << = a, %a @a `a &a *a !a !!str ?a ? : :a a: | > [ } ſ
""".split() + ["", "a\tb", "\u2028", "\ufeff", "{a: b}", "[a, b]"]

# Where @ is a value.
PLACES = ["{text: @}", "text: @\n", "{number: @}", "number: @\n", "{small: @}", "{flag: @}", "flag: @\n",
          "{texts: [@]}", "texts:\n- @\n", "texts:\n  - @\n  - x\n", "{notes: {a: @}}", "{notes: {@: a}}",
          "notes:\n  @: a\n", "notes:\n  ? @\n  : a\n", "@: 1\n", "{part: @}", "{parts: [@]}", '{"text": @}',
          '{"number": @}', "@", "part: {text: @, number: 5}\n"]

MARK = "\ufeff"
BYTES = [  # of no encoding, of another one, marks of the order of bytes, and ends of lines
    b"text: \xff", b"text: \xc0\x80", b"text: \xed\xa0\x80", b"text: \xc3\xa4", b"text: \xc3", b"\xff\xfe", b"\xef\xbb",
    *("text: a".encode(code) for code in ("utf-16", "utf-16-le", "utf-16-be")),
    *(text.encode() for text in (
        "", "\n", "\t", MARK, f"{MARK}text: a\n", f"{MARK}{{text: a}}", f"text: {MARK}a", f"text: a\n{MARK}",
        f"---\n{MARK}text: a\n", "text: a\r\nnumber: 5\r\n", "text: a\rnumber: 5\r", "text: a\u0085number: 5\n",
        "text: a\u2028number: 5\n", "text: |\r\n  a\r\n  b\r\n", 'text: "a\u2028b"\n', "text: \x07", "text: \x7f",
        "text: \x80", "text: a\0b", "\0", '{"text":\r\n"a"}', '{"text": "a"}\r\n', ' {"text": "a"} ')),
]
JSON = r"""
{"text" : "a"}
{"text": "\ud83d\ude00"}
{"text": "\\\""}
{"text": "a\/b"}
{"\u0074ext": "a"}
{"number": -0}
{"number": 01}
{"text": null}
{"text": "a",}
{"text": "a" "number": 5}
{"text": "a"}{}
{"texts": [1, true, null, "a"]}
{"texts": []}
{"notes": {"a": 1, "b": null}}
{"notes": {"a": "b", "a": "c"}}
{"parts": [{}, {"text": "a"}]}
{"text": "a"} # b
[{"text": "a"}]
""".strip("\n").split("\n")
LARGE = [
    *(f'{{notes: {{"{"a" * count}": 1}}}}' for count in (1018, 1021, 1024)),
    *(f"notes:\n  {'a' * count}: 1\n" for count in (1021, 1024, 1027)),
    "text: " + "a" * 100000, "texts: [" + "a, " * 20000 + "]", "texts:\n" + "- a\n" * 20000, "\n" * 10000 + "text: a",
    f"text: &x {'a' * 5000}\npart: {{text: *x}}",
    *("{part: " * depth + "{}" + "}" * depth for depth in (60, 63, 64, 200)), "parts: [" + "{}, " * 1000 + "]",
]


def written():
    """Each once, as bytes."""
    documents = Path(__file__).resolve().parents[1] / "yaml_documents.txt"
    lines = documents.read_text(encoding="utf-8").split("\n=====\n")
    texts = [place.replace("@", value, 1) for place in PLACES for value in SCALARS]
    texts += [*lines, *(text + "\n" for text in lines), *JSON, *LARGE]
    return list(dict.fromkeys([*(text.encode() for text in texts), *BYTES]))


def changed(text, others, pieces, chance):
    """With something put in, left out, or taken from another."""
    begin = chance.randint(0, len(text))
    end = min(len(text), begin + chance.choice((0, 0, 0, 1, 1, 2, 5)))
    way = chance.random()
    if way < 0.6:
        piece = chance.choice(pieces)
    elif way < 0.8:
        other = chance.choice(others)
        start = chance.randint(0, len(other))
        piece = other[start:start + chance.randint(0, 30)]
    else:
        piece, end = b"", max(end, begin + 1)
    return text[:begin] + piece + text[end:]


def mutated(texts, count, seed):
    """So many, each made of a short one of these."""
    chance = random.Random(seed)
    short = [text for text in texts if len(text) < 300]
    signs = ["'", '"', "{", "}", "[", "]", "#", " #", "&x ", "*x", ":", ": ", ", ", "- ", "? ", "\\", "\0", MARK, "\t"]
    words = ["text", "number: 5", "texts: ", "part: ", "parts: ", "notes: ", "<<: ", "<<: *x", "|\n  ", ">-\n  "]
    lines = [" ", "  ", "\n", "\n  ", "\r\n", "---\n", "\n...\n", "%YAML 1.1\n---\n"]
    pieces = [piece.encode() for piece in [*SCALARS, *signs, *words, *lines]] + [b"\xff"]
    for _ in range(count):
        text = chance.choice(short)
        for _ in range(chance.randint(1, 4)):
            text = changed(text, short, pieces, chance)
        yield text
