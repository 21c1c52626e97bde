"""What tells names apart that begin alike, for where there is no room for all of them."""

import itertools
from collections.abc import Sequence

__all__ = ["telling_names"]

# Where a name can be begun in its middle.
_BREAKS = (", ", "; ", " · ", " of ")
# Fewer letters that are alike are no reason to leave them out.
_FEW = 12


def telling_names(names: Sequence[str]) -> list[str]:
    """Return each name from where it differs from others on, with what that is part of.

    Names that share no long beginning stay as they are.
    """
    ordered = sorted(set(names))
    alike = dict.fromkeys(ordered, 0)
    for one, other in itertools.pairwise(ordered):
        same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
        shared = sum(1 for _ in same)
        alike[one], alike[other] = max(alike[one], shared), max(alike[other], shared)
    return [_from(name, alike[name]) for name in names]


def _from(name: str, shared: int) -> str:
    alike = name[: min(shared, len(name) - 1)]
    begin = max((alike.rfind(mark) + len(mark) for mark in _BREAKS if mark in alike), default=0)
    return f"…{name[begin:]}" if begin >= _FEW else name
