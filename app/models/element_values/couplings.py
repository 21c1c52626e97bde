"""Tendons, equalities, flexes and skins: what ties bodies together, and what is soft."""

import numpy as np

from stroboscope.app.models.element_values.rows import (
    EditTarget,
    Section,
    ValueRow,
    margin_row,
    name_of,
    row,
    value_at,
)
from stroboscope.app.models.frames import FrameSet
from stroboscope.app.models.numbers import range_text
from stroboscope.app.models.selection import ElementKind
from stroboscope.app.models.tables.small_tables import equality_objects
from stroboscope.debugger_protocol.messages import EditField
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["equality_sections", "flex_sections", "skin_sections", "tendon_sections"]


def _numbers(values: tuple[float, ...]) -> str:
    return "  ".join(f"{value:g}" for value in values).replace("-", "−")


def tendon_sections(
    d: SceneDescription, index: int, frames: FrameSet | None
) -> tuple[Section, ...]:
    """Return the rows of a tendon."""
    tendon = d.tendons[index]
    length = value_at(frames, Topic.TENDONS, "length", index)
    motion = (
        row("length", length, "m" if tendon.spatial else "", decimals=4),
        row("velocity", value_at(frames, Topic.TENDONS, "velocity", index), decimals=4),
        row("force", value_at(frames, Topic.TENDONS, "force", index), "N" * tendon.spatial),
    )
    limits: tuple[ValueRow, ...] = (ValueRow(label="limit", text="unlimited"),)
    if tendon.range is not None:
        low, high = tendon.range
        limits = (ValueRow(label="range", text=range_text(low, high)),)
        if length is not None:
            limits += (margin_row(length, low, high, decimals=4),)
    about = [ValueRow(label="kind", text="spatial" if tendon.spatial else "fixed, over joints")]
    for label, value in (
        ("stiffness", tendon.stiffness),
        ("damping", tendon.damping),
        ("frictionloss", tendon.frictionloss),
    ):
        if value:
            about.append(ValueRow(label=label, value=value))
    if tendon.stiffness:
        about.append(ValueRow(label="spring length", text=range_text(*tendon.lengthspring)))
    about += [
        ValueRow(label="joint", text=name_of(d, ElementKind.JOINT, joint))
        for joint in tendon.joints
    ]
    about += [
        ValueRow(label="site", text=name_of(d, ElementKind.SITE, site)) for site in tendon.sites
    ]
    about.append(ValueRow(label="group", text=str(tendon.group)))
    return (Section("Motion", motion), Section("Limits", limits), Section("About", tuple(about)))


def equality_sections(
    d: SceneDescription, index: int, frames: FrameSet | None
) -> tuple[Section, ...]:
    """Return the rows of an equality constraint."""
    info = d.equalities[index]
    one, other = equality_objects(d, info)
    active = value_at(frames, Topic.CONSTRAINTS, "eq_active", index)
    on = info.active if active is None else bool(active)
    switch = row(
        "active",
        active,
        decimals=0,
        note="on" if on else "off",
        edit=EditTarget(EditField.EQ_ACTIVE, index),
    )
    about = (
        ValueRow(label="kind", text=info.kind),
        ValueRow(label="ties", text=one),
        ValueRow(label="to", text=other),
        ValueRow(label="solref", text=_numbers(info.solref)),
        ValueRow(label="solimp", text=_numbers(info.solimp)),
        ValueRow(label="at start", text="on" if info.active else "off"),
    )
    return (
        Section("State", (switch,)),
        Section("Residual", _residual_rows(d, index, frames)),
        Section("About", about),
    )


def _residual_rows(
    d: SceneDescription, index: int, frames: FrameSet | None
) -> tuple[ValueRow, ...]:
    """Return residual and force of each scalar constraint of an equality."""
    arrays = [
        frames.array(Topic.CONSTRAINTS, name) if frames is not None else None
        for name in ("type", "id", "pos", "force")
    ]
    kind, which, pos, force = arrays
    if kind is None or which is None or pos is None or force is None:
        return ()
    words = d.constraint_types
    wanted = words.index("equality") if "equality" in words else 0
    mine = np.flatnonzero((kind == wanted) & (which == index))
    if not mine.size:
        return (ValueRow(label="residual", text="none: it has no row in this step"),)
    rows = []
    for n, at in enumerate(mine):
        label = f"{n}" if mine.size > 1 else ""
        rows.append(row(f"residual {label}".strip(), float(pos[at]), decimals=6))
    for n, at in enumerate(mine):
        label = f"{n}" if mine.size > 1 else ""
        rows.append(row(f"force {label}".strip(), float(force[at])))
    return tuple(rows)


def flex_sections(d: SceneDescription, index: int, frames: FrameSet | None) -> tuple[Section, ...]:
    """Return the rows of a flex."""
    flex = d.flexes[index]
    dimension = {1: "1, lines", 2: "2, triangles", 3: "3, tetrahedra"}
    about = (
        ValueRow(label="dimension", text=dimension.get(flex.dim, str(flex.dim))),
        ValueRow(label="vertices", text=str(flex.nvert)),
        ValueRow(label="radius", value=flex.radius, unit="m", decimals=4),
        ValueRow(label="group", text=str(flex.group)),
    )
    return (Section("About", about),)


def skin_sections(d: SceneDescription, index: int, frames: FrameSet | None) -> tuple[Section, ...]:
    """Return the rows of a skin."""
    skin = d.skins[index]
    about = (
        ValueRow(label="vertices", text=str(skin.nvert)),
        ValueRow(label="faces", text=str(skin.nface)),
        ValueRow(label="inflate", value=skin.inflate, unit="m", decimals=4),
        ValueRow(label="group", text=str(skin.group)),
    )
    return (Section("About", about),)
