"""Rows of one stretch of the axis, and what is left of those that were thinned out."""

import mmap
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.history.packing import RowPacking

__all__ = ["Block", "Dropped", "block_bytes"]

# Rows of so many bytes have a mapping of their own, which goes back to the system as a whole:
# malloc keeps what is free between allocations that live on.
_OWN_MAPPING = 64 << 10
# Else a forked child would write into the rows of its parent; Windows has neither.
_PRIVATE = getattr(mmap, "MAP_PRIVATE", 0) | getattr(mmap, "MAP_ANONYMOUS", 0)


class Block:
    """Up to ``capacity`` packed rows of the axes from ``begin`` to ``end`` (exclusive).

    ``stride`` 1: all of them, in order. Else those that ``axes`` says, and ``dropped`` tells of
    every axis, whether its row is still there or not. ``flags``: 1 where a row does not follow
    from the one before; such rows are kept as long as their block. ``walls``: when each row was
    taken, monotonic [s].
    """

    __slots__ = (
        "axes",
        "begin",
        "capacity",
        "count",
        "dropped",
        "end",
        "flags",
        "order",
        "rows",
        "steps",
        "stride",
        "times",
        "timesteps",
        "users",
        "walls",
    )

    def __init__(self, capacity: int, words: int) -> None:
        self.capacity = capacity
        self.rows: NDArray[np.float64] = _rows(capacity, words)
        self.times: NDArray[np.float64] = np.empty(capacity)
        self.steps: NDArray[np.int64] = np.empty(capacity, dtype=np.int64)
        self.timesteps: NDArray[np.float64] = np.empty(capacity)
        self.walls: NDArray[np.float64] = np.empty(capacity)
        self.flags: NDArray[np.uint8] = np.zeros(capacity, dtype=np.uint8)
        self.axes: NDArray[np.int64] = np.empty(capacity, dtype=np.int64)
        self.dropped: list[Dropped] = []
        self.order: Any = None
        """Who is working out what will be left of its rows; see :mod:`.ahead`."""
        self.users: set[object] = set()
        """Who still reads its rows on another thread: they must stay as they are meanwhile."""
        self.begin = self.end = 0
        self.stride = 1
        self.count = 0

    def touch(self) -> None:
        """Write to all of the memory, with the GIL released, so that it is there."""
        for array in (
            self.rows, self.times, self.steps, self.timesteps, self.walls, self.axes,
        ):  # fmt: skip
            array.fill(0)

    def start(self, axis: int) -> None:
        """Become the empty block of the rows from ``axis`` on."""
        self.begin = self.end = axis
        self.stride, self.count = 1, 0
        self.dropped = []
        self.order = None
        self.flags[:] = 0

    @property
    def nbytes(self) -> int:
        """Bytes of the rows; what was dropped is counted apart."""
        return block_bytes(self.capacity, self.rows.shape[1])

    def place(self, axis: int) -> int:
        """Return where the last stored row that is not after ``axis`` stands; -1 when none is."""
        if self.stride == 1:
            return axis - self.begin
        return int(np.searchsorted(self.axes[: self.count], axis, side="right")) - 1

    def axis_at(self, place: int) -> int:
        """Return the axis of a stored row."""
        return self.begin + place if self.stride == 1 else int(self.axes[place])

    def axes_of(self, places: "slice | NDArray[np.int64]") -> NDArray[np.int64]:
        """Return the axes of stored rows."""
        if self.stride != 1:
            return self.axes[places]
        if isinstance(places, slice):
            return self.begin + np.arange(places.start, places.stop, places.step)
        return self.begin + places

    @property
    def is_even(self) -> bool:
        """Whether its rows are all those whose axes can be divided by its stride, no others."""
        count, stride = self.count, self.stride
        if not count or self.axis_at(0) % stride or self.flags[:count].any():
            return False
        return self.axis_at(count - 1) - self.axis_at(0) == (count - 1) * stride

    def copy(
        self, at: int, other: "Block", places: "slice | NDArray[np.int64]", count: int
    ) -> None:
        """Copy ``count`` rows of another block to ``at`` and the places behind."""
        end = at + count
        if isinstance(places, slice):
            self.rows[at:end] = other.rows[places]
        else:  # a fifth of the time that fancy indices take
            np.take(other.rows, places, axis=0, out=self.rows[at:end], mode="clip")
        self.times[at:end] = other.times[places]
        self.steps[at:end] = other.steps[places]
        self.timesteps[at:end] = other.timesteps[places]
        self.walls[at:end] = other.walls[places]
        self.axes[at:end] = other.axes_of(places)
        self.flags[at:end] = other.flags[places]


