"""What tells names apart that begin alike, for where there is no room for all of them."""

import collections
import itertools
from collections.abc import Callable, Sequence

__all__ = ["elided_apart", "telling_names"]

# Where a name can be begun in its middle.
_BREAKS = (", ", "; ", " · ", " of ")
# Fewer letters that are alike are no reason to leave them out.
_FEW = 12
# So much is shown of what is alike, before names differ.
_BEFORE = 5


def telling_names(names: Sequence[str]) -> list[str]:
    """Return each name from where it differs from others on, with what that is part of.

    Names that share no long beginning stay as they are.
    """
    ordered = sorted(set(names))
    alike = dict.fromkeys(ordered, 0)
    for one, other in itertools.pairwise(ordered):
        shared = _shared(one, other)
        alike[one], alike[other] = max(alike[one], shared), max(alike[other], shared)
    return [_from(name, alike[name]) for name in names]


def elided_apart(
    names: Sequence[str], middle: Callable[[str], str], end: Callable[[str], str]
) -> list[str]:
    """Return names as there is room for them, different ones as different texts.

    ``middle`` leaves out what there is no room for from the middle of a name. Where that makes
    several alike, they are shown from a little before they differ, and ``end`` leaves out the rest.
    """
    shown = [middle(name) for name in names]
    groups = collections.defaultdict(set)
    for name, text in zip(names, shown, strict=True):
        groups[text].add(name)
    for at, name in enumerate(names):
        alike = groups[shown[at]]
        if len(alike) > 1:
            begin = _shared(min(alike), max(alike)) - _BEFORE  # all others stand between
            shown[at] = end(f"…{name[begin:]}" if begin > 0 else name)
    return shown


def _shared(one: str, other: str) -> int:
    """Return with how many letters both begin."""
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return sum(1 for _ in same)


def _from(name: str, shared: int) -> str:
    alike = name[: min(shared, len(name) - 1)]
    begin = max((alike.rfind(mark) + len(mark) for mark in _BREAKS if mark in alike), default=0)
    return f"…{name[begin:]}" if begin >= _FEW else name
