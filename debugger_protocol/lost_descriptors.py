"""File descriptors that are not ours any more, although objects still hold their numbers."""

import os
from collections.abc import Iterable

__all__ = ["point_at_null_device"]


def point_at_null_device(numbers: Iterable[int]) -> None:
    """Let go of what these descriptors are, in a forked child; negative ones are none.

    They are not closed: whoever still holds the numbers would later close somebody else's file.
    """
    null = os.open(os.devnull, os.O_RDWR)
    for number in numbers:
        if number >= 0:
            os.dup2(null, number, inheritable=False)
    os.close(null)
