"""What is the same of neighbouring environments is said once: a file may hold thousands of them."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from stroboscope.engine.counted import counted

__all__ = ["alike", "family", "names_together"]

_Item = TypeVar("_Item")


def alike(items: Iterable[_Item], kind: Callable[[_Item], object]) -> list[list[_Item]]:
    """Return items in groups of neighbours of one kind, in their order."""
    groups: list[list[_Item]] = []
    for item in items:
        if groups and kind(groups[-1][0]) == kind(item):
            groups[-1].append(item)
        else:
            groups.append([item])
    return groups


def names_together(names: Sequence[str]) -> str:
    """Return "Arms[0] to Arms[63] (64 scenes)" for several names, for one just that."""
    if len(names) == 1:
        return names[0]
    return f"{names[0]} to {names[-1]} ({counted(len(names), 'scene')})"


def family(name: str) -> str:
    """Return what environments of one scene have in common of their names: "Arms"."""
    return name.partition("[")[0]
