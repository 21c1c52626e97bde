"""Stretches of axes, (begin, end) each with the end not in it, oldest first."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

__all__ = ["axes_of", "last_before"]

Spans = Iterable[tuple[int, int]]


def axes_of(spans: Spans, first: int, last: int) -> NDArray[np.int64]:
    """Return all axes in ``spans`` from ``first`` to ``last``, which counts."""
    found = [
        np.arange(max(begin, first), min(end, last + 1), dtype=np.int64) for begin, end in spans
    ]
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)


def last_before(spans: Spans, axis: int) -> int:
    """Return the last one before ``axis`` in ``spans``; -1 when none is."""
    ends = (min(end, axis) for begin, end in spans if begin < axis)
    return max(ends, default=0) - 1
