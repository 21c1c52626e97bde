"""What is on show, without any OpenGL: a description, its assets, poses, and merged buffers."""

import logging
from collections.abc import Callable, Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.assets import asset_digests
from stroboscope.app.models.selection import Element
from stroboscope.app.models.view_options import ViewOptions
from stroboscope.app.view3d import places
from stroboscope.app.view3d.deformables import Deformables, SoftGeometry
from stroboscope.app.view3d.environments import EnvironmentGrid
from stroboscope.app.view3d.flexes import FlexLook
from stroboscope.app.view3d.geometry_builder import (
    BuildJob,
    GeometryBuilder,
    load_meshes,
    undecimated,
)
from stroboscope.app.view3d.ghosts import GHOST_RGBA, Ghost, OtherPose, pose_texels
from stroboscope.app.view3d.items import ItemKind, Items, TextureUse
from stroboscope.app.view3d.looks import (
    SIZES,
    described_as_told,
    items_as_told,
    items_of_told_sizes,
    tendons_as_told,
)
from stroboscope.app.view3d.mesh_detail import MeshDetail
from stroboscope.app.view3d.rotations import compose, quat_to_matrix
from stroboscope.app.view3d.scene_geometry import (
    AssetArrays,
    Buffers,
    build_buffers,
    build_hulls,
)
from stroboscope.debugger_protocol.scene_description import GeomInfo, SceneDescription
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["Buffers", "DrawnScene", "Ghost"]

_log = logging.getLogger(__name__)
# What takes longer to prepare than a click may take is prepared beside the GUI thread.
_HEAVY_FACES, _HEAVY_ITEMS = 20_000, 1500


_NOTHING = Items.of(SceneDescription(scene_id=0, name=""))


