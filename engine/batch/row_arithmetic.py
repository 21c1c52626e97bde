"""Operators and functions of expressions for many environments: the values that each would have.

``Values``: single numbers are (n,), or one for all of them; vectors are (n, width). The scalar
language says NaN where Python's arithmetic raises; NumPy says infinity there.
"""

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.expressions.arithmetic import SMALL

__all__ = ["FUNCTIONS", "OPERATORS", "Values", "either", "is_true", "quotient", "spread"]

Values = NDArray[np.float64]
_Function = Callable[..., Values]
_Make = Callable[[tuple[int, ...]], tuple[int, _Function]]
"""From the widths of arguments to the width of the result and what computes it."""

OPERATORS: dict[str, Callable[..., Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "%": np.mod, "**": np.power,
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
    "==": np.equal, "!=": np.not_equal,
}  # fmt: skip


def spread(run: Callable[[Any], Values], width: int, wanted: int) -> Callable[[Any], Values]:
    """Return ``run`` so that single numbers go with vectors."""
    if width == wanted or width > 1:
        return run
    return lambda inputs: run(inputs)[..., np.newaxis]


def is_true(values: Any) -> NDArray[np.bool_]:
    """Return which values count as true: what is not 0, NaN too."""
    found: NDArray[np.bool_] = np.asarray(values) != 0.0
    return found


def either(symbol: str, values: Sequence[Any]) -> Values:
    """Return ``a and b …`` or ``a or b …``, 1 or 0."""
    join = operator.and_ if symbol == "and" else operator.or_
    return functools.reduce(join, map(is_true, values)).astype(np.float64)


def quotient(symbol: str, left: Values, right: Values, *, is_vector: bool) -> Values:
    """Return the value of an operator that may have none: NaN there."""
    result: Values = OPERATORS[symbol](left, right)
    if is_vector:
        return _noted(result, left, right)
    if symbol == "**":
        return _without_value(result, left, right)
    return np.where(right == 0.0, np.nan, result)


def _without_value(result: Values, *arguments: Values) -> Values:
    """Return single numbers with NaN where finite ones have made something infinite."""
    finite = np.isfinite(arguments[0])
    for each in arguments[1:]:
        finite = finite & np.isfinite(each)
    return np.where(np.isinf(result) & finite, np.nan, result)


def _noted(result: Values, *arguments: Values) -> Values:
    """Return vectors with NaN where finite ones have made something infinite, as `_noted` there."""
    bad = ~np.isfinite(result)
    if not bad.any():
        return result
    finite = np.array(True)
    for each in arguments:
        finite = finite & np.isfinite(each).all(axis=-1)
    return np.where(bad & finite[..., np.newaxis], np.nan, result)


# --- functions


def _elementwise(function: Callable[..., Any], *, guarded: bool = True) -> _Make:
    def make(widths: tuple[int, ...]) -> tuple[int, _Function]:
        if widths[0] > 1:
            return widths[0], lambda value: _noted(function(value), value)
        if guarded:
            return 1, lambda value: _without_value(function(value), value)
        return 1, lambda value: function(value)

    return make


def _several(scalar: _Function, vector: _Function) -> _Make:
    def make(widths: tuple[int, ...]) -> tuple[int, _Function]:
        width = max(widths)
        if width == 1:
            return 1, scalar

        def compute(*values: Values) -> Values:
            wide = [
                value if own > 1 else value[..., np.newaxis]
                for value, own in zip(values, widths, strict=True)
            ]
            return _noted(vector(*wide), *wide)

        return width, compute

    return make


def _reduced(function: Callable[[Values], Any]) -> _Make:
    def make(widths: tuple[int, ...]) -> tuple[int, _Function]:
        if widths[0] > 1:
            return 1, lambda value: np.asarray(function(value), dtype=np.float64)
        return 1, lambda value: np.asarray(function(value[..., np.newaxis]), dtype=np.float64)

    return make


def _extreme(of_vector: Callable[[Values], Any], pair: _Function, *, is_less: bool) -> _Make:
    def of_pair(a: Values, b: Values) -> Values:
        # Python's min and max, which keep the first where the second is no number.
        return np.where(b < a if is_less else b > a, b, a)

    def scalars(*values: Values) -> Values:
        return functools.reduce(of_pair, values)

    def vectors(*values: Values) -> Values:
        return functools.reduce(pair, values)

    one, several = _reduced(of_vector), _several(scalars, vectors)
    return lambda widths: (one if len(widths) == 1 else several)(widths)


def _clip(value: Values, low: Values, high: Values) -> Values:
    raised = np.where(low > value, low, value)
    return np.where(high < raised, high, raised)


def _dot(widths: tuple[int, ...]) -> tuple[int, _Function]:
    if widths[0] == 1:
        return 1, lambda a, b: a * b
    return 1, lambda a, b: (a * b).sum(axis=-1)


def _where(widths: tuple[int, ...]) -> tuple[int, _Function]:
    width = max(widths)

    def compute(*values: Values) -> Values:
        condition, first, second = (
            value if own == width else value[..., np.newaxis]
            for value, own in zip(values, widths, strict=True)
        )
        return np.where(is_true(condition), first, second)

    return width, compute


def _lengths(values: Values) -> Values:
    squares = (values * values).sum(axis=-1)
    odd = ~((squares > SMALL) & (squares < math.inf)) & ~np.isnan(squares)
    lengths: Values = np.sqrt(squares)
    if not odd.any():
        return lengths
    # Squares that are lost below or above what numbers can say.
    largest = np.abs(values).max(axis=-1)
    scaled = values / largest[..., np.newaxis]
    mended = largest * np.sqrt((scaled * scaled).sum(axis=-1))
    return np.where(odd & (largest > 0.0) & (largest < math.inf), mended, lengths)


FUNCTIONS: dict[str, _Make] = {
    "abs": _elementwise(np.abs, guarded=False),
    "min": _extreme(lambda v: v.min(axis=-1), np.minimum, is_less=True),
    "max": _extreme(lambda v: v.max(axis=-1), np.maximum, is_less=False),
    "norm": _reduced(_lengths),
    "sqrt": _elementwise(np.sqrt),
    "sin": _elementwise(np.sin),
    "cos": _elementwise(np.cos),
    "tan": _elementwise(np.tan),
    "atan2": _several(np.arctan2, np.arctan2),
    "exp": _elementwise(np.exp),
    "log": _elementwise(np.log),
    "sum": _reduced(lambda v: v.sum(axis=-1)),
    "mean": _reduced(lambda v: v.mean(axis=-1)),
    "dot": _dot,
    "clip": _several(_clip, lambda v, low, high: np.minimum(np.maximum(v, low), high)),
    "deg": _elementwise(np.degrees, guarded=False),
    "rad": _elementwise(np.radians, guarded=False),
    "sign": _elementwise(np.sign, guarded=False),
    "any": _reduced(lambda v: is_true(v).any(axis=-1)),
    "all": _reduced(lambda v: is_true(v).all(axis=-1)),
    "where": _where,
}
"""By name: what makes a function for arguments of given widths."""
