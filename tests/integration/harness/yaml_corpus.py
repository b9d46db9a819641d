# SPDX-License-Identifier: Apache-2.0
"""Texts in YAML, good and bad, as records with the fields of tests/integration/cdi_yaml_oracle.go."""

import random
from pathlib import Path

NUMBERS = """
0 1 -1 +1 00 -0 +0 007 0660 -0660 +0660 08 09.5 0_7 0o17 0O17 -0o17 0o8 0o 0x1F 0X1f -0x1f +0x1F 0x 0xg 0x_1 0x1_0
0x1p4 0x1.8p1 0b101 0B101 -0b101 +0b101 0b2 0b 0b_1 -0b 0b-11 0b+11 -0b-11 -0b+11 +0b-1 0b-_1 0b-2 0x-1 0o-7 1_000 _1
1_ 1__0 -_1 +_1 -1_0 1_0.5 1._5 .5_0 ._5 .5_ .1_2e3 432 4294967295 4294967296 9223372036854775807 9223372036854775808
-9223372036854775808 -9223372036854775809 +9223372036854775808 18446744073709551615 18446744073709551616
0xFFFFFFFFFFFFFFFF 0x10000000000000000 1.0 1. .5 -.5 +.5 . .. ... -. +. 1.5 1e3 1E3 1e+3 1e-3 -1e3 +1e3 1e 1e+ e3 1.e3
.e3 1.5e1 1e18 1e19 1e22 1e400 -1e400 1e-400 -1e-400 1e30000 0e9 0.1e1 1.10 0.0001 0.00001 100000 1000000 1e5 1e6
123456789 1.23456789 16777217.0 3.4e38 3.5e38 -3.5e38 1e-45 1e-46 9007199254740993.0 4503599627370497.5 .inf .Inf .INF
.iNf -.inf -.Inf -.INF +.inf +.INF inf -inf +inf Inf infinity nan NaN .nan .NaN .NAN .Nan -.nan +.nan 1:30 1:30:00
190:20:30.15 -1:30 0:0 2001-01-01 2001-1-1 2001-13-01 2001-01-01T00:00:00Z 2001-01-01t00:00:00+01:00
2001-01-01T24:00:00Z 20010101 2001-01 1,000 1,2.3 1/2 1% $1 0x1F.8 1f 1u 0777L ٣ １ 1.2.3 1-2 - -- --- + ++ +-1 -+1
""".split()
WORDS = r"""
y Y yes Yes YES yEs n N no No NO nO true True TRUE tRUE false False FALSE on On ON oN off Off OFF oFF t f T F o O
~ null Null NULL nULL nil None none undefined ~~ ~a <<  = === a /dev/a a.b a:b a#b a-b -a a, %a @a `a &a *a !a !!a ?a ?
: :a a: | > |- >+ ä é ſ K [] {} [a] {a:b} [~] [[]] [a,b] "" '' "a" 'a' "~" '1' "1" 'yes' "0660" '~'
"a\tb" "a\nb" "\x41" "\u00e4" "\U0001F600" "\ud83d\ude00" "\e" "\_" "\N" "\L" "\/" "\q" "\0" '''' 'a''b' "a\"b" "\uD800"
"\U00110000" "a 'a "a" 'a'b "a"b 'a'#b 'a':
""".split() + ["a\tb", "\u2028", "\u0085", "\ufeff", "\U0001f600", "\x7f", "\xa0", "{a: b}", "[a, b]"]
TAGS = """
! !own !!str !!int !!float !!bool !!null !!binary !!timestamp !!seq !!map !!merge !!set !!own !!
!<tag:yaml.org,2002:str> !<tag:yaml.org,2002:int> !<!own> !e!own
""".split()
TAGGED = ["5", "0660", "'5'", '"0660"', "5.5", "yes", "'yes'", "x", "~", "''", "2001-01-01", "2001-13-01", "aGk=", "a=",
          "<<", "[]", "[5]", "{}", "{text: 5}", "9223372036854775808", "1e400", "- 5"]
VALUES = [*NUMBERS, *WORDS, *TAGS, *(f"{tag} {value}" for tag in TAGS for value in TAGGED), ""]

# Where @ is a value.
PLACES = ["{text: @}", "text: @\n", "text:   @   # a\n", "{number: @}", "number: @\n", "{small: @}", "{flag: @}",
          "flag: @\n", "{texts: [@]}", "texts:\n- @\n", "texts:\n  - @\n  - x\n", "{texts: @}", "{notes: {a: @}}",
          "{notes: {@: a}}", "notes:\n  @: a\n", "notes:\n  ? @\n  : a\n", "{@: 1}", "@: 1\n", "{part: @}",
          "part:\n  @\n", "{parts: [@]}", '{"text": @}', '{"number": @}', '{"notes": {@: "a"}}', "@", "--- @\n", "? @\n",
          "part: {text: @, number: 5}\n"]

