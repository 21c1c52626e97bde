"""An engine-neutral description of a scene: all a window needs to draw and name it.

Sent once per scene and again, with a higher ``revision``, when the model changes. Names follow
MuJoCo's; every frame is relative to the element's body unless it says otherwise. Quaternions are
wxyz, units SI, angles radians.
"""

import enum

from stroboscope.debugger_protocol.description_base import Info, SolImp, Vec2, Vec3, Vec4
from stroboscope.debugger_protocol.visual_description import (
    CameraInfo,
    CameraMode,
    FogInfo,
    LightInfo,
    VisualScale,
)

__all__ = [
    "ActuatorInfo",
    "BodyInfo",
    "CameraInfo",
    "CameraMode",
    "ChannelInfo",
    "ChannelKind",
    "EqualityInfo",
    "FlexInfo",
    "FogInfo",
    "GeomInfo",
    "GeomType",
    "HeightFieldInfo",
    "JointInfo",
    "JointType",
    "KeyframeInfo",
    "LightInfo",
    "MaterialInfo",
    "MeshInfo",
    "OptionInfo",
    "OptionKind",
    "PairInfo",
    "SceneDescription",
    "SensorInfo",
    "SiteInfo",
    "SkinInfo",
    "SolImp",
    "TendonInfo",
    "TextureInfo",
    "TextureKind",
    "TreesInfo",
    "Vec2",
    "Vec3",
    "Vec4",
    "VisualScale",
]


class GeomType(enum.StrEnum):
    """Shape of a geom; ``size`` means what it means in MuJoCo."""

    PLANE = "plane"
    HFIELD = "hfield"
    SPHERE = "sphere"
    CAPSULE = "capsule"
    ELLIPSOID = "ellipsoid"
    CYLINDER = "cylinder"
    BOX = "box"
    MESH = "mesh"
    SDF = "sdf"


class JointType(enum.StrEnum):
    """Kind of a joint, with the sizes of its part of qpos and qvel."""

    FREE = "free"
    BALL = "ball"
    SLIDE = "slide"
    HINGE = "hinge"

    @property
    def n_qpos(self) -> int:
        """How many positions a joint of this kind has."""
        return {JointType.FREE: 7, JointType.BALL: 4}.get(self, 1)

    @property
    def n_dof(self) -> int:
        """How many velocities it has."""
        return {JointType.FREE: 6, JointType.BALL: 3}.get(self, 1)


class TextureKind(enum.StrEnum):
    """How a texture is sampled."""

    TWO_D = "2d"
    CUBE = "cube"
    SKYBOX = "skybox"


class ChannelKind(enum.StrEnum):
    """Who fills a channel."""

    ENGINE = "engine"
    USER = "user"


class BodyInfo(Info, frozen=True, kw_only=True):
    """One body; ``parent`` is an index into the bodies, 0 is the world and its own parent."""

    name: str
    parent: int
    mass: float = 0.0
    inertia: Vec3 = (0.0, 0.0, 0.0)
    ipos: Vec3 = (0.0, 0.0, 0.0)
    iquat: Vec4 = (1.0, 0.0, 0.0, 0.0)
    # Address in mocap_pos and mocap_quat is ``mocap_index``; -1 when it is no mocap body.
    mocap: bool = False
    mocap_index: int = -1
    subtree_mass: float = 0.0
    # First ancestor that this body does not move against (itself when it has joints).
    weld: int = -1
    gravcomp: float = 0.0


class GeomInfo(Info, frozen=True, kw_only=True):
    """One geom. ``mesh``, ``hfield`` and ``material`` are indices, -1 for none."""

    name: str
    body: int
    type: GeomType
    size: Vec3
    pos: Vec3 = (0.0, 0.0, 0.0)
    quat: Vec4 = (1.0, 0.0, 0.0, 0.0)
    rgba: Vec4 = (0.5, 0.5, 0.5, 1.0)
    mesh: int = -1
    hfield: int = -1
    material: int = -1
    group: int = 0
    collides: bool = True
    contype: int = 1
    conaffinity: int = 1
    condim: int = 3
    priority: int = 0
    friction: Vec3 = (1.0, 0.005, 0.0001)
    solmix: float = 1.0
    solref: Vec2 = (0.02, 1.0)
    solimp: SolImp = (0.9, 0.95, 0.001, 0.5, 2.0)
    margin: float = 0.0
    gap: float = 0.0


