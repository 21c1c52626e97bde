"""Bodies, geoms, sites, cameras and lights: where they are, how they move, what they are like."""

import numpy as np

from stroboscope.app.models.element_values.rows import (
    Array,
    Section,
    ValueRow,
    first,
    name_of,
    sub,
    vector,
    with_edits,
)
from stroboscope.app.models.expressions import contact_channel, position_channel
from stroboscope.app.models.frames import FrameSet
from stroboscope.app.models.numbers import number_text
from stroboscope.app.models.selection import ElementKind
from stroboscope.debugger_protocol.messages import EditField
from stroboscope.debugger_protocol.scene_description import (
    GeomInfo,
    GeomType,
    SceneDescription,
    SiteInfo,
)
from stroboscope.debugger_protocol.topics import Topic

__all__ = [
    "body_sections",
    "camera_sections",
    "geom_sections",
    "light_sections",
    "site_sections",
]

_SIZE_WORDS = {
    GeomType.PLANE: ("half x", "half y", "grid"),
    GeomType.SPHERE: ("radius",),
    GeomType.CAPSULE: ("radius", "half length"),
    GeomType.CYLINDER: ("radius", "half length"),
    GeomType.ELLIPSOID: ("radius x", "radius y", "radius z"),
    GeomType.BOX: ("half x", "half y", "half z"),
}


def body_sections(d: SceneDescription, index: int, frames: FrameSet | None) -> tuple[Section, ...]:
    """Return the rows of a body."""
    body = d.bodies[index]
    one = slice(index, index + 1)
    pos = first(sub(frames, Topic.POSE, "xpos", one))
    quat = first(sub(frames, Topic.POSE, "xquat", one))
    velocity = first(sub(frames, Topic.STATE, "body_velocity", one))
    name = name_of(d, ElementKind.BODY, index)
    place = vector("", pos, "xyz", "m", channel=position_channel("xpos", name))
    turn = vector("", quat, "wxyz", "", channel=position_channel("xquat", name))
    moves = position_channel("xvel", name)
    if body.mocap and body.mocap_index >= 0:
        place = with_edits(place, EditField.MOCAP_POS, 3 * body.mocap_index)
        turn = with_edits(turn, EditField.MOCAP_QUAT, 4 * body.mocap_index)
    linear = None if velocity is None else velocity[:3]
    angular = None if velocity is None else velocity[3:]
    return (
        Section("Position", place),
        Section("Orientation", turn),
        Section("Velocity", vector("", linear, "xyz", "m/s", channel=moves)),
        Section("Angular velocity", vector("", angular, "xyz", "rad/s", channel=moves, column=3)),
        *_body_dynamics(frames, index),
        Section("About", _about_body(d, index)),
    )


def _body_dynamics(frames: FrameSet | None, index: int) -> tuple[Section, ...]:
    """Return what the engine sends about a body's masses and the forces on it."""
    one = slice(index, index + 1)
    if frames is None or Topic.BODIES not in frames.frames:
        return ()
    contact = first(sub(frames, Topic.BODIES, "contact_force", one))
    applied = first(sub(frames, Topic.BODIES, "xfrc_applied", one))
    acceleration = first(sub(frames, Topic.BODIES, "acceleration", one))
    com = first(sub(frames, Topic.BODIES, "subtree_com", one))
    forces = with_edits(
        vector("force", None if applied is None else applied[:3], "xyz", "N"),
        EditField.XFRC_APPLIED,
        6 * index,
    )
    torques = with_edits(
        vector("torque", None if applied is None else applied[3:], "xyz", "N·m"),
        EditField.XFRC_APPLIED,
        6 * index + 3,
    )
    return (
        Section("Contact force", vector("", contact, "xyz", "N")),
        Section("Applied (xfrc_applied)", (*forces, *torques)),
        Section("Acceleration", vector("", acceleration, "xyz", "m/s²")),
        Section("Subtree's centre of mass", vector("", com, "xyz", "m")),
        Section("Sleep", _sleep(frames, index)),
    )


