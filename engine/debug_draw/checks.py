"""What a script asks to draw, checked and turned into numbers; ValueError for anything else.

Everything is checked also when nobody watches: a script that works alone must not fail because
somebody attaches. So this is written to be quick: about a microsecond per item.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stroboscope.engine.arguments import shown

__all__ = [
    "COLORS",
    "MAX_TEXT_BYTES",
    "Color",
    "Rgba",
    "Vector",
    "points",
    "positive",
    "rgba",
    "rgba_rows",
    "sizes",
    "text_bytes",
    "unit_quaternion",
    "vector",
]

Color = str | ArrayLike
Vector = tuple[float, float, float]
Rgba = tuple[float, float, float, float]

MAX_TEXT_BYTES = 256
# Far beyond what can be seen; sums and differences of such numbers are float32 numbers still.
_LARGEST = 1e30

COLORS: dict[str, Rgba] = {
    "red": (0.90, 0.22, 0.21, 1.0),
    "green": (0.26, 0.70, 0.30, 1.0),
    "blue": (0.20, 0.45, 0.90, 1.0),
    "yellow": (0.98, 0.80, 0.16, 1.0),
    "orange": (1.00, 0.55, 0.10, 1.0),
    "cyan": (0.10, 0.75, 0.85, 1.0),
    "magenta": (0.85, 0.25, 0.75, 1.0),
    "purple": (0.55, 0.35, 0.85, 1.0),
    "white": (1.0, 1.0, 1.0, 1.0),
    "gray": (0.5, 0.5, 0.5, 1.0),
    "grey": (0.5, 0.5, 0.5, 1.0),
    "black": (0.0, 0.0, 0.0, 1.0),
}


def vector(what: str, value: Any) -> Vector:
    """Return three finite numbers."""
    try:
        # Iterating over an array takes several times as long as over a list.
        x, y, z = value.tolist() if isinstance(value, np.ndarray) else _no_bytes(value)
        numbers = float(x), float(y), float(z)
        # False for NaN, too.
        if (
            -_LARGEST < numbers[0] < _LARGEST
            and -_LARGEST < numbers[1] < _LARGEST
            and -_LARGEST < numbers[2] < _LARGEST
        ):
            return numbers
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(f"debug_draw: {what} must be 3 finite numbers [m], not {shown(value)}")


def positive(what: str, value: Any, *, zero: bool = False) -> float:
    """Return a finite number above zero (or zero, where that is allowed)."""
    try:
        number = float("no") if isinstance(value, str | bytes) else float(value)
        if 0.0 < number < _LARGEST or (zero and number == 0.0):
            return number
    except (TypeError, ValueError, OverflowError):
        pass
    allowed = "a finite number, 0 or more" if zero else "a finite number above 0"
    raise ValueError(f"debug_draw: {what} must be {allowed}, not {shown(value)}")


def unit_quaternion(value: Any) -> Rgba:
    """Return a quaternion wxyz of length 1."""
    try:
        w, x, y, z = (float(number) for number in _no_bytes(value))
        length = math.sqrt(w * w + x * x + y * y + z * z)
        if 0.0 < length < _LARGEST:
            return w / length, x / length, y / length, z / length
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(
        f"debug_draw: quat must be 4 finite numbers (w, x, y, z), not all 0, not {shown(value)}"
    )


def rgba(value: Any) -> Rgba:
    """Return a colour given by name, or as 3 or 4 numbers from 0 to 1."""
    if isinstance(value, str):
        named = COLORS.get(value)
        if named is not None:
            return named
        raise ValueError(
            f"debug_draw: there is no color {value!r}; use r, g, b[, a] from 0 to 1, or one of "
            f"{', '.join(COLORS)}"
        )
    try:
        r, g, b, *rest = _no_bytes(value)
        a = 1.0 if not rest else float(rest[0])
        color = float(r), float(g), float(b), a
        if len(rest) < 2 and min(color) >= 0.0 and max(color) <= 1.0 and not math.isnan(sum(color)):
            return color
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(
        "debug_draw: color must be a name or 3 or 4 numbers from 0 to 1 (r, g, b[, a]), "
        f"not {shown(value)}"
    )


def text_bytes(value: Any) -> bytes:
    """Return a text as UTF-8."""
    if isinstance(value, str):
        try:
            data = value.encode()
        except UnicodeEncodeError:
            data = b""
        if 0 < len(data) <= MAX_TEXT_BYTES:
            return data
    raise ValueError(
        f"debug_draw: text must be a string of 1 to {MAX_TEXT_BYTES:,} bytes of UTF-8, "
        f"not {shown(value)}"
    )


def points(value: Any) -> NDArray[np.float32]:
    """Return points (n, 3) [m]."""
    table = _table("points", value)
    if table.ndim != 2 or table.shape[1] != 3:
        raise ValueError(f"debug_draw: points must have the shape (n, 3), not {table.shape}")
    if table.size and not (table.min() > -_LARGEST and table.max() < _LARGEST):
        row = int(np.argmin((np.abs(table) < _LARGEST).all(axis=1)))
        raise ValueError(
            f"debug_draw: points must be finite numbers, point {row} is {table[row].tolist()}"
        )
    return table


def rgba_rows(value: Any, *, count: int) -> Rgba | NDArray[np.float32]:
    """Return one colour for all points, or a row (count, 4) of each."""
    if isinstance(value, str) or _dimensions("color", value) < 2:
        return rgba(value)
    table = _table("color", value)
    if table.shape not in ((count, 3), (count, 4)):
        raise ValueError(
            f"debug_draw: color must be one color or have the shape ({count}, 3) or ({count}, 4), "
            f"not {table.shape}"
        )
    if table.size and not (table.min() >= 0.0 and table.max() <= 1.0):
        raise ValueError(
            "debug_draw: color must be numbers from 0 to 1, not "
            f"{float(table.min()):g} … {float(table.max()):g}"
        )
    if table.shape[1] == 3:
        return np.hstack([table, np.ones((count, 1), dtype=np.float32)])
    return table


def sizes(value: Any, *, count: int) -> float | NDArray[np.float32]:
    """Return one size [px] for all points, or one for each, (count,)."""
    if _dimensions("size", value) == 0:
        return positive("size", value)
    table = _table("size", value)
    if table.shape != (count,):
        raise ValueError(
            f"debug_draw: size must be a number or have the shape ({count},), not {table.shape}"
        )
    if table.size and not (table.min() > 0.0 and table.max() < _LARGEST):
        raise ValueError("debug_draw: size must be finite numbers above 0")
    return table


def _table(what: str, value: Any) -> NDArray[np.float32]:
    try:
        table = np.asarray(value)
        if table.dtype.kind in "biuf":
            with np.errstate(over="ignore", invalid="ignore"):
                return table.astype(np.float32, copy=False)
    except (TypeError, ValueError):
        pass
    raise ValueError(f"debug_draw: {what} must be an array of numbers, not {shown(value)}")


def _dimensions(what: str, value: Any) -> int:
    try:
        return np.ndim(value)
    except (TypeError, ValueError):
        raise ValueError(
            f"debug_draw: {what} must be an array of numbers, not {shown(value)}"
        ) from None


def _no_bytes(value: Any) -> Any:
    """Return ``value``; ValueError for bytes, which are numbers for Python."""
    if isinstance(value, bytes | bytearray):
        raise ValueError
    return value
