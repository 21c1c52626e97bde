"""What the 3D view draws: plain, frozen values that actions, panels and the renderer share."""

import dataclasses
import enum
import math
from collections.abc import Mapping

__all__ = [
    "GROUPS",
    "MOST_LEVELS",
    "FloorStyle",
    "FrameMode",
    "LabelMode",
    "Lighting",
    "Quality",
    "RenderMode",
    "ViewOptions",
    "options_from_dict",
    "options_to_dict",
]

GROUPS = 6
MOST_LEVELS = 20
_FIRST_THREE = (True, True, True, False, False, False)


class Quality(enum.StrEnum):
    """How much work a frame may cost."""

    AUTO = "auto"  # LOW on software GL, else HIGH
    HIGH = "high"
    LOW = "low"


class Lighting(enum.StrEnum):
    """Whose lights shine."""

    AUTO = "auto"  # the model's own where they are more than a plain lamp, else the studio's
    MODEL = "model"
    STUDIO = "studio"


class FloorStyle(enum.StrEnum):
    """Whose colours a plane wears."""

    AUTO = "auto"  # the theme's for checkers and for planes without a look, else the model's
    MODEL = "model"
    THEME = "theme"


class LabelMode(enum.StrEnum):
    """Which names are written beside things, in the order of MuJoCo's viewer."""

    NONE = "none"
    BODY = "body"
    JOINT = "joint"
    GEOM = "geom"
    SITE = "site"
    CAMERA = "camera"
    LIGHT = "light"
    TENDON = "tendon"
    ACTUATOR = "actuator"
    CONSTRAINT = "constraint"
    FLEX = "flex"
    SKIN = "skin"
    SELECTION = "selection"
    CONTACT = "contact"
    CONTACT_FORCE = "contact force"
    ISLAND = "island"


class FrameMode(enum.StrEnum):
    """Whose axes are drawn, in the order of MuJoCo's viewer."""

    NONE = "none"
    BODY = "body"
    GEOM = "geom"
    SITE = "site"
    CAMERA = "camera"
    LIGHT = "light"
    CONTACT = "contact"
    WORLD = "world"


