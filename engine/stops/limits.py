"""Many conditions that are one limit of one number each, looked at in one go.

Looking at each for itself takes half a microsecond; most of them are false all the time.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from stroboscope.engine.stops.watched import StepValues

__all__ = ["LEAST_LIMITS", "Limits"]

LEAST_LIMITS = 12
"""From so many on it is faster than one after the other."""


class Limits:
    """Which of n limits hold: ``sign * word > bound``; what is no number does not."""

    def __init__(self, limits: Sequence[tuple[int, float, float]]) -> None:
        places, signs, bounds = zip(*limits, strict=True)
        self._places = np.array(places, dtype=np.intp)
        self._signs = np.array(signs, dtype=np.float64)
        self._bounds = np.array(bounds, dtype=np.float64)
        self._numbers = np.empty(len(limits))
        self._holds = np.zeros(len(limits), dtype=np.bool_)
        self._held = np.zeros(len(limits), dtype=np.bool_)

    def changed(self, values: "StepValues") -> NDArray[np.intp]:
        """Return the places of those that hold now and did not at the last step, or the reverse."""
        words, begin, numbers = values.words, values.begin, self._numbers
        words[begin:].take(self._places, 0, numbers, "clip")
        np.multiply(numbers, self._signs, numbers)
        self._holds, self._held = self._held, self._holds
        np.greater(numbers, self._bounds, self._holds)
        # Nearly always nothing has changed: comparing bytes takes a tenth of what NumPy does.
        if self._holds.tobytes() == self._held.tobytes():
            return _NONE
        return np.flatnonzero(self._holds != self._held)

    def put(self, held: Sequence[bool]) -> None:
        """Note which of them were true at the last step."""
        self._holds[:] = held

    def forget(self) -> None:
        """Begin anew: none of them was true."""
        self._holds[:] = False


_NONE = np.empty(0, dtype=np.intp)
