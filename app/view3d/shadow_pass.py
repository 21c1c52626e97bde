"""The shadow map: the scene's depth as the key lamp sees it."""

import math
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from vispy import gloo

from stroboscope.app.models.view_options import ViewOptions
from stroboscope.app.view3d.drawn_scene import DrawnScene
from stroboscope.app.view3d.light_rig import Lamp
from stroboscope.app.view3d.scene_buffers import SceneBuffers
from stroboscope.app.view3d.shader_programs import ItemPrograms
from stroboscope.app.view3d.targets import ColorTarget

__all__ = ["ShadowPass"]


class ShadowPass:
    """Keeps the map and draws it only when something but the camera has changed."""

    def __init__(self) -> None:
        self._programs = ItemPrograms()
        self._target = ColorTarget(depth=True, interpolation="nearest", floats=1)
        self._matrix = np.eye(4)
        self._world_texel = 0.0
        self._look: object = None
        self._poses: object = None
        self._drawn_at = -math.inf

    def update(
        self,
        scene: DrawnScene,
        buffers: SceneBuffers,
        *,
        lamp: Lamp,
        size: int,
        options: ViewOptions,
        late: float = 0.0,
        most_faces: int | None = None,
    ) -> int:
        """Bring the map up to date; return how many draw calls that took.

        Poses may be up to ``late`` seconds old. Where ``most_faces`` are too few for the other
        environments of a grid, they cast none.
        """
        others = buffers.environments
        if most_faces is not None and buffers.shadow_faces * (1 + len(others)) > most_faces:
            others = []
        if others:
            size *= 2  # it covers all of them
        place = None if lamp.pos is None else lamp.pos.tobytes()
        poses = (
            scene.pose_revision,
            scene.values_revision if buffers.soft.revision else 0,
            scene.others_revision if others else 0,
        )
        look = (buffers.shown_key, size, lamp.direction.tobytes(), place, len(others))
        if not self._is_due(look, poses, late=late, now=time.monotonic()):
            return 0
        center, radius = _casters(scene, options, with_others=bool(others))
        if lamp.pos is None:
            self._matrix = light_matrix(-lamp.direction, center=center, radius=radius)
            self._world_texel = 2.0 * radius / size
        else:
            self._matrix, tangent = cone_matrix(lamp, center=center, radius=radius)
            self._world_texel = 2.0 * tangent / size  # per metre away from the lamp
        self._target.resize((size, size))
        with self._target.framebuffer:
            gloo.set_viewport(0, 0, size, size)
            gloo.set_state(depth_test=True, depth_mask=True, blend=False, cull_face=False)
            gloo.clear(color=(1.0, 1.0, 1.0, 1.0), depth=True)
            for batch in buffers.shadow:
                program = self._programs.depth(buffers, batch.source)
                program["u_matrix"] = np.ascontiguousarray(self._matrix.T, dtype=np.float32)
                program.draw("triangles", batch.indices)
            for other in others:
                for batch in other.batches:
                    program = self._programs.depth(buffers, batch.source, ghost=True)
                    program["u_poses"] = other.poses
                    program["u_matrix"] = np.ascontiguousarray(self._matrix.T, dtype=np.float32)
                    program.draw("triangles", batch.indices)
        return 1 + len(others)

    def _is_due(self, look: object, poses: object, *, late: float, now: float) -> bool:
        """Return whether the map is to be drawn for this ``look`` and these ``poses``, and note it.

        Of things that move, one that was drawn less than ``late`` seconds ago will do.
        """
        if look == self._look and (poses == self._poses or now - self._drawn_at < late):
            return False
        self._look, self._poses, self._drawn_at = look, poses, now
        return True

    def footprint(
        self, pos: NDArray[np.float64], normal: NDArray[np.float64]
    ) -> NDArray[np.float64] | None:
        """Return the corners (4, 3) of what the map covers of the plane through ``pos``, world.

        None where that is not four points: of lamps with a place, and of planes along the light.
        """
        matrix = self._matrix
        forward = -matrix[2, :3]
        facing = float(normal @ forward)
        if matrix[3, :3].any() or abs(facing) < 0.05 * float(np.linalg.norm(forward)):
            return None
        corners = np.array(((-1, -1, 0, 1), (1, -1, 0, 1), (1, 1, 0, 1), (-1, 1, 0, 1)), float)
        points: NDArray[np.float64] = (np.linalg.inv(matrix) @ corners.T).T[:, :3]
        along = (points - pos) @ normal / facing
        return points - along[:, None] * forward

    def uniforms(self) -> dict[str, Any]:
        """Return what a lit shader needs to look the map up."""
        return {
            "u_shadow_map": self._target.texture,
            "u_shadow_matrix": np.ascontiguousarray(self._matrix.T, dtype=np.float32),
            "u_shadow_texel": 1.0 / self._target.size[0],
            "u_shadow_world_texel": self._world_texel,
        }


