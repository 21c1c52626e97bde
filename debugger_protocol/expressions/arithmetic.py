"""Operators and functions: how wide their results are, in what unit, and how they are computed.

Scalars are Python floats, because NumPy takes ten times as long for one number, and what makes one
number of a short vector goes through a list. What has no
result (1/0, log(-1)) is NaN, and the evaluation's ``problem`` says so; nothing raises.
"""

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from stroboscope.debugger_protocol.expressions import units
from stroboscope.debugger_protocol.expressions.nodes import Inputs, Limit, Node, Run, as_vector
from stroboscope.debugger_protocol.expressions.units import Unit

__all__ = [
    "FUNCTIONS",
    "OPERATORS",
    "SMALL",
    "Misfit",
    "binary",
    "call",
    "compare",
    "either",
    "invert",
    "negate",
]

_NAN: Final = math.nan
_NO_RESULT: Final = "no result"
# Python is faster than NumPy with so few numbers, and never warns.
_FEW: Final = 64
SMALL: Final = 1e-280
"""Sums of squares below have lost digits, or everything."""


class Misfit(Exception):
    """Arguments do not go together; becomes an ExpressionError at its place in the text."""


def _guarded(function: Callable[..., float], what: str) -> Callable[..., float]:
    """Return the function with NaN and a note in place of its exceptions."""

    def run(inputs: Inputs, *values: float) -> float:
        try:
            return function(*values)
        except (ArithmeticError, ValueError):
            inputs.problem = what
            return _NAN

    return run


def _noted(function: Callable[..., Any], what: str) -> Callable[..., Any]:
    """Return the array function with a note when it makes something infinite or NaN."""

    def run(inputs: Inputs, *values: Any) -> Any:
        result = function(*values)
        if not np.isfinite(result).all() and all(np.isfinite(each).all() for each in values):
            inputs.problem = what
            return np.where(np.isfinite(result), result, _NAN)
        return result

    return run


def _divide(a: float, b: float) -> float:
    return a / b


_Scalar = Callable[[float, float], float]
_ARITHMETIC: Final[dict[str, tuple[_Scalar, Any, str]]] = {
    "+": (operator.add, np.add, ""),
    "-": (operator.sub, np.subtract, ""),
    "*": (operator.mul, np.multiply, ""),
    "/": (_divide, np.divide, "division by zero"),
    "%": (operator.mod, np.mod, "remainder of a division by zero"),
    "**": (math.pow, np.power, "this power has no real value"),
    "<": (operator.lt, np.less, ""),
    "<=": (operator.le, np.less_equal, ""),
    ">": (operator.gt, np.greater, ""),
    ">=": (operator.ge, np.greater_equal, ""),
    "==": (operator.eq, np.equal, ""),
    "!=": (operator.ne, np.not_equal, ""),
}
OPERATORS: Final = frozenset(_ARITHMETIC)
_COMPARISONS: Final = frozenset({"<", "<=", ">", ">=", "==", "!="})
_TURNED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def binary(symbol: str, left: Node, right: Node) -> Node:
    """Return ``left symbol right``, element by element; a single number goes with any width."""
    width = _common_width((left, right))
    a, b = left.run, right.run
    scalar, vector, what = _ARITHMETIC[symbol]
    run: Run
    if symbol in _COMPARISONS:
        run = _compared(scalar, a, b) if width == 1 else _float_array(vector, a, b)
    elif not what:
        run = _plain(scalar if width == 1 else vector, a, b)
    else:
        safe = _guarded(scalar, what) if width == 1 else _noted(vector, what)
        run = _careful(safe, a, b)
    names, labels = _names_of((left, right), width)
    limit = _limit(symbol, left, right)
    return Node(width, run, _binary_units(symbol, left, right, width), names, labels, limit=limit)


def _limit(symbol: str, left: Node, right: Node) -> Limit | None:
    """Return what a comparison is, where it is one of a signal's number with a constant."""
    if right.element is not None and left.constant is not None:
        left, right, symbol = right, left, _TURNED.get(symbol, "")
    bound = right.constant
    is_one = left.width == 1 and left.element is not None and symbol in _TURNED
    if not is_one or left.element is None or bound is None or not math.isfinite(bound):
        return None
    sign = 1.0 if symbol in (">", ">=") else -1.0
    bound *= sign
    if symbol in (">=", "<="):
        bound = math.nextafter(bound, -math.inf)  # whatever is not below it is above the next one
    return Limit(*left.element, sign, bound)


