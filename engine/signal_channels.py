"""Engine channels: quantities of every physics step, by name, and the writer of their rows."""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.backend import SignalSource
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.expressions import is_expression
from stroboscope.debugger_protocol.scene_description import ChannelInfo
from stroboscope.engine.contacts import contact_forces
from stroboscope.engine.element_names import (
    SHOWN_NAME_BYTES,
    ElementNames,
    actuator_units,
    joint_units,
)
from stroboscope.engine.expression_channels import ExpressionChannel, ExpressionScope
from stroboscope.engine.frames import FrameMaker
from stroboscope.engine.frames.bodies import momenta
from stroboscope.engine.live_data import LiveData
from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["ENGINE_CHANNELS", "ChannelTable", "MujocoSignalSource", "channel_table"]

ChannelTable = Mapping[str, ChannelInfo]

# What a physics step reads: it is taken before the step, everything else after it.
_INPUTS = ("qpos", "qvel", "act", "ctrl", "qfrc_applied")
_ARRAYS_AFTER = (
    "qacc",
    "qfrc_actuator",
    "qfrc_passive",
    "qfrc_constraint",
    "qfrc_bias",
    "qfrc_spring",
    "qfrc_damper",
    "qfrc_gravcomp",
    "qfrc_fluid",
    "actuator_force",
    "actuator_length",
    "actuator_velocity",
    "sensordata",
)


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
)
ENGINE_CHANNELS = frozenset((*_INPUTS, *_ARRAYS_AFTER, *_COMPUTED))
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


# Where one channel stands in a row, and what reads it from the data that holds its instant. A plain
# pair: this is gone through at every physics step.
_Writer = tuple[int | slice, Callable[[Any], Any]]
# The same where MuJoCo keeps the values at one place as long as the data lives.
_Copy = tuple[slice, NDArray[np.float64]]


