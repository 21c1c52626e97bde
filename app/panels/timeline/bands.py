"""Where episodes begin, as pixels: what can't be told apart is left to a tone."""

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.panels.timeline.scale import AxisScale
from stroboscope.debugger_protocol.time_messages import Segment

__all__ = ["Band", "EpisodeBands"]

# Episodes narrower than this [px] are drawn as a tone, not one by one.
_NARROW_PX = 5.0


@dataclasses.dataclass(frozen=True, slots=True)
class Band:
    """An episode from ``left`` to ``right`` [px]; ``odd`` ones have another tone.

    ``count``: how many episodes it stands for, when they are too narrow to be told apart.
    """

    left: float
    right: float
    episode: int
    odd: bool
    count: int = 1


class EpisodeBands:
    """The episodes of a scene's segments; made anew when there are others."""

    def __init__(self, segments: Sequence[Segment] = ()) -> None:
        begins: list[int] = []
        numbers: list[int] = []
        for segment in segments:
            if not numbers or segment.episode != numbers[-1]:
                begins.append(segment.begin)
                numbers.append(segment.episode)
        self.begins: NDArray[np.int64] = np.array(begins, np.int64)
        self.numbers: NDArray[np.int64] = np.array(numbers, np.int64)

    def visible(self, scale: AxisScale, live: int) -> list[Band]:
        """Return what can be seen, at most about one band for every few pixels."""
        begins = self.begins
        if not len(begins):
            return []
        low = max(int(np.searchsorted(begins, scale.start, "right")) - 1, 0)
        high = int(np.searchsorted(begins, min(scale.end, float(live)), "left"))
        high = max(high, low + 1)
        edges = np.append(begins[low:high], begins[high] if high < len(begins) else live)
        x = scale.left + (np.minimum(edges, live) - scale.start) * scale.per_step
        wide = np.diff(x) >= _NARROW_PX
        bands: list[Band] = []
        # Runs of narrow ones are one band; where they begin and end is found at once.
        changes = np.flatnonzero(np.diff(wide)) + 1
        for group in np.split(np.arange(len(wide)), changes):
            first, last = int(group[0]), int(group[-1])
            if wide[first]:
                bands += [self._band(x, low, at) for at in range(first, last + 1)]
            else:
                bands.append(self._merged(x, low, first, last))
        return bands

    def _band(self, x: NDArray[np.float64], low: int, at: int) -> Band:
        number = int(self.numbers[low + at])
        return Band(float(x[at]), float(x[at + 1]), number, number % 2 == 1)

    def _merged(self, x: NDArray[np.float64], low: int, first: int, last: int) -> Band:
        number = int(self.numbers[low + first])
        return Band(float(x[first]), float(x[last + 1]), number, number % 2 == 1, last - first + 1)
