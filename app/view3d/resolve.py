"""From a camera state to the view it has of a scene at this instant."""

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.view3d.camera import CameraState, View, ViewMode, clip_planes, free_view
from stroboscope.app.view3d.drawn_scene import DrawnScene
from stroboscope.app.view3d.rotations import quat_to_matrix
from stroboscope.debugger_protocol.scene_description import CameraInfo, CameraMode, LightInfo

__all__ = ["camera_pose", "light_pose", "lookat_of", "resolve_view"]

Floats = NDArray[np.float64]
_LEAST_FOVY, _MOST_FOVY = 1e-3, 179.0


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
    eye, mat = camera_pose(camera, scene)
    distance = max(float(np.linalg.norm(eye - scene.scene_center)), extent)
    near, far = clip_planes(min(distance, extent), extent)
    far = max(far, 2.0 * distance)
    # A script may write anything into its model, and then there is a picture, too.
    height = max(camera.fovy, _LEAST_FOVY)
    return View(
        eye=eye,
        right=mat[:, 0],
        up=mat[:, 1],
        forward=-mat[:, 2],
        fovy=45.0 if camera.orthographic else min(height, _MOST_FOVY),
        aspect=aspect,
        near=-far if camera.orthographic else near,
        far=far,
        orthographic=camera.orthographic,
        height=height if camera.orthographic else 1.0,
    )


def camera_pose(camera: CameraInfo, scene: DrawnScene) -> tuple[Floats, Floats]:
    """Return where a model's camera is now, (3,) and (3, 3), by its mode, as MuJoCo has it."""
    body = min(max(camera.body, 0), len(scene.body_pos) - 1)
    body_pos, body_mat = scene.body_pos[body], scene.body_mat[body]
    local = quat_to_matrix(np.array([camera.quat]))[0]
    pos = body_pos + body_mat @ np.array(camera.pos)
    mat = body_mat @ local
    if camera.mode in (CameraMode.TRACK, CameraMode.TRACKCOM):
        com = camera.mode is CameraMode.TRACKCOM
        anchor = scene.subtree_center(body) if com else body_pos
        if _knows_start(camera):
            mat = quat_to_matrix(np.array([camera.quat0]))[0]
            return anchor + np.array(camera.poscom0 if com else camera.pos0), mat
        # An engine that does not say how the model began: as in the first poses seen.
        first = scene.first_body_mat[body]
        return anchor + first @ np.array(camera.pos), first @ local
    goal = _goal(camera, scene)
    return pos, mat if goal is None else _looking(goal - pos, fallback=mat)


def light_pose(scene: DrawnScene, index: int) -> tuple[Floats, Floats]:
    """Return where light ``index`` is (3,) and the unit vector (3,) along which it shines."""
    light = scene.description.lights[index] if scene.description is not None else None
    if light is None:
        return np.zeros(3), np.array([0.0, 0.0, -1.0])
    body = min(max(light.body, 0), len(scene.body_pos) - 1)
    body_pos, body_mat = scene.body_pos[body], scene.body_mat[body]
    pos = body_pos + body_mat @ np.array(light.pos)
    direction = body_mat @ np.array(light.dir)
    if light.mode in (CameraMode.TRACK, CameraMode.TRACKCOM):
        com = light.mode is CameraMode.TRACKCOM
        anchor = scene.subtree_center(body) if com else body_pos
        if _knows_start(light):
            pos, direction = anchor + (light.poscom0 if com else light.pos0), np.array(light.dir0)
        else:
            first = scene.first_body_mat[body]
            pos, direction = anchor + first @ np.array(light.pos), first @ np.array(light.dir)
    else:
        goal = _goal(light, scene)
        if goal is not None:
            direction = goal - pos
    length = float(np.linalg.norm(direction))
    return pos, direction / length if length > 1e-12 else np.array([0.0, 0.0, -1.0])


def _knows_start(info: CameraInfo | LightInfo) -> bool:
    return any(info.pos0) or any(info.poscom0)


def _goal(info: CameraInfo | LightInfo, scene: DrawnScene) -> Floats | None:
    """Return what a camera or light of a targeting mode looks at, None when it has no target."""
    if not 0 <= info.target < len(scene.body_pos):
        return None
    if info.mode is CameraMode.TARGETBODYCOM:
        return scene.subtree_center(info.target)
    if info.mode is CameraMode.TARGETBODY:
        return np.asarray(scene.body_pos[info.target])
    return None


def _looking(direction: Floats, *, fallback: Floats) -> Floats:
    """Return the rotation whose -z points along ``direction`` with the horizon level."""
    length = float(np.linalg.norm(direction))
    if not length > 1e-9:
        return fallback
    back = -direction / length
    right = np.cross([0.0, 0.0, 1.0], back)
    size = float(np.linalg.norm(right))
    right = right / size if size > 1e-15 else np.array([1.0, 0.0, 0.0])  # as mju_normalize3
    return np.stack([right, np.cross(back, right), back], axis=1)