MARK = "\ufeff"
BYTES = [  # of no encoding, of another one, marks of the order of bytes, and ends of lines
    b"text: \xff", b"text: \xc0\x80", b"text: \xed\xa0\x80", b"text: \xf4\x90\x80\x80", b"text: \xe4",
    b"text: \xc3\xa4", b"text: \xc3", b"\xff\xfe", b"\xff\xfet", b"\xef\xbb",
    *("text: a".encode(code) for code in ("utf-16", "utf-16-le", "utf-16-be")),
    b"\xff\xfe" + "text: ä".encode("utf-16-le"), b"\xfe\xff" + "text: ä".encode("utf-16-be"),
    *(text.encode() for text in (
        "", "\n", " ", "\t", MARK, f"{MARK}text: a\n", f"{MARK}{MARK}text: a\n", f"{MARK}{{text: a}}", f"text: {MARK}a",
        f"text: {MARK}\na", f"text: a{MARK}", f"text: a\n{MARK}", f"---\n{MARK}text: a\n", "text: a\r\nnumber: 5\r\n",
        "text: a\rnumber: 5\r", "text: a\n\rnumber: 5", "text: a\u0085number: 5\n", "text: a\u2028number: 5\n",
        "text: a\u2029number: 5\n", "text: |\r\n  a\r\n  b\r\n", "text: |\n  a\u2028  b\n", 'text: "a\u2028b"\n')),
    *(f"text: {letter}".encode("utf-8", "surrogatepass") for letter in
      "\0\x01\x07\x1b\x7f\x80\x9f\xa0\xad\ud7ff\ud800\ue000\ufffd\ufffe\uffff\U0001f600\U0010ffff"),
    b"text: a\0", b"text: a\0b", b"text: a\n\0", b"\0", b"{text: a}\0", b'{"text":\r\n"a"}', b'{"text": "a"}\r\n',
    b' {"text": "a"} ',
]
JSON = r"""
{"text" : "a"}
{"text": "a	b"}
{"text": "\u0061"}
{"text": "\ud83d\ude00"}
{"text": "\\\""}
{"text": "a\/b"}
{"\u0074ext": "a"}
{"text": 1E3}
{"number": -0}
{"number": 01}
{"number": 1.}
{"flag": True}
{"text": null}
{"text": "a",}
{"text": "a" "number": 5}
{"text": "a"}{}
{"texts": [1, 1.5, true, null, "a"]}
{"texts": []}
{"notes": {"a": 1, "b": null}}
{"notes": {"a": "b", "a": "c"}}
{"parts": [{}, {"text": "a"}]}
{"parts": [{}, {"text": "a"},]}
// a {"text": "a"}
{"text": 'a'}
{"text": "a"} # b
{"text":/a}
{"text": ["a"]}
[{"text": "a"}]
""".strip("\n").split("\n")
LARGE = [
    *(f'{{notes: {{"{"a" * count}": 1}}}}' for count in range(1018, 1025)),
    *(f"notes:\n  {'a' * count}: 1\n" for count in range(1021, 1028)),
    *(f'notes:\n  "{"a" * count}": 1\n' for count in range(1019, 1026)),
    f"notes:\n  {'a' * 995}{' ' * 40}: 1\n", f"notes:\n  ? {'a' * 2000}\n  : 1\n", f'notes:\n  "{"ä" * 600}": 1\n',
    "text: " + "a" * 100000, "texts: [" + "a, " * 20000 + "]", "texts:\n" + "- a\n" * 20000, "\n" * 10000 + "text: a",
    "text: " + " " * 10000 + "a", "text: 1" + "0" * 400, "number: 0" + "0" * 400 + "1", "number: 0x" + "0" * 100 + "1",
    "number: 1" + "_" * 100 + "0", "number: 1." + "0" * 400, "text: 0." + "0" * 400 + "1",
    "text: -0." + "0" * 400 + "1", "text: ." + "0" * 400 + "1", "number: 9007199254740993e3",
    "number: 9223372036854774784.0", "small: 1e0", f"text: &x {'a' * 5000}\npart: {{text: *x}}",
    *("{part: " * depth + "{}" + "}" * depth for depth in (60, 63, 64, 200)), "parts: [" + "{}, " * 1000 + "]",
]


def nested_aliases(depth, width):
    """A text that stands for width ** depth records."""
    text = "parts: &p0 [{text: a}]\npart:\n"
    for level in range(1, depth):
        items = ", ".join([f"{{parts: *p{level - 1}}}"] * width)
        text += f"{'  ' * level}parts: &p{level} [{items}]\n{'  ' * level}part:\n"
    return text + "  " * depth + "text: end\n"


def written():
    """Each once, as bytes."""
    documents = Path(__file__).resolve().parents[1] / "yaml_documents.txt"
    lines = documents.read_text(encoding="utf-8").split("\n=====\n")
    texts = [place.replace("@", value, 1) for place in PLACES for value in VALUES]
    texts += [*lines, *(text + "\n" for text in lines), *JSON, *LARGE]
    texts += [nested_aliases(depth, width) for depth, width in ((3, 2), (5, 4), (9, 9))]
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
    lines = [" ", "  ", "\n", "\n  ", "\r\n", "---\n", "\n...\n", "%YAML 1.1\n---\n",
             "%TAG !e! tag:yaml.org,2002:\n---\n"]
    pieces = [piece.encode() for piece in [*NUMBERS, *WORDS, *TAGS, *signs, *words, *lines]] + [b"\xff"]
    for _ in range(count):
        text = chance.choice(short)
        for _ in range(chance.randint(1, 4)):
            text = changed(text, short, pieces, chance)
        yield text
