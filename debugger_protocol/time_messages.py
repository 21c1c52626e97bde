"""Time travel: looking at the past, branches, stops, conditions, rollouts, environments.

The axis counts physics steps ever taken and never falls; row ``a`` is the state and the inputs just
before physics step ``a``. A scene whose view stands at an axis shows that row and everything its
step computed (``Instant.PAST``); it stands still meanwhile, and looking never moves it.
"""

import enum

import msgspec

from stroboscope.debugger_protocol.edit_messages import ElementRef
from stroboscope.debugger_protocol.message_base import Command, Message

__all__ = [
    "BreakWhen",
    "CompareStates",
    "ConditionInfo",
    "ContinueFromHere",
    "DeriveNumber",
    "DropRollout",
    "EditCondition",
    "EditKind",
    "Environments",
    "Fork",
    "GhostRef",
    "GhostSource",
    "GoLive",
    "Goto",
    "ReadRows",
    "Reduction",
    "RemoveCondition",
    "Resimulate",
    "RolloutInfo",
    "Rows",
    "SceneConditions",
    "SceneGhosts",
    "SceneHistory",
    "SceneRollouts",
    "SceneStops",
    "Segment",
    "SegmentKind",
    "SelectEnvironments",
    "SetHistory",
    "SetStopRules",
    "ShowGhosts",
    "StateDifference",
    "StatesCompared",
    "StepBack",
    "StepForward",
    "StopInfo",
    "StopReason",
    "WhatIf",
]


# --- looking


class Goto(Command, frozen=True, kw_only=True, tag="goto"):
    """Move the view of a paused scene to a row, exactly one of these given, or ``episode`` too.

    ``axis``: that row. ``step``: physics step, within ``episode`` when given, else on the axis.
    ``time`` [s]: the last row that is not later, within ``episode`` (default: the one in view).
    ``episode`` alone: its first row. A running scene is paused first. Where the axis is beyond the
    newest row, the view is live again.
    """

    scene_id: int
    axis: int | None = None
    step: int | None = None
    time: float | None = None
    episode: int | None = None


class StepBack(Command, frozen=True, kw_only=True, tag="step_back"):
    """Move the view back by application steps (``physics``: physics steps); stops at the oldest."""

    scene_id: int
    count: int = 1
    physics: bool = False


class StepForward(Command, frozen=True, kw_only=True, tag="step_forward"):
    """Move the view forward through the history; it ends at live, where Step begins."""

    scene_id: int
    count: int = 1
    physics: bool = False


class GoLive(Command, frozen=True, kw_only=True, tag="go_live"):
    """Look at the state that the scene stands at again."""

    scene_id: int


class SetHistory(Command, frozen=True, kw_only=True, tag="set_history"):
    """Keep history or not, in at most so many bytes (None: as it is)."""

    scene_id: int
    keep: bool
    max_bytes: int | None = None


# --- branches


class ContinueFromHere(Command, frozen=True, kw_only=True, tag="continue_from_here"):
    """Move the scene to the row in view; the script goes on from there. Answers the segment id.

    The future left behind stays in the history. With ``with_script`` False the engine re-simulates
    the recorded inputs from there to where the scene stood, and the script goes on after that.
    """

    scene_id: int
    with_script: bool = True


class EditKind(enum.StrEnum):
    """What a re-simulation changes."""

    OPTION = "option"
    """One of the description's options (``timestep``, ``integrator``, …)."""
    MODEL = "model"
    """A field of the engine's model, counted flat (``actuator_gainprm``, ``dof_armature``, …), or
    from the first number of one element (``dof_armature.elbow``).
    """
    CONTROL = "ctrl"
    """Controls, held at a value over the whole re-simulation."""
    FORCE = "qfrc_applied"
    """Generalised forces added to those recorded."""
    GAIN = "gain"
    """A gain of servos: of all (``kp``, ``kv``), or of those that are called so (``kp.wrist``) or
    match (``kp.*hip*``). The target of a servo stays the same.
    """
    GAIN_FACTOR = "gain_factor"
    """The same, each multiplied with a value."""


class WhatIf(msgspec.Struct, frozen=True, kw_only=True):
    """One edit: ``values`` from ``index`` on of what ``name`` says."""

    kind: EditKind
    name: str = ""
    index: int = 0
    values: tuple[float, ...] = ()


