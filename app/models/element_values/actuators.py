"""Actuators and sensors: what they are told or read, and what they are like."""

import numpy as np

from stroboscope.app.models.element_values.rows import (
    EditTarget,
    Level,
    Section,
    ValueRow,
    name_of,
    row,
    value_at,
)
from stroboscope.app.models.elements import actuator_columns, sensor_components
from stroboscope.app.models.frames import FrameSet
from stroboscope.app.models.numbers import number_text, range_text
from stroboscope.app.models.selection import ElementKind
from stroboscope.app.models.tables.actuators import KP_LIMIT, KV_LIMIT, gain_text, saturation
from stroboscope.app.models.tables.dofs import reflected_stiffness
from stroboscope.app.models.tables.options import timestep_of
from stroboscope.debugger_protocol.messages import EditField
from stroboscope.debugger_protocol.scene_description import ActuatorInfo, SceneDescription
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["actuator_sections", "sensor_sections"]


def _beyond(value: float | None, limits: tuple[float, float] | None) -> str:
    if value is None or limits is None or limits[0] <= value <= limits[1]:
        return Level.NORMAL
    return Level.WARN


def _numbered(label: str, column: int, columns: range) -> str:
    return f"{label} {column - columns.start}" if len(columns) > 1 else label


def _controls(actuator: ActuatorInfo, columns: range, frames: FrameSet | None) -> list[ValueRow]:
    rows = []
    for column in columns:
        control = value_at(frames, Topic.STATE, "ctrl", column)
        # Only the first control's range is described.
        limits = actuator.ctrlrange if column == columns.start else None
        rows.append(
            row(
                _numbered("control", column, columns),
                control,
                actuator.ctrl_unit,
                note=f"of {range_text(*limits)}" if limits else "",
                level=_beyond(control, limits),
                edit=EditTarget(EditField.CTRL, column),
                channel="ctrl",
                column=column,
            )
        )
        if limits is not None:
            clamped = None if control is None else float(np.clip(control, *limits))
            cut = control is not None and np.isfinite(control) and clamped != control
            level = Level.WARN if cut else Level.NORMAL
            note = "clamped" if cut else ""
            rows.append(row("as used", clamped, actuator.ctrl_unit, note=note, level=level))
    return rows


def _activations(actuator: ActuatorInfo, frames: FrameSet | None) -> list[ValueRow]:
    rows = []
    columns = range(actuator.act, actuator.act + actuator.nact) if actuator.act >= 0 else range(0)
    for column in columns:
        value = value_at(frames, Topic.STATE, "act", column)
        limits = actuator.actrange
        rows.append(
            row(
                _numbered("activation", column, columns),
                value,
                note=f"of {range_text(*limits)}" if limits else "",
                level=_beyond(value, limits),
                edit=EditTarget(EditField.ACT, column),
                channel="act",
                column=column,
            )
        )
        rate = value_at(frames, Topic.STATE, "act_dot", column)
        if rate is not None:
            rows.append(row(_numbered("act dot", column, columns), rate, "1/s"))
    return rows


def _outputs(actuator: ActuatorInfo, columns: range, frames: FrameSet | None) -> list[ValueRow]:
    limits = actuator.forcerange
    rows = []
    for column in columns:
        force = value_at(frames, Topic.STATE, "actuator_force", column)
        rows.append(
            row(
                _numbered("force", column, columns),
                force,
                actuator.force_unit,
                note=f"of {range_text(*limits, 1)}" if limits else "",
                level=_beyond(force, limits),
                channel="actuator_force",
                column=column,
            )
        )
        if limits is not None:
            rows.append(_saturation(force, limits, _numbered("of limit", column, columns)))
    for label, name in (("length", "actuator_length"), ("velocity", "actuator_velocity")):
        rows += [
            row(
                _numbered(label, column, columns),
                value_at(frames, Topic.STATE, name, column),
                channel=name,
                column=column,
            )
            for column in columns
        ]
    return rows