class MeshInfo(Info, frozen=True, kw_only=True):
    """One triangle mesh; its arrays are the asset ``digest``.

    Asset arrays: ``vertices`` (nvert, 3) float32 [m]; ``faces`` (nface, 3) int32; optional
    ``normals`` (nnormal, 3) float32 with ``face_normals`` (nface, 3) int32; optional
    ``texcoords`` (ntexcoord, 2) float32 with ``face_texcoords`` (nface, 3) int32; optional
    ``hull_faces`` (n, 3) int32, the convex hull it collides as, into ``vertices``.
    """

    name: str
    digest: str
    nvert: int
    nface: int


class SkinInfo(Info, frozen=True, kw_only=True):
    """A mesh that follows several bodies.

    Asset arrays: ``vertices`` (nvert, 3) float32 [m] in the bind pose; ``faces`` (nface, 3) int32;
    optional ``texcoords`` (nvert, 2) float32; ``bone_body`` (nbone,) int32; ``bone_pos``
    (nbone, 3), ``bone_quat`` (nbone, 4) float32 wxyz bind poses; ``bone_count`` (nbone,) int32,
    how many of ``bone_vertex`` (n,) int32 and ``bone_weight`` (n,) float32 belong to each bone,
    in order.
    """

    name: str
    digest: str
    nvert: int
    nface: int
    rgba: Vec4 = (0.5, 0.5, 0.5, 1.0)
    material: int = -1
    inflate: float = 0.0
    group: int = 0


class FlexInfo(Info, frozen=True, kw_only=True):
    """A deformable object of dimension 1 (lines), 2 (triangles) or 3 (tetrahedra).

    Its vertices are ``nvert`` rows of the topic DEFORMABLE from ``vert`` on; indices in its asset
    count from there. Asset arrays: ``elements`` (nelem, dim + 1) int32; ``shell`` (nshell, dim)
    int32, the outside of a 3D one; ``edges`` (nedge, 2) int32; optional ``texcoords`` (n, 2)
    float32 with ``element_texcoords`` (nelem, dim + 1) int32; ``element_layer`` (nelem,) int32 of
    a 3D one, how far each element is from the surface, 0 outermost. Where elements have several
    materials these are ``materials``, ``material`` the first of them, and the asset has
    ``element_material`` (nelem,) int32, which of them each element has. Where nodes of a lattice
    move the vertices: ``node_body`` (nnode,) int32, ``node_pos`` (nnode, 3) float32 in that body's
    frame, ``cage`` (nline, 2) int32, which nodes are neighbours.
    """

    name: str
    digest: str
    dim: int
    vert: int
    nvert: int
    radius: float
    rgba: Vec4 = (0.5, 0.5, 0.5, 1.0)
    material: int = -1
    flatskin: bool = False
    group: int = 0
    materials: tuple[int, ...] = ()


class TreesInfo(Info, frozen=True, kw_only=True):
    """The bounding volume hierarchies in which the engine looks for contacts, in one asset.

    Asset arrays: ``child`` (nnode, 2) int32, counted from the tree's first node, -1: none;
    ``depth`` (nnode,) int32, 0 for a root; ``element`` (nnode,) int32, the geom of a body's node,
    the face of a mesh's, the element of a flex's, -1 where there are several; ``body`` (nbody, 2),
    ``mesh`` (nmesh, 2), ``flex`` (nflex, 2) int32, first node and number of nodes of each tree;
    ``aabb`` (n, 6) float32, centre and half size [m] of all nodes but those of flexes, which
    follow the vertices: in the body's inertial frame, the frame of ``element`` for the node of a
    single geom, the mesh's own frame. ``depth`` is that of the deepest node. Also, of meshes with
    an octree: ``octree`` (nmesh, 2) int32, first node and number of nodes, 0: none; ``oct_depth``
    (noct,) int32, ``oct_aabb`` (noct, 6) float32 in the mesh's own frame. ``active``: the topic
    VOLUMES says which nodes were looked into.
    """

    digest: str
    nnode: int
    depth: int
    active: bool = False


class HeightFieldInfo(Info, frozen=True, kw_only=True):
    """One height field; asset arrays: ``data`` (nrow, ncol) float32 in 0…1.

    ``size``: half x, half y, elevation z, base thickness [m].
    """

    name: str
    digest: str
    nrow: int
    ncol: int
    size: Vec4


class TextureInfo(Info, frozen=True, kw_only=True):
    """One texture; asset arrays: ``data`` (height, width, nchannel) uint8.

    Cube and sky boxes hold six squares one below the other: right, left, up, down, front, back.
    """

    name: str
    digest: str
    kind: TextureKind
    width: int
    height: int
    nchannel: int
    # Whether the bytes are sRGB, to be decoded before shading; else they are shaded as they are.
    srgb: bool = False