class RenderMode(enum.StrEnum):
    """What the colour of a pixel says."""

    PICTURE = "picture"
    IDS = "ids"  # which element it shows
    DEPTH = "depth"  # how far away that is


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ViewOptions:
    """Everything that can be switched in the 3D view; replace it to change something.

    Groups follow MuJoCo's convention: 0, 1 and 2 are shown, 3 to 5 (collision shapes, usually)
    are not. Groups outside 0…5 count as the nearest. Overlays are listed in ``overlays``, where
    each name is a field of this class. Scales are factors on MuJoCo's own sizes.
    """

    geom_groups: tuple[bool, ...] = _FIRST_THREE
    site_groups: tuple[bool, ...] = _FIRST_THREE
    joint_groups: tuple[bool, ...] = _FIRST_THREE
    tendon_groups: tuple[bool, ...] = _FIRST_THREE
    actuator_groups: tuple[bool, ...] = _FIRST_THREE
    flex_groups: tuple[bool, ...] = _FIRST_THREE
    skin_groups: tuple[bool, ...] = _FIRST_THREE

    # Contacts
    contacts: bool = False
    contact_forces: bool = False
    contact_split: bool = False  # normal and friction apart
    contact_normals: bool = False
    contact_torques: bool = False
    contact_opposite: bool = False  # what acts on the other body of each pair

    # Bounding volumes, and at which depth of their trees
    body_trees: bool = False
    mesh_trees: bool = False
    flex_trees: bool = False
    sdf_iterations: bool = False
    tree_depth: int = 1

    # The mechanism
    joints: bool = False
    joint_limits: bool = False
    actuators: bool = False
    activation: bool = False
    slider_cranks: bool = True
    tendons: bool = True
    tendon_wraps: bool = False
    equalities: bool = False
    autoconnect: bool = False
    frames: FrameMode = FrameMode.NONE
    target_pose: bool = False

    # Mass and motion
    com: bool = False
    subtree_com: bool = False
    inertia: bool = False
    scale_inertia: bool = False
    inertia_ellipsoids: bool = False
    velocities: bool = False
    accelerations: bool = False
    applied_forces: bool = False
    perturbation: bool = True
    select_point: bool = False

    # Islands, sensors, scripts
    islands: bool = False
    sleep: bool = False
    rangefinders: bool = True
    sensors: bool = False
    taxels: bool = False
    plugin_drawings: bool = True
    drawings: bool = True
    cameras: bool = False
    lights: bool = False

    # How overlays look
    xray: bool = True  # a force begins inside what it pushes: it shows, dimmed, through that
    legend: bool = True
    labels: LabelMode = LabelMode.NONE
    force_scale: float = 1.0
    torque_scale: float = 1.0
    velocity_scale: float = 1.0
    acceleration_scale: float = 1.0
    marker_scale: float = 1.0  # joints, frames, centres of mass, contact points

    # The picture
    convex_hull: bool = False
    static_bodies: bool = True
    skins: bool = True
    flex_vertices: bool = False
    flex_cages: bool = False
    flex_edges: bool = True
    flex_faces: bool = False
    flex_skin: bool = True
    flex_layer: int = 0  # of the elements of solids without skin; 0 is outermost
    textures: bool = True
    transparent: bool = False
    xray_selection: bool = False  # all but the selection becomes see-through
    wireframe: bool = False
    segments: bool = False  # a colour of its own for each geom
    shadows: bool = True
    reflections: bool = True
    skybox: bool = True
    haze: bool = True
    fog: bool = False
    additive: bool = False  # see-through things add their light
    cull_face: bool = True
    grid: bool = True  # lines at z = 0 where the model has no floor
    triad: bool = True
    environment_marks: bool = True  # where several are drawn: numbers, a frame around one
    info: bool = False  # numbers of the scene in a corner
    render: RenderMode = RenderMode.PICTURE
    lighting: Lighting = Lighting.AUTO
    floor: FloorStyle = FloorStyle.AUTO
    quality: Quality = Quality.AUTO


def options_to_dict(options: ViewOptions) -> dict[str, object]:
    """Return the options as plain data for the settings."""
    return {
        name: str(value) if isinstance(value, enum.StrEnum) else value
        for name, value in dataclasses.asdict(options).items()
    }


def options_from_dict(data: Mapping[str, object]) -> ViewOptions:
    """Return the options that ``data`` describes; what is unknown or of no use stays as it was."""
    plain = ViewOptions()
    changes: dict[str, object] = {}
    for field in dataclasses.fields(ViewOptions):
        present = getattr(plain, field.name)
        value = _usable(data.get(field.name), present)
        if value is not None:
            changes[field.name] = value
    return dataclasses.replace(plain, **changes)  # type: ignore[arg-type]


def _usable(value: object, present: object) -> object | None:
    """Return ``value`` as one of ``present``'s kind, None when it is not."""
    match present:
        case bool():
            return value if isinstance(value, bool) else None
        case int():
            counts = isinstance(value, int) and not isinstance(value, bool)
            return value if counts and 0 <= value <= MOST_LEVELS else None  # type: ignore[operator]
        case enum.StrEnum():
            return next((each for each in type(present) if each == value), None)
        case tuple():
            fits = (
                isinstance(value, list | tuple)
                and len(value) == len(present)
                and all(isinstance(item, bool) for item in value)
            )
            return tuple(value) if fits and isinstance(value, list | tuple) else None
        case _:
            good = isinstance(value, int | float) and not isinstance(value, bool)
            usable = good and math.isfinite(value) and value > 0.0  # type: ignore[arg-type, operator]
            return value if usable else None
