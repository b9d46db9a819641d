# SPDX-License-Identifier: Apache-2.0
"""Specifications of the Container Device Interface, good and bad, each for one rule of it, and what the hook makes of
them. Engines make the same of them, but where a word says why not.

The reference implementation of CDI is a library: podman 4.3 has 0.5, podman 5.4 has 0.8."""

import json
import re
from dataclasses import dataclass, field

OLD, LATER = "0.5", "0.8"

NEWER = "its library is older than that"
FIRST = "0.3.0 is the first for newer libraries, and any will do for this one"
UNCHECKED = "newer libraries check what a version has"
NO_DEVICE = "newer libraries want a device"
TWICE = "of keys that differ by their case the library takes the last; here they are one key, twice"
STRICT = "not understood here, and nobody writes it"
ESCAPE = "an escape of JSON that the library's YAML does not know, and libyaml does"
ANOTHER = "what lies there on the host is another device: libraries do not look, and the hook wants to know why"
CRASH = "the library crashes"
RUNTIME = "only a runtime can do that, so a hook says so when the device is asked for"


@dataclass
class Entry:
    """A file, of which one device is asked for. `@` in the text is a number of its own."""

    text: str
    accepted: bool = True
    name: str = "d"  # of the device
    differs: dict = field(default_factory=dict)  # why a library does not agree, by its version
    plan: str = ""  # why the hook refuses the device itself
    form: str = "yaml"


NODE = "deviceNodes: [{path: /dev/s@, type: c, major: 241, minor: @}]"


def file_of(edits, version="0.5.0", kind="s@.com/cc", name="d", more=""):
    return f"{{cdiVersion: {version}, kind: {kind}, {more}devices: [{{name: {name}, containerEdits: {{{edits}}}}}]}}"


def node(fields):
    return file_of(f"deviceNodes: [{{path: /dev/s@, {fields}}}]")


def refused(text, **more):
    return Entry(text, accepted=False, **more)


def versions():
    known = [f"0.{minor}.0" for minor in range(3, 9)] + ["1.0.0", "1.1.0"]
    for version in known:
        unknown_to = [library for library, last in ((OLD, "0.5.0"), (LATER, "0.8.0")) if version > last]
        yield Entry(file_of(NODE, version), differs=dict.fromkeys(unknown_to, NEWER))
    yield Entry(file_of(NODE, "v0.5.0"), differs={OLD: NEWER})
    for version in ("0.1.0", "0.2.0"):
        yield refused(file_of(NODE, version), differs={OLD: FIRST})
    for version in ("''", "~", "0.5", "0.5.0.0", "vv0.5.0", "V0.5.0", "0.9.0", "1.1.1", "1.2.0", "' 0.5.0'", "[]", "5"):
        yield refused(file_of(NODE, version))


def fields_of_versions():
    """Each field with the version that brought it, and with the one before."""
    mount = "mounts: [{hostPath: /etc, containerPath: /s@, type: bind, options: [ro]}]"
    host_path = "deviceNodes: [{path: /dev/s@, hostPath: /dev/null}]"
    digit = dict(edits=NODE, name="7")
    yield Entry(file_of(mount, "0.4.0"))
    yield refused(file_of(mount, "0.3.0"), differs={OLD: UNCHECKED})
    yield Entry(file_of(host_path, "0.5.0"))
    yield refused(file_of(host_path, "0.4.0"), differs={OLD: UNCHECKED})
    yield Entry(file_of(version="0.5.0", **digit), name="7")
    yield refused(file_of(version="0.4.0", **digit), name="7", differs={OLD: UNCHECKED})
    for before, since, edits, more, libraries in (
            ("0.5.0", "0.6.0", NODE, dict(kind="s@.com/c.d"), [OLD]),
            ("0.5.0", "0.6.0", NODE, dict(more="annotations: {a: b}, "), [OLD]),
            ("0.6.0", "0.7.0", "additionalGids: [0, 5]", {}, [OLD]),
            ("0.6.0", "0.7.0", "intelRdt: {closID: a}", {}, [OLD]),
            ("0.6.0", "0.7.0", "intelRdt: {}", {}, [OLD]),
            ("0.6.0", "0.7.0", "intelRdt: {l3CacheSchema: a, memBwSchema: b, enableCMT: true}", {}, [OLD]),
            ("1.0.0", "1.1.0", "netDevices: [{hostInterfaceName: a, name: b}]", {}, [OLD, LATER]),
            ("1.0.0", "1.1.0", "intelRdt: {schemata: []}", {}, [OLD, LATER]),
            ("1.0.0", "1.1.0", "intelRdt: {enableMonitoring: true}", {}, [OLD, LATER])):
        plan = RUNTIME if "Rdt" in edits or "net" in edits else ""
        yield Entry(file_of(edits, since, **more), plan=plan, differs=dict.fromkeys(libraries, NEWER))
        yield refused(file_of(edits, before, **more))
    yield refused(file_of("intelRdt: {enableCMT: true}", "1.1.0"))
    for annotations in ("{}", "~"):
        yield Entry(file_of(NODE, more=f"annotations: {annotations}, "), differs={OLD: NEWER})
    for annotations in ("{-a: b}", "{a b/c/d: 1}", "{1: 2, 'yes': true, ~x: ~}"):
        yield Entry(file_of(NODE, "0.6.0", more=f"annotations: {annotations}, "), differs={OLD: NEWER})
    for annotations in ("[]", "{a: []}", "{a: {}}", "{a: b, a: c}", "{~: a}", "a"):
        yield refused(file_of(NODE, "0.6.0", more=f"annotations: {annotations}, "))
    yield Entry(file_of("deviceNodes: [{path: /dev/s@, type: c, major: 241, minor: @, permissions: none}]"),
                differs={OLD: NEWER, LATER: NEWER})


