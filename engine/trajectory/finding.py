"""Where the frames of a recorded run are in simulation time, and which belong to a stretch."""

import bisect
import itertools
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from stroboscope.engine.arguments import finite_number, whole_number
from stroboscope.engine.history.segments import Stretch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stroboscope.engine.trajectory.recorded_rows import RecordedRows

__all__ = ["FrameFinder"]

# Times are sums of timesteps: one that somebody types is not to the last bit [s].
_SLACK_S: Final = 1e-9


class FrameFinder:
    """Finds frames by time; ``stretches`` are those of the run, also when it has grown."""

    def __init__(self, rows: "RecordedRows", stretches: Sequence[Stretch], *, path: Path) -> None:
        self._rows, self._stretches, self._path = rows, stretches, path

    def find(self, time: float, *, episode: int | None, here: int) -> int:
        """Return the last frame that is not later than ``time`` [s].

        Within ``episode``; without: within the episode ``here``, else the first that has such a
        frame. Raises ValueError when none has.
        """
        wanted = finite_number(time, "time", unit=" of seconds")
        stretches: Iterable[Stretch]
        if episode is not None:
            episode = whole_number(episode, "episode", least=0, most=sys.maxsize)
            stretches = [each for each in self._stretches if each.segment.episode == episode]
            if not stretches:
                known = sorted({each.segment.episode for each in self._stretches})
                raise ValueError(
                    f"there is no episode {episode} in {self._path}: {known[0]} to {known[-1]} are"
                )
        else:
            mine = (each for each in self._stretches if each.segment.episode == here)
            others = (each for each in self._stretches if each.segment.episode != here)
            stretches = itertools.chain(mine, others)
        for stretch in stretches:
            first, last = self._frames_of(stretch)
            if first <= last and self._rows.time(first) <= wanted + _SLACK_S:
                return self._last_before(wanted + _SLACK_S, first, last)
        raise ValueError(f"no frame of {self._path} is at or before {wanted:g} s")

    def frames_at(self, interval: float) -> "NDArray[np.int64]":
        """Return the frames that stand ``interval`` seconds of simulated time apart, from 0 on.

        Raises ValueError for an interval that is not above 0.
        """
        seconds = finite_number(interval, "interval", unit=" of seconds")
        if seconds <= 0.0:
            raise ValueError(f"interval must be above 0 s, not {seconds:g}")
        frames, played = self._rows.played()
        instants = np.arange(int(played[-1] / seconds + 1e-6) + 1) * seconds
        chosen: NDArray[np.int64] = np.rint(np.interp(instants, played, frames)).astype(np.int64)
        return chosen

    def _last_before(self, wanted: float, first: int, last: int) -> int:
        while first < last:
            middle = (first + last + 1) // 2
            if self._rows.time(middle) <= wanted:
                first = middle
            else:
                last = middle - 1
        return first

    def _frames_of(self, stretch: Stretch) -> tuple[int, int]:
        """Return the first and the last frame of a stretch; the last is before it when it has none.

        The last frame of the file belongs to the last stretch.
        """
        begin, stretches, rows = stretch.segment.begin, self._stretches, self._rows
        behind = bisect.bisect_right(stretches, begin, key=lambda each: each.segment.begin)
        is_last = behind == len(stretches)
        end = rows.axis(rows.count - 1) if is_last else stretches[behind].segment.begin - 1
        return rows.frame_before(begin - 1) + 1, rows.frame_before(end)