def _casters(
    scene: DrawnScene, options: ViewOptions, *, with_others: bool
) -> tuple[NDArray[np.float64], float]:
    """Return a sphere about what casts shadows, environments beside the shown one included."""
    shown = scene.visible(options) & ~scene.items.is_plane & ~scene.items.is_site
    everything = scene.bounds(np.flatnonzero(shown))
    center, radius = scene.scene_bounds(options)
    # Far-away scenery would blur the shadows of what matters.
    if everything is not None and everything[1] <= 4.0 * radius:
        center, radius = everything
    if with_others and scene.environments is not None:
        centers = scene.environments.around(center[None])
        centers = centers[np.isfinite(centers).all(axis=1)]
        if len(centers):  # none: the one that is looked at is nowhere
            center = (centers.min(axis=0) + centers.max(axis=0)) / 2.0
            radius += float(np.linalg.norm(centers - center, axis=1).max())
    return center, radius * 1.02


def light_matrix(
    direction: NDArray[np.float64], *, center: NDArray[np.float64], radius: float
) -> NDArray[np.float64]:
    """Return the orthographic world-to-clip matrix (4, 4) of a lamp in ``direction``."""
    helper = np.array([0.0, 0.0, 1.0]) if abs(direction[2]) < 0.9 else np.array([1.0, 0.0, 0.0])
    x = np.cross(helper, direction)
    x /= np.linalg.norm(x)
    matrix = np.eye(4)
    matrix[0, :3], matrix[1, :3] = x / radius, np.cross(direction, x) / radius
    # What lies between the lamp and the sphere still casts shadows: twice the depth. The floor
    # behind it must be inside too, or it would be lit for want of a depth to compare with.
    matrix[2, :3] = -direction / (4.0 * radius)
    matrix[:3, 3] = -(matrix[:3, :3] @ center)
    return matrix


def cone_matrix(
    lamp: Lamp, *, center: NDArray[np.float64], radius: float
) -> tuple[NDArray[np.float64], float]:
    """Return the world-to-clip matrix (4, 4) of a lamp with a place, and its half width at 1 m.

    It looks along its own direction where it has a cone, else at ``center``. Clip w is the
    distance along the view.
    """
    place = np.zeros(3) if lamp.pos is None else lamp.pos
    toward = center - place
    away = float(np.linalg.norm(toward))
    narrow = lamp.cutoff < 80.0
    forward = lamp.direction if narrow or away < 1e-9 else toward / away
    half = math.radians(lamp.cutoff + 1.0) if narrow else math.radians(70.0)
    if away > 1.05 * radius:
        # No wider than the casters: texels beyond them see nothing.
        aside = math.acos(max(-1.0, min(1.0, float(forward @ toward) / away)))
        half = min(half, aside + math.asin(radius / away))
    tangent = math.tan(min(half, math.radians(75.0)))
    near, far = max(away - radius, 0.02 * radius), away + 4.0 * radius
    helper = np.array([0.0, 0.0, 1.0]) if abs(forward[2]) < 0.9 else np.array([1.0, 0.0, 0.0])
    right = np.cross(forward, helper)
    right /= np.linalg.norm(right)
    rows = np.eye(4)
    rows[0, :3], rows[1, :3] = right, np.cross(right, forward)
    rows[2, :3] = -forward
    rows[:3, 3] = -(rows[:3, :3] @ place)
    lens = np.zeros((4, 4))
    lens[0, 0] = lens[1, 1] = 1.0 / tangent
    lens[2, 2], lens[2, 3] = -(far + near) / (far - near), -2.0 * far * near / (far - near)
    lens[3, 2] = -1.0
    return lens @ rows, tangent
