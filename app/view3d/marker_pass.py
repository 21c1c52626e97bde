"""Draws markers: many copies of one small mesh in one call."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from vispy import gloo

from stroboscope.app.view3d.camera import View
from stroboscope.app.view3d.markers import Markers, MarkerShape, triad_markers
from stroboscope.app.view3d.scene_buffers import item_texture_data
from stroboscope.app.view3d.shaders import MARKER_FRAGMENT, MARKER_VERTEX

__all__ = ["TRIAD_PIXELS", "MarkerPass", "triad_matrix"]

TRIAD_PIXELS = 84  # side of the corner square, in logical pixels
_BATCH = 256


class _Copies:
    """A vertex buffer that holds one mesh ``_BATCH`` times."""

    def __init__(self, shape: MarkerShape) -> None:
        mesh = shape.mesh()
        count = len(mesh.vertices)
        data = np.empty(
            count * _BATCH,
            dtype=[
                ("a_position", np.float32, 3),
                ("a_normal", np.float32, 3),
                ("a_item", np.float32),
            ],
        )
        data["a_position"] = np.tile(mesh.vertices, (_BATCH, 1))
        data["a_normal"] = np.tile(mesh.normals, (_BATCH, 1))
        data["a_item"] = np.repeat(np.arange(_BATCH), count)
        self.vertices = gloo.VertexBuffer(data)
        first = np.arange(_BATCH, dtype=np.uint32)[:, None, None] * np.uint32(count)
        self._faces = (mesh.faces[None] + first).reshape(_BATCH, -1)
        self._indices: dict[int, Any] = {}

    def indices(self, count: int) -> Any:
        """Return the index buffer that draws the first ``count`` copies, rounded up."""
        rounded = min(_BATCH, 1 << max(count - 1, 0).bit_length())
        if rounded not in self._indices:
            self._indices[rounded] = gloo.IndexBuffer(self._faces[:rounded].ravel())
        return self._indices[rounded]


class MarkerPass:
    """The marker program, its meshes and its texture."""

    def __init__(self) -> None:
        self._program: Any = gloo.Program(MARKER_VERTEX, MARKER_FRAGMENT)
        self._copies: dict[MarkerShape, _Copies] = {}
        self._triad = triad_markers()
        blank = item_texture_data(np.zeros((_BATCH, 4, 4), dtype=np.float32))
        self._texture: Any = gloo.Texture2D(
            blank, format="rgba", internalformat="rgba32f", interpolation="nearest"
        )
        self._program["u_markers"] = self._texture
        self._program["u_markers_size"] = (float(blank.shape[1]), float(blank.shape[0]))

    def draw(
        self,
        markers: Markers,
        matrix: NDArray[np.float64],
        *,
        toward_eye: NDArray[np.float64],
        bias: float,
    ) -> None:
        """Draw ``markers``; ``bias`` pulls them towards the eye, in clip depth."""
        copies = self._copies.get(markers.shape)
        if copies is None:
            copies = self._copies[markers.shape] = _Copies(markers.shape)
        program = self._program
        for name in ("a_position", "a_normal", "a_item"):
            program[name] = copies.vertices[name]
        program["u_matrix"] = np.ascontiguousarray(matrix.T, dtype=np.float32)
        program["u_toward_eye"] = toward_eye
        program["u_bias"] = bias
        for start in range(0, len(markers.texels), _BATCH):
            part = markers.texels[start : start + _BATCH]
            padded = np.zeros((_BATCH, 4, 4), dtype=np.float32)  # the rest shrinks to nothing
            padded[: len(part)] = part
            self._texture.set_data(item_texture_data(padded))
            program.draw("triangles", copies.indices(len(part)))

    def draw_triad(self, view: View, *, size: tuple[int, int], pixel_ratio: float) -> None:
        """Draw the world axes into the lower left corner."""
        side = round(TRIAD_PIXELS * pixel_ratio)
        if side > min(size):
            return
        gloo.set_viewport(0, 0, side, side)
        gloo.set_state(depth_test=False, blend=False, cull_face=True)
        # Without a depth buffer of its own: axes that point away from the eye come first.
        order = np.argsort([float(axis @ -view.forward) for axis in np.eye(3)])
        markers = Markers(self._triad.shape, self._triad.texels[order])
        self.draw(markers, triad_matrix(view), toward_eye=-view.forward, bias=0.0)


def triad_matrix(view: View) -> NDArray[np.float64]:
    """Return the matrix (4, 4) that turns world axes into the triad's square, -1…1."""
    matrix = np.eye(4)
    matrix[0, :3], matrix[1, :3], matrix[2, :3] = view.right, view.up, -view.forward
    matrix[:3, :3] *= 0.62
    matrix[2, :3] *= -0.5
    return matrix