def _plain(function: Callable[..., Any], a: Run, b: Run) -> Run:
    return lambda inputs: function(a(inputs), b(inputs))


def _careful(function: Callable[..., Any], a: Run, b: Run) -> Run:
    return lambda inputs: function(inputs, a(inputs), b(inputs))


def _compared(function: _Scalar, a: Run, b: Run) -> Run:
    return lambda inputs: 1.0 if function(a(inputs), b(inputs)) else 0.0


def _float_array(function: Any, a: Run, b: Run) -> Run:
    return lambda inputs: function(a(inputs), b(inputs)).astype(np.float64)


def _binary_units(symbol: str, left: Node, right: Node, width: int) -> tuple[Unit, ...]:
    if symbol in _COMPARISONS:
        return ("",) * width
    if symbol == "**":
        if right.constant is None:
            return ("",) * width
        return tuple(units.power(each, right.constant) for each in left.units)
    join = {"*": units.multiply, "/": units.divide}.get(symbol, units.same)
    pairs = zip(_spread(left, width), _spread(right, width), strict=True)
    return tuple(join(a, b) for a, b in pairs)


def _spread(node: Node, width: int) -> tuple[Unit, ...]:
    return node.units * width if node.width == 1 else node.units


def _names_of(nodes: Sequence[Node], width: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names that the columns keep: those of the first operand that has all of them."""
    for node in nodes:
        if node.width == width and node.names:
            return node.names, node.labels
    return (), ()


def _common_width(nodes: Sequence[Node]) -> int:
    widths = sorted({node.width for node in nodes} - {1})
    if len(widths) > 1:
        counted = " and ".join(str(node.width) for node in nodes)
        raise Misfit(f"these have {counted} values: choose columns so that they match")
    return widths[0] if widths else 1


def negate(node: Node) -> Node:
    """Return ``-node``."""
    run = node.run
    constant = None if node.constant is None else -node.constant
    return Node(
        node.width, lambda inputs: -run(inputs), node.units, node.names, node.labels, constant
    )


def invert(node: Node) -> Node:
    """Return ``not node``."""
    run = node.run
    if node.width == 1:
        return Node(1, lambda inputs: 0.0 if run(inputs) else 1.0, ("",))
    return Node(
        node.width,
        lambda inputs: (run(inputs) == 0.0).astype(np.float64),
        ("",) * node.width,
        node.names,
        node.labels,
    )


def either(symbol: str, nodes: Sequence[Node]) -> Node:
    """Return ``a and b`` or ``a or b`` of single numbers, 1 or 0; the rest is not computed."""
    if any(node.width > 1 for node in nodes):
        raise Misfit(f"'{symbol}' needs single numbers: use any(…) or all(…) of the vector")
    runs = tuple(node.run for node in nodes)
    if len(runs) == 2:
        # A generator takes longer than both of them.
        a, b = runs
        if symbol == "and":
            return Node(1, lambda inputs: 1.0 if a(inputs) and b(inputs) else 0.0, ("",))
        return Node(1, lambda inputs: 1.0 if a(inputs) or b(inputs) else 0.0, ("",))
    if symbol == "and":
        return Node(1, lambda inputs: 1.0 if all(run(inputs) for run in runs) else 0.0, ("",))
    return Node(1, lambda inputs: 1.0 if any(run(inputs) for run in runs) else 0.0, ("",))


def compare(symbols: Sequence[str], nodes: Sequence[Node]) -> Node:
    """Return ``a < b <= c``, 1 or 0: every operand is computed once at most."""
    if len(symbols) == 1:
        return binary(symbols[0], *nodes)
    if any(node.width > 1 for node in nodes):
        raise Misfit("one comparison after another needs single numbers: compare them one by one")
    first = nodes[0].run
    rest = tuple((_ARITHMETIC[s][0], node.run) for s, node in zip(symbols, nodes[1:], strict=True))

    def run(inputs: Inputs) -> float:
        value = first(inputs)
        for holds, following in rest:
            left, value = value, following(inputs)
            if not holds(left, value):
                return 0.0
        return 1.0

    return Node(1, run, ("",))


# --- functions

_MakeNode = Callable[[tuple[Node, ...]], Node]


def _elementwise(
    scalar: Callable[..., float],
    vector: Any,
    unit: Callable[[Unit], Unit],
    what: str = _NO_RESULT,
) -> _MakeNode:
    """Return the maker of a function of one argument, element by element."""

    def make(arguments: tuple[Node, ...]) -> Node:
        (node,) = arguments
        a = node.run
        safe = _guarded(scalar, what) if node.width == 1 else _noted(vector, what)
        return Node(
            node.width,
            lambda inputs: safe(inputs, a(inputs)),
            tuple(map(unit, node.units)),
            node.names,
            node.labels,
        )

    return make


def _several(scalar: Callable[..., float], vector: Any, *, unit: Unit = None) -> _MakeNode:
    """Return the maker of a function of several arguments, element by element."""

    def make(arguments: tuple[Node, ...]) -> Node:
        width = _common_width(arguments)
        runs = tuple(node.run for node in arguments)
        safe = _guarded(scalar, _NO_RESULT) if width == 1 else _noted(vector, _NO_RESULT)
        names, labels = _names_of(arguments, width)
        result = (unit,) * width if unit is not None else _sum_units(arguments, width)
        return Node(
            width, lambda inputs: safe(inputs, *(r(inputs) for r in runs)), result, names, labels
        )

    return make


def _sum_units(arguments: Sequence[Node], width: int) -> tuple[Unit, ...]:
    result = _spread(arguments[0], width)
    for node in arguments[1:]:
        result = tuple(map(units.same, result, _spread(node, width)))
    return result


def _reduced(
    of_list: Callable[[list[float]], float],
    of_array: Callable[[Any], Any],
    unit: Callable[[Unit], Unit] = lambda unit: unit,
) -> _MakeNode:
    """Return the maker of a function that makes one number of a vector."""

    def make(arguments: tuple[Node, ...]) -> Node:
        (node,) = arguments
        run = as_vector(node)
        units_of = (unit(_one_unit(node)),)
        if node.width <= _FEW:
            return Node(1, lambda inputs: of_list(run(inputs).tolist()), units_of)
        return Node(1, lambda inputs: _quietly(of_array, run(inputs)), units_of)

    return make


def _quietly(function: Callable[..., Any], *arrays: Any) -> float:
    with np.errstate(all="ignore"):
        return float(function(*arrays))


def _least(values: list[float]) -> float:
    return _NAN if any(map(math.isnan, values)) else min(values)


def _greatest(values: list[float]) -> float:
    return _NAN if any(map(math.isnan, values)) else max(values)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _length(values: list[float]) -> float:
    # The plain sum of squares, as for more values: `hypot` makes infinity of infinity and NaN.
    squares = sum([value * value for value in values])
    if SMALL < squares < math.inf or not any(values) or math.isnan(squares):
        return math.sqrt(squares)
    largest = max(map(abs, values))  # which NaN among them would hide
    if not largest < math.inf:
        return math.sqrt(squares)
    return largest * math.sqrt(sum([(value / largest) ** 2 for value in values]))


def _lengths(values: Any) -> Any:
    squares = (values * values).sum()
    if SMALL < squares < math.inf or not values.any():
        return np.sqrt(squares)
    largest = np.abs(values).max()
    if not largest < math.inf:
        return np.sqrt(squares)
    scaled = values / largest
    return largest * np.sqrt((scaled * scaled).sum())


def _is_any(values: list[float]) -> float:
    return float(any(values))


def _are_all(values: list[float]) -> float:
    return float(all(values))


def _one_unit(node: Node) -> Unit:
    result = node.units[0]
    for each in node.units[1:]:
        result = units.same(result, each)
    return result


def _extreme(
    scalar: Callable[..., float],
    pair: Any,
    of_list: Callable[[list[float]], float],
    of_array: Callable[[Any], Any],
) -> _MakeNode:
    """Return the maker of min or max: of a vector's values, or of several arguments."""
    of_one = _reduced(of_list, of_array)

    def of_many(*values: Any) -> Any:
        result = values[0]
        for each in values[1:]:
            result = pair(result, each)
        return result

    several = _several(scalar, of_many)
    return lambda arguments: (of_one if len(arguments) == 1 else several)(arguments)


def _dot(arguments: tuple[Node, ...]) -> Node:
    first, second = arguments
    if first.width != second.width:
        raise Misfit(f"these have {first.width} and {second.width} values: dot needs as many")
    a, b = as_vector(first), as_vector(second)
    unit = units.multiply(_one_unit(first), _one_unit(second))
    if first.width <= _FEW:
        return Node(
            1,
            lambda inputs: sum(map(operator.mul, a(inputs).tolist(), b(inputs).tolist())),
            (unit,),
        )
    # NumPy's dot warns of overflows whatever errstate says.
    return Node(
        1, lambda inputs: _quietly(lambda x, y: (x * y).sum(), a(inputs), b(inputs)), (unit,)
    )


def _where(arguments: tuple[Node, ...]) -> Node:
    condition, first, second = arguments
    width = _common_width(arguments)
    names, labels = _names_of((first, second), width)
    c, a, b = condition.run, first.run, second.run
    unit = _sum_units((first, second), width)
    if condition.width == 1 and first.width == second.width:
        return Node(width, lambda i: a(i) if c(i) else b(i), unit, names, labels)
    return Node(width, lambda i: np.where(c(i), a(i), b(i)), unit, names, labels)


def _sign(value: float) -> float:
    return value if value != value else float((value > 0.0) - (value < 0.0))


def _clip(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


def _none(unit: Unit) -> Unit:
    return ""


def _same_unit(unit: Unit) -> Unit:
    return unit


_Count = tuple[int, int]
FUNCTIONS: Final[dict[str, tuple[_Count, str, _MakeNode]]] = {
    "abs": ((1, 1), "abs(x)", _elementwise(abs, np.abs, _same_unit)),
    "min": ((1, 16), "min(vector) or min(a, b, …)", _extreme(min, np.minimum, _least, np.min)),
    "max": ((1, 16), "max(vector) or max(a, b, …)", _extreme(max, np.maximum, _greatest, np.max)),
    "norm": ((1, 1), "norm(vector)", _reduced(_length, _lengths)),
    "sqrt": (
        (1, 1),
        "sqrt(x)",
        _elementwise(
            math.sqrt, np.sqrt, lambda u: units.power(u, 0.5), "root of a negative number"
        ),
    ),
    "sin": ((1, 1), "sin(angle)", _elementwise(math.sin, np.sin, _none)),
    "cos": ((1, 1), "cos(angle)", _elementwise(math.cos, np.cos, _none)),
    "tan": ((1, 1), "tan(angle)", _elementwise(math.tan, np.tan, _none)),
    "atan2": ((2, 2), "atan2(y, x)", _several(math.atan2, np.arctan2, unit="rad")),
    "exp": ((1, 1), "exp(x)", _elementwise(math.exp, np.exp, _none, "exp is too large")),
    "log": (
        (1, 1),
        "log(x)",
        _elementwise(math.log, np.log, _none, "logarithm of a number that is not above 0"),
    ),
    "sum": ((1, 1), "sum(vector)", _reduced(sum, np.sum)),
    "mean": ((1, 1), "mean(vector)", _reduced(_mean, np.mean)),
    "dot": ((2, 2), "dot(a, b)", _dot),
    "clip": (
        (3, 3),
        "clip(x, low, high)",
        _several(_clip, lambda v, low, high: np.minimum(np.maximum(v, low), high)),
    ),
    "deg": ((1, 1), "deg(angle)", _elementwise(math.degrees, np.degrees, lambda unit: "°")),
    "rad": ((1, 1), "rad(angle)", _elementwise(math.radians, np.radians, lambda unit: "rad")),
    "sign": ((1, 1), "sign(x)", _elementwise(_sign, np.sign, _none)),
    "any": ((1, 1), "any(vector)", _reduced(_is_any, np.any, _none)),
    "all": ((1, 1), "all(vector)", _reduced(_are_all, np.all, _none)),
    "where": ((3, 3), "where(condition, a, b)", _where),
}
"""By name: how many arguments, how it is written, and what makes its node."""


def call(name: str, arguments: tuple[Node, ...]) -> Node:
    """Return a function's value; raises Misfit."""
    (least, most), usage, make = FUNCTIONS[name]
    if not least <= len(arguments) <= most:
        raise Misfit(
            f"{name} takes {least if least == most else f'{least} or more'} "
            f"argument{'s' * (most > 1)}, not {len(arguments)}: {usage}"
        )
    return make(arguments)
