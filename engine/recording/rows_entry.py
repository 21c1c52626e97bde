"""A block of a history's rows on its way into a file."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from stroboscope.engine.history.block import Block
    from stroboscope.engine.history.model_watch import ModelWatch
    from stroboscope.engine.history.packing import RowPacking
    from stroboscope.engine.history.ring import RowRing

__all__ = ["RowSource", "RowsEntry"]


class RowSource:
    """Some rows, (n,) each but the rows: what the thread that writes reads.

    ``walls``: monotonic [s]. ``axes`` None: from ``begin`` on, one after the other.
    """

    begin: int
    axes: NDArray[np.int64] | None
    times: NDArray[np.float64]
    steps: NDArray[np.int64]
    timesteps: NDArray[np.float64]
    walls: NDArray[np.float64]
    flags: NDArray[np.uint8]
    taken: int
    """How many rows were taken, or not wanted; the writing thread's."""
    is_sealed: bool
    is_seen = False
    """Whether these are rows that ``sync()`` saw."""
    is_dropped = False
    """Whether they are left out: the disk was too slow."""

    def counted(self) -> int:
        """Return how many rows there are by now; they stay as they are. Any thread."""
        raise NotImplementedError

    def read(self, places: slice, out: NDArray[np.float64]) -> None:
        """Write rows into ``out``, (n, row)."""
        raise NotImplementedError

    def is_of_other_model(self) -> bool:
        """Return whether the steps of some rows so far may have been those of another model.

        Asked when it is known up to where rows are read.
        """
        return False

    def unseen_since(self) -> int:
        """Return from which axis on its steps may be those of a model that nobody has seen; or -1.

        Asked of rows that are being written: whoever seals them looks.
        """
        return -1

    def release(self) -> None:
        """Say that nobody reads it any more."""


class RowsEntry(RowSource):
    """The rows of a block of a history, from the place ``at`` on.

    ``is_of_other_model``: whether the file does not say which model their steps were taken with.
    """

    def __init__(
        self,
        block: "Block",
        packing: "RowPacking",
        *,
        ring: "RowRing | None",
        at: int = 0,
        watch: "ModelWatch | None" = None,
        is_of_other_model: bool = False,
    ) -> None:
        self._block, self._packing, self._ring = block, packing, ring
        self._count = -1
        self._watch = watch
        self._model = -1 if watch is None else watch.version
        self._is_of_other_model = is_of_other_model
        self.begin = block.begin
        self.axes = block.axes if block.stride > 1 else None
        self.times, self.steps, self.timesteps = block.times, block.steps, block.timesteps
        self.walls, self.flags = block.walls, block.flags
        self.taken = at
        block.users.add(self)
        if ring is None:
            self.seal(block.count)

    def is_of(self, block: "Block") -> bool:
        """Return whether these are the rows of ``block``."""
        return self._block is block

    def seal(self, count: int) -> None:
        """Say that there are ``count`` rows, and none will follow; by the owner."""
        if self._watch is not None:  # who was looked at just now
            self._is_of_other_model |= self._watch.version != self._model
        self._count = count

    @property
    def is_sealed(self) -> bool:  # type: ignore[override]
        """Whether no row will follow."""
        # Where a handler of a signal has raised out of seal(), the ring goes on without it.
        return self._count >= 0 or self._ring is None or not self._ring.is_filling(self._block)

    def counted(self) -> int:
        """Return how many rows there are by now."""
        # The owner seals before the ring's count begins anew: first read, then looked.
        at = 0 if self._ring is None else self._ring.at
        if not self.is_sealed:
            return at
        return self._block.count if self._count < 0 else self._count

    def is_of_other_model(self) -> bool:
        """Return whether something may have been written into the model meanwhile."""
        is_sealed = self.is_sealed
        if self._watch is None or self._is_of_other_model or is_sealed:
            return self._is_of_other_model
        return self._watch.version != self._model or not self._watch.is_as_seen()

    def unseen_since(self) -> int:
        """Return from which axis on nobody has seen the model of its steps; or -1."""
        return -1 if self._watch is None or self.is_sealed else self._watch.unseen_since()

    def read(self, places: slice, out: NDArray[np.float64]) -> None:
        """Write rows into ``out``."""
        self._packing.unpack_rows(self._block.rows[places], self._block.times[places], out)

    def release(self) -> None:
        """Let the history use the block for other rows."""
        self._block.users.discard(self)