class Resimulate(Command, frozen=True, kw_only=True, tag="resimulate"):
    """Run the recorded inputs again from the row in view (or ``axis``), with edits, beside the
    scene, which stays where it is. ``steps`` physics steps, 0: to the end of that segment. From the
    live axis on, where nothing is recorded, the inputs are held as they stand (500 steps unless
    said). With another timestep the same simulation time is run. Answers the rollout's id.
    """

    scene_id: int
    axis: int | None = None
    steps: int = 0
    edits: tuple[WhatIf, ...] = ()
    name: str = ""


class DropRollout(Command, frozen=True, kw_only=True, tag="drop_rollout"):
    """Forget a rollout."""

    scene_id: int
    rollout_id: int


class Reduction(enum.StrEnum):
    """How one number comes of the values of many steps; what is no number counts for nothing."""

    MAX = "max"
    MIN = "min"
    MEAN = "mean"
    LAST = "last"


class DeriveNumber(Command, frozen=True, kw_only=True, tag="derive_number"):
    """Compute a number of rollouts (empty: all of the scene's): of an expression, over their steps.

    Of ``scene_id`` 0: of scenes that have ended. Answered when it was begun; the numbers join those
    of each rollout as they come, under ``name`` (empty: "max time [s]"). What can't be computed
    from rows alone fails.
    """

    scene_id: int
    expression: str
    reduction: Reduction = Reduction.MAX
    name: str = ""
    rollout_ids: tuple[int, ...] = ()


class GhostSource(enum.StrEnum):
    """What a ghost is of."""

    CHECKPOINT = "checkpoint"
    ROLLOUT = "rollout"
    ROW = "row"
    """A row of the history, by axis."""
    ENVIRONMENT = "environment"


class GhostRef(msgspec.Struct, frozen=True, kw_only=True):
    """One ghost: ``number`` is the id, the axis or the environment, in ``scene_id``."""

    source: GhostSource
    number: int
    scene_id: int


class ShowGhosts(Command, frozen=True, kw_only=True, tag="show_ghosts"):
    """Make these the scene's ghosts, in the topic ``ghosts``; at most 16. Rollouts move along with
    the view by their time; what is of another scene needs the same model."""

    scene_id: int
    ghosts: tuple[GhostRef, ...]


class SceneGhosts(Message, frozen=True, kw_only=True, tag="scene_ghosts"):
    """What the topic ``ghosts`` of a scene shows, whoever has asked for it; sent on change."""

    scene_id: int
    ghosts: tuple[GhostRef, ...] = ()


class CompareStates(Command, frozen=True, kw_only=True, tag="compare_states"):
    """Compare two states, or two rollouts step by step; StatesCompared follows with this id."""

    scene_id: int
    first: GhostRef
    second: GhostRef
    tolerance: float = 0.0


class StateDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A named value that differs; for rollouts the largest difference, and where it is."""

    name: str
    unit: str
    first: float
    second: float
    at_step: int = 0


class StatesCompared(Message, frozen=True, kw_only=True, tag="states_compared"):
    """The answer to CompareStates, most different first; ``more`` were left out.

    Steps are counted from where both begin; -1: never. ``first_bit``: the first that is not equal
    to the last bit; ``first_beyond``: that differs by more than the tolerance;
    ``first_contacts``: that has other contacts.
    """

    id: int
    scene_id: int
    differences: tuple[StateDifference, ...]
    more: int = 0
    first_bit: int = -1
    first_beyond: int = -1
    first_contacts: int = -1
    text: str = ""


class ReadRows(Command, frozen=True, kw_only=True, tag="read_rows"):
    """Read channels of the history (``rollout_id`` 0) or of a rollout: Rows follow, then Done.

    Only channels that follow from rows alone are there (``qpos``, ``ctrl``, ``energy.total`` …,
    expressions over them); others fail. From axis (of a rollout: step) ``first`` to ``last``,
    which is the newest where None; at most ``max_rows``, evenly thinned.
    """

    scene_id: int
    channels: tuple[str, ...]
    rollout_id: int = 0
    first: int = 0
    last: int | None = None
    max_rows: int = 20_000


class Rows(Message, frozen=True, kw_only=True, tag="rows"):
    """Some rows of ReadRows: ``axis`` int64 (n,), ``time`` float64 (n,), ``values`` (n, width)."""

    id: int
    scene_id: int
    rollout_id: int
    channels: tuple[str, ...]
    widths: tuple[int, ...]
    count: int
    blob: bytes


# --- what is there


class SegmentKind(enum.StrEnum):
    """How a stretch of the axis began."""

    BEGIN = "begin"
    EPISODE = "episode"
    RESTORE = "restore"
    BRANCH = "branch"
    EDIT = "edit"


class Segment(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A stretch of the axis in which every state follows from the one before.

    ``parent_axis``: the row that it continues, -1 when its first state came from elsewhere.
    ``physics_step``, ``step_count``, ``time`` [s]: the state's own at ``begin``.
    """

    segment_id: int
    kind: SegmentKind
    begin: int
    episode: int
    parent_axis: int = -1
    physics_step: int = 0
    step_count: int = 0
    time: float = 0.0
    text: str = ""


