"""The newest rows of a few channels of one number each, for drawings that need no more."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.arrays import unpack_arrays
from stroboscope.debugger_protocol.messages import Frame

__all__ = ["RecentSignals"]


class RecentSignals:
    """Keeps the last ``limit`` rows of each channel."""

    def __init__(self, channels: Iterable[str], *, limit: int) -> None:
        self._limit = limit
        self._values = {name: np.empty(0) for name in channels}

    def take(self, frame: Frame) -> bool:
        """Add the rows of a SIGNALS frame; return whether any was of these channels."""
        arrays = unpack_arrays(frame.arrays, frame.blob)
        found = False
        for name in self._values.keys() & arrays.keys():
            new = np.asarray(arrays[name], dtype=np.float64).reshape(len(arrays[name]), -1)[:, 0]
            self._values[name] = np.concatenate((self._values[name], new))[-self._limit :]
            found = True
        return found

    def values(self, channel: str) -> NDArray[np.float64]:
        """Return the rows of a channel, oldest first, (n,)."""
        return self._values[channel]

    def clear(self) -> None:
        """Forget everything: another scene is looked at."""
        self._values = {name: np.empty(0) for name in self._values}