class MujocoSignalSource(SignalSource):
    """Rows of engine channels for one (model, data); owner thread only.

    ``scope`` makes what expressions may name; asked only when one of the channels is one.
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
        self._row: NDArray[np.float64] | None = None
        data = live()
        # These views do not keep the data alive: whoever uses them asks for it first.
        self._inputs: list[_Copy] = []
        self._results: list[_Copy] = []
        self._before: list[_Writer] = []
        self._after: list[_Writer] = []
        # What `_results` are read by where a step's results don't stand in the live data.
        self._elsewhere: list[_Writer] = []
        self._expressions: list[ExpressionChannel] = []
        self._scope: ExpressionScope | None = None
        enums = adapter.module
        self._pyramidal = int(enums.mjtCone.mjCONE_PYRAMIDAL)
        self._first_contact_kind = int(enums.mjtConstraint.mjCNSTR_CONTACT_FRICTIONLESS)
        self._keeps_forces_elsewhere = bool(adapter.hidden_state_reason(model))
        self._step_durations = data.timer.duration
        self._step_timer = 0.0
        columns: dict[str, slice] = {}
        at = 0
        read: set[str] = set()
        for name in dict.fromkeys(channels):
            if is_expression(name) and scope is not None:
                expression = self._add_expression(name, scope)
                read |= expression.channels
                columns[name] = slice(at, at + expression.width)
                writers = self._after if expression.reads_after else self._before
                writers.append((columns[name], expression.after))
            elif name in table:
                read.add(name)
                columns[name] = slice(at, at + table[name].width)
                self._add(name, columns[name])
            else:
                raise CommandError(
                    f"this scene has no channel {name!r}; it has {', '.join(sorted(table))}"
                )
            at = columns[name].stop
        self.width = at
        self.columns = columns
        self._runge_kutta = adapter.is_runge_kutta(model)
        computed = read - {"time", *_INPUTS}
        self._needs_row = bool(computed) and (
            self._runge_kutta or any(name.startswith("energy.") for name in computed)
        )
        self._copies_only = not (self._expressions or self._before or self._needs_row)

    def _add(self, name: str, columns: slice) -> None:
        if name in _INPUTS:
            self._inputs.append((columns, getattr(self._live(), name)))
        elif name in _ARRAYS_AFTER:
            self._results.append((columns, getattr(self._live(), name)))
            self._elsewhere.append((columns, self._reader(name)))
        else:
            # A number goes five times as fast into a place as into a slice of one.
            is_number = columns.stop - columns.start == 1
            self._after.append((columns.start if is_number else columns, self._reader(name)))

    def _add_expression(
        self, name: str, make_scope: Callable[[], ExpressionScope]
    ) -> ExpressionChannel:
        if self._scope is None:
            self._scope = make_scope()
        expression = ExpressionChannel(
            name, scope=self._scope, inputs=frozenset(_INPUTS), make_reader=self._reader
        )
        self._expressions.append(expression)
        return expression

    def before(self, row: NDArray[np.float64]) -> None:
        """Write the inputs of the coming physics step into ``row``, (width,)."""
        data = self._live()
        for columns, values in self._inputs:
            row[columns] = values
        if self._copies_only:
            return
        for expression in self._expressions:
            expression.before(data)
        for place, read in self._before:
            row[place] = read(data)
        if self._needs_row:
            if self._row is None:
                length = self._adapter.module.mj_stateSize(self._model, self._adapter.integration)
                self._row = np.empty(length)
            self._adapter.mj_getState(self._model, data, self._row, self._adapter.integration)

    def after(self, row: NDArray[np.float64]) -> None:
        """Write what the physics step has computed into the same ``row``."""
        data = self._live()
        if self._runge_kutta and self._row is not None:
            self._write_recomputed(row, self._frames.recompute(self._row))
            return
        for columns, values in self._results:
            row[columns] = values
        for place, read in self._after:
            row[place] = read(data)

    def _write_recomputed(self, row: NDArray[np.float64], source: Any | None) -> None:
        """Write the results from ``source``, which holds the instant; None: there are none.

        The arrays after an RK4 step are those of its last stage: no instant of the run.
        """
        for place, read in (*self._elsewhere, *self._after):
            row[place] = np.nan if source is None else read(source)

    def _reader(self, name: str) -> Callable[[Any], Any]:
        if name in _INPUTS or name in _ARRAYS_AFTER:
            return operator.attrgetter(name)
        if name.startswith("energy."):
            part = name.removeprefix("energy.")
            return lambda source: self._energy(source, part)
        computed: dict[str, Callable[[Any], Any]] = {
            "contact.count": operator.attrgetter("ncon"),
            "contact.force": self._contact_force,
            "contact.depth": _contact_depth,
            "constraint.count": operator.attrgetter("nefc"),
            "solver.iterations": _solver_iterations,
            "timing.step": lambda source: self._step_duration(),
            "momentum": lambda source: momenta(self._model, source)[0],
            "angular_momentum": lambda source: momenta(self._model, source)[1],
        }
        return computed[name]

    def _energy(self, source: Any, part: str) -> float:
        potential, kinetic = self._frames.energy(source, self._row)
        return float({"potential": potential, "kinetic": kinetic}.get(part, potential + kinetic))

    def _step_duration(self) -> float:
        """Return how long the step took [s], NaN where MuJoCo doesn't measure."""
        before, self._step_timer = self._step_timer, float(self._step_durations[0])
        taken = self._step_timer - before
        return taken if before > 0.0 < taken else math.nan

    def _contact_force(self, source: Any) -> float:
        """Return the sum of all normal forces [N]."""
        if not source.ncon or not source.nefc:
            return 0.0
        if self._keeps_forces_elsewhere:
            return float(contact_forces(self._model, source, adapter=self._adapter)[:, 0].sum())
        force, kinds = source.efc_force, source.efc_type
        # Edges of pyramids add up to the normal force; contacts come last among the rows.
        if self._model.opt.cone == self._pyramidal:
            return float(force[kinds >= self._first_contact_kind].sum())
        address = source.contact.efc_address
        return float(force[address[address >= 0]].sum())


def _contact_depth(source: Any) -> float:
    """Return the deepest penetration [m], 0 when nothing overlaps."""
    if not source.ncon:
        return 0.0
    return float(max(0.0, -np.min(source.contact.dist)))


def _solver_iterations(source: Any) -> int:
    """Return the most iterations of any island."""
    if not source.nefc:
        return 0
    islands = source.nisland
    # An array's maximum takes as long as several of the steps that small models take.
    if islands <= 1:
        return int(source.solver_niter[0])
    return int(max(source.solver_niter[:islands].tolist()))
