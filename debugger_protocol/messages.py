"""Every message of the protocol, one frozen struct each, in two tagged unions.

Client messages that ask for something carry an ``id`` chosen by the client (rising, per
connection); exactly one :class:`Done` or :class:`Failed` answers it. Scenes are named by
``scene_id``; no command carries a path. Families of messages have modules of their own; here are
answers, what is told of a scene, and the unions.
"""

import enum

from stroboscope.debugger_protocol.edit_messages import (
    CheckpointInfo,
    CheckpointOrigin,
    DropCheckpoint,
    EditField,
    EditOption,
    EditState,
    ElementRef,
    Finding,
    LabelCheckpoint,
    Lint,
    LoadKeyframe,
    LogLevel,
    OverrideControl,
    Perturb,
    PerturbKind,
    ReleasePerturb,
    RestoreCheckpoint,
    RevertEdit,
    SaveCheckpoint,
    SceneCheckpoints,
    SceneEdited,
    SceneFindings,
    SceneInterventions,
    SetControlNoise,
)
from stroboscope.debugger_protocol.frame_messages import (
    ArrayEntry,
    AssetChunk,
    AssetRequest,
    Frame,
    Subscribe,
    Unsubscribe,
)
from stroboscope.debugger_protocol.handshake_messages import (
    ClientHello,
    ClientProof,
    ServerHello,
    SessionInfo,
    Welcome,
)
from stroboscope.debugger_protocol.message_base import Command, Message
from stroboscope.debugger_protocol.note_messages import SceneNotes
from stroboscope.debugger_protocol.playback_messages import (
    ControlChanged,
    FastForward,
    HoldAtEnd,
    Pause,
    PhysicsStep,
    Play,
    PlaybackMode,
    ReleaseControl,
    RequestControl,
    RestoreInitial,
    RunUntil,
    SessionStatus,
    SetSpeed,
    Step,
)
from stroboscope.debugger_protocol.recording_messages import (
    SaveHistory,
    SceneRecording,
    StartRecording,
    StopRecording,
)
from stroboscope.debugger_protocol.scene_description import ChannelInfo, SceneDescription
from stroboscope.debugger_protocol.time_messages import (
    BreakWhen,
    CompareStates,
    ContinueFromHere,
    DeriveNumber,
    DropRollout,
    EditCondition,
    Environments,
    Fork,
    GoLive,
    Goto,
    ReadRows,
    RemoveCondition,
    Resimulate,
    Rows,
    SceneConditions,
    SceneGhosts,
    SceneHistory,
    SceneRollouts,
    SceneStops,
    SelectEnvironments,
    SetHistory,
    SetStopRules,
    ShowGhosts,
    StatesCompared,
    StepBack,
    StepForward,
)

__all__ = [
    "ArrayEntry",
    "AssetChunk",
    "AssetRequest",
    "BreakWhen",
    "CheckpointInfo",
    "CheckpointOrigin",
    "ClientHello",
    "ClientMessage",
    "ClientProof",
    "Command",
    "CompareStates",
    "ContinueFromHere",
    "ControlChanged",
    "DeriveNumber",
    "Done",
    "DropCheckpoint",
    "DropRollout",
    "EditCondition",
    "EditField",
    "EditOption",
    "EditState",
    "ElementRef",
    "Environments",
    "Failed",
    "FailureKind",
    "FastForward",
    "Finding",
    "Fork",
    "Frame",
    "GoLive",
    "Goodbye",
    "Goto",
    "Heartbeat",
    "HoldAtEnd",
    "LabelCheckpoint",
    "Lint",
    "LoadKeyframe",
    "LogEntry",
    "LogLevel",
    "OverrideControl",
    "OwnerActivity",
    "Pause",
    "Perturb",
    "PerturbKind",
    "PhysicsStep",
    "Play",
    "PlaybackMode",
    "ReadRows",
    "ReleaseControl",
    "ReleasePerturb",
    "RemoveCondition",
    "RequestControl",
    "Resimulate",
    "RestoreCheckpoint",
    "RestoreInitial",
    "RevertEdit",
    "Rows",
    "RunUntil",
    "SaveCheckpoint",
    "SaveHistory",
    "SceneAdded",
    "SceneChannels",
    "SceneCheckpoints",
    "SceneConditions",
    "SceneDescribed",
    "SceneEdited",
    "SceneFindings",
    "SceneGhosts",
    "SceneHistory",
    "SceneInterventions",
    "SceneNotes",
    "SceneRecording",
    "SceneRemoved",
    "SceneRestored",
    "SceneRollouts",
    "SceneStatus",
    "SceneStops",
    "SelectEnvironments",
    "ServerHello",
    "ServerMessage",
    "SessionInfo",
    "SessionStatus",
    "SetControlNoise",
    "SetHistory",
    "SetSpeed",
    "SetStopRules",
    "ShowGhosts",
    "StartRecording",
    "StatesCompared",
    "Step",
    "StepBack",
    "StepForward",
    "StopRecording",
    "Subscribe",
    "Unsubscribe",
    "Welcome",
]


# --- answers


class Heartbeat(Message, frozen=True, kw_only=True, tag="heartbeat"):
    """A client's network thread is alive. Sent every 2 s whatever the GUI does."""


