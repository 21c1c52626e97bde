"""Engine channels: quantities of every physics step, by name, and the writer of their rows."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.backend import SignalSource, WriteRow
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.expressions import is_expression
from stroboscope.debugger_protocol.scene_description import ChannelInfo
from stroboscope.engine.channel_readers import ARRAYS_AFTER, INPUTS, READ_BEFORE, ChannelReaders
from stroboscope.engine.element_names import (
    SHOWN_NAME_BYTES,
    ElementNames,
    actuator_units,
    joint_units,
)
from stroboscope.engine.expression_channels import ExpressionChannel, ExpressionScope
from stroboscope.engine.frames import FrameMaker
from stroboscope.engine.limit_channels import LIMIT_CHANNELS, limit_channels
from stroboscope.engine.live_data import LiveData
from stroboscope.engine.live_memory import count_place, gather, iterations_reader, stretches
from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["ENGINE_CHANNELS", "ChannelTable", "MujocoSignalSource", "channel_table"]

ChannelTable = Mapping[str, ChannelInfo]


_COMPUTED = (
    "energy.potential",
    "energy.kinetic",
    "energy.total",
    "contact.count",
    "contact.force",
    "contact.depth",
    "constraint.count",
    "solver.iterations",
    "timing.step",
    "momentum",
    "angular_momentum",
    *LIMIT_CHANNELS,
)
ENGINE_CHANNELS = frozenset((*INPUTS, *ARRAYS_AFTER, *_COMPUTED))
"""The names of all channels that a model may have."""


def channel_table(model: Any, *, adapter: MujocoAdapter) -> ChannelTable:
    """Return every engine channel of ``model`` that has a width, by name; any thread."""
    names = ElementNames(model, adapter=adapter, limit=SHOWN_NAME_BYTES)
    linear = names.dof_is_linear()
    positions, velocities, forces = _joint_unit_lists(model, linear, adapter=adapter)
    accelerations = tuple("m/s²" if is_linear else "rad/s²" for is_linear in linear)
    controls, outputs = _actuator_unit_lists(model, adapter=adapter)
    dofs, actuators = names.dofs(), names.outputs()

    def vector(name: str, labels: tuple[str, ...], units: tuple[str, ...] = ()) -> ChannelInfo:
        return ChannelInfo(name=name, width=len(labels), names=labels, units=units)

    channels = [
        vector("qpos", names.qpos(), positions),
        vector("qvel", dofs, velocities),
        vector("act", names.activations()),
        vector("ctrl", names.controls(), controls),
        vector("qacc", dofs, accelerations),
        *(
            vector(name, dofs, forces)
            for name in (
                "qfrc_actuator",
                "qfrc_passive",
                "qfrc_constraint",
                "qfrc_bias",
                "qfrc_spring",
                "qfrc_damper",
                "qfrc_gravcomp",
                "qfrc_fluid",
                "qfrc_applied",
            )
        ),
        vector("actuator_force", actuators, outputs),
        vector("actuator_length", actuators),
        vector("actuator_velocity", actuators),
        vector("sensordata", names.sensor_values(), sensor_unit_list(model, adapter=adapter)),
        ChannelInfo(name="energy.potential", unit="J"),
        ChannelInfo(name="energy.kinetic", unit="J"),
        ChannelInfo(name="energy.total", unit="J"),
        ChannelInfo(name="contact.count"),
        ChannelInfo(name="contact.force", unit="N"),
        ChannelInfo(name="contact.depth", unit="m"),
        ChannelInfo(name="constraint.count"),
        ChannelInfo(name="solver.iterations"),
        ChannelInfo(name="timing.step", unit="s"),
        vector("momentum", ("x", "y", "z"), ("kg·m/s",) * 3),
        vector("angular_momentum", ("x", "y", "z"), ("kg·m²/s",) * 3),
        *limit_channels(model, adapter=adapter),
    ]
    return {channel.name: channel for channel in channels if channel.width}


def _joint_unit_lists(
    model: Any, linear: Sequence[bool], *, adapter: MujocoAdapter
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    kinds = adapter.module.mjtJoint
    positions: list[str] = []
    for index in range(model.njnt):
        kind = int(model.jnt_type[index])
        if kind == int(kinds.mjJNT_FREE):
            positions += ["m"] * 3 + [""] * 4
        elif kind == int(kinds.mjJNT_BALL):
            positions += [""] * 4
        else:
            positions.append(joint_units(model, index, adapter=adapter)[0])
    velocities = tuple("m/s" if is_linear else "rad/s" for is_linear in linear)
    forces = tuple("N" if is_linear else "N·m" for is_linear in linear)
    return tuple(positions), velocities, forces


def _actuator_unit_lists(
    model: Any, *, adapter: MujocoAdapter
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    controls = [""] * model.nu
    outputs = [""] * int(getattr(model, "nout", model.nu))
    for index in range(adapter.actuator_count(model)):
        control, force = actuator_units(model, index, adapter=adapter)
        ctrl_at, out_at = adapter.actuator_slices(model, index)
        controls[ctrl_at] = [control] * (ctrl_at.stop - ctrl_at.start)
        outputs[out_at] = [force] * (out_at.stop - out_at.start)
    return tuple(controls), tuple(outputs)


_SENSOR_UNITS = {
    "touch": "N", "accelerometer": "m/s²", "velocimeter": "m/s", "gyro": "rad/s", "force": "N",
    "torque": "N·m", "magnetometer": "T", "rangefinder": "m", "camprojection": "px",
    "tendonpos": "m", "tendonvel": "m/s", "ballangvel": "rad/s", "tendonlimitpos": "m",
    "tendonlimitvel": "m/s", "tendonlimitfrc": "N", "framepos": "m", "framelinvel": "m/s",
    "frameangvel": "rad/s", "framelinacc": "m/s²", "frameangacc": "rad/s²", "subtreecom": "m",
    "subtreelinvel": "m/s", "subtreeangmom": "kg·m²/s", "geomdist": "m", "geomfromto": "m",
    "e_potential": "J", "e_kinetic": "J", "clock": "s", "tendonactfrc": "N",
}  # fmt: skip
_JOINT_SENSOR_UNITS = {
    "jointpos": 0, "jointlimitpos": 0, "jointvel": 1, "jointlimitvel": 1, "jointactfrc": 2,
    "jointlimitfrc": 2,
}  # fmt: skip


def sensor_kind(model: Any, index: int, *, adapter: MujocoAdapter) -> str:
    """Return MuJoCo's word for a sensor (``framepos``, …)."""
    member = adapter.module.mjtSensor(int(model.sensor_type[index]))
    return str(member.name).removeprefix("mjSENS_").lower()


