"""How numbers are written: fixed decimals, a real minus sign, a narrow space before the unit."""

import math

__all__ = [
    "MINUS",
    "THIN_SPACE",
    "count_text",
    "magnitude_text",
    "number_text",
    "power_text",
    "range_text",
    "speed_text",
    "unbroken",
    "with_unit",
]

THIN_SPACE = "\u202f"
"""Narrow, and no place for a line to end: neither in a number nor before its unit."""
_BREAKABLE = "\u2009"
MINUS = "\u2212"
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_LARGE = 1e6


def number_text(value: float, decimals: int = 3) -> str:
    """Return ``value`` with fixed decimals; huge ones in scientific notation."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    if abs(value) >= _LARGE:
        return f"{value:.3e}".replace("-", MINUS)
    text = f"{value:.{decimals}f}"
    if float(text) == 0.0:
        text = f"{0.0:.{decimals}f}"
    return text.replace("-", MINUS)


def magnitude_text(value: float) -> str:
    """Return about how large ``value`` is, in two digits: 1.2×10⁸, −350."""
    text = f"{value:.1e}"
    if 1e-3 <= abs(value) < 1e4 or value == 0.0:
        text = f"{float(text):g}"
    digits, _, power = text.partition("e")
    raised = f"×{power_text(int(power))}" if power else ""
    return f"{digits.replace('-', MINUS)}{raised}"


def power_text(power: int) -> str:
    """Return a power of ten: 10⁸, 10⁻³."""
    return f"10{str(power).translate(_SUPERSCRIPT)}"


def with_unit(text: str, unit: str) -> str:
    """Return ``text`` with its unit behind a narrow space."""
    return f"{text}{THIN_SPACE}{unit}" if unit else text


def range_text(low: float, high: float, decimals: int = 3) -> str:
    """Return a range; symmetric ones as ±."""
    if low == -high:
        return f"±{number_text(high, decimals)}"
    return f"{number_text(low, decimals)} … {number_text(high, decimals)}"


def count_text(count: int) -> str:
    """Return a count in groups of three, separated by narrow spaces."""
    return f"{count:,}".replace(",", THIN_SPACE)


def unbroken(text: str) -> str:
    """Return a text of the engine's with numbers and units that no line ends in."""
    return text.replace(_BREAKABLE, THIN_SPACE)


def speed_text(speed: float) -> str:
    """Return a playback speed: 1/4×, 1×, 2.5×."""
    if 0 < speed < 1 and (1 / speed).is_integer():
        return f"1/{int(1 / speed)}×"
    return f"{speed:g}×"
