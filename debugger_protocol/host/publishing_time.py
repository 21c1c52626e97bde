"""What the debugger costs the owner thread, told by the topic TIMING."""

import time

import numpy as np
from numpy.typing import NDArray

__all__ = ["PublishingTime"]


class PublishingTime:
    """Adds up the owner thread's own time for frames and signal rows; made while TIMING is wanted.

    Owner thread only.
    """

    __slots__ = ("_axis", "_seconds")

    def __init__(self, axis: int) -> None:
        self._axis = axis
        self._seconds = 0.0

    @staticmethod
    def now() -> float:
        """Return the time [s] to hand to :meth:`add`."""
        return time.perf_counter()

    def add(self, since: float, *, times: int = 1) -> None:
        """Count the time since ``since``; ``times``: as often as this has happened unmeasured."""
        self._seconds += times * (time.perf_counter() - since)

    def take(self, axis: int) -> NDArray[np.float64]:
        """Return the mean per physics step since the last call, (1,) [s]; NaN without a step.

        ``axis``: physics steps ever taken.
        """
        steps = axis - self._axis
        if steps <= 0:
            return np.array([np.nan])
        mean = self._seconds / steps
        self._axis, self._seconds = axis, 0.0
        return np.array([mean])
