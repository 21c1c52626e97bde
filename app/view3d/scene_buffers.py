"""A scene's data on the graphics card: vertices, poses, surfaces, and what to draw of them."""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray
from vispy import gloo

from stroboscope.app.models.view_options import ViewOptions
from stroboscope.app.view3d.deformables import SoftGeometry
from stroboscope.app.view3d.drawn_scene import Buffers, DrawnScene
from stroboscope.app.view3d.flexes import FlexLook
from stroboscope.app.view3d.floors import Checker
from stroboscope.app.view3d.gl_canvas import GlCanvas
from stroboscope.app.view3d.items import ItemKind
from stroboscope.app.view3d.meshes import unique_edges
from stroboscope.app.view3d.scene_geometry import VERTEX, Detail, ranges
from stroboscope.app.view3d.shaders import ITEMS_PER_ROW
from stroboscope.app.view3d.textures import SceneTextures, Sky
from stroboscope.debugger_protocol.scene_description import GeomInfo

__all__ = ["Batch", "SceneBuffers", "VertexSource", "item_texture_data"]

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
LIMIT_COLOR = (0.85, 0.16, 0.12)
_OPAQUE = 0.999  # less than this of a colour lets through what is behind


def item_texture_data(texels: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return ``texels`` (n, width, 4) laid out as texture rows of ITEMS_PER_ROW items."""
    count, width, _ = texels.shape
    rows = max(-(-count // ITEMS_PER_ROW), 1)
    data = np.zeros((rows * ITEMS_PER_ROW, width, 4), dtype=np.float32)
    data[:count] = texels
    return data.reshape(rows, ITEMS_PER_ROW * width, 4)


def _float_texture(data: NDArray[np.float32]) -> Any:
    return gloo.Texture2D(data, format="rgba", internalformat="rgba32f", interpolation="nearest")


class VertexSource:
    """One vertex buffer; ``revision`` grows when it is another object."""

    def __init__(self) -> None:
        self.vertices: Any = None
        self.revision = 0
        self._count = 0

    def upload(self, vertices: NDArray[np.void]) -> None:
        """Put ``vertices`` into the buffer, a new one if their number is another."""
        if not len(vertices):  # gloo refuses empty buffers
            vertices = np.zeros(3, dtype=VERTEX)
        if self.vertices is not None and len(vertices) == self._count:
            self.vertices.set_data(vertices)
            return
        self._count = len(vertices)
        self.vertices = gloo.VertexBuffer(vertices)
        self.revision += 1


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """One draw call: ``indices`` into ``source``, painted with ``texture`` (-1: none)."""

    texture: int
    indices: Any
    source: VertexSource


@dataclasses.dataclass(slots=True, eq=False)
class GhostBuffers:
    """What draws the scene once more at other ``poses``, a texture."""

    poses: Any
    key: object = None
    batches: list[Batch] = dataclasses.field(default_factory=list)
    rgba: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0)
    tint: float = 1.0
    is_environment: bool = False


@dataclasses.dataclass(slots=True, eq=False)
class _FaceSet:
    """What is drawn at one level of detail."""

    key: object = None
    opaque: list[Batch] = dataclasses.field(default_factory=list)
    shadow: list[Batch] = dataclasses.field(default_factory=list)
    wires: list[Batch] = dataclasses.field(default_factory=list)
    transparent: list[Batch] = dataclasses.field(default_factory=list)  # in drawing order
    clear_items: Ints = dataclasses.field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    order: bytes = b"-"


class SceneBuffers:
    """Buffers that follow a :class:`DrawnScene`; ``revision`` grows when textures are new ones."""

    def __init__(self, canvas: GlCanvas) -> None:
        self.revision = 0
        self.rigid, self.soft, self.hull = VertexSource(), VertexSource(), VertexSource()
        self.poses: Any = None
        self.surfaces: Any = None
        self.poses_size = (1.0, 1.0)
        self.surfaces_size = (1.0, 1.0)
        self.selected: list[Batch] = []
        self.ghosts: list[GhostBuffers] = []
        self.hull_faces: list[Batch] = []
        self.hull_edges: list[Batch] = []
        self._textures = SceneTextures(canvas)
        self._sets = {detail: _FaceSet() for detail in Detail}
        self._faces = self._sets[Detail.FULL]
        self._keys: dict[str, object] = {}
        self._soft_geometry: SoftGeometry | None = None

    @property
    def opaque(self) -> list[Batch]:
        """What is solid."""
        return self._faces.opaque

    @property
    def shadow(self) -> list[Batch]:
        """What casts a shadow."""
        return self._faces.shadow

    @property
    def shadow_faces(self) -> int:
        """How many faces cast a shadow."""
        return sum(int(batch.indices.size) for batch in self._faces.shadow) // 3

    @property
    def environments(self) -> list[GhostBuffers]:
        """The environments beside the one that is looked at; ghosts cast no shadow, these do."""
        return [ghost for ghost in self.ghosts if ghost.is_environment and ghost.batches]

    @property
    def wires(self) -> list[Batch]:
        """The edges of everything, when that is asked for."""
        return self._faces.wires

    @property
    def transparent(self) -> list[Batch]:
        """What is see-through, from far to near."""
        return self._faces.transparent

    @property
    def shown_key(self) -> object:
        """Changes with what is drawn, poses aside."""
        return self._faces.key

    @property
    def pose_revision(self) -> int:
        """Of the poses that are uploaded."""
        revision = self._keys.get("poses", -1)
        return revision if isinstance(revision, int) else -1

    @property
    def checkers(self) -> dict[int, Checker | None]:
        """Which textures are checkers."""
        return self._textures.checkers

    @property
    def sky(self) -> Sky | None:
        """The model's own sky."""
        return self._textures.sky

    def texture(self, index: int) -> Any:
        """Return the texture ``index`` of the description, None when there is none to show."""
        return self._textures.get(index)

    def is_cube(self, index: int) -> bool:
        """Return whether texture ``index`` is a cube."""
        return self._textures.is_cube(index)

    def update(
        self,
        scene: DrawnScene,
        *,
        options: ViewOptions,
        selected: Ints,
        eye: NDArray[np.float64],
        detail: Detail = Detail.FULL,
    ) -> None:
        """Upload what has changed since the last call, and nothing else."""
        scene.collect()
        scene.buffers()
        if self._changed("geometry", scene.geometry_revision):
            self._upload_geometry(scene)
        if self._changed("poses", scene.pose_revision):
            self.poses.set_data(item_texture_data(scene.pose_texels()))
        self._update_soft(scene, options)
        self._update_surfaces(scene, selected)
        self._faces = self._sets[detail]
        self._update_faces(scene, options, detail, selected)
        self._update_selected(scene, options, selected, detail)
        self._update_ghosts(scene, options, detail)
        self._update_hulls(scene, options)
        self._sort_transparent(scene, options, detail, eye)

    def batches(self, scene: DrawnScene, items: Ints) -> list[Batch]:
        """Return what draws ``items`` in full, whatever is shown."""
        return self._batches(scene, items, -1, Detail.FULL)

    def _changed(self, what: str, key: object) -> bool:
        before = self._keys.get(what)
        self._keys[what] = key
        return before != key

    def _upload_geometry(self, scene: DrawnScene) -> None:
        self.revision += 1
        self._keys = {"geometry": scene.geometry_revision}
        self.rigid.upload(scene.buffers().vertices)
        data = item_texture_data(scene.pose_texels())
        self.poses = _float_texture(data)
        self.ghosts = []
        self.poses_size = (float(data.shape[1]), float(data.shape[0]))
        self._changed("poses", scene.pose_revision)
        data = item_texture_data(scene.items.material)
        self.surfaces = _float_texture(data)
        self.surfaces_size = (float(data.shape[1]), float(data.shape[0]))
        self._soft_geometry = None
        self._textures.update(scene)

    def _update_soft(self, scene: DrawnScene, options: ViewOptions) -> None:
        if len(scene.items) == scene.items.n_rigid:
            return
        geometry = scene.soft(FlexLook.of(options))
        if geometry is not self._soft_geometry:
            self._soft_geometry = geometry
            self.soft.upload(geometry.vertices)

    def _update_surfaces(self, scene: DrawnScene, selected: Ints) -> None:
        limited = scene.at_limit()
        tints = scene.tints
        tinted = None if tints is None else tints.tobytes()
        if not self._changed(
            "surfaces", (selected.tobytes(), limited.tobytes(), tinted, scene.look_revision)
        ):
            return
        material = scene.items.material.copy()
        if tints is not None:
            material[:, 0, :3] += tints[:, 3:] * (tints[:, :3] - material[:, 0, :3])
        material[limited, 0, :3] = LIMIT_COLOR
        material[selected, 3, 3] = 1.0
        self.surfaces.set_data(item_texture_data(material))

    def _soft_key(self) -> int:
        return self._soft_geometry.topology if self._soft_geometry is not None else 0

    def _update_faces(
        self, scene: DrawnScene, options: ViewOptions, detail: Detail, selected: Ints
    ) -> None:
        shown = scene.visible(options) & ~scene.items.is_plane
        alpha = scene.items.material[:, 0, 3]
        found = self._faces
        key = (
            scene.geometry_revision,
            self._soft_key(),
            shown.tobytes(),
            options.wireframe,
            options.transparent,
            options.textures,
            selected.tobytes() if options.xray_selection else b"",
            (alpha < _OPAQUE).tobytes(),
        )
        if key == found.key:
            return
        found.key = key
        clear = shown & (alpha < _OPAQUE)
        tinted = clear & (alpha >= 0.5)  # stands on the floor for its shadow, as in MuJoCo
        if options.transparent:  # as in MuJoCo: what moves becomes glass
            clear |= shown & (scene.items.body != 0)
        if options.xray_selection and len(selected):
            others = shown.copy()
            others[selected] = False
            clear |= others
        solid = shown & ~clear
        found.opaque, found.wires = [], []
        if options.wireframe:
            found.wires = self._wires(scene, np.flatnonzero(shown))
            clear = np.zeros_like(clear)
        else:
            for texture, items in self._by_texture(scene, solid, options):
                found.opaque.extend(self._batches(scene, items, texture, detail))
        opaque = solid | (tinted & (not options.transparent))
        casting = np.flatnonzero(opaque & ~scene.items.is_site)  # sites cast no shadow
        found.shadow = self._batches(scene, casting, -1, detail)
        found.clear_items = np.flatnonzero(clear)
        found.order = b"-"

    def _batches(self, scene: DrawnScene, items: Ints, texture: int, detail: Detail) -> list[Batch]:
        """Return what draws ``items``, those of each source in the order given."""
        soft = items >= scene.items.n_rigid
        batches = []
        rows = scene.buffers().faces_of(items[~soft], detail)
        if len(rows):
            batches.append(Batch(texture, gloo.IndexBuffer(rows.ravel()), self.rigid))
        geometry = self._soft_geometry
        if geometry is not None and soft.any():
            rows = geometry.faces[ranges(geometry.start, items[soft])]
            if len(rows):
                batches.append(Batch(texture, gloo.IndexBuffer(rows.ravel()), self.soft))
        return batches

    def _wires(self, scene: DrawnScene, items: Ints) -> list[Batch]:
        merged: Buffers = scene.buffers()
        rigid = merged.faces_of(items[items < scene.items.n_rigid])
        found = [(rigid, self.rigid)]
        if self._soft_geometry is not None:
            soft = items[items >= scene.items.n_rigid]
            rows = ranges(self._soft_geometry.start, soft)
            found.append((self._soft_geometry.faces[rows], self.soft))
        return [
            Batch(-1, gloo.IndexBuffer(unique_edges(faces).ravel()), source)
            for faces, source in found
            if len(faces)
        ]

    def _update_selected(
        self, scene: DrawnScene, options: ViewOptions, selected: Ints, detail: Detail
    ) -> None:
        key = (self._faces.key, selected.tobytes(), detail)
        if self._changed("selected", key):
            shown = selected[scene.visible(options)[selected]]
            self.selected = self._batches(scene, shown, -1, detail) if len(shown) else []

    def _update_ghosts(self, scene: DrawnScene, options: ViewOptions, detail: Detail) -> None:
        """Keep a texture of poses and batches for each ghost; those of before are used again."""
        wanted = scene.others if scene.ghost is None else (scene.ghost, *scene.others)
        moved = self._changed("ghosts", (scene.ghost_revision, scene.others_revision))
        del self.ghosts[len(wanted) :]
        for number, ghost in enumerate(wanted):
            if number == len(self.ghosts):
                self.ghosts.append(GhostBuffers(_float_texture(item_texture_data(ghost.texels()))))
            elif moved:
                self.ghosts[number].poses.set_data(item_texture_data(ghost.texels()))
            shown = self.ghosts[number]
            shown.rgba, shown.tint = ghost.rgba, ghost.tint
            shown.is_environment = ghost.env >= 0
            items = scene.ghost_items(ghost, options)
            key = (self._faces.key, items.tobytes())
            if key != shown.key:
                shown.key = key
                shown.batches = self._batches(scene, items, -1, detail) if len(items) else []

    def _update_hulls(self, scene: DrawnScene, options: ViewOptions) -> None:
        if not options.convex_hull:
            self.hull_faces, self.hull_edges = [], []
            self._keys.pop("hulls", None)
            return
        shown = scene.visible(options)
        if not self._changed("hulls", (scene.geometry_revision, shown.tobytes())):
            return
        collides = [isinstance(info, GeomInfo) and info.collides for info in scene.items.infos]
        items = np.flatnonzero(shown[: len(collides)] & np.array(collides, dtype=np.bool_))
        hulls = scene.hulls()
        self.hull.upload(hulls.vertices)
        faces, edges = hulls.faces_of(items), hulls.edges_of(items)
        self.hull_faces = _batch(faces, self.hull)
        self.hull_edges = _batch(edges, self.hull)

    def _sort_transparent(
        self, scene: DrawnScene, options: ViewOptions, detail: Detail, eye: NDArray[np.float64]
    ) -> None:
        """Order see-through items from far to near; new index buffers only when that changes."""
        found = self._faces
        items = found.clear_items
        if not len(items):
            found.transparent = []
            return
        distance = np.linalg.norm(scene.item_pos[items] - eye, axis=1) - scene.items.radius[items]
        soft = items >= scene.items.n_rigid
        if soft.any() and self._soft_geometry is not None:
            low, high = self._soft_geometry.low[items[soft]], self._soft_geometry.high[items[soft]]
            distance[soft] = np.linalg.norm(_middles(low, high) - eye, axis=1)
        ordered = items[np.argsort(-distance, kind="stable")]
        if ordered.tobytes() == found.order:
            return
        found.order = ordered.tobytes()
        found.transparent = self._runs(scene, ordered, options, detail)

    def _texture_of(self, scene: DrawnScene, options: ViewOptions) -> Ints:
        """Return the texture (nitem,) each item is painted with, -1 for none."""
        texture = scene.items.texture.copy()
        if not options.textures:
            texture[:] = -1
        for index in np.unique(texture).tolist():
            if self._textures.get(index) is None:
                texture[texture == index] = -1
        return texture

    def _by_texture(
        self, scene: DrawnScene, chosen: Bools, options: ViewOptions
    ) -> list[tuple[int, Ints]]:
        texture = self._texture_of(scene, options)
        return [
            (index, np.flatnonzero(chosen & (texture == index)))
            for index in np.unique(texture[chosen]).tolist()
        ]

    def _runs(
        self, scene: DrawnScene, ordered: Ints, options: ViewOptions, detail: Detail
    ) -> list[Batch]:
        """Return batches that draw ``ordered`` items, split where texture or source changes."""
        texture = self._texture_of(scene, options)[ordered]
        soft = scene.items.kind[ordered] > ItemKind.SITE
        breaks = np.flatnonzero((np.diff(texture) != 0) | (np.diff(soft.astype(np.int64)) != 0))
        batches = []
        for run in np.split(ordered, breaks + 1):
            index = int(texture[np.flatnonzero(ordered == run[0])[0]])
            batches.extend(self._batches(scene, run, index, detail))
        return batches


def _batch(rows: NDArray[np.uint32], source: VertexSource) -> list[Batch]:
    return [Batch(-1, gloo.IndexBuffer(rows.ravel()), source)] if len(rows) else []


def _middles(low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the middles of boxes (n, 3); the origin for those that hold nothing, or no number."""
    known = np.isfinite(low) & np.isfinite(high)
    return np.where(known, low, 0.0) / 2.0 + np.where(known, high, 0.0) / 2.0