class FailureKind(enum.StrEnum):
    """Why a command was not done."""

    REFUSED = "refused"
    TIMEOUT = "timeout"


class Done(Message, frozen=True, kw_only=True, omit_defaults=True, tag="done"):
    """A command was done; for Step and friends, by the owner thread.

    ``value``: the id of what it made (a checkpoint, a condition, a rollout, a segment).
    ``note``: what whoever asked should know of it, for people.
    """

    id: int
    value: int | None = None
    note: str = ""


class Failed(Message, frozen=True, kw_only=True, tag="failed"):
    """A command was not done, nothing has changed; ``reason`` is a sentence with a next step."""

    id: int
    kind: FailureKind
    reason: str


class Goodbye(Message, frozen=True, kw_only=True, tag="goodbye"):
    """The sender closes the connection, and why."""

    reason: str


# --- what is told of a scene


class SceneAdded(Message, frozen=True, kw_only=True, tag="scene_added"):
    """A scene exists; its description follows as SceneDescribed when it is first subscribed."""

    scene_id: int
    name: str
    n_envs: int = 1
    owner: str = ""


class SceneDescribed(Message, frozen=True, kw_only=True, tag="scene_described"):
    """What a scene looks like; sent again with a higher revision when its model changes."""

    description: SceneDescription


class SceneChannels(Message, frozen=True, kw_only=True, tag="scene_channels"):
    """User channels that appeared since the description."""

    scene_id: int
    channels: tuple[ChannelInfo, ...]


class SceneRemoved(Message, frozen=True, kw_only=True, tag="scene_removed"):
    """A scene was destroyed by its owner."""

    scene_id: int


class SceneRestored(Message, frozen=True, kw_only=True, tag="scene_restored"):
    """A scene's state was replaced: restore, reset, or an edit (``reason`` says which).

    ``count`` is how often since the last such message: a reader that is slower than a script's
    resets gets the newest.
    """

    scene_id: int
    reason: str
    axis: int
    time: float
    count: int = 1


class OwnerActivity(enum.StrEnum):
    """What an owner thread is doing."""

    STARTING = "starting"
    PARKED = "parked"
    PACING = "pacing"
    STEPPING = "stepping"
    USER_CODE = "user_code"
    FINISHED = "finished"


class SceneStatus(Message, frozen=True, kw_only=True, tag="scene_status"):
    """Where a scene stands; sent on change, at most ten times a second.

    ``mode`` is the session's, or PAUSED when the scene is held. ``axis`` counts physics steps and
    never falls. ``rtf`` is simulated per wall time over the last second, None when nothing moved.
    ``activity_s`` says for how long, ``location`` where ("train.py:118") the owner is.
    """

    scene_id: int
    mode: PlaybackMode
    held: bool
    hold_reason: str
    step_count: int
    physics_step_count: int
    total_steps: int
    axis: int
    time: float
    rtf: float | None
    throttled: bool
    activity: OwnerActivity
    activity_s: float
    location: str
    waiting_for: str = ""


class LogEntry(Message, frozen=True, kw_only=True, tag="log_entry"):
    """A sentence for the user; ``scene_id`` None: about the session.

    ``source``: the place in the script that it is about, ``lint`` for what was found by looking.
    ``channel``: the name under which the script has logged it, empty for what others say.
    """

    level: LogLevel
    text: str
    wall_time: float
    scene_id: int | None = None
    axis: int | None = None
    time: float | None = None
    source: str = ""
    channel: str = ""


ClientMessage = (
    ClientHello
    | ClientProof
    | Play
    | Pause
    | FastForward
    | SetSpeed
    | HoldAtEnd
    | Step
    | PhysicsStep
    | RunUntil
    | RestoreInitial
    | EditState
    | Perturb
    | ReleasePerturb
    | OverrideControl
    | SetControlNoise
    | EditOption
    | LoadKeyframe
    | SaveCheckpoint
    | RestoreCheckpoint
    | DropCheckpoint
    | LabelCheckpoint
    | RevertEdit
    | Lint
    | BreakWhen
    | CompareStates
    | ContinueFromHere
    | DeriveNumber
    | DropRollout
    | EditCondition
    | Fork
    | GoLive
    | Goto
    | ReadRows
    | RemoveCondition
    | Resimulate
    | SelectEnvironments
    | SetHistory
    | SetStopRules
    | ShowGhosts
    | StepBack
    | StepForward
    | StartRecording
    | StopRecording
    | SaveHistory
    | RequestControl
    | ReleaseControl
    | Subscribe
    | Unsubscribe
    | AssetRequest
    | Heartbeat
    | Goodbye
)

ServerMessage = (
    ServerHello
    | Welcome
    | Done
    | Failed
    | Goodbye
    | Heartbeat
    | SessionStatus
    | ControlChanged
    | SceneAdded
    | SceneDescribed
    | SceneChannels
    | SceneRemoved
    | SceneRestored
    | SceneEdited
    | SceneInterventions
    | SceneCheckpoints
    | SceneFindings
    | Environments
    | Rows
    | SceneConditions
    | SceneGhosts
    | SceneHistory
    | SceneNotes
    | SceneRecording
    | SceneRollouts
    | SceneStops
    | StatesCompared
    | SceneStatus
    | Frame
    | AssetChunk
    | LogEntry
)
