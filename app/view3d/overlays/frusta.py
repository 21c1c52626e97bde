"""What cameras with a resolution of their own see: the edges of their frusta."""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.overlay_words import Role
from stroboscope.app.models.selection import ElementKind
from stroboscope.app.view3d.overlays.glyphs import Glyphs, lines
from stroboscope.app.view3d.overlays.subject import Subject
from stroboscope.app.view3d.resolve import camera_pose
from stroboscope.debugger_protocol.scene_description import CameraInfo

__all__ = ["frustum_glyphs"]

Floats = NDArray[np.float64]
_ZNEAR = 0.01  # of the extent, where the engine does not say


def frustum_glyphs(subject: Subject) -> Iterator[Glyphs]:
    """Yield twelve edges per camera, but for the one looked through, which sees nothing else."""
    if not subject.options.cameras:
        return
    description, edges, which = subject.description, [np.zeros((0, 2, 3))], []
    near = (_ZNEAR if description.znear is None else description.znear) * description.extent
    # As far as MuJoCo draws them, which is where the model's author has looked at them.
    scale = description.scale
    reach = scale.frustum * scale.meansize * subject.options.marker_scale
    for index, camera in enumerate(description.cameras):
        # As MuJoCo has it: a camera of one pixel is none that takes pictures.
        if camera.resolution[1] <= 1 or index == subject.hidden_camera:
            continue
        pos, mat = camera_pose(camera, subject.scene)
        corners = _corners(camera, near=near, reach=reach)
        if not np.isfinite(corners).all() or not np.isfinite(pos).all():
            continue
        edges.append(_edges(pos + corners @ mat.T))
        which += [index] * 12
    ends = np.concatenate(edges)
    yield lines(ends[:, 0], ends[:, 1], radius=0.0, pixels=0.8, color=Role.FRUSTUM).of_elements(
        ElementKind.CAMERA, which
    )


def _corners(camera: CameraInfo, *, near: float, reach: float) -> Floats:
    """Return the corners (8, 3) [m] in the camera's frame: four near ones, then the far ones."""
    columns, rows = camera.resolution
    if camera.orthographic:
        high = 0.5 * camera.fovy
        wide = high * columns / rows
        left, right, low = -wide, wide, -high
        far = 0.5 * (wide + high)
    elif min(camera.sensorsize) > 0.0 and min(camera.intrinsic[:2]) > 0.0:
        (width, height), (fx, fy, cx, cy) = camera.sensorsize, camera.intrinsic
        left, right = (cx - 0.5 * width) / fx, (cx + 0.5 * width) / fx
        low, high = (cy - 0.5 * height) / fy, (cy + 0.5 * height) / fy
        far = reach
    else:
        high = math.tan(math.radians(0.5 * camera.fovy))
        wide = high * columns / rows
        left, right, low = -wide, wide, -high
        far = reach
    window = np.array([[left, low], [right, low], [right, high], [left, high]])
    return np.concatenate(
        [
            np.column_stack([window * (1.0 if camera.orthographic else depth), np.full(4, -depth)])
            for depth in (near, far)
        ]
    )


def _edges(corners: Floats) -> Floats:
    """Return both ends (12, 2, 3) of the edges between eight corners (8, 3)."""
    near = np.arange(4)
    following = np.roll(near, -1)
    first = np.concatenate([near, near + 4, near])
    second = np.concatenate([following, following + 4, near + 4])
    return np.stack([corners[first], corners[second]], axis=1)
