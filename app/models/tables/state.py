"""The tables about a scene's state, by kind."""

import enum
from collections.abc import Callable
from typing import Protocol

from stroboscope.app.models.frames import FrameSet
from stroboscope.app.models.tables.actuators import ActuatorTable
from stroboscope.app.models.tables.bodies import BodyTable
from stroboscope.app.models.tables.energy import EnergyTable
from stroboscope.app.models.tables.joints import JointTable
from stroboscope.app.models.tables.small_tables import (
    EqualityTable,
    SensorTable,
    TendonTable,
    UserdataTable,
)
from stroboscope.app.models.tables.table import Table
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["EMPTY_TEXTS", "StateKind", "TableSource", "make_state_table"]


class StateKind(enum.StrEnum):
    """What the state panel can show; values are what the switch says."""

    JOINTS = "Joints"
    ACTUATORS = "Actuators"
    BODIES = "Bodies"
    TENDONS = "Tendons"
    EQUALITIES = "Equalities"
    SENSORS = "Sensors"
    USERDATA = "User data"
    ENERGY = "Energy"


class TableSource(Protocol):
    """Fills the rows of one description with the numbers of an instant.

    ``topics`` must be known at that instant; ``optional`` ones are used where the engine has them.
    """

    @property
    def topics(self) -> tuple[Topic, ...]:
        """What the rows need."""

    @property
    def optional(self) -> tuple[Topic, ...]:
        """What they also show."""

    def table(self, frames: FrameSet | None) -> Table:
        """Return the rows at the instant of ``frames``."""


_MAKERS: dict[StateKind, Callable[[SceneDescription], TableSource]] = {
    StateKind.JOINTS: JointTable,
    StateKind.ACTUATORS: ActuatorTable,
    StateKind.BODIES: BodyTable,
    StateKind.TENDONS: TendonTable,
    StateKind.EQUALITIES: EqualityTable,
    StateKind.SENSORS: SensorTable,
    StateKind.USERDATA: UserdataTable,
    StateKind.ENERGY: EnergyTable,
}

EMPTY_TEXTS = {
    StateKind.JOINTS: "This model has no joints: nothing in it can move.",
    StateKind.ACTUATORS: "This model has no actuators. Forces come from qfrc_applied, "
    "xfrc_applied or a perturbation (Ctrl+drag a body).",
    StateKind.BODIES: "This model has no bodies.",
    StateKind.TENDONS: "This model has no tendons.",
    StateKind.EQUALITIES: "This model has no equality constraints.",
    StateKind.SENSORS: "This model has no sensors. <sensor> in its MJCF adds some.",
    StateKind.USERDATA: "This model has no user data. <size nuserdata=…> in its MJCF makes room.",
    StateKind.ENERGY: "The engine computes no energy of this scene.",
}
"""What to say where a model has nothing of a kind."""


def make_state_table(kind: StateKind, description: SceneDescription) -> TableSource:
    """Return what fills the table of that kind."""
    return _MAKERS[kind](description)
