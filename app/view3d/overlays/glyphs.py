"""Glyphs: copies of a few small meshes that overlays are made of, as arrays for one draw call each.

Two families. Solids are unit meshes under a 3x4 matrix. Arrows and lines are stretched from a
point along a vector in the vertex shader, which also keeps them from becoming thinner or shorter
than some pixels: a tiny force is still seen, and nothing is sent anew when the camera moves.
"""

import dataclasses
import enum
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.overlay_words import Role
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.view3d import shapes

__all__ = ["Glyphs", "Layer", "Shape", "arrows", "frame_along", "lines", "solids", "spheres"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Colors = Role | tuple[float, float, float, float] | Floats

MIN_ARROW_PIXELS = 9.0
MIN_ARROW_RADIUS_PIXELS = 0.9
MIN_LINE_RADIUS_PIXELS = 0.6


class Shape(enum.Enum):
    """What a glyph is a copy of; solids have unit size and look along +z.

    A triangle is about its centroid, with sides of length 1 along x and y, seen from both sides.
    """

    ARROW = "arrow"
    LINE = "line"
    BALL = "ball"
    BOX = "box"
    DISC = "disc"
    RING = "ring"
    HOOP = "hoop"
    TRIANGLE = "triangle"

    @property
    def is_stretched(self) -> bool:
        """Whether the shader makes it from a point and a vector."""
        return self in (Shape.ARROW, Shape.LINE)

    def mesh(self) -> shapes.Mesh:
        """Return the unit mesh of a solid."""
        match self:
            case Shape.BALL:
                return shapes.ellipsoid((1.0, 1.0, 1.0), segments=12)
            case Shape.BOX:
                return shapes.box((1.0, 1.0, 1.0))
            case Shape.RING:
                return _ring_arrow()
            case Shape.HOOP:
                return _torus(sweep=2.0 * math.pi, thickness=0.09)
            case Shape.TRIANGLE:
                return _triangle()
            case _:
                return shapes.cylinder(1.0, 1.0, segments=16)


class Layer(enum.Enum):
    """When glyphs are drawn."""

    SURFACE = 0
    """Where they are: bodies hide them, unless overlays show through everything."""
    INSIDE = 1
    """Over everything: axes and centres of mass lie inside their bodies."""
    SHEER = 2
    """Over everything and see-through."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Glyphs:
    """Copies of one shape: ``texels`` (n, 4, 4) float32.

    Solids: three rows of their matrix, rgba. Stretched ones: start [m] and radius [m]; vector [m]
    and least radius [px]; 1 for a head, least length [px], 1 for a broken shaft; rgba. ``kind``
    with ``index`` (n,) and ``other`` (n,) say which elements they show, None for none; ``roles``
    what their colours mean.
    """

    shape: Shape
    texels: NDArray[np.float32]
    layer: Layer = Layer.SURFACE
    roles: tuple[Role, ...] = ()
    kind: ElementKind | None = None
    index: Ints | None = None
    other: Ints | None = None

    def of_elements(
        self, kind: ElementKind, index: Ints | Sequence[int], other: Ints | None = None
    ) -> "Glyphs":
        """Return the same glyphs, selectable as these elements."""
        return dataclasses.replace(
            self, kind=kind, index=np.asarray(index, dtype=np.int64), other=other
        )

    @property
    def any_broken(self) -> bool:
        """Whether an arrow is shorter than its scale says."""
        return self.shape is Shape.ARROW and bool((self.texels[:, 2, 2] > 0.0).any())

    def element(self, glyph: int) -> Element | None:
        """Return what one glyph shows."""
        if self.kind is None or self.index is None:
            return None
        other = int(self.other[glyph]) if self.other is not None else -1
        return Element(self.kind, int(self.index[glyph]), other)


def frame_along(direction: Floats) -> Floats:
    """Return rotations (n, 3, 3) that turn +z into ``direction`` (n, 3)."""
    length = np.sqrt(np.einsum("ni,ni->n", direction, direction))
    x, y, z = (direction / np.maximum(length, 1e-30)[:, None]).T
    z = np.where(length > 0.0, z, 1.0)
    # Duff et al., Building an Orthonormal Basis, Revisited (2017): no branches, no cross products.
    sign = np.copysign(1.0, z)
    a = -1.0 / (sign + z)
    b = x * y * a
    mat = np.empty((len(direction), 3, 3))
    mat[:, 0, 0], mat[:, 1, 0], mat[:, 2, 0] = 1.0 + sign * x * x * a, sign * b, -sign * x
    mat[:, 0, 1], mat[:, 1, 1], mat[:, 2, 1] = b, sign + y * y * a, -y
    mat[:, 0, 2], mat[:, 1, 2], mat[:, 2, 2] = x, y, z
    return mat


def _rgba(color: Colors) -> Floats | tuple[float, float, float, float]:
    return color.value if isinstance(color, Role) else color


def _roles(color: Colors) -> tuple[Role, ...]:
    return (color,) if isinstance(color, Role) else ()


def solids(
    shape: Shape,
    *,
    pos: Floats,
    mat: Floats,
    size: Floats | float,
    color: Colors,
    layer: Layer = Layer.SURFACE,
    roles: tuple[Role, ...] = (),
) -> Glyphs:
    """Return solids at ``pos`` (n, 3), turned ``mat`` (n, 3, 3), scaled ``size`` (n, 3) [m]."""
    count = len(pos)
    texels = np.empty((count, 4, 4), dtype=np.float32)
    texels[:, :3, :3] = mat * np.broadcast_to(size, (count, 3))[:, None, :]
    texels[:, :3, 3] = pos
    texels[:, 3] = _rgba(color)
    return Glyphs(shape, texels, layer, roles or _roles(color))


def spheres(
    pos: Floats,
    *,
    radius: Floats | float,
    color: Colors,
    layer: Layer = Layer.SURFACE,
    roles: tuple[Role, ...] = (),
) -> Glyphs:
    """Return balls at ``pos`` (n, 3) of ``radius`` (n,) or one for all [m]."""
    size = np.broadcast_to(np.asarray(radius, dtype=np.float64), (len(pos),))
    return solids(
        Shape.BALL,
        pos=pos,
        mat=np.broadcast_to(np.eye(3), (len(pos), 3, 3)),
        size=np.repeat(size[:, None], 3, axis=1),
        color=color,
        layer=layer,
        roles=roles,
    )


def _stretched(
    shape: Shape,
    *,
    pos: Floats,
    vector: Floats,
    radius: Floats | float,
    pixels: Floats | float,
    length: float,
    color: Colors,
    layer: Layer,
    roles: tuple[Role, ...],
    broken: NDArray[np.bool_] | bool = False,
) -> Glyphs:
    texels = np.zeros((len(pos), 4, 4), dtype=np.float32)
    texels[:, 0, :3], texels[:, 0, 3] = pos, radius
    texels[:, 1, :3], texels[:, 1, 3] = vector, pixels
    texels[:, 2, 0] = float(shape is Shape.ARROW)
    texels[:, 2, 1] = length
    texels[:, 2, 2] = broken
    texels[:, 3] = _rgba(color)
    return Glyphs(shape, texels, layer, roles or _roles(color))


def arrows(
    pos: Floats,
    vector: Floats,
    *,
    radius: Floats | float,
    color: Colors,
    layer: Layer = Layer.SURFACE,
    roles: tuple[Role, ...] = (),
    pixels: Floats | float = MIN_ARROW_RADIUS_PIXELS,
    broken: NDArray[np.bool_] | bool = False,
) -> Glyphs:
    """Return arrows from ``pos`` (n, 3) along ``vector`` (n, 3) [m], never too short to see.

    ``broken`` (n,): which have a gap in their shaft, as a sign that they are not to scale.
    """
    return _stretched(
        Shape.ARROW,
        pos=pos,
        vector=vector,
        radius=radius,
        pixels=pixels,
        length=MIN_ARROW_PIXELS,
        color=color,
        layer=layer,
        roles=roles,
        broken=broken,
    )


def lines(
    start: Floats,
    end: Floats,
    *,
    radius: Floats | float,
    color: Colors,
    layer: Layer = Layer.SURFACE,
    roles: tuple[Role, ...] = (),
    pixels: Floats | float = MIN_LINE_RADIUS_PIXELS,
) -> Glyphs:
    """Return lines between ``start`` and ``end`` (n, 3) [m]."""
    return _stretched(
        Shape.LINE,
        pos=start,
        vector=np.asarray(end) - np.asarray(start),
        radius=radius,
        pixels=pixels,
        length=0.0,
        color=color,
        layer=layer,
        roles=roles,
    )


def _torus(*, sweep: float, thickness: float, segments: int = 24, sides: int = 6) -> shapes.Mesh:
    """Return a ring of radius 1 about z through ``sweep`` [rad]."""
    around = np.linspace(0.0, sweep, segments + 1)
    across = np.linspace(0.0, 2.0 * math.pi, sides + 1)
    u, v = (grid.ravel() for grid in np.meshgrid(around, across, indexing="ij"))
    normal = np.stack([np.cos(v) * np.cos(u), np.cos(v) * np.sin(u), np.sin(v)], axis=1)
    center = np.stack([np.cos(u), np.sin(u), np.zeros_like(u)], axis=1)
    row = np.arange(segments)[:, None] * (sides + 1) + np.arange(sides)
    a, b = row.ravel(), row.ravel() + sides + 1
    faces = np.concatenate([np.stack([a, b, b + 1], axis=1), np.stack([a, b + 1, a + 1], axis=1)])
    return shapes.Mesh(
        (center + thickness * normal).astype(np.float32),
        normal.astype(np.float32),
        np.zeros((len(u), 2), dtype=np.float32),
        faces.astype(np.uint32),
    )


def _triangle() -> shapes.Mesh:
    corners = np.array([[-1, -1, 0], [2, -1, 0], [-1, 2, 0]] * 2, dtype=np.float32)
    corners /= np.float32(3.0)
    normals = np.array([[0, 0, 1]] * 3 + [[0, 0, -1]] * 3, dtype=np.float32)
    faces = np.array([[0, 1, 2], [3, 5, 4]], dtype=np.uint32)
    return shapes.Mesh(corners, normals, np.zeros((6, 2), dtype=np.float32), faces)


def _ring_arrow() -> shapes.Mesh:
    """Return three quarters of a ring that ends in a head, turning counter-clockwise about z."""
    sweep, thickness, head = 1.5 * math.pi, 0.06, 0.42
    ring = _torus(sweep=sweep, thickness=thickness)
    cone = shapes.arrow(shaft=0.0, head=0.17, tip=head)
    along = np.array([-math.sin(sweep), math.cos(sweep), 0.0])
    turn = frame_along(along[None])[0]
    end = np.array([math.cos(sweep), math.sin(sweep), 0.0])
    # The unit arrow ends at 1: its head shall begin where the ring ends.
    vertices = (cone.vertices - [0.0, 0.0, 1.0 - head]) @ turn.T + end
    turned = shapes.Mesh(
        vertices.astype(np.float32),
        (cone.normals @ turn.T).astype(np.float32),
        cone.uv,
        cone.faces,
    )
    return shapes.joined([ring, turned])
