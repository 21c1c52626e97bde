"""How long the stages of a physics step take, by MuJoCo's own timers."""

from typing import Any

import numpy as np

from stroboscope.debugger_protocol.arrays import Arrays

__all__ = ["StageTimer"]


class StageTimer:
    """Reads the timers of live data; owner thread only."""

    def __init__(self, data: Any) -> None:
        self._seconds = np.array(data.timer.duration, dtype=np.float64)
        self._calls = np.array(data.timer.number, dtype=np.int64)

    def read(self, data: Any) -> Arrays:
        """Return the mean duration of each stage per step since the last call, NaN if none ran."""
        seconds = np.array(data.timer.duration, dtype=np.float64)
        calls = np.array(data.timer.number, dtype=np.int64)
        steps = calls[0] - self._calls[0]
        spent = seconds - self._seconds
        self._seconds, self._calls = seconds, calls
        # Older MuJoCo counts its stages without measuring them.
        known = steps > 0 and spent.any()
        return {"duration": spent / steps if known else np.full(spent.shape, np.nan)}
