# SPDX-License-Identifier: Apache-2.0
"""The files of oci-hooks.d, read as container engines read them."""

import json
import os
import re
from pathlib import Path


class HookFile:
    """One hooks.d file of the build, with the executable that was built for it."""

    def __init__(self, path, executable):
        self.document = json.loads(Path(path).read_text(encoding="utf-8"))
        self.executable = executable

    def matches(self, annotations):
        """What an engine finds of `when`: every condition that is set must hold. The patterns are
        unanchored, and any annotation may satisfy one (schema 1.0.0)."""
        when = self.document["when"]
        wanted = when.get("annotations", {})
        conditions = [when[key] for key in ("always", "hasBindMounts") if key in when]
        conditions += [any(re.search(key, k) and re.search(value, v)
                           for k, v in annotations.items())
                       for key, value in wanted.items()]
        return bool(conditions) and all(conditions)

    def stages(self):
        return self.document["stages"]

    def entry(self, args=(), wrapper=()):
        """The hook as an engine writes it into config.json. `args` stand for a host that has edited
        the file's args; `wrapper` is a program that runs the hook, for faults. This machine has no history."""
        args = [*map(os.fspath, args)]
        if not {"--sysroot", "--history"}.intersection(args):
            args += ["--history", "none"]
        entry = dict(self.document["hook"])
        own = entry.get("args") or [Path(entry["path"]).name]
        entry.update(path=str(self.executable), args=[*own, *args])
        if wrapper:
            entry.update(path=wrapper[0],
                         args=[*map(os.fspath, wrapper), str(self.executable), *entry["args"][1:]],
                         # The leak checker of an instrumented build cannot work when it is traced.
                         env=[*entry["env"], "ASAN_OPTIONS=detect_leaks=0"])
        return entry

    def write(self, path, entry, stage):
        """Write the file for an engine that reads it itself, with this entry and stage."""
        document = {**self.document, "hook": entry, "stages": [stage]}
        path.write_text(json.dumps(document), encoding="utf-8")


def write_for_all(path, entry, stage):
    """Write the file of a hook of the tests' own, which runs for each container."""
    path.write_text(json.dumps({"version": "1.0.0", "hook": entry, "when": {"always": True}, "stages": [stage]}),
                    encoding="utf-8")
