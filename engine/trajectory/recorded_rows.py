"""The rows of one scene of a file, by the number of a frame and by the axis."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.errors import StateCorruptError
from stroboscope.engine.files.chunk_index import BlockIndex
from stroboscope.engine.files.errors import FileDamagedError
from stroboscope.engine.files.frames import BlockKind, RowBlock, SceneRecord
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.row_indices import RowIndices

__all__ = ["RecordedRows", "Row"]

Row = NDArray[np.float64]

_NONE: Final = -1


class RecordedRows:
    """Frames 0 to ``count`` - 1 of one scene; one thread.

    The last frame is the state in which the file ends: no step is known to have begun there.
    Reading raises FileDamagedError where the block that holds a frame is damaged; all others can be
    read.
    """

    def __init__(self, reader: TrajectoryReader, record: SceneRecord) -> None:
        self.record = record
        self._reader = reader
        self._indices: RowIndices | None = None
        self._checked: RowBlock | None = None
        """The block that was checked last: one is mostly asked for many times."""
        self.refresh()

    def go_into(self, indices: RowIndices) -> None:
        """Check from now on, before rows are handed out, what a model would use as indices.

        Reading raises FileDamagedError then for rows that no simulation can have written.
        """
        self._indices = indices or None

    def refresh(self) -> None:
        """Take in what the reader has found since, in a file that is still being recorded."""
        self.index: BlockIndex = self._reader.index(self.record.index)
        self.count = self.index.total
        self._last_whole = -1

    # --- places

    def block(self, number: int) -> RowBlock:
        """Return a block; the newest few are kept decoded."""
        block = self._reader.block(self.record.index, number)
        if self._indices is not None and self._checked is not block:
            self._check(block, self._indices)
            self._checked = block
        return block

    def _check(self, block: RowBlock, indices: RowIndices) -> None:
        whole = block.rows[:1] if block.kind is BlockKind.MINIMAL else block.rows
        try:
            indices.check(whole)
        except StateCorruptError as error:
            first, last = int(block.axes[0]), int(block.axes[-1])
            raise FileDamagedError(
                self._reader.path,
                f"holds impossible states within physics steps {first:,} to {last:,}",
                str(error),
            ) from error

    def place(self, frame: int) -> tuple[int, int]:
        """Return the block of a frame, and where the frame stands in it."""
        return self.index.locate(frame)

    @property
    def last_whole(self) -> int:
        """The last frame that can be read: the last one, where the block that holds it is whole."""
        if self._last_whole < 0:
            number = len(self.index.count) - 1
            while number > 0 and not self._is_whole(number):
                number -= 1
            self._last_whole = int(self.index.frames[number + 1]) - 1
        return self._last_whole

    @property
    def is_any_whole(self) -> bool:
        """Whether any frame can be read."""
        return any(map(self._is_whole, range(len(self.index.count))))

    def _is_whole(self, number: int) -> bool:
        try:
            self._reader.block(self.record.index, number)
        except FileDamagedError:
            return False
        return True

    def frames_of(self, block: int) -> range:
        """Return the frames of a block."""
        return range(int(self.index.frames[block]), int(self.index.frames[block + 1]))

    def frame_at(self, axis: int) -> int:
        """Return the frame of a row of the axis; -1 when none was recorded."""
        frame = self.frame_before(axis)
        return frame if frame >= 0 and self.axis(frame) == axis else _NONE

    def frame_before(self, axis: int) -> int:
        """Return the last frame that is not after ``axis``; -1 for none."""
        index = self.index
        number = int(np.searchsorted(index.first_axis, axis, side="right")) - 1
        if number < 0:
            return _NONE
        last = int(index.count[number]) - 1
        at = (axis - int(index.first_axis[number])) // self._stride(number) if last else 0
        return int(index.frames[number]) + min(at, last)

    def _stride(self, block: int) -> int:
        """Return how many physics steps lie between two frames of a block with several."""
        index = self.index
        first, last = int(index.first_axis[block]), int(index.last_axis[block])
        return max(1, (last - first) // max(int(index.count[block]) - 1, 1))

    def spans(self) -> NDArray[np.int64]:
        """Return the stretches of the axis whose every step has a frame: (n, 2), end exclusive."""
        index = self.index
        firsts, lasts, counts = index.first_axis, index.last_axis, index.count
        if not (lasts - firsts + 1 == counts).all():  # every so many steps only
            places = np.arange(self.count) - np.repeat(index.frames[:-1], counts)
            strides = np.maximum((lasts - firsts) // np.maximum(counts - 1, 1), 1)
            axes = np.repeat(firsts, counts) + places * np.repeat(strides, counts)
            return np.stack((axes, axes + 1), axis=1)
        begins = np.flatnonzero(np.r_[True, firsts[1:] != lasts[:-1] + 1])
        ends = np.r_[begins[1:], len(firsts)] - 1
        return np.stack((firsts[begins], lasts[ends] + 1), axis=1)

    def played(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return frames, rising, and how much was simulated until each [s]: (n,) each.

        Those at the ends of blocks: in between, it grows evenly. It goes on where time goes back.
        """
        index = self.index
        step = self.record.timestep * self.record.every
        inside = index.last_time - index.first_time
        usual = np.maximum(index.count - 1, 0) * step
        # Within a block with a reset time goes back as well.
        inside = np.where(np.isfinite(inside) & (inside >= 0.0), inside, usual)
        between = index.first_time[1:] - index.last_time[:-1]
        between = np.where(np.isfinite(between) & (between > 0.0), between, step)
        begins = np.concatenate(([0.0], np.cumsum(inside[:-1] + between)))
        frames = np.stack((index.frames[:-1], index.frames[1:] - 1), axis=1)
        return frames.ravel(), np.stack((begins, begins + inside), axis=1).ravel()

    def frame_played(self, seconds: float) -> int:
        """Return the frame that is in view so many simulated seconds after the first one.

        Reads no block; the last frame where the run is shorter than that.
        """
        frames, played = self.played()
        at = int(np.searchsorted(played, seconds, side="right"))
        if at == 0:
            return 0
        if at == len(played):
            return self.count - 1
        begin, end = float(played[at - 1]), float(played[at])
        first, last = int(frames[at - 1]), int(frames[at])
        part = (seconds - begin) / (end - begin)
        # Sums of timesteps are a little off.
        return min(first + int(part * (last - first) + 1e-6), last)

    # --- what stands there

    def stored(self, frame: int) -> Row | None:
        """Return a copy of the row of a frame; None where it has to be simulated again."""
        number, at = self.place(frame)
        block = self.block(number)
        if block.kind is BlockKind.MINIMAL and at:
            return None
        row: Row = block.rows[at].copy()
        return row

    def is_stored(self, frame: int) -> bool:
        """Return whether the row of a frame is in the file."""
        number, at = self.place(frame)
        return not at or int(self.index.kind[number]) != BlockKind.MINIMAL

    def key_before(self, frame: int) -> int:
        """Return the first frame of the block of ``frame``, which is stored."""
        return int(self.index.frames[self.place(frame)[0]])

    def inputs(self, frame: int) -> Row:
        """Return the inputs of a frame's step, as they stand in a row."""
        number, at = self.place(frame)
        begin, end = self.record.inputs
        row: Row = self.block(number).rows[at, begin:end].copy()
        return row

    def time(self, frame: int) -> float:
        """Return the simulation time [s] of a frame."""
        number, at = self.place(frame)
        return float(self.block(number).rows[at, 0])

    def axis(self, frame: int) -> int:
        """Return how many physics steps had ever been taken."""
        number, at = self.place(frame)
        return int(self.index.first_axis[number]) + (at * self._stride(number) if at else 0)

    def step(self, frame: int) -> int:
        """Return how many application steps had ever been taken."""
        number, at = self.place(frame)
        return int(self.block(number).steps[at])

    @property
    def first_step(self) -> int:
        """How many application steps had been taken before the first frame.

        Where its block is lost: as many as physics steps, which mostly are one of each.
        """
        try:
            return self.step(0)
        except FileDamagedError:
            return self.axis(0)

    def timestep(self, frame: int) -> float:
        """Return the timestep [s] of the step that begins there."""
        number, at = self.place(frame)
        return float(self.block(number).timesteps[at])

    def wall(self, frame: int) -> int:
        """Return when the row was taken, monotonic [ns]."""
        number, at = self.place(frame)
        return int(self.block(number).wall[at])

    def follows(self, frame: int) -> bool:
        """Return whether the row follows from the one before."""
        number, at = self.place(frame)
        return not self.block(number).flags[at]

    def follows_at(self, axis: int) -> bool:
        """Return whether the row of an axis follows from the one before; True without one."""
        frame = self.frame_at(axis)
        return frame < 0 or self.follows(frame)

    def hidden(self, frame: int) -> bytes | None:
        """Return what no row holds; None where nothing was recorded of that."""
        number, at = self.place(frame)
        return (self.block(number).hidden or None) if not at else None

    def hidden_before(self, frame: int) -> int:
        """Return the last frame that is not after ``frame`` and has some of it; -1 for none."""
        for number in range(self.place(frame)[0], -1, -1):
            if self.block(number).hidden:
                return int(self.index.frames[number])
        return _NONE

    def digest(self, frame: int) -> int | None:
        """Return the digest of a row that has to be simulated again."""
        number, at = self.place(frame)
        digests = self.block(number).digests
        return None if digests is None else int(digests[at])
