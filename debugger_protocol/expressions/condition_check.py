"""What an expression must be, besides right, for somebody to wait until it becomes true."""

import ast
import math
from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.expressions.compiler import Expression, compile_expression
from stroboscope.debugger_protocol.expressions.errors import ExpressionError, UnknownSignal
from stroboscope.debugger_protocol.expressions.parser import SyntaxPlace, parse
from stroboscope.debugger_protocol.expressions.signal_table import SignalTable

__all__ = ["awaited_channels", "check_condition", "constants_of"]

# How many numbers a script may log under a name that it has not logged yet: one, or several.
_GUESSED_WIDTHS: Final = (1, 64)
_ALWAYS_OF_SAME: Final = (ast.LtE, ast.GtE, ast.Eq)


def check_condition(text: str, table: SignalTable) -> Expression:
    """Return a condition's expression; raises ExpressionError where it can't become true.

    It is one number, and something in it changes; no part of it is no number, or is true or false
    whatever happens: whoever has written that has meant something else.
    """
    expression = compile_expression(text, table, remembers=True)
    tree, place = parse(text)
    if expression.width != 1:
        raise place.error(
            f"a condition is one number, this has {expression.width}: use any(…), all(…), max(…), "
            "or choose one",
            tree,
        )
    _check(tree, place, table, is_whole=True)
    return expression


def awaited_channels(text: str, table: SignalTable) -> tuple[str, ...]:
    """Return what a script has to log before a condition can be looked at; empty: nothing.

    Raises ExpressionError where that would not make a condition of it.
    """
    problem: ExpressionError | None = None
    for width in _GUESSED_WIDTHS:
        names: list[str] = []
        while True:
            try:
                check_condition(text, table.with_logged(names, width=width) if names else table)
                return tuple(names)
            except UnknownSignal as error:
                if not error.may_be_logged or error.name in names:
                    raise
                names.append(error.name)
            except ExpressionError as error:
                if not names:
                    raise
                problem = problem or error
                break
    raise problem or ExpressionError("a value is needed here", text=text, start=0)


def constants_of(text: str, table: SignalTable) -> Iterator[float]:
    """Yield the numbers that values are compared with in an expression that has been checked."""
    tree, place = parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            for side in (node.left, *node.comparators):
                value = _constant(side, place, table)
                if value is not None and value.size == 1:
                    yield float(value[0])


def _check(tree: ast.expr, place: SyntaxPlace, table: SignalTable, *, is_whole: bool) -> None:
    value = _constant(tree, place, table)
    for part in _parts(tree):
        _check(part, place, table, is_whole=False)
    if value is not None:
        _check_constant(tree, value, place, is_whole=is_whole)
    elif isinstance(tree, ast.Compare):
        _check_sides(tree, place, table)


def _check_constant(
    tree: ast.expr, value: NDArray[np.float64], place: SyntaxPlace, *, is_whole: bool
) -> None:
    if np.isnan(value).any():
        raise place.error("this is no number, and nothing that is compared with it is true", tree)
    if np.isinf(value).any() and isinstance(tree, ast.BinOp | ast.Call):
        raise place.error("this is infinite: write a number that can be reached", tree)
    is_truth = isinstance(tree, ast.Compare | ast.BoolOp) or (
        isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not)
    )
    if is_truth:
        always = "true" if value.all() else "false"
        raise place.error(
            f"this is always {always}: compare something that changes, as in time > 2", tree
        )
    if is_whole:
        raise place.error(
            f"this is always {value[0]:g}: a condition needs something that changes, as in "
            "time > 2",
            tree,
        )


def _check_sides(tree: ast.Compare, place: SyntaxPlace, table: SignalTable) -> None:
    left = tree.left
    for operation, right in zip(tree.ops, tree.comparators, strict=True):
        if ast.dump(left) == ast.dump(right):
            always = "true" if isinstance(operation, _ALWAYS_OF_SAME) else "false"
            raise place.error(f"both sides are the same, so this is always {always}", tree)
        larger, smaller = (left, right) if isinstance(operation, ast.Gt) else (right, left)
        if isinstance(operation, ast.Gt | ast.Lt):
            for side, limit in ((smaller, math.inf), (larger, -math.inf)):
                value = _constant(side, place, table)
                if value is not None and (value == limit).all():
                    beyond = "larger than inf" if limit > 0.0 else "smaller than -inf"
                    raise place.error(f"nothing is {beyond}, so this is never true", tree)
        left = right


def _parts(tree: ast.expr) -> Iterator[ast.expr]:
    """Yield what an expression is computed from; what only chooses signals is none of that."""
    match tree:
        case ast.BinOp(left=left, right=right):
            yield from (left, right)
        case ast.UnaryOp(operand=operand):
            yield operand
        case ast.BoolOp(values=values) | ast.Call(args=values):
            yield from values
        case ast.Compare(left=left, comparators=others):
            yield from (left, *others)
        case _:
            pass


def _constant(tree: ast.expr, place: SyntaxPlace, table: SignalTable) -> NDArray[np.float64] | None:
    """Return the value of a part that reads no signal; None for any other."""
    try:
        part = compile_expression(place.source(tree), table, remembers=True)
    except ExpressionError:
        return None  # it needs its surroundings: a name of a geom, "first" …
    return None if part.channels else part.evaluate_list([]).copy()