def _saturation(force: float | None, limits: tuple[float, float], label: str) -> ValueRow:
    part = None
    if force is not None:
        low, high = (np.array([limit]) for limit in limits)
        used = float(saturation(np.array([force]), low, high)[0])
        part = used if np.isfinite(used) else None
    saturated = part is not None and part >= 1.0
    return row(
        label,
        None if part is None else 100.0 * part,
        "%",
        decimals=0,
        note="saturated" if saturated else "",
        level=Level.WARN if saturated else Level.NORMAL,
    )


def actuator_sections(
    d: SceneDescription, index: int, frames: FrameSet | None
) -> tuple[Section, ...]:
    """Return the rows of an actuator."""
    actuator = d.actuators[index]
    ctrlrange, forcerange = actuator.ctrlrange, actuator.forcerange
    controls, outputs = actuator_columns(d, index)
    values = (
        *_controls(actuator, controls, frames),
        *_activations(actuator, frames),
        *_outputs(actuator, outputs, frames),
    )
    drives = actuator.target or name_of(d, ElementKind.JOINT, actuator.joint)
    gains = gain_text(actuator)
    about = [
        ValueRow(label="kind", text=actuator.kind or "unknown"),
        ValueRow(label="drives", text=drives),
        ValueRow(label="control range", text=range_text(*ctrlrange) if ctrlrange else "none"),
        ValueRow(label="force range", text=range_text(*forcerange, 1) if forcerange else "none"),
    ]
    if gains:
        about.append(ValueRow(label="gains", text=gains))
    if actuator.dynamics and actuator.dynamics != "none":
        about.append(ValueRow(label="dynamics", text=actuator.dynamics))
    if actuator.gear and any(g not in (0.0, 1.0) for g in actuator.gear):
        gear = "  ".join(f"{g:g}" for g in actuator.gear if g)
        about.append(ValueRow(label="gear", text=gear.replace("-", "−")))
    return (
        Section("Values", values),
        Section("Stiffness against inertia", _stiffness(d, index, frames)),
        Section("About", tuple(about)),
    )


def _stiffness(d: SceneDescription, index: int, frames: FrameSet | None) -> tuple[ValueRow, ...]:
    actuator = d.actuators[index]
    inertia = frames.array(Topic.STATE, "dof_inertia") if frames is not None else None
    if (actuator.kp is None and actuator.kv is None) or inertia is None:
        return ()
    ratios = reflected_stiffness(d, index, inertia=inertia, timestep=timestep_of(d, frames))
    rows = []
    for label, ratio, limit in zip(
        ("kp·dt²/I", "kv·dt/I"), ratios, (KP_LIMIT, KV_LIMIT), strict=True
    ):
        if ratio is not None:
            high = ratio > limit
            note = f"above {number_text(limit, 0)}: may diverge" if high else ""
            level = Level.WARN if high else Level.NORMAL
            rows.append(row(label, ratio, decimals=4, note=note, level=level))
    return tuple(rows)


def sensor_sections(
    d: SceneDescription, index: int, frames: FrameSet | None
) -> tuple[Section, ...]:
    """Return the rows of a sensor."""
    sensor = d.sensors[index]
    names = [name or "value" for name in sensor_components(sensor)]
    values = tuple(
        row(
            name,
            value_at(frames, Topic.SENSORS, "sensordata", sensor.adr + n),
            sensor.unit,
            channel="sensordata",
            column=sensor.adr + n,
        )
        for n, name in enumerate(names)
    )
    about = [
        ValueRow(label="kind", text=sensor.kind),
        ValueRow(label="of", text=sensor.object or "none"),
    ]
    if sensor.cutoff:
        about.append(ValueRow(label="cutoff", value=sensor.cutoff, unit=sensor.unit))
    return (Section("Values", values), Section("About", tuple(about)))
