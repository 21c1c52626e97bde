"""A file as the past of a scene: its rows come before all that the scene keeps itself."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.arrays import Arrays
from stroboscope.engine.files.low_rate import Signal
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.files.row_digest import digest_of_row
from stroboscope.engine.history.keyframes import Keyframes
from stroboscope.engine.history.ring import RowRing
from stroboscope.engine.history.spans import axes_of, last_before
from stroboscope.engine.trajectory.recorded_rows import RecordedRows, Row

if TYPE_CHECKING:
    from stroboscope.engine.history.packing import RowPacking

__all__ = ["FileKeyframes", "FileRing", "FileSignals"]


class FileRing(RowRing):
    """The rows of a file, all but the last, and behind them those that the scene has kept since.

    The scene stands at the file's last frame when it is made. Nothing of the file is ever thinned
    out or forgotten; what it takes in memory is the reader's few decoded blocks.
    """

    __slots__ = ("_begins", "_ends", "_reachable_in_file", "_recorded", "file_end")

    def __init__(self, packing: "RowPacking", recorded: RecordedRows, **others: Any) -> None:
        super().__init__(packing, **others)
        self._recorded = recorded
        self.take_in()

    def take_in(self) -> None:
        """Follow a file that has grown."""
        recorded = self._recorded
        self.file_end = recorded.axis(recorded.last_whole)
        """The axis of the last frame that can be read: rows of the file lie before it."""
        spans = recorded.spans()
        np.minimum(spans, self.file_end, out=spans)  # that frame is where the scene stands
        spans = spans[spans[:, 0] < spans[:, 1]]
        self._begins: NDArray[np.int64] = spans[:, 0].copy()
        self._ends: NDArray[np.int64] = spans[:, 1].copy()
        self._reachable_in_file = int((self._ends - self._begins).sum())

    def _frame(self, axis: int) -> int:
        """Return the frame of a row of the file; -1 when there is none."""
        at = int(np.searchsorted(self._begins, axis, side="right")) - 1
        if at < 0 or axis >= self._ends[at]:
            return -1
        return self._recorded.frame_at(axis)

    # --- what there is

    @property
    def first(self) -> int:
        """The oldest axis that can be reached; -1 without any."""
        return int(self._begins[0]) if len(self._begins) else super().first

    @property
    def dense(self) -> int:
        """The axis from which on every row is stored; -1 without any."""
        if not len(self._begins):
            return super().dense
        return self.first if self._recorded.is_stored(self._recorded.last_whole) else self.file_end

    @property
    def reachable(self) -> int:
        """How many axes can be reached."""
        return self._reachable_in_file + sum(end - begin for begin, end in self._own_spans())

    def spans(self) -> Iterator[tuple[int, int]]:
        """Go through the stretches of axes that are remembered, oldest first."""
        yield from zip(self._begins.tolist(), self._ends.tolist(), strict=True)
        yield from self._own_spans()

    def _own_spans(self) -> Iterator[tuple[int, int]]:
        """Go through the stretches that the scene has kept since."""
        return ((max(begin, self.file_end), end) for begin, end in super().spans())

    def next_remembered(self, axis: int, default: int) -> int:
        """Return ``axis`` or the next one that is remembered; ``default`` when none is."""
        if axis >= self.file_end:
            return self._next_own(axis, default)
        at = int(np.searchsorted(self._ends, axis, side="right"))
        if at < len(self._begins):
            return max(axis, int(self._begins[at]))
        return self._next_own(self.file_end, default)

    def _next_own(self, axis: int, default: int) -> int:
        if super().holds(axis):
            return axis
        return min((begin for begin, _ in self._own_spans() if begin >= axis), default=default)

    def last_remembered(self, axis: int) -> int:
        """Return the last one before ``axis`` that is remembered; -1 when none is."""
        own = last_before(self._own_spans(), axis)
        if own >= self.file_end:
            return own
        at = int(np.searchsorted(self._begins, axis)) - 1
        return min(int(self._ends[at]), axis) - 1 if at >= 0 else -1

    def axes(self, first: int, last: int) -> NDArray[np.int64]:
        """Return all that are remembered from ``first`` to ``last``, which counts."""
        chosen = slice(
            int(np.searchsorted(self._ends, first, side="right")),
            int(np.searchsorted(self._begins, last, side="right")),
        )
        begins = np.maximum(self._begins[chosen], first)
        counts = np.minimum(self._ends[chosen], last + 1) - begins
        # Each of them repeated, and how far each axis is from there: there may be millions.
        places = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        own = axes_of(self._own_spans(), first, last)
        return np.concatenate((np.repeat(begins, counts) + places, own))

    def holds(self, axis: int) -> bool:
        """Return whether the step that began at ``axis`` is remembered."""
        return super().holds(axis) if axis >= self.file_end else self._frame(axis) >= 0

    def stored_before(self, axis: int) -> int:
        """Return the last stored axis that is not after ``axis``, which is remembered."""
        if axis >= self.file_end:
            return super().stored_before(axis)
        frame = self._known_frame(axis)
        if self._recorded.is_stored(frame):
            return axis
        return self._recorded.axis(self._recorded.key_before(frame))

    def row(self, axis: int) -> Row | None:
        """Return the stored row of ``axis``; None when it has to be simulated again."""
        if axis >= self.file_end:
            return super().row(axis)
        frame = self._frame(axis)
        return None if frame < 0 else self._recorded.stored(frame)

    def is_stored(self, axis: int) -> bool:
        """Return whether the row of ``axis`` is stored."""
        if axis >= self.file_end:
            return super().is_stored(axis)
        frame = self._frame(axis)
        return frame >= 0 and self._recorded.is_stored(frame)

    def inputs(self, axis: int) -> Row:
        """Return the inputs of a remembered step."""
        if axis >= self.file_end:
            return super().inputs(axis)
        return self._recorded.inputs(self._known_frame(axis))

    def timestep(self, axis: int) -> float:
        """Return the timestep [s] of a remembered step."""
        if axis >= self.file_end:
            return super().timestep(axis)
        return self._recorded.timestep(self._known_frame(axis))

    def time(self, axis: int) -> float:
        """Return the time [s] at which a remembered step began."""
        if axis >= self.file_end:
            return super().time(axis)
        return self._recorded.time(self._known_frame(axis))

    def step(self, axis: int) -> int:
        """Return how many application steps had ever been taken before a remembered step."""
        if axis >= self.file_end:
            return super().step(axis)
        return self._recorded.step(self._known_frame(axis))

    def follows(self, axis: int) -> bool:
        """Return whether a remembered row follows from the one before."""
        if axis >= self.file_end:
            return super().follows(axis)
        return self._recorded.follows(self._known_frame(axis))

    def is_hash_of(self, row: Row, axis: int) -> bool:
        """Return whether ``row`` is that of ``axis``, which is not stored."""
        if axis >= self.file_end:
            return super().is_hash_of(row, axis)
        digest = self._recorded.digest(self._known_frame(axis))
        return digest is not None and digest == digest_of_row()(row.tobytes())

    def _known_frame(self, axis: int) -> int:
        frame = self._frame(axis)
        if frame < 0:
            raise LookupError(f"physics step {axis} was not recorded")
        return frame


class FileKeyframes(Keyframes):
    """What no row holds: of the first row of each block of the file, and what was kept since."""

    def __init__(self, recorded: RecordedRows, *, check: Callable[[bytes], None]) -> None:
        super().__init__()
        self._recorded = recorded
        self._check = check

    def at(self, axis: int) -> bytes | None:
        """Return what belongs to the row of ``axis``; None when it was not copied."""
        kept = super().at(axis)
        if kept is not None:
            return kept
        frame = self._recorded.frame_at(axis)
        hidden = None if frame < 0 else self._recorded.hidden(frame)
        if hidden:
            self._check(hidden)
        return hidden

    def before(self, axis: int) -> int:
        """Return the last axis that is not after ``axis`` and was copied; -1 for none."""
        kept = super().before(axis)
        frame = self._recorded.frame_before(axis)
        known = self._recorded.hidden_before(frame) if frame >= 0 else -1
        return kept if known < 0 else max(kept, self._recorded.axis(known))


class FileSignals:
    """What the script has logged, by the name of the channel: read when it is asked for."""

    def __init__(self, reader: TrajectoryReader, scene: int) -> None:
        self._reader = reader
        self._scene = scene
        self._known: dict[str, Signal] = {}

    def __contains__(self, name: str) -> bool:
        """Return whether there is a channel of that name."""
        return name in self._reader.signals(self._scene)

    def piece(self, name: str, first: int, last: int, *, max_rows: int) -> Arrays:
        """Return ``axis``, ``time`` [s], ``values`` (n, width) and ``widths`` of a stretch."""
        if name not in self._known:
            self._known[name] = self._reader.signal(self._scene, name)
        signal = self._known[name]
        begin, end = np.searchsorted(signal.axes, (first, last + 1))
        chosen = np.unique(np.linspace(begin, max(end - 1, begin), max_rows).round().astype(int))
        chosen = chosen[(chosen >= begin) & (chosen < end)]
        values = signal.values.reshape(len(signal.axes), -1)[chosen]
        return {
            "axis": signal.axes[chosen],
            "time": signal.times[chosen],
            "values": values,
            "widths": np.array([values.shape[1]], dtype=np.int64),
        }