def scalars():
    """What programs write, and what only the library reads."""
    unread = dict.fromkeys((OLD, LATER), STRICT)
    for written in ("0", "5", "true", "1:30", "0.5.0", "never", "'0660'", "\"yes\""):
        yield Entry(file_of(NODE, name=written), name=written.strip("'\""))
    for written, text in (("0660", "432"), ("0x1F", "31"), ("1e3", "1000"), ("1.10", "1.1"), ("1_0", "10"),
                          ("Yes", "true"), ("off", "false"), (".nan", "NaN"), ("!!str 0660", "0660"), ("tRue", "tRue"),
                          ("2001-01-01", "2001-01-01")):
        yield refused(file_of(NODE, name=written), name=text, differs=unread)
    for written in ("~", "", "null", "-5", "+", "''", "[a]"):
        yield refused(file_of(NODE, name=written))
    for written in ("7", "~", "0660"):
        yield Entry(node(f"type: c, major: 241, minor: {written}"))
    for written in ("8.0", "1e3", "0b11", "1_0", "+7", "0x1F", "08", "!!int '5'"):
        yield refused(node(f"type: c, major: 241, minor: {written}"), differs=unread)
    for written in ("'1'", "true", "1.5", "x", "9223372036854775808", "[]", "{}", "''"):
        yield refused(node(f"type: c, major: 241, minor: {written}"))
    for written in ("0660", "432", "~", "0"):
        yield Entry(node(f"type: c, major: 241, minor: @, fileMode: {written}, uid: 7, gid: 8"))
    for written in ("-1", "4294967296", "'0660'", "rw"):
        yield refused(node(f"type: c, major: 241, minor: @, fileMode: {written}"))
        yield refused(node(f"type: c, major: 241, minor: @, uid: {written}"))


def names():
    for kind in ("s@/cc", "s-b_c.d@/x_y-1", "S1@/b2"):
        yield Entry(file_of(NODE, kind=kind))
    for kind in ("v", "/cc", "vv/", "1v/cc", "v-/cc", "vv/1c", "vv/c_", "vv/cc/d", "'v w/cc'", "'v:w/cc'", "''", "~",
                 "vä/cc", "[]"):
        yield refused(file_of(NODE, kind=kind))
    yield Entry(file_of(NODE, kind="s/c@"), differs=dict.fromkeys((OLD, LATER), CRASH))  # a vendor of one letter
    for name in ("a", "0", "'0:1'", "GPU-1_2.3", "all", "a__b", "0a"):
        yield Entry(file_of(NODE, name=name), name=name.strip("'"))
    for name in ("-a", "a-", "'a b'", "a/b", "a=b", "'*'", "ä", "'a,b'", "_a", "a."):
        yield refused(file_of(NODE, name=name))


def keys():
    for old, new in (("cdiVersion", "CDIVERSION"), ("kind", "Kind"), ("devices", "Devices"), ("name", "NAME"),
                     ("containerEdits", "containeredits"), ("deviceNodes", "DEVICENODES"), ("path", "Path"),
                     ("type", "tYPE"), ("major", "MAJOR"), ("minor", "mInor")):
        yield Entry(re.sub(rf"\b{old}:", f"{new}:", file_of(NODE)))
    yield Entry(file_of(f"{NODE}, Env: [A=b], hooks: [{{hookname: poststop, PATH: /a, Args: [a], ENV: [A=b],"
                        " TimeOut: 5}]"),
                plan=RUNTIME)
    yield Entry(file_of("mounts: [{hostpath: /etc, CONTAINERPATH: /s@, Options: [ro]}]"))
    for text in (file_of(NODE, more="other: 1, "), file_of(NODE, more="other: ~, "), file_of(f"{NODE}, other: 1"),
                 node("other: 1"), file_of("mounts: [{hostPath: /a, containerPath: /b, other: 1}]"),
                 file_of("hooks: [{hookName: prestart, path: /a, other: 1}]"), file_of(f"{NODE}, {NODE}"),
                 file_of(NODE, more="kind: s@.com/cc, "), file_of(f"{NODE}, <<: {{env: [A=b]}}, env: [A=b]"),
                 file_of(f"{NODE}, [env]: [A=b]"), file_of(f"{NODE}, ~: 1"), file_of(f"{NODE}, '<<': {{}}"),
                 file_of(f"{NODE}, !!str <<: {{}}"), file_of(f"{NODE}, <<: 5"), file_of(f"{NODE}, <<: [5]")):
        yield refused(text)
    yield refused(file_of("additionalGIDs: [1], additionalGids: [2]", "0.7.0"), differs={LATER: TWICE})
    yield refused(file_of(f"{NODE}, env: [A=b], ENV: [A=c]"), differs=dict.fromkeys((OLD, LATER), TWICE))


