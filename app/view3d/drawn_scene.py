"""What is on show, without any OpenGL: a description, its assets, poses, and merged buffers."""

import dataclasses
import logging
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.view_options import ViewOptions
from stroboscope.app.view3d import shapes
from stroboscope.app.view3d.items import Items, body_of, primitive_mesh
from stroboscope.app.view3d.meshes import expand_mesh
from stroboscope.app.view3d.rotations import compose, quat_to_matrix
from stroboscope.debugger_protocol.scene_description import (
    CameraInfo,
    GeomInfo,
    GeomType,
    HeightFieldInfo,
    LightInfo,
    SceneDescription,
    SiteInfo,
)
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["Buffers", "DrawnScene"]

_log = logging.getLogger(__name__)
AssetArrays = Mapping[str, NDArray[np.generic]]
VERTEX = np.dtype(
    [
        ("a_position", np.float32, 3),
        ("a_normal", np.float32, 3),
        ("a_uv", np.float32, 2),
        ("a_item", np.float32),
    ]
)
# Beyond this many items primitives get fewer segments, so that a crowd stays drawable.
CROWD = 600
# A floor further below than this many radii says nothing about how to look at a scene.
_FALL = 30.0


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Buffers:
    """All vertices of a scene in one array, and which faces belong to which item.

    ``faces`` (m, 3) uint32 are ordered by item; item i owns ``faces[start[i]:start[i + 1]]``.
    ``low`` and ``high`` (n, 3) [m] bound each item's vertices in its own frame.
    """

    vertices: NDArray[np.void]
    faces: NDArray[np.uint32]
    start: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def faces_of(self, items: NDArray[np.int64]) -> NDArray[np.uint32]:
        """Return the faces of ``items``, in that order."""
        parts = [self.faces[self.start[i] : self.start[i + 1]] for i in items]
        return np.concatenate(parts) if parts else np.empty((0, 3), dtype=np.uint32)


