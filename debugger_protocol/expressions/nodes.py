"""A checked part of an expression: what it is known to be, and how it is computed."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.expressions.units import Unit

__all__ = ["Inputs", "Limit", "Node", "Run", "as_vector"]

Value = float | NDArray[np.float64]


class Inputs:
    """The values that one evaluation reads, by place, and what went wrong in it.

    ``remembered``: the values of earlier steps, by place; see :class:`~.memory.Remembered`.
    """

    __slots__ = ("arrays", "problem", "remembered")

    def __init__(
        self, arrays: list[NDArray[np.float64]], remembered: "list[Value] | None" = None
    ) -> None:
        self.arrays = arrays
        self.remembered = remembered or []
        self.problem = ""


Run = Callable[[Inputs], Any]
"""Returns a float when the width is 1, else an array (width,)."""


@dataclasses.dataclass(frozen=True, slots=True)
class Node:
    """``names`` and ``units`` are per column, (width,); ``constant``: a number written out.

    ``labels``: what a column may be asked for by, after an element was chosen ("z" of "hand.z").
    """

    width: int
    run: Run
    units: tuple[Unit, ...]
    names: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    constant: float | None = None
    element: tuple[int, int] | None = None
    """Which array's which number it is, where it is nothing but that."""
    limit: "Limit | None" = None
    """The comparison that it is, where it is one of such a number with a constant."""


@dataclasses.dataclass(frozen=True, slots=True)
class Limit:
    """``sign * values[slot][column] > bound``: many of them can be looked at in one go."""

    slot: int
    column: int
    sign: float
    bound: float


def as_vector(node: Node) -> Run:
    """Return how a node is computed as an array, also when it is one number."""
    if node.width > 1:
        return node.run
    run = node.run
    return lambda inputs: np.array((run(inputs),))
