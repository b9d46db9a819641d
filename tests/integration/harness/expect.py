# SPDX-License-Identifier: Apache-2.0
"""What a test may say of a container that ran, or was not allowed to."""

from functools import partial


def started(result):
    """The container ran its program to a good end; gives what it printed."""
    assert result.code == 0, (result.err, result.said)
    return result.out


def refused_by(hook, result, status=None, *words):
    """The hook of this name stopped the container: it says so in one line which has all of `words` in it, and
    nothing of the container's program ran. Gives the message."""
    assert result.code != 0 and result.out == "", (result.out, result.err)
    message = result.hook_message
    assert message.startswith(f"{hook}: container {result.name[:12]}: "), (result.err, result.said)
    assert "\n" not in message, message
    assert result.hook_status if status is None else result.hook_status == status, (result.err, message)
    for word in words:
        assert word in message, (word, message)
    return message


refused = partial(refused_by, "mount-srv")


def refused_by_hand(process, status=None, *words):
    """The same for a hook that was run by hand; gives the message."""
    assert process.returncode > 0, (process.returncode, process.stdout, process.stderr)
    assert status is None or process.returncode == status, process.stderr
    assert process.stderr.startswith("mount-srv: "), process.stderr
    assert process.stderr.count("\n") == 1, process.stderr
    for word in words:
        assert word in process.stderr, (word, process.stderr)
    return process.stderr


def told(result, *words):
    """The one line of the hook's that has all of `words` in it."""
    found = [line for line in result.said if all(word in line for word in words)]
    assert len(found) == 1, (words, result.said)
    return found[0]
