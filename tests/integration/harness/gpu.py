# SPDX-License-Identifier: Apache-2.0
"""What the tests of every hook for GPUs have in common, for a hook that is run by hand."""


def error_of(hook, process, status, *words):
    """The one line that a hook which was run by hand ends with."""
    assert process.returncode == status, (process.returncode, process.stdout, process.stderr)
    message = process.stderr.splitlines()[-1]
    assert message.startswith(f"{hook}: ") and process.stdout == "", (process.stdout, process.stderr)
    for word in words:
        assert word in message, (word, message)
    return message


def asked(key, value=None, capabilities=None, env=(), **annotations):
    """Members of config.json of a container that asks by the annotation `key`."""
    annotations.update({name: text for name, text in ((key, value), (f"{key}.capabilities", capabilities))
                        if text is not None})
    return {"annotations": annotations, "process": {"env": list(env)}}


def nodes_of(edits):
    """The nodes of a plan."""
    return sorted(node["path"] for node in edits["containerEdits"].get("deviceNodes", []))
