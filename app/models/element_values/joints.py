"""A joint: motion, limits, what pushes it, and what it is like."""

import math

import numpy as np

from stroboscope.app.models.element_values.rows import (
    Array,
    EditTarget,
    Level,
    Section,
    ValueRow,
    margin_row,
    name_of,
    row,
    sub,
    value_at,
    vector,
    with_edits,
)
from stroboscope.app.models.frames import FrameSet
from stroboscope.app.models.numbers import number_text, range_text, with_unit
from stroboscope.app.models.selection import ElementKind
from stroboscope.debugger_protocol.messages import EditField
from stroboscope.debugger_protocol.scene_description import (
    JointInfo,
    JointType,
    SceneDescription,
)
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["joint_sections"]

# From so many degrees on a fraction says nothing, and then the number itself does not.
_WHOLE_DEGREES, _MOST_DEGREES = 1e3, 1e5
_FORCES = (
    ("actuators", "qfrc_actuator"),
    ("passive", "qfrc_passive"),
    ("constraints", "qfrc_constraint"),
    ("applied", "qfrc_applied"),
    ("bias", "qfrc_bias"),
)
# Parts of the passive force, shown where they are not zero.
_PASSIVE_PARTS = (
    ("spring", "qfrc_spring"),
    ("damper", "qfrc_damper"),
    ("gravcomp", "qfrc_gravcomp"),
    ("fluid", "qfrc_fluid"),
)


def joint_sections(d: SceneDescription, index: int, frames: FrameSet | None) -> tuple[Section, ...]:
    """Return the rows of a joint."""
    joint = d.joints[index]
    about = Section("About", _about(d, joint))
    if joint.type in (JointType.FREE, JointType.BALL):
        return (*_many(joint, frames), about)
    return (*_single(d, index, joint, frames), about)


def _about(d: SceneDescription, joint: JointInfo) -> tuple[ValueRow, ...]:
    angle = joint.type is JointType.HINGE
    unit = "N·m" if angle else "N"
    per = "rad" if angle else "m"
    rows = [
        ValueRow(label="type", text=joint.type.value),
        ValueRow(label="body", text=name_of(d, ElementKind.BODY, joint.body)),
        ValueRow(label="address", text=f"qpos {joint.qpos}, dof {joint.dof}"),
    ]
    mass = "kg·m²" if angle else "kg"
    for label, value, of in (
        ("stiffness", joint.stiffness, f"{unit}/{per}"),
        ("damping", joint.damping, f"{unit}·s/{per}"),
        ("armature", joint.armature, mass),
        ("frictionloss", joint.frictionloss, unit),
    ):
        if value:
            # As text: a unit this long would push the notes of all other rows away.
            rows.append(ValueRow(label=label, text=with_unit(f"{value:.4g}", of)))
    if joint.stiffness and joint.type.n_qpos == 1:
        rows.append(ValueRow(label="spring ref", value=joint.springref, unit=per))
    return tuple(rows)


def _single(
    d: SceneDescription, index: int, joint: JointInfo, frames: FrameSet | None
) -> tuple[Section, ...]:
    angle = joint.type is JointType.HINGE
    unit = "rad" if angle else "m"
    force = "N·m" if angle else "N"
    position = value_at(frames, Topic.STATE, "qpos", joint.qpos)
    motion = (
        row(
            "position",
            position,
            unit,
            note=_degrees(position) if angle and position is not None else "",
            edit=EditTarget(EditField.QPOS, joint.qpos),
            channel="qpos",
            column=joint.qpos,
        ),
        row(
            "velocity",
            value_at(frames, Topic.STATE, "qvel", joint.dof),
            f"{unit}/s",
            edit=EditTarget(EditField.QVEL, joint.dof),
            channel="qvel",
            column=joint.dof,
        ),
        row(
            "acceleration",
            value_at(frames, Topic.STATE, "qacc", joint.dof),
            f"{unit}/s²",
            channel="qacc",
            column=joint.dof,
        ),
        *_inertia(joint, frames, "kg·m²" if angle else "kg"),
    )
    return (
        Section("Motion", motion),
        Section("Limits", _limits(joint, position, unit)),
        Section("Torque" if angle else "Force", _forces(d, index, joint, frames, unit=force)),
    )


def _degrees(angle: float) -> str:
    """Return an angle [rad] in degrees, "" where it has gone round too often to say anything."""
    degrees = float(np.degrees(angle))
    if not abs(degrees) < _MOST_DEGREES:
        return ""
    return f"{number_text(degrees, 1 if abs(degrees) < _WHOLE_DEGREES else 0)}°"


def _inertia(joint: JointInfo, frames: FrameSet | None, unit: str) -> tuple[ValueRow, ...]:
    value = value_at(frames, Topic.STATE, "dof_inertia", joint.dof)
    return () if value is None else (row("inertia", value, unit, decimals=5),)


