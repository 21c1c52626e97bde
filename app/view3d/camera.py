"""The camera: MuJoCo's angles and mouse speeds, and the matrices that follow from them.

Conventions, all of them here: z is up. A camera looks along
``(cos el cos az, cos el sin az, sin el)`` with azimuth and elevation in degrees, from
``lookat - distance * forward``. Matrices act on column vectors; `renderer` transposes them once.
"""

import dataclasses
import enum
import math

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CameraState",
    "Drag",
    "StandardView",
    "View",
    "ViewMode",
    "dragged",
    "fitted",
    "free_view",
]

Floats = NDArray[np.float64]

MIN_DISTANCE = 1e-3
MAX_ELEVATION = 90.0
DEFAULT_FOVY = 45.0
FRAME_FILL = 0.8  # of the view's half size, when something is framed
REACH_FILL = 0.95  # for what is only there now and then


class ViewMode(enum.StrEnum):
    """How the camera follows the scene."""

    FREE = "free"
    TRACKING = "tracking"
    FIXED = "fixed"


class StandardView(enum.Enum):
    """Views by name, as (azimuth, elevation); a robot faces +x, so FRONT looks along -x."""

    FRONT = (180.0, 0.0)
    BACK = (0.0, 0.0)
    LEFT = (-90.0, 0.0)
    RIGHT = (90.0, 0.0)
    TOP = (90.0, -90.0)
    BOTTOM = (90.0, 90.0)
    CORNER = (135.0, -22.0)