class MaterialInfo(Info, frozen=True, kw_only=True):
    """Surface properties; ``texture`` is an index or -1."""

    name: str
    rgba: Vec4 = (1.0, 1.0, 1.0, 1.0)
    emission: float = 0.0
    specular: float = 0.5
    shininess: float = 0.5
    reflectance: float = 0.0
    texture: int = -1
    texrepeat: Vec2 = (1.0, 1.0)
    texuniform: bool = False


class JointInfo(Info, frozen=True, kw_only=True):
    """One joint; ``qpos`` and ``dof`` are the first addresses in qpos and qvel.

    ``range`` is in m or rad. ``actfrcrange`` is None when actuator force is not limited.
    """

    name: str
    body: int
    type: JointType
    qpos: int
    dof: int
    pos: Vec3 = (0.0, 0.0, 0.0)
    axis: Vec3 = (0.0, 0.0, 1.0)
    range: Vec2 | None = None
    actfrcrange: Vec2 | None = None
    group: int = 0
    margin: float = 0.0
    stiffness: float = 0.0
    springref: float = 0.0
    damping: float = 0.0
    armature: float = 0.0
    frictionloss: float = 0.0
    # qpos at the model's initial configuration (the joint's ``ref``); one per qpos for all types.
    qpos0: tuple[float, ...] = ()


class SiteInfo(Info, frozen=True, kw_only=True):
    """One site."""

    name: str
    body: int
    type: GeomType
    size: Vec3
    pos: Vec3 = (0.0, 0.0, 0.0)
    quat: Vec4 = (1.0, 0.0, 0.0, 0.0)
    rgba: Vec4 = (0.5, 0.5, 0.5, 1.0)
    group: int = 0
    material: int = -1


class TendonInfo(Info, frozen=True, kw_only=True):
    """One tendon; spatial ones have a path. ``joints`` are those of a fixed one."""

    name: str
    spatial: bool = True
    width: float = 0.003
    rgba: Vec4 = (0.5, 0.5, 0.5, 1.0)
    material: int = -1
    group: int = 0
    range: Vec2 | None = None
    margin: float = 0.0
    stiffness: float = 0.0
    damping: float = 0.0
    frictionloss: float = 0.0
    lengthspring: Vec2 = (0.0, 0.0)
    joints: tuple[int, ...] = ()
    sites: tuple[int, ...] = ()


class EqualityInfo(Info, frozen=True, kw_only=True):
    """One equality constraint between two elements; the second may be the world or nothing.

    ``kind``: the engine's word (``connect``, ``weld``, ``joint``, ``tendon``, ``flex``).
    ``object_kind`` is the description's word (``body``, ``site``, ``joint``, ``tendon``, ``flex``).
    """

    name: str
    kind: str
    object_kind: str = "body"
    object1: int = -1
    object2: int = -1
    active: bool = True
    solref: Vec2 = (0.02, 1.0)
    solimp: SolImp = (0.9, 0.95, 0.001, 0.5, 2.0)


class PairInfo(Info, frozen=True, kw_only=True):
    """One explicit contact pair."""

    name: str
    geom1: int
    geom2: int


class KeyframeInfo(Info, frozen=True, kw_only=True):
    """One keyframe."""

    name: str
    time: float = 0.0


class OptionKind(enum.StrEnum):
    """How an option is edited."""

    NUMBER = "number"
    INTEGER = "integer"
    CHOICE = "choice"
    FLAG = "flag"


class OptionInfo(Info, frozen=True, kw_only=True):
    """One physics option that may be edited live; ``name`` is the engine's (``timestep``)."""

    name: str
    kind: OptionKind
    width: int = 1
    unit: str = ""
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    tip: str = ""


class ActuatorInfo(Info, frozen=True, kw_only=True):
    """One actuator; ``joint`` is the index of the joint it drives, -1 when it drives another kind.

    ``kind`` is the engine's word (``motor``, ``position``, …), ``target`` names what it drives.
    ``ctrl`` is its first address in ctrl and ``output`` its first in actuator_force, length and
    velocity; -1: both are its own index. Some have several controls or outputs, or none.
    ``ctrlrange`` is that of the first control.
    """

    name: str
    kind: str = ""
    joint: int = -1
    target: str = ""
    ctrlrange: Vec2 | None = None
    forcerange: Vec2 | None = None
    ctrl_unit: str = ""
    force_unit: str = "N"
    group: int = 0
    ctrl: int = -1
    nctrl: int = 1
    output: int = -1
    noutput: int = 1
    # First activation and how many; -1 and 0 when it has none.
    act: int = -1
    nact: int = 0
    actrange: Vec2 | None = None
    # Gains of a position or velocity servo as the engine uses them [N/m, N·m/rad, …]; else None.
    kp: float | None = None
    kv: float | None = None
    dynamics: str = ""
    gain: str = ""
    bias: str = ""
    gainprm: tuple[float, ...] = ()
    biasprm: tuple[float, ...] = ()
    gear: tuple[float, ...] = ()
    tendon: int = -1
    site: int = -1
    body: int = -1
    # Of a slider-crank: the site that slides along its z axis, driven by a rod of that length [m]
    # from ``site``, which turns.
    slider_site: int = -1
    crank_length: float = 0.0


