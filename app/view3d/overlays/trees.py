"""The boxes in which the engine looks for what might collide: trees of bodies, meshes, flexes."""

import dataclasses
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.overlay_words import Role
from stroboscope.app.models.selection import ElementKind
from stroboscope.app.view3d.overlays.glyphs import Glyphs, lines
from stroboscope.app.view3d.overlays.mass import BOX_EDGES
from stroboscope.app.view3d.overlays.subject import Subject
from stroboscope.debugger_protocol.scene_description import GeomInfo
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["MOST_BOXES", "TreeBoxes", "tree_boxes", "tree_glyphs"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
MOST_BOXES = 4000
# A plane has no end [m]; MuJoCo gives it a box of 1e10.
_ENDLESS = 1e6


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class TreeBoxes:
    """Boxes of one kind of tree: centres (n, 3), rotations (n, 3, 3), half sizes (n, 3) [m].

    ``index`` (n,) are the elements, of ``kind``, whose trees they belong to; ``searched`` (n,) bool
    says which the search for contacts went through.
    """

    kind: ElementKind
    index: Ints
    pos: Floats
    mat: Floats
    half: Floats
    searched: Bools


class _Trees:
    """The arrays of an asset. Raises KeyError, ValueError or IndexError where it is damaged."""

    def __init__(
        self, arrays: Mapping[str, NDArray[np.generic]], *, level: int, active: Floats | None
    ) -> None:
        self.aabb = np.asarray(arrays["aabb"], dtype=np.float64).reshape(-1, 6)
        self.child = np.asarray(arrays["child"], dtype=np.int64).reshape(-1, 2)
        self.depth = np.asarray(arrays["depth"], dtype=np.int64)
        self.element = np.asarray(arrays["element"], dtype=np.int64)
        if not len(self.child) == len(self.depth) == len(self.element) >= len(self.aabb):
            raise ValueError("a tree's arrays have different lengths")
        known = active is not None and len(active) == len(self.depth)
        self.searched = active > 0.0 if active is not None and known else self.depth < 0
        self._level = level
        self._octrees = np.zeros((0, 2), dtype=np.int64)
        if "octree" in arrays:  # not of every engine, and only where a mesh has one
            self._octrees = np.asarray(arrays["octree"], dtype=np.int64).reshape(-1, 2)
            self.oct_depth = np.asarray(arrays["oct_depth"], dtype=np.int64)
            self.oct_aabb = np.asarray(arrays["oct_aabb"], dtype=np.float64).reshape(-1, 6)
        self._ranges = {
            name: np.asarray(arrays[name], dtype=np.int64).reshape(-1, 2)
            for name in ("body", "mesh", "flex")
        }
        leaf = (self.child < 0).all(axis=1)
        # As in MuJoCo's viewer: that level, and of shorter branches their ends.
        self._shown = (self.depth == level) | (leaf & (self.depth < level))

    def range(self, kind: str, index: int) -> tuple[int, int]:
        """Return the first node of a tree and the one after its last."""
        first, count = self._ranges[kind][index].tolist()
        if first < 0 or count <= 0 or first + count > len(self.depth):
            return 0, 0
        return first, first + count

    def shown(self, kind: str, index: int) -> Ints:
        """Return the nodes of a tree that are drawn."""
        first, end = self.range(kind, index)
        return np.asarray(first + np.flatnonzero(self._shown[first:end]))

    def octree(self, mesh: int) -> Ints | None:
        """Return the drawn cells of a mesh's octree, None where it has none.

        As in MuJoCo's viewer only those of the level itself: an octree has up to a million.
        """
        first, count = self._octrees[mesh].tolist() if mesh < len(self._octrees) else (-1, 0)
        if first < 0 or count <= 0:
            return None
        return np.asarray(
            first + np.flatnonzero(self.oct_depth[first : first + count] == self._level)
        )


def tree_boxes(subject: Subject) -> tuple[TreeBoxes, ...]:
    """Return the boxes of all trees that are switched on; none while their asset is missing."""
    info, options = subject.facts.description.trees, subject.options
    if info is None or not (options.body_trees or options.mesh_trees or options.flex_trees):
        return ()
    arrays = subject.scene.asset(info.digest)
    if arrays is None:
        return ()
    try:
        active = subject.value(Topic.VOLUMES, "active", -1)
        trees = _Trees(arrays, level=options.tree_depth, active=active)
        found = []
        if options.body_trees:
            found.append(_of_bodies(subject, trees))
        if options.mesh_trees:
            found.extend(_of_meshes(subject, trees))
        if options.flex_trees:
            found.extend(_of_flexes(subject, trees))
    except (KeyError, ValueError, IndexError):
        return ()  # damaged: a picture without boxes, as one without that mesh
    return tuple(_usable(boxes) for boxes in found)


def _usable(boxes: TreeBoxes) -> TreeBoxes:
    good = np.isfinite(boxes.pos).all(axis=1) & np.isfinite(boxes.half).all(axis=1)
    good &= (boxes.half < _ENDLESS).all(axis=1) & np.isfinite(boxes.mat).all(axis=(1, 2))
    return TreeBoxes(
        boxes.kind,
        boxes.index[good],
        boxes.pos[good],
        boxes.mat[good],
        boxes.half[good],
        boxes.searched[good],
    )


def _placed(
    kind: ElementKind,
    index: Ints,
    aabb: Floats,
    frames: tuple[Floats, Floats],
    searched: Bools,
) -> TreeBoxes:
    pos, mat = frames
    center = pos + np.einsum("nij,nj->ni", mat, aabb[:, :3])
    return TreeBoxes(kind, index, center, mat, aabb[:, 3:], searched)


def _of_bodies(subject: Subject, trees: _Trees) -> TreeBoxes:
    """A body's boxes stand in its inertial frame, those around one geom in that geom's."""
    scene, bodies = subject.scene, subject.facts.bodies
    per_body = [trees.shown("body", body) for body in range(len(scene.body_pos))]
    nodes = np.concatenate([*per_body, np.zeros(0, dtype=np.int64)]).astype(np.int64)
    body = np.repeat(np.arange(len(per_body)), [len(own) for own in per_body])
    pos = subject.centers_of_mass[body]
    mat = np.matmul(scene.body_mat[body], bodies.imat[body])
    geom = trees.element[nodes]
    own = (geom >= 0) & (geom < scene.items.n_geoms)
    pos[own], mat[own] = scene.item_pos[geom[own]], scene.item_mat[geom[own]]
    return _placed(ElementKind.BODY, body, trees.aabb[nodes], (pos, mat), trees.searched[nodes])


def _of_meshes(subject: Subject, trees: _Trees) -> Iterator[TreeBoxes]:
    """Yield the boxes about the faces of meshes, and the cells of octrees where there are any."""
    scene = subject.scene
    shown = scene.visible(subject.options)
    nodes, geoms = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for number, info in enumerate(scene.items.infos):
        if isinstance(info, GeomInfo) and info.mesh >= 0 and shown[number]:
            cells = trees.octree(info.mesh)
            if cells is not None:
                place = scene.item_pos[[number] * len(cells)], scene.item_mat[[number] * len(cells)]
                index = np.full(len(cells), number)
                yield _placed(
                    ElementKind.GEOM,
                    index,
                    trees.oct_aabb[cells],
                    place,
                    np.zeros(len(cells), dtype=np.bool_),
                )
                continue
            own = trees.shown("mesh", info.mesh)
            nodes.append(own)
            geoms.append(np.full(len(own), number))
    geom, node = np.concatenate(geoms), np.concatenate(nodes)
    frames = scene.item_pos[geom], scene.item_mat[geom]
    yield _placed(ElementKind.GEOM, geom, trees.aabb[node], frames, trees.searched[node])


def _of_flexes(subject: Subject, trees: _Trees) -> Iterator[TreeBoxes]:
    """Yield the boxes of flexes from where their vertices are, along the world's axes."""
    scene = subject.scene
    points = subject.value(Topic.DEFORMABLE, "flexvert_xpos", -1, 3)
    shown = scene.visible(subject.options)
    for index, info in enumerate(subject.facts.description.flexes):
        arrays = scene.asset(info.digest)
        if points is None or arrays is None or not shown[scene.items.of_flex(index)[0]]:
            continue
        own = points[info.vert : info.vert + info.nvert]
        elements = np.asarray(arrays["elements"], dtype=np.int64).reshape(-1, info.dim + 1)
        first, end = trees.range("flex", index)
        low, high = _around(trees, first, end, own[elements], info.radius)
        chosen = trees.shown("flex", index) - first
        half = (high[chosen] - low[chosen]) / 2.0
        yield TreeBoxes(
            ElementKind.FLEX,
            np.full(len(chosen), index),
            low[chosen] + half,
            np.broadcast_to(np.eye(3), (len(chosen), 3, 3)),
            half,
            trees.searched[first + chosen],
        )


def _around(
    trees: _Trees, first: int, end: int, corners: Floats, radius: float
) -> tuple[Floats, Floats]:
    """Return lower and upper corners (n, 3) of a tree over elements (nelem, k, 3): ends first."""
    element, child, depth = (
        values[first:end] for values in (trees.element, trees.child, trees.depth)
    )
    low, high = np.full((end - first, 3), np.inf), np.full((end - first, 3), -np.inf)
    leaf = element >= 0
    low[leaf] = corners[element[leaf]].min(axis=1) - radius
    high[leaf] = corners[element[leaf]].max(axis=1) + radius
    for level in range(int(depth.max(initial=0)), -1, -1):
        inner = np.flatnonzero((depth == level) & ~leaf)
        low[inner] = low[child[inner]].min(axis=1)
        high[inner] = high[child[inner]].max(axis=1)
    return low, high


def tree_glyphs(subject: Subject) -> Iterator[Glyphs]:
    """Yield the edges of the boxes, at most MOST_BOXES of each kind; those searched come last."""
    for boxes in tree_boxes(subject):
        count = min(len(boxes.pos), MOST_BOXES)
        turned = boxes.mat[:count] * boxes.half[:count, None]
        ends = boxes.pos[:count, None, None] + np.einsum("bij,eaj->beai", turned, BOX_EDGES)
        searched = boxes.searched[:count]
        for chosen, color in ((~searched, Role.TREE), (searched, Role.SEARCHED)):
            if chosen.any():
                yield lines(
                    ends[chosen, :, 0].reshape(-1, 3),
                    ends[chosen, :, 1].reshape(-1, 3),
                    radius=0.0,
                    color=color,
                ).of_elements(boxes.kind, np.repeat(boxes.index[:count][chosen], len(BOX_EDGES)))
