"""Arrays of a model as plain Python numbers, one entry per element."""

from typing import Any

import numpy as np

__all__ = ["first_column", "ranges", "scalars", "tuples"]


def scalars(array: Any) -> list[Any]:
    """Return a list of the numbers of ``array``, (n,) or (n, 1)."""
    return list(np.asarray(array).ravel().tolist())


def tuples(array: Any) -> list[Any]:
    """Return a tuple per row of ``array``, (n, width)."""
    return [tuple(row) for row in np.asarray(array).tolist()]


def first_column(array: Any) -> list[Any]:
    """Return the linear coefficient per element, also where a MuJoCo keeps a polynomial."""
    values = np.asarray(array)
    return list((values if values.ndim == 1 else values[:, 0]).tolist())


def ranges(array: Any, limited: Any) -> list[Any]:
    """Return a (lower, upper) per element, None where it is not limited."""
    return [
        tuple(row) if flag else None
        for row, flag in zip(np.asarray(array).tolist(), scalars(limited), strict=True)
    ]
