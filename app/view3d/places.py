"""Where things of a scene are, and what of it a camera should hold."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.view_options import ViewOptions
from stroboscope.app.view3d.items import ItemKind, body_of
from stroboscope.debugger_protocol.scene_description import (
    CameraInfo,
    JointType,
    LightInfo,
    SceneDescription,
)

if TYPE_CHECKING:
    from stroboscope.app.view3d.drawn_scene import DrawnScene

__all__ = [
    "element_position",
    "foot_height",
    "framing_points",
    "ground_under",
    "reach_points",
    "scene_bounds",
    "subtree_center",
]

# A floor further below than this many radii says nothing about how to look at a scene.
_FALL = 30.0
# Where an arm may come to, in lengths of it; more arms than these are a crowd.
_ABOUT = np.array([[0.0, 0.0, 1.0], *([x, y, 0.0] for x in (-0.4, 0.4) for y in (-0.4, 0.4))])
_MOST_ARMS = 16
_UPRIGHT = 0.95  # the height of a hinge's axis, of which 1 is all


def ground_under(scene: "DrawnScene") -> float:
    """Return the height [m] of a ground that nothing of the scene stands below.

    That is z = 0 unless the scene reaches below it or hangs far above it. Taken once, from
    the first poses: a ground that moves with the robot would hide that it falls.
    """
    shown = ~scene.items.is_plane & (scene.items.group < 3) & np.isfinite(scene.item_pos).all(1)
    shown &= scene.items.kind == ItemKind.GEOM
    if not shown.any():
        return 0.0
    down = scene.items.reach_along(scene.item_mat[:, 2, :])
    lowest = float((scene.item_pos[:, 2] - down)[shown].min())
    highest = float((scene.item_pos[:, 2] + down)[shown].max())
    height = highest - lowest
    return 0.0 if -1e-3 * height <= lowest <= height else lowest


def foot_height(scene: "DrawnScene") -> float:
    """Return the height [m] of the lowest point of what hangs on bodies, else of the ground.

    Taken once, as the ground is.
    """
    shown = ~scene.items.is_plane & (scene.items.group < 3) & np.isfinite(scene.item_pos).all(1)
    shown &= (scene.items.kind == ItemKind.GEOM) & (scene.items.body > 0)
    if not shown.any():
        return scene.ground_height
    down = scene.items.reach_along(scene.item_mat[:, 2, :])
    return float((scene.item_pos[:, 2] - down)[shown].min())


def scene_bounds(scene: "DrawnScene", options: ViewOptions) -> tuple[NDArray[np.float64], float]:
    """Return centre and radius of what matters: shown shapes, without endless surroundings.

    Static geoms are left out when they would dwarf what moves (a room around a robot).
    """
    bounds = scene.bounds(scene.scene_items(options))
    if bounds is None:
        return np.zeros(3), 1.0
    foot = _foot(scene, *bounds)
    if foot is None:
        return bounds
    center, radius = bounds
    half = (float(center[2] - foot[2]) + radius) / 2.0
    return np.array([center[0], center[1], foot[2] + half]), half


def framing_points(scene: "DrawnScene", options: ViewOptions) -> NDArray[np.float64]:
    """Return points (n, 3) [m] that a good first look at the scene holds.

    The boxes of what matters and the floor below it, where it may be about to fall. Not the
    model's extent: MuJoCo's own guess takes endless floors in and makes a humanoid tiny.
    """
    items = scene.scene_items(options)
    points = scene.corners(items)
    bounds = scene.bounds(items)
    if bounds is None:
        return points
    foot = _foot(scene, *bounds)
    if foot is not None:
        # As wide at the foot as above: what falls shall not leave at the side.
        radius = bounds[1]
        square = np.array([[x, y, 0.0] for x in (-radius, radius) for y in (-radius, radius)])
        points = np.concatenate([points, foot + square])
    return points


def reach_points(scene: "DrawnScene", items: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return points (n, 3) [m] that arms standing on the spot may come to, above and about it.

    An arm that lies down at first shall not swing out of the picture. What is free to go anywhere
    has no such place, and of a crowd the whole is in sight as it is.
    """
    description = scene.description
    if description is None:
        return np.zeros((0, 3))
    joints = description.joints
    above = _ancestors(description)
    travels = {joint.body for joint in joints if joint.type in (JointType.FREE, JointType.SLIDE)}
    found: dict[int, NDArray[np.float64]] = {}  # by the first body of the arm
    for joint in joints:
        chain = [joint.body, *above[joint.body]]
        if chain[-1] in found or travels.intersection(chain):
            continue
        mat = scene.body_mat[joint.body]
        if joint.type is JointType.HINGE and abs((mat @ np.array(joint.axis))[2]) > _UPRIGHT:
            continue  # turns on the spot: what it carries stays as high as it is
        anchor = scene.body_pos[joint.body] + mat @ np.array(joint.pos)
        carried = [joint.body in (body, *above[body]) for body in range(len(above))]
        corners = scene.corners(items[np.array(carried)[scene.items.body[items]]])
        if len(corners) and np.isfinite(anchor).all() and len(found) < _MOST_ARMS:
            reach = float(np.linalg.norm(corners - anchor, axis=1).max())
            found[chain[-1]] = anchor + reach * _ABOUT
    return np.concatenate([*found.values(), np.zeros((0, 3))])