def values():
    """Of the wrong kind, absent, or empty."""
    for edits in ("env: [A]", "env: ['=b']", "env: A=b", "env: [[A=b]]", "env: {}", "env: [~]", "deviceNodes: [{}]",
                  "deviceNodes: {}",
                  "deviceNodes: [a]", "deviceNodes: [[]]", "mounts: [{hostPath: /a}]", "mounts: [{containerPath: /a}]",
                  "mounts: [{hostPath: '', containerPath: /a}]",
                  "mounts: [{hostPath: /a, containerPath: /b, options: ro}]",
                  "mounts: [{hostPath: [], containerPath: /b}]", "hooks: [{hookName: never, path: /a}]",
                  "hooks: [{path: /a}]",
                  "hooks: [{hookName: prestart}]", "hooks: [{hookName: PreStart, path: /a}]",
                  "hooks: [{hookName: prestart, path: /a, env: [x]}]",
                  "hooks: [{hookName: prestart, path: /a, timeout: x}]",
                  "hooks: [{hookName: prestart, path: /a, timeout: 1.5}]",
                  "hooks: [{hookName: prestart, path: /a, args: x}]",
                  "", "env: []", "env: ~", "deviceNodes: [], mounts: [], hooks: []"):
        yield refused(file_of(edits))
    for fields in ("type: x", "type: cc", "permissions: rwx", "permissions: ' '", "permissions: [r]", "hostPath: [a]"):
        yield refused(node(fields))
    for list_of in ("deviceNodes", "mounts", "hooks"):
        yield refused(file_of(f"{list_of}: [~]"), differs={OLD: CRASH, LATER: CRASH})
    start = "{cdiVersion: 0.5.0, kind: s@.com/cc"
    for text in ("", "[]", "x", "~", "{}", "# nothing", f"{start}, devices: {{}}}}", f"{start}, devices: [a]}}",
                 f"{start}, devices: [~]}}", f"{start}, devices: [{{name: d}}]}}",
                 f"{start}, devices: [{{name: d, containerEdits: ~}}]}}",
                 f"{start}, containerEdits: [], devices: []}}", f"{start}, containerEdits: x, devices: []}}",
                 f"{{kind: s@.com/cc, devices: [{{name: d, containerEdits: {{{NODE}}}}}]}}",
                 f"{{cdiVersion: 0.5.0, devices: [{{name: d, containerEdits: {{{NODE}}}}}]}}",
                 f"{start}, devices: [{{name: d, containerEdits: {{{NODE}}}}}, {{name: d, containerEdits: {{{NODE}}}}}"
                 "]}",
                 f"{start}, name: d, containerEdits: {{{NODE}}}, devices: [{{}}]}}"):
        yield refused(text)
    for text in (start + "}", f"{start}, devices: []}}", f"{start}, devices: ~}}"):
        yield refused(text, differs=dict.fromkeys((OLD, LATER), NO_DEVICE))


