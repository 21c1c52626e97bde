"""An expression that is evaluated after every physics step, on the values of that step."""

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.expressions import (
    PASSED,
    ChannelUse,
    Expression,
    ExpressionError,
    compile_expression,
)
from stroboscope.engine.channel_readers import ARRAYS_AFTER, INPUTS, ChannelReaders
from stroboscope.engine.expression_channels import ExpressionScope, Reader, reader_of
from stroboscope.engine.limit_channels import JOINT_MARGIN
from stroboscope.engine.row_layout import RowLayout
from stroboscope.engine.stops.passing import PassingWatch
from stroboscope.engine.world import World

if TYPE_CHECKING:
    from stroboscope.engine.history.packing import RowPacking
    from stroboscope.engine.history.ring import RowRing

__all__ = ["StepValues", "WatchedExpression", "Watcher"]

Array = NDArray[np.float64]


_OF_STATE = frozenset(
    {"time", "qpos", "qvel", "act", JOINT_MARGIN}
    | {"energy.potential", "energy.kinetic", "energy.total"}
)


@dataclasses.dataclass(slots=True)
class _RowPart:
    """A row, seen as data that has only ``qpos``: what margins of joints are read from."""

    qpos: Array


class Watcher:
    """What the watched expressions of one world have in common; owner thread only."""

    def __init__(self, world: World, scope: ExpressionScope, packing: "RowPacking") -> None:
        self.world = world
        self.scope = scope
        self.layout = RowLayout(world.model, adapter=world.adapter)
        self.readers = ChannelReaders(
            world.model,
            world.live,
            table=world.channels,
            frames=world.frames,
            adapter=world.adapter,
        )
        self.packing = packing
        self.words = packing.words
        self.is_runge_kutta = world.adapter.is_runge_kutta(world.model)

        self.values = StepValues(self)
        """Where the values of the newest step are read from."""


class StepValues:
    """The values of one physics step: the row before it, and what the step has computed.

    One object for all steps: whoever looks at a step says where its row is. ``words`` are those of
    all packed rows around it, of which its own begin at ``begin``; ``time`` [s] is that of the row.
    """

    __slots__ = ("_at", "_head", "_read", "_ring", "_row", "_source", "begin", "data", "time",
                 "watcher", "words")  # fmt: skip

    def __init__(self, watcher: Watcher) -> None:
        self.watcher = watcher
        self.data: Any = None
        self.begin = 0
        self.time = math.nan
        self.words: Array = np.empty(0)
        self._head: Any = None
        self._ring: Any = None
        self._at = 0
        self._row: Array | None = None
        self._source: Any = None
        self._read: dict[str, Any] = {}

    def put(self, ring: "RowRing", at: int, data: Any) -> None:
        """Turn to the step whose row is at a place of the ring's newest block, and its data."""
        if ring.head is not self._head:
            self._head = ring.head
            self.words = np.frombuffer(ring.head, dtype=np.float64)
        self._ring, self._at, self.data = ring, at, data
        self.begin, self.time = at * self.watcher.words, ring.times[at]
        self._row = self._source = None
        if self._read:
            self._read = {}

    def put_row(self, row: Array, data: Any) -> None:
        """Turn to a step whose row is at hand as it is, and its data; packed rows are rows then."""
        self.words, self.begin, self.time = row, 0, float(row[0])
        self.data, self._row, self._source = data, row, None
        self._read = {}

    def read_once(self, key: str, read: Reader, source: Any) -> Any:
        """Return what ``read`` gives for this step: all that speak of ``key`` share it."""
        found = self._read.get(key)
        if found is None:
            found = self._read[key] = read(source)
        return found

    @property
    def row(self) -> Array:
        """The row itself: working it out takes longer than a plain condition."""
        if self._row is None:
            self._row = self._ring.written(self._at)
        return self._row

    @property
    def source(self) -> Any:
        """The data with what the step has computed; None where that can't be had.

        The arrays after an RK4 step are of its last stage, no instant of the run: they are computed
        anew, once for all expressions.
        """
        watcher = self.watcher
        if not watcher.is_runge_kutta:
            return self.data
        if self._source is None:
            self._source = watcher.world.frames.recompute(self.row)
        return self._source


