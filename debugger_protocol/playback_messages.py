"""How time runs: what moves and holds scenes, who may say so, and how the session stands."""

import enum
from typing import Final

from stroboscope.debugger_protocol.message_base import Command, Message

__all__ = [
    "HELD_AT_END",
    "HOLDS_OF_CLIENTS",
    "ONLY_ANOTHER",
    "PAUSED_ALONE",
    "ControlChanged",
    "FastForward",
    "HoldAtEnd",
    "Pause",
    "PhysicsStep",
    "Play",
    "PlaybackMode",
    "ReleaseControl",
    "RequestControl",
    "RestoreInitial",
    "RunUntil",
    "SessionStatus",
    "SetSpeed",
    "Step",
]


PAUSED_ALONE: Final = "paused alone"
ONLY_ANOTHER: Final = "only another scene was released"
HOLDS_OF_CLIENTS: Final = frozenset({PAUSED_ALONE, ONLY_ANOTHER})
"""``hold_reason`` of scenes that a client holds: everything else is a stop or the script."""
HELD_AT_END: Final = "the script has come to its end"
"""How the ``hold_reason`` of a scene begins whose script is over."""


class PlaybackMode(enum.StrEnum):
    """How time runs in a session."""

    PAUSED = "paused"
    PLAYING = "playing"
    FAST_FORWARD = "fast_forward"


class Play(Command, frozen=True, kw_only=True, tag="play"):
    """Play all scenes, or only this one: the others are held."""

    scene_id: int | None = None


class Pause(Command, frozen=True, kw_only=True, tag="pause"):
    """Pause all scenes, or hold only this one. Done when nothing in scope is in a physics step."""

    scene_id: int | None = None


class FastForward(Command, frozen=True, kw_only=True, tag="fast_forward"):
    """Run all scenes, or only this one, without a throttle."""

    scene_id: int | None = None


class SetSpeed(Command, frozen=True, kw_only=True, tag="set_speed"):
    """Simulated seconds per wall second while playing, 1/64 … 64."""

    speed: float


class HoldAtEnd(Command, frozen=True, kw_only=True, tag="hold_at_end"):
    """When the script is over, hold the scene that its main thread has stepped last, or not.

    Until Play, or until nobody controls the session any more: what has happened can be looked at.
    """

    hold: bool


class Step(Command, frozen=True, kw_only=True, tag="step"):
    """Pause all; complete exactly ``count`` application steps of one scene.

    ``with_dependents`` lets scenes that the stepped one waits for complete steps too.
    """

    scene_id: int
    count: int = 1
    with_dependents: bool = False


class PhysicsStep(Command, frozen=True, kw_only=True, tag="physics_step"):
    """Pause all; complete exactly ``count`` physics steps of one scene."""

    scene_id: int
    count: int = 1


class RunUntil(Command, frozen=True, kw_only=True, tag="run_until"):
    """Pause all; run one scene unthrottled until simulation time or step count is reached."""

    scene_id: int
    time: float | None = None
    step_count: int | None = None


class RestoreInitial(Command, frozen=True, kw_only=True, tag="restore_initial"):
    """Put a scene back to the state just before its first step after attaching."""

    scene_id: int


class RequestControl(Command, frozen=True, kw_only=True, tag="request_control"):
    """Take control of the session; announced to everybody."""


class ReleaseControl(Command, frozen=True, kw_only=True, tag="release_control"):
    """Give control up; scenes are released as if the controller had gone."""


class SessionStatus(Message, frozen=True, kw_only=True, tag="session_status"):
    """Playback of the whole session."""

    mode: PlaybackMode
    speed: float
    controller: int | None
    clients: int
    free_running_scenes: int = 0
    hold_at_end: bool = False


class ControlChanged(Message, frozen=True, kw_only=True, tag="control_changed"):
    """Control went from one client to another, or became free (None)."""

    controller: int | None
    reason: str
