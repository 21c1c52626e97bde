"""What waits to be written and never will be, as the file has its size: counted, and said."""

import dataclasses
from typing import Final, TypeGuard

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.counted import counted
from stroboscope.engine.files.frames import FileEvent
from stroboscope.engine.recording.feed import FinalRow, SceneFeed, wall_ns
from stroboscope.engine.recording.rows_entry import RowSource

__all__ = ["LeftOut", "left_out_of"]

_NONE: Final = np.empty(0, dtype=np.int64)


@dataclasses.dataclass(frozen=True, slots=True)
class LeftOut:
    """What of one scene is not in the file: frames from ``first`` on, events, values it logged."""

    scene: int
    frames: int
    first: int
    time: float
    events: int
    values: int

    def __bool__(self) -> bool:
        """Whether there is anything."""
        return bool(self.frames or self.events or self.values)

    def event(self, max_size: int) -> FileEvent:
        """Return what the file is to say of it."""
        text = (
            f"{self.words} that waited at the end were left out: the file has reached its max_size "
            f"of {max_size:,} bytes"
        )
        return FileEvent(
            kind="gap",
            scene=self.scene,
            axis=max(self.first, 0),
            time=self.time,
            wall=wall_ns(),
            text=text,
            data={"frames": self.frames},
        )

    @property
    def words(self) -> str:
        """How much of what."""
        parts = [
            counted(number, what)
            for number, what in (
                (self.frames, "frame"),
                (self.events, "event"),
                (self.values, "value"),
            )
            if number
        ]
        return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def left_out_of(feed: SceneFeed, *, last: int, time: float) -> LeftOut:
    """Return what of ``feed`` is behind the frame of axis ``last``, which is written; -1: none is.

    ``time`` [s]: of that frame. On the thread that writes.
    """
    axes = np.concatenate([_rows(item) for item in tuple(feed.items)] or [_NONE])
    axes = axes[axes > last]
    if len(axes):
        origin = last if last >= 0 else int(axes[0])
        axes = axes[(axes - origin) % feed.record.every == 0]
    ends = [item.axis for item in tuple(feed.items) if _is_state(item) and item.axis > last]
    axes = np.union1d(axes, np.array(ends, dtype=np.int64))
    return LeftOut(
        scene=feed.index,
        frames=len(axes),
        first=int(axes[0]) if len(axes) else max(last, 0),
        time=time,
        events=len(feed.events),
        values=len(feed.values),
    )


def _is_state(item: object) -> TypeGuard[FinalRow]:
    return isinstance(item, FinalRow) and item.row is not None


def _rows(item: object) -> NDArray[np.int64]:
    """Return the axes of the rows of ``item`` that nobody has taken for certain."""
    if not isinstance(item, RowSource):
        return _NONE
    end = item.counted()
    begin = 0 if item.is_seen else min(item.taken, end)
    if item.axes is not None:
        return item.axes[begin:end]
    return np.arange(item.begin + begin, item.begin + end, dtype=np.int64)
