"""What the inspector shows for an element: names, numbers and units, all of one instant."""

import dataclasses
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.elements import (
    JOINT_SIZES,
    actuator_columns,
    element_name,
    elements_of,
    signals_of,
    topics_for,
)
from stroboscope.app.models.frames import FrameSet
from stroboscope.app.models.numbers import number_text, range_text, with_unit
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.debugger_protocol.messages import EditField
from stroboscope.debugger_protocol.scene_description import (
    ActuatorInfo,
    GeomInfo,
    GeomType,
    JointInfo,
    JointType,
    SceneDescription,
    SiteInfo,
)
from stroboscope.debugger_protocol.topics import Topic

__all__ = [
    "EditTarget",
    "ElementValues",
    "Level",
    "Section",
    "ValueRow",
    "element_name",
    "element_values",
    "elements_of",
    "signals_of",
    "topics_for",
]

Array = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, slots=True)
class EditTarget:
    """Where an edited number goes."""

    field: EditField
    index: int


class Level:
    """How much attention a row asks for."""

    NORMAL = ""
    WARN = "warn"
    STOP = "stop"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ValueRow:
    """One line: ``value`` with ``unit``, or ``text``; ``note`` stands muted behind it.

    ``channel`` and ``column`` name the signal that plots this number, where there is one.
    """

    label: str
    value: float | None = None
    unit: str = ""
    decimals: int = 3
    text: str = ""
    note: str = ""
    level: str = Level.NORMAL
    edit: EditTarget | None = None
    channel: str = ""
    column: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Section:
    """Rows under one heading."""

    title: str
    rows: tuple[ValueRow, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ElementValues:
    """Everything about one element; ``known`` is False while no values have arrived."""

    name: str
    kind: str
    sections: tuple[Section, ...]
    known: bool


def element_values(
    description: SceneDescription, element: Element, frames: FrameSet | None
) -> ElementValues | None:
    """Return the rows of an element, None when the description has no such element."""
    if element.index >= len(elements_of(description, element.kind)):
        return None
    build: dict[ElementKind, Callable[..., tuple[Section, ...]]] = {
        ElementKind.BODY: _body,
        ElementKind.GEOM: _geom,
        ElementKind.JOINT: _joint,
        ElementKind.SITE: _site,
        ElementKind.ACTUATOR: _actuator,
        ElementKind.SENSOR: _sensor,
        ElementKind.CAMERA: _camera,
        ElementKind.LIGHT: _light,
    }
    if element.kind not in build:
        return None
    sections = build[element.kind](description, element.index, frames)
    return ElementValues(
        name=element_name(description, element),
        kind=element.kind.value,
        sections=tuple(section for section in sections if section.rows),
        known=frames is not None,
    )


def _at(frames: FrameSet | None, topic: Topic, name: str, index: int) -> float | None:
    array = frames.array(topic, name) if frames is not None else None
    if array is None or index >= array.size:
        return None
    return float(array.reshape(-1)[index])


def _bad(value: float | None) -> str:
    return Level.STOP if value is not None and not np.isfinite(value) else Level.NORMAL


def _row(
    label: str,
    value: float | None,
    unit: str = "",
    *,
    note: str = "",
    level: str = Level.NORMAL,
    edit: EditTarget | None = None,
    channel: str = "",
    column: int = 0,
) -> ValueRow:
    return ValueRow(
        label=label,
        value=value,
        unit=unit,
        text="" if value is not None else "not computed",
        note=note,
        level=_bad(value) or level,
        edit=edit if value is not None else None,
        channel=channel,
        column=column,
    )


def _vector(
    label: str, array: Array | None, names: str, unit: str, *, channel: str = "", column: int = 0
) -> tuple[ValueRow, ...]:
    return tuple(
        _row(
            f"{label} {name}",
            None if array is None else float(array[n]),
            unit,
            channel=channel,
            column=column + n,
        )
        for n, name in enumerate(names)
    )


def _sub(
    frames: FrameSet | None, topic: Topic, name: str, rows: slice
) -> NDArray[np.float64] | None:
    array = frames.array(topic, name) if frames is not None else None
    if array is None:
        return None
    part = array[rows]
    return part if part.shape[0] == rows.stop - rows.start else None


# --- joints


def _joint(d: SceneDescription, index: int, frames: FrameSet | None) -> tuple[Section, ...]:
    joint = d.joints[index]
    about = (
        ValueRow(label="type", text=joint.type.value),
        ValueRow(label="body", text=_name(d, ElementKind.BODY, joint.body)),
        ValueRow(label="address", text=f"qpos {joint.qpos}, dof {joint.dof}"),
    )
    if joint.type in (JointType.FREE, JointType.BALL):
        return (*_joint_many(joint, frames), Section("About", about))
    return (*_joint_single(d, index, joint, frames), Section("About", about))


def _joint_single(
    d: SceneDescription, index: int, joint: JointInfo, frames: FrameSet | None
) -> tuple[Section, ...]:
    angle = joint.type is JointType.HINGE
    unit = "rad" if angle else "m"
    force = "N·m" if angle else "N"
    position = _at(frames, Topic.STATE, "qpos", joint.qpos)
    velocity = _at(frames, Topic.STATE, "qvel", joint.dof)
    motion = [
        _row(
            "position",
            position,
            unit,
            note=f"{number_text(float(np.degrees(position)), 1)}°"
            if angle and position is not None
            else "",
            edit=EditTarget(EditField.QPOS, joint.qpos),
            channel="qpos",
            column=joint.qpos,
        ),
        _row(
            "velocity",
            velocity,
            f"{unit}/s",
            edit=EditTarget(EditField.QVEL, joint.dof),
            channel="qvel",
            column=joint.dof,
        ),
        _row(
            "acceleration",
            _at(frames, Topic.STATE, "qacc", joint.dof),
            f"{unit}/s²",
            channel="qacc",
            column=joint.dof,
        ),
    ]
    return (
        Section("Motion", tuple(motion)),
        Section("Limits", _limit_rows(joint, position, unit)),
        Section("Torque" if angle else "Force", _force_rows(d, index, joint, frames, force)),
    )


def _limit_rows(
    joint: JointInfo, position: float | None, unit: str, *, what: str = ""
) -> tuple[ValueRow, ...]:
    """Return range and margin; ``what`` names the position where nothing above shows it."""
    if joint.range is None:
        return (ValueRow(label="limit", text="none"),)
    low, high = joint.range
    rows = [ValueRow(label="range", text=with_unit(range_text(low, high), unit))]
    if what and position is not None:
        note = f"{number_text(float(np.degrees(position)), 1)}°"
        rows.append(_row(what, position, unit, note=note))
        # There is no lower side to a rotation's angle.
        low = -math.inf
    if position is not None:
        margin = min(position - low, high - position)
        near = Level.WARN if margin < 0 else Level.NORMAL
        side = "upper" if high - position < position - low else "lower"
        rows.append(
            _row(
                "margin",
                margin,
                unit,
                note=f"beyond {side}" if margin < 0 else side,
                level=near,
            )
        )
    return tuple(rows)


def _force_rows(
    d: SceneDescription, index: int, joint: JointInfo, frames: FrameSet | None, unit: str
) -> tuple[ValueRow, ...]:
    limit = joint.actfrcrange
    if limit is None:
        driving = [a.forcerange for a in d.actuators if a.joint == index and a.forcerange]
        limit = driving[0] if len(driving) == 1 else None
    rows = []
    for label, name in (
        ("actuators", "qfrc_actuator"),
        ("passive", "qfrc_passive"),
        ("constraints", "qfrc_constraint"),
        ("applied", "qfrc_applied"),
    ):
        value = _at(frames, Topic.STATE, name, joint.dof)
        note, level = "", Level.NORMAL
        if name == "qfrc_actuator" and limit is not None:
            note = f"of {range_text(*limit, 1)}"
            saturated = value is not None and not limit[0] < value < limit[1]
            level = Level.WARN if saturated else Level.NORMAL
        rows.append(
            _row(label, value, unit, note=note, level=level, channel=name, column=joint.dof)
        )
    return tuple(rows)


def _joint_many(joint: JointInfo, frames: FrameSet | None) -> tuple[Section, ...]:
    nq, nv = JOINT_SIZES[joint.type]
    qpos = _sub(frames, Topic.STATE, "qpos", slice(joint.qpos, joint.qpos + nq))
    qvel = _sub(frames, Topic.STATE, "qvel", slice(joint.dof, joint.dof + nv))
    sections = []
    offset = 0
    if joint.type is JointType.FREE:
        sections.append(
            Section(
                "Position",
                _editable(_vector("", qpos, "xyz", "m", channel="qpos", column=joint.qpos)),
            )
        )
        offset = 3
    quat = None if qpos is None else qpos[offset:]
    rows = _vector("", quat, "wxyz", "", channel="qpos", column=joint.qpos + offset)
    sections.append(Section("Orientation", rows))
    if joint.type is JointType.FREE:
        linear = _vector("", qvel, "xyz", "m/s", channel="qvel", column=joint.dof)
        sections.append(Section("Velocity", linear))
    angular = None if qvel is None else qvel[offset:]
    rows = _vector("", angular, "xyz", "rad/s", channel="qvel", column=joint.dof + offset)
    sections.append(Section("Angular velocity", rows))
    if joint.type is JointType.BALL:
        turned = None if quat is None else _rotation_angle(quat)
        sections.append(Section("Limits", _limit_rows(joint, turned, "rad", what="angle")))
    return tuple(sections)


def _rotation_angle(quat: Array) -> float:
    """Return by how much a quaternion (wxyz) turns, 0 … π [rad]: what a ball's range limits."""
    return 2.0 * float(np.arctan2(np.linalg.norm(quat[1:]), abs(quat[0])))


def _editable(rows: tuple[ValueRow, ...]) -> tuple[ValueRow, ...]:
    return tuple(
        dataclasses.replace(row, edit=EditTarget(EditField.QPOS, row.column))
        if row.value is not None
        else row
        for row in rows
    )


# --- bodies, geoms, sites, cameras, lights


def _name(d: SceneDescription, kind: ElementKind, index: int) -> str:
    return element_name(d, Element(kind, index)) if index >= 0 else "none"


def _first(array: Array | None) -> Array | None:
    return None if array is None else array[0]


def _body(d: SceneDescription, index: int, frames: FrameSet | None) -> tuple[Section, ...]:
    body = d.bodies[index]
    pos = _sub(frames, Topic.POSE, "xpos", slice(index, index + 1))
    quat = _sub(frames, Topic.POSE, "xquat", slice(index, index + 1))
    velocity = _sub(frames, Topic.STATE, "body_velocity", slice(index, index + 1))
    children = sum(1 for n, b in enumerate(d.bodies) if b.parent == index and n != index)
    about = [
        ValueRow(label="mass", value=body.mass, unit="kg"),
        *(
            ValueRow(label=f"inertia {axis}", value=value, unit="kg·m²", decimals=5)
            for axis, value in zip("xyz", body.inertia, strict=True)
        ),
        ValueRow(label="parent", text=_name(d, ElementKind.BODY, body.parent) if index else "none"),
        ValueRow(label="children", text=str(children)),
    ]
    if body.mocap:
        about.append(ValueRow(label="mocap", text="moved by the script"))
    linear = None if velocity is None else velocity[0, :3]
    angular = None if velocity is None else velocity[0, 3:]
    return (
        Section("Position", _vector("", _first(pos), "xyz", "m")),
        Section("Orientation", _vector("", _first(quat), "wxyz", "")),
        Section("Velocity", _vector("", linear, "xyz", "m/s")),
        Section("Angular velocity", _vector("", angular, "xyz", "rad/s")),
        Section("About", tuple(about)),
    )


def _world_position(
    frames: FrameSet | None, body: int, pos: tuple[float, float, float]
) -> Array | None:
    xpos = _sub(frames, Topic.POSE, "xpos", slice(body, body + 1))
    xquat = _sub(frames, Topic.POSE, "xquat", slice(body, body + 1))
    if xpos is None or xquat is None:
        return None
    w, v = xquat[0, 0], xquat[0, 1:]
    local = np.asarray(pos)
    # Rotation of a vector by a unit quaternion (wxyz).
    turned = local + 2.0 * np.cross(v, np.cross(v, local) + w * local)
    result: Array = xpos[0] + turned
    return result


_SIZE_WORDS = {
    GeomType.PLANE: ("half x", "half y", "grid"),
    GeomType.SPHERE: ("radius",),
    GeomType.CAPSULE: ("radius", "half length"),
    GeomType.CYLINDER: ("radius", "half length"),
    GeomType.ELLIPSOID: ("radius x", "radius y", "radius z"),
    GeomType.BOX: ("half x", "half y", "half z"),
}


def _shape_rows(item: GeomInfo | SiteInfo) -> list[ValueRow]:
    rows = [ValueRow(label="type", text=item.type.value)]
    for word, value in zip(_SIZE_WORDS.get(item.type, ()), item.size, strict=False):
        infinite = item.type is GeomType.PLANE and value == 0.0
        if infinite:
            rows.append(ValueRow(label=word, text="infinite"))
        else:
            rows.append(ValueRow(label=word, value=value, unit="m"))
    return rows


def _geom(d: SceneDescription, index: int, frames: FrameSet | None) -> tuple[Section, ...]:
    geom = d.geoms[index]
    about = [
        ValueRow(label="body", text=_name(d, ElementKind.BODY, geom.body)),
        ValueRow(label="group", text=str(geom.group)),
        ValueRow(label="collides", text="yes" if geom.collides else "no (visual only)"),
    ]
    if 0 <= geom.mesh < len(d.meshes):
        mesh = d.meshes[geom.mesh]
        about.append(ValueRow(label="mesh", text=mesh.name, note=f"{mesh.nface} faces"))
    if 0 <= geom.material < len(d.materials):
        about.append(ValueRow(label="material", text=d.materials[geom.material].name))
    world = _world_position(frames, geom.body, geom.pos)
    return (
        Section("Position", _vector("", world, "xyz", "m")),
        Section("Shape", tuple(_shape_rows(geom))),
        Section("About", tuple(about)),
    )


def _site(d: SceneDescription, index: int, frames: FrameSet | None) -> tuple[Section, ...]:
    site = d.sites[index]
    world = _world_position(frames, site.body, site.pos)
    about = (
        ValueRow(label="body", text=_name(d, ElementKind.BODY, site.body)),
        ValueRow(label="group", text=str(site.group)),
    )
    return (
        Section("Position", _vector("", world, "xyz", "m")),
        Section("Shape", tuple(_shape_rows(site))),
        Section("About", about),
    )


def _camera(d: SceneDescription, index: int, frames: FrameSet | None) -> tuple[Section, ...]:
    camera = d.cameras[index]
    world = _world_position(frames, camera.body, camera.pos)
    unit = "m" if camera.orthographic else "°"
    about = (
        ValueRow(label="body", text=_name(d, ElementKind.BODY, camera.body)),
        ValueRow(label="mode", text=camera.mode.value),
        ValueRow(label="field of view", value=camera.fovy, unit=unit, decimals=1),
    )
    return (Section("Position", _vector("", world, "xyz", "m")), Section("About", about))


def _light(d: SceneDescription, index: int, frames: FrameSet | None) -> tuple[Section, ...]:
    light = d.lights[index]
    world = _world_position(frames, light.body, light.pos)
    about = (
        ValueRow(label="body", text=_name(d, ElementKind.BODY, light.body)),
        ValueRow(label="kind", text="directional" if light.directional else "spot"),
        ValueRow(label="shadow", text="yes" if light.castshadow else "no"),
    )
    return (Section("Position", _vector("", world, "xyz", "m")), Section("About", about))


# --- actuators and sensors


def _beyond(value: float | None, limits: tuple[float, float] | None) -> str:
    if value is None or limits is None or limits[0] <= value <= limits[1]:
        return Level.NORMAL
    return Level.WARN


def _numbered(label: str, column: int, columns: range) -> str:
    return f"{label} {column - columns.start}" if len(columns) > 1 else label


def _control_rows(
    actuator: ActuatorInfo, columns: range, frames: FrameSet | None
) -> tuple[ValueRow, ...]:
    rows = []
    for column in columns:
        control = _at(frames, Topic.STATE, "ctrl", column)
        # Only the first control's range is described.
        limits = actuator.ctrlrange if column == columns.start else None
        rows.append(
            _row(
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
    return tuple(rows)


def _output_rows(
    actuator: ActuatorInfo, columns: range, frames: FrameSet | None
) -> tuple[ValueRow, ...]:
    limits = actuator.forcerange
    rows = []
    for column in columns:
        force = _at(frames, Topic.STATE, "actuator_force", column)
        rows.append(
            _row(
                _numbered("force", column, columns),
                force,
                actuator.force_unit,
                note=f"of {range_text(*limits, 1)}" if limits else "",
                level=_beyond(force, limits),
                channel="actuator_force",
                column=column,
            )
        )
    for label, name in (("length", "actuator_length"), ("velocity", "actuator_velocity")):
        rows += [
            _row(_numbered(label, column, columns), _at(frames, Topic.STATE, name, column))
            for column in columns
        ]
    return tuple(rows)


def _actuator(d: SceneDescription, index: int, frames: FrameSet | None) -> tuple[Section, ...]:
    actuator: ActuatorInfo = d.actuators[index]
    ctrlrange, forcerange = actuator.ctrlrange, actuator.forcerange
    controls, outputs = actuator_columns(d, index)
    values = (
        *_control_rows(actuator, controls, frames),
        *_output_rows(actuator, outputs, frames),
    )
    about = (
        ValueRow(label="kind", text=actuator.kind or "unknown"),
        ValueRow(
            label="drives", text=actuator.target or _name(d, ElementKind.JOINT, actuator.joint)
        ),
        ValueRow(label="control range", text=range_text(*ctrlrange) if ctrlrange else "none"),
        ValueRow(label="force range", text=range_text(*forcerange, 1) if forcerange else "none"),
    )
    return (Section("Values", values), Section("About", about))


_AXES = {1: ("value",), 2: ("x", "y"), 3: ("x", "y", "z"), 4: ("w", "x", "y", "z")}


def _sensor(d: SceneDescription, index: int, frames: FrameSet | None) -> tuple[Section, ...]:
    sensor = d.sensors[index]
    names = _AXES.get(sensor.dim) or tuple(f"[{n}]" for n in range(sensor.dim))
    values = tuple(
        _row(
            name,
            _at(frames, Topic.SENSORS, "sensordata", sensor.adr + n),
            sensor.unit,
            channel="sensordata",
            column=sensor.adr + n,
        )
        for n, name in enumerate(names)
    )
    about = (
        ValueRow(label="kind", text=sensor.kind),
        ValueRow(label="of", text=sensor.object or "none"),
    )
    return (Section("Values", values), Section("About", about))
