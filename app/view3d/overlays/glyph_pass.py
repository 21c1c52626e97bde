"""Draws an :class:`OverlayPicture`: one call per layer and shape, whatever is in it."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from vispy import gloo

from stroboscope.app.view3d.camera import View
from stroboscope.app.view3d.overlays.drawings import Points
from stroboscope.app.view3d.overlays.glyph_shaders import (
    GLYPH_FRAGMENT,
    GLYPHS_PER_ROW,
    POINT_FRAGMENT,
    POINT_VERTEX,
    SOLID_VERTEX,
    STRETCHED_VERTEX,
)
from stroboscope.app.view3d.overlays.glyphs import Layer, Shape
from stroboscope.app.view3d.overlays.picture import OverlayPicture
from stroboscope.app.view3d.programs import Program

__all__ = ["GlyphPass"]

Texels = NDArray[np.float32]
_BATCH = 1024  # copies of a mesh in its vertex buffer
_SIDES = {Shape.ARROW: 8, Shape.LINE: 6}
# Solids never become smaller than this.
LEAST_PIXELS = 2.2
# How much is left of what shows through something.
XRAY_STRENGTH = 0.55
# How wide the line round a glyph is, where the ground is too pale for its colour.
OUTLINE_PIXELS = 1.1
_NO_INK = (0.0, 0.0, 0.0, 0.0)
# Towards the eye, in clip depth: what lies on a surface shall not sink into it.
_BIAS = 2e-4


class _Copies:
    """A vertex buffer that holds one mesh ``_BATCH`` times."""

    def __init__(self, shape: Shape) -> None:
        if shape.is_stretched:
            vertices, normals, faces = _stretched_mesh(_SIDES[shape], head=shape is Shape.ARROW)
        else:
            mesh = shape.mesh()
            vertices, normals, faces = mesh.vertices, mesh.normals, mesh.faces
        count = len(vertices)
        data = np.empty(
            count * _BATCH,
            dtype=[
                ("a_position", np.float32, 3),
                ("a_normal", np.float32, 3),
                ("a_item", np.float32),
            ],
        )
        data["a_position"] = np.tile(vertices, (_BATCH, 1))
        data["a_normal"] = np.tile(normals, (_BATCH, 1))
        data["a_item"] = np.repeat(np.arange(_BATCH), count)
        self._vertices = gloo.VertexBuffer(data)
        # Always the same views of it: a program that has them already is told nothing.
        self.attributes = {name: self._vertices[name] for name in data.dtype.names or ()}
        first = np.arange(_BATCH, dtype=np.uint32)[:, None, None] * np.uint32(count)
        self._faces = (faces[None] + first).reshape(_BATCH, -1)
        self._indices: dict[int, Any] = {}

    def indices(self, count: int) -> Any:
        """Return the index buffer that draws the first ``count`` copies, rounded up."""
        rounded = min(_BATCH, 1 << max(count - 1, 0).bit_length())
        if rounded not in self._indices:
            self._indices[rounded] = gloo.IndexBuffer(self._faces[:rounded].ravel())
        return self._indices[rounded]


class _Texels:
    """The texture of one layer and shape, written again when its glyphs have changed."""

    def __init__(self) -> None:
        self.texture: Any = None
        self.size = (1.0, 1.0)
        self._rows = 0
        self._shown: Texels | None = None

    def update(self, texels: Texels) -> None:
        """Upload ``texels`` (n, 4, 4), zeros after them: padding has no size and is not seen."""
        if texels is self._shown:
            return
        self._shown = texels
        batches = -(-len(texels) // _BATCH)
        rows = max(batches * _BATCH // GLYPHS_PER_ROW, 1)
        # Only what is drawn is written: the index buffers round up to a power of two.
        data = np.zeros((max(rows, self._rows) * GLYPHS_PER_ROW, 4, 4), dtype=np.float32)
        data[: len(texels)] = texels
        data = data.reshape(-1, GLYPHS_PER_ROW * 4, 4)
        if rows > self._rows:
            self._rows = rows
            self.texture = gloo.Texture2D(
                data, format="rgba", internalformat="rgba32f", interpolation="nearest"
            )
            self.size = (float(data.shape[1]), float(data.shape[0]))
        else:
            self.texture.set_data(data)


class GlyphPass:
    """The programs, meshes and textures of glyphs. Belongs to one OpenGL context."""

    def __init__(self) -> None:
        self._programs: dict[bool, Any] = {
            True: Program(STRETCHED_VERTEX, GLYPH_FRAGMENT),
            False: Program(SOLID_VERTEX, GLYPH_FRAGMENT),
        }
        self._copies: dict[Shape, _Copies] = {}
        self._texels: dict[tuple[Layer, Shape], _Texels] = {}
        self._own = _Texels()  # of what belongs to no picture
        self._point_program: Any = Program(POINT_VERTEX, POINT_FRAGMENT)
        self._points: Points | None = None
        self._point_count = 0

    def draw(
        self,
        picture: OverlayPicture,
        view: View,
        *,
        height: int,
        pixel_ratio: float,
        xray: bool,
        ink: tuple[float, float, float] | None = None,
    ) -> int:
        """Draw over the scene in the bound framebuffer, ``height`` [px]; return the draw calls.

        ``ink`` is the colour of a line round every glyph that can't be seen through.

        The depth of the scene must still be there; it is gone afterwards.
        """
        matrix = view.matrix()
        common = {
            "u_matrix": np.ascontiguousarray(matrix.T, dtype=np.float32),
            "u_toward_eye": -view.forward,
            "u_pixel": _pixel(view, height) * pixel_ratio,
        }
        layers = {layer for layer, _ in picture.texels}
        calls = 0
        if xray and Layer.SURFACE in layers:
            _blend(depth_mask=False, depth_func="greater")
            calls += self._layer(picture, Layer.SURFACE, common, strength=XRAY_STRENGTH)
        outline = None
        if ink is not None:
            outline = {**common, "u_ink": (*ink, 0.9), "u_outline": OUTLINE_PIXELS}
        _blend(depth_mask=True)
        calls += self._layer(picture, Layer.SURFACE, common, outline=outline)
        if picture.points is not None:
            calls += self._draw_points(picture.points, common, pixel_ratio=pixel_ratio)
        if layers & {Layer.INSIDE, Layer.SHEER}:
            gloo.clear(color=False, depth=True)
            calls += self._layer(picture, Layer.INSIDE, common, outline=outline)
            _blend(depth_mask=False)
            calls += self._layer(picture, Layer.SHEER, common)
        gloo.set_state(depth_mask=True)
        return calls

    def draw_some(self, shape: Shape, texels: Texels, uniforms: dict[str, Any]) -> None:
        """Draw a few glyphs that belong to no picture, such as the triad's."""
        self._draw((Layer.INSIDE, shape), texels, uniforms, own=self._own)

    def _layer(
        self,
        picture: OverlayPicture,
        layer: Layer,
        common: dict[str, Any],
        *,
        strength: float = 1.0,
        outline: dict[str, Any] | None = None,
    ) -> int:
        calls = 0
        for key, texels in picture.texels.items():
            if key[0] is not layer:
                continue
            calls += self._draw(key, texels, {**common, "u_strength": strength})
            if outline is not None:
                # Only its inside is drawn: the part of it that the glyph does not cover.
                gloo.set_cull_face("front")
                calls += self._draw(key, texels, {**outline, "u_strength": strength})
                gloo.set_cull_face("back")
        return calls

    def _draw(
        self,
        key: tuple[Layer, Shape],
        texels: Texels,
        uniforms: dict[str, Any],
        own: _Texels | None = None,
    ) -> int:
        shape = key[1]
        if shape not in self._copies:
            self._copies[shape] = _Copies(shape)
        copies = self._copies[shape]
        kept = own if own is not None else self._texels.setdefault(key, _Texels())
        kept.update(texels)
        program = self._programs[shape.is_stretched]
        for name, view in copies.attributes.items():
            program[name] = view
        program["u_glyphs"], program["u_glyphs_size"] = kept.texture, kept.size
        program["u_bias"] = uniforms.get("u_bias", _BIAS)
        program["u_ink"] = uniforms.get("u_ink", _NO_INK)
        program["u_outline"] = uniforms.get("u_outline", 0.0)
        for name, value in uniforms.items():
            program[name] = value
        if not shape.is_stretched:
            program["u_least"] = LEAST_PIXELS
        for start in range(0, len(texels), _BATCH):
            program["u_first"] = float(start)
            program.draw("triangles", copies.indices(min(len(texels) - start, _BATCH)))
        return -(-len(texels) // _BATCH)

    def _draw_points(self, points: Points, common: dict[str, Any], *, pixel_ratio: float) -> int:
        program = self._point_program
        if points is not self._points:
            self._points = points
            data = np.empty(
                len(points.pos),
                dtype=[
                    ("a_position", np.float32, 3),
                    ("a_rgba", np.float32, 4),
                    ("a_size", np.float32),
                ],
            )
            data["a_position"], data["a_rgba"] = points.pos, points.rgba
            data["a_size"] = points.size
            program.bind(gloo.VertexBuffer(data))
        program["u_matrix"] = common["u_matrix"]
        program["u_pixel_ratio"] = pixel_ratio
        program.draw("points")
        return 1


def _pixel(view: View, height: int) -> float:
    """Return how many metres a pixel of a picture ``height`` [px] spans where clip w is 1."""
    if view.orthographic:
        return view.height / height
    return 2.0 * math.tan(math.radians(view.fovy) / 2.0) / height


def _blend(*, depth_mask: bool, depth_func: str = "less") -> None:
    gloo.set_state(depth_test=True, depth_mask=depth_mask, blend=True, cull_face=True)
    gloo.set_depth_func(depth_func)
    gloo.set_cull_face("back")
    gloo.set_blend_func("src_alpha", "one_minus_src_alpha", "one", "one_minus_src_alpha")


def _stretched_mesh(
    sides: int, *, head: bool
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.uint32]]:
    """Return vertices, normals and faces as the shader of stretched glyphs reads them."""
    around = np.linspace(0.0, 2.0 * math.pi, sides, endpoint=False)
    circle = np.stack([np.cos(around), np.sin(around)], axis=1)
    out, cone, back = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    front = (0.0, 0.0, -1.0)
    bands = [((0, out), (1, out)), ((4, back), (0, back))]
    bands += (
        [((1, back), (2, back)), ((2, cone), (3, cone))] if head else [((1, front), (3, front))]
    )
    vertices: list[NDArray[np.float64]] = []
    normals: list[NDArray[np.float64]] = []
    faces: list[NDArray[np.int64]] = []
    this = np.arange(sides)
    following = np.roll(this, -1)
    for (low, low_normal), (high, high_normal) in bands:
        base = len(vertices) * sides
        for ring, normal in ((low, low_normal), (high, high_normal)):
            vertices.append(np.column_stack([circle, np.full(sides, float(ring))]))
            normals.append(np.tile(normal, (sides, 1)))
        a, b = base + this, base + following
        c, d = a + sides, b + sides
        faces += [np.stack([a, b, d], axis=1), np.stack([a, d, c], axis=1)]
    return (
        np.concatenate(vertices).astype(np.float32),
        np.concatenate(normals).astype(np.float32),
        np.concatenate(faces).astype(np.uint32),
    )