class SceneHistory(Message, frozen=True, kw_only=True, tag="scene_history"):
    """What a scene remembers; sent on change, at most ten times a second.

    Rows from ``first`` on exist, those before ``dense`` thinned out (re-simulated when looked at).
    ``segments`` are the newest, ``older_segments`` were left out. ``view``: the axis that is looked
    at, None live; ``view_back``: application steps between it and live; ``view_note``: how it was
    had ("verified", "not reproducible: …"), empty for a stored row. ``busy``: what is being
    re-simulated, empty when nothing is, and its ``progress``, 0 to 1. ``script_state``: whether the
    script has registered state of its own, which then goes back with the scene. ``recording``: the
    name of the file that rows before ``recording_end`` come from, empty where there is none; the
    scene stands at its last frame until it is continued. ``left_for_edits``: how often the view has
    left the past because somebody has edited the scene, which happens where that stands.
    ``invalid``: why what is looked at, live or past, is no valid state: the scene has gone on after
    a stop where contacts had no room. Empty: nothing is known against it. ``asks_play``: whoever
    controls it, and has said that it ``plays``, shall move the view on from the oldest row, at the
    speed of the session, with ``asks_loop`` again and again; until the view has moved.
    """

    scene_id: int
    keeps: bool
    first: int = 0
    dense: int = 0
    rows: int = 0
    used_bytes: int = 0
    max_bytes: int = 0
    segments: tuple[Segment, ...] = ()
    older_segments: int = 0
    view: int | None = None
    view_back: int = 0
    view_time: float = 0.0
    view_step: int = 0
    view_note: str = ""
    busy: str = ""
    progress: float = 0.0
    script_state: bool = False
    recording: str = ""
    recording_end: int = 0
    left_for_edits: int = 0
    invalid: str = ""
    asks_play: bool = False
    asks_loop: bool = False


class RolloutInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One rollout: a re-simulation, a planner's candidate, or a scene that has ended.

    ``from_axis``: the row it begins with, -1 none; ``outcome``: "ended", or why it stopped;
    ``event_step``: the first step with an event, -1 none; ``numbers``: what was logged or derived.
    """

    rollout_id: int
    name: str
    steps: int
    timestep: float
    time: float
    from_axis: int = -1
    outcome: str = "ended"
    event_step: int = -1
    group: str = ""
    edits: tuple[str, ...] = ()
    numbers: tuple[tuple[str, float], ...] = ()
    reproducible: str = ""
    """Empty: without edits it reproduced the recorded states; else why not."""
    env: int = -1
    """The environment that it is of, -1 without environments."""


class SceneRollouts(Message, frozen=True, kw_only=True, tag="scene_rollouts"):
    """All rollouts of a scene, oldest first; sent on change. ``dropped`` to make room.

    Of ``scene_id`` 0: what is left of scenes that have ended, the last 64.
    """

    scene_id: int
    rollouts: tuple[RolloutInfo, ...]
    dropped: int = 0


# --- stops


class StopReason(enum.StrEnum):
    """Why a scene was stopped, and its rule's name in SetStopRules."""

    NON_FINITE = "non_finite"
    EXPLODING = "exploding"
    BAD_INPUT = "bad_input"
    WARNING = "warning"
    AUTORESET = "autoreset"
    FATAL = "fatal"
    ARENA = "arena"
    CALLBACK = "callback"
    SCRIPT_ERROR = "script_error"
    CONDITION = "condition"


class StopInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One stop: the scene was put back to row ``axis``, just before the step that it is about.

    A condition may have been looked at when that step was complete, and takes nothing back.

    ``message``: what happened, with names and numbers. ``culprit``: what likely caused it, and
    ``advice`` what to try; ``what_if``: edits that can be tried from there. ``physics_step`` and
    ``step`` within the episode; ``env`` -1 without environments.
    """

    stop_id: int
    reason: StopReason
    axis: int
    episode: int
    step: int
    physics_step: int
    time: float
    message: str
    culprit: str = ""
    advice: str = ""
    elements: tuple[ElementRef, ...] = ()
    dof: int = -1
    joint: str = ""
    body: str = ""
    actuator: str = ""
    value: float | None = None
    env: int = -1
    condition_id: int = 0
    what_if: tuple[tuple[str, tuple[WhatIf, ...]], ...] = ()
    """Offers: what to call it ("half the timestep"), and its edits."""
    held: bool = True
    """Whether the scene was held; else it was only marked."""
    wall_time: float = 0.0
    signal: str = ""
    """The signal that ended the process there, as in "SIGTERM". No rule is about that: the reason
    is ``SCRIPT_ERROR`` then, as peers that don't know this field know no other reasons."""
    is_before_step: bool = False
    """Whether it was found before the step, which was never taken: what follows from the state is
    of the step before."""


class SceneStops(Message, frozen=True, kw_only=True, tag="scene_stops"):
    """The newest stops of a scene, oldest first, how many there ever were, and its rules.

    ``resets``: how often MuJoCo has reset the state by itself, which its own counter doesn't say.
    """

    scene_id: int
    stops: tuple[StopInfo, ...]
    count: int = 0
    off: tuple[StopReason, ...] = ()
    stop_all: bool = False
    mark_only: bool = False
    resets: int = 0


class SetStopRules(Command, frozen=True, kw_only=True, tag="set_stop_rules"):
    """Which rules are off; whether a stop stops all scenes; whether it is only marked."""

    scene_id: int
    off: tuple[StopReason, ...] = ()
    stop_all: bool = False
    mark_only: bool = False


class BreakWhen(Command, frozen=True, kw_only=True, tag="break_when"):
    """Stop the scene when an expression is true (not zero). Answers the condition's id.

    It stops the ``hits``-th time that it becomes true; ``once``: and is removed then; ``log_only``:
    it is logged and marked instead. ``envs_idx``: in these environments; empty: wherever it can be.
    """

    scene_id: int
    expression: str
    name: str = ""
    hits: int = 1
    once: bool = False
    log_only: bool = False
    envs_idx: tuple[int, ...] = ()


class EditCondition(Command, frozen=True, kw_only=True, tag="edit_condition"):
    """Change a condition; what is None stays."""

    scene_id: int
    condition_id: int
    expression: str | None = None
    enabled: bool | None = None
    hits: int | None = None
    once: bool | None = None
    log_only: bool | None = None


class RemoveCondition(Command, frozen=True, kw_only=True, tag="remove_condition"):
    """Forget a condition."""

    scene_id: int
    condition_id: int


class ConditionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One condition; ``hit_count``: how often it became true; ``failure``: why it isn't watched.

    ``where``: in which environments it is looked at, in words; empty without environments.
    ``envs_idx``: those that a client has named.
    """

    condition_id: int
    expression: str
    name: str = ""
    enabled: bool = True
    hits: int = 1
    once: bool = False
    log_only: bool = False
    hit_count: int = 0
    failure: str = ""
    where: str = ""
    envs_idx: tuple[int, ...] = ()


class SceneConditions(Message, frozen=True, kw_only=True, tag="scene_conditions"):
    """All conditions of a scene, oldest first; sent on change."""

    scene_id: int
    conditions: tuple[ConditionInfo, ...]


# --- scenes with several environments


class Environments(Message, frozen=True, kw_only=True, tag="environments"):
    """A scene has ``count`` environments, of which ``shown`` are streamed; sent on change.

    ``selected``: whose state topics other than ``pose`` have. ``failed``: those with a stop since
    their last reset, ``failed_count`` of them, the newest 256 named.
    """

    scene_id: int
    count: int
    selected: int = 0
    shown: tuple[int, ...] = (0,)
    failed: tuple[int, ...] = ()
    failed_count: int = 0


class SelectEnvironments(Command, frozen=True, kw_only=True, tag="select_environments"):
    """Look at ``selected``, and show these (at most 64) in a grid; empty: only that one."""

    scene_id: int
    selected: int
    shown: tuple[int, ...] = ()


class Fork(Command, frozen=True, kw_only=True, tag="fork"):
    """Copy the state of environment ``source`` to the others."""

    scene_id: int
    source: int
    targets: tuple[int, ...]