def _ancestors(description: SceneDescription) -> list[tuple[int, ...]]:
    """Return of each body the moving bodies above it, the nearest first."""
    bodies = description.bodies
    above: list[tuple[int, ...]] = []
    for i, body in enumerate(bodies):  # parents come before children
        hangs = 0 < body.parent < i and bodies[body.parent].weld != 0
        above.append((body.parent, *above[body.parent]) if hangs else ())
    return above


def _foot(
    scene: "DrawnScene", center: NDArray[np.float64], radius: float
) -> NDArray[np.float64] | None:
    """Return the point (3,) of a level floor right below what matters, None when far or none.

    Only what hangs clearly above its floor has one: the rest stands on it anyway.
    """
    lowest = float(center[2]) - radius
    level = scene.items.is_plane & (scene.items.body == 0) & (scene.item_mat[:, 2, 2] > 0.99)
    heights = scene.item_pos[level, 2]
    heights = heights[heights < lowest - 0.2 * radius]
    if not len(heights) or lowest - float(heights.max()) > _FALL * radius:
        return None
    return np.array([center[0], center[1], float(heights.max())])


def subtree_center(scene: "DrawnScene", body: int) -> NDArray[np.float64]:
    """Return the centre of mass (3,) of ``body`` and everything below it."""
    if scene.description is None or not 0 <= body < len(scene.body_pos):
        return np.zeros(3)
    bodies = scene.description.bodies
    inside = np.zeros(len(bodies), dtype=np.bool_)
    for i, info in enumerate(bodies):  # parents come before children
        inside[i] = i == body or (i > 0 and info.parent < i and inside[info.parent])
    chosen = np.flatnonzero(inside)
    mass = np.array([bodies[i].mass for i in chosen])
    if mass.sum() <= 0.0:
        return np.asarray(scene.body_pos[body])
    ipos = np.array([bodies[i].ipos for i in chosen])
    com = scene.body_pos[chosen] + np.einsum("nij,nj->ni", scene.body_mat[chosen], ipos)
    center: NDArray[np.float64] = (mass[:, None] * com).sum(axis=0) / mass.sum()
    return center


def element_position(scene: "DrawnScene", element: Element) -> NDArray[np.float64] | None:
    """Return the world position (3,) [m] of an element's own frame, None when it has none."""
    description = scene.description
    if description is None:
        return None
    if element.kind is ElementKind.GEOM and element.index < scene.items.n_geoms:
        return np.asarray(scene.item_pos[element.index])
    if element.kind is ElementKind.SITE and element.index < len(description.sites):
        return np.asarray(scene.item_pos[scene.items.n_geoms + element.index])
    body = body_of(element, description)
    if not 0 <= body < len(scene.body_pos):
        return None
    placed: dict[ElementKind, tuple[CameraInfo | LightInfo, ...]] = {
        ElementKind.CAMERA: description.cameras,
        ElementKind.LIGHT: description.lights,
    }
    if element.kind in placed:
        here = np.array(placed[element.kind][element.index].pos)
        return np.asarray(scene.body_pos[body] + scene.body_mat[body] @ here)
    joint = element.index
    if element.kind is ElementKind.ACTUATOR:
        joint = description.actuators[element.index].joint
    if element.kind in (ElementKind.JOINT, ElementKind.ACTUATOR) and joint >= 0:
        offset = np.array(description.joints[joint].pos)
        return np.asarray(scene.body_pos[body] + scene.body_mat[body] @ offset)
    return np.asarray(scene.body_pos[body])
