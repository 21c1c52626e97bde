"""From a syntax tree and a table of signals to something that can be evaluated.

Everything that can be wrong with an expression is found here, once; evaluating never raises.
"""

import ast
import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.expressions.arithmetic import (
    FUNCTIONS,
    Misfit,
    binary,
    call,
    compare,
    either,
    invert,
    negate,
)
from stroboscope.debugger_protocol.expressions.errors import UnknownSignal
from stroboscope.debugger_protocol.expressions.memory import REMEMBERING, Remembered, remembering
from stroboscope.debugger_protocol.expressions.nodes import Inputs, Node, Run
from stroboscope.debugger_protocol.expressions.parser import SyntaxPlace, parse
from stroboscope.debugger_protocol.expressions.signal_table import (
    CONTACT_PARTS,
    PASSED,
    SignalTable,
    SignalTableEntry,
)
from stroboscope.debugger_protocol.near_names import near_names, suggestion
from stroboscope.debugger_protocol.signal_handlers import is_of_handler

__all__ = ["MAX_WIDTH", "ChannelUse", "Expression", "compile_expression"]

MAX_WIDTH: Final = 1024
"""The most values that an expression may have."""
_SYMBOLS: Final[dict[type[ast.AST], str]] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Mod: "%", ast.Pow: "**",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
_OTHER_WORDS: Final = {"penetration": "depth"}
_CONSTANTS: Final = {"pi": math.pi, "inf": math.inf, "nan": math.nan}


@dataclasses.dataclass(frozen=True, slots=True)
class ChannelUse:
    """One array that an expression reads; ``key`` is its name among the values.

    ``channel`` is a channel or pose array, or "contact" with ``part`` of the contacts between the
    geoms ``first`` and ``second`` (None: with anything).
    """

    key: str
    channel: str
    width: int
    is_user: bool = False
    part: str = ""
    first: frozenset[int] = frozenset()
    second: frozenset[int] | None = None


