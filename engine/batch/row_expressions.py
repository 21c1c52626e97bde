"""A condition's expression, evaluated on the rows of many environments at once.

The same language as everywhere, and the same values: single numbers are (n,), vectors (n, width).
What one environment's evaluation would make NaN is NaN here, for that environment alone.
"""

import ast
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.expressions import (
    REMEMBERING,
    ExpressionError,
    SignalTable,
    compile_expression,
)
from stroboscope.engine.batch.row_arithmetic import (
    FUNCTIONS,
    OPERATORS,
    Values,
    either,
    is_true,
    quotient,
    spread,
)

__all__ = ["NotForRows", "RowExpression"]

ReadChannel = Callable[[str], Values]
"""Returns a channel's values in all environments that are looked at, (n, width)."""
_Run = Callable[["_Inputs"], Values]
_CONSTANTS = {"pi": math.pi, "inf": math.inf, "nan": math.nan}
_SYMBOLS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Mod: "%", ast.Pow: "**",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
_DIVISIONS = ("/", "%", "**")
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


class NotForRows(Exception):
    """An expression has a part that only one environment's evaluation knows."""


class _Inputs:
    """What one evaluation reads; ``counted``: whose step counts, (n,)."""

    __slots__ = ("counted", "read", "remembered")

    def __init__(self, read: ReadChannel, counted: NDArray[np.bool_]) -> None:
        self.read = read
        self.counted = counted
        self.remembered: list[Values] = []


class _Kept:
    """One value that is kept from step to step, of every environment for itself."""

    def __init__(self, run: _Run, count: int, width: int, *, is_first: bool) -> None:
        self._run = run
        self._is_first = is_first
        shape = (count,) if width == 1 else (count, width)
        self.value = np.full(shape, math.nan)
        self.newest = np.full(shape, math.nan)
        self._has = np.zeros(count, dtype=np.bool_)

    def advance(self, inputs: _Inputs) -> Values:
        """Return the values that count in this step, having looked at the new ones."""
        counted = inputs.counted
        now = np.broadcast_to(self._run(inputs), self.value.shape)
        if self._is_first:
            fresh = counted & ~self._has
            self.value[fresh] = now[fresh]
        else:
            self.value[counted] = self.newest[counted]
        self._has |= counted
        self.newest[counted] = now[counted]
        return self.value

    def forget(self, places: NDArray[Any]) -> None:
        """Begin anew in some environments."""
        self._has[places] = False
        self.value[places] = self.newest[places] = math.nan

    def of(self, place: int) -> tuple[Any, Any]:
        """Return value and newest value of one environment; None where there is none."""
        if not self._has[place]:
            return None, None
        return self.value[place], self.newest[place]


class _Node:
    """A part of an expression: how many values it has per environment, and how to get them."""

    __slots__ = ("run", "width")

    def __init__(self, width: int, run: _Run) -> None:
        self.width = width
        self.run = run