def _sleep(frames: FrameSet, index: int) -> tuple[ValueRow, ...]:
    rows = []
    for name, label in (("awake", "awake"), ("island", "island")):
        array = frames.array(Topic.BODIES, name)
        if array is None or index >= array.size:
            continue
        value = int(array[index])
        text = ("yes" if value else "no, asleep") if name == "awake" else str(value)
        rows.append(ValueRow(label=label, text="none" if name == "island" and value < 0 else text))
    return tuple(rows)


def _about_body(d: SceneDescription, index: int) -> tuple[ValueRow, ...]:
    body = d.bodies[index]
    children = sum(1 for n, b in enumerate(d.bodies) if b.parent == index and n != index)
    rows = [
        ValueRow(label="mass", value=body.mass, unit="kg"),
        *(
            ValueRow(label=f"inertia {axis}", value=value, unit="kg·m²", decimals=5)
            for axis, value in zip("xyz", body.inertia, strict=True)
        ),
        ValueRow(
            label="parent", text=name_of(d, ElementKind.BODY, body.parent) if index else "none"
        ),
        ValueRow(label="children", text=str(children)),
    ]
    if body.subtree_mass:
        rows.insert(1, ValueRow(label="subtree", value=body.subtree_mass, unit="kg"))
    if body.gravcomp:
        rows.append(ValueRow(label="gravcomp", value=body.gravcomp, note="of its weight"))
    if index and body.weld == 0:
        rows.append(ValueRow(label="moves", text="no: fixed to the world"))
    elif 0 < body.weld < len(d.bodies) and body.weld != index:
        rows.append(ValueRow(label="welded to", text=name_of(d, ElementKind.BODY, body.weld)))
    if body.mocap:
        rows.append(ValueRow(label="mocap", text="moved by the script"))
    return tuple(rows)


def _world_position(
    frames: FrameSet | None, body: int, pos: tuple[float, float, float]
) -> Array | None:
    xpos = sub(frames, Topic.POSE, "xpos", slice(body, body + 1))
    xquat = sub(frames, Topic.POSE, "xquat", slice(body, body + 1))
    if xpos is None or xquat is None:
        return None
    w, v = xquat[0, 0], xquat[0, 1:]
    local = np.asarray(pos)
    # Rotation of a vector by a unit quaternion (wxyz).
    turned = local + 2.0 * np.cross(v, np.cross(v, local) + w * local)
    result: Array = xpos[0] + turned
    return result


def _shape(item: GeomInfo | SiteInfo) -> Section:
    rows = [ValueRow(label="type", text=item.type.value)]
    for word, value in zip(_SIZE_WORDS.get(item.type, ()), item.size, strict=False):
        infinite = item.type is GeomType.PLANE and value == 0.0
        if infinite:
            rows.append(ValueRow(label=word, text="infinite"))
        else:
            rows.append(ValueRow(label=word, value=value, unit="m"))
    return Section("Shape", tuple(rows))


def _place(
    frames: FrameSet | None, body: int, pos: tuple[float, float, float], *, channel: str = ""
) -> Section:
    where = _world_position(frames, body, pos)
    return Section("Position", vector("", where, "xyz", "m", channel=channel))


def geom_sections(d: SceneDescription, index: int, frames: FrameSet | None) -> tuple[Section, ...]:
    """Return the rows of a geom."""
    geom = d.geoms[index]
    about = [
        ValueRow(label="body", text=name_of(d, ElementKind.BODY, geom.body)),
        ValueRow(label="group", text=str(geom.group)),
        ValueRow(label="collides", text="yes" if geom.collides else "no (visual only)"),
    ]
    if 0 <= geom.mesh < len(d.meshes):
        mesh = d.meshes[geom.mesh]
        about.append(ValueRow(label="mesh", text=mesh.name, note=f"{mesh.nface} faces"))
    if 0 <= geom.material < len(d.materials):
        about.append(ValueRow(label="material", text=d.materials[geom.material].name))
    name = name_of(d, ElementKind.GEOM, index)
    channel = position_channel("geom_xpos", name)
    sections = [_place(frames, geom.body, geom.pos, channel=channel)]
    if geom.collides:
        sections.append(Section("Contacts", _geom_contacts(frames, index, name=name)))
    sections.append(_shape(geom))
    if geom.collides:
        sections.append(Section("Contact parameters", _contact_parameters(geom)))
    return (*sections, Section("About", tuple(about)))