class Expression:
    """A checked expression; of one thread.

    ``width`` values with ``names`` (one per value, may be empty) in ``unit`` ("" when unknown, or
    not the same for all, see ``units``); ``channels`` is what :meth:`evaluate` needs.
    """

    def __init__(
        self,
        text: str,
        node: Node,
        channels: tuple[ChannelUse, ...],
        *,
        remembered: tuple[Remembered, ...] = (),
        computes_arrays: bool,
    ) -> None:
        self.text = text
        self.remembered = remembered
        """What is kept from step to step; :meth:`forget` begins anew."""
        self.width = node.width
        self.names = node.names
        self.units = tuple(unit or "" for unit in node.units)
        self.unit = self.units[0] if len(set(self.units)) == 1 else ""
        self.channels = channels
        self.problem = ""
        """Why the last evaluation is NaN or infinite, "" where it is not, or what it reads is."""
        self._run: Run = node.run
        self.limit = node.limit
        """The one comparison that it is, of one number with a constant; else None."""
        self._keys = tuple(each.key for each in channels)
        self._result = np.empty(node.width)
        # Nothing but finite numbers makes 0 with these, in a fifth of the time of isfinite().all().
        self._zeros = np.zeros(node.width)
        # A place takes a number much faster than a slice does.
        self._place: int | slice = 0 if node.width == 1 else slice(None)
        # Entering takes longer than computing a few numbers.
        self._may_warn = computes_arrays

    def evaluate(self, values: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return the value, (width,), which the next evaluation overwrites; never raises.

        ``values`` has an array (width,) under the key of each of ``channels``.
        """
        return self.evaluate_list([values[key] for key in self._keys])

    def evaluate_list(self, arrays: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return the value from the arrays in the order of ``channels``; see :meth:`evaluate`."""
        inputs = Inputs(arrays)
        result = self._result
        try:
            if self.remembered:
                with np.errstate(all="ignore"):
                    # Inner ones come first: the outer ones may use them.
                    for each in self.remembered:
                        inputs.remembered.append(each.advance(inputs))
            if self._may_warn:
                with np.errstate(all="ignore"):
                    result[self._place] = self._run(inputs)
                    is_finite = result.dot(self._zeros) == 0.0
            else:
                value = self._run(inputs)
                result[self._place] = value
                is_finite = self.width > 1 or math.isfinite(value)
            if not is_finite and not inputs.problem:
                inputs.problem = _why_not_finite(arrays)
        except Exception as error:  # the user's simulation goes on
            if is_of_handler(error):
                raise
            result[:] = np.nan
            inputs.problem = f"it failed: {type(error).__name__}: {error}"
        self.problem = inputs.problem
        return result

    def bound_to(self, arrays: list[NDArray[np.float64]]) -> Callable[[], float]:
        """Return what evaluates an expression of one value on whatever is in ``arrays`` then.

        The same as :meth:`evaluate_list` with that very list, in a third of the time.
        """
        if self.remembered or self._may_warn:
            return lambda: float(self.evaluate_list(arrays)[0])
        inputs, run = Inputs(arrays), self._run

        def number() -> float:
            try:
                value: float = run(inputs)
            except Exception as error:  # the user's simulation goes on
                if is_of_handler(error):
                    raise
                self.problem = f"it failed: {type(error).__name__}: {error}"
                return math.nan
            if inputs.problem:
                self.problem, inputs.problem = inputs.problem, ""
            elif not math.isfinite(value):
                self.problem = _why_not_finite(arrays)
            return value

        return number

    def forget(self) -> None:
        """Begin anew: the next evaluation is the first of an episode."""
        for each in self.remembered:
            each.forget()


def _why_not_finite(arrays: list[NDArray[np.float64]]) -> str:
    """Say why a result is infinite or NaN for which nothing on the way had a reason."""
    if all(np.isfinite(each).all() for each in arrays):
        return "a number in it is beyond 1.8e308"
    return ""  # what it reads is so already


def compile_expression(text: str, table: SignalTable, *, remembers: bool = False) -> Expression:
    """Return the expression, checked against what there is; raises ExpressionError.

    ``remembers``: it will be evaluated at every physics step, in order, so that it may speak of
    earlier ones.
    """
    tree, place = parse(text)
    compiler = _Compiler(table, place, remembers=remembers)
    node = compiler.node(tree)
    if node.width > MAX_WIDTH:
        raise place.error(
            f"this has {node.width} values, {MAX_WIDTH} are allowed: choose columns", tree
        )
    return Expression(
        text.strip(),
        node,
        tuple(compiler.uses.values()),
        remembered=tuple(compiler.remembered),
        computes_arrays=compiler.computes_arrays,
    )


class _Compiler:
    def __init__(self, table: SignalTable, place: SyntaxPlace, *, remembers: bool) -> None:
        self._table = table
        self._place = place
        self._remembers = remembers
        self.remembered: list[Remembered] = []
        self.uses: dict[str, ChannelUse] = {}
        self.computes_arrays = False
        """Whether NumPy's arithmetic takes part: it warns where a result is none."""
        self._slots: dict[str, int] = {}

    def node(self, tree: ast.expr) -> Node:
        try:
            node = self._node(tree)
        except Misfit as error:
            raise self._place.error(str(error), tree) from None
        # Elements are only taken of arrays elsewhere.
        computes = not isinstance(tree, ast.Subscript | ast.Attribute | ast.Name | ast.Constant)
        self.computes_arrays = self.computes_arrays or (computes and node.width > 1)
        return node

    def _node(self, tree: ast.expr) -> Node:
        match tree:
            case ast.Constant(value=value):
                return self._constant(tree, value)
            case ast.BinOp(left=left, op=op, right=right):
                symbol = _SYMBOLS.get(type(op))
                if symbol is None:
                    raise self._place.error("there is no such operator", tree)
                return binary(symbol, self.node(left), self.node(right))
            case ast.UnaryOp(op=op, operand=operand):
                node = self.node(operand)
                if isinstance(op, ast.Not):
                    return invert(node)
                return negate(node) if isinstance(op, ast.USub) else node
            case ast.BoolOp(op=op, values=values):
                symbol = "and" if isinstance(op, ast.And) else "or"
                return either(symbol, [self.node(each) for each in values])
            case ast.Compare():
                return self._comparison(tree)
            case ast.Call():
                return self._call(tree)
            case ast.Subscript():
                return self._subscript(tree)
            case ast.Attribute():
                return self._attribute(tree)
            case ast.Name(id=name):
                return self._name(tree, name)
        raise self._place.error("a value is needed here", tree)

    # --- values and operators

    def _constant(self, tree: ast.expr, value: object) -> Node:
        if isinstance(value, bool | int | float):
            try:
                number = float(value)
            except OverflowError:
                raise self._place.error("this number is too large", tree) from None
            return Node(1, lambda inputs: number, (None,), constant=number)
        raise self._place.error("a number is needed here; names stand in […]", tree)

    def _comparison(self, tree: ast.Compare) -> Node:
        operands = [self.node(each) for each in (tree.left, *tree.comparators)]
        symbols = [_SYMBOLS.get(type(op), "") for op in tree.ops]
        if not all(symbols):
            raise self._place.error("write ==, !=, <, <=, > or >=", tree)
        return compare(symbols, operands)

    def _call(self, tree: ast.Call) -> Node:
        if tree.keywords:
            raise self._place.error("arguments have no names here", tree)
        if isinstance(tree.func, ast.Name) and tree.func.id in REMEMBERING:
            return self._remembering(tree, tree.func.id)
        if not isinstance(tree.func, ast.Name) or tree.func.id not in FUNCTIONS:
            name = self._place.source(tree.func)
            hint = suggestion(name, (*FUNCTIONS, *REMEMBERING))
            raise self._place.error(f"there is no function {name!r}{hint}", tree.func)
        return call(tree.func.id, tuple(self.node(each) for each in tree.args))

    def _remembering(self, tree: ast.Call, name: str) -> Node:
        if len(tree.args) != 1:
            raise self._place.error(
                f"{name} takes 1 argument, not {len(tree.args)}: {REMEMBERING[name]}", tree
            )
        self._needs_every_step(name, tree.func)
        argument = tree.args[0]
        text = self._place.source(argument)

        def keep(node: Node, is_first: bool) -> int:
            self.remembered.append(
                Remembered(text=text, run=node.run, width=node.width, is_first=is_first)
            )
            return len(self.remembered) - 1

        return remembering(name, self.node(argument), keep)

    def _needs_every_step(self, what: str, tree: ast.expr) -> None:
        if not self._remembers:
            raise self._place.error(
                f"{what} speaks of earlier steps: only conditions (break when) can", tree
            )

    # --- signals

    def _name(self, tree: ast.expr, name: str) -> Node:
        entry = self._table.find(name)
        if entry is not None:
            return self._signal(entry)
        if name in _CONSTANTS:
            return self._constant(tree, _CONSTANTS[name])
        if name in FUNCTIONS or name in REMEMBERING:
            usage = REMEMBERING.get(name) or FUNCTIONS[name][1]
            raise self._place.error(f"{name} is a function: {usage}", tree)
        if name == "contact":
            raise self._place.error(
                f"say which contacts: contact['foot','floor'].{next(iter(CONTACT_PARTS))}, "
                "or contact.count",
                tree,
            )
        known = (*self._table.names, *FUNCTIONS, *REMEMBERING, "contact")
        raise self._unknown(name, tree, known)

    def _unknown(self, name: str, tree: ast.expr, known: Iterable[str]) -> UnknownSignal:
        """Return the error about a signal that there is not."""
        problem = f"there is no signal {name!r}{suggestion(name, known)}"
        signals = self._table.names
        families = {"contact", *(each.partition(".")[0] for each in signals if "." in each)}
        is_taken = name in self._table.own_words or (
            "." in name and name.partition(".")[0] in families
        )
        return UnknownSignal(
            self._place.error(problem, tree),
            name=name,
            may_be_logged=not is_taken and not near_names(name, signals),
        )

    def _attribute(self, tree: ast.Attribute) -> Node:
        if isinstance(tree.value, ast.Subscript) and _is_name(tree.value.value, "contact"):
            return self._contact(tree, tree.value)
        name = _dotted(tree)
        if name is None:
            raise self._place.error("only signals and contacts have parts with a dot", tree)
        entry = self._table.find(name)
        if entry is None:
            known = (*self._table.names, "contact.count", "contact.force", "contact.depth")
            raise self._unknown(name, tree, known)
        return self._signal(entry)

    def _signal(self, entry: SignalTableEntry) -> Node:
        slot = self._slot(ChannelUse(entry.name, entry.name, entry.width, entry.is_user))
        units = tuple(entry.unit_of(column) for column in range(entry.width))
        run: Run = lambda i: i.arrays[slot]  # noqa: E731 - written out, called at every step
        if entry.width == 1:
            run = lambda i: float(i.arrays[slot][0])  # noqa: E731
        return Node(entry.width, run, units, entry.names, entry.names, element=(slot, 0))

    def _slot(self, use: ChannelUse) -> int:
        self.uses.setdefault(use.key, use)
        return self._slots.setdefault(use.key, len(self._slots))

    def _contact(self, tree: ast.Attribute, pair: ast.Subscript) -> Node:
        part = _OTHER_WORDS.get(tree.attr, tree.attr)
        if part == PASSED:
            self._needs_every_step(f"contact[…].{PASSED}", tree)
        elif part not in CONTACT_PARTS:
            hint = suggestion(part, (*CONTACT_PARTS, PASSED, *_OTHER_WORDS))
            raise self._place.error_at_end(f"contacts have no {part!r}{hint}", tree, len(part))
        index = pair.slice
        written = index.elts if isinstance(index, ast.Tuple) else [index]
        if not 1 <= len(written) <= 2:
            raise self._place.error("name one or two geoms or bodies", index)
        sets = [self._geoms(each) for each in written]
        second = sets[1] if len(sets) > 1 else None
        names = ",".join(repr(each.value) for each in written if isinstance(each, ast.Constant))
        if part == PASSED and second is None:
            raise self._place.error("name both: what passes, and what it passes through", index)
        width, unit = CONTACT_PARTS.get(part, (1, ""))
        key = f"contact[{names}].{part}"
        slot = self._slot(
            ChannelUse(key, "contact", width, part=part, first=sets[0], second=second)
        )
        labels = ("x", "y", "z") if width == 3 else ()
        if width == 1:
            return Node(1, lambda i: float(i.arrays[slot][0]), (unit,))
        return Node(width, lambda i: i.arrays[slot], (unit,) * width, labels, labels)

    def _geoms(self, tree: ast.expr) -> frozenset[int]:
        if not isinstance(tree, ast.Constant) or not isinstance(tree.value, str):
            raise self._place.error("the name of a geom or body is needed, in quotes", tree)
        if not self._table.has_contact_name(tree.value):
            hint = suggestion(tree.value, self._table.contact_names)
            raise self._place.error(f"there is no geom or body {tree.value!r}{hint}", tree)
        return self._table.geoms_named(tree.value)

    # --- columns

    def _subscript(self, tree: ast.Subscript) -> Node:
        if _is_name(tree.value, "contact") and self._table.find("contact") is None:
            parts = ", ".join(f".{part}" for part in CONTACT_PARTS)
            raise self._place.error(f"say what of these contacts: {parts}", tree)
        if _is_name(tree.value, "user") and self._table.find("user") is None:
            return self._user(tree)
        node = self.node(tree.value)
        chosen, labels = self._columns(node, tree)
        names = tuple(node.names[i] for i in chosen) if node.names else ()
        units = tuple(node.units[i] for i in chosen)
        run = node.run
        if len(chosen) == 1:
            only = chosen[0]
            if node.width == 1:
                return Node(1, run, units, names, labels, element=node.element)
            # A signal as it is, of which every number has its place.
            element = None if node.element is None else (node.element[0], only)
            take: Run = lambda inputs: float(run(inputs)[only])  # noqa: E731
            return Node(1, take, units, names, labels, element=element)
        first = chosen[0]
        if chosen == tuple(range(first, first + len(chosen))):
            part = slice(first, first + len(chosen))
            return Node(len(chosen), lambda inputs: run(inputs)[part], units, names, labels)
        at = np.array(chosen, np.intp)
        return Node(len(chosen), lambda inputs: run(inputs)[at], units, names, labels)

    def _user(self, tree: ast.Subscript) -> Node:
        """Return a channel whose name is no identifier: ``user['loss/policy']``."""
        index = tree.slice
        if not isinstance(index, ast.Constant) or not isinstance(index.value, str):
            raise self._place.error("the name of a logged channel is needed, in quotes", index)
        entry = self._table.find(index.value)
        if entry is None:
            error = self._unknown(index.value, index, self._table.names)
            # Somebody who writes it like that knows that the script logs it.
            raise UnknownSignal(error, name=index.value, may_be_logged=True)
        return self._signal(entry)

    def _columns(self, node: Node, tree: ast.Subscript) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """Return the chosen columns, at least one, and what they are called from now on."""
        index = tree.slice
        if isinstance(index, ast.Constant) and isinstance(index.value, str):
            return self._columns_named(node, tree, index.value)
        labels = node.labels
        if isinstance(index, ast.Slice):
            bounds = [self._integer(each) for each in (index.lower, index.upper, index.step)]
            if bounds[2] == 0:
                raise self._place.error("the step of a slice can't be 0", index)
            chosen = tuple(range(*slice(*bounds).indices(node.width)))
            if not chosen:
                raise self._place.error(
                    f"this slice is empty: there are {node.width} values", index
                )
        else:
            at = self._integer(index)
            if at is None or not -node.width <= at < node.width:
                raise self._place.error(
                    f"there is no value {at}: there are {node.width}, 0 … {node.width - 1}", index
                )
            chosen = (at % node.width,)
        return chosen, tuple(labels[i] for i in chosen) if labels else ()

    def _columns_named(
        self, node: Node, tree: ast.Subscript, name: str
    ) -> tuple[tuple[int, ...], tuple[str, ...]]:
        exact = tuple(i for i, label in enumerate(node.labels) if label == name)
        if exact:
            return exact, tuple(node.labels[i] for i in exact)
        prefixes = (f"{name}.", f"{name}[")
        parts = tuple(i for i, label in enumerate(node.labels) if label.startswith(prefixes))
        if parts:
            return parts, tuple(
                node.labels[i][len(name) :].removeprefix(".").strip("[]") for i in parts
            )
        if not node.labels:
            raise self._place.error(
                f"these values have no names: use numbers 0 … {node.width - 1}", tree.slice
            )
        owners = (label.rpartition(".")[0] for label in node.labels)
        hint = suggestion(name, (*node.labels, *filter(None, owners)))
        what = self._place.source(tree.value)
        raise self._place.error(f"{what} has no {name!r}{hint}", tree.slice)

    def _integer(self, tree: ast.expr | None) -> int | None:
        sign = 1
        if tree is None:
            return None
        written = tree
        if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
            sign, tree = -1, tree.operand
        value = tree.value if isinstance(tree, ast.Constant) else None
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._place.error("a name in quotes, or a whole number is needed", written)
        return sign * min(value, 1 << 31)


def _is_name(tree: ast.expr, name: str) -> bool:
    return isinstance(tree, ast.Name) and tree.id == name


def _dotted(tree: ast.expr) -> str | None:
    """Return ``energy.total`` for its tree, None when it is something else."""
    if isinstance(tree, ast.Name):
        return tree.id
    if isinstance(tree, ast.Attribute):
        above = _dotted(tree.value)
        return None if above is None else f"{above}.{tree.attr}"
    return None
