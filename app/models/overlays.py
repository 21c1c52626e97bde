"""Everything that can be switched in the 3D view, in one table.

Menu actions, keys, the View panel, the legend and subscriptions are made from it. Keys are those
of MuJoCo's viewer, and with Shift what goes with them; ``name`` is a field of :class:`ViewOptions`.
"""

from stroboscope.app.models.overlay_words import (
    Amount,
    LegendEntry,
    Overlay,
    OverlayGroup,
    Role,
)
from stroboscope.app.models.view_options import FrameMode, LabelMode, ViewOptions
from stroboscope.debugger_protocol.scene_description import GeomType, SceneDescription
from stroboscope.debugger_protocol.topics import Topic

__all__ = [
    "OVERLAYS",
    "Amount",
    "LegendEntry",
    "Overlay",
    "OverlayGroup",
    "Role",
    "active_overlays",
    "overlay",
    "topics_of",
]

_CONTACTS = (Topic.CONTACTS,)
_STATE = (Topic.STATE,)
_BODIES = (Topic.BODIES,)
_VOLUMES = (LegendEntry(Role.TREE, "bounding volume"), LegendEntry(Role.SEARCHED, "searched"))
_C, _M, _B, _S, _P = OverlayGroup


OVERLAYS: tuple[Overlay, ...] = (
    Overlay(
        name="contacts",
        title="Contact points",
        group=_C,
        keys=("C",),
        topics=_CONTACTS,
        legend=(
            LegendEntry(Role.CONTACT, "contact"),
            LegendEntry(Role.CONTACT_GAP, "within margin, no force"),
            LegendEntry(Role.CONTACT_HULL, "contact of a convex hull"),
        ),
        tip="Discs across the normal. Violet: a mesh that collides as its convex hull.",
        words="touch collision",
    ),
    Overlay(
        name="contact_forces",
        title="Contact forces",
        group=_C,
        keys=("F",),
        topics=_CONTACTS,
        legend=(LegendEntry(Role.CONTACT_FORCE, "contact force", Amount.FORCE),),
        tip="On the body that can move; of two moving ones on the later one.",
        words="arrow newton",
    ),
    Overlay(
        name="contact_split",
        title="Split normal and friction",
        group=_C,
        keys=("P",),
        legend=(LegendEntry(Role.CONTACT_FRICTION, "friction force", Amount.FORCE),),
        tip="Draw normal and friction force as two arrows.",
        words="tangential contact",
        parent="contact_forces",
    ),
    Overlay(
        name="contact_normals",
        title="Contact normals",
        group=_C,
        keys=("Shift+C",),
        topics=_CONTACTS,
        legend=(LegendEntry(Role.NORMAL, "contact normal"),),
        tip="From the first geom of a pair to the second.",
    ),
    Overlay(
        name="contact_torques",
        title="Contact torques",
        group=_C,
        keys=("Shift+P",),
        topics=_CONTACTS,
        legend=(LegendEntry(Role.CONTACT_TORQUE, "contact torque", Amount.TORQUE),),
        tip="Torsional and rolling friction; only contacts of condim 4 and 6 have any.",
        words="torsion rolling",
    ),
    Overlay(
        name="contact_opposite",
        title="Opposite forces",
        group=_C,
        keys=("Shift+O",),
        tip="Show what acts on the other body of each pair, a floor for instance.",
        words="other reaction first second",
        parent="contact_forces",
    ),
    Overlay(
        name="body_trees",
        title="Trees of bodies",
        group=_C,
        keys=("`",),
        legend=_VOLUMES,
        tip="Boxes around the geoms of a body, in which the engine looks for contacts. "
        'With <global bvactive="true"/> those that were searched have another colour.',
        words="bvh bounding volume hierarchy tree broadphase collision aabb",
    ),
    Overlay(
        name="mesh_trees",
        title="Trees of meshes",
        group=_C,
        keys=("\\",),
        legend=_VOLUMES,
        tip="Boxes around the faces of a mesh; of an octree, as SDFs have, its cells.",
        words="bvh bounding volume hierarchy tree collision aabb octree sdf cells",
    ),
    Overlay(
        name="flex_trees",
        title="Trees of flexes",
        group=_C,
        keys=("Shift+H",),
        legend=_VOLUMES,
        tip="Boxes around the elements of a flex, where they are now.",
        words="bvh bounding volume hierarchy tree collision aabb deformable",
    ),
    Overlay(
        name="sdf_iterations",
        title="SDF iterations",
        group=_C,
        keys=("Shift+Q",),
        topics=(Topic.PLUGINS,),
        legend=(
            LegendEntry(Role.DESCENT_START, "start of an SDF's descent"),
            LegendEntry(Role.DESCENT_END, "its end"),
        ),
        tip="The points that the search for contacts of an SDF goes through, of its last pair.",
        words="signed distance field gradient descent iters collision plugin",
    ),
    Overlay(
        name="joints",
        title="Joints",
        group=_M,
        keys=("J",),
        legend=(LegendEntry(Role.JOINT, "joint axis"),),
        tip="Axes of hinges and slides, a ball for ball and free joints.",
    ),
    Overlay(
        name="joint_limits",
        title="Joint limits",
        group=_M,
        keys=("Shift+J",),
        topics=_STATE,
        legend=(
            LegendEntry(Role.LIMIT_OK, "range of a joint"),
            LegendEntry(Role.LIMIT_NEAR, "near its limit"),
            LegendEntry(Role.LIMIT_OVER, "at or over its limit"),
        ),
        tip="The range as an arc or rail, with where the joint is in it.",
        words="range",
    ),
    Overlay(
        name="actuators",
        title="Actuators",
        group=_M,
        keys=("U",),
        topics=_STATE,
        legend=(
            LegendEntry(Role.ACTUATOR_NEGATIVE, "negative control"),
            LegendEntry(Role.ACTUATOR_POSITIVE, "positive control"),
            LegendEntry(Role.SATURATED, "saturated"),
        ),
        tip="Coloured by control within its range. A ring: control or force is at its limit.",
        words="motor servo saturation",
    ),
    Overlay(
        name="activation",
        title="Activation instead of control",
        group=_M,
        keys=(",",),
        tip="Colour actuators that have an activation by it.",
        words="muscle",
        parent="actuators",
    ),
    Overlay(
        name="tendons",
        title="Tendons",
        group=_M,
        keys=("V",),
        topics=(Topic.TENDONS,),
        legend=(LegendEntry(Role.TENDON, "tendon"),),
        words="muscle cable",
    ),
    Overlay(
        name="tendon_wraps",
        title="Tendon wrap points",
        group=_M,
        keys=("Shift+W",),
        topics=(Topic.TENDONS,),
        legend=(LegendEntry(Role.WRAP, "wrap point"),),
        tip="Where a tendon touches the geoms it wraps around.",
    ),
    Overlay(
        name="equalities",
        title="Equality constraints",
        group=_M,
        keys=("E",),
        topics=(Topic.CONSTRAINTS,),
        legend=(LegendEntry(Role.CONSTRAINT, "constraint, its residual"),),
        tip="The points that should coincide and the line between them.",
        words="loop residual connect weld",
    ),
    Overlay(
        name="autoconnect",
        title="Connect joints and bodies",
        group=_M,
        keys=("A",),
        legend=(LegendEntry(Role.CONNECT, "parent to child"),),
        tip="Lines from body to body through their joints: the skeleton.",
        words="autoconnect auto connect skeleton",
    ),
    Overlay(
        name="target_pose",
        title="Target of position servos",
        group=_M,
        keys=("Shift+U",),
        topics=_STATE,
        legend=(LegendEntry(Role.TARGET, "target pose"),),
        tip="A ghost where position servos and pose controllers want the bodies to be.",
        words="ghost pose controller setpoint",
    ),
    Overlay(
        name="com",
        title="Centres of mass",
        group=_B,
        keys=("M",),
        legend=(LegendEntry(Role.COM, "centre of mass"),),
        words="center com",
    ),
    Overlay(
        name="subtree_com",
        title="Subtree centres of mass",
        group=_B,
        keys=("Shift+M",),
        legend=(LegendEntry(Role.SUBTREE_COM, "subtree's centre of mass"),),
        tip="Of each moving tree, or of what is selected with everything below it.",
        words="center com",
    ),
    Overlay(
        name="inertia",
        title="Inertia",
        group=_B,
        keys=("I",),
        legend=(LegendEntry(Role.INERTIA, "inertia"),),
        tip="The box with the same inertia as the body.",
    ),
    Overlay(
        name="scale_inertia",
        title="Inertia at water's density",
        group=_B,
        keys=("'",),
        tip="Scale each box so that its mass is that of water.",
        parent="inertia",
    ),
    Overlay(
        name="inertia_ellipsoids",
        title="Inertia as ellipsoids",
        group=_B,
        keys=("Shift+I",),
        tip="Ellipsoids instead of boxes.",
        parent="inertia",
    ),
    Overlay(
        name="velocities",
        title="Velocities",
        group=_B,
        keys=("Shift+V",),
        topics=_STATE,
        legend=(
            LegendEntry(Role.LINEAR_VELOCITY, "velocity", Amount.VELOCITY),
            LegendEntry(Role.ANGULAR_VELOCITY, "turning", Amount.ANGULAR_VELOCITY),
        ),
        tip="Of every body frame: arrows, and rings with heads for turning.",
        words="speed angular",
    ),
    Overlay(
        name="accelerations",
        title="Accelerations",
        group=_B,
        keys=("Shift+A",),
        topics=_BODIES,
        legend=(
            LegendEntry(Role.LINEAR_ACCELERATION, "acceleration", Amount.ACCELERATION),
            LegendEntry(
                Role.ANGULAR_ACCELERATION, "angular acceleration", Amount.ANGULAR_ACCELERATION
            ),
        ),
        tip="Of every body frame, gravity not included.",
    ),
    Overlay(
        name="applied_forces",
        title="Applied forces",
        group=_B,
        keys=("Shift+B",),
        topics=_BODIES,
        legend=(
            LegendEntry(Role.APPLIED_FORCE, "applied force", Amount.FORCE),
            LegendEntry(Role.APPLIED_TORQUE, "applied torque", Amount.TORQUE),
        ),
        tip="xfrc_applied, from the script and from the mouse, at the centre of mass.",
        words="xfrc external",
    ),
    Overlay(
        name="perturbation",
        title="Perturbation",
        group=_B,
        keys=("B",),
        legend=(LegendEntry(Role.PERTURBATION, "mouse spring"),),
        tip="The spring from the point that is pulled to the mouse.",
        words="drag push apply force mouse perturb",
    ),
    Overlay(
        name="select_point",
        title="Selected point",
        group=_B,
        keys=("Shift+S",),
        legend=(LegendEntry(Role.SELECT_POINT, "selected point"),),
        tip="Where the selected body was pointed at: the mouse pulls it there.",
        words="select grip touch",
    ),
    Overlay(
        name="islands",
        title="Islands",
        group=_S,
        keys=("N",),
        topics=_BODIES,
        tip="Colour bodies by constraint island.",
    ),
    Overlay(
        name="sleep",
        title="Sleeping bodies",
        group=_S,
        keys=("Shift+N",),
        topics=_BODIES,
        legend=(LegendEntry(Role.ASLEEP, "asleep"),),
        tip="Grey out bodies that the engine has put to sleep.",
        words="awake",
    ),
    Overlay(
        name="rangefinders",
        title="Range finders",
        group=_S,
        keys=("Y",),
        topics=(Topic.SENSORS,),
        legend=(LegendEntry(Role.RANGEFINDER, "range finder"),),
        tip="The ray up to what it hits.",
        words="ray distance lidar sensor",
    ),
    Overlay(
        name="sensors",
        title="Sensors",
        group=_S,
        keys=("Shift+Y",),
        topics=(Topic.SENSORS,),
        legend=(
            LegendEntry(Role.SENSOR, "sensor"),
            LegendEntry(Role.TOUCHED, "touch zone with force"),
        ),
        tip="Where sensors are; touch zones light up with what they feel.",
        words="touch imu",
    ),
    Overlay(
        name="taxels",
        title="Taxels",
        group=_S,
        keys=("Shift+X",),
        topics=(Topic.SENSORS,),
        legend=(
            LegendEntry(Role.TAXEL, "taxel"),
            LegendEntry(Role.TAXEL_PRESSED, "largest pressure"),
        ),
        tip="The mesh of each tactile sensor where it feels, by its pressure.",
        words="tactile touch skin pressure sensor mesh",
    ),
    Overlay(
        name="plugin_drawings",
        title="Drawings of plugins",
        group=_S,
        keys=("Shift+Z",),
        topics=(Topic.PLUGINS,),
        tip="What plugins of sensors draw of themselves: a touch grid's taxels with force.",
        words="touch grid tactile plugin sensor",
    ),
    Overlay(
        name="drawings",
        title="Drawings of the script",
        group=_S,
        keys=("Shift+D",),
        topics=(Topic.DRAWING,),
        tip="What the script draws with scene.debug_draw.",
        words="debug draw",
    ),
    Overlay(
        name="cameras",
        title="Cameras",
        group=_S,
        keys=("Q",),
        legend=(LegendEntry(Role.CAMERA, "camera"),),
    ),
    Overlay(
        name="lights",
        title="Lights",
        group=_S,
        keys=("Z",),
        legend=(LegendEntry(Role.LIGHT, "light"),),
    ),
    Overlay(
        name="convex_hull", title="Convex hulls", group=_P, keys=("H",), words="collision mesh"
    ),
    Overlay(name="static_bodies", title="Static bodies", group=_P, keys=("D",)),
    Overlay(name="skins", title="Skins", group=_P, keys=(";",)),
    Overlay(
        name="flex_skin",
        title="Flex surfaces",
        group=_P,
        tip="Cloth and solids as a smooth surface, which stands for their faces and edges.",
        words="deformable cloth skin",
    ),
    Overlay(
        name="flex_faces",
        title="Flex faces",
        group=_P,
        tip="Of cloth, and of one layer of a solid's elements. Not under a surface.",
        words="deformable elements",
    ),
    Overlay(
        name="flex_edges",
        title="Flex edges",
        group=_P,
        tip="Ropes; of cloth and solids where their surface is not shown.",
        words="deformable lines",
    ),
    Overlay(
        name="flex_vertices",
        title="Flex vertices",
        group=_P,
        tip="Of ropes; of cloth and solids where their surface is not shown.",
        words="deformable points nodes",
    ),
    Overlay(
        name="flex_cages",
        title="Flex cages",
        group=_P,
        keys=("Shift+L",),
        legend=(LegendEntry(Role.CAGE, "control cage of a flex"),),
        tip="The nodes that move a trilinear or quadratic flex, and the lattice between them.",
        words="deformable control points nodes lattice interpolation trilinear quadratic",
    ),
    Overlay(name="textures", title="Textures", group=_P, keys=("X",)),
    Overlay(name="transparent", title="Transparent", group=_P, keys=("T",)),
    Overlay(
        name="additive",
        title="Additive transparency",
        group=_P,
        keys=("L",),
        tip="What is see-through adds its light to what is behind it, in any order.",
        words="blend glow",
    ),
    Overlay(
        name="xray_selection",
        title="Selection through everything",
        group=_P,
        tip="All but what is selected becomes see-through.",
        words="x-ray transparent",
    ),
    Overlay(name="wireframe", title="Wireframe", group=_P, keys=("W",)),
    Overlay(
        name="cull_face",
        title="Hide back faces",
        group=_P,
        tip="Switched off, a mesh with holes or turned faces shows its inside.",
        words="cull face backface culling inside normals",
    ),
    Overlay(
        name="segments",
        title="A colour per geom",
        group=_P,
        tip="Where one geom ends and the next begins; sites, flexes and tendons too.",
        words="segmentation id colors parts",
    ),
    Overlay(name="shadows", title="Shadows", group=_P, keys=("S",)),
    Overlay(name="reflections", title="Reflections", group=_P, keys=("R",)),
    Overlay(name="skybox", title="Sky", group=_P, keys=("K",), words="skybox"),
    Overlay(
        name="haze",
        title="Haze",
        group=_P,
        keys=("/",),
        tip="What is far away fades into the horizon.",
        words="fog distance",
    ),
    Overlay(
        name="fog",
        title="Fog",
        group=_P,
        keys=("G",),
        tip="The model's: from fogstart to fogend, in its colour.",
        words="mist distance depth",
    ),
    Overlay(name="grid", title="Ground where there is none", group=_P, words="floor grid"),
    Overlay(
        name="xray",
        title="Overlays through everything",
        group=_P,
        tip="What is hidden behind bodies shows dimmed.",
        words="x-ray",
    ),
    Overlay(name="legend", title="Legend", group=_P),
    Overlay(name="triad", title="Axes in the corner", group=_P),
    Overlay(
        name="environment_marks",
        title="Numbers of environments",
        group=_P,
        tip="Where several environments are drawn: their numbers, and a frame around the one that "
        "is looked at. A number is left out where it would stand on another.",
        words="batch selected grid frame failed",
    ),
    Overlay(
        name="info",
        title="Numbers in the corner",
        group=_P,
        keys=("F2",),
        tip="Speed, time of a step, contacts, constraints, solver and energy.",
        words="info statistics fps cpu solver energy overlay",
    ),
)

