"""Looking at the past of the shown scene: what keys, buttons and the timeline ask for.

Looking is not moving: all of this moves the view. Only :meth:`TimeTravel.continue_here` moves the
scene. What is dragged or held down is sent as fast as it is answered, at most 30 times a second.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer

from stroboscope.app.main.view_player import ViewPlayer
from stroboscope.app.models.goto_text import GotoPlace
from stroboscope.app.models.history import HistoryModel
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.session import PendingCommand, SessionModel
from stroboscope.debugger_protocol.messages import Command, Failed
from stroboscope.debugger_protocol.time_messages import (
    ContinueFromHere,
    GoLive,
    Goto,
    StepBack,
    StepForward,
)

if TYPE_CHECKING:
    from stroboscope.app.main.window import MainWindow

__all__ = ["TimeTravel"]

# The view moves at most this often, by hand and by itself [ms].
_INTERVAL_MS = 33
_LEFT = (
    "The view went live first: changes are made where the scene stands, not in the past. "
    "To change the past, continue from there (Enter)."
)

_RECORDING_ENDS = "The recording ends here. Enter: continue simulating from here."

_Make = Callable[[int, int], Command]


class TimeTravel(QObject):
    """GUI thread only; ``close`` stops everything."""

    def __init__(self, window: "MainWindow") -> None:
        super().__init__(window)
        self._window = window
        self._sessions = window.sessions
        self._scene: SceneModel | None = None
        # Commands that move the view and are not answered yet, and what waits for them.
        self._under_way: set[tuple[int, int]] = set()
        self._axis: int | None = None
        self._steps = 0
        self._physics = False
        self._problems: dict[tuple[int, int], Callable[[str], None]] = {}
        self._was_away = False
        # How often the shown scene's view had gone live for an edit when that was last told.
        self._left_for_edits = 0
        # Sessions whose user knows that the script's own variables stay as they are.
        self._agreed: set[int] = set()
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(_INTERVAL_MS)
        self._pause.timeout.connect(self._go_on)
        self._player = ViewPlayer(
            self, go=self._go, go_live=self.go_live, is_busy=lambda: bool(self._under_way)
        )
        self._sessions.session_added.connect(self._listen)
        self._sessions.shown_changed.connect(self._follow)

    def close(self) -> None:
        """Stop moving and listening."""
        self._pause.stop()
        self._sessions.session_added.disconnect(self._listen)
        self._sessions.shown_changed.disconnect(self._follow)
        self._follow(None)

    def handlers(self) -> dict[str, Callable[[], None]]:
        """Return what each action does."""
        return {
            "play": self.toggle,
            "play_backwards": self.toggle_backwards,
            "loop": lambda: self.set_loops(self._window.actions_by_name["loop"].isChecked()),
            "step": self.forward,
            "physics_step": lambda: self.forward(physics=True),
            "step_back": self.back,
            "physics_step_back": lambda: self.back(physics=True),
            "continue_here": self.enter,
            "continue_inputs": lambda: self.continue_here(with_script=False),
            "go_live": self.go_live,
            "go_first": self.go_first,
            "go_to": self.type_place,
            "previous_event": lambda: self.go_to_event(-1),
            "next_event": lambda: self.go_to_event(1),
        }

    def refresh(self) -> None:
        """Enable what can be done now."""
        a, history = self._window.actions_by_name, self.history
        told = history.told if history is not None else None
        usable = self._scene is not None and not self._scene.is_stale
        away = usable and history is not None and history.is_away
        # The last frame of a file, where the scene stands, is a frame like the others.
        ends = usable and history is not None and history.is_replay
        busy = usable and told is not None and bool(told.busy)
        back = usable and history is not None and not history.why_not_back()
        rows = usable and history is not None and history.has_rows
        for name, enabled in (
            ("physics_step_back", back),
            ("play_backwards", rows),
            ("loop", rows),
            ("go_first", back),
            ("continue_here", (away or ends) and not busy),
            ("continue_inputs", away and not busy),
            ("go_live", away or busy),
            ("go_to", rows),
            ("previous_event", rows and not busy),
            ("next_event", away and not busy),
        ):
            a[name].setEnabled(enabled)

    @property
    def history(self) -> HistoryModel | None:
        """The past of the shown scene."""
        return self._scene.history if self._scene is not None else None

    @property
    def is_away(self) -> bool:
        """Whether the past is looked at, or simulated again: Esc ends that."""
        history = self.history
        if history is None or self._scene is None or self._scene.is_stale:
            return False
        return history.is_away or bool(history.told is not None and history.told.busy)

    # --- steps

    def back(self, count: int = 1, *, physics: bool = False) -> None:
        """Look so many steps further back; a running scene is paused by that."""
        self.stop_playing()
        history = self.history
        if history is None:
            return
        if why_not := history.why_not_back():
            self._say(why_not)
            return
        self._nudge(-count, physics=physics)

    def forward(self, count: int = 1, *, physics: bool = False) -> None:
        """Look so many steps further on; at live, step the scene."""
        self.stop_playing()
        history = self.history
        if history is not None and (history.is_away or self._steps < 0):
            self._nudge(count, physics=physics)
        elif history is not None and history.is_replay:
            self._say(_RECORDING_ENDS)
        elif physics:
            self._sessions.physics_step(count)
        else:
            self._sessions.step(count)

    def _nudge(self, count: int, *, physics: bool) -> None:
        if physics != self._physics:
            self._steps = 0
        self._physics = physics
        self._steps += count
        self._axis = None
        self._go_on()

    # --- places

    def choose(self, axis: int) -> None:
        """Go to a row of the shown scene."""
        self.stop_playing()
        self._go(axis)

    def scrub(self, axis: int) -> None:
        """Go to a row; more will follow, and only the newest counts."""
        self.stop_playing()
        self._go(axis)

    def go_first(self) -> None:
        """Look at the oldest row."""
        history = self.history
        if history is not None and history.has_rows:
            self.choose(history.first)

    def go_live(self) -> None:
        """Look at the present, and end what is being re-simulated."""
        self.stop_playing()
        self._axis, self._steps = None, 0
        history = self.history
        if history is not None:
            history.want(None)
        self._send(lambda i, scene_id: GoLive(id=i, scene_id=scene_id))

    def go_to_event(self, direction: int) -> None:
        """Go to what happened next, or before; there is nothing after the last: live."""
        history = self.history
        if history is None or not history.has_rows:
            return
        axis = history.next_event(direction)
        if axis is not None:
            self.choose(axis)
        elif direction > 0:
            self.go_live()
        else:
            self._say("Nothing has happened before this: no stop, checkpoint, branch or episode.")

    def go_to(self, place: GotoPlace, on_problem: Callable[[str], None]) -> None:
        """Go to a place that was typed; ``on_problem`` gets why that can't be done."""
        self.stop_playing()
        scene = self._scene
        if scene is None or scene.is_stale:
            on_problem("The scene is not live: its past is gone with its application.")
        elif place.live:
            self.go_live()
        elif why_not := _why_ahead(place, scene):
            on_problem(why_not)
        else:
            sent = self._send(
                lambda i, scene_id: Goto(
                    id=i,
                    scene_id=scene_id,
                    step=place.step,
                    time=place.time,
                    episode=place.episode,
                )
            )
            if sent is not None:
                self._problems[(scene.session.key, sent)] = on_problem

    def type_place(self) -> None:
        """Put the cursor into the field that takes a step, a time or an episode."""
        self._window.panels.show("timeline")
        field = self._window.timeline.field
        field.setFocus()
        field.selectAll()

    def _go(self, axis: int) -> None:
        history = self.history
        if history is None:
            return
        if not history.has_rows:
            self._say(history.why_not_back())
            return
        self._axis, self._steps = axis, 0
        history.want(axis)
        self._go_on()

    # --- moving by itself

    def toggle(self) -> None:
        """Move the view forward, or stop it; at live, play or pause the scene."""
        history = self.history
        if history is not None and history.is_playing:
            self.stop_playing()
        elif history is not None and (history.is_away or history.is_replay):
            self._player.play(1)
        else:
            self._sessions.toggle()

    def toggle_backwards(self) -> None:
        """Move the view backward, or stop it; a running scene is paused by that."""
        if self._player.direction < 0:
            self.stop_playing()
        elif (history := self.history) is not None:
            if why_not := ("" if self.loops else history.why_not_back()):
                self._say(why_not)
            else:
                self._player.play(-1)

    @property
    def loops(self) -> bool:
        """Whether the view begins anew at the end of what it plays."""
        return self._player.loops

    def set_loops(self, loops: bool) -> None:
        """Have the view begin anew at the end, or not."""
        self._player.loops = loops
        self._window.actions_by_name["loop"].setChecked(loops)
        self._window.timeline.strip.set_looping(loops)

    def stop_playing(self) -> None:
        """Let the view stand."""
        self._player.stop()

    # --- branches

    def enter(self) -> None:
        """Continue from here; a second time: yes, with the script's variables as they are."""
        if self._window.timeline.asks:
            self._window.timeline.confirm()
        else:
            self.continue_here(with_script=True)

    def continue_here(self, *, with_script: bool, sure: bool = False) -> None:
        """Move the scene to what is looked at. ``sure``: the script's own variables may stay."""
        scene, history = self._scene, self.history
        if scene is None or history is None or history.told is None:
            return
        if not (history.is_away or (with_script and history.is_replay)):
            return
        self.stop_playing()
        key = scene.session.key
        # Behind a file there is no script that could keep anything.
        knows = sure or key in self._agreed or history.told.script_state or history.is_replay
        if with_script and not knows:
            self._window.panels.show("timeline")
            self._window.timeline.ask(True)
            return
        if sure:
            self._agreed.add(key)
        self._send(
            lambda i, scene_id: ContinueFromHere(id=i, scene_id=scene_id, with_script=with_script)
        )

    # --- commands on their way

    def _send(self, make: _Make) -> int | None:
        """Send a command that moves the view."""
        scene = self._scene
        if scene is None or scene.is_stale:
            return None
        sent = scene.session.send(lambda i: make(i, scene.scene_id))
        if sent is not None:
            self._under_way.add((scene.session.key, sent))
        return sent

    def _go_on(self) -> None:
        """Send what waits, unless something is under way or has just been sent."""
        if self._under_way or self._pause.isActive():
            return
        history, steps, physics, axis = self.history, self._steps, self._physics, self._axis
        if history is None or (not steps and axis is None):
            return
        self._steps, self._axis = 0, None
        if axis is not None and axis >= history.live:
            self._send(lambda i, scene_id: GoLive(id=i, scene_id=scene_id))
        elif axis is not None:
            self._send(lambda i, scene_id: Goto(id=i, scene_id=scene_id, axis=axis))
        else:
            kind = StepForward if steps > 0 else StepBack
            self._send(
                lambda i, scene_id: kind(id=i, scene_id=scene_id, count=abs(steps), physics=physics)
            )
        self._pause.start()

    def _listen(self, session: SessionModel) -> None:
        session.answered.connect(lambda command_id: self._on_answer(session, command_id))
        session.refused.connect(lambda pending, failed: self._on_refused(session, pending, failed))

    def _on_answer(self, session: SessionModel, command_id: int) -> None:
        key = (session.key, command_id)
        self._problems.pop(key, None)
        if key not in self._under_way:
            return
        self._under_way.discard(key)
        history = self.history
        if history is not None and self._axis is None and not self._under_way:
            history.want(None)
        self._go_on()

    def _on_refused(self, session: SessionModel, pending: PendingCommand, failed: Failed) -> None:
        on_problem = self._problems.pop((session.key, pending.message.id), None)
        if on_problem is not None:
            on_problem(failed.reason)

    # --- following

    def _follow(self, scene: SceneModel | None) -> None:
        self._player.follow(scene)
        if self._scene is not None:
            self._scene.history.changed.disconnect(self._on_history)
            self._scene.status_changed.disconnect(self._on_status)
        self._scene = scene
        self._axis, self._steps = None, 0
        self._under_way.clear()
        self._was_away = scene is not None and scene.history.is_away
        told = scene.history.told if scene is not None else None
        self._left_for_edits = told.left_for_edits if told is not None else 0
        if scene is not None:
            scene.history.changed.connect(self._on_history)
            scene.status_changed.connect(self._on_status)
        self.refresh()
        self._play_if_asked()

    def _on_status(self) -> None:
        scene = self._scene
        if scene is not None and (scene.is_stale or not scene.session.is_connected):
            self.stop_playing()
            self._under_way.clear()
            self.refresh()

    def _on_history(self) -> None:
        history = self.history
        if history is None:
            return
        away = history.is_away
        left = self._was_away and not away
        self._was_away = away
        if left and not self.loops:
            self.stop_playing()
        told = history.told
        if told is not None:
            if told.left_for_edits > self._left_for_edits:
                self._say(_LEFT)
            self._left_for_edits = told.left_for_edits
        self.refresh()
        self._play_if_asked()

    def _play_if_asked(self) -> None:
        """Play what the application wants played, as it wants it: `stroboscope replay`."""
        scene, history = self._scene, self.history
        if scene is None or history is None or history.told is None or not history.asks_play:
            return
        if scene.session.has_control and history.has_rows:
            history.asks_play = False
            self.set_loops(history.told.asks_loop)
            self._player.play(1)

    def _say(self, text: str) -> None:
        self._window.status.showMessage(text, 6000)


def _why_ahead(place: GotoPlace, scene: SceneModel) -> str:
    """Return why a place is none yet: it was not simulated so far. Empty: it may have been."""
    history, status = scene.history, scene.status
    if status is None or not history.has_rows:
        return ""
    what = stands = ""
    if place.step is not None and place.episode is None and place.step > history.live:
        what, stands = f"Physics step {place.step}", f"physics step {history.live}"
    elif place.time is not None and place.time > status.time and history.segments:
        here = history.segment_at(history.near)
        episode = here.episode if here is not None and place.episode is None else place.episode
        if episode == history.segments[-1].episode:
            what, stands = f"{place.time:.6g} s", f"{status.time:.6g} s"
    if what == stands:  # neither is said, or they are told alike
        return ""
    return f"{what} lies ahead: the scene has been simulated to {stands}. Play on until there."
