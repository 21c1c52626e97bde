"""What scripts hand over, made plain: text, whole numbers and numbers in a range, yes or no.

Names and counts are told to debuggers as they are. A number for a name, or NumPy's own types, would
end the connection of every client at the next news of them. TypeError for what is of another kind,
ValueError for what is out of range: each says what was given and what may be.
"""

import math
import operator
import os
import reprlib
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "MOST_THREADS",
    "check_memory",
    "checked_path",
    "checked_port",
    "finite_number",
    "flag",
    "function",
    "machine_bytes",
    "number",
    "number_array",
    "plain_text",
    "shown",
    "whole_number",
]

_Function = TypeVar("_Function")

MOST_THREADS = 4096
"""Native threads of one call at most."""

_LONGEST = 60
_FAR = 1_000_000
_short = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = _LONGEST


def shown(value: object) -> str:
    """Return what somebody has given, as a message shows it: short, and of which type it is."""
    kind = type(value).__name__
    if value is None or isinstance(value, bool):
        return f"{value} ({kind})"
    if isinstance(value, np.ndarray):
        return f"an ndarray of {value.dtype} and shape {value.shape}"
    text = _short.repr(value)
    return f"{text if len(text) <= 2 * _LONGEST else f'{text[: _LONGEST - 1]}…'} ({kind})"


def plain_text(value: object, what: str) -> str:
    """Return ``value`` as a plain ``str``; TypeError, which says ``what`` it is, for no text.

    Halves of characters, which no file and no connection takes, are written out.
    """
    if not isinstance(value, str):
        raise TypeError(f"{what} must be text, not {shown(value)}")
    text = str(value)
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def checked_path(value: object, what: str) -> str:
    """Return the path of a file as text; TypeError for what is none, ValueError for an impossible.

    An empty one would be the folder that the script happens to run in.
    """
    if not isinstance(value, str | os.PathLike):
        raise TypeError(f"{what} must be the path of a file, not {shown(value)}")
    path = os.fsdecode(value)
    try:
        is_possible = bool(path) and b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        is_possible = False
    if not is_possible:
        raise ValueError(f"{what} must be the path of a file, not {shown(path)}")
    return path


def checked_port(value: object) -> int:
    """Return the number of a TCP port, 0 for a free one; TypeError or ValueError for none."""
    return whole_number(value, "port (0: a free one)", least=0, most=65535)


def whole_number(value: object, what: str, *, least: int, most: int) -> int:
    """Return ``value`` as a plain ``int``; TypeError for no whole number, ValueError else."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise TypeError(f"{what} must be a whole number, not {shown(value)}")
    if not least <= number <= most:
        raise ValueError(f"{what} must be {_range(number, least, most)}, not {shown(value)}")
    return number


def _range(number: int, least: int, most: int) -> str:
    """Return what is allowed; where the upper end is far, only the end that matters."""
    if most < _FAR:
        return f"{least:,}…{most:,}"
    return f"{least:,} or more" if number < least else f"{most:,} or less"


def number(value: object, what: str, *, unit: str = "") -> float:
    """Return ``value`` as a plain ``float``, infinite when it is too large; TypeError for none."""
    # No text, though Python would read a number in it, no array of one, no truth.
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{what} must be a number{unit}, not {shown(value)}")
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def finite_number(value: object, what: str, *, unit: str = "") -> float:
    """Return ``value`` as a plain ``float``; TypeError for no number, ValueError if not finite."""
    made = number(value, what, unit=unit)
    if not math.isfinite(made):
        raise ValueError(f"{what} must be a finite number{unit}, not {shown(value)}")
    return made


def flag(value: object, what: str) -> bool:
    """Return ``value`` as a plain ``bool``; TypeError for what is neither yes nor no.

    A text would always be yes, ``"no"`` too.
    """
    if isinstance(value, bool | np.bool_) or (isinstance(value, int) and value in (0, 1)):
        return bool(value)
    raise TypeError(f"{what} must be True or False, not {shown(value)}")


def function(value: _Function, what: str) -> _Function:
    """Return ``value``; TypeError for what can't be called."""
    if not callable(value):
        raise TypeError(f"{what} must be a function, not {shown(value)}")
    return value


def number_array(value: object, what: str) -> NDArray[np.float64]:
    """Return an array of numbers, of any shape, that belongs to nobody else.

    TypeError for what are no numbers; ValueError for rows of different lengths, and for more
    numbers than this machine has memory for.
    """
    try:
        given = np.asarray(value)
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:  # torch's, of a gradient
        raise ValueError(
            f"{what} must be an array of numbers, with rows of one length, not {shown(value)}"
        ) from error
    # NumPy would make numbers of None, texts and dates as well: those are mistakes.
    if given.dtype.kind not in "biuf":
        raise TypeError(f"{what} must be an array of numbers, not {shown(value)}")
    check_memory(8 * given.size, f"{what} of the shape {given.shape}")
    return np.array(given, dtype=np.float64, order="C")


def check_memory(needed: int, what: str) -> None:
    """Raise ValueError for what needs more bytes than the memory of this machine."""
    there = machine_bytes()
    if needed > there:
        raise ValueError(
            f"{what} would take {needed / 2**30:,.1f} GiB, this machine has {there / 2**30:,.1f}: "
            "take it in parts"
        )


def machine_bytes() -> int:
    """Return how much memory this machine has; where it does not say, more than any has."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return 1 << 44
