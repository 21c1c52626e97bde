"""Every message of the protocol, one frozen struct each, in two tagged unions.

Client messages that ask for something carry an ``id`` chosen by the client (rising, per
connection); exactly one :class:`Done` or :class:`Failed` answers it. Scenes are named by
``scene_id``; no command carries a path.
"""

import enum

import msgspec

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
from stroboscope.debugger_protocol.message_base import Command, Message
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
from stroboscope.debugger_protocol.topics import Instant, Topic

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
    "SceneHistory",
    "SceneInterventions",
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


# --- handshake: C ClientHello, S ServerHello (server proves first), C ClientProof, S Welcome


class ClientHello(Message, frozen=True, kw_only=True, tag="client_hello"):
    """First message of a client; nothing but a nonce and versions before any proof."""

    major: int
    minor: int
    nonce: bytes
    capabilities: tuple[str, ...] = ()
    observe: bool = False
    name: str = ""


class ServerHello(Message, frozen=True, kw_only=True, tag="server_hello"):
    """The server's nonce and its proof of the secret."""

    major: int
    minor: int
    nonce: bytes
    proof: bytes
    capabilities: tuple[str, ...] = ()


class ClientProof(Message, frozen=True, kw_only=True, tag="client_proof"):
    """The client's proof of the secret."""

    proof: bytes


class SessionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Who the application is. ``session_id`` changes with every attach, ``script`` does not."""

    session_id: str
    pid: int
    script: str = ""
    argv: tuple[str, ...] = ()
    python: str = ""
    engine: str = ""
    started: float = 0.0


class Welcome(Message, frozen=True, kw_only=True, tag="welcome"):
    """The handshake succeeded. Full SceneAdded, SceneStatus and SessionStatus messages follow."""

    session: SessionInfo
    client_id: int


# --- playback


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


# --- subscriptions


class Subscribe(Command, frozen=True, kw_only=True, tag="subscribe"):
    """Ask for topics of a scene; adds to what is subscribed. ``channels`` belong to SIGNALS."""

    scene_id: int
    topics: tuple[Topic, ...]
    channels: tuple[str, ...] = ()
    max_rate_hz: float = 60.0


class Unsubscribe(Command, frozen=True, kw_only=True, tag="unsubscribe"):
    """Stop topics, or single channels of SIGNALS when ``channels`` is not empty."""

    scene_id: int
    topics: tuple[Topic, ...]
    channels: tuple[str, ...] = ()


class AssetRequest(Command, frozen=True, kw_only=True, tag="asset_request"):
    """Ask for a range of an asset by content hash; answered by AssetChunk, or Failed."""

    digest: str
    offset: int = 0


class Heartbeat(Message, frozen=True, kw_only=True, tag="heartbeat"):
    """A client's network thread is alive. Sent every 2 s whatever the GUI does."""


# --- answers and events


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


class ArrayEntry(msgspec.Struct, frozen=True, array_like=True):
    """Where one array stands in a blob. ``dtype`` is NumPy's, as in ``<f8``."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int


class Frame(Message, frozen=True, kw_only=True, tag="frame"):
    """Values of one topic at one instant; the arrays stand in ``blob``, 8-byte aligned.

    ``axis``, ``step``, ``time`` are those of the instant. ``dropped`` counts frames of this topic
    that this client missed since the last one it got; for signals, lost rows (an explicit gap
    before the first row). ``notes`` say what the numbers can't ("forces not computed: …").
    """

    scene_id: int
    topic: Topic
    instant: Instant
    revision: int
    axis: int
    step: int
    time: float
    dropped: int
    arrays: tuple[ArrayEntry, ...]
    blob: bytes
    notes: tuple[str, ...] = ()


class AssetChunk(Message, frozen=True, kw_only=True, tag="asset_chunk"):
    """A range of an asset: a table of ArrayEntry (msgpack) and blob, hashed as a whole."""

    id: int
    digest: str
    offset: int
    total: int
    data: bytes


class LogEntry(Message, frozen=True, kw_only=True, tag="log_entry"):
    """A sentence for the user; ``scene_id`` None: about the session.

    ``source``: the place in the script that it is about, ``lint`` for what was found by looking.
    """

    level: LogLevel
    text: str
    wall_time: float
    scene_id: int | None = None
    axis: int | None = None
    time: float | None = None
    source: str = ""


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
    | SceneHistory
    | SceneRecording
    | SceneRollouts
    | SceneStops
    | StatesCompared
    | SceneStatus
    | Frame
    | AssetChunk
    | LogEntry
)