class DrawnScene:
    """The scene on show. Used on the GUI thread; revisions tell the renderer what changed."""

    def __init__(self) -> None:
        # With the cameras and lights that the script has written; and as it was given.
        self.description: SceneDescription | None = None
        self.described: SceneDescription | None = None
        # As described; with the sizes that the script has written; with its colours and places.
        self.items = self._sized = self._described = Items.of(SceneDescription(scene_id=0, name=""))
        self._told: Mapping[str, NDArray[np.generic]] = {}  # of the topic LOOKS
        self.look_revision = 0  # grows when items are painted or placed anew
        # Newest arrays of each topic that somebody draws, of the same instant as the poses.
        self.values: dict[Topic, Mapping[str, NDArray[np.generic]]] = {}
        self.values_revision = 0
        self._hidden = np.zeros(0, dtype=np.bool_)
        self.geometry_revision = 0
        self.pose_revision = 0
        self.has_poses = False
        self.body_pos = np.zeros((1, 3))
        self.body_mat = np.eye(3)[None]
        self.item_pos = np.zeros((0, 3))
        self.item_mat = np.zeros((0, 3, 3))
        self._first_body_mat = self.body_mat
        self.ground_height = 0.0
        self.foot_height = 0.0
        self._assets: dict[str, AssetArrays] = {}
        self._meshes: dict[str, MeshDetail | None] = {}  # None: damaged
        self._buffers: Buffers | None = None
        self._stale = False  # whether there is more to merge than the buffers hold
        self._hulls: Buffers | None = None
        self._build_revision = 0  # grows with whatever the buffers are made of
        self._whole = 0  # the last one of which all shapes were taken over
        self._builder = GeometryBuilder(self._on_built)
        # Called on another thread when meshes have become ready that were not so far.
        self.built_listeners: list[Callable[[], None]] = []
        self._deformables = Deformables(SceneDescription(scene_id=0, name=""), self.items, {})
        self._soft_key: object = None
        self._soft: dict[FlexLook, SoftGeometry] = {}
        self.ghost: Ghost | None = None
        # (nitem, 4) float32: a colour over each item and how much of it, 0…1; None: all their own.
        self.tints: NDArray[np.float32] | None = None
        self.ghost_revision = 0
        # Ghosts and environments beside the scene itself.
        self.others: tuple[Ghost, ...] = ()
        # Where environments stand, while several are drawn.
        self.environments: EnvironmentGrid | None = None
        self.others_revision = 0

    def set_description(
        self, description: SceneDescription | None, assets: Mapping[str, AssetArrays]
    ) -> None:
        """Show another scene, or another revision of this one.

        What moves is hidden until its first poses; a revision with the same bodies keeps those
        it had, so that nothing jumps.
        """
        before = self.description
        kept = (
            before is not None
            and description is not None
            and before.scene_id == description.scene_id
            and [body.name for body in before.bodies] == [body.name for body in description.bodies]
        )
        self.description = self.described = description
        self._assets = dict(assets)
        wanted = _digests(description)
        self._build_revision += 1
        self._hulls = None
        self.ghost = self.tints = None
        self.ghost_revision += 1
        self.others = ()
        self.environments = None
        self.others_revision += 1
        self._meshes = {d: mesh for d, mesh in self._meshes.items() if d in wanted}
        shown = description or SceneDescription(scene_id=0, name="")
        self.items = self._sized = self._described = Items.of(shown)
        self._told = {}
        self._hidden = np.zeros(len(self.items), dtype=np.bool_)
        self._make_deformables()
        self.values = {}
        self.values_revision += 1
        self._buffers = None
        self.geometry_revision += 1
        if kept:
            self._apply(self.body_pos, self.body_mat)
            return
        n_bodies = max(len(shown.bodies), 1)
        self._apply(np.zeros((n_bodies, 3)), np.broadcast_to(np.eye(3), (n_bodies, 3, 3)))
        self.has_poses = False

    def set_values(self, topic: Topic, arrays: Mapping[str, NDArray[np.generic]] | None) -> None:
        """Keep the arrays of a topic, None: forget them."""
        if arrays is None:
            self.values.pop(topic, None)
        else:
            self.values[topic] = arrays
        self.values_revision += 1
        if topic is Topic.LOOKS:
            self._wear(arrays)

    def _wear(self, arrays: Mapping[str, NDArray[np.generic]] | None) -> None:
        """Look as the script says; None: as the model was described."""
        told = dict(arrays or {})
        if _equal(told, self._told):
            return
        before, self._told = self._told, told
        if self.described is not None:
            self.description = described_as_told(self.described, told)
        resized = not _equal(_sizes(before), _sizes(told)) and self._resize()
        self.items = items_as_told(self._sized, told) if told else self._sized
        self.look_revision += 1
        if resized:
            self._make_deformables()
            self._stale = True
            if not self._is_heavy():
                self.geometry_revision += 1
        self._apply(self.body_pos, self.body_mat)

    def _resize(self) -> bool:
        """Take the sizes that are told; return whether shapes have to be made anew."""
        description = self.description or SceneDescription(scene_id=0, name="")
        before, told = self._sized, self._told
        self._sized = items_of_told_sizes(self._described, description, told)
        return self._sized is not before or bool(description.tendons)

    def value(self, topic: Topic, name: str) -> NDArray[np.float64] | None:
        """Return one array as float64, None when it is not known."""
        array = self.values.get(topic, {}).get(name)
        return None if array is None else np.asarray(array, dtype=np.float64)

    def set_hidden(self, elements: frozenset[Element]) -> None:
        """Leave these shapes out of the picture; those that do not exist are ignored."""
        hidden = np.zeros(len(self.items), dtype=np.bool_)
        if self.description is not None:
            for element in elements:
                hidden[self.items.of_element(element, self.description)] = True
        self._hidden = hidden

    def set_asset(self, digest: str, arrays: AssetArrays) -> None:
        """Take the arrays of an asset that has arrived; unknown ones are ignored."""
        trees = self.description.trees if self.description is not None else None
        if trees is not None and trees.digest == digest:
            self._assets[digest] = arrays
            self.values_revision += 1  # only overlays show them
        elif digest in _digests(self.description):
            self._assets[digest] = arrays
            self._meshes.pop(digest, None)
            self._hulls, self._stale = None, True
            self._build_revision += 1
            self._make_deformables()
            self.geometry_revision += 1

    def asset(self, digest: str) -> AssetArrays | None:
        """Return the arrays of an asset, None while it is missing."""
        return self._assets.get(digest)

    def set_poses(self, xpos: NDArray[np.float64], xquat: NDArray[np.float64]) -> None:
        """Move the bodies to ``xpos`` (nbody, 3) [m] and ``xquat`` (nbody, 4) wxyz.

        Raises ValueError when the shapes do not fit the description. Non-finite poses hide
        their bodies, rather than the whole picture.
        """
        expected = len(self.body_pos)
        pos = np.asarray(xpos, dtype=np.float64)
        quat = np.asarray(xquat, dtype=np.float64)
        if pos.shape != (expected, 3) or quat.shape != (expected, 4):
            raise ValueError(
                f"poses of {expected} bodies are expected, as (nbody, 3) and (nbody, 4);"
                f" got {pos.shape} and {quat.shape}"
            )
        self._apply(pos, quat_to_matrix(quat))
        if not self.has_poses:
            self._first_body_mat = self.body_mat
            self.ground_height = places.ground_under(self)
            self.foot_height = places.foot_height(self)
            self.has_poses = True

    def _apply(self, pos: NDArray[np.float64], mat: NDArray[np.float64]) -> None:
        self.body_pos, self.body_mat = pos, mat
        items = self.items
        self.item_pos, self.item_mat = compose(
            pos[items.body], mat[items.body], pos=items.pos, mat=items.mat
        )
        self.pose_revision += 1

    def pose_texels(self) -> NDArray[np.float32]:
        """Return (nitem, 3, 4) float32: the rows of each item's 3x4 item-to-world matrix."""
        return pose_texels(self.item_pos, self.item_mat)

    def set_ghost(
        self,
        xpos: NDArray[np.float64] | None,
        xquat: NDArray[np.float64] | None,
        *,
        rgba: tuple[float, float, float, float] = GHOST_RGBA,
    ) -> None:
        """Draw the scene once more, see-through, with its bodies at other poses; None: no more.

        ``xpos`` (nbody, 3) [m] and ``xquat`` (nbody, 4) wxyz. What stands where the scene itself
        stands is left out. Raises ValueError when the shapes do not fit the description.
        """
        self.ghost_revision += 1
        if xpos is None or xquat is None:
            self.ghost = None
            return
        expected = len(self.body_pos)
        pos, quat = np.asarray(xpos, dtype=np.float64), np.asarray(xquat, dtype=np.float64)
        if pos.shape != (expected, 3) or quat.shape != (expected, 4):
            raise ValueError(f"a ghost of {expected} bodies is expected; got {pos.shape}")
        self.set_ghost_frames(pos, quat_to_matrix(quat), rgba=rgba)

    def set_ghost_frames(
        self,
        pos: NDArray[np.float64],
        mat: NDArray[np.float64],
        *,
        rgba: tuple[float, float, float, float] = GHOST_RGBA,
    ) -> None:
        """Draw the ghost at body frames ``pos`` (nbody, 3) [m], ``mat`` (nbody, 3, 3)."""
        items = self.items
        self.ghost_revision += 1
        self.ghost = Ghost(
            *compose(pos[items.body], mat[items.body], pos=items.pos, mat=items.mat), rgba=rgba
        )

    def set_others(
        self, others: Sequence[OtherPose], environments: EnvironmentGrid | None = None
    ) -> None:
        """Draw the scene once more for each of these; ``environments``: where some of them stand.

        Raises ValueError when the shapes do not fit the description; then all stays as it was.
        """
        expected = len(self.body_pos)
        items, made = self.items, []
        for other in others:
            if other.xpos.shape != (expected, 3) or other.xquat.shape != (expected, 4):
                raise ValueError(f"poses of {expected} bodies are expected; got {other.xpos.shape}")
            mat = quat_to_matrix(other.xquat)
            placed = compose(other.xpos[items.body], mat[items.body], pos=items.pos, mat=items.mat)
            made.append(Ghost(*placed, rgba=other.rgba, tint=other.tint, env=other.env))
        self.others = tuple(made)
        self.environments = environments
        self.others_revision += 1

    def ghost_items(self, ghost: Ghost, options: ViewOptions) -> NDArray[np.int64]:
        """Return the items whose ghost stands somewhere else than they do."""
        shown = self.visible(options, lost=True) & ~self.items.is_plane
        shown &= (self.items.kind == ItemKind.GEOM) & np.isfinite(ghost.pos).all(axis=1)
        reach = np.maximum(self.items.radius, 1e-3)
        # Those that stand nowhere are elsewhere, too.
        stays = np.abs(ghost.pos - self.item_pos).max(axis=1) <= 1e-3 * reach
        stays &= np.abs(ghost.mat - self.item_mat).max(axis=(1, 2)) <= 1e-3
        return np.flatnonzero(shown & ~stays)

    @property
    def first_body_mat(self) -> NDArray[np.float64]:
        """The body rotations (nbody, 3, 3) of the first poses; tracking cameras keep them."""
        return self._first_body_mat

    def visible(self, options: ViewOptions, *, lost: bool = False) -> NDArray[np.bool_]:
        """Return (nitem,) bool: which items groups and people let through, planes included.

        ``lost``: those whose place is not finite, too.
        """
        nothing = (False,) * 6
        groups = np.array(
            [
                options.geom_groups,
                options.site_groups,
                options.flex_groups,
                options.skin_groups if options.skins else nothing,
                options.tendon_groups if options.tendons else nothing,
                options.flex_groups,
            ]
        )
        items = self.items
        shown = groups[items.kind, items.group] & ~self._hidden
        finite = np.isfinite(self.item_pos).all(axis=1) & np.isfinite(self.item_mat).all((1, 2))
        placed = self.has_poses | (items.body == 0)
        if not options.static_bodies:
            placed &= (items.body != 0) | (items.kind > ItemKind.SITE)
        return np.asarray(shown & (finite | lost) & placed & (items.material[:, 0, 3] > 0.0))

    # Geometry

    def buffers(self) -> Buffers:
        """Return the merged vertex and face arrays of what is ready.

        What takes long is prepared on a thread of its own: ``built_listeners`` are told, and
        :meth:`collect` takes it over.
        """
        if self._buffers is None or self._stale:
            self._stale = False
            description = self.description or SceneDescription(scene_id=0, name="")
            heavy = self._is_heavy()
            if not heavy:
                self._meshes = load_meshes(description, self._assets, self._meshes)
                self._buffers = build_buffers(description, self.items, self._assets, self._meshes)
            elif self._buffers is None:  # at first only what is made in no time
                light = _NOTHING if self._is_crowd else self.items
                buffers = build_buffers(description, light, self._assets, {})
                self._buffers = buffers.padded(len(self.items))
            if heavy or undecimated(self._assets, self._meshes, self._textured()):
                self._request_build(description)
        return self._buffers

    @property
    def _is_crowd(self) -> bool:
        return len(self.items) > _HEAVY_ITEMS

    def _is_heavy(self) -> bool:
        """Whether geometry is prepared beside the GUI thread."""
        return self._is_crowd or self._mesh_faces() > _HEAVY_FACES

    def _request_build(self, description: SceneDescription) -> None:
        self._builder.request(
            BuildJob(
                self._build_revision,
                description,
                self.items,
                dict(self._assets),
                dict(self._meshes),
                self._textured(),
            )
        )

    def collect(self) -> None:
        """Take over what has been prepared meanwhile."""
        built = self._builder.take()
        if built is None:
            return
        known = _digests(self.description)
        self._meshes |= {digest: mesh for digest, mesh in built.meshes.items() if digest in known}
        if built.revision == self._build_revision:
            # Where sizes have changed meanwhile, a job with those is on its way.
            self._buffers, self._whole = built.buffers, built.revision
            self.geometry_revision += 1

    @property
    def lacks_shapes(self) -> bool:
        """Whether shapes are still being prepared that the buffers have nothing of."""
        coming = self._builder.busy or self._stale or self._buffers is None
        return coming and self._whole < self._build_revision and self._is_heavy()

    def finish_building(self, timeout: float = 20.0) -> None:
        """Wait at most ``timeout`` [s] until everything that is here can be drawn, for pictures."""
        self.collect()
        self.buffers()
        self._builder.wait(timeout)
        self.collect()

    def _on_built(self) -> None:
        for listener in list(self.built_listeners):
            listener()

    def _mesh_faces(self) -> int:
        """Return how many faces of meshes there are to merge."""
        if self.description is None:
            return 0
        faces = [
            mesh.nface if mesh.digest in self._assets else 0 for mesh in self.description.meshes
        ]
        return sum(
            faces[info.mesh]
            for info in self.items.infos
            if isinstance(info, GeomInfo) and 0 <= info.mesh < len(faces)
        )

    def _textured(self) -> frozenset[str]:
        """Return the meshes whose texture coordinates count, and must not get lost."""
        description = self.description
        if description is None:
            return frozenset()
        use = self.items.material[:, 2, 0] == TextureUse.UV
        painted = {
            info.mesh
            for info, textured in zip(self.items.infos, use.tolist(), strict=False)
            if textured and isinstance(info, GeomInfo)
        }
        return frozenset(
            mesh.digest
            for index, mesh in enumerate(description.meshes)
            if index in painted and "texcoords" in self._assets.get(mesh.digest, {})
        )

    def hulls(self) -> Buffers:
        """Return the convex hulls of mesh geoms, built when first asked for."""
        if self._hulls is None:
            description = self.description or SceneDescription(scene_id=0, name="")
            self._hulls = build_hulls(description, self.items, self._assets)
        return self._hulls

    def _make_deformables(self) -> None:
        description = self.description or SceneDescription(scene_id=0, name="")
        told = tendons_as_told(description.tendons, self._told)
        if told is not description.tendons:
            description = msgspec.structs.replace(description, tendons=told)
        self._deformables = Deformables(description, self.items, self._assets)
        self._soft = {}

    def soft(self, look: FlexLook | None = None) -> SoftGeometry:
        """Return what changes its shape, as it is now; flexes with their skins or as they look."""
        key = (self._build_revision, self.pose_revision, self.values_revision)
        if self._soft_key != key:
            self._soft_key, self._soft = key, {}
        chosen = look or FlexLook()
        if chosen not in self._soft:
            self._soft[chosen] = self._deformables.geometry(
                self.body_pos, self.body_mat, self.values, chosen
            )
        return self._soft[chosen]

    def at_limit(self) -> NDArray[np.int64]:
        """Return the items of tendons at a limit of their length."""
        return self._deformables.at_limit(self.values)

    def _box_of(
        self, items: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return centres (n, 3), half boxes (n, 3) and radii (n,) [m] of ``items`` as they are."""
        pos, box = self.item_pos[items].copy(), self.items.box[items].copy()
        radius = self.items.radius[items].copy()
        soft = items >= self.items.n_rigid
        if soft.any():
            geometry = self.soft()
            low, high = geometry.low[items[soft]], geometry.high[items[soft]]
            # A flex whose vertices are still to come is about where the bodies are that carry it.
            bodies = self.body_pos[1:][np.isfinite(self.body_pos[1:]).all(axis=1)]
            unknown = (low[:, 0] > high[:, 0]) & (self.items.kind[items[soft]] == ItemKind.FLEX)
            if len(bodies) and unknown.any():
                low[unknown], high[unknown] = bodies.min(axis=0), bodies.max(axis=0)
            with np.errstate(invalid="ignore"):
                pos[soft], box[soft] = (low + high) / 2.0, (high - low) / 2.0
            radius[soft] = np.linalg.norm(box[soft], axis=1)
        return pos, box, radius

    def near_ray(
        self,
        origin: NDArray[np.float64],
        direction: NDArray[np.float64],
        *,
        options: ViewOptions,
        slack: float,
    ) -> NDArray[np.int64]:
        """Return the shown items whose boxes, ``slack`` [m] wider, a ray goes through."""
        buffers = self.buffers()
        low, high = buffers.low, buffers.high
        if self._deformables.any:
            soft = self.soft(FlexLook.of(options))
            low, high = np.minimum(low, soft.low), np.maximum(high, soft.high)
        shown = self.visible(options) & ~self.items.is_plane & (low[:, 0] < np.inf)
        items = np.flatnonzero(shown)
        mat = self.item_mat[items]
        start = np.einsum("nji,nj->ni", mat, origin - self.item_pos[items])
        along = np.einsum("nji,j->ni", mat, direction)
        along = np.where(np.abs(along) < 1e-12, 1e-12, along)
        near = (low[items] - slack - start) / along
        far = (high[items] + slack - start) / along
        enter = np.minimum(near, far).max(axis=1)
        leave = np.maximum(near, far).min(axis=1)
        return np.asarray(items[(leave >= enter) & (leave >= 0.0)])

    def bounds(self, items: NDArray[np.int64]) -> tuple[NDArray[np.float64], float] | None:
        """Return centre (3,) and radius [m] of a sphere about ``items``, None for nothing."""
        pos, _, radius = self._box_of(items)
        known = np.isfinite(pos).all(axis=1)
        pos, radius = pos[known], radius[known]
        if not len(pos):
            return None
        low, high = (pos - radius[:, None]).min(axis=0), (pos + radius[:, None]).max(axis=0)
        center = (low + high) / 2.0
        reach = np.linalg.norm(pos - center, axis=1) + radius
        return center, max(float(reach.max()), 1e-4)

    def corners(self, items: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the corners (8 n, 3) [m] of the boxes about ``items``."""
        pos, box, _ = self._box_of(items)
        known = np.isfinite(pos).all(axis=1)
        signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        local = signs[None] * box[known][:, None, :]
        turned = np.einsum("nij,nkj->nki", self.item_mat[items][known], local)
        return np.asarray((pos[known][:, None, :] + turned).reshape(-1, 3))

    def scene_items(self, options: ViewOptions) -> NDArray[np.int64]:
        """Return the items that :meth:`scene_bounds` is about."""
        shown = self.visible(options) & ~self.items.is_plane & ~self.items.is_site
        moving = shown & ((self.items.body != 0) | (self.items.kind > ItemKind.SITE))
        everything = self.bounds(np.flatnonzero(shown))
        movers = self.bounds(np.flatnonzero(moving))
        dwarfed = everything is not None and movers is not None and everything[1] > 4.0 * movers[1]
        return np.flatnonzero(moving if dwarfed else shown)

    def scene_bounds(self, options: ViewOptions) -> tuple[NDArray[np.float64], float]:
        """Return centre and radius of what matters: shown shapes, without endless surroundings.

        Static geoms are left out when they would dwarf what moves (a room around a robot).
        """
        return places.scene_bounds(self, options)

    def framing_points(self, options: ViewOptions) -> NDArray[np.float64]:
        """Return points (n, 3) [m] that a good first look at the scene holds.

        The boxes of what matters and the floor below it, where it may be about to fall. Not the
        model's extent: MuJoCo's own guess takes endless floors in and makes a humanoid tiny.
        """
        points = places.framing_points(self, options)
        return points if self.environments is None else self.environments.around(points)

    def reach_points(self, options: ViewOptions) -> NDArray[np.float64]:
        """Return points (n, 3) [m] where arms of what matters may come to, above all."""
        points = places.reach_points(self, self.scene_items(options))
        return points if self.environments is None else self.environments.around(points)

    @property
    def scene_center(self) -> NDArray[np.float64]:
        """Where the bodies are, on average (3,) [m]."""
        return np.asarray(np.nan_to_num(self.body_pos).mean(axis=0))

    def element_bounds(self, element: Element) -> tuple[NDArray[np.float64], float] | None:
        """Return centre and radius of ``element``, None when nothing of it has a place."""
        if self.description is None:
            return None
        items = self.items.of_element(element, self.description)
        at = self.element_position(element)
        near = (at, 0.1) if at is not None and np.isfinite(at).all() else None
        return self.bounds(items) or near

    def subtree_center(self, body: int) -> NDArray[np.float64]:
        """Return the centre of mass (3,) of ``body`` and everything below it."""
        return places.subtree_center(self, body)

    def element_position(self, element: Element) -> NDArray[np.float64] | None:
        """Return the world position (3,) [m] of an element's own frame, None when it has none."""
        return places.element_position(self, element)


def _sizes(told: Mapping[str, NDArray[np.generic]]) -> dict[str, NDArray[np.generic]]:
    return {name: told[name] for name in SIZES if name in told}


def _equal(
    one: Mapping[str, NDArray[np.generic]], other: Mapping[str, NDArray[np.generic]]
) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[n], other[n]) for n in one)


def _digests(description: SceneDescription | None) -> frozenset[str]:
    return frozenset() if description is None else frozenset(asset_digests(description))