class RowExpression:
    """An expression of one number, of ``count`` environments at once; owner thread only.

    Raises NotForRows where a part of it can't be had that way; ``text`` has been found right.
    """

    def __init__(self, text: str, table: SignalTable, *, count: int) -> None:
        self._text = text
        self._table = table
        self._count = count
        self.remembered: list[_Kept] = []
        """In the order in which the expression of one environment has them."""
        self._run = self._node(ast.parse(text, mode="eval").body).run

    def numbers(self, read: ReadChannel, counted: NDArray[np.bool_]) -> Values:
        """Return the value in each environment, (n,); those not ``counted`` remember nothing."""
        inputs = _Inputs(read, counted)
        with np.errstate(all="ignore"):
            for each in self.remembered:
                inputs.remembered.append(each.advance(inputs))
            result = self._run(inputs)
        return np.broadcast_to(result, (self._count,))

    def forget(self, places: NDArray[Any]) -> None:
        """Begin anew in some environments, by place or mask."""
        for each in self.remembered:
            each.forget(places)

    # --- building

    def _node(self, tree: ast.expr) -> _Node:
        match tree:
            case ast.Constant(value=value) if isinstance(value, int | float):
                return _constant(float(value))
            case ast.Name(id=name) if name in _CONSTANTS and self._table.find(name) is None:
                return _constant(_CONSTANTS[name])
            case ast.Name() | ast.Attribute():
                return self._signal(tree)
            case ast.Subscript():
                return self._columns(tree)
            case ast.BinOp(left=left, op=op, right=right):
                return self._operator(_SYMBOLS[type(op)], self._node(left), self._node(right))
            case ast.UnaryOp(op=op, operand=operand):
                return self._unary(op, self._node(operand))
            case ast.BoolOp(op=op, values=values):
                runs = [self._node(each).run for each in values]
                symbol = "and" if isinstance(op, ast.And) else "or"
                return _Node(1, lambda i: either(symbol, [run(i) for run in runs]))
            case ast.Compare():
                return self._comparison(tree)
            case ast.Call(func=ast.Name(id=name), args=args):
                if name in REMEMBERING:
                    return self._remembering(name, self._node(args[0]))
                return self._call(name, [self._node(each) for each in args])
        raise NotForRows

    def _source(self, tree: ast.AST) -> str:
        return ast.get_source_segment(self._text, tree) or ""

    def _signal(self, tree: ast.expr) -> _Node:
        uses = self._compiled(tree).channels
        if len(uses) != 1 or uses[0].is_user or uses[0].part:
            raise NotForRows
        name, width = uses[0].channel, uses[0].width
        if width == 1:
            return _Node(1, lambda i: i.read(name)[:, 0])
        return _Node(width, lambda i: i.read(name))

    def _compiled(self, tree: ast.expr) -> Any:
        try:
            return compile_expression(self._source(tree), self._table, remembers=True)
        except ExpressionError:
            raise NotForRows from None  # it needs its surroundings

    def _columns(self, tree: ast.Subscript) -> _Node:
        base = self._node(tree.value)
        chosen = self._chosen(tree, base.width)
        run = base.run
        if base.width == 1:
            return base
        if len(chosen) == 1:
            only = chosen[0]
            return _Node(1, lambda i: run(i)[:, only])
        at = np.array(chosen, dtype=np.intp)
        return _Node(len(chosen), lambda i: run(i)[:, at])

    def _chosen(self, tree: ast.Subscript, width: int) -> list[int]:
        """Return which columns of what stands before it a […] chooses: it is known to be right."""
        index = tree.slice
        if isinstance(index, ast.Constant) and isinstance(index.value, str):
            # Columns keep their whole names, whichever way they were asked for.
            known, wanted = self._compiled(tree.value).names, self._compiled(tree).names
            if not wanted or len(set(known)) != len(known):
                raise NotForRows
            return [known.index(name) for name in wanted]
        # Whole numbers only: everything else has been refused.
        text = self._source(tree)[len(self._source(tree.value)) :].strip()
        numbers = [int(part) if part.strip() else None for part in text[1:-1].split(":")]
        if len(numbers) == 1 and numbers[0] is not None:
            return [numbers[0] % width]
        return list(range(*slice(*numbers).indices(width)))

    def _operator(self, symbol: str, left: _Node, right: _Node) -> _Node:
        width = max(left.width, right.width)
        a, b = spread(left.run, left.width, width), spread(right.run, right.width, width)
        function = OPERATORS[symbol]
        if symbol in _COMPARISONS:
            return _Node(width, lambda i: function(a(i), b(i)).astype(np.float64))
        if symbol not in _DIVISIONS:
            return _Node(width, lambda i: function(a(i), b(i)))
        return _Node(width, lambda i: quotient(symbol, a(i), b(i), is_vector=width > 1))

    def _unary(self, op: ast.unaryop, node: _Node) -> _Node:
        run = node.run
        if isinstance(op, ast.Not):
            return _Node(node.width, lambda i: (~is_true(run(i))).astype(np.float64))
        return _Node(node.width, lambda i: -run(i)) if isinstance(op, ast.USub) else node

    def _comparison(self, tree: ast.Compare) -> _Node:
        nodes = [self._node(each) for each in (tree.left, *tree.comparators)]
        symbols = [_SYMBOLS[type(op)] for op in tree.ops]
        if len(symbols) == 1:
            return self._operator(symbols[0], *nodes)
        runs, tests = [node.run for node in nodes], [OPERATORS[symbol] for symbol in symbols]

        def run(inputs: _Inputs) -> Values:
            values = [each(inputs) for each in runs]
            held = [
                test(left, right)
                for test, left, right in zip(tests, values, values[1:], strict=False)
            ]
            return either("and", held)

        return _Node(1, run)

    def _call(self, name: str, arguments: Sequence[_Node]) -> _Node:
        width, function = FUNCTIONS[name](tuple(each.width for each in arguments))
        runs = [each.run for each in arguments]
        return _Node(width, lambda i: function(*(run(i) for run in runs)))

    def _remembering(self, name: str, node: _Node) -> _Node:
        kept = _Kept(node.run, self._count, node.width, is_first=name == "first")
        self.remembered.append(kept)
        place, run = len(self.remembered) - 1, node.run
        if name == "change":
            return _Node(node.width, lambda i: run(i) - i.remembered[place])
        return _Node(node.width, lambda i: i.remembered[place])


def _constant(value: float) -> _Node:
    number = np.array(value)
    return _Node(1, lambda _: number)
