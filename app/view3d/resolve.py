"""From a camera state to the view it has of a scene at this instant."""

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.view3d.camera import CameraState, View, ViewMode, clip_planes, free_view
from stroboscope.app.view3d.drawn_scene import DrawnScene
from stroboscope.app.view3d.rotations import quat_to_matrix
from stroboscope.debugger_protocol.scene_description import CameraInfo, CameraMode

__all__ = ["lookat_of", "resolve_view"]

Floats = NDArray[np.float64]


def lookat_of(state: CameraState, scene: DrawnScene) -> Floats:
    """Return the point (3,) [m] a free or tracking camera looks at.

    A tracking camera follows its body's subtree's centre of mass, as MuJoCo's does.
    """
    if state.mode is ViewMode.TRACKING and 0 < state.tracked_body < len(scene.body_pos):
        center = scene.subtree_center(state.tracked_body)
        if np.isfinite(center).all():
            return center
    return np.array(state.lookat, dtype=np.float64)


def resolve_view(state: CameraState, scene: DrawnScene, *, aspect: float, extent: float) -> View:
    """Return the view of ``state``; a fixed camera that does not exist falls back to free."""
    cameras = scene.description.cameras if scene.description is not None else ()
    if state.mode is ViewMode.FIXED and 0 <= state.fixed_camera < len(cameras):
        return _fixed_view(cameras[state.fixed_camera], scene, aspect=aspect, extent=extent)
    lookat = lookat_of(state, scene)
    return free_view(state, lookat=lookat, aspect=aspect, extent=extent)


def _fixed_view(camera: CameraInfo, scene: DrawnScene, *, aspect: float, extent: float) -> View:
    eye, mat = _camera_pose(camera, scene)
    distance = max(float(np.linalg.norm(eye - scene.scene_center)), extent)
    near, far = clip_planes(min(distance, extent), extent)
    far = max(far, 2.0 * distance)
    return View(
        eye=eye,
        right=mat[:, 0],
        up=mat[:, 1],
        forward=-mat[:, 2],
        fovy=45.0 if camera.orthographic else camera.fovy,
        aspect=aspect,
        near=-far if camera.orthographic else near,
        far=far,
        orthographic=camera.orthographic,
        height=camera.fovy if camera.orthographic else 1.0,
    )


def _camera_pose(camera: CameraInfo, scene: DrawnScene) -> tuple[Floats, Floats]:
    """Return where a model's camera is now, (3,) and (3, 3), by its tracking mode.

    The tracking modes keep the offset and orientation of the first poses seen; MuJoCo takes
    them at qpos0, which a window cannot know.
    """
    body = min(max(camera.body, 0), len(scene.body_pos) - 1)
    body_pos, body_mat = scene.body_pos[body], scene.body_mat[body]
    local = quat_to_matrix(np.array([camera.quat]))[0]
    pos = body_pos + body_mat @ np.array(camera.pos)
    mat = body_mat @ local
    if camera.mode in (CameraMode.TRACK, CameraMode.TRACKCOM):
        first = scene.first_body_mat[body]
        mat = first @ local
        anchor = body_pos
        if camera.mode is CameraMode.TRACKCOM and body > 0:
            anchor = scene.subtree_center(body)
        pos = anchor + first @ np.array(camera.pos)
    elif camera.mode is not CameraMode.FIXED and 0 <= camera.target < len(scene.body_pos):
        goal = scene.body_pos[camera.target]
        if camera.mode is CameraMode.TARGETBODYCOM and camera.target > 0:
            goal = scene.subtree_center(camera.target)
        mat = _looking(goal - pos, fallback=mat)
    return pos, mat


def _looking(direction: Floats, *, fallback: Floats) -> Floats:
    """Return the rotation whose -z points along ``direction`` with the horizon level."""
    length = float(np.linalg.norm(direction))
    if not length > 1e-9:
        return fallback
    back = -direction / length
    right = np.cross([0.0, 0.0, 1.0], back)
    if np.linalg.norm(right) < 1e-6:
        return fallback
    right /= np.linalg.norm(right)
    return np.stack([right, np.cross(back, right), back], axis=1)
