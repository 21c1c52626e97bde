"""Which numbers of a row MuJoCo uses as places in its memory, and how far they may reach.

A row may come from a file or from bytes of anybody. MuJoCo believes the cursors of its history
buffers (of actuators and sensors with delays): another one has it read and write beside them. All
other columns are quantities: whatever stands there, none is used as an index. Found by writing what
no simulation has (NaN, 1e300, 2^31, -1, …) into each column of models of all kinds.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.errors import StateCorruptError

__all__ = ["RowIndices"]

# Within a history buffer: a time of its own, the cursor, the times of the samples, the samples.
_CURSOR = 1


class RowIndices:
    """Checks rows of one model; any thread.

    ``parts``: where each array stands in a row, see :class:`RowLayout`.
    """

    def __init__(self, model: Any, parts: Mapping[str, slice]) -> None:
        columns: list[int] = []
        counts: list[int] = []
        owners: list[tuple[str, int]] = []
        begin = parts.get("history", slice(0, 0)).start
        for kind in ("actuator", "sensor") if "history" in parts else ():
            starts, samples = (
                getattr(model, f"{kind}_historyadr"),
                getattr(model, f"{kind}_history"),
            )
            for index, (start, (count, _)) in enumerate(zip(starts, samples, strict=True)):
                if start >= 0:
                    columns.append(begin + int(start) + _CURSOR)
                    counts.append(int(count))
                    owners.append((kind, index))
        self._columns = np.array(columns, dtype=np.intp)
        self._most = np.array(counts, dtype=np.float64) - 1.0
        self._names = [_name(model, kind, index) for kind, index in owners]

    def __bool__(self) -> bool:
        """Return whether rows of this model hold any."""
        return bool(self._names)

    def check(self, rows: NDArray[np.float64]) -> None:
        """Raise StateCorruptError, which names the culprit, unless all of them fit.

        ``rows``: one row, (width,), or several, (n, width).
        """
        if not self._names:
            return
        cursors = rows[..., self._columns]
        fits = (cursors >= 0.0) & (cursors <= self._most) & (cursors == np.floor(cursors))
        if fits.all():
            return
        wrong = int(np.argwhere(~fits)[0][-1])
        value = float(cursors[~fits][0])
        raise StateCorruptError(
            f"the history of {self._names[wrong]} points to sample {value:g}, it has samples 0 to "
            f"{self._most[wrong]:.0f}: no simulation has written that state, take it from its "
            "source again"
        )


def _name(model: Any, kind: str, index: int) -> str:
    name = getattr(model, kind)(index).name
    return f"{kind} {name!r}" if name else f"{kind} {index}"
