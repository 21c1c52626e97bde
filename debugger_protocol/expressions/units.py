"""Units of results, where they follow from those of the signals.

A unit is text as people write it (``N·m``, ``m/s²``); "" is unknown or none. None stands for a
plain number of the expression, which takes the unit of what it is combined with.
"""

from collections.abc import Callable

__all__ = ["Unit", "divide", "multiply", "power", "same"]

Unit = str | None

_DIGITS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_SUPERSCRIPT = str.maketrans("0123456789", _DIGITS)
_PLAIN = str.maketrans(_DIGITS, "0123456789")


def same(a: Unit, b: Unit) -> Unit:
    """Return the unit of a sum: that of both, or "" when they differ."""
    if a is None or b is None:
        return b if a is None else a
    return a if a == b else ""


def multiply(a: Unit, b: Unit) -> Unit:
    """Return the unit of a product."""
    return _combine(a, b, lambda one, other: one + other)


def divide(a: Unit, b: Unit) -> Unit:
    """Return the unit of a quotient."""
    return _combine(a, b, lambda one, other: one - other)


def power(a: Unit, exponent: float) -> Unit:
    """Return the unit of a power; "" when no whole powers come out."""
    if a is None or a == "":
        return a
    powers = {name: count * exponent for name, count in _parse(a).items()}
    if not all(
        abs(count) <= 9.0 and abs(count - round(count)) <= 1e-9 for count in powers.values()
    ):
        return ""
    return _format({name: round(count) for name, count in powers.items()})


def _combine(a: Unit, b: Unit, join: Callable[[int, int], int]) -> Unit:
    if a is None and b is None:
        return None
    if a == "" or b == "":
        return ""
    first, second = _parse(a or ""), _parse(b or "")
    names = dict.fromkeys((*first, *second))
    return _format({name: join(first.get(name, 0), second.get(name, 0)) for name in names})


def _parse(unit: str) -> dict[str, int]:
    powers: dict[str, int] = {}
    above, _, below = unit.partition("/")
    for part, sign in ((above, 1), (below, -1)):
        for word in filter(None, part.split("·")):
            name = word.rstrip(_DIGITS)
            count = int(word[len(name) :].translate(_PLAIN) or "1")
            if name != "1":
                powers[name] = powers.get(name, 0) + sign * count
    return powers


def _format(powers: dict[str, int]) -> str:
    def part(sign: int) -> str:
        words = []
        for name, count in powers.items():
            if count * sign > 0:
                size = abs(count)
                words.append(name + (str(size).translate(_SUPERSCRIPT) if size > 1 else ""))
        return "·".join(words)

    above, below = part(1), part(-1)
    if not below:
        return above
    return f"{above or '1'}/{below}"
