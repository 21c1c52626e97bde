"""Triangle meshes of MuJoCo's primitive shapes, at their real size, with normals and UVs."""

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Mesh",
    "arrow",
    "box",
    "capsule",
    "cylinder",
    "disc",
    "ellipsoid",
    "height_field",
    "joined",
    "rings",
]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Mesh:
    """One mesh: ``vertices``, ``normals`` (n, 3), ``uv`` (n, 2) float32; ``faces`` (m, 3) uint32.

    Faces are counter-clockwise seen from outside. ``has_uv``: the coordinates are the mesh's own.
    """

    vertices: NDArray[np.float32]
    normals: NDArray[np.float32]
    uv: NDArray[np.float32]
    faces: NDArray[np.uint32]
    has_uv: bool = False


def _mesh(
    vertices: NDArray[np.float64],
    normals: NDArray[np.float64],
    faces: NDArray[np.int64],
    uv: NDArray[np.float64] | None = None,
) -> Mesh:
    own = uv is not None
    if uv is None:
        uv = np.zeros((len(vertices), 2))
    return Mesh(
        vertices.astype(np.float32),
        normals.astype(np.float32),
        uv.astype(np.float32),
        faces.astype(np.uint32),
        own,
    )


def _grid_faces(rows: int, columns: int) -> NDArray[np.int64]:
    """Return the faces of a lattice of (rows, columns) vertices, row by row."""
    start = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    first = np.stack([start, start + 1, start + columns], axis=1)
    second = np.stack([start + 1, start + columns + 1, start + columns], axis=1)
    return np.concatenate([first, second])


def _wrapped_uv(heights: NDArray[np.float64], segments: int) -> NDArray[np.float64]:
    """Return coordinates that run once about the z axis, images with their first row up."""
    u, v = np.meshgrid(np.linspace(0.0, 1.0, segments + 1), 1.0 - heights)
    return np.stack([u, v], axis=-1).reshape(-1, 2)


def joined(meshes: list[Mesh]) -> Mesh:
    """Return several meshes as one."""
    offsets = np.cumsum([0] + [len(m.vertices) for m in meshes[:-1]]).astype(np.uint32)
    return Mesh(
        np.concatenate([m.vertices for m in meshes]),
        np.concatenate([m.normals for m in meshes]),
        np.concatenate([m.uv for m in meshes]),
        np.concatenate([m.faces + o for m, o in zip(meshes, offsets, strict=True)]),
        all(m.has_uv for m in meshes),
    )