class DrawnScene:
    """The scene on show. Used on the GUI thread; revisions tell the renderer what changed."""

    def __init__(self) -> None:
        self.description: SceneDescription | None = None
        self.items = Items.of(SceneDescription(scene_id=0, name=""))
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
        self._assets: dict[str, AssetArrays] = {}
        self._meshes: dict[str, shapes.Mesh | None] = {}  # None: damaged
        self._buffers: Buffers | None = None

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
        self.description = description
        self._assets = dict(assets)
        wanted = _digests(description)
        self._meshes = {d: mesh for d, mesh in self._meshes.items() if d in wanted}
        shown = description or SceneDescription(scene_id=0, name="")
        self.items = Items.of(shown)
        self._hidden = np.zeros(len(self.items), dtype=np.bool_)
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

    def value(self, topic: Topic, name: str) -> NDArray[np.float64] | None:
        """Return one array as float64, None when it is not known."""
        array = self.values.get(topic, {}).get(name)
        return None if array is None else np.asarray(array, dtype=np.float64)

    def set_hidden(self, geoms: frozenset[int], sites: frozenset[int]) -> None:
        """Leave these geoms and sites out of the picture; indices that do not exist are ignored."""
        hidden = np.zeros(len(self.items), dtype=np.bool_)
        hidden[[i for i in geoms if i < self.items.n_geoms]] = True
        first = self.items.n_geoms
        hidden[[first + i for i in sites if first + i < len(self.items)]] = True
        self._hidden = hidden

    def set_asset(self, digest: str, arrays: AssetArrays) -> None:
        """Take the arrays of an asset that has arrived; unknown ones are ignored."""
        if digest in _digests(self.description):
            self._assets[digest] = arrays
            self._meshes.pop(digest, None)
            self._buffers = None
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
            self.ground_height = self._ground_under()
            self.has_poses = True

    def _apply(self, pos: NDArray[np.float64], mat: NDArray[np.float64]) -> None:
        self.body_pos, self.body_mat = pos, mat
        items = self.items
        self.item_pos, self.item_mat = compose(
            pos[items.body], mat[items.body], pos=items.pos, mat=items.mat
        )
        self.pose_revision += 1

    def _ground_under(self) -> float:
        """Return the height [m] of a ground that nothing of the scene stands below.

        That is z = 0 unless the scene reaches below it or hangs far above it. Taken once, from
        the first poses: a ground that moves with the robot would hide that it falls.
        """
        shown = ~self.items.is_plane & (self.items.group < 3) & np.isfinite(self.item_pos).all(1)
        shown[self.items.n_geoms :] = False
        if not shown.any():
            return 0.0
        down = self.items.reach_along(self.item_mat[:, 2, :])
        lowest = float((self.item_pos[:, 2] - down)[shown].min())
        highest = float((self.item_pos[:, 2] + down)[shown].max())
        height = highest - lowest
        return 0.0 if -1e-3 * height <= lowest <= height else lowest

    def pose_texels(self) -> NDArray[np.float32]:
        """Return (nitem, 3, 4) float32: the rows of each item's 3x4 item-to-world matrix."""
        texels = np.empty((len(self.items), 3, 4), dtype=np.float32)
        texels[:, :, :3] = self.item_mat
        texels[:, :, 3] = self.item_pos
        return texels

    @property
    def first_body_mat(self) -> NDArray[np.float64]:
        """The body rotations (nbody, 3, 3) of the first poses; tracking cameras keep them."""
        return self._first_body_mat

    def visible(self, options: ViewOptions) -> NDArray[np.bool_]:
        """Return (nitem,) bool: which items groups and people let through, planes included."""
        groups = np.array([options.geom_groups, options.site_groups])
        is_site = np.arange(len(self.items)) >= self.items.n_geoms
        shown = groups[is_site.astype(np.int64), self.items.group] & ~self._hidden
        finite = np.isfinite(self.item_pos).all(axis=1) & np.isfinite(self.item_mat).all((1, 2))
        placed = self.has_poses | (self.items.body == 0)
        return np.asarray(shown & finite & placed & (self.items.material[:, 0, 3] > 0.0))

    def buffers(self) -> Buffers:
        """Return the merged vertex and face arrays, built when something changed."""
        if self._buffers is None:
            self._buffers = self._build()
        return self._buffers

    def _build(self) -> Buffers:
        segments = 32 if len(self.items) <= CROWD else 16
        vertices, faces, counts, offset = [], [], [], 0
        low, high = np.full((len(self.items), 3), np.inf), np.full((len(self.items), 3), -np.inf)
        for item, info in enumerate(self.items.infos):
            mesh = self._mesh_of(info, segments)
            if mesh is None:
                counts.append(0)
                continue
            part = np.empty(len(mesh.vertices), dtype=VERTEX)
            part["a_position"], part["a_normal"] = mesh.vertices, mesh.normals
            part["a_uv"], part["a_item"] = mesh.uv, item
            vertices.append(part)
            faces.append(mesh.faces + np.uint32(offset))
            counts.append(len(mesh.faces))
            offset += len(mesh.vertices)
            low[item], high[item] = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
        return Buffers(
            np.concatenate(vertices) if vertices else np.zeros(0, dtype=VERTEX),
            np.concatenate(faces) if faces else np.zeros((0, 3), dtype=np.uint32),
            np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]),
            low,
            high,
        )

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
        shown = self.visible(options) & ~self.items.is_plane & (buffers.low[:, 0] < np.inf)
        items = np.flatnonzero(shown)
        mat = self.item_mat[items]
        start = np.einsum("nji,nj->ni", mat, origin - self.item_pos[items])
        along = np.einsum("nji,j->ni", mat, direction)
        along = np.where(np.abs(along) < 1e-12, 1e-12, along)
        near = (buffers.low[items] - slack - start) / along
        far = (buffers.high[items] + slack - start) / along
        enter = np.minimum(near, far).max(axis=1)
        leave = np.maximum(near, far).min(axis=1)
        return np.asarray(items[(leave >= enter) & (leave >= 0.0)])

    def _mesh_of(self, info: GeomInfo | SiteInfo, segments: int) -> shapes.Mesh | None:
        description = self.description
        if description is None or info.type is GeomType.PLANE:
            return None
        if isinstance(info, GeomInfo) and info.type in (GeomType.MESH, GeomType.SDF):
            if not 0 <= info.mesh < len(description.meshes):
                return None
            return self._asset_mesh(description.meshes[info.mesh].digest)
        if isinstance(info, GeomInfo) and info.type is GeomType.HFIELD:
            if not 0 <= info.hfield < len(description.hfields):
                return None
            field = description.hfields[info.hfield]
            arrays = self._assets.get(field.digest)
            if arrays is None:
                return None
            return _height_field(arrays, field)
        return primitive_mesh(info, segments=segments)

    def _asset_mesh(self, digest: str) -> shapes.Mesh | None:
        if digest not in self._meshes and digest in self._assets:
            try:
                self._meshes[digest] = expand_mesh(self._assets[digest])
            except (KeyError, ValueError, TypeError, IndexError) as error:
                _log.warning(
                    "mesh %s… can't be drawn: its arrays are damaged (%r)", digest[:12], error
                )
                self._meshes[digest] = None
        return self._meshes.get(digest)

    def bounds(self, items: NDArray[np.int64]) -> tuple[NDArray[np.float64], float] | None:
        """Return centre (3,) and radius [m] of a sphere about ``items``, None for nothing."""
        items = items[np.isfinite(self.item_pos[items]).all(axis=1)]
        if not len(items):
            return None
        pos, radius = self.item_pos[items], self.items.radius[items][:, None]
        low, high = (pos - radius).min(axis=0), (pos + radius).max(axis=0)
        center = (low + high) / 2.0
        reach = np.linalg.norm(pos - center, axis=1) + radius[:, 0]
        return center, max(float(reach.max()), 1e-4)

    def corners(self, items: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the corners (8 n, 3) [m] of the boxes about ``items``."""
        items = items[np.isfinite(self.item_pos[items]).all(axis=1)]
        signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        local = signs[None] * self.items.box[items][:, None, :]
        turned = np.einsum("nij,nkj->nki", self.item_mat[items], local)
        return np.asarray((self.item_pos[items][:, None, :] + turned).reshape(-1, 3))

    def scene_items(self, options: ViewOptions) -> NDArray[np.int64]:
        """Return the items that :meth:`scene_bounds` is about."""
        shown = self.visible(options) & ~self.items.is_plane
        shown[self.items.n_geoms :] = False
        moving = shown & (self.items.body != 0)
        everything = self.bounds(np.flatnonzero(shown))
        movers = self.bounds(np.flatnonzero(moving))
        dwarfed = everything is not None and movers is not None and everything[1] > 4.0 * movers[1]
        return np.flatnonzero(moving if dwarfed else shown)

    def scene_bounds(self, options: ViewOptions) -> tuple[NDArray[np.float64], float]:
        """Return centre and radius of what matters: shown shapes, without endless surroundings.

        Static geoms are left out when they would dwarf what moves (a room around a robot).
        """
        bounds = self.bounds(self.scene_items(options))
        if bounds is None:
            return np.zeros(3), 1.0
        foot = self._foot(*bounds)
        if foot is None:
            return bounds
        center, radius = bounds
        half = (float(center[2] - foot[2]) + radius) / 2.0
        return np.array([center[0], center[1], foot[2] + half]), half

    def framing_points(self, options: ViewOptions) -> NDArray[np.float64]:
        """Return points (n, 3) [m] that a good first look at the scene holds.

        The boxes of what matters and the floor below it, where it may be about to fall. Not the
        model's extent: MuJoCo's own guess takes endless floors in and makes a humanoid tiny.
        """
        items = self.scene_items(options)
        points = self.corners(items)
        bounds = self.bounds(items)
        if bounds is None:
            return points
        foot = self._foot(*bounds)
        if foot is not None:
            # As wide at the foot as above: what falls shall not leave at the side.
            radius = bounds[1]
            square = np.array([[x, y, 0.0] for x in (-radius, radius) for y in (-radius, radius)])
            points = np.concatenate([points, foot + square])
        return points

    def _foot(self, center: NDArray[np.float64], radius: float) -> NDArray[np.float64] | None:
        """Return the point (3,) of a level floor right below what matters, None when far or none.

        Only what hangs clearly above its floor has one: the rest stands on it anyway.
        """
        lowest = float(center[2]) - radius
        level = self.items.is_plane & (self.items.body == 0) & (self.item_mat[:, 2, 2] > 0.99)
        heights = self.item_pos[level, 2]
        heights = heights[heights < lowest - 0.2 * radius]
        if not len(heights) or lowest - float(heights.max()) > _FALL * radius:
            return None
        return np.array([center[0], center[1], float(heights.max())])

    @property
    def scene_center(self) -> NDArray[np.float64]:
        """Where the bodies are, on average (3,) [m]."""
        return np.asarray(np.nan_to_num(self.body_pos).mean(axis=0))

    def element_bounds(self, element: Element) -> tuple[NDArray[np.float64], float] | None:
        """Return centre and radius of ``element``, None when nothing of it has a place."""
        if self.description is None:
            return None
        items = self.items.of_element(element, self.description)
        found = self.bounds(items)
        if found is not None:
            return found
        at = self.element_position(element)
        if at is not None and np.isfinite(at).all():
            return at, 0.1
        return None

    def subtree_center(self, body: int) -> NDArray[np.float64]:
        """Return the centre of mass (3,) of ``body`` and everything below it."""
        if self.description is None or not 0 < body < len(self.body_pos):
            return np.zeros(3)
        bodies = self.description.bodies
        inside = np.zeros(len(bodies), dtype=np.bool_)
        for i, info in enumerate(bodies):  # parents come before children
            inside[i] = i == body or (i > 0 and info.parent < i and inside[info.parent])
        chosen = np.flatnonzero(inside)
        mass = np.array([bodies[i].mass for i in chosen])
        if mass.sum() <= 0.0:
            return np.asarray(self.body_pos[body])
        ipos = np.array([bodies[i].ipos for i in chosen])
        com = self.body_pos[chosen] + np.einsum("nij,nj->ni", self.body_mat[chosen], ipos)
        center: NDArray[np.float64] = (mass[:, None] * com).sum(axis=0) / mass.sum()
        return center

    def element_position(self, element: Element) -> NDArray[np.float64] | None:
        """Return the world position (3,) [m] of an element's own frame, None when it has none."""
        description = self.description
        if description is None:
            return None
        if element.kind is ElementKind.GEOM and element.index < self.items.n_geoms:
            return np.asarray(self.item_pos[element.index])
        if element.kind is ElementKind.SITE and element.index < len(description.sites):
            return np.asarray(self.item_pos[self.items.n_geoms + element.index])
        body = body_of(element, description)
        if not 0 <= body < len(self.body_pos):
            return None
        placed: dict[ElementKind, tuple[CameraInfo | LightInfo, ...]] = {
            ElementKind.CAMERA: description.cameras,
            ElementKind.LIGHT: description.lights,
        }
        if element.kind in placed:
            here = np.array(placed[element.kind][element.index].pos)
            return np.asarray(self.body_pos[body] + self.body_mat[body] @ here)
        joint = element.index
        if element.kind is ElementKind.ACTUATOR:
            joint = description.actuators[element.index].joint
        if element.kind in (ElementKind.JOINT, ElementKind.ACTUATOR) and joint >= 0:
            offset = np.array(description.joints[joint].pos)
            return np.asarray(self.body_pos[body] + self.body_mat[body] @ offset)
        return np.asarray(self.body_pos[body])


def _height_field(arrays: AssetArrays, field: HeightFieldInfo) -> shapes.Mesh | None:
    data = np.asarray(arrays.get("data", ()), dtype=np.float32)
    if data.size != field.nrow * field.ncol or min(field.nrow, field.ncol) < 2:
        _log.warning(
            "height field %r can't be drawn: %d × %d heights are announced, %d arrived",
            field.name,
            field.nrow,
            field.ncol,
            data.size,
        )
        return None
    return shapes.height_field(data.reshape(field.nrow, field.ncol), size=field.size)


def _digests(description: SceneDescription | None) -> frozenset[str]:
    if description is None:
        return frozenset()
    return frozenset(
        [
            *(mesh.digest for mesh in description.meshes),
            *(field.digest for field in description.hfields),
            *(texture.digest for texture in description.textures),
        ]
    )
