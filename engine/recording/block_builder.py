"""Blocks of a file out of rows as they come: as many as make a block, none that don't belong."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.files.block import rows_per_block
from stroboscope.engine.files.frames import (
    BlockKind,
    RecordMode,
    RowBlock,
    RowFlag,
    SceneRecord,
)
from stroboscope.engine.files.row_digest import digest_of_row
from stroboscope.engine.recording.rows_entry import RowSource

__all__ = ["BlockBuilder"]

_NS = 1e9


class BlockBuilder:
    """Gathers the rows of one scene; on the thread that writes.

    ``write`` gets each block, whose arrays are only good until it returns. ``hidden``: what a row
    does not hold, by axis, of scenes where that is something; a block begins wherever it is known.
    """

    def __init__(
        self,
        record: SceneRecord,
        *,
        write: Callable[[RowBlock], None],
        chunk_size: int | None,
        hidden: dict[int, bytes] | None,
    ) -> None:
        self.record = record
        self.write = write
        self._hidden = hidden
        self._every = record.every
        self._is_minimal = record.mode is RecordMode.MINIMAL
        most = chunk_size or rows_per_block(record.width, is_minimal=self._is_minimal)
        self._most = most
        self._rows = np.empty((most, record.width))
        self._axes = np.empty(most, dtype=np.int64)
        self._steps = np.empty(most, dtype=np.int64)
        self._timesteps = np.empty(most)
        self._walls = np.empty(most, dtype=np.int64)
        self._flags = np.empty(most, dtype=np.uint8)
        self._count = 0
        self._origin = 0
        """Of the rows of this stretch, every so many'th from here on is wanted."""
        self._next = -1
        """The axis of the next row that belongs into the same block; -1: none does."""
        self._stride = 1
        self._is_first = True
        self._is_seen = False
        """Whether the rows of this block are what sync() saw."""
        self._needs_rows = False
        """Whether rows of this block can't be simulated again for certain."""
        self._is_of_other_model = False
        """Whether that is so of the rows that are being taken."""
        self._wanted = 0
        """The axis from which on the next one of those is wanted."""
        if self._is_minimal:
            self._digest = digest_of_row()

    def take(self, source: RowSource, end: int) -> None:
        """Take the rows of ``source`` up to its place ``end``."""
        if source.is_seen:
            self._take_seen(source, end)
            return
        self._wanted = 0
        if self._is_minimal and source.taken < end:
            self._is_of_other_model = source.is_of_other_model()
        while source.taken < end:
            begin = source.taken
            stop, stride = self._run(source, begin, end)
            self._take_run(source, begin, stop, stride)
            source.taken = stop

    def _take_seen(self, source: RowSource, end: int) -> None:
        """Take rows that don't follow from each other, and are any number of steps apart."""
        assert source.axes is not None  # noqa: S101 - such rows have them
        while source.taken < end:
            place = source.taken
            source.taken += 1
            axis = int(source.axes[place])
            if axis < self._wanted:
                continue
            self._wanted = axis + self._every
            stride = axis - int(self._axes[self._count - 1]) if self._count else 1
            if (
                not self._is_seen
                or self._hidden
                or stride < 1
                or (self._count > 1 and stride != self._stride)
            ):
                self.flush()
            self._is_seen = True
            self._stride = stride
            self._copy(source, slice(place, place + 1, 1))
            self._next = -1
            if self._count == self._most:
                self.flush()

    def _run(self, source: RowSource, begin: int, end: int) -> tuple[int, int]:
        """Return up to where the rows from ``begin`` on make one run, and how far apart they are.

        A row that does not follow from the one before begins another run where it has to begin
        another block.
        """
        breaks = source.flags[begin + 1 : end]
        if self._breaks_at_flags and breaks.any():
            end = begin + 1 + int(np.argmax(breaks != 0))
        if self._hidden and source.axes is None:
            axis = source.begin + begin
            known = min((each for each in tuple(self._hidden) if each > axis), default=-1)
            if begin < known - source.begin < end:
                end = known - source.begin
        if source.axes is None:
            return end, 1
        apart = np.diff(source.axes[begin:end])
        if not len(apart):
            return end, 1
        other = np.flatnonzero(apart != apart[0])
        return (begin + 1 + int(other[0]) if len(other) else end), int(apart[0])

    @property
    def _breaks_at_flags(self) -> bool:
        return self._is_minimal or self._every > 1 or self._hidden is not None

    def _axis(self, source: RowSource, place: int) -> int:
        return source.begin + place if source.axes is None else int(source.axes[place])

    def _take_run(self, source: RowSource, begin: int, end: int, stride: int) -> None:
        axis = self._axis(source, begin)
        is_break = bool(source.flags[begin]) and self._breaks_at_flags
        is_known = self._hidden is not None and axis in self._hidden
        if self._every > 1:
            if is_break or self._is_first:
                self._origin = axis
            skipped = -(axis - self._origin) % self._every
            begin, axis = begin + skipped, axis + skipped
            stride = self._every
        if begin >= end:
            return
        if (
            is_break
            or is_known
            or axis != self._next
            or (self._count > 1 and stride != self._stride)
        ):
            self.flush()
        step = self._every
        places = range(begin, end, step)
        at = 0
        while at < len(places):
            count = min(len(places) - at, self._most - self._count)
            part = places[at : at + count]
            self._copy(source, slice(part.start, part[-1] + 1, step))
            at += count
            self._stride = stride
            if self._count == self._most:
                self.flush()
        self._next = self._axis(source, places[-1]) + stride

    def _copy(self, source: RowSource, places: slice) -> None:
        self._needs_rows |= self._is_of_other_model
        begin = self._count
        end = begin + len(range(places.start, places.stop, places.step))
        source.read(places, self._rows[begin:end])
        axes = source.axes
        if axes is None:
            first = source.begin + places.start
            self._axes[begin:end] = range(first, first + (end - begin) * places.step, places.step)
        else:
            self._axes[begin:end] = axes[places]
        self._steps[begin:end] = source.steps[places]
        self._timesteps[begin:end] = source.timesteps[places]
        np.multiply(source.walls[places], _NS, out=self._walls[begin:end], casting="unsafe")
        self._flags[begin:end] = source.flags[places]
        if self._is_first:
            self._flags[begin] |= RowFlag.BROKEN
            self._is_first = False
        self._count = end

    def flush(self) -> None:
        """Write what there is."""
        count, self._count = self._count, 0
        is_seen, self._is_seen = self._is_seen, False
        needs_rows, self._needs_rows = self._needs_rows, False
        if not count:
            return
        is_minimal = self._is_minimal and not (is_seen or needs_rows)
        block = RowBlock(
            scene=self.record.index,
            kind=BlockKind.MINIMAL if is_minimal else BlockKind.EXACT,
            rows=self._rows[:count],
            axes=self._axes[:count],
            steps=self._steps[:count],
            timesteps=self._timesteps[:count],
            wall=self._walls[:count],
            flags=self._flags[:count],
            digests=self._digests(count) if is_minimal else None,
            hidden=self._take_hidden(int(self._axes[0])),
        )
        self.write(block)

    def _take_hidden(self, axis: int) -> bytes:
        """Return what belongs to the row of ``axis``; what belongs to earlier ones goes."""
        if not self._hidden:
            return b""
        for old in [each for each in tuple(self._hidden) if each < axis]:
            del self._hidden[old]
        return self._hidden.pop(axis, b"")

    def begin_anew(self) -> None:
        """Begin a block with the next row, which does not follow from those before."""
        self.flush()
        self._next = -1
        self._is_first = True

    def _digests(self, count: int) -> NDArray[np.uint64]:
        digest = self._digest
        return np.array([digest(row) for row in self._rows[:count]], dtype=np.uint64)

    def write_final(self, block: RowBlock) -> None:
        """Write the state after the last step."""
        self.flush()
        self.write(block)
