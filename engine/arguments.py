"""What scripts hand over, made plain: text, and whole numbers in a range.

Names and counts are told to debuggers as they are. A number for a name, or NumPy's own types, would
end the connection of every client at the next news of them.
"""

import operator

__all__ = ["plain_text", "whole_number"]


def plain_text(value: object, what: str) -> str:
    """Return ``value`` as a plain ``str``; TypeError, which says ``what`` it is, for no text."""
    if not isinstance(value, str):
        raise TypeError(f"{what} must be text, not {type(value).__name__}")
    return str(value)


def whole_number(value: object, what: str, *, least: int, most: int) -> int:
    """Return ``value`` as a plain ``int``; TypeError for no whole number, ValueError else."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise TypeError(f"{what} must be a whole number, not {type(value).__name__}")
    if not least <= number <= most:
        raise ValueError(f"{what} must be {least:,}…{most:,}, not {value}")
    return number
