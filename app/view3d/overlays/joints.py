"""Joints: their axes, and their ranges with where they are in them."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.overlay_words import Role
from stroboscope.app.models.selection import ElementKind
from stroboscope.app.view3d.overlays.facts import JointFacts
from stroboscope.app.view3d.overlays.glyphs import Glyphs, Layer, arrows, lines, spheres
from stroboscope.app.view3d.overlays.subject import Subject
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["arc_points", "joint_glyphs", "limit_roles", "positions"]

Floats = NDArray[np.float64]
ARC_SEGMENTS = 20
# Of the range: nearer to a limit than this is worth a warning.
NEAR = 0.05
_LIMIT_ROLES = (Role.LIMIT_OK, Role.LIMIT_NEAR, Role.LIMIT_OVER)


def joint_glyphs(subject: Subject) -> Iterator[Glyphs]:
    """Yield axes and ranges, whatever is switched on."""
    joints = subject.facts.joints
    if not len(joints.body):
        return
    shown = np.array(subject.options.joint_groups)[joints.group]
    anchor, axis = subject.joint_frames
    shown &= np.isfinite(anchor).all(axis=1)
    if subject.options.joints:
        yield from _axes(subject, shown, anchor=anchor, axis=axis)
    if subject.options.joint_limits:
        yield from _limits(subject, shown, anchor=anchor, axis=axis)


def _axes(
    subject: Subject, shown: NDArray[np.bool_], *, anchor: Floats, axis: Floats
) -> Iterator[Glyphs]:
    joints, sizes = subject.facts.joints, subject.sizes
    straight = np.flatnonzero(shown & (joints.is_hinge | joints.is_slide))
    reach = sizes.scale.jointlength * sizes.mean
    radius = 0.5 * sizes.scale.jointwidth * sizes.mean
    yield arrows(
        anchor[straight] - 0.5 * reach * axis[straight],
        1.5 * reach * axis[straight],
        radius=radius,
        color=Role.JOINT,
        layer=Layer.INSIDE,
    ).of_elements(ElementKind.JOINT, straight)
    round_ones = np.flatnonzero(shown & ~(joints.is_hinge | joints.is_slide))
    yield spheres(
        anchor[round_ones], radius=3.0 * radius, color=Role.JOINT, layer=Layer.INSIDE
    ).of_elements(ElementKind.JOINT, round_ones)


def positions(joints: JointFacts, qpos: Floats) -> Floats:
    """Return where each hinge and slide is (njnt,) [rad or m], NaN for the others."""
    single = joints.is_hinge | joints.is_slide
    found = np.full(len(joints.body), np.nan)
    known = single & (joints.qpos >= 0) & (joints.qpos < len(qpos))
    found[known] = qpos[joints.qpos[known]]
    return found


def limit_roles(position: Floats, limits: Floats) -> NDArray[np.int64]:
    """Return (n,) 0 well inside, 1 near a limit, 2 at or over it; ``limits`` (n, 2)."""
    low, high = limits[:, 0], limits[:, 1]
    span = np.maximum(high - low, 1e-12)
    margin = np.minimum(position - low, high - position)
    tolerance = 1e-4 * span
    return np.where(margin <= tolerance, 2, np.where(margin < NEAR * span, 1, 0))


def arc_points(axis: Floats, needle: Floats, angles: Floats) -> Floats:
    """Return unit vectors (n, k, 3): ``needle`` (n, 3) turned by ``angles`` (n, k) about ``axis``.

    ``needle`` is across ``axis`` (n, 3); both of unit length.
    """
    aside = np.cross(axis, needle)
    cos, sin = np.cos(angles)[..., None], np.sin(angles)[..., None]
    return np.asarray(cos * needle[:, None] + sin * aside[:, None])


def _limits(
    subject: Subject, shown: NDArray[np.bool_], *, anchor: Floats, axis: Floats
) -> Iterator[Glyphs]:
    joints, sizes = subject.facts.joints, subject.sizes
    qpos = subject.value(Topic.STATE, "qpos", -1)
    if qpos is None:
        return
    yield from _ball_limits(subject, shown, anchor=anchor, qpos=qpos)
    position = positions(joints, qpos)
    limited = shown & np.isfinite(joints.range).all(axis=1) & np.isfinite(position)
    level = limit_roles(position, joints.range)
    colors = np.array([role.value for role in _LIMIT_ROLES])
    radius = 0.22 * sizes.scale.jointwidth * sizes.mean
    hinge = np.flatnonzero(limited & joints.is_hinge)
    slide = np.flatnonzero(limited & joints.is_slide)
    starts, ends, tips, owners = [], [], [], []
    if len(hinge):
        body = subject.scene.body_mat[joints.body[hinge]]
        needle = np.einsum("nij,nj->ni", body, joints.needle[hinge])
        low = joints.range[hinge, 0]
        span = np.minimum(joints.range[hinge, 1] - low, 2.0 * np.pi)
        part = np.linspace(0.0, 1.0, ARC_SEGMENTS + 1)
        angles = low[:, None] + span[:, None] * part - position[hinge][:, None]
        reach = 0.9 * sizes.scale.jointlength * sizes.mean
        arc = anchor[hinge][:, None] + reach * arc_points(axis[hinge], needle, angles)
        middle = np.broadcast_to(anchor[hinge][:, None], (len(hinge), 2, 3))
        ends_of = arc[:, [0, -1]]
        starts += [arc[:, :-1].reshape(-1, 3), middle.reshape(-1, 3)]
        ends += [arc[:, 1:].reshape(-1, 3), ends_of.reshape(-1, 3)]
        owners += [np.repeat(hinge, ARC_SEGMENTS), np.repeat(hinge, 2)]
        tips.append((hinge, anchor[hinge], 1.12 * reach * needle))
    if len(slide):
        along = axis[slide]
        low, high = (joints.range[slide, side] - position[slide] for side in (0, 1))
        start, end = (anchor[slide] + each[:, None] * along for each in (low, high))
        aside = np.cross(along, _any_across(along)) * 0.25 * sizes.mean
        starts += [start, start - aside, end - aside]
        ends += [end, start + aside, end + aside]
        owners += [slide, slide, slide]
        tips.append((slide, anchor[slide] + 1.6 * aside, -1.6 * aside))
    if not owners:
        return
    owner = np.concatenate(owners)
    roles = tuple(_LIMIT_ROLES[i] for i in np.unique(level[owner]))
    yield lines(
        np.concatenate(starts),
        np.concatenate(ends),
        radius=radius,
        color=colors[level[owner]],
        layer=Layer.INSIDE,
        roles=roles,
    ).of_elements(ElementKind.JOINT, owner)
    for index, start, vector in tips:
        yield arrows(
            start,
            vector,
            radius=1.6 * radius,
            color=colors[level[index]],
            layer=Layer.INSIDE,
            roles=roles,
        ).of_elements(ElementKind.JOINT, index)


def _ball_limits(
    subject: Subject, shown: NDArray[np.bool_], *, anchor: Floats, qpos: Floats
) -> Iterator[Glyphs]:
    """Yield balls coloured by how far ball joints are turned, of what their range allows."""
    joints, sizes = subject.facts.joints, subject.sizes
    limited = shown & joints.is_ball & np.isfinite(joints.range).all(axis=1)
    which = np.flatnonzero(limited & (joints.qpos >= 0) & (joints.qpos + 4 <= len(qpos)))
    if not len(which):
        return
    quat = qpos[joints.qpos[which][:, None] + np.arange(4)]
    along = np.linalg.norm(quat[:, 1:], axis=1)
    angle = 2.0 * np.arctan2(along, np.abs(quat[:, 0]))
    highest = joints.range[which, 1]
    level = limit_roles(angle, np.stack([-highest, highest], axis=1))
    yield spheres(
        anchor[which],
        radius=1.8 * sizes.scale.jointwidth * sizes.mean,
        color=np.array([role.value for role in _LIMIT_ROLES])[level],
        layer=Layer.INSIDE,
        roles=tuple(_LIMIT_ROLES[i] for i in np.unique(level)),
    ).of_elements(ElementKind.JOINT, which)


def _any_across(axis: Floats) -> Floats:
    helper = np.where(np.abs(axis[:, :1]) < 0.9, [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
    across = np.cross(axis, helper)
    return np.asarray(across / np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-30))
