"""A description as arrays: one item per geom, site, flex, skin and tendon, and how it looks."""

import dataclasses
import enum
from collections.abc import Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.view3d import shapes
from stroboscope.app.view3d.rotations import quat_to_matrix
from stroboscope.debugger_protocol.scene_description import (
    FlexInfo,
    GeomInfo,
    GeomType,
    MaterialInfo,
    SceneDescription,
    SiteInfo,
    SkinInfo,
    TendonInfo,
    TextureKind,
    Vec3,
)

__all__ = ["ItemKind", "Items", "TextureUse", "primitive_mesh"]

Assets = Mapping[str, Mapping[str, NDArray[np.generic]]]
_DEFAULT_MATERIAL = MaterialInfo(name="", specular=0.35, shininess=0.45)
_DEFAULT_RGBA = (0.5, 0.5, 0.5, 1.0)


class TextureUse:
    """How an item finds its colour in a texture; numbers, because shaders read them."""

    NONE = 0.0
    UV = 1.0  # the mesh's own coordinates; what has none is painted along its z axis, as in MuJoCo
    CUBE = 2.0  # the direction from the item's centre


class ItemKind(enum.IntEnum):
    """What an item draws, in the order in which items stand."""

    GEOM = 0
    SITE = 1
    FLEX = 2
    SKIN = 3
    TENDON = 4
    FLEX_PART = 5  # what a flex has of its second material, third, …