def sensor_unit(model: Any, index: int, *, adapter: MujocoAdapter) -> str:
    """Return the unit of a sensor's values; empty when they have none or it is not known."""
    kind = sensor_kind(model, index, adapter=adapter)
    target = int(model.sensor_objid[index])
    if kind in _JOINT_SENSOR_UNITS:
        return joint_units(model, target, adapter=adapter)[_JOINT_SENSOR_UNITS[kind]]
    if kind == "actuatorfrc":
        return actuator_units(model, target, adapter=adapter)[1]
    return _SENSOR_UNITS.get(kind, "")


def sensor_unit_list(model: Any, *, adapter: MujocoAdapter) -> tuple[str, ...]:
    """Return a unit per entry of ``sensordata``."""
    units: list[str] = []
    for index in range(model.nsensor):
        units += [sensor_unit(model, index, adapter=adapter)] * int(model.sensor_dim[index])
    return tuple(units)


# So many stretches of memory are copied one by one faster than by one call that gathers numbers.
_FEW_STRETCHES = 4

# Where one channel stands in a row, and what reads it from the data that holds its instant. A plain
# pair: this is gone through at every physics step.
_Writer = tuple[int | slice, Callable[[Any], Any]]


class MujocoSignalSource(SignalSource):
    """Rows of engine channels for one (model, data); owner thread only.

    A row holds what a step reads, then the arrays that it computes, then the rest, so that one call
    copies each of the first two. ``scope`` makes what expressions may name; asked only when one of
    the channels is one.
    """

    def __init__(
        self,
        channels: Sequence[str],
        *,
        table: ChannelTable,
        model: Any,
        live: LiveData,
        frames: FrameMaker,
        adapter: MujocoAdapter,
        scope: Callable[[], ExpressionScope] | None = None,
    ) -> None:
        self._model = model
        self._live = live
        self._frames = frames
        self._adapter = adapter
        self._readers = ChannelReaders(model, live, table=table, frames=frames, adapter=adapter)
        self._before: list[_Writer] = []
        self._after: list[_Writer] = []
        self._counts: list[tuple[int, memoryview, int]] = []
        """Counts of the step: where each stands in a row, and in which integers."""
        self._expressions: list[ExpressionChannel] = []
        self._scope: ExpressionScope | None = None
        self._runge_kutta = adapter.is_runge_kutta(model)
        names = tuple(dict.fromkeys(channels))
        for name in names:
            if name not in table and (scope is None or not is_expression(name)):
                raise CommandError(
                    f"this scene has no channel {name!r}; it has {', '.join(sorted(table))}"
                )
        inputs = [name for name in names if name in INPUTS]
        results = [name for name in names if name in ARRAYS_AFTER]
        places: dict[str, slice] = {}
        self._inputs = self._gather(inputs, places, table)
        self._results = self._gather(results, places, table)
        # What the results are read by where a step's don't stand in the live data.
        self._elsewhere = [(places[name], self._readers.reader(name)) for name in results]
        read = {*inputs, *results}
        for name in names:
            if name not in places:
                if name in table:
                    self._add(name, places, table)
                    read.add(name)
                elif scope is not None:
                    read |= self._add_expression(name, places, scope)
        self.width = _end(places)
        self.columns = {name: places[name] for name in names}
        computed = read - {"time", *READ_BEFORE}
        self._needs_row = bool(computed) and (
            self._runge_kutta or any(name.startswith("energy.") for name in computed)
        )

    def _gather(
        self, names: Sequence[str], places: dict[str, slice], table: ChannelTable
    ) -> "_Copies | None":
        """Give arrays of the live data their places and return what copies them; None: none."""
        if not names:
            return None
        begin = _end(places)
        for name in names:
            at = _end(places)
            places[name] = slice(at, at + table[name].width)
        return _Copies(self._live, names, places, slice(begin, _end(places)))

    def _add(self, name: str, places: dict[str, slice], table: ChannelTable) -> None:
        """Give a channel its place that isn't copied from an array."""
        at = _end(places)
        places[name] = slice(at, at + table[name].width)
        # A number goes five times as fast into a place as into a slice of one.
        is_number = table[name].width == 1 and name not in LIMIT_CHANNELS
        reader = None
        if not self._runge_kutta:
            count = count_place(self._live(), name, module=self._adapter.module)
            if count is not None:
                self._counts.append((at, *count))
                return
            if name == "solver.iterations":
                reader = iterations_reader(self._live(), module=self._adapter.module)
        writers = self._before if name in READ_BEFORE else self._after
        writers.append((at if is_number else places[name], reader or self._readers.reader(name)))

    def _add_expression(
        self, name: str, places: dict[str, slice], make_scope: Callable[[], ExpressionScope]
    ) -> frozenset[str]:
        """Give an expression its place; return the channels that are read for it."""
        if self._scope is None:
            self._scope = make_scope()
        expression = ExpressionChannel(
            name, scope=self._scope, inputs=frozenset(READ_BEFORE), make_reader=self._readers.reader
        )
        self._expressions.append(expression)
        at = _end(places)
        places[name] = slice(at, at + expression.width)
        writers = self._after if expression.reads_after else self._before
        writers.append((places[name], expression.after))
        return expression.channels

    # --- row by row

    def before(self, row: NDArray[np.float64]) -> None:
        """Write the inputs of the coming physics step into ``row``, (width,)."""
        if self._inputs is not None:
            self._inputs.write(row)
        self._write_before(row)

    def after(self, row: NDArray[np.float64]) -> None:
        """Write what the physics step has computed into the same ``row``."""
        if self._runge_kutta and self._readers.row is not None:
            self._write_recomputed(row, self._frames.recompute(self._readers.row))
            return
        if self._results is not None:
            self._results.write(row)
        self._write_after(row)

    def writers(self, rows: NDArray[np.float64]) -> tuple[WriteRow, WriteRow]:
        """Return what writes row number ``slot`` of ``rows``, (n, width), before and after."""
        views, width = list(rows), self.width
        copy_inputs = _nothing if self._inputs is None else self._inputs.into(rows)
        copy_results = _nothing if self._results is None else self._results.into(rows)
        has_more_before = bool(self._expressions or self._before or self._needs_row)
        write_before, live, counts = self._write_before, self._live, self._counts
        held = live() if live.keeps_alive else None
        # Numbers go into the memory of the rows: an item of an array takes twice as long.
        numbers = rows.data.cast("B").cast("d")
        later = [(place, read) for place, read in self._after if isinstance(place, int)]
        parts = [(place, read) for place, read in self._after if isinstance(place, slice)]

        def before(slot: int) -> None:
            live()  # raises when the data is gone
            copy_inputs(slot)
            if has_more_before:
                write_before(views[slot])

        def after(slot: int) -> None:
            data = live() if held is None else held
            first = slot * width
            copy_results(slot)
            for at, integers, index in counts:
                numbers[first + at] = integers[index]
            for at, read in later:
                numbers[first + at] = read(data)
            for part, read in parts:
                views[slot][part] = read(data)

        write_inputs = copy_inputs if held is not None and not has_more_before else before
        if self._runge_kutta:
            return write_inputs, lambda slot: self.after(views[slot])
        return write_inputs, after

    def _write_before(self, row: NDArray[np.float64]) -> None:
        data = self._live()
        for expression in self._expressions:
            expression.before(data)
        for place, read in self._before:
            row[place] = read(data)
        if self._needs_row:
            readers = self._readers
            if readers.row is None:
                length = self._adapter.module.mj_stateSize(self._model, self._adapter.integration)
                readers.row = np.empty(length)
            self._adapter.mj_getState(self._model, data, readers.row, self._adapter.integration)

    def _write_after(self, row: NDArray[np.float64]) -> None:
        data = self._live()
        for at, integers, index in self._counts:
            row[at] = integers[index]
        for place, read in self._after:
            row[place] = read(data)

    def _write_recomputed(self, row: NDArray[np.float64], source: Any | None) -> None:
        """Write the results from ``source``, which holds the instant; None: there are none.

        The arrays after an RK4 step are those of its last stage: no instant of the run.
        """
        for place, read in (*self._elsewhere, *self._after):
            row[place] = np.nan if source is None else read(source)