def forms():
    """What a file looks like."""
    block = """cdiVersion: 0.5.0
kind: s@.com/cc
devices:
  - name: d
    containerEdits:
      deviceNodes:
        - path: /dev/s@
          type: c
          major: 241
          minor: @
"""
    document = json.dumps({"cdiVersion": "0.5.0", "kind": "s@.com/cc", "devices": [{"name": "d", "containerEdits": {
        "deviceNodes": [{"path": "/dev/s@", "type": "c", "major": 241, "fileMode": 432}]}}]})
    for text in (block, "---\n" + block, block + "...\n", block + "---\n[", block.replace("\n", "\r\n"),
                 "\ufeff" + block, "# ä\n" + block,
                 block.replace("kind: s@.com/cc", "kind: >-\n  s@.com/cc"), block.replace("name: d", "? name\n    : d"),
                 block.replace("type: c", "type: &x c"), block.replace("/dev/s@", '"/dev/\\x73@"'),
                 "%YAML 1.1\n---\n" + block,
                 block.replace("  - name", "- name").replace("\n    ", "\n  ")):
        yield Entry(text)
    for text in (document, json.dumps(json.loads(document), indent=2), json.dumps(json.loads(document), indent="\t"),
                 document.replace("/dev", "\\u002fdev"), document.replace("432", "0660"),
                 document.replace(": ", ":"), document.replace('"d"', "d"), document.replace("}]}}]", ",}]}}]"),
                 "\n" + document, document + "}"):
        yield Entry(text, form="json")
    yield Entry(document.replace("/dev", "\\/dev"), form="json", differs=dict.fromkeys((OLD, LATER), ESCAPE))
    for text in (document[:-1], document.replace(",", "", 1), "\t" + document, document.replace("/dev",
                 "\\ud83d\\ude00"),
                 document.replace("/dev", "\x01"), document.replace('"kind"', '"kind')):
        yield refused(text, form="json")
    for text in ("\t" + block, block.replace("  - name", "\t- name"), block.replace("kind: ", "kind:"), block + "x\n",
                 "`" + block,
                 block.replace("type: c", "type: *x"), block.replace("type: c", "type: &x [*x]"),
                 block.replace("name: d", "name: 'd"),
                 block.replace("/dev/s@", '"/dev/\\q"'), "%YAML 3.0\n---\n" + block, block.replace("type: c",
                 "type: c: d"),
                 "\x07" + block):
        yield refused(text)
    for text in (block.replace("/dev/s@", '"/dev/s@\\0x"'),
                 block.replace("containerEdits:\n", "containerEdits: &e\n") + "containerEdits: *e\n",
                 block.replace("containerEdits:\n", "containerEdits:\n      <<: [{env: [A=b]}, {mounts: []}]\n")):
        yield refused(text, differs=dict.fromkeys((OLD, LATER), STRICT))


def edits():
    """What comes of it. The host has nodes that are no device's of a machine, and a directory with a symlink to it."""
    for fields in ("hostPath: HOST/char", "hostPath: HOST/block", "hostPath: HOST/fifo", "hostPath: HOST/char, type: c",
                   "hostPath: HOST/block, type: b", "hostPath: HOST/fifo, type: p", "type: p",
                   "type: u, major: 241, minor: @",
                   "type: b, major: 241, minor: @", "hostPath: HOST/none, type: c, major: 241, minor: @",
                   "hostPath: HOST/char, minor: 77",
                   "hostPath: HOST/char, fileMode: 0600, uid: 5, gid: 6"):
        yield Entry(node(fields))
    yield Entry(node("hostPath: HOST/char, type: b, major: 241, minor: @"), plan=ANOTHER)
    for permissions in ("r", "w", "m", "rw", "rwm", "mr", "wr", "''"):
        yield Entry(node(f"type: c, major: 241, minor: @, permissions: {permissions}"))
    yield Entry(file_of("deviceNodes: [{path: /dev/s@, type: c, major: 241, minor: @, fileMode: 0600}, {path: /dev/s@x,"
                        " type: b, major: 241, minor: @}, {path: /dev/s@, type: c, major: 241, minor: @,"
                        " fileMode: 0640}]"))
    for options in ("[]", "~", "[ro]", "[rw]", "[ro, nosuid, nodev, bind]", "[rbind, rprivate, noexec]"):
        yield Entry(file_of(f"mounts: [{{hostPath: HOST/directory, containerPath: /s@, options: {options}}}]"))
    yield Entry(file_of("mounts: [{hostPath: HOST/link, containerPath: /s@, type: bind}, {hostPath: /etc/passwd,"
                        " containerPath: /s@/b/c}, {hostPath: /etc, containerPath: /s@/b}, {hostPath: HOST/directory,"
                        " containerPath: /s@/b/c, options: [ro]}]"))
    yield Entry(file_of("env: [A=b=c, B=]", more=f"containerEdits: {{{NODE}}}, "))
    yield Entry(file_of("hooks: [{hookName: createContainer, path: /a/nvidia-cdi-hook,"
                        " args: [nvidia-cdi-hook, create-symlinks, --link, 'x::/s@/y']}]"))
    for hook in ("prestart", "createRuntime", "startContainer", "poststart", "poststop"):
        yield Entry(file_of(f"hooks: [{{hookName: {hook}, path: /s@}}]"), plan=RUNTIME)


def corpus(host):
    """All of them, each with a number; HOST is the directory with what they name."""
    makers = (versions, fields_of_versions, scalars, names, keys, values, forms, edits)
    entries = [entry for maker in makers for entry in maker()]
    for number, entry in enumerate(entries, 1000):
        entry.number = number
        entry.text = entry.text.replace("@", str(number)).replace("HOST", str(host))
        entry.file = f"{number}.{entry.form}"
    return entries
