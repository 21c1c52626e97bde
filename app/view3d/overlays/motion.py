"""How bodies move and what is pushed into them from outside."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.overlay_words import Amount, Role
from stroboscope.app.models.selection import ElementKind
from stroboscope.app.view3d.items import body_of
from stroboscope.app.view3d.overlays.glyphs import (
    Glyphs,
    Layer,
    Shape,
    arrows,
    frame_along,
    lines,
    solids,
    spheres,
)
from stroboscope.app.view3d.overlays.subject import Subject
from stroboscope.app.view3d.rotations import quat_to_matrix
from stroboscope.debugger_protocol.edit_messages import Perturb, PerturbKind
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["motion_glyphs", "perturbation_glyphs", "touched_glyphs"]

Floats = NDArray[np.float64]
_TOUCHED = 0.2  # of the mean size, as in MuJoCo
# Slower than this is standing still, and its direction only noise.
_STILL = {
    Amount.VELOCITY: 1e-4,
    Amount.ANGULAR_VELOCITY: 1e-3,
    Amount.ACCELERATION: 1e-3,
    Amount.ANGULAR_ACCELERATION: 1e-2,
    Amount.FORCE: 1e-9,
    Amount.TORQUE: 1e-9,
}


def motion_glyphs(subject: Subject) -> Iterator[Glyphs]:
    """Yield velocities, accelerations and applied forces, whatever is switched on."""
    pos, options = subject.scene.body_pos, subject.options
    if options.velocities:
        velocity = subject.of_bodies(Topic.STATE, "body_velocity", 6)
        yield from _pair(
            subject,
            pos,
            velocity,
            linear=(Amount.VELOCITY, Role.LINEAR_VELOCITY),
            angular=(Amount.ANGULAR_VELOCITY, Role.ANGULAR_VELOCITY),
        )
    if options.accelerations:
        acceleration = subject.of_bodies(Topic.BODIES, "acceleration", 6)
        yield from _pair(
            subject,
            pos,
            acceleration,
            linear=(Amount.ACCELERATION, Role.LINEAR_ACCELERATION),
            angular=(Amount.ANGULAR_ACCELERATION, Role.ANGULAR_ACCELERATION),
        )
    if options.applied_forces:
        applied = subject.of_bodies(Topic.BODIES, "xfrc_applied", 6)
        yield from _pair(
            subject,
            subject.centers_of_mass,
            applied,
            linear=(Amount.FORCE, Role.APPLIED_FORCE),
            angular=(Amount.TORQUE, Role.APPLIED_TORQUE),
        )


def _pair(
    subject: Subject,
    pos: Floats,
    values: Floats | None,
    *,
    linear: tuple[Amount, Role],
    angular: tuple[Amount, Role],
) -> Iterator[Glyphs]:
    """Yield an arrow for the linear and a ring for the angular half of ``values`` (nbody, 6)."""
    if values is None:
        return
    sizes = subject.sizes
    for part, (amount, role) in ((values[:, :3], linear), (values[:, 3:], angular)):
        size = np.linalg.norm(part, axis=1)
        some = np.flatnonzero((size > _STILL[amount]) & np.isfinite(pos).all(axis=1))
        if amount is linear[0]:
            drawn = sizes.vectors(part[some], amount)
            made = arrows(
                pos[some],
                drawn.vector,
                radius=0.8 * sizes.arrow_radius,
                color=role,
                layer=Layer.INSIDE,
                broken=drawn.cut,
            )
        else:
            made = solids(
                Shape.RING,
                pos=pos[some],
                mat=frame_along(part[some]),
                size=sizes.ring_sizes(part[some], amount),
                color=role,
                layer=Layer.INSIDE,
            )
        yield made.of_elements(ElementKind.BODY, some)


def perturbation_glyphs(subject: Subject, perturb: Perturb | None) -> Iterator[Glyphs]:
    """Yield the spring between the point that is pulled and where it is pulled to."""
    scene, sizes = subject.scene, subject.sizes
    if perturb is None or not subject.options.perturbation:
        return
    if not 0 < perturb.body < len(scene.body_pos):
        return
    body_pos, body_mat = scene.body_pos[perturb.body], scene.body_mat[perturb.body]
    if perturb.kind is PerturbKind.FORCE:
        start = (body_pos + body_mat @ np.array(perturb.point))[None]
        end = np.array([perturb.pos])
        radius = 1.2 * sizes.arrow_radius
        ends = np.concatenate([start, end])
        yield lines(start, end, radius=0.6 * radius, color=Role.PERTURBATION, layer=Layer.INSIDE)
        yield spheres(ends, radius=1.8 * radius, color=Role.PERTURBATION, layer=Layer.INSIDE)
        return
    wanted = quat_to_matrix(np.array([perturb.quat]))
    half = np.full((1, 3), 1.2 * sizes.mean)
    center = subject.centers_of_mass[perturb.body][None]
    yield solids(
        Shape.BOX,
        pos=center,
        mat=wanted,
        size=half,
        color=(*Role.PERTURBATION.value[:3], 0.35),
        layer=Layer.SHEER,
        roles=(Role.PERTURBATION,),
    )


def touched_glyphs(
    subject: Subject, touched: tuple[int, tuple[float, float, float]] | None
) -> Iterator[Glyphs]:
    """Yield the point that was pointed at when the selected body was selected."""
    scene, selection = subject.scene, subject.selection
    if touched is None or selection is None or not subject.options.select_point:
        return
    body, point = touched
    if body_of(selection, subject.facts.description) != body or not 0 < body < len(scene.body_pos):
        return
    place = scene.body_pos[body] + scene.body_mat[body] @ np.array(point)
    radius = _TOUCHED * subject.sizes.mean * subject.options.marker_scale
    yield spheres(place[None], radius=radius, color=Role.SELECT_POINT, layer=Layer.INSIDE)
