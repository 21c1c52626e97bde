"""One session: an application process the window is attached to. GUI thread only."""

import dataclasses
import enum
import re
import time
from collections.abc import Callable
from pathlib import Path

from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.signal import Signal
from stroboscope.debugger_protocol.messages import (
    Command,
    ControlChanged,
    Done,
    Failed,
    Pause,
    PhysicsStep,
    PlaybackMode,
    SceneAdded,
    SceneChannels,
    SceneCheckpoints,
    SceneDescribed,
    SceneEdited,
    SceneFindings,
    SceneInterventions,
    SceneNotes,
    SceneRecording,
    SceneRemoved,
    SceneRestored,
    SceneStatus,
    ServerMessage,
    SessionInfo,
    SessionStatus,
    SetSpeed,
    Step,
    Welcome,
)
from stroboscope.debugger_protocol.time_messages import (
    Environments,
    Rows,
    SceneConditions,
    SceneGhosts,
    SceneHistory,
    SceneRollouts,
    SceneStops,
    StatesCompared,
)

__all__ = ["EndKind", "PendingCommand", "SessionModel", "SessionState"]

# What an application is called after that shows a file: programs have other endings.
_SHOWN_FILES = frozenset({".mcap", ".strobe", ".xml", ".mjcf", ".urdf", ".mjb", ".mjz"})
# How an application that ended with an exception or an exit code says so in its farewell.
_FAILED = re.compile(
    r"\bended with\b(?! exit code 0\b| KeyboardInterrupt\b)|\bexit code (?!0\b)\d+|\bkilled by\b"
)


class SessionState(enum.StrEnum):
    """How far the connection is."""

    CONNECTING = "connecting"
    CONNECTED = "connected"
    LOST = "lost"


class EndKind(enum.StrEnum):
    """How a session that is lost came to its end."""

    BROKEN = "broken"
    ENDED = "ended"
    FAILED = "failed"


@dataclasses.dataclass(frozen=True, slots=True)
class PendingCommand:
    """A command that the application has not answered yet; ``sent`` is monotonic [s].

    The functions are what whoever sent it does with its answer.
    """

    message: Command
    sent: float
    then: Callable[[int, int | None], object] | None = None
    otherwise: Callable[[int, str], object] | None = None
    piece: Callable[[Rows | StatesCompared], object] | None = None
    note: Callable[[str], object] | None = None