def _geom_contacts(frames: FrameSet | None, index: int, *, name: str) -> tuple[ValueRow, ...]:
    """Return how many contacts a geom has, and how hard they press."""
    frame = frames.frames.get(Topic.CONTACTS) if frames is not None else None
    if frame is None or "geom" not in frame.arrays or "force" not in frame.arrays:
        return ()
    mine = (np.asarray(frame.arrays["geom"]).reshape(-1, 2) == index).any(axis=1)
    force = np.asarray(frame.arrays["force"], dtype=np.float64).reshape(-1, 6)[mine]
    return (
        ValueRow(label="contacts", text=str(int(mine.sum()))),
        ValueRow(
            label="normal",
            value=float(force[:, 0].sum()),
            unit="N",
            note="sum",
            channel=contact_channel("normal", name),
        ),
        ValueRow(
            label="friction",
            value=float(np.hypot(force[:, 1], force[:, 2]).sum()),
            unit="N",
            note="sum",
        ),
    )


def _contact_parameters(geom: GeomInfo) -> tuple[ValueRow, ...]:
    def numbers(values: tuple[float, ...]) -> str:
        return "  ".join(f"{value:g}" for value in values).replace("-", "−")

    return (
        ValueRow(label="condim", text=str(geom.condim)),
        ValueRow(label="friction", text=numbers(geom.friction)),
        ValueRow(label="solref", text=numbers(geom.solref)),
        ValueRow(label="solimp", text=numbers(geom.solimp)),
        ValueRow(label="solmix", text=number_text(geom.solmix)),
        ValueRow(label="priority", text=str(geom.priority)),
        ValueRow(label="margin", value=1e3 * geom.margin, unit="mm"),
        ValueRow(label="gap", value=1e3 * geom.gap, unit="mm"),
        ValueRow(label="contype", text=f"{geom.contype}, conaffinity {geom.conaffinity}"),
    )


def site_sections(d: SceneDescription, index: int, frames: FrameSet | None) -> tuple[Section, ...]:
    """Return the rows of a site."""
    site = d.sites[index]
    about = (
        ValueRow(label="body", text=name_of(d, ElementKind.BODY, site.body)),
        ValueRow(label="group", text=str(site.group)),
    )
    channel = position_channel("site_xpos", name_of(d, ElementKind.SITE, index))
    place = _place(frames, site.body, site.pos, channel=channel)
    return (place, _shape(site), Section("About", about))


def camera_sections(
    d: SceneDescription, index: int, frames: FrameSet | None
) -> tuple[Section, ...]:
    """Return the rows of a camera."""
    camera = d.cameras[index]
    unit = "m" if camera.orthographic else "°"
    about = (
        ValueRow(label="body", text=name_of(d, ElementKind.BODY, camera.body)),
        ValueRow(label="mode", text=camera.mode.value),
        ValueRow(label="field of view", value=camera.fovy, unit=unit, decimals=1),
    )
    return (_place(frames, camera.body, camera.pos), Section("About", about))


def light_sections(d: SceneDescription, index: int, frames: FrameSet | None) -> tuple[Section, ...]:
    """Return the rows of a light."""
    light = d.lights[index]
    about = (
        ValueRow(label="body", text=name_of(d, ElementKind.BODY, light.body)),
        ValueRow(label="kind", text="directional" if light.directional else "spot"),
        ValueRow(label="shadow", text="yes" if light.castshadow else "no"),
    )
    return (_place(frames, light.body, light.pos), Section("About", about))
