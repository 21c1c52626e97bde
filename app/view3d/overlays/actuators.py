"""Actuators at what they drive, coloured by how much they are asked for, ringed when saturated."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.overlay_words import Role
from stroboscope.app.models.selection import ElementKind
from stroboscope.app.view3d.overlays.facts import ActuatorFacts
from stroboscope.app.view3d.overlays.glyphs import Glyphs, Layer, Shape, frame_along, lines, solids
from stroboscope.app.view3d.overlays.subject import Subject
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["actuator_glyphs", "actuator_levels", "actuator_places", "saturated"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
_AT_LIMIT = 1e-6  # of the range


def actuator_levels(subject: Subject) -> Floats:
    """Return (nu,) -1…1: control (or activation) within its range, as MuJoCo colours it."""
    facts = subject.facts.actuators
    ctrl = subject.value(Topic.STATE, "ctrl", -1)
    act = subject.value(Topic.STATE, "act", -1)
    value = _picked(ctrl, facts.ctrl)
    limits = facts.ctrlrange
    if subject.options.activation and act is not None:
        has = (facts.act >= 0) & (facts.act < len(act))
        value = np.where(has, _picked(act, facts.act), value)
        limits = np.where(has[:, None], facts.actrange, limits)
    # Without a range MuJoCo takes -1…1.
    low = np.where(np.isfinite(limits[:, 0]), limits[:, 0], -1.0)
    high = np.where(np.isfinite(limits[:, 1]), limits[:, 1], 1.0)
    reach = np.where(value < 0.0, -low, high)
    level = np.where(reach > 0.0, value / np.where(reach > 0.0, reach, 1.0), 0.0)
    return np.asarray(np.clip(np.nan_to_num(level), -1.0, 1.0))


def saturated(subject: Subject) -> Bools:
    """Return (nu,): whose control or force is at a limit of its range."""
    facts = subject.facts.actuators
    ctrl = _picked(subject.value(Topic.STATE, "ctrl", -1), facts.ctrl)
    force = _picked(subject.value(Topic.STATE, "actuator_force", -1), facts.output)
    return _at(ctrl, facts.ctrlrange) | _at(force, facts.forcerange)


def _at(value: Floats, limits: Floats) -> Bools:
    low, high = limits[:, 0], limits[:, 1]
    slack = _AT_LIMIT * (high - low)
    with np.errstate(invalid="ignore"):  # no range: NaN, and no limit to be at
        return np.asarray((value <= low + slack) | (value >= high - slack))


def _picked(values: Floats | None, at: NDArray[np.int64]) -> Floats:
    """Return ``values[at]``, NaN where there is nothing."""
    found = np.full(len(at), np.nan)
    if values is not None:
        known = (at >= 0) & (at < len(values))
        found[known] = values[at[known]]
    return found


def actuator_glyphs(subject: Subject) -> Iterator[Glyphs]:
    """Yield cylinders along joints and sites, coloured tendon paths, rings where saturated."""
    facts = subject.facts.actuators
    if not subject.options.actuators or not len(facts.joint):
        return
    shown = np.array(subject.options.actuator_groups)[facts.group]
    level = actuator_levels(subject)
    full = saturated(subject)
    colors = _colors(level)
    pos, direction = actuator_places(subject)
    placed = np.flatnonzero(shown & np.isfinite(pos).all(axis=1))
    scale, mean = subject.sizes.scale, subject.sizes.mean
    radius, half = scale.actuatorwidth * mean, 0.5 * scale.actuatorlength * mean
    roles = tuple(
        role
        for role, present in (
            (Role.ACTUATOR_NEGATIVE, (level < 0.0).any()),
            (Role.ACTUATOR_POSITIVE, (level > 0.0).any()),
        )
        if present
    )
    mat = frame_along(direction[placed])
    yield solids(
        Shape.DISC,
        pos=pos[placed],
        mat=mat,
        size=np.array([[radius, radius, half]]),
        color=colors[placed],
        layer=Layer.INSIDE,
        roles=roles,
    ).of_elements(ElementKind.ACTUATOR, placed)
    ringed = full[placed]
    yield solids(
        Shape.HOOP,
        pos=pos[placed][ringed],
        mat=mat[ringed],
        size=1.7 * radius,
        color=Role.SATURATED,
        layer=Layer.INSIDE,
    ).of_elements(ElementKind.ACTUATOR, placed[ringed])
    yield from _tendons(subject, facts, colors=colors, shown=shown, roles=roles)


def _colors(level: Floats) -> Floats:
    """Return (nu, 4): from the middle colour to that of either sign, as MuJoCo blends them."""
    neutral = np.array(Role.ACTUATOR.value)
    end = np.where(
        (level < 0.0)[:, None], Role.ACTUATOR_NEGATIVE.value, Role.ACTUATOR_POSITIVE.value
    )
    part = np.abs(level)[:, None]
    return np.asarray((1.0 - part) * neutral + part * end)


def actuator_places(subject: Subject) -> tuple[Floats, Floats]:
    """Return where actuators are and along what they act, (nu, 3) each; NaN for tendons."""
    facts = subject.facts.actuators
    pos = np.full((len(facts.joint), 3), np.nan)
    direction = np.tile([0.0, 0.0, 1.0], (len(facts.joint), 1))
    anchor, axis = subject.joint_frames
    at = (facts.joint >= 0) & (facts.joint < len(anchor))
    pos[at], direction[at] = anchor[facts.joint[at]], axis[facts.joint[at]]
    site_pos, site_mat = subject.site_frames()
    at = ~at & (facts.site >= 0) & (facts.site < len(site_pos))
    pos[at], direction[at] = site_pos[facts.site[at]], site_mat[facts.site[at], :, 2]
    com = subject.centers_of_mass
    at = np.isnan(pos[:, 0]) & (facts.tendon < 0) & (facts.body > 0) & (facts.body < len(com))
    pos[at] = com[facts.body[at]]
    return pos, direction


def _tendons(
    subject: Subject,
    facts: ActuatorFacts,
    *,
    colors: Floats,
    shown: Bools,
    roles: tuple[Role, ...],
) -> Iterator[Glyphs]:
    path = subject.value(Topic.TENDONS, "path", -1, 3)
    first = subject.value(Topic.TENDONS, "first", -1)
    count = subject.value(Topic.TENDONS, "count", -1)
    if path is None or first is None or count is None:
        return
    drives = np.flatnonzero(shown & (facts.tendon >= 0) & (facts.tendon < len(first)))
    tendon = facts.tendon[drives]
    parts = [np.arange(first[t], first[t] + count[t] - 1, dtype=np.int64) for t in tendon]
    if not parts:
        return
    owner = np.repeat(drives, [len(part) for part in parts])
    start = np.concatenate(parts)
    yield lines(
        path[start],
        path[start + 1],
        radius=1.25 * subject.tendon_width[facts.tendon[owner]],
        color=colors[owner],
        pixels=1.2,
        roles=roles,
    ).of_elements(ElementKind.ACTUATOR, owner)