class _Copies:
    """Copies arrays of the live data to ``columns`` of a row, where each has its place."""

    def __init__(
        self, live: LiveData, names: Sequence[str], places: dict[str, slice], columns: slice
    ) -> None:
        data = live()
        # These views do not keep the data alive: whoever uses them asks for it first.
        self._arrays = [(places[name], getattr(data, name)) for name in names]
        self._stretches = stretches(data, names)
        self._gather = gather(data, names)
        self._live = live
        self._columns = columns

    def write(self, row: NDArray[np.float64]) -> None:
        """Write one row, (width,)."""
        self._live()
        for place, values in self._arrays:
            row[place] = values

    def into(self, rows: NDArray[np.float64]) -> WriteRow:
        """Return what writes row number ``slot`` of ``rows``, (n, width), of data that is there."""
        pieces = self._stretches
        if pieces is not None and len(pieces) <= _FEW_STRETCHES:
            return self._copy_stretches(rows, pieces)
        if self._gather is None:
            views = list(rows)
            return lambda slot: self.write(views[slot])
        return self._gather.into(rows[:, self._columns])

    def _copy_stretches(
        self, rows: NDArray[np.float64], pieces: list[tuple[int, memoryview]]
    ) -> WriteRow:
        memory = rows.data.cast("B")
        width, begin = rows.strides[0], 8 * self._columns.start
        if len(pieces) == 1:
            ((at, source),) = pieces
            begin, size = begin + at, len(source)

            def copy_one(slot: int) -> None:
                first = slot * width + begin
                memory[first : first + size] = source

            return copy_one
        ends = [(begin + at, begin + at + len(source), source) for at, source in pieces]

        def copy(slot: int) -> None:
            first = slot * width
            for at, end, source in ends:
                memory[first + at : first + end] = source

        return copy


def _nothing(_slot: int) -> None:
    pass


def _end(places: dict[str, slice]) -> int:
    """Return where the next channel's columns begin."""
    return max((place.stop for place in places.values()), default=0)
