"""All sessions of the window, the scene that is shown, and the commands of the transport."""

import enum
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from stroboscope.app.models.assets import AssetLibrary, asset_digests, tree_digests
from stroboscope.app.models.frames import SceneFrame
from stroboscope.app.models.log import LogModel
from stroboscope.app.models.network import Batch, Closed, Network, Opened, Received
from stroboscope.app.models.refreshes import Refreshes
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.selection import SelectionModel
from stroboscope.app.models.session import EndKind, PendingCommand, SessionModel, SessionState
from stroboscope.app.models.signal import Signal
from stroboscope.app.models.visibility import VisibilityModel
from stroboscope.debugger_protocol.exceptions import InvalidMessage
from stroboscope.debugger_protocol.messages import (
    AssetChunk,
    AssetRequest,
    Command,
    ControlChanged,
    EditField,
    Failed,
    FastForward,
    Frame,
    LogEntry,
    LogLevel,
    Pause,
    PhysicsStep,
    Play,
    PlaybackMode,
    RequestControl,
    RestoreInitial,
    SetSpeed,
    Step,
    Subscribe,
    Unsubscribe,
)
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["SPEEDS", "Scope", "SessionsModel"]

_AFTER_FAILURE = (
    "Its last state stays here to be looked at; the traceback is in its terminal. Start it again "
    "and it takes its place."
)
_AFTER_END = "Its last state stays here to be looked at. Start it again and it takes its place."
# The description of another model comes this long after the old one's meshes have gone, or sooner.
_DESCRIBED_WITHIN_S = 2.0
SPEEDS = tuple(2.0**n for n in range(-6, 7))


class Scope(enum.StrEnum):
    """What Play, Pause and Fast forward act on."""

    ALL = "all"
    SCENE = "scene"


