"""A scene's data on the graphics card: vertices, poses, surfaces, textures, what to draw."""

import logging
from typing import Any

import numpy as np
from numpy.typing import NDArray
from vispy import gloo

from stroboscope.app.models.view_options import ViewOptions
from stroboscope.app.view3d.drawn_scene import Buffers, DrawnScene
from stroboscope.app.view3d.floors import Checker, find_checker
from stroboscope.app.view3d.gl_canvas import GlCanvas
from stroboscope.app.view3d.meshes import unique_edges
from stroboscope.app.view3d.shaders import ITEMS_PER_ROW
from stroboscope.debugger_protocol.scene_description import TextureKind

__all__ = ["SceneBuffers", "item_texture_data"]

_log = logging.getLogger(__name__)
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


def item_texture_data(texels: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return ``texels`` (n, width, 4) laid out as texture rows of ITEMS_PER_ROW items."""
    count, width, _ = texels.shape
    rows = max(-(-count // ITEMS_PER_ROW), 1)
    data = np.zeros((rows * ITEMS_PER_ROW, width, 4), dtype=np.float32)
    data[:count] = texels
    return data.reshape(rows, ITEMS_PER_ROW * width, 4)


def _float_texture(data: NDArray[np.float32]) -> Any:
    return gloo.Texture2D(data, format="rgba", internalformat="rgba32f", interpolation="nearest")


class SceneBuffers:
    """Buffers that follow a :class:`DrawnScene`; ``revision`` grows when they are new objects."""

    def __init__(self, canvas: GlCanvas) -> None:
        self._canvas = canvas
        self.revision = 0
        self.vertices: Any = None
        self.poses: Any = None
        self.surfaces: Any = None
        self.poses_size = (1.0, 1.0)
        self.surfaces_size = (1.0, 1.0)
        self.opaque: dict[int, Any] = {}  # texture -> index buffer
        self.transparent: list[tuple[int, Any]] = []  # in drawing order
        self.shadow_faces: Any = None
        self.wires: Any = None
        self.selected: Any = None
        self.checkers: dict[int, Checker | None] = {}
        self.shown_key: object = None
        self._textures: dict[int, Any] = {}
        self._geometry_revision = -1
        self._pose_revision = -1
        self._surface_key: object = None
        self._transparent_order: bytes = b""
        self._clear_items: Ints = np.empty(0, dtype=np.int64)

    def texture(self, index: int) -> Any:
        """Return the texture ``index`` of the description, None when there is none to show."""
        return self._textures.get(index)

    def update(
        self,
        scene: DrawnScene,
        *,
        options: ViewOptions,
        selected: Ints,
        eye: NDArray[np.float64],
    ) -> None:
        """Upload what has changed since the last call, and nothing else."""
        if self._geometry_revision != scene.geometry_revision:
            self._upload_geometry(scene)
        if self._pose_revision != scene.pose_revision:
            self._pose_revision = scene.pose_revision
            self.poses.set_data(item_texture_data(scene.pose_texels()))
        self._update_surfaces(scene, selected)
        self._update_faces(scene, options, selected)
        self._sort_transparent(scene, eye)

    def _upload_geometry(self, scene: DrawnScene) -> None:
        self._geometry_revision = scene.geometry_revision
        self._pose_revision = scene.pose_revision
        self.revision += 1
        self._surface_key = None
        self.shown_key = None
        merged = scene.buffers()
        vertices = merged.vertices
        if not len(vertices):  # gloo refuses empty buffers
            vertices = np.zeros(3, dtype=vertices.dtype)
        self.vertices = gloo.VertexBuffer(vertices)
        data = item_texture_data(scene.pose_texels())
        self.poses = _float_texture(data)
        self.poses_size = (float(data.shape[1]), float(data.shape[0]))
        data = item_texture_data(scene.items.material)
        self.surfaces = _float_texture(data)
        self.surfaces_size = (float(data.shape[1]), float(data.shape[0]))
        self._upload_textures(scene)

    def _upload_textures(self, scene: DrawnScene) -> None:
        self._textures, self.checkers = {}, {}
        description = scene.description
        if description is None:
            return
        for index in sorted(set(scene.items.texture.tolist()) - {-1}):
            info = description.textures[index]
            arrays = scene.asset(info.digest)
            if arrays is None or info.kind is TextureKind.SKYBOX:
                continue
            data = np.asarray(arrays.get("data", ()), dtype=np.uint8)
            if not 0 < data.size == info.height * info.width * info.nchannel:
                _log.warning("texture %r can't be shown: its size is not as announced", info.name)
                continue
            data = data.reshape(info.height, info.width, info.nchannel)
            if info.nchannel not in (3, 4):
                data = np.repeat(data[..., :1], 3, axis=2)
            two_d = info.kind is TextureKind.TWO_D
            texture = gloo.Texture2D(
                np.ascontiguousarray(data),
                interpolation="linear",
                wrapping="repeat" if two_d else "clamp_to_edge",
            )
            if two_d:
                self.checkers[index] = find_checker(data)
                self._canvas.make_mipmaps(texture)
            self._textures[index] = texture

    def _update_surfaces(self, scene: DrawnScene, selected: Ints) -> None:
        key = (scene.geometry_revision, selected.tobytes())
        if key == self._surface_key:
            return
        self._surface_key = key
        material = scene.items.material.copy()
        material[selected, 3, 3] = 1.0
        self.surfaces.set_data(item_texture_data(material))

    def _update_faces(self, scene: DrawnScene, options: ViewOptions, selected: Ints) -> None:
        shown = scene.visible(options) & ~scene.items.is_plane
        key = (
            scene.geometry_revision,
            shown.tobytes(),
            options.wireframe,
            options.transparent,
            selected.tobytes(),
        )
        if key == self.shown_key:
            return
        self.shown_key = key
        merged = scene.buffers()
        clear = shown & (scene.items.material[:, 0, 3] < 0.999)
        if options.transparent:  # as in MuJoCo: what moves becomes glass
            clear |= shown & (scene.items.body != 0)
        solid = shown & ~clear
        self.opaque, self.wires = {}, None
        if options.wireframe:
            edges = unique_edges(merged.faces_of(np.flatnonzero(shown)))
            self.wires = _indices(edges)
            clear = np.zeros_like(clear)
        else:
            for texture, items in _by_texture(scene, solid, self._textures):
                faces = _indices(merged.faces_of(items))
                if faces is not None:
                    self.opaque[texture] = faces
        solid[scene.items.n_geoms :] = False  # sites cast no shadow
        self.shadow_faces = _indices(merged.faces_of(np.flatnonzero(solid)))
        self.selected = _indices(merged.faces_of(selected[shown[selected]]))
        self._clear_items = np.flatnonzero(clear)
        self._transparent_order = b"-"

    def _sort_transparent(self, scene: DrawnScene, eye: NDArray[np.float64]) -> None:
        """Order see-through items from far to near; new index buffers only when that changes."""
        items = self._clear_items
        distance = np.linalg.norm(scene.item_pos[items] - eye, axis=1)
        ordered = items[np.argsort(-distance, kind="stable")]
        if ordered.tobytes() == self._transparent_order:
            return
        self._transparent_order = ordered.tobytes()
        self.transparent = _runs(scene, scene.buffers(), ordered, self._textures)


def _indices(rows: NDArray[np.uint32]) -> Any:
    """Return an index buffer, None for nothing (gloo refuses empty ones)."""
    return gloo.IndexBuffer(rows.ravel()) if len(rows) else None


def _texture_of(scene: DrawnScene, item: int, available: dict[int, Any]) -> int:
    texture = int(scene.items.texture[item])
    return texture if texture in available else -1


def _by_texture(
    scene: DrawnScene, chosen: Bools, available: dict[int, Any]
) -> list[tuple[int, Ints]]:
    groups: dict[int, list[int]] = {}
    for item in np.flatnonzero(chosen).tolist():
        groups.setdefault(_texture_of(scene, item, available), []).append(item)
    return [(texture, np.array(items)) for texture, items in groups.items()]


def _runs(
    scene: DrawnScene, merged: Buffers, ordered: Ints, available: dict[int, Any]
) -> list[tuple[int, Any]]:
    """Return index buffers that draw ``ordered`` items, split where the texture changes."""
    runs: list[tuple[int, list[int]]] = []
    for item in ordered.tolist():
        texture = _texture_of(scene, item, available)
        if not runs or runs[-1][0] != texture:
            runs.append((texture, []))
        runs[-1][1].append(item)
    found = []
    for texture, items in runs:
        faces = _indices(merged.faces_of(np.array(items)))
        if faces is not None:
            found.append((texture, faces))
    return found