class SessionModel:
    """Playback state, scenes and open commands of one application.

    ``transmit`` hands a message to the network; it never waits.
    """

    def __init__(self, path: Path, transmit: Callable[["SessionModel", Command], None]) -> None:
        self.changed: Signal[[]] = Signal()
        self.scene_added: Signal[[SceneModel]] = Signal()
        self.scene_removed: Signal[[SceneModel]] = Signal()
        self.refused: Signal[[PendingCommand, Failed]] = Signal()
        # By the id of a command that is done or was refused.
        self.answered: Signal[[int]] = Signal()
        # What is left of scenes that have ended.
        self.finished = SceneRollouts(scene_id=0, rollouts=())
        self.finished_changed: Signal[[]] = Signal()
        self.path = path
        self.key = -1
        self.state = SessionState.CONNECTING
        self.info: SessionInfo | None = None
        self.client_id: int | None = None
        self.controller: int | None = None
        self.status: SessionStatus | None = None
        self.lost_reason = ""
        self.end = EndKind.BROKEN
        # It came while another application was looked at, and nobody has looked at it yet.
        self.unseen = False
        self.scenes: dict[int, SceneModel] = {}
        self.pending: dict[int, PendingCommand] = {}
        self._transmit = transmit
        self._next_id = 1

    # --- who it is and how it stands

    @property
    def name(self) -> str:
        """The script's file name, else the connection file's."""
        if self.info is not None and self.info.script:
            return Path(self.info.script).name
        return self.path.stem

    @property
    def identity(self) -> str:
        """What stays the same when the script is started again."""
        return self.info.script if self.info is not None else ""

    @property
    def started(self) -> float:
        """When it began to wait for windows [s since the epoch]; 0 where it doesn't say."""
        return self.info.started if self.info is not None else 0.0

    @property
    def is_file(self) -> bool:
        """Whether it is a file that somebody has opened, and no program."""
        return Path(self.identity).suffix.lower() in _SHOWN_FILES

    @property
    def is_connected(self) -> bool:
        """Whether commands can be sent."""
        return self.state is SessionState.CONNECTED

    @property
    def has_control(self) -> bool:
        """Whether this window is the one that controls the application."""
        return self.client_id is not None and self.controller == self.client_id

    @property
    def is_replay(self) -> bool:
        """Whether all of its scenes are recorded runs that nobody has continued."""
        return bool(self.scenes) and all(s.history.is_replay for s in self.scenes.values())

    @property
    def mode(self) -> PlaybackMode:
        """The session's mode."""
        return self.status.mode if self.status is not None else PlaybackMode.PAUSED

    @property
    def speed(self) -> float:
        """The target: simulated seconds per wall second while playing."""
        # What was asked for counts at once, so that two quick key presses are two places.
        for pending in reversed(self.pending.values()):
            if isinstance(pending.message, SetSpeed):
                return pending.message.speed
        return self.status.speed if self.status is not None else 1.0

    def waiting_since(self, *kinds: type[Command]) -> float | None:
        """Return since when (monotonic) the oldest open command of these kinds waits, or None."""
        sent = [p.sent for p in self.pending.values() if isinstance(p.message, kinds)]
        return min(sent, default=None)

    @property
    def pausing_since(self) -> float | None:
        """Since when (monotonic) a pause is waited for, or None."""
        return self.waiting_since(Pause)

    @property
    def stepping_since(self) -> float | None:
        """Since when (monotonic) a step is waited for, or None."""
        return self.waiting_since(Step, PhysicsStep)

    # --- out

    def send(
        self,
        make: Callable[[int], Command],
        *,
        then: Callable[[int, int | None], object] | None = None,
        otherwise: Callable[[int, str], object] | None = None,
        piece: Callable[[Rows | StatesCompared], object] | None = None,
        note: Callable[[str], object] | None = None,
    ) -> int | None:
        """Send the command that ``make`` builds from a fresh id; None when not connected.

        When it is done ``then`` is called with its id and the id of what it made, when it is
        refused ``otherwise`` with its id and the reason; ``piece`` with what comes before that,
        ``note`` with what is said about it when it is done.
        """
        if not self.is_connected:
            return None
        message = make(self._next_id)
        self._next_id += 1
        pending = PendingCommand(
            message, time.monotonic(), then=then, otherwise=otherwise, piece=piece, note=note
        )
        self.pending[message.id] = pending
        self._transmit(self, message)
        self.changed.emit()
        return message.id

    # --- in

    def welcomed(self, welcome: Welcome) -> None:
        """The handshake succeeded; what is known of an earlier run is dropped."""
        for scene in tuple(self.scenes.values()):
            self._remove(scene)
        self.state = SessionState.CONNECTED
        self.info = welcome.session
        self.client_id = welcome.client_id
        self.status = None
        self.lost_reason = ""
        self.pending.clear()
        self.finished = SceneRollouts(scene_id=0, rollouts=())
        self._next_id = 1
        self.changed.emit()
        self.finished_changed.emit()

    def lost(self, reason: str, *, farewell: bool = False) -> None:
        """The connection is gone; scenes stay visible as they were last seen.

        ``farewell``: ``reason`` is what the application itself said when it ended.
        """
        self.state = SessionState.LOST
        self.lost_reason = reason
        self.end = EndKind.BROKEN
        if farewell:
            self.end = EndKind.FAILED if _FAILED.search(reason) else EndKind.ENDED
        self.unseen = False
        self.pending.clear()
        self.changed.emit()
        for scene in self.scenes.values():
            scene.status_changed.emit()

    def receive(self, message: ServerMessage) -> None:
        """Take one message; those about unknown scenes are late ones and are ignored."""
        match message:
            case SceneAdded():
                self._add(message)
            case SceneRemoved():
                if (scene := self.scenes.get(message.scene_id)) is not None:
                    self._remove(scene)
            case SessionStatus():
                self.status = message
                self.controller = message.controller
                self.changed.emit()
            case ControlChanged():
                self.controller = message.controller
                self.changed.emit()
            case Done():
                pending = self.pending.pop(message.id, None)
                self.changed.emit()
                if pending is not None and pending.then is not None:
                    pending.then(message.id, message.value)
                if pending is not None and pending.note is not None:
                    pending.note(message.note)
                self.answered.emit(message.id)
            case Failed():
                pending = self.pending.pop(message.id, None)
                self.changed.emit()
                if pending is not None:
                    self.refused.emit(pending, message)
                    if pending.otherwise is not None:
                        pending.otherwise(message.id, message.reason)
                self.answered.emit(message.id)
            case Rows() | StatesCompared():
                pending = self.pending.get(message.id)
                if pending is not None and pending.piece is not None:
                    pending.piece(message)
            case SceneStatus() | SceneChannels() | SceneRestored():
                scene = self.scenes.get(message.scene_id)
                if scene is not None:
                    self._tell(scene, message)
            case SceneEdited() | SceneInterventions() | SceneCheckpoints() | SceneFindings():
                if (scene := self.scenes.get(message.scene_id)) is not None:
                    scene.edits.receive(message)
            case SceneHistory() | SceneStops():
                if (scene := self.scenes.get(message.scene_id)) is not None:
                    scene.set_history(message)
            case SceneNotes():
                if (scene := self.scenes.get(message.scene_id)) is not None:
                    scene.history.receive(message)
            case SceneRecording():
                if (scene := self.scenes.get(message.scene_id)) is not None:
                    scene.recording.receive(message)
            case SceneRollouts(scene_id=0):
                self.finished = message
                self.finished_changed.emit()
            case SceneConditions() | SceneRollouts() | Environments() | SceneGhosts():
                if (scene := self.scenes.get(message.scene_id)) is not None:
                    scene.set_time_news(message)
            case SceneDescribed():
                scene = self.scenes.get(message.description.scene_id)
                if scene is not None:
                    scene.set_description(message.description)
            case _:
                pass

    def _tell(
        self, scene: SceneModel, message: SceneStatus | SceneChannels | SceneRestored
    ) -> None:
        match message:
            case SceneStatus():
                scene.set_status(message)
            case SceneChannels():
                scene.add_channels(message.channels)
            case SceneRestored():
                scene.set_restored(message)

    def _add(self, added: SceneAdded) -> None:
        if (known := self.scenes.get(added.scene_id)) is not None:
            known.name = added.name
            known.owner = added.owner
            known.status_changed.emit()
            return
        scene = SceneModel(self, added)
        self.scenes[added.scene_id] = scene
        self.scene_added.emit(scene)

    def _remove(self, scene: SceneModel) -> None:
        del self.scenes[scene.scene_id]
        scene.set_gone()
        self.scene_removed.emit(scene)