class SensorInfo(Info, frozen=True, kw_only=True):
    """One sensor; ``adr`` and ``dim`` say where it stands in ``sensordata``."""

    name: str
    kind: str
    adr: int
    dim: int
    object: str = ""
    body: int = -1
    unit: str = ""
    # The description's word for what it is attached to (``site``, ``joint``, …) and its index.
    object_kind: str = ""
    object_index: int = -1
    # Likewise what it is measured against; of a tactile sensor the geom in whose frame the vertices
    # of its mesh, the object, are what feels.
    reference_kind: str = ""
    reference_index: int = -1
    cutoff: float = 0.0
    # Of range finders: what each ray tells one after the other (dist, dir, origin, point, normal,
    # depth); those of a camera have a ray per pixel, row by row.
    data: tuple[str, ...] = ()


class ChannelInfo(Info, frozen=True, kw_only=True):
    """One named time series of ``width`` numbers; ``names`` labels them (may be empty)."""

    name: str
    width: int = 1
    names: tuple[str, ...] = ()
    unit: str = ""
    units: tuple[str, ...] = ()
    kind: ChannelKind = ChannelKind.ENGINE


class SceneDescription(Info, frozen=True, kw_only=True):
    """Everything about a scene that does not change from step to step."""

    scene_id: int
    name: str
    revision: int = 0
    engine: str = ""
    source: str = ""
    timestep: float = 0.0
    gravity: Vec3 = (0.0, 0.0, -9.81)
    n_envs: int = 1
    center: Vec3 = (0.0, 0.0, 0.0)
    extent: float = 1.0
    # Near and far clipping planes as multiples of extent; None: the viewer's own.
    znear: float | None = None
    zfar: float | None = None
    fog: FogInfo = FogInfo()
    headlight_ambient: Vec3 = (0.1, 0.1, 0.1)
    headlight_diffuse: Vec3 = (0.4, 0.4, 0.4)
    headlight_specular: Vec3 = (0.5, 0.5, 0.5)
    # Free camera as (azimuth, elevation) in degrees, MuJoCo's convention.
    camera_azimuth: float = 90.0
    camera_elevation: float = -45.0
    timer_stages: tuple[str, ...] = ()
    constraint_types: tuple[str, ...] = ()
    constraint_states: tuple[str, ...] = ()
    headlight_active: bool = True
    scale: VisualScale = VisualScale()
    bodies: tuple[BodyInfo, ...] = ()
    geoms: tuple[GeomInfo, ...] = ()
    meshes: tuple[MeshInfo, ...] = ()
    hfields: tuple[HeightFieldInfo, ...] = ()
    textures: tuple[TextureInfo, ...] = ()
    materials: tuple[MaterialInfo, ...] = ()
    joints: tuple[JointInfo, ...] = ()
    sites: tuple[SiteInfo, ...] = ()
    cameras: tuple[CameraInfo, ...] = ()
    lights: tuple[LightInfo, ...] = ()
    actuators: tuple[ActuatorInfo, ...] = ()
    sensors: tuple[SensorInfo, ...] = ()
    tendons: tuple[TendonInfo, ...] = ()
    equalities: tuple[EqualityInfo, ...] = ()
    pairs: tuple[PairInfo, ...] = ()
    flexes: tuple[FlexInfo, ...] = ()
    skins: tuple[SkinInfo, ...] = ()
    trees: TreesInfo | None = None
    # Whether the topic LOOKS tells of colours and places that a script has written.
    tells_looks: bool = False
    keyframes: tuple[KeyframeInfo, ...] = ()
    options: tuple[OptionInfo, ...] = ()
    # Engine channels; user channels are announced as they appear (ChannelsAdded).
    channels: tuple[ChannelInfo, ...] = ()
    # What the viewer must tell the user about this scene ("inspection limited: …").
    notes: tuple[str, ...] = ()