class SessionsModel:
    """Feeds what the network brings to the models, and sends what the user wants.

    GUI thread only; ``poll`` must be called when the network has something.
    """

    def __init__(self, network: Network, log: LogModel) -> None:
        self.session_added: Signal[[SessionModel]] = Signal()
        self.session_removed: Signal[[SessionModel]] = Signal()
        self.session_changed: Signal[[SessionModel]] = Signal()
        self.scene_added: Signal[[SceneModel]] = Signal()
        self.scene_removed: Signal[[SceneModel]] = Signal()
        self.shown_changed: Signal[[SceneModel | None]] = Signal()
        self.frame_arrived: Signal[[SceneModel, SceneFrame]] = Signal()
        self.signals_arrived: Signal[[SceneModel, Frame]] = Signal()
        self.scope_changed: Signal[[Scope]] = Signal()
        self.log = log
        self.assets = AssetLibrary()
        self.selection = SelectionModel()
        self.visibility = VisibilityModel()
        # How often panels show what has come.
        self.refreshes = Refreshes()
        self.sessions: list[SessionModel] = []
        self.shown: SceneModel | None = None
        self.scope = Scope.ALL
        # Rows of subscribed signals that never arrived: lost evidence, said as a warning.
        self.lost_rows = 0
        # Older pictures and values that newer ones replaced on the way: normal, and no loss.
        self.replaced_frames = 0
        # Which scene to show when a script comes back: script -> scene name.
        self.remembered_scene: dict[str, str] = {}
        self._network = network
        self._began = time.time()
        self._by_key: dict[int, SessionModel] = {}
        # Meshes and the like that could not be had: since when [s, monotonic], why, and for what.
        self._missing: dict[str, tuple[float, str, list[SceneDescription]]] = {}
        self.assets.failed.connect(self._on_asset_failed)

    # --- sessions

    def open(self, connection_file: Path, *, observe: bool = False) -> SessionModel:
        """Connect to an application; the same file twice returns the session that is open."""
        for session in self.sessions:
            if session.path == connection_file and session.state is not SessionState.LOST:
                return session
        session = SessionModel(connection_file, self._transmit)
        session.key = self._network.open(connection_file, observe=observe)
        self._by_key[session.key] = session
        self.sessions.append(session)
        self._listen(session)
        self.session_added.emit(session)
        return session

    def reconnect(self, session: SessionModel) -> None:
        """Try the same connection file once more."""
        if session.state is SessionState.LOST:
            self._by_key.pop(session.key, None)
            session.state = SessionState.CONNECTING
            session.key = self._network.open(session.path)
            self._by_key[session.key] = session
            session.changed.emit()

    def remove(self, session: SessionModel) -> None:
        """Disconnect from a session and take it out of the window."""
        if session not in self.sessions:
            return
        self._network.close_session(session.key)
        self._take_out(session)
        for scene in session.scenes.values():
            scene.set_gone()
        self._tell_removed(session)
        if self.shown is not None and self.shown.session is session:
            self.show(self._any_scene())

    def _take_out(self, session: SessionModel) -> None:
        self._by_key.pop(session.key, None)
        self.assets.forget(session)
        self.sessions.remove(session)

    def _tell_removed(self, session: SessionModel) -> None:
        # Who keeps something per scene hears of each.
        for scene in session.scenes.values():
            self.scene_removed.emit(scene)
        self.session_removed.emit(session)

    def forget_ended(self) -> None:
        """Take every application that has ended out of the window."""
        for session in tuple(self.sessions):
            if session.state is SessionState.LOST:
                self.remove(session)

    @property
    def newcomers(self) -> list[SessionModel]:
        """Applications that joined while another was looked at, and wait to be seen."""
        return [s for s in self.sessions if s.unseen and s.is_connected and s.scenes]

    def poll(self) -> None:
        """Take everything that has arrived. Errors in it go to the log, never up."""
        batch: Batch = self._network.poll()
        for event in batch.events:
            self._guarded(self._take, event)
        for latest in batch.latest:
            self._guarded(self._take, latest)
        if batch.lost_log_entries:
            lost = batch.lost_log_entries
            self.log.add(LogLevel.WARNING, f"{lost} log entries were lost: too many at once.")

        if self._missing:
            self._tell_what_is_missing()

    # --- the scene that is shown

    def show(self, scene: SceneModel | None) -> None:
        """Show a scene; this changes nothing in its playback."""
        if scene is self.shown:
            return
        if self.shown is not None and not self.shown.gone:
            self.shown.want("shown", ())
        self.shown = scene
        self.selection.select(None)
        if scene is not None:
            self.remembered_scene[scene.session.identity] = scene.name
            scene.session.unseen = False
            # Sensors too: a step that ran without them can't show them afterwards.
            scene.want("shown", (Topic.POSE, Topic.STATE, Topic.SENSORS))
        self.shown_changed.emit(scene)

    def all_scenes(self) -> tuple[SceneModel, ...]:
        """Return every scene in the order of the tree."""
        return tuple(scene for session in self.sessions for scene in session.scenes.values())

    def show_neighbour(self, offset: int) -> None:
        """Show the scene ``offset`` places further in the tree, around the end."""
        scenes = self.all_scenes()
        if scenes:
            at = scenes.index(self.shown) if self.shown in scenes else -1
            self.show(scenes[(at + offset) % len(scenes)])

    # --- transport

    def set_scope(self, scope: Scope) -> None:
        """Choose what Play, Pause and Fast forward act on."""
        if scope is not self.scope:
            self.scope = scope
            self.scope_changed.emit(scope)

    @property
    def mode(self) -> PlaybackMode | None:
        """The mode in scope: of the shown scene, or of the sessions; None without any.

        A shown scene that stands is what the user wants to go on with, whatever others do.
        """
        live = self.shown if self.shown is not None and not self.shown.is_stale else None
        if live is not None and (self.scope is Scope.SCENE or live.mode is PlaybackMode.PAUSED):
            return live.mode
        modes = [session.mode for session in self._connected()]
        for mode in (PlaybackMode.FAST_FORWARD, PlaybackMode.PLAYING, PlaybackMode.PAUSED):
            if mode in modes:
                return mode
        return None

    @property
    def is_held(self) -> bool:
        """Whether the shown scene stands although its session runs: Play continues it."""
        scene = self.shown
        if scene is None or scene.is_stale or scene.status is None:
            return False
        return scene.status.held and scene.session.mode is not PlaybackMode.PAUSED

    def play(self) -> None:
        """Play what is in scope."""
        self._in_scope(lambda i, scene_id: Play(id=i, scene_id=scene_id))

    def pause(self) -> None:
        """Pause what is in scope."""
        self._in_scope(lambda i, scene_id: Pause(id=i, scene_id=scene_id))

    def fast_forward(self) -> None:
        """Run what is in scope without a throttle."""
        self._in_scope(lambda i, scene_id: FastForward(id=i, scene_id=scene_id))

    def toggle(self) -> None:
        """Play when paused, pause when running."""
        self.play() if self.mode is PlaybackMode.PAUSED else self.pause()

    def toggle_fast_forward(self) -> None:
        """Fast forward, or back to Play."""
        self.play() if self.mode is PlaybackMode.FAST_FORWARD else self.fast_forward()

    def set_speed(self, speed: float) -> None:
        """Set the target of all sessions in scope, clipped to 1/64 … 64."""
        speed = min(max(speed, SPEEDS[0]), SPEEDS[-1])
        for session in self._targets():
            session.send(lambda i: SetSpeed(id=i, speed=speed))

    def nudge_speed(self, places: int) -> None:
        """Go to the next of the usual speeds."""
        session = self.active_session
        if session is not None:
            nearest = min(range(len(SPEEDS)), key=lambda n: abs(SPEEDS[n] - session.speed))
            self.set_speed(SPEEDS[min(max(nearest + places, 0), len(SPEEDS) - 1)])

    def step(self, count: int = 1, *, with_dependents: bool = False) -> None:
        """Complete application steps of the shown scene; everything else pauses."""
        self._shown_command(
            lambda i, scene_id: Step(
                id=i, scene_id=scene_id, count=count, with_dependents=with_dependents
            )
        )

    def physics_step(self, count: int = 1) -> None:
        """Complete physics steps of the shown scene; everything else pauses."""
        self._shown_command(lambda i, scene_id: PhysicsStep(id=i, scene_id=scene_id, count=count))

    def restore_initial(self) -> None:
        """Put the shown scene back to its first state."""
        self._shown_command(lambda i, scene_id: RestoreInitial(id=i, scene_id=scene_id))

    def edit(self, field: EditField, index: int, values: tuple[float, ...]) -> None:
        """Write into the shown scene's state; the application refuses while it runs."""
        if self.shown is not None:
            self.shown.edits.set_state(field, index, values)

    def take_control(self) -> None:
        """Ask the shown scene's session for control."""
        if (session := self.active_session) is not None:
            session.send(lambda i: RequestControl(id=i))

    @property
    def active_session(self) -> SessionModel | None:
        """The session of the shown scene, else the first connected one."""
        if self.shown is not None and self.shown.session.is_connected:
            return self.shown.session
        return next(iter(self._connected()), None)

    def _connected(self) -> list[SessionModel]:
        return [session for session in self.sessions if session.is_connected]

    def _targets(self) -> list[SessionModel]:
        if self.scope is Scope.SCENE and self.shown is not None:
            return [self.shown.session]
        return self._connected()

    def _in_scope(self, make: Callable[[int, int | None], Command]) -> None:
        scene_id = None
        if self.scope is Scope.SCENE:
            if self.shown is None or self.shown.is_stale:
                return
            scene_id = self.shown.scene_id
        shown = self.shown.session if self.shown is not None else None
        for session in self._targets():
            # A recorded run would be simulated on from its end: only where it is looked at.
            if session is shown or not session.is_replay:
                session.send(lambda i: make(i, scene_id))

    def _shown_command(self, make: Callable[[int, int], Command]) -> None:
        scene = self.shown
        if scene is None or scene.is_stale:
            return
        # Single step pauses all: sessions other than the shown one are paused here.
        scene.session.send(lambda i: make(i, scene.scene_id))
        probe = make(0, 0)
        if isinstance(probe, Step | PhysicsStep):
            for session in self._connected():
                if session is not scene.session and session.mode is not PlaybackMode.PAUSED:
                    session.send(lambda i: Pause(id=i))

    # --- what arrives

    def _transmit(self, session: SessionModel, message: Command) -> None:
        self._network.send(session.key, message)

    def _listen(self, session: SessionModel) -> None:
        session.changed.connect(lambda: self.session_changed.emit(session))
        session.scene_added.connect(self._on_scene_added)
        session.scene_removed.connect(self._on_scene_removed)
        session.refused.connect(lambda pending, failed: self._on_refused(session, pending, failed))

    def _guarded(
        self, take: Callable[[Opened | Closed | Received], None], event: Opened | Closed | Received
    ) -> None:
        try:
            take(event)
        except InvalidMessage as error:
            session = self._by_key.get(event.key)
            name = session.name if session is not None else ""
            self.log.add(LogLevel.ERROR, f"A message was discarded: {error}", source=name)

    def _take(self, event: Opened | Closed | Received) -> None:
        session = self._by_key.get(event.key)
        if session is None:
            return
        match event:
            case Opened():
                self._on_opened(session, event)
            case Closed():
                self._on_closed(session, event)
            case Received(message=Frame() as frame):
                self._on_frame(session, frame)
            case Received(message=AssetChunk() as chunk):
                self.assets.receive(session, chunk)
            case Received(message=LogEntry() as entry):
                self._on_log(session, entry)
            case Received(message=ControlChanged() as changed):
                session.receive(changed)
                text = changed.reason or "control changed"
                self.log.add(LogLevel.INFO, text, source=session.name)
            case Received():
                session.receive(event.message)

    def _on_opened(self, session: SessionModel, event: Opened) -> None:
        script = event.welcome.session.script
        same = [
            other
            for other in self.sessions
            if other is not session
            and other.state is SessionState.LOST
            and script
            and other.identity == script
        ]
        session.welcomed(event.welcome)
        for other in same:
            # The script was started again: its place is taken, the picture stays until it comes.
            self._take_out(other)
            for scene in other.scenes.values():
                scene.gone = True
            self._tell_removed(other)
        pid = event.welcome.session.pid
        self.log.add(LogLevel.INFO, f"Attached (pid {pid}).", source=session.name)

    def _on_closed(self, session: SessionModel, closed: Closed) -> None:
        was_connected, reason = session.is_connected, closed.reason
        session.lost(reason, farewell=closed.farewell)
        self.assets.forget(session)
        if not was_connected:
            text = (
                f"Could not connect: {_sentence(reason)} Start the application again, or see what "
                "runs in Session ▸ Connect…"
            )
            self.log.add(LogLevel.ERROR, text, source=session.name)
        elif session.end is not EndKind.BROKEN:
            failed = session.end is EndKind.FAILED
            more = _AFTER_FAILURE if failed else _AFTER_END
            # The application has mostly said so itself, in the log.
            said = any(reason in line.text for line in self.log.lines[-8:])
            level = LogLevel.ERROR if failed and not said else LogLevel.INFO
            self.log.add(
                level, more if said else f"{_sentence(reason)} {more}", source=session.name
            )
        else:
            self.log.add(LogLevel.WARNING, f"Disconnected: {reason}", source=session.name)
        if not was_connected and not session.scenes:
            self.remove(session)

    def _on_scene_added(self, scene: SceneModel) -> None:
        scene.want("log", (Topic.LOG,))
        scene.described.connect(lambda: self._on_described(scene))
        self.scene_added.emit(scene)
        identity = scene.session.identity
        remembered = self.remembered_scene.get(identity)
        shown = self.shown
        if shown is not None and scene.session is not shown.session:
            self._on_newcomer(scene)
            shown = self.shown
        shown_is_free = shown is None or (
            (shown.gone or shown.session not in self.sessions)
            and shown.session.identity == identity
        )
        if shown_is_free and (shown is None or remembered in (None, scene.name)):
            self.show(scene)
        elif shown is not None and shown_is_free and shown.gone and len(scene.session.scenes) == 1:
            # Something of the restarted script is better than the old picture …
            self.show(scene)
            if remembered is not None:
                # … until the scene that was looked at is there again.
                self.remembered_scene[identity] = remembered
        elif (
            remembered == scene.name
            and shown is not None
            and shown.session is scene.session
            and shown.name != remembered
        ):
            self.show(scene)

    def _on_newcomer(self, scene: SceneModel) -> None:
        """A scene of another application: shown when the one that is shown is over.

        A file is shown at once: whoever has opened it wants to see it.
        """
        shown, session = self.shown, scene.session
        if shown is None:
            return
        if not shown.session.is_connected:
            if shown.session.identity == session.identity != "":
                return  # the script was started again: it takes the place of its last run
            remembered = self.remembered_scene.get(session.identity)
            self.show(scene)
            if remembered is not None:
                # The one that was looked at last time may still come.
                self.remembered_scene[session.identity] = remembered
        elif session.is_file and session.started > self._began:
            if len(session.scenes) == 1:
                self.show(scene)
        elif len(session.scenes) == 1 and not session.unseen:
            session.unseen = True
            # Whether it waits is told where that changes: one that is to play is paused at first.
            text = "It has joined this window. Select it in the list of sessions."
            self.log.add(LogLevel.INFO, text, source=session.name)
            session.changed.emit()

    def _on_scene_removed(self, scene: SceneModel) -> None:
        self.scene_removed.emit(scene)
        if scene is self.shown and scene.session.is_connected:
            remaining = next(iter(scene.session.scenes.values()), None)
            if remaining is not None:
                self.show(remaining)

    def _on_described(self, scene: SceneModel) -> None:
        if scene is self.shown and scene.description is not None:
            self.assets.fetch(scene.session, asset_digests(scene.description))

    def _on_frame(self, session: SessionModel, frame: Frame) -> None:
        scene = session.scenes.get(frame.scene_id)
        if scene is None:
            return
        if frame.topic is Topic.SIGNALS:
            self.lost_rows += frame.dropped
            self.signals_arrived.emit(scene, frame)
            return
        self.replaced_frames += frame.dropped
        decoded = SceneFrame.decode(frame)
        scene.add_frame(decoded)
        if decoded.topic is Topic.POSE and not scene.has_diverged:
            self._look_for_places(scene, decoded)
        self.frame_arrived.emit(scene, decoded)

    def _look_for_places(self, scene: SceneModel, pose: SceneFrame) -> None:
        """Say once that bodies are nowhere: the picture only leaves them out."""
        places = pose.arrays.get("xpos")
        if places is None:
            return
        lost = int((~np.isfinite(places).all(axis=-1)).sum())
        if lost:
            scene.has_diverged = True
            self.log.add(
                LogLevel.WARNING,
                f"The simulation has diverged: {lost} of {len(places)} bodies are nowhere "
                "(NaN or infinite) and not drawn. Restore a state, or take a smaller timestep.",
                source=scene.name,
                sim_time=pose.time,
            )

    def _on_log(self, session: SessionModel, entry: LogEntry) -> None:
        scene = session.scenes.get(entry.scene_id) if entry.scene_id is not None else None
        source = scene.name if scene is not None else session.name
        self.log.add(
            entry.level,
            entry.text,
            source=source,
            sim_time=entry.time,
            wall_time=entry.wall_time,
            found=entry.source == "lint",
        )
        if scene is not None:
            scene.history.hear(entry)

    def _on_refused(self, session: SessionModel, pending: PendingCommand, failed: Failed) -> None:
        if isinstance(pending.message, AssetRequest):
            self.assets.refuse(session, failed)
            return
        match pending.message:
            case Subscribe(scene_id=scene_id) | Unsubscribe(scene_id=scene_id):
                if scene_id not in session.scenes:
                    return  # the scene went while we asked for its values: nobody's problem
        self.log.add(LogLevel.WARNING, failed.reason, source=session.name)

    def _on_asset_failed(self, digest: str, reason: str) -> None:
        if needing := self._needing(digest):
            self._missing[digest] = (time.monotonic(), reason, needing)

    def _tell_what_is_missing(self) -> None:
        """Say what is not drawn, unless the scene has another description by now.

        A script that goes on with another model no longer has what was asked for a moment ago;
        what the next description needs is asked for anew.
        """
        for digest, (since, reason, needing) in tuple(self._missing.items()):
            needed = any(each is one for each in self._needing(digest) for one in needing)
            if needed and time.monotonic() - since < _DESCRIBED_WITHIN_S:
                continue
            del self._missing[digest]
            if needed and self.assets.get(digest) is None:
                text = f"A mesh or texture ({digest[:12]}…) is not drawn: {reason}."
                self.log.add(LogLevel.ERROR, text)

    def _needing(self, digest: str) -> list[SceneDescription]:
        """Return the descriptions of live scenes that need an asset."""
        described = [scene.description for scene in self.all_scenes() if not scene.is_stale]
        return [
            each
            for each in described
            if each is not None and digest in (*asset_digests(each), *tree_digests(each))
        ]

    def _any_scene(self) -> SceneModel | None:
        scenes = self.all_scenes()
        return next((s for s in scenes if not s.is_stale), next(iter(scenes), None))


def _sentence(text: str) -> str:
    """Return ``text`` with a full stop at its end."""
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."
