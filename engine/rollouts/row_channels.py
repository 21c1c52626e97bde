"""Channels of the past: what follows from rows alone, read again or recomputed on scratch data."""

import time as clock
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.arrays import Arrays
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.expressions import is_expression
from stroboscope.engine.channel_readers import READ_BEFORE
from stroboscope.engine.expression_channels import ExpressionScope
from stroboscope.engine.frames import FrameMaker
from stroboscope.engine.frames.evaluation import evaluate
from stroboscope.engine.hidden_state import needs_hidden_state
from stroboscope.engine.live_data import HeldData
from stroboscope.engine.mujoco_adapter import MujocoAdapter
from stroboscope.engine.signal_channels import ChannelTable, MujocoSignalSource

__all__ = ["RowChannels", "RowsOfThen", "thinned"]

Row = NDArray[np.float64]

_PIECE_BYTES = 1 << 20
_PIECE_S = 0.01
# What follows from a row without computing anything on the data.
_IN_ROWS = frozenset({"time", *READ_BEFORE})
_ENERGIES = frozenset({"energy.potential", "energy.kinetic", "energy.total"})
_POSES = frozenset({"xpos", "xquat", "xipos", "site_xpos", "geom_xpos"})
_NOT_IN_ROWS = {
    "timing.step": "how long a step took is no part of a row",
}


def thinned(count: int, most: int) -> NDArray[np.int64]:
    """Return which of ``count`` places are read when at most ``most`` may be, evenly chosen."""
    if count <= most:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, max(1, most)).round().astype(np.int64))


class RowsOfThen(Protocol):
    """Rows by their number, each with the model that it was stepped with."""

    @property
    def model(self) -> Any:
        """What they are to be computed with: is as it was at the row that was returned last."""

    def row(self, number: int, /) -> Row | None:
        """Return a row; None: it is lost."""

    def is_doubtful(self, number: int, /) -> bool:
        """Return whether the model is known to be another one than at a row."""

    def tells(self, number: int, /) -> bool:
        """Return whether where the step of a row leads says more of that."""

    def has_led_to(self, number: int, came: Row, /) -> bool:
        """Return whether the step of a row has led to the state ``came``, inputs aside."""