class WatchedExpression:
    """One expression with what reads its values; raises CommandError when it can't be watched."""

    def __init__(self, text: str, watcher: Watcher) -> None:
        try:
            self.expression: Expression = compile_expression(
                text, watcher.scope.table, remembers=True
            )
        except ExpressionError as error:
            raise CommandError(str(error)) from error
        self.passing: PassingWatch | None = None
        uses = self.expression.channels
        parts = watcher.layout.parts
        self._needs_energy = False
        self._qpos = watcher.packing.place_of("qpos")
        self._arrays: list[Array] = [np.full(use.width, math.nan) for use in uses]
        self._nothing = [np.full(use.width, math.nan) for use in uses]
        self._of_words: list[tuple[int, int, int]] = []
        self._of_row: list[tuple[int, slice]] = []
        self._times: list[int] = []
        self._margins: list[tuple[int, Reader]] = []
        self._computed: list[tuple[int, Reader, str]] = []
        self._watcher = watcher
        live = watcher.world.live
        for slot, use in enumerate(uses):
            name = use.channel
            if name == "time" and not use.is_user:
                self._arrays[slot] = np.empty(1)
                self._times.append(slot)
            elif name in INPUTS and not use.is_user:
                place = watcher.packing.place_of(name)
                if place is None:
                    self._of_row.append((slot, parts[name]))
                else:
                    self._of_words.append((slot, place.start, place.stop))
            elif name == JOINT_MARGIN and not use.is_user:
                self._margins.append((slot, watcher.readers.reader(name)))
            elif name in ARRAYS_AFTER and not use.is_user and not watcher.is_runge_kutta:
                # MuJoCo keeps them at one place as long as the data lives.
                self._arrays[slot] = getattr(live(), name)
            else:
                self._computed.append((slot, self._reader(use), _shared_key(use)))
                self._needs_energy |= name.startswith("energy.")

        self._needs_more = bool(self._margins or self._computed or self._of_row)
        self._number = self.expression.bound_to(self._arrays)

    @property
    def limit(self) -> tuple[int, float, float] | None:
        """Where among a packed row's words its one number is, and when it is true.

        ``sign * word > bound``; None where it is anything but that.
        """
        limit = self.expression.limit
        if limit is None or self._needs_more or self._times or len(self._of_words) != 1:
            return None
        _, first, _ = self._of_words[0]
        return first + limit.column, limit.sign, limit.bound

    @property
    def is_of_state(self) -> bool:
        """Whether it only speaks of what there was before the step computed anything."""
        return all(name in _OF_STATE for name in (use.channel for use in self.expression.channels))

    def _reader(self, use: ChannelUse) -> Reader:
        watcher = self._watcher
        if use.part == PASSED:
            self.passing = PassingWatch(
                watcher.world.model,
                use.first,
                use.second or frozenset(),
                adapter=watcher.world.adapter,
            )
            return self.passing.read
        return reader_of(use, scope=watcher.scope, make_reader=watcher.readers.reader)

    def number(self, values: StepValues) -> float:
        """Return the value of an expression of width 1, NaN where there is none."""
        if self._needs_more:
            self._read(values)
        else:
            # What this comes to is paid at every step.
            arrays = self._arrays
            for slot, first, end in self._of_words:
                begin = values.begin
                arrays[slot] = values.words[begin + first : begin + end]
            for slot in self._times:
                arrays[slot][0] = values.time
        return self._number()

    def vector(self, values: StepValues) -> Array:
        """Return the value, (width,), which the next call overwrites."""
        self._read(values)
        return self.expression.evaluate_list(self._arrays)

    def _read(self, values: StepValues) -> None:
        arrays, begin = self._arrays, values.begin
        for slot, first, end in self._of_words:
            arrays[slot] = values.words[begin + first : begin + end]
        for slot in self._times:
            arrays[slot][0] = values.time
        for slot, part in self._of_row:
            arrays[slot] = values.row[part]
        if self._margins:
            place = self._qpos
            before = _RowPart(
                values.row[self._watcher.layout.parts["qpos"]]
                if place is None
                else values.words[begin + place.start : begin + place.stop]
            )
            for slot, read in self._margins:
                arrays[slot] = read(before)
        if self._computed:
            source = values.source
            if self._needs_energy:
                self._watcher.readers.row = values.row
            for slot, read, key in self._computed:
                if source is None:
                    arrays[slot] = self._nothing[slot]
                else:
                    arrays[slot] = values.read_once(key, read, source) if key else read(source)

    def forget(self) -> None:
        """Begin anew: another episode."""
        self.expression.forget()
        if self.passing is not None:
            self.passing.forget()


def _shared_key(use: ChannelUse) -> str:
    """Return by what several expressions share a value of a step; empty: each reads its own."""
    remembers = use.part == PASSED or use.channel == "timing.step"
    return "" if remembers or use.is_user else use.key