class Drag(enum.Enum):
    """What a mouse drag does to the camera."""

    ROTATE = "rotate"
    ROTATE_HORIZONTAL = "rotate horizontal"
    MOVE_VERTICAL = "move vertical"
    MOVE_HORIZONTAL = "move horizontal"
    ZOOM = "zoom"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CameraState:
    """Where the camera is; replace it to move.

    ``lookat`` [m], ``distance`` [m], ``azimuth`` and ``elevation`` [deg] in MuJoCo's convention;
    ``tracked_body`` indexes bodies (mode TRACKING), ``fixed_camera`` cameras (mode FIXED);
    ``fovy`` is the vertical field of view [deg].
    """

    mode: ViewMode = ViewMode.FREE
    lookat: tuple[float, float, float] = (0.0, 0.0, 0.0)
    distance: float = 3.0
    azimuth: float = 135.0
    elevation: float = -22.0
    tracked_body: int = -1
    fixed_camera: int = -1
    orthographic: bool = False
    fovy: float = DEFAULT_FOVY


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A camera resolved for one frame: eye, axes (rows of a rotation), lens.

    ``height`` is the full vertical extent [m] of an orthographic picture.
    """

    eye: Floats  # (3,)
    right: Floats  # (3,)
    up: Floats  # (3,)
    forward: Floats  # (3,)
    fovy: float
    aspect: float
    near: float
    far: float
    orthographic: bool = False
    height: float = 1.0

    def view_matrix(self) -> Floats:
        """Return the 4x4 world-to-camera matrix (the camera looks along its -z)."""
        matrix = np.eye(4)
        matrix[0, :3], matrix[1, :3], matrix[2, :3] = self.right, self.up, -self.forward
        matrix[:3, 3] = -(matrix[:3, :3] @ self.eye)
        return matrix

    def projection_matrix(self) -> Floats:
        """Return the 4x4 camera-to-clip matrix, OpenGL depth -1…1."""
        matrix = np.zeros((4, 4))
        near, far = self.near, self.far
        if self.orthographic:
            matrix[0, 0] = 2.0 / (self.height * self.aspect)
            matrix[1, 1] = 2.0 / self.height
            matrix[2, 2] = -2.0 / (far - near)
            matrix[2, 3] = -(far + near) / (far - near)
            matrix[3, 3] = 1.0
            return matrix
        focal = 1.0 / math.tan(math.radians(self.fovy) / 2.0)
        matrix[0, 0] = focal / self.aspect
        matrix[1, 1] = focal
        matrix[2, 2] = -(far + near) / (far - near)
        matrix[2, 3] = -2.0 * far * near / (far - near)
        matrix[3, 2] = -1.0
        return matrix

    def matrix(self) -> Floats:
        """Return the 4x4 world-to-clip matrix."""
        return self.projection_matrix() @ self.view_matrix()

    def project(self, points: Floats, *, width: float, height: float) -> Floats:
        """Return (n, 3): pixel x, pixel y (down) and depth [m] along the view of world points.

        Points behind the camera have a depth below ``near``.
        """
        points = np.asarray(points, dtype=np.float64).reshape(-1, 3)
        clip = np.concatenate([points, np.ones((len(points), 1))], axis=1) @ self.matrix().T
        w = np.where(np.abs(clip[:, 3:]) > 1e-12, clip[:, 3:], 1e-12)
        ndc = clip[:, :3] / w
        depth = (points - self.eye) @ self.forward
        x = (ndc[:, 0] + 1.0) * 0.5 * width
        y = (1.0 - ndc[:, 1]) * 0.5 * height
        return np.stack([x, y, depth], axis=1)

    def ray(self, x: float, y: float, *, width: float, height: float) -> tuple[Floats, Floats]:
        """Return origin (3,) and unit direction (3,) of the ray through a pixel."""
        u = 2.0 * x / width - 1.0
        v = 1.0 - 2.0 * y / height
        if self.orthographic:
            half = self.height / 2.0
            # An orthographic picture shows what is behind the eye as well.
            start = self.eye + self.near * self.forward
            aside = self.right * (u * half * self.aspect) + self.up * (v * half)
            return start + aside, self.forward
        tangent = math.tan(math.radians(self.fovy) / 2.0)
        direction = (
            self.forward + self.right * (u * tangent * self.aspect) + self.up * (v * tangent)
        )
        return self.eye, direction / np.linalg.norm(direction)

    def pixel_size(self, depth: float, *, height: float) -> float:
        """Return how many metres one pixel spans at ``depth`` [m] before the camera."""
        if self.orthographic:
            return self.height / height
        return 2.0 * depth * math.tan(math.radians(self.fovy) / 2.0) / height


def view_axes(azimuth: float, elevation: float) -> tuple[Floats, Floats, Floats]:
    """Return right, up and forward (3,) of a camera at these angles [deg]."""
    az, el = math.radians(azimuth), math.radians(elevation)
    forward = np.array([math.cos(el) * math.cos(az), math.cos(el) * math.sin(az), math.sin(el)])
    right = np.array([math.sin(az), -math.cos(az), 0.0])
    return right, np.cross(right, forward), forward


def free_view(state: CameraState, *, lookat: Floats, aspect: float, extent: float) -> View:
    """Return the view of a free or tracking camera; ``extent`` [m] sets the clipping planes."""
    right, up, forward = view_axes(state.azimuth, state.elevation)
    near, far = clip_planes(state.distance, extent)
    return View(
        eye=lookat - state.distance * forward,
        right=right,
        up=up,
        forward=forward,
        fovy=state.fovy,
        aspect=aspect,
        near=-far if state.orthographic else near,
        far=far,
        orthographic=state.orthographic,
        height=2.0 * state.distance * math.tan(math.radians(state.fovy) / 2.0),
    )


def clip_planes(distance: float, extent: float) -> tuple[float, float]:
    """Return near and far [m] that keep both a close look and the horizon.

    The ratio stays near 1e4, where 24 bits of depth separate surfaces to 1e-5 of the distance.
    """
    reach = max(extent, 1e-3)
    near = max(min(0.02 * distance, 0.05 * reach), 1e-3 * reach, 1e-4)
    return near, 300.0 * reach + 8.0 * distance


def fitted(
    state: CameraState,
    points: Floats,
    *,
    aspect: float,
    covered: float = 0.0,
    covered_below: float = 0.0,
    reached: Floats | None = None,
) -> CameraState:
    """Return ``state`` moved so that ``points`` (n, 3) just fill the view, with a margin.

    Angles stay as they are. In perspective, near points spread wider than far ones, so the centre
    is found together with the distance. Something stands over the upper part of the view, which is
    ``covered`` (of its height): the points stay below it, and above what ``covered_below`` says of
    the lower part. Those that are only ``reached`` (m, 3)
    now and then are in the view, too, but may be behind that.
    """
    seldom = np.zeros((0, 3)) if reached is None else reached
    points = np.concatenate([points, seldom])
    right, up, forward = view_axes(state.azimuth, state.elevation)
    axes = np.stack([right, up, forward])
    local = points @ axes.T
    low, high = local.min(axis=0), local.max(axis=0)
    center = (low + high) / 2.0
    tangent = math.tan(math.radians(state.fovy) / 2.0)
    above = np.full(len(points), tangent * min(FRAME_FILL, 1.0 - 2.0 * covered))
    above[len(points) - len(seldom) :] = tangent * REACH_FILL
    # How far to the left and below, and to the right and above, anything may be seen.
    wide = np.full(len(points), tangent * aspect * FRAME_FILL)
    below = np.full(len(points), tangent * min(FRAME_FILL, 1.0 - 2.0 * covered_below))
    lower = np.stack([wide, below])
    upper = np.stack([wide, above])
    distance = 0.0
    for _ in range(6):
        offset = local - center
        near = 0.0 if state.orthographic else offset[:, 2]
        distance = max(
            float((side * offset[:, axis] / limits[axis] - near).max())
            for axis in (0, 1)
            for side, limits in ((1.0, upper), (-1.0, lower))
        )
        depth = np.maximum(distance + offset[:, 2], 1e-9) if not state.orthographic else distance
        for axis in (0, 1):
            seen = offset[:, axis] / depth
            # As far from the one side as from the other, each in parts of its own limit.
            most, least = int(np.argmax(seen / upper[axis])), int(np.argmin(seen / lower[axis]))
            right_limit, left_limit = upper[axis][most], lower[axis][least]
            shift = left_limit * seen[most] + right_limit * seen[least]
            center[axis] += shift / (left_limit + right_limit) * distance
    x, y, z = (float(v) for v in center @ axes)
    return dataclasses.replace(state, lookat=(x, y, z), distance=max(distance, MIN_DISTANCE))


def dragged(state: CameraState, drag: Drag, *, dx: float, dy: float, extent: float) -> CameraState:
    """Return ``state`` after a drag by (dx, dy) in fractions of the view's height, y down.

    The speeds are those of MuJoCo's ``mjv_moveCamera``. Fixed cameras do not move, and a
    tracking camera rotates and zooms but does not translate.
    """
    if state.mode is ViewMode.FIXED:
        return state
    if drag in (Drag.ROTATE, Drag.ROTATE_HORIZONTAL):
        tilt = 180.0 * dy if drag is Drag.ROTATE else 0.0
        elevation = min(MAX_ELEVATION, max(-MAX_ELEVATION, state.elevation - tilt))
        azimuth = (state.azimuth - 180.0 * dx + 180.0) % 360.0 - 180.0
        return dataclasses.replace(state, azimuth=azimuth, elevation=elevation)
    if drag is Drag.ZOOM:
        speed = math.log1p(state.distance / (3.0 * extent)) * 9.0 * extent
        # A step never takes more than two thirds of the way, so that zooming in can't overshoot.
        distance = max(state.distance - speed * dy, state.distance / 3.0, MIN_DISTANCE)
        return dataclasses.replace(state, distance=distance)
    if state.mode is ViewMode.TRACKING:
        return state
    right, _, _ = view_axes(state.azimuth, 0.0)
    az = math.radians(state.azimuth)
    if drag is Drag.MOVE_VERTICAL:
        away = np.array([0.0, 0.0, 1.0])
    else:
        away = np.array([math.cos(az), math.sin(az), 0.0])
    span = 2.0 * state.distance * math.tan(math.radians(state.fovy) / 2.0)
    lookat = np.array(state.lookat) + span * (dy * away - dx * right)
    x, y, z = (float(v) for v in lookat)
    return dataclasses.replace(state, lookat=(x, y, z))