class RowChannels:
    """Reads some channels from rows of one model; one thread at a time.

    The model has data of its own here: nothing of a scene is touched. Raises CommandError for
    channels that do not follow from rows.
    """

    def __init__(
        self,
        rows: RowsOfThen,
        channels: Sequence[str],
        *,
        table: ChannelTable,
        adapter: MujocoAdapter,
    ) -> None:
        if not channels:
            raise CommandError("name at least one channel to read")
        self._rows = rows
        self._model = model = rows.model
        self._adapter = adapter
        self._data = adapter.module.MjData(model)
        live = HeldData(self._data)
        named = [name for name in dict.fromkeys(channels) if name != "time"]
        for name in named:
            if name in _NOT_IN_ROWS:
                raise CommandError(f"{name} can't be read from the past: {_NOT_IN_ROWS[name]}")
        scope = ExpressionScope(model, channels=table, user={}, report=_nobody, adapter=adapter)
        self._source = MujocoSignalSource(
            named,
            table={name: info for name, info in table.items() if name not in _NOT_IN_ROWS},
            model=model,
            live=live,
            frames=FrameMaker(model, live, adapter=adapter),
            adapter=adapter,
            scope=lambda: scope,
        )
        read = _channels_read(named, scope)
        self._prepare = self._preparation(read)
        places = [self._place(name) for name in channels]
        self._columns = np.concatenate([np.r_[place] for place in places]).astype(np.intp)
        self.widths = tuple(place.stop - place.start for place in places)
        """How many values each channel has."""
        self._row = np.empty(1 + self._source.width)
        self._came = np.empty(adapter.module.mj_stateSize(model, adapter.integration))
        self.evaluated = ", ".join(sorted(read - _IN_ROWS))
        """What of them is computed with the model."""

    def _place(self, name: str) -> slice:
        """Return where a channel stands behind the time."""
        if name == "time":
            return slice(0, 1)
        place = self._source.columns[name]
        return slice(place.start + 1, place.stop + 1)

    def _preparation(self, read: frozenset[str]) -> Callable[[], None]:
        """Return what computes on the data what these channels need."""
        adapter, model, data = self._adapter, self._model, self._data
        module = adapter.module
        others = read - _IN_ROWS - _ENERGIES
        if not others:
            return _nothing
        if others <= _POSES:

            def place() -> None:
                module.mj_kinematics(model, data)
                module.mj_comPos(model, data)

            return place
        called = adapter.callbacks_of_steps(model)
        if called:
            raise CommandError(
                f"{', '.join(sorted(others))} can't be read from the past: computing them would "
                f"call the script's callbacks ({', '.join(called)})"
            )
        if needs_hidden_state(model, adapter=adapter):
            raise CommandError(
                f"{', '.join(sorted(others))} can't be read from the past: a row does not hold "
                "which bodies slept; positions, velocities, controls and energies can be"
            )
        return lambda: evaluate(model, data, adapter=adapter)

    def values(self, number: int) -> Row | None:
        """Return the channels' values at a row, (sum of widths,); None where they aren't known.

        What is computed: where nobody knows with which model the row was stepped. What nobody has
        seen, as what a script has written into its model and taken back, still shows in where the
        step leads: so it is taken again, and what it computes on the way is read.
        """
        rows, adapter, source = self._rows, self._adapter, self._source
        if self.evaluated and rows.is_doubtful(number):
            return None
        row = rows.row(number)
        if row is None:
            return None
        adapter.mj_setState(self._model, self._data, row, adapter.integration)
        behind_time = self._row[1:]
        self._row[0] = row[0]
        source.before(behind_time)
        if not (self.evaluated and rows.tells(number)):
            self._prepare()
        elif not self._is_stepped(number):
            return None
        source.after(behind_time)
        chosen: Row = self._row[self._columns]
        return chosen

    def _is_stepped(self, number: int) -> bool:
        """Take the step of a row, and return whether it leads where it led then."""
        adapter, model, data = self._adapter, self._model, self._data
        try:
            adapter.mj_step(model, data)
        except adapter.module.FatalError:
            adapter.free_stack(data)
            return False
        adapter.mj_getState(model, data, self._came, adapter.integration)
        return self._rows.has_led_to(number, self._came)

    def pieces(self, axes: NDArray[np.int64]) -> Iterator[Arrays]:
        """Yield ``axis`` (n,), ``time`` (n,) [s], ``values`` (n, width), ``widths`` (channels,).

        What is not known is left out. A piece has a MiB, or what a few milliseconds give: the
        thread that owns a scene serves others in between. Without axes there is an empty one.
        """
        width = sum(self.widths)
        length = min(len(axes), max(1, _PIECE_BYTES // (8 * (width + 2))))
        begin = 0
        while True:
            due = clock.monotonic() + _PIECE_S
            time, values = np.empty(length), np.empty((length, width))
            had = np.empty(length, dtype=np.int64)
            count = looked = 0
            for axis in axes[begin : begin + length].tolist():
                one = self.values(axis)
                looked += 1
                if one is not None:
                    had[count], time[count], values[count] = axis, self._row[0], one
                    count += 1
                if clock.monotonic() >= due:
                    break
            yield {
                "axis": had[:count],
                "time": time[:count],
                "values": values[:count],
                "widths": np.array(self.widths, dtype=np.int64),
            }
            begin += looked
            if begin >= len(axes):
                return


def _channels_read(names: Sequence[str], scope: ExpressionScope) -> frozenset[str]:
    """Return the channels and pose arrays that these channels are made of."""
    read: set[str] = set()
    for name in names:
        if is_expression(name):
            for use in scope.compile(name).channels:
                if use.channel in _NOT_IN_ROWS:
                    raise CommandError(
                        f"{name} can't be read from the past: {_NOT_IN_ROWS[use.channel]}"
                    )
                read.add(use.channel)
        else:
            read.add(name)
    return frozenset(read)


def _nothing() -> None:
    """Compute nothing: it stands in the row."""


def _nobody(text: str) -> None:
    """Tell nobody of steps without a value: they are NaN in what is read."""
