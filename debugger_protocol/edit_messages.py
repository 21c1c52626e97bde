"""Messages that change a scene from outside, and what is said about such changes.

Every edit is announced to all clients (SceneEdited) and can be undone (RevertEdit).
"""

import enum

import msgspec

from stroboscope.debugger_protocol.message_base import Command, Message
from stroboscope.debugger_protocol.scene_description import Vec3, Vec4

__all__ = [
    "CheckpointInfo",
    "CheckpointOrigin",
    "DropCheckpoint",
    "EditField",
    "EditOption",
    "EditState",
    "ElementRef",
    "Finding",
    "LabelCheckpoint",
    "Lint",
    "LoadKeyframe",
    "LogLevel",
    "OverrideControl",
    "Perturb",
    "PerturbKind",
    "ReleasePerturb",
    "RestoreCheckpoint",
    "RevertEdit",
    "SaveCheckpoint",
    "SceneCheckpoints",
    "SceneEdited",
    "SceneFindings",
    "SceneInterventions",
    "SetControlNoise",
]


class EditField(enum.StrEnum):
    """State arrays that a client may edit; the first three only while the scene stands still."""

    QPOS = "qpos"
    QVEL = "qvel"
    ACT = "act"
    CTRL = "ctrl"
    MOCAP_POS = "mocap_pos"
    MOCAP_QUAT = "mocap_quat"
    QFRC_APPLIED = "qfrc_applied"
    XFRC_APPLIED = "xfrc_applied"
    EQ_ACTIVE = "eq_active"
    USERDATA = "userdata"


class EditState(Command, frozen=True, kw_only=True, tag="edit_state"):
    """Write ``values`` into a state array from ``index`` on; all of it or nothing."""

    scene_id: int
    field: EditField
    index: int
    values: tuple[float, ...]


class PerturbKind(enum.StrEnum):
    """What a perturbation spring pulls at."""

    FORCE = "force"
    TORQUE = "torque"


class Perturb(Command, frozen=True, kw_only=True, tag="perturb"):
    """Pull a body with MuJoCo's critically damped perturbation spring until ReleasePerturb.

    ``point`` [m] in the body's frame is drawn to ``pos`` [m] in the world (FORCE), or the body's
    inertial frame turned towards ``quat`` wxyz in the world (TORQUE). Each replaces the one before;
    it ends with the client. The force is added to the script's own just before each physics step
    and taken out after it.
    """

    scene_id: int
    body: int
    kind: PerturbKind
    point: Vec3 = (0.0, 0.0, 0.0)
    pos: Vec3 = (0.0, 0.0, 0.0)
    quat: Vec4 = (1.0, 0.0, 0.0, 0.0)


class ReleasePerturb(Command, frozen=True, kw_only=True, tag="release_perturb"):
    """Let go of the perturbed body."""

    scene_id: int


class OverrideControl(Command, frozen=True, kw_only=True, tag="override_control"):
    """Use ``value`` for ``ctrl[index]`` in every physics step whatever the script writes.

    None gives the control back to the script, which reads its own value all the time.
    """

    scene_id: int
    index: int
    value: float | None


class SetControlNoise(Command, frozen=True, kw_only=True, tag="set_control_noise"):
    """Add correlated noise to every control: ``std`` of its range, ``rate`` [s]; 0: none."""

    scene_id: int
    std: float
    rate: float = 0.0


class EditOption(Command, frozen=True, kw_only=True, tag="edit_option"):
    """Set one of the description's ``options``; flags are 0 or 1, choices their index."""

    scene_id: int
    option: str
    values: tuple[float, ...]


class LoadKeyframe(Command, frozen=True, kw_only=True, tag="load_keyframe"):
    """Reset the scene to one of the model's keyframes."""

    scene_id: int
    index: int


class SaveCheckpoint(Command, frozen=True, kw_only=True, tag="save_checkpoint"):
    """Keep the state of a scene under a name, for as long as the session lasts. Answers its id."""

    scene_id: int
    name: str
    note: str = ""


class RestoreCheckpoint(Command, frozen=True, kw_only=True, tag="restore_checkpoint"):
    """Put a scene back to one of its checkpoints, all of it or nothing.

    ``source_scene_id``: the scene that keeps it, when that is another one of the same model.
    """

    scene_id: int
    checkpoint_id: int
    source_scene_id: int | None = None


class LabelCheckpoint(Command, frozen=True, kw_only=True, tag="label_checkpoint"):
    """Give a checkpoint another name, another note, or both; what is None stays."""

    scene_id: int
    checkpoint_id: int
    name: str | None = None
    note: str | None = None


class DropCheckpoint(Command, frozen=True, kw_only=True, tag="drop_checkpoint"):
    """Forget a checkpoint. One of the script's leaves the list only: the script keeps its own."""

    scene_id: int
    checkpoint_id: int


class RevertEdit(Command, frozen=True, kw_only=True, tag="revert_edit"):
    """Undo an edit that SceneEdited announced."""

    scene_id: int
    edit_id: int


class Lint(Command, frozen=True, kw_only=True, tag="lint"):
    """Look for common mistakes in the model and state anew; SceneFindings follows."""

    scene_id: int


class SceneEdited(Message, frozen=True, kw_only=True, tag="scene_edited"):
    """A client edited a scene, or (``reverted``) that edit was undone. ``text`` says what."""

    scene_id: int
    edit_id: int
    text: str
    axis: int
    time: float
    reverted: bool = False


class SceneInterventions(Message, frozen=True, kw_only=True, tag="scene_interventions"):
    """What clients do to a scene beside its script; sent on change.

    ``overrides``: (index, value) of each overridden control; ``perturbed_body`` -1: none.
    """

    scene_id: int
    overrides: tuple[tuple[int, float], ...] = ()
    noise_std: float = 0.0
    noise_rate: float = 0.0
    perturbed_body: int = -1


class CheckpointOrigin(enum.StrEnum):
    """Who has made a checkpoint."""

    CLIENT = "client"
    SCRIPT = "script"
    """``scene.checkpoint(name)``: the script has it as well, and may go back to it by itself."""


class CheckpointInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One kept state. ``approximate``: why it may not continue bit for bit, empty when exact."""

    checkpoint_id: int
    name: str
    axis: int
    step_count: int
    time: float
    wall_time: float
    approximate: str = ""
    nbytes: int = 0
    note: str = ""
    origin: CheckpointOrigin = CheckpointOrigin.CLIENT


class SceneCheckpoints(Message, frozen=True, kw_only=True, tag="scene_checkpoints"):
    """All checkpoints of a scene, oldest first; sent on change."""

    scene_id: int
    checkpoints: tuple[CheckpointInfo, ...]


class LogLevel(enum.StrEnum):
    """How loud a log entry is."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class ElementRef(msgspec.Struct, frozen=True, kw_only=True):
    """An element that a sentence is about; ``kind`` is the description's word (``joint``, …)."""

    kind: str
    index: int
    name: str


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Something about a model or state that usually is a mistake.

    ``rule`` is its short fixed name, ``text`` what is the case with names and numbers, ``advice``
    what to try.
    """

    rule: str
    level: LogLevel
    text: str
    advice: str
    elements: tuple[ElementRef, ...] = ()


class SceneFindings(Message, frozen=True, kw_only=True, tag="scene_findings"):
    """What looking over a scene found, worst first; sent after attaching and after Lint."""

    scene_id: int
    findings: tuple[Finding, ...]