def _limits(
    joint: JointInfo, position: float | None, unit: str, *, what: str = ""
) -> tuple[ValueRow, ...]:
    """Return range and margin; ``what`` names the position where nothing above shows it."""
    if joint.range is None or not np.isfinite(joint.range).any():
        return (ValueRow(label="limit", text="unlimited"),)
    low, high = joint.range
    rows = [ValueRow(label="range", text=with_unit(range_text(low, high), unit))]
    if what and position is not None:
        rows.append(row(what, position, unit, note=_degrees(position)))
        # There is no lower side to a rotation's angle.
        low = -math.inf
    if position is not None:
        rows.append(margin_row(position, low, high, unit))
    return tuple(rows)


def _forces(
    d: SceneDescription, index: int, joint: JointInfo, frames: FrameSet | None, *, unit: str
) -> tuple[ValueRow, ...]:
    limit = joint.actfrcrange
    if limit is None:
        driving = [a.forcerange for a in d.actuators if a.joint == index and a.forcerange]
        limit = driving[0] if len(driving) == 1 else None
    rows = []
    for label, name in _FORCES:
        value = value_at(frames, Topic.STATE, name, joint.dof)
        if value is None and name == "qfrc_bias" and frames is not None:
            continue  # an engine that has no such array
        note, level = "", Level.NORMAL
        if name == "qfrc_actuator" and limit is not None:
            note = f"of {range_text(*limit, 1)}"
            saturated = value is not None and not limit[0] < value < limit[1]
            level = Level.WARN if saturated else Level.NORMAL
        rows.append(row(label, value, unit, note=note, level=level, channel=name, column=joint.dof))
    for label, name in _PASSIVE_PARTS:
        array = frames.array(Topic.STATE, name) if frames is not None else None
        # Kept as long as the model has any, so that rows don't come and go.
        if array is not None and joint.dof < array.size and _has_part(joint, name, d):
            value = float(array[joint.dof])
            rows.append(row(f"  {label}", value, unit, note="of passive"))
    return tuple(rows)


def _has_part(joint: JointInfo, name: str, d: SceneDescription) -> bool:
    match name:
        case "qfrc_spring":
            return joint.stiffness != 0.0
        case "qfrc_damper":
            return joint.damping != 0.0
        case "qfrc_gravcomp":
            return any(body.gravcomp for body in d.bodies)
    return False


def _many(joint: JointInfo, frames: FrameSet | None) -> tuple[Section, ...]:
    nq, nv = joint.type.n_qpos, joint.type.n_dof
    qpos = sub(frames, Topic.STATE, "qpos", slice(joint.qpos, joint.qpos + nq))
    qvel = sub(frames, Topic.STATE, "qvel", slice(joint.dof, joint.dof + nv))
    sections = []
    offset = 0
    if joint.type is JointType.FREE:
        place = vector("", qpos, "xyz", "m", channel="qpos", column=joint.qpos)
        sections.append(Section("Position", with_edits(place, EditField.QPOS, joint.qpos)))
        offset = 3
    quat = None if qpos is None else qpos[offset:]
    rows = vector("", quat, "wxyz", "", channel="qpos", column=joint.qpos + offset)
    sections.append(Section("Orientation", rows))
    if joint.type is JointType.FREE:
        linear = vector("", qvel, "xyz", "m/s", channel="qvel", column=joint.dof)
        sections.append(Section("Velocity", with_edits(linear, EditField.QVEL, joint.dof)))
    angular = None if qvel is None else qvel[offset:]
    rows = vector("", angular, "xyz", "rad/s", channel="qvel", column=joint.dof + offset)
    edited = with_edits(rows, EditField.QVEL, joint.dof + offset)
    sections.append(Section("Angular velocity", edited))
    if joint.type is JointType.BALL:
        turned = None if quat is None else _rotation_angle(quat)
        sections.append(Section("Limits", _limits(joint, turned, "rad", what="angle")))
    sections += _many_forces(joint, frames, offset)
    return tuple(sections)


def _many_forces(joint: JointInfo, frames: FrameSet | None, offset: int) -> list[Section]:
    """Return what pushes a free or ball joint, force and torque by source."""
    sections = []
    for title, start, count, unit in (
        ("Force", joint.dof, offset, "N"),
        ("Torque", joint.dof + offset, 3, "N·m"),
    ):
        rows: list[ValueRow] = []
        for label, name in _FORCES:
            if count:
                part = sub(frames, Topic.STATE, name, slice(start, start + count))
                if part is not None:
                    rows += vector(label, part, "xyz", unit, channel=name, column=start)
        if rows:
            sections.append(Section(title, tuple(rows)))
    return sections


def _rotation_angle(quat: Array) -> float:
    """Return by how much a quaternion (wxyz) turns, 0 … π [rad]: what a ball's range limits."""
    return 2.0 * float(np.arctan2(np.linalg.norm(quat[1:]), abs(quat[0])))
