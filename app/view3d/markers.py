"""Small things drawn on top of a scene: contacts, frames, joint axes, icons, the corner triad.

Each is a copy of one of a few meshes with a 3x4 matrix and a colour, all in one texture.
"""

import dataclasses
import enum
import math

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.view_options import FrameMode, ViewOptions
from stroboscope.app.view3d import shapes
from stroboscope.app.view3d.drawn_scene import DrawnScene
from stroboscope.debugger_protocol.scene_description import JointType
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["AXIS_COLORS", "MarkerShape", "Markers", "markers_of", "triad_markers"]

Rgba = tuple[float, float, float, float]
Floats = NDArray[np.float64]

AXIS_COLORS: tuple[Rgba, Rgba, Rgba] = (
    (0.93, 0.27, 0.27, 1.0),
    (0.30, 0.76, 0.32, 1.0),
    (0.30, 0.52, 0.98, 1.0),
)
# MuJoCo's own (mjVisual): contact points, contacts that only touch the margin, joints.
CONTACT_COLOR: Rgba = (0.90, 0.60, 0.20, 1.0)
CONTACT_GAP_COLOR: Rgba = (0.50, 0.80, 0.90, 1.0)
NORMAL_COLOR: Rgba = (0.90, 0.60, 0.20, 1.0)
JOINT_COLOR: Rgba = (0.20, 0.60, 0.80, 1.0)
CAMERA_COLOR: Rgba = (0.60, 0.90, 0.60, 1.0)
LIGHT_COLOR: Rgba = (0.95, 0.85, 0.45, 1.0)


class MarkerShape(enum.Enum):
    """Meshes that markers are copies of; all of unit size, along +z."""

    ARROW = "arrow"
    DISC = "disc"
    BALL = "ball"
    BOX = "box"

    def mesh(self) -> shapes.Mesh:
        """Return the mesh."""
        match self:
            case MarkerShape.ARROW:
                return shapes.arrow()
            case MarkerShape.DISC:
                return shapes.cylinder(1.0, 1.0, segments=16)
            case MarkerShape.BALL:
                return shapes.ellipsoid((1.0, 1.0, 1.0), segments=12)
            case MarkerShape.BOX:
                return shapes.box((1.0, 1.0, 1.0))


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Markers:
    """Copies of one shape: ``texels`` (n, 4, 4) float32: three matrix rows and rgba.

    ``on_top`` markers show through everything: frames and axes lie inside their bodies.
    """

    shape: MarkerShape
    texels: NDArray[np.float32]
    on_top: bool = False

    @staticmethod
    def of(
        shape: MarkerShape, *, pos: Floats, mat: Floats, size: Floats, rgba: Floats
    ) -> "Markers":
        """Return markers at ``pos`` (n, 3), ``mat`` (n, 3, 3), scaled ``size`` (n, 3)."""
        count = len(pos)
        texels = np.empty((count, 4, 4), dtype=np.float32)
        texels[:, :3, :3] = mat * np.broadcast_to(size, (count, 3))[:, None, :]
        texels[:, :3, 3] = pos
        texels[:, 3] = rgba
        return Markers(shape, texels)


