# SPDX-License-Identifier: Apache-2.0
"""Values that are tried in turns under two engines, where a hook does the same whatever the engine is."""

import pytest

from . import engines

SPACES = [engines.RUNTIMES[0], engines.MAPPED[1]]  # by runc; by crun, with a user namespace


def named(value):
    """What a value is called in the name of a test: of a long path the end."""
    if isinstance(value, tuple):
        return "-".join(map(named, value))
    return str(getattr(value, "__name__", value))[-30:]


def in_turns(names, values, fixture="box", among=tuple(SPACES)):
    """Parametrizes by `names` with `values`, and `fixture` with another one of `among` for each of them."""
    values = [value if isinstance(value, tuple) else (value,) for value in values]
    return pytest.mark.parametrize(
        f"{fixture}, {names}", [(among[number % len(among)], *value) for number, value in enumerate(values)],
        indirect=[fixture] if fixture == "box" else [], ids=named)