_ELEMENTS = {
    ItemKind.GEOM: ElementKind.GEOM,
    ItemKind.SITE: ElementKind.SITE,
    ItemKind.FLEX: ElementKind.FLEX,
    ItemKind.SKIN: ElementKind.SKIN,
    ItemKind.TENDON: ElementKind.TENDON,
}
_KINDS = {element: kind for kind, element in _ELEMENTS.items()}
DrawnInfo = GeomInfo | SiteInfo | FlexInfo | SkinInfo | TendonInfo


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Items:
    """Everything of a scene that has a shape, in arrays: geoms, sites, flexes, skins, tendons.

    A flex of several materials has an item for each: the first with its kind, the others last.

    ``kind`` (n,) are :class:`ItemKind` and ``first`` the first item of each. ``material``
    (n, 4, 4) float32 is what the shaders read: rgba; specular, shininess, emission, reflectance;
    texture use, repeat u, repeat v, 1 when the repeat is per metre; sizes for the texture, 0.
    ``radius`` (n,) bounds each item about its centre [m], ``box`` (n, 3) along its own axes (half
    sizes); infinite planes have 0, and so has what is not rigid. ``infos`` are those of geoms and
    sites.
    """

    n_geoms: int
    first: tuple[int, ...]
    kind: NDArray[np.int64]
    body: NDArray[np.int64]
    pos: NDArray[np.float64]
    mat: NDArray[np.float64]
    group: NDArray[np.int64]
    is_plane: NDArray[np.bool_]
    has_own_look: NDArray[np.bool_]
    material: NDArray[np.float32]
    texture: NDArray[np.int64]
    radius: NDArray[np.float64]
    box: NDArray[np.float64]
    infos: tuple[GeomInfo | SiteInfo, ...]
    flex_parts: tuple[int, ...]  # the flexes that the last items are parts of

    def __len__(self) -> int:
        return len(self.body)

    @property
    def n_rigid(self) -> int:
        """How many items move with a body; those after them change their shape."""
        return len(self.infos)

    @property
    def is_site(self) -> NDArray[np.bool_]:
        """Return (n,) bool: which items are sites."""
        return np.asarray(self.kind == ItemKind.SITE)

    def element(self, item: int) -> Element:
        """Return the element that ``item`` draws."""
        kind = ItemKind(int(self.kind[item]))
        if kind is ItemKind.FLEX_PART:
            return Element(ElementKind.FLEX, self.flex_parts[item - self.first[kind]])
        return Element(_ELEMENTS[kind], item - self.first[kind])

    def of_flex(self, index: int) -> NDArray[np.int64]:
        """Return the items of a flex, one per material."""
        rest = self.first[ItemKind.FLEX_PART]
        others = [rest + i for i, flex in enumerate(self.flex_parts) if flex == index]
        return np.array([self.first[ItemKind.FLEX] + index, *others], dtype=np.int64)

    def of_element(self, element: Element, description: SceneDescription) -> NDArray[np.int64]:
        """Return the items that show ``element``: itself, or all geoms of its body.

        Cameras and lights have icons, and what belongs to the world is nowhere: selecting a lamp
        must not paint the floor.
        """
        index = element.index
        kind = _KINDS.get(element.kind)
        if kind is not None:
            item = self.first[kind] + index
            known = index >= 0 and item < len(self) and self.kind[item] == kind
            if known and kind is ItemKind.FLEX:
                return self.of_flex(index)
            return np.array([item]) if known else np.empty(0, dtype=np.int64)
        if element.kind in (ElementKind.CAMERA, ElementKind.LIGHT):
            return np.empty(0, dtype=np.int64)
        body = body_of(element, description)
        if body < 0 or (body == 0 and element.kind is not ElementKind.BODY):
            return np.empty(0, dtype=np.int64)
        shown = np.flatnonzero(self.body[: self.n_geoms] == body)
        return shown if body > 0 else shown[~self.is_plane[shown]]

    def reach_along(self, direction: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how far (n,) [m] each item reaches from its centre along ``direction`` (n, 3).

        ``direction`` is given in each item's own frame, of unit length. Exact for primitives.
        """
        half = self.box
        across = np.abs(direction)
        box = (across * half).sum(axis=1)
        smooth = np.linalg.norm(direction * half, axis=1)
        capsule = half[:, 0] + across[:, 2] * (half[:, 2] - half[:, 0])
        flat = np.sqrt(np.clip(1.0 - direction[:, 2] ** 2, 0.0, None))
        cylinder = across[:, 2] * half[:, 2] + flat * half[:, 0]
        sphere = half[:, 0]
        types = [info.type for info in self.infos]
        reach = box
        for kind, values in (
            (GeomType.SPHERE, sphere),
            (GeomType.CAPSULE, capsule),
            (GeomType.CYLINDER, cylinder),
            (GeomType.ELLIPSOID, smooth),
        ):
            chosen = np.zeros(len(self), dtype=np.bool_)
            chosen[: len(types)] = [t is kind for t in types]
            reach = np.where(chosen, values, reach)
        return np.asarray(reach)

    def with_sizes(self, sizes: Mapping[int, Vec3], description: SceneDescription) -> "Items":
        """Return these items with other sizes of some geoms and sites, by item."""
        infos = list(self.infos)
        material, radius, box = self.material.copy(), self.radius.copy(), self.box.copy()
        for item, size in sizes.items():
            info = infos[item] = msgspec.structs.replace(infos[item], size=size)
            box[item] = _half_box(info, description)
            radius[item] = _radius((info,), box[item : item + 1])[0]
            material[item, 3] = _surface(info, description, box[item])[0][3]
        return dataclasses.replace(
            self, infos=tuple(infos), material=material, radius=radius, box=box
        )

    @staticmethod
    def of(description: SceneDescription) -> "Items":
        """Return the items of ``description``."""
        infos: tuple[GeomInfo | SiteInfo, ...] = (*description.geoms, *description.sites)
        flex_parts = [
            (index, msgspec.structs.replace(flex, material=material))
            for index, flex in enumerate(description.flexes)
            for material in flex.materials[1:]
        ]
        everything: tuple[DrawnInfo, ...] = (
            *infos,
            *description.flexes,
            *description.skins,
            *description.tendons,
            *(part for _, part in flex_parts),
        )
        count, n_bodies = len(everything), max(len(description.bodies), 1)
        sizes = [
            len(part)
            for part in (
                description.geoms,
                description.sites,
                description.flexes,
                description.skins,
                description.tendons,
                flex_parts,
            )
        ]
        material = np.zeros((count, 4, 4), dtype=np.float32)
        texture = np.full(count, -1, dtype=np.int64)
        own_look = np.zeros(count, dtype=np.bool_)
        box = np.zeros((count, 3))
        looks: dict[object, tuple[NDArray[np.float32], int]] = {}
        for i, info in enumerate(everything):
            rigid = isinstance(info, GeomInfo | SiteInfo)
            if isinstance(info, GeomInfo | SiteInfo):
                box[i] = _half_box(info, description)
            key = (info.material, info.rgba, tuple(box[i]), getattr(info, "type", None), rigid)
            if key not in looks:  # of a crowd most look the same
                looks[key] = _surface(info, description, box[i])
            material[i], texture[i] = looks[key]
            own_look[i] = _has_own_look(info)
        quats = np.zeros((count, 4))
        quats[:, 0] = 1.0
        pos = np.zeros((count, 3))
        bodies = np.zeros(count, dtype=np.int64)
        if infos:
            quats[: len(infos)] = [info.quat for info in infos]
            pos[: len(infos)] = [info.pos for info in infos]
            bodies[: len(infos)] = [info.body for info in infos]
        groups = np.array([info.group for info in everything], dtype=np.int64)
        is_plane = np.zeros(count, dtype=np.bool_)
        is_plane[: len(infos)] = [info.type is GeomType.PLANE for info in infos]
        radius = np.zeros(count)
        radius[: len(infos)] = _radius(infos, box[: len(infos)])
        return Items(
            n_geoms=len(description.geoms),
            first=tuple(int(total) for total in np.cumsum([0, *sizes[:-1]])),
            kind=np.repeat(np.arange(len(sizes)), sizes),
            body=np.clip(bodies, 0, n_bodies - 1),
            pos=pos,
            mat=quat_to_matrix(quats),
            group=np.clip(groups, 0, 5),
            is_plane=is_plane,
            has_own_look=own_look,
            material=material,
            texture=texture,
            radius=radius,
            box=box,
            infos=infos,
            flex_parts=tuple(index for index, _ in flex_parts),
        )


def body_of(element: Element, description: SceneDescription) -> int:
    """Return the index of the body that ``element`` belongs to, -1 for none."""
    owners: dict[ElementKind, tuple[object, ...]] = {
        ElementKind.GEOM: description.geoms,
        ElementKind.JOINT: description.joints,
        ElementKind.SITE: description.sites,
        ElementKind.SENSOR: description.sensors,
        ElementKind.CAMERA: description.cameras,
        ElementKind.LIGHT: description.lights,
    }
    if element.kind is ElementKind.BODY:
        return element.index if 0 <= element.index < len(description.bodies) else -1
    if element.kind is ElementKind.ACTUATOR:
        if not 0 <= element.index < len(description.actuators):
            return -1
        joint = description.actuators[element.index].joint
        return description.joints[joint].body if 0 <= joint < len(description.joints) else -1
    things = owners.get(element.kind, ())
    if not 0 <= element.index < len(things):
        return -1
    body = getattr(things[element.index], "body", -1)
    return int(body)


def _material_of(info: DrawnInfo, description: SceneDescription) -> MaterialInfo | None:
    index = info.material
    return description.materials[index] if 0 <= index < len(description.materials) else None


def _is_plain(info: DrawnInfo) -> bool:
    return all(abs(a - b) < 1e-6 for a, b in zip(info.rgba, _DEFAULT_RGBA, strict=True))


def _has_own_look(info: DrawnInfo) -> bool:
    """Return whether the model says how this looks, rather than leaving MuJoCo's grey."""
    return info.material >= 0 or not _is_plain(info)


def _surface(
    info: DrawnInfo, description: SceneDescription, box: NDArray[np.float64]
) -> tuple[NDArray[np.float32], int]:
    """Return the four rows that shaders read about an item, and its texture."""
    given = _material_of(info, description)
    material = given if given is not None else _DEFAULT_MATERIAL
    rgba = info.rgba
    if given is not None and _is_plain(info):
        rgba = given.rgba  # MuJoCo: the material's colour counts unless the geom has its own
    use, texture = TextureUse.NONE, material.texture
    if 0 <= texture < len(description.textures):
        kind = description.textures[texture].kind
        if kind is TextureKind.CUBE:
            use = TextureUse.CUBE
        elif kind is TextureKind.TWO_D:
            use = TextureUse.UV
    if use == TextureUse.NONE:
        texture = -1
    rows = [
        rgba,
        (material.specular, material.shininess, material.emission, material.reflectance),
        (use, *material.texrepeat, float(material.texuniform)),
        (*_texture_scale(info, material, box, cube=use == TextureUse.CUBE), 0.0),
    ]
    return np.array(rows, dtype=np.float32), texture


def _texture_scale(
    info: DrawnInfo, material: MaterialInfo, box: NDArray[np.float64], *, cube: bool
) -> Vec3:
    """Return what the shaders need besides the repeats to find a place in the texture.

    As MuJoCo does it: for images the item's sizes, by which repeats count when uniform, and by
    which the position is divided where a mesh has no coordinates of its own. A cube is seen in
    the direction of the position times these: primitives divide their sizes out (unless uniform),
    meshes multiply theirs in (when uniform).
    """
    size = np.where(box > 1e-9, box, 1.0)
    scale = size
    if cube:
        is_mesh = isinstance(info, GeomInfo) and info.type in (GeomType.MESH, GeomType.SDF)
        plain = np.ones(3)
        if is_mesh:
            scale = size if material.texuniform else plain
        else:
            scale = plain if material.texuniform else 1.0 / size
    return float(scale[0]), float(scale[1]), float(scale[2])


def _half_box(info: GeomInfo | SiteInfo, description: SceneDescription) -> Vec3:
    """Return the half sizes [m] of the box, along the item's own axes, that holds it."""
    x, y, z = info.size
    match info.type:
        case GeomType.PLANE:
            return (0.0, 0.0, 0.0) if x <= 0.0 or y <= 0.0 else (x, y, 0.0)
        case GeomType.SPHERE:
            return x, x, x
        case GeomType.CAPSULE:
            return x, x, x + y
        case GeomType.CYLINDER:
            return x, x, y
        case GeomType.HFIELD:
            if isinstance(info, GeomInfo) and 0 <= info.hfield < len(description.hfields):
                size = description.hfields[info.hfield].size
                return size[0], size[1], max(size[2], size[3])
            return 0.0, 0.0, 0.0
        case _:
            return x, y, z


def _radius(
    infos: tuple[GeomInfo | SiteInfo, ...], box: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the radius (n,) [m] of a sphere about each item's centre that holds it."""
    round_ones = [
        info.type in (GeomType.SPHERE, GeomType.CAPSULE, GeomType.ELLIPSOID) for info in infos
    ]
    longest = box.max(axis=1, initial=0.0)
    return np.asarray(np.where(round_ones, longest, np.linalg.norm(box, axis=1)))


def primitive_mesh(info: GeomInfo | SiteInfo, *, segments: int) -> shapes.Mesh | None:
    """Return the mesh of a primitive at its real size, None for shapes that come from assets."""
    x, y, z = info.size
    match info.type:
        case GeomType.SPHERE:
            return shapes.ellipsoid((x, x, x), segments=segments)
        case GeomType.ELLIPSOID:
            return shapes.ellipsoid((x, y, z), segments=segments)
        case GeomType.CAPSULE:
            return shapes.capsule(x, y, segments=segments)
        case GeomType.CYLINDER:
            return shapes.cylinder(x, y, segments=segments)
        case GeomType.BOX:
            return shapes.box((x, y, z))
        case _:
            return None