def ellipsoid(radii: tuple[float, float, float], *, segments: int = 32) -> Mesh:
    """Return an ellipsoid with half axes ``radii`` [m]; equal ones give a sphere."""
    stacks = max(segments // 2, 4)
    polar = np.linspace(math.pi, 0.0, stacks + 1)  # from the south pole up
    around = np.linspace(0.0, 2.0 * math.pi, segments + 1)
    unit = np.stack(
        [
            np.sin(polar)[:, None] * np.cos(around),
            np.sin(polar)[:, None] * np.sin(around),
            np.broadcast_to(np.cos(polar)[:, None], (stacks + 1, segments + 1)),
        ],
        axis=-1,
    ).reshape(-1, 3)
    size = np.maximum(np.array(radii), 1e-9)
    normals = unit / size
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    uv = _wrapped_uv(np.linspace(0.0, 1.0, stacks + 1), segments)
    return _mesh(unit * size, normals, _grid_faces(stacks + 1, segments + 1), uv)


def capsule(radius: float, half_length: float, *, segments: int = 32) -> Mesh:
    """Return a capsule along z: a cylinder of half length ``half_length`` with round ends."""
    quarter = max(segments // 4, 2)
    lower = np.linspace(-math.pi / 2.0, 0.0, quarter + 1)
    latitude = np.concatenate([lower, -lower[::-1]])
    shift = np.repeat([-half_length, half_length], quarter + 1)
    around = np.linspace(0.0, 2.0 * math.pi, segments + 1)
    normals = np.stack(
        [
            np.cos(latitude)[:, None] * np.cos(around),
            np.cos(latitude)[:, None] * np.sin(around),
            np.broadcast_to(np.sin(latitude)[:, None], (len(latitude), segments + 1)),
        ],
        axis=-1,
    )
    vertices = normals * radius
    vertices[..., 2] += shift[:, None]
    faces = _grid_faces(len(latitude), segments + 1)
    uv = _wrapped_uv(np.linspace(0.0, 1.0, len(latitude)), segments)
    return _mesh(vertices.reshape(-1, 3), normals.reshape(-1, 3), faces, uv)


def disc(radius: float, *, z: float = 0.0, up: bool = True, segments: int = 32) -> Mesh:
    """Return a flat disc at height ``z``, facing +z or -z."""
    around = np.linspace(0.0, 2.0 * math.pi, segments, endpoint=False)
    circle = np.concatenate([[[0.0, 0.0]], np.stack([np.cos(around), np.sin(around)], axis=1)])
    vertices = np.column_stack([circle * radius, np.full(segments + 1, z)])
    normals = np.zeros_like(vertices)
    normals[:, 2] = 1.0 if up else -1.0
    this = np.arange(segments) + 1
    following = np.roll(this, -1)
    zero = np.zeros(segments, dtype=np.int64)
    order = [zero, this, following] if up else [zero, following, this]
    return _mesh(vertices, normals, np.stack(order, axis=1), circle / 2.0 + 0.5)


def tube(bottom: float, top: float, *, low: float, high: float, segments: int = 32) -> Mesh:
    """Return the side of a cone frustum along z, from radius ``bottom`` at ``low`` to ``top``."""
    around = np.linspace(0.0, 2.0 * math.pi, segments + 1)
    circle = np.stack([np.cos(around), np.sin(around)], axis=1)
    vertices = np.zeros((2, segments + 1, 3))
    vertices[0, :, :2], vertices[1, :, :2] = circle * bottom, circle * top
    vertices[0, :, 2], vertices[1, :, 2] = low, high
    normals = np.empty_like(vertices)
    normals[..., :2] = circle
    normals[..., 2] = (bottom - top) / max(high - low, 1e-9)
    normals /= np.linalg.norm(normals, axis=2, keepdims=True)
    faces = _grid_faces(2, segments + 1)
    uv = _wrapped_uv(np.array([0.0, 1.0]), segments)
    return _mesh(vertices.reshape(-1, 3), normals.reshape(-1, 3), faces, uv)


def cylinder(radius: float, half_length: float, *, segments: int = 32) -> Mesh:
    """Return a closed cylinder along z."""
    return joined(
        [
            tube(radius, radius, low=-half_length, high=half_length, segments=segments),
            disc(radius, z=half_length, segments=segments),
            disc(radius, z=-half_length, up=False, segments=segments),
        ]
    )


def arrow(*, shaft: float = 0.026, head: float = 0.065, tip: float = 0.2) -> Mesh:
    """Return an arrow of length 1 along +z, radii in the same unit."""
    segments = 16
    return joined(
        [
            disc(shaft, up=False, segments=segments),
            tube(shaft, shaft, low=0.0, high=1.0 - tip, segments=segments),
            disc(head, z=1.0 - tip, up=False, segments=segments),
            tube(head, 0.0, low=1.0 - tip, high=1.0, segments=segments),
        ]
    )


def box(half: tuple[float, float, float]) -> Mesh:
    """Return a box with half sizes ``half`` [m], flat shaded."""
    corners = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    vertices, normals, uv = [], [], []
    for axis in range(3):
        for sign in (-1.0, 1.0):
            side = np.empty((4, 3))
            # (axis + 1, axis + 2) is right handed about +axis; mirrored for the other side.
            side[:, (axis + 1) % 3] = corners[:, 0] * sign
            side[:, (axis + 2) % 3] = corners[:, 1]
            side[:, axis] = sign
            vertices.append(side)
            normal = np.zeros((4, 3))
            normal[:, axis] = sign
            normals.append(normal)
            # As MuJoCo lays an image over each side: upright, and never mirrored front to back.
            across, up = [(1, 2), (0, 2), (0, 1)][axis]
            uv.append(np.stack([0.5 + 0.5 * side[:, across], 0.5 - 0.5 * side[:, up]], axis=1))
    first = np.arange(6)[:, None] * 4
    faces = np.concatenate([first + np.array([0, 1, 2]), first + np.array([0, 2, 3])])
    return _mesh(
        np.concatenate(vertices) * np.array(half),
        np.concatenate(normals),
        faces,
        np.concatenate(uv),
    )


def height_field(data: NDArray[np.float32], *, size: tuple[float, float, float, float]) -> Mesh:
    """Return a height field with its base; ``data`` (nrow, ncol) in 0…1, ``size`` as MuJoCo's.

    Row 0 lies at -y, column 0 at -x.
    """
    nrow, ncol = data.shape
    x = np.linspace(-size[0], size[0], ncol)
    y = np.linspace(-size[1], size[1], nrow)
    z = data.astype(np.float64) * size[2]
    vertices = np.stack([*np.meshgrid(x, y), z], axis=-1)
    slope_y, slope_x = np.gradient(z, y, x)
    normals = np.stack([-slope_x, -slope_y, np.ones_like(z)], axis=-1)
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    surface = _mesh(vertices.reshape(-1, 3), normals.reshape(-1, 3), _grid_faces(nrow, ncol))
    base = -size[3]
    walls = [
        _wall(vertices[0], base, (0.0, -1.0, 0.0)),
        _wall(vertices[-1, ::-1], base, (0.0, 1.0, 0.0)),
        _wall(vertices[::-1, 0], base, (-1.0, 0.0, 0.0)),
        _wall(vertices[:, -1], base, (1.0, 0.0, 0.0)),
    ]
    return joined([surface, *walls])


def _wall(edge: NDArray[np.float64], base: float, normal: tuple[float, float, float]) -> Mesh:
    """Return a vertical strip from the polyline ``edge`` (n, 3) down to ``base``."""
    foot = edge.copy()
    foot[:, 2] = base
    vertices = np.concatenate([foot, edge])
    normals = np.broadcast_to(np.array(normal), vertices.shape)
    return _mesh(vertices, normals, _grid_faces(2, len(edge)))


def rings(*, inner: float = 0.02, growth: float = 1.35, outer: float = 1.0) -> Mesh:
    """Return a unit disc of rings whose radii grow geometrically, for floors without an end.

    Interpolated positions then have an error in proportion to their distance.
    """
    count = math.ceil(math.log(outer / inner) / math.log(growth)) + 1
    radii = np.concatenate([[0.0], np.geomspace(inner, outer, count)])
    around = np.linspace(0.0, 2.0 * math.pi, 49)
    vertices = np.zeros((len(radii), len(around), 3))
    vertices[..., 0] = radii[:, None] * np.cos(around)
    vertices[..., 1] = radii[:, None] * np.sin(around)
    normals = np.zeros_like(vertices)
    normals[..., 2] = 1.0
    faces = _grid_faces(len(radii), len(around))[:, ::-1]
    return _mesh(vertices.reshape(-1, 3), normals.reshape(-1, 3), faces)