def frame_along(direction: Floats) -> Floats:
    """Return rotations (n, 3, 3) that turn +z into ``direction`` (n, 3)."""
    z = direction / np.maximum(np.linalg.norm(direction, axis=1, keepdims=True), 1e-30)
    helper = np.where(np.abs(z[:, :1]) < 0.9, [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
    x = np.cross(helper, z)
    x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-30)
    return np.stack([x, np.cross(z, x), z], axis=2)


def _axes(pos: Floats, mat: Floats, length: float) -> Markers:
    """Return three arrows per frame ``pos`` (n, 3), ``mat`` (n, 3, 3)."""
    directions = mat.transpose(0, 2, 1).reshape(-1, 3)
    colors = np.tile(np.array(AXIS_COLORS), (len(pos), 1))
    size = np.full((len(directions), 3), length)
    return Markers.of(
        MarkerShape.ARROW,
        pos=np.repeat(pos, 3, axis=0),
        mat=frame_along(directions),
        size=size,
        rgba=colors,
    )


def markers_of(
    scene: DrawnScene, *, options: ViewOptions, extent: float, hidden_camera: int = -1
) -> list[Markers]:
    """Return everything that ``options`` ask for; ``extent`` [m] sets the sizes.

    ``hidden_camera`` is the one looked through, whose icon would be all there is to see.
    """
    found: list[Markers] = []
    if options.frames is FrameMode.WORLD:
        found.append(_axes(np.zeros((1, 3)), np.eye(3)[None], 0.35 * extent))
    if options.frames is FrameMode.BODY and len(scene.body_pos) > 1:
        frames = _axes(scene.body_pos[1:], scene.body_mat[1:], 0.14 * extent)
        found.append(dataclasses.replace(frames, on_top=True))
    if options.joints:
        found.extend(dataclasses.replace(m, on_top=True) for m in _joints(scene, extent))
    if options.cameras or options.lights:
        found.extend(_icons(scene, extent, hidden_camera=hidden_camera))
    if options.contacts:
        found.extend(_contacts(scene, extent, normals=options.contact_normals))
    return found


def _contacts(scene: DrawnScene, extent: float, *, normals: bool) -> list[Markers]:
    pos = scene.value(Topic.CONTACTS, "pos")
    frame = scene.value(Topic.CONTACTS, "frame")
    dist = scene.value(Topic.CONTACTS, "dist")
    if pos is None or frame is None or dist is None or not len(pos):
        return []
    normal = frame[:, 0, :]
    mat = frame_along(normal)
    inside = dist <= 0.0
    colors = np.where(inside[:, None], np.array(CONTACT_COLOR), np.array(CONTACT_GAP_COLOR))
    size = np.array([[0.022, 0.022, 0.005]]) * extent
    found = [Markers.of(MarkerShape.DISC, pos=pos, mat=mat, size=size, rgba=colors)]
    if normals:
        reach = np.array([[0.16, 0.16, 0.16]]) * extent
        rgba = np.broadcast_to(np.array(NORMAL_COLOR), (len(normal), 4))
        found.append(Markers.of(MarkerShape.ARROW, pos=pos, mat=mat, size=reach, rgba=rgba))
    return found


def _joints(scene: DrawnScene, extent: float) -> list[Markers]:
    """Return arrows along hinge and slide axes, balls where a joint has no axis."""
    description = scene.description
    if description is None or not description.joints:
        return []
    joints = [j for j in description.joints if 0 <= j.body < len(scene.body_pos)]
    bodies = np.array([j.body for j in joints], dtype=np.int64)
    offset = np.array([j.pos for j in joints]).reshape(-1, 3)
    axis = np.array([j.axis for j in joints]).reshape(-1, 3)
    mat = scene.body_mat[bodies]
    pos = scene.body_pos[bodies] + np.einsum("nij,nj->ni", mat, offset)
    direction = np.einsum("nij,nj->ni", mat, axis)
    straight = np.array([j.type in (JointType.HINGE, JointType.SLIDE) for j in joints])
    color = np.array([JOINT_COLOR])
    found = []
    if straight.any():
        count = int(straight.sum())
        found.append(
            Markers.of(
                MarkerShape.ARROW,
                pos=pos[straight],
                mat=frame_along(direction[straight]),
                size=np.array([[0.3, 0.3, 0.2]]) * extent,
                rgba=np.repeat(color, count, axis=0),
            )
        )
    if (~straight).any():
        count = int((~straight).sum())
        found.append(
            Markers.of(
                MarkerShape.BALL,
                pos=pos[~straight],
                mat=np.broadcast_to(np.eye(3), (count, 3, 3)),
                size=np.full((1, 3), 0.02 * extent),
                rgba=np.repeat(color, count, axis=0),
            )
        )
    return found


def _icons(scene: DrawnScene, extent: float, *, hidden_camera: int) -> list[Markers]:
    """Return a small box with a viewing arrow per camera, a ball with a ray per light."""
    description = scene.description
    if description is None:
        return []
    found = []
    cameras = [c for i, c in enumerate(description.cameras) if i != hidden_camera]
    forward = [_forward_of(c.quat) for c in cameras]
    lights = description.lights
    for things, local, shape, color in (
        (cameras, forward, MarkerShape.BOX, CAMERA_COLOR),
        (lights, [light.dir for light in lights], MarkerShape.BALL, LIGHT_COLOR),
    ):
        if not things:
            continue
        bodies = np.clip([t.body for t in things], 0, len(scene.body_pos) - 1)
        mat = scene.body_mat[bodies]
        pos = scene.body_pos[bodies] + np.einsum(
            "nij,nj->ni", mat, np.array([t.pos for t in things])
        )
        direction = np.einsum("nij,nj->ni", mat, np.array(local))
        turned = frame_along(direction)
        rgba = np.repeat([color], len(things), axis=0)
        size = np.full((1, 3), 0.022 * extent)
        ray = np.full((1, 3), 0.16 * extent)
        found.append(Markers.of(shape, pos=pos, mat=turned, size=size, rgba=rgba))
        found.append(Markers.of(MarkerShape.ARROW, pos=pos, mat=turned, size=ray, rgba=rgba))
    return found


def _forward_of(quat: tuple[float, float, float, float]) -> tuple[float, float, float]:
    """Return the -z axis of a frame with this orientation (wxyz)."""
    w, x, y, z = quat
    norm = math.sqrt(w * w + x * x + y * y + z * z) or 1.0
    w, x, y, z = w / norm, x / norm, y / norm, z / norm
    return -2.0 * (x * z + w * y), -2.0 * (y * z - w * x), -(1.0 - 2.0 * (x * x + y * y))


def triad_markers() -> Markers:
    """Return the three unit axes that the corner of the view shows."""
    thick = _axes(np.zeros((1, 3)), np.eye(3)[None], 1.0)
    texels = thick.texels.copy()
    texels[:, :3, :2] *= 1.9  # columns x and y of each arrow: radius only
    return Markers(MarkerShape.ARROW, texels)
