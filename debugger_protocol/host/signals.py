"""Rings of signal rows: every physics step of the subscribed channels, every ``log()`` call.

One writer, the owner thread; one reader, the server thread. Rows have numbers that only rise. The
writer never waits: a row that is overwritten before it was read is lost, and the reader is told
how many were.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.backend import Clock, SignalSource

__all__ = ["NoSignals", "Ring", "RingReader", "RowRing", "SignalRing", "SignalRows", "UserChannel"]

_RING_BYTES = 8 << 20
_MAX_ROWS = 8192
_MIN_ROWS = 256
_USER_ROWS = 4096
_USER_BYTES = 4 << 20
_FEW_CHANNELS = 256
_MIN_USER_ROWS = 16


@dataclasses.dataclass(frozen=True, slots=True)
class SignalRows:
    """Rows read from a ring: ``axis`` (n,) int64, ``time`` (n,) [s], ``values`` (n, width).

    ``lost`` rows before the first one were overwritten before they were read.
    """

    axis: NDArray[np.int64]
    time: NDArray[np.float64]
    values: NDArray[np.float64]
    lost: int


class RowRing:
    """A preallocated ring of ``capacity`` rows of ``width`` float64 with their instants."""

    def __init__(self, width: int, *, capacity: int) -> None:
        self.width = width
        self.capacity = capacity
        self.axis = np.zeros(capacity, dtype=np.int64)
        self.time = np.zeros(capacity, dtype=np.float64)
        self.values = np.zeros((capacity, width), dtype=np.float64)
        self.count = 0
        """Number of complete rows ever written; published last."""

    @property
    def oldest(self) -> int:
        """The number of the oldest row that can still be read."""
        # The slot of row `count` may be being written, so row `count - capacity` is not safe.
        return max(0, self.count - self.capacity + 1)

    def read(self, start: int, *, limit: int) -> SignalRows:
        """Return copies of at most ``limit`` rows from number ``start`` on."""
        count = self.count
        # The slot of row `count` may be being written, so row `count - capacity` is not safe.
        first = max(start, count - self.capacity + 1)
        end = min(count, first + limit)
        index = np.arange(first, end) % self.capacity
        axis, time, values = self.axis[index], self.time[index], self.values[index]
        overtaken = max(0, self.count - self.capacity + 1 - first)
        if overtaken:
            axis, time, values = axis[overtaken:], time[overtaken:], values[overtaken:]
        return SignalRows(axis, time, values, first - start + min(overtaken, end - first))


class SignalRing(RowRing):
    """Rows of engine channels, written around each physics step by a :class:`SignalSource`."""

    def __init__(self, source: SignalSource, *, revision: int = 0) -> None:
        row_bytes = 8 * (source.width + 2)
        capacity = max(_MIN_ROWS, min(_MAX_ROWS, _RING_BYTES // row_bytes)) if source.width else 1
        super().__init__(source.width, capacity=capacity)
        self.columns: Mapping[str, slice] = dict(source.columns)
        self.revision = revision
        """Of the model whose numbers these are; it may have been replaced since."""
        self.successor: SignalRing | None = None
        """The ring that is filled instead of this one; once it is set, no row comes any more."""
        self._before, self._after = source.writers(self.values)
        # An item of these takes half of the time that one of an array does.
        self._axis: Any = self.axis.data
        self._time: Any = self.time.data

    def before(self, axis: int, time: float) -> None:
        """Write the inputs of the coming physics step, which starts at ``axis`` and ``time``."""
        slot = self.count % self.capacity
        self._axis[slot] = axis
        self._time[slot] = time
        self._before(slot)

    def after(self) -> None:
        """Write what the physics step computed and publish the row."""
        count = self.count
        self._after(count % self.capacity)
        self.count = count + 1

    def replace_by(self, successor: "SignalRing") -> None:
        """End this ring: readers go on with ``successor`` when they have read the rest of it."""
        # What they hold is of no use without a writer, and a reader may need long.
        self._before = self._after = _write_nothing
        self.successor = successor

    @property
    def kept_bytes(self) -> int:
        """How much memory the rows take that have been written."""
        return 8 * (self.width + 2) * min(self.count, self.capacity)


def _write_nothing(_slot: int) -> None:
    pass


class NoSignals(SignalSource):
    """Writes nothing. A ring of it stands where no channel is wanted, and readers wait there."""

    width = 0
    columns: Mapping[str, slice] = MappingProxyType({})

    def before(self, row: NDArray[np.float64]) -> None:
        """Write nothing."""

    def after(self, row: NDArray[np.float64]) -> None:
        """Write nothing."""


class UserChannel(RowRing):
    """One channel that the script logs; a row is written at the instant of the call."""

    def __init__(self, name: str, *, width: int, names: Sequence[str], number: int = 0) -> None:
        super().__init__(width, capacity=_user_capacity(width, number=number))
        self.name = name
        self.names = tuple(names)

    def append(self, clock: Clock, values: NDArray[np.float64]) -> None:
        """Append ``values``, shape (width,), at the instant of ``clock``."""
        slot = self.count % self.capacity
        self.axis[slot] = clock.axis
        self.time[slot] = clock.time
        self.values[slot] = values
        self.count += 1


Ring = TypeVar("Ring", bound=RowRing)


def _user_capacity(width: int, *, number: int) -> int:
    """Return how many rows a scene's channel ``number`` keeps: less when wide, or one of many."""
    rows = _USER_ROWS if number < _FEW_CHANNELS else _USER_ROWS // 16
    return max(_MIN_USER_ROWS, min(rows, _USER_BYTES // (8 * (width + 2))))


class RingReader(Generic[Ring]):
    """One client's place in a ring; the server thread's.

    ``lost`` rows before that place were given up, which the next rows tell.
    """

    __slots__ = ("lost", "next", "ring")

    def __init__(self, ring: Ring, *, start: int, lost: int = 0) -> None:
        self.ring = ring
        self.next = start
        self.lost = lost

    @property
    def is_behind(self) -> bool:
        """Whether rows would soon be overwritten before they are read."""
        return 4 * (self.ring.count - self.next) > self.ring.capacity

    def read(self, limit: int) -> SignalRows:
        """Return the next rows, at most ``limit``, and move on behind them."""
        rows = self.ring.read(self.next, limit=limit)
        self.next += rows.lost + len(rows.axis)
        if self.lost:
            rows = dataclasses.replace(rows, lost=rows.lost + self.lost)
        # Where all rows were overwritten while they were read, those after them tell of it.
        self.lost = 0 if len(rows.axis) else rows.lost
        return rows
