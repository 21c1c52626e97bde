"""What an overlay of the 3D view is: its switch, its colours and what they mean."""

import dataclasses
import enum

from stroboscope.debugger_protocol.topics import Topic

__all__ = ["Amount", "LegendEntry", "Overlay", "OverlayGroup", "Role"]

Rgba = tuple[float, float, float, float]


class OverlayGroup(enum.StrEnum):
    """Headings of the View panel, in order."""

    CONTACTS = "Contacts"
    MECHANISM = "Mechanism"
    MASS = "Mass and motion"
    STATE = "Islands, sensors, script"
    PICTURE = "Picture"


class Role(enum.Enum):
    """What a colour of the 3D view means; MuJoCo's own where it has one (``visual/rgba``)."""

    CONTACT = (0.9, 0.6, 0.2, 1.0)
    CONTACT_GAP = (0.5, 0.8, 0.9, 1.0)
    CONTACT_HULL = (0.80, 0.45, 0.95, 1.0)
    CONTACT_FORCE = (0.7, 0.9, 0.9, 1.0)
    CONTACT_FRICTION = (0.9, 0.8, 0.4, 1.0)
    CONTACT_TORQUE = (0.9, 0.7, 0.9, 1.0)
    TREE = (0.0, 0.85, 0.2, 0.6)
    SEARCHED = (1.0, 0.35, 0.1, 0.9)
    DESCENT_START = (0.0, 0.0, 1.0, 1.0)
    DESCENT_END = (1.0, 0.0, 0.0, 1.0)
    NORMAL = (0.55, 0.75, 0.95, 1.0)
    JOINT = (0.2, 0.6, 0.8, 1.0)
    LIMIT_OK = (0.35, 0.75, 0.45, 1.0)
    LIMIT_NEAR = (0.95, 0.75, 0.20, 1.0)
    LIMIT_OVER = (0.95, 0.25, 0.25, 1.0)
    ACTUATOR = (0.2, 0.25, 0.2, 1.0)
    ACTUATOR_NEGATIVE = (0.2, 0.6, 0.9, 1.0)
    ACTUATOR_POSITIVE = (0.9, 0.4, 0.2, 1.0)
    CRANK = (0.5, 0.3, 0.8, 1.0)
    CRANK_BROKEN = (0.9, 0.0, 0.0, 1.0)
    SATURATED = (1.0, 0.85, 0.15, 1.0)
    COM = (0.9, 0.9, 0.9, 1.0)
    SUBTREE_COM = (0.95, 0.85, 0.35, 1.0)
    INERTIA = (0.8, 0.2, 0.2, 0.6)
    LINEAR_VELOCITY = (0.30, 0.80, 0.60, 1.0)
    ANGULAR_VELOCITY = (0.20, 0.70, 0.85, 1.0)
    LINEAR_ACCELERATION = (0.85, 0.50, 0.90, 1.0)
    ANGULAR_ACCELERATION = (0.65, 0.45, 0.95, 1.0)
    APPLIED_FORCE = (1.0, 0.5, 0.5, 1.0)
    APPLIED_TORQUE = (1.0, 0.65, 0.4, 1.0)
    PERTURBATION = (0.9, 0.9, 0.1, 1.0)
    SELECT_POINT = (0.9, 0.9, 0.1, 1.0)
    CONNECT = (0.2, 0.2, 0.8, 1.0)
    CONSTRAINT = (0.9, 0.0, 0.0, 1.0)
    TENDON = (0.35, 0.65, 0.95, 1.0)
    WRAP = (0.95, 0.75, 0.30, 1.0)
    RANGEFINDER = (1.0, 1.0, 0.1, 1.0)
    SENSOR = (0.40, 0.85, 0.80, 1.0)
    TOUCHED = (1.0, 0.45, 0.25, 1.0)
    TAXEL = (0.25, 0.45, 0.60, 1.0)
    TAXEL_PRESSED = (1.0, 0.80, 0.20, 1.0)
    CAGE = (0.75, 0.55, 0.95, 1.0)
    CAMERA = (0.6, 0.9, 0.6, 1.0)
    FRUSTUM = (0.75, 0.95, 0.55, 0.7)
    LIGHT = (0.6, 0.6, 0.9, 1.0)
    TARGET = (0.30, 0.58, 1.0, 0.45)
    ASLEEP = (0.45, 0.50, 0.62, 1.0)
    AXIS_X = (0.93, 0.27, 0.27, 1.0)
    AXIS_Y = (0.30, 0.76, 0.32, 1.0)
    AXIS_Z = (0.30, 0.52, 0.98, 1.0)


class Amount(enum.StrEnum):
    """What an arrow's length stands for: its unit, and the field of the scale people choose."""

    FORCE = "N"
    TORQUE = "N·m"
    VELOCITY = "m/s"
    ANGULAR_VELOCITY = "rad/s"
    ACCELERATION = "m/s²"
    ANGULAR_ACCELERATION = "rad/s²"

    @property
    def scale_field(self) -> str:
        """The name of the user's factor in :class:`ViewOptions`."""
        return {
            Amount.FORCE: "force_scale",
            Amount.TORQUE: "torque_scale",
            Amount.VELOCITY: "velocity_scale",
            Amount.ANGULAR_VELOCITY: "velocity_scale",
            Amount.ACCELERATION: "acceleration_scale",
            Amount.ANGULAR_ACCELERATION: "acceleration_scale",
        }[self]


@dataclasses.dataclass(frozen=True, slots=True)
class LegendEntry:
    """One line of the legend; with ``amount`` it also says how long one unit is."""

    role: Role
    text: str
    amount: Amount | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Overlay:
    """One switch: ``keys`` are alternatives, ``topics`` what it needs beside the poses.

    ``words`` are others that people look for it by. ``parent`` names the overlay without which
    this one shows nothing.
    """

    name: str
    title: str
    group: OverlayGroup
    keys: tuple[str, ...] = ()
    topics: tuple[Topic, ...] = ()
    legend: tuple[LegendEntry, ...] = ()
    tip: str = ""
    words: str = ""
    parent: str = ""