_BY_NAME = {each.name: each for each in OVERLAYS}
_LABEL_TOPICS = {
    LabelMode.TENDON: Topic.TENDONS,
    LabelMode.CONTACT: Topic.CONTACTS,
    LabelMode.CONTACT_FORCE: Topic.CONTACTS,
    LabelMode.CONSTRAINT: Topic.CONSTRAINTS,
    LabelMode.ISLAND: Topic.BODIES,
}


def overlay(name: str) -> Overlay:
    """Return the overlay of that name."""
    return _BY_NAME[name]


def active_overlays(options: ViewOptions) -> tuple[Overlay, ...]:
    """Return the switched-on overlays that can show something, in the table's order."""
    return tuple(
        each
        for each in OVERLAYS
        if getattr(options, each.name) and (not each.parent or getattr(options, each.parent))
    )


def topics_of(options: ViewOptions, description: SceneDescription) -> frozenset[Topic]:
    """Return the topics that must be subscribed for what is switched on; poses not included.

    What the scene has nothing of costs nothing: no ray sensors, no SENSORS for their rays.
    """
    has = {
        "tendons": any(tendon.spatial for tendon in description.tendons),
        "tendon_wraps": any(tendon.spatial for tendon in description.tendons),
        "rangefinders": any(sensor.kind == "rangefinder" for sensor in description.sensors),
        "sensors": bool(description.sensors),
        "taxels": any(sensor.kind == "tactile" for sensor in description.sensors),
        "plugin_drawings": any(sensor.kind == "plugin" for sensor in description.sensors),
        "sdf_iterations": any(geom.type is GeomType.SDF for geom in description.geoms),
        "equalities": bool(description.equalities),
        "actuators": bool(description.actuators),
        "joint_limits": any(joint.range is not None for joint in description.joints),
        "target_pose": bool(description.actuators),
    }
    wanted = {
        topic
        for each in active_overlays(options)
        if has.get(each.name, True)
        for topic in each.topics
    }
    if options.labels in _LABEL_TOPICS:
        wanted.add(_LABEL_TOPICS[options.labels])
    if options.frames is FrameMode.CONTACT:
        wanted.add(Topic.CONTACTS)
    if description.flexes:
        wanted.add(Topic.DEFORMABLE)
    if description.tells_looks:
        wanted.add(Topic.LOOKS)
    trees = options.body_trees or options.mesh_trees or options.flex_trees
    if trees and description.trees is not None and description.trees.active:
        wanted.add(Topic.VOLUMES)
    return frozenset(wanted)