class Dropped:
    """What is remembered of ``count`` rows from ``begin`` on: enough to step and to check them.

    Of the packed inputs those columns that changed within the stretch, one line per change, and
    all of the first row.
    """

    __slots__ = (
        "_changed_at",
        "_columns",
        "_constant",
        "_inputs",
        "_step_offsets",
        "_timesteps",
        "begin",
        "count",
        "first_step",
        "flags",
        "hashes",
        "nbytes",
        "times",
    )

    def __init__(self, block: Block, packing: RowPacking) -> None:
        n = block.count
        self.begin, self.count = block.begin, n
        rows = block.rows[:n]
        self.hashes = packing.hashes(rows)
        self.flags = block.flags[:n].copy()
        self.first_step = int(block.steps[0])
        offsets = block.steps[:n] - self.first_step
        single = bool((offsets == np.arange(n)).all())
        self._step_offsets = None if single else offsets.astype(np.int32)
        timesteps = block.timesteps[:n]
        constant = bool((timesteps == timesteps[0]).all())
        self._timesteps = timesteps[:1].copy() if constant else timesteps.copy()
        self.times = block.times[:n].copy()
        given = rows[:, packing.inputs]
        bits = given.view(np.uint64)
        self._columns = (bits != bits[0]).any(axis=0).nonzero()[0].astype(np.int32)
        changing = bits[:, self._columns]
        lines = (changing[1:] != changing[:-1]).any(axis=1).nonzero()[0] + 1
        self._changed_at = lines.astype(np.int32)
        self._constant = given[0].copy()
        self._inputs = changing[lines].view(np.float64)
        self.nbytes = self._bytes()
        """Bytes of it all."""

    @property
    def end(self) -> int:
        """The axis behind the last row."""
        return self.begin + self.count

    def _bytes(self) -> int:
        arrays: Sequence[NDArray[Any] | None] = (
            self.hashes,
            self.flags,
            self.times,
            self._step_offsets,
            self._timesteps,
            self._columns,
            self._changed_at,
            self._constant,
            self._inputs,
        )
        return 200 + sum(100 + array.nbytes for array in arrays if array is not None)

    def step(self, axis: int) -> int:
        """Return how many application steps had been taken ever at a row."""
        offset = axis - self.begin
        return self.first_step + (
            offset if self._step_offsets is None else int(self._step_offsets[offset])
        )

    def timestep(self, axis: int) -> float:
        """Return the timestep [s] of the step that began with a row."""
        return float(self._timesteps[0 if len(self._timesteps) == 1 else axis - self.begin])

    def inputs(self, axis: int) -> NDArray[np.float64]:
        """Return the packed inputs of a row, a copy."""
        given: NDArray[np.float64] = self._constant.copy()
        line = int(np.searchsorted(self._changed_at, axis - self.begin, side="right")) - 1
        if line >= 0:
            given[self._columns] = self._inputs[line]
        return given


def _rows(capacity: int, words: int) -> NDArray[np.float64]:
    """Return uninitialised memory for rows, (capacity, words)."""
    nbytes = 8 * capacity * words
    if nbytes < _OWN_MAPPING:
        return np.empty((capacity, words))
    memory = mmap.mmap(-1, nbytes, flags=_PRIVATE) if _PRIVATE else mmap.mmap(-1, nbytes)
    return np.frombuffer(memory, dtype=np.float64).reshape(capacity, words)


def block_bytes(capacity: int, size: int) -> int:
    """Return the bytes of a block of so many rows of so many numbers."""
    # Axis, steps, time, timestep and wall time of each row, and its flag.
    return capacity * (8 * size + 41)
