"""The transport bar: what runs, how fast, and what is shown."""

import dataclasses
import time

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QToolButton, QWidget

from stroboscope.app.models.frames import SceneFrame
from stroboscope.app.models.numbers import count_text, number_text, speed_text, with_unit
from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.sessions import SPEEDS, Scope, SessionsModel
from stroboscope.app.models.shown_state import StateKind, rate_text, shown_state
from stroboscope.app.models.view_state import ViewState
from stroboscope.app.panels.badge import InstantToggle, StateBadge
from stroboscope.app.panels.icons import Icon, icon
from stroboscope.app.panels.labels import ElidedLabel, label
from stroboscope.app.panels.style import METRICS, number_font
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.debugger_protocol.topics import Instant, Topic
from stroboscope.resources.themes import Palette

__all__ = ["TransportActions", "TransportBar"]

# While the shown scene is throttled for this long the bar offers fast forward.
_HINT_AFTER_S = 3.0
_MIN_WIDTH = 420
# States whose sentence stands beside the buttons, not only in the badge's tooltip.
_SAYS_WHY = (
    StateKind.PAUSING,
    StateKind.PAST,
    StateKind.REPLAY,
    StateKind.BUSY,
    StateKind.HELD,
    StateKind.ENDED,
    StateKind.FAILED,
    StateKind.DISCONNECTED,
    StateKind.STALE,
)
# Buttons that are there for a recorded run only, or for what is simulated only.
_ONLY_IN = {"restore": False, "fast_forward": False, "go_first": True, "loop": True}
_RECORDED = "This is a recorded run. Enter continues simulating from the frame in view."
_NOT_SIMULATED = "Only the view moves: nothing is simulated."
_SCOPE = (
    "What Play, Pause and Fast forward act on.\n"
    "Single step and Restore always act on the scene that is shown."
)
_SCOPE_OF_REPLAY = (
    "A recorded run is played by itself. Run → Link times moves other runs along with it."
)
_SPEED = "Simulated seconds per second while playing, at most.   - slower, = faster"
_SPEED_OF_REPLAY = (
    "Recorded seconds per second while the view moves, forward or backward.   - slower, = faster"
)
# States whose seconds are counted in the badge.
_CLOCKED = (StateKind.PAUSING, StateKind.HELD)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TransportActions:
    """The window's actions that have a button here; their tooltips name the shortcut."""

    restore: QAction
    step_back: QAction
    play: QAction
    step: QAction
    fast_forward: QAction
    go_first: QAction
    loop: QAction
    play_backwards: QAction


class TransportBar(QWidget):
    """Buttons on the left, numbers and the badge on the right.

    Of a recorded run buttons move the view, and where those that simulate stand else there are
    others: its first frame, and whether it is played again and again.
    """

    def __init__(
        self,
        sessions: SessionsModel,
        view: ViewState,
        actions: TransportActions,
        palette: Palette,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("transport")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._sessions = sessions
        self._view = view
        self._actions = actions
        self._palette = palette
        self._throttled_since: float | None = None
        self._fitted: tuple[object, ...] = ()
        self._scene: SceneModel | None = None
        self._shown_mode: PlaybackMode | None = None
        # Waiting is shown in tenths of a second, while there is something to wait for.
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(100)
        self._timer.timeout.connect(self.refresh)
        # News of one frame of a scene that stands, and of the session that brings them, come one
        # after the other: shown once.
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(0)
        self._soon.timeout.connect(self.refresh)
        self._build()
        self.set_theme(palette)
        sessions.session_changed.connect(self._on_session_changed)
        sessions.shown_changed.connect(self._on_shown_changed)
        sessions.scope_changed.connect(self._on_scope_changed)
        view.instant_changed.connect(self._on_instant_changed)
        self.refresh()

    def close_panel(self) -> None:
        """Stop listening."""
        self._timer.stop()
        self._soon.stop()
        self._sessions.session_changed.disconnect(self._on_session_changed)
        self._sessions.shown_changed.disconnect(self._on_shown_changed)
        self._sessions.scope_changed.disconnect(self._on_scope_changed)
        self._view.instant_changed.disconnect(self._on_instant_changed)
        self._follow(None)

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._palette = palette
        self._actions.restore.setIcon(icon(Icon.RESTORE, palette))
        self._actions.step_back.setIcon(icon(Icon.STEP_BACK, palette))
        self._actions.step.setIcon(icon(Icon.STEP, palette))
        self._actions.fast_forward.setIcon(icon(Icon.FAST_FORWARD, palette))
        self._actions.go_first.setIcon(icon(Icon.TO_FIRST, palette))
        self._actions.loop.setIcon(icon(Icon.LOOP, palette))
        self._play_icons = {
            True: icon(Icon.PAUSE, palette, color=palette.accent),
            False: icon(Icon.PLAY, palette, color=palette.accent),
        }
        self._shows_pause: bool | None = None
        self.badge.set_theme(palette)
        self.refresh()

    # --- building

    def _build(self) -> None:
        layout = QHBoxLayout(self)
        layout.setContentsMargins(METRICS.padding, METRICS.grid, METRICS.padding, METRICS.grid)
        self.setFixedHeight(METRICS.control_height + 2 * METRICS.grid)
        layout.setSpacing(METRICS.grid)
        self.badge = StateBadge(self._palette)
        self.scope = self._build_scope()
        layout.addWidget(self.scope)
        layout.addSpacing(METRICS.gap)
        a = self._actions
        self.buttons = {
            name: self._button(action)
            for name, action in (
                ("restore", a.restore),
                ("go_first", a.go_first),
                ("step_back", a.step_back),
                ("play", a.play),
                ("step", a.step),
                ("fast_forward", a.fast_forward),
                ("loop", a.loop),
            )
        }
        for button in self.buttons.values():
            layout.addWidget(button)
        layout.addSpacing(METRICS.gap)
        self.speed = self._build_speed()
        layout.addWidget(self.speed)
        self.detail = ElidedLabel(mode=Qt.TextElideMode.ElideRight)
        self.detail.setProperty("role", "muted")
        self.hint = QToolButton()
        self.hint.setText("throttled — fast forward?")
        self.hint.setToolTip("Pacing slows this script down: it could run faster. Click to let it.")
        self.hint.clicked.connect(lambda: self._sessions.fast_forward())
        self.hint.setProperty("hint", "true")
        self.hint.hide()
        self.dependents = QToolButton()
        self.dependents.setText("step with dependents")
        self.dependents.setToolTip("Let the scenes that this one waits for complete steps too.")
        self.dependents.clicked.connect(lambda: self._sessions.step(with_dependents=True))
        self.dependents.setProperty("hint", "true")
        self.dependents.hide()
        self.control = QToolButton()
        self.control.setText("observing — take control")
        self.control.setToolTip(
            "Another client controls this application. Taking over is announced to it."
        )
        self.control.clicked.connect(lambda: self._sessions.take_control())
        self.control.setProperty("hint", "true")
        self.control.hide()
        layout.addSpacing(METRICS.gap)
        layout.addWidget(self.control)
        layout.addWidget(self.dependents)
        layout.addWidget(self.hint)
        layout.addWidget(self.detail, 1)
        self._build_numbers(layout)

    def _build_numbers(self, layout: QHBoxLayout) -> None:
        self.time = self._number("t 00000.000 s", "Simulation time of the state that is shown.")
        self.steps = self._number("step 0 000 000", "Application steps of the state that is shown.")
        self.rate = self._number("000.0× of 1/64×", "Simulated per wall time: measured, of target.")
        for widget in (self.time, self.steps, self.rate):
            layout.addWidget(widget)
            layout.addSpacing(METRICS.gap)
        self.toggle = InstantToggle()
        self.toggle.chosen.connect(self._view.set_instant)
        layout.addSpacing(METRICS.gap)
        layout.addWidget(self.toggle)
        layout.addWidget(self.badge)

    def _build_scope(self) -> QComboBox:
        box = QComboBox()
        box.addItem("All scenes", Scope.ALL)
        box.addItem("This scene", Scope.SCENE)
        box.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        box.activated.connect(lambda index: self._sessions.set_scope(Scope(box.itemData(index))))
        return box

    def _build_speed(self) -> QComboBox:
        box = QComboBox()
        for speed in SPEEDS:
            box.addItem(speed_text(speed), speed)
        box.setCurrentIndex(SPEEDS.index(1.0))
        box.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        box.setMinimumWidth(76)
        box.activated.connect(lambda index: self._sessions.set_speed(box.itemData(index)))
        return box

    def _button(self, action: QAction) -> QToolButton:
        button = QToolButton()
        button.setDefaultAction(action)
        button.setIconSize(QSize(METRICS.large_icon, METRICS.large_icon))
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
        button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        button.setFixedSize(METRICS.control_height + 6, METRICS.control_height)
        return button

    def _number(self, widest: str, tooltip: str) -> QLabel:
        made = label("")
        made.setFont(number_font())
        made.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        made.setContentsMargins(METRICS.grid, 0, METRICS.grid, 0)
        _fix_width(made, widest)
        made.setToolTip(tooltip)
        return made

    # --- room

    def minimumSizeHint(self) -> QSize:
        """Fit into half of a small screen: what there is no room for goes."""
        return QSize(_MIN_WIDTH, METRICS.control_height + 12)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave out what has no room."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Hide the least important parts while the bar is too narrow; the badge always stays.

        What goes stands elsewhere too: in the inspector, in the Run menu, in the tree.
        """
        extras = (self.hint, self.toggle, self.dependents, self.control)
        # Of an application that is gone nothing can be played: there is room for why.
        over = self._scene is not None and self._scene.is_stale
        useless: tuple[QWidget, ...] = (self.rate, self.speed, self.scope) if over else ()
        key = (
            self.width(),
            self.badge.sizeHint(),
            len(useless),
            *(not extra.isHidden() for extra in extras),
        )
        layout = self.layout()
        if key == self._fitted or layout is None:
            return
        self._fitted = key
        dispensable = (self.rate, self.steps, self.speed, self.scope, self.time)
        for part in dispensable:
            part.setVisible(part not in useless)
        for part in dispensable:
            # The detail takes what is left; it needs nothing.
            if layout.sizeHint().width() - self.detail.sizeHint().width() <= self.width():
                break
            part.setVisible(False)

    # --- following the models

    def _on_session_changed(self, _session: object) -> None:
        self._refresh_soon()

    def _on_shown_changed(self, scene: SceneModel | None) -> None:
        self._throttled_since = None
        self._follow(scene)
        self.refresh()

    def _on_scope_changed(self, scope: Scope) -> None:
        self.scope.setCurrentIndex(self.scope.findData(scope))
        self.refresh()

    def _on_instant_changed(self, _instant: Instant) -> None:
        self.refresh()

    def _follow(self, scene: SceneModel | None) -> None:
        if self._scene is not None:
            self._scene.status_changed.disconnect(self._on_status)
            self._scene.frame_arrived.disconnect(self._on_frame)
            self._scene.history.changed.disconnect(self._on_status)
        self._scene = scene
        if scene is not None:
            scene.history.changed.connect(self._on_status)
            scene.status_changed.connect(self._on_status)
            scene.frame_arrived.connect(self._on_frame)

    def _on_frame(self, frame: SceneFrame) -> None:
        if frame.topic is Topic.POSE:
            self._on_status()  # NOW or EXECUTED may have become known

    def _on_status(self) -> None:
        """Show a change of mode at once, what only counts on ten times a second, else soon."""
        scene = self._scene
        mode = scene.mode if scene is not None and not scene.is_stale else None
        if mode is None or mode is not self._shown_mode:
            self.refresh()
        elif mode is PlaybackMode.PAUSED:
            self._refresh_soon()
        elif not self._timer.isActive():
            self._timer.start()

    def _refresh_soon(self) -> None:
        if not self._soon.isActive():
            self._soon.start()

    def refresh(self) -> None:
        """Show what the models say now."""
        # All that was to be shown later is shown by this: no frame is shown twice.
        self._soon.stop()
        self._timer.stop()
        scene = self._sessions.shown
        self._shown_mode = scene.mode if scene is not None else None
        session = self._sessions.active_session
        any_session = session or next(iter(self._sessions.sessions), None)
        state = shown_state(scene, any_session, preferred=self._view.instant)
        self.badge.set_state(state)
        self.detail.set_full_text(state.detail if state.kind in _SAYS_WHY else "")
        self._refresh_buttons(scene)
        self._refresh_numbers(scene)
        self._refresh_hints(scene, state.kind)
        self._fit()
        waits = bool(scene is not None and scene.session.pending) or state.kind in _CLOCKED
        if (waits or self._throttled_since is not None) and not self._timer.isActive():
            self._timer.start()
        if session is not None and not self.speed.view().isVisible():
            index = self.speed.findText(speed_text(session.speed))
            if index < 0:
                self.speed.addItem(speed_text(session.speed), session.speed)
                index = self.speed.count() - 1
            self.speed.setCurrentIndex(index)

    def _refresh_buttons(self, scene: SceneModel | None) -> None:
        mode = self._sessions.mode
        running = mode in (PlaybackMode.PLAYING, PlaybackMode.FAST_FORWARD)
        running = running or (scene is not None and scene.history.is_playing)
        a = self._actions
        if running is not self._shows_pause:
            self._shows_pause = running
            a.play.setIcon(self._play_icons[running])
        word = "Pause" if running else "Continue" if self._sessions.is_held else "Play"
        if a.play.text() != word:
            a.play.setText(word)
        usable = scene is not None and not scene.is_stale
        replay = scene is not None and usable and scene.history.is_replay
        for name, of_replay in _ONLY_IN.items():
            self.buttons[name].setVisible(of_replay is replay)
        tips = self._tips(scene if replay else None, running=running)
        alone = "" if mode is not None else "No application is attached."
        _enable(a.play, not alone, alone, tips)
        alone = _RECORDED if replay else alone
        _enable(a.fast_forward, not alone, alone, tips)
        a.fast_forward.setChecked(mode is PlaybackMode.FAST_FORWARD)
        for action in (a.step, a.restore):
            _enable(action, usable, "No live scene is shown.", tips)
        why_not = scene.history.why_not_back() if scene is not None and usable else ""
        back = usable and not why_not
        for action in (a.step_back, a.go_first):
            _enable(action, back, why_not or "No live scene is shown.", tips)
        _enable(a.loop, a.loop.isEnabled(), "There is no past to play.", tips)
        self.scope.setEnabled(not replay)
        self.scope.setToolTip(_SCOPE_OF_REPLAY if replay else _SCOPE)
        self.speed.setToolTip(_SPEED_OF_REPLAY if replay else _SPEED)

    def _tips(self, replay: SceneModel | None, *, running: bool) -> dict[QAction, str]:
        """Return what each button does; ``replay``: the recorded run that it would look at."""
        a = self._actions
        if replay is None:
            return {
                a.restore: "Put the shown scene back to its first state.",
                a.step_back: "Look one step back, bit for bit; the scene stays where it is.",
                a.play: "Play or pause what is in scope.",
                a.step: "Simulate one step of the shown scene.",
                a.fast_forward: "Simulate what is in scope as fast as can be.",
                a.go_first: "Look at the oldest step that is kept.",
                a.loop: "Begin anew where the past has been played to its end.",
            }
        file = replay.history.recording
        backwards = a.play_backwards.shortcut().toString()
        key = f"   {backwards} moves it backward." if backwards else ""
        moves = f"Move the view through {file}, at the speed beside.{key}"
        return {
            a.go_first: f"Look at the first frame of {file}.",
            a.step_back: f"Look at the step before. {_NOT_SIMULATED}",
            a.play: "Let the view stand." if running else f"{moves}\n{_NOT_SIMULATED}",
            a.step: f"Look at the next step. {_NOT_SIMULATED}",
            a.loop: (
                f"Begin anew at the end of {file}, or of the part that is chosen in the "
                "timeline's context menu."
            ),
        }

    def _refresh_numbers(self, scene: SceneModel | None) -> None:
        status = scene.status if scene is not None else None
        frames = scene.frame_set((Topic.POSE,), self._view.instant) if scene is not None else None
        if frames is not None:
            moment: tuple[float, int] | None = (frames.time, frames.step)
        elif status is not None:
            moment = (status.time, status.step_count)
        else:
            moment = None
        live = scene is not None and not scene.is_stale
        for number, text in (
            (self.time, f"t {with_unit(number_text(moment[0]), 's')}" if moment else ""),
            (self.steps, f"step {count_text(moment[1])}" if moment else ""),
            (self.rate, rate_text(scene) if scene is not None and live else ""),
        ):
            _fix_width(number, text)
            number.setText(text)

    def _refresh_hints(self, scene: SceneModel | None, kind: StateKind) -> None:
        paused = kind is StateKind.PAUSED or kind is StateKind.HELD
        self.toggle.setVisible(paused and scene is not None)
        if scene is not None and paused:
            self.toggle.show_instant(
                scene.instant(self._view.instant),
                executed_known=scene.has_instant(Instant.EXECUTED),
            )
        session = scene.session if scene is not None else self._sessions.active_session
        observing = (
            session is not None
            and session.is_connected
            and session.status is not None
            and not session.has_control
        )
        self.control.setVisible(observing)
        waiting = scene is not None and scene.status is not None and not scene.is_stale
        self.dependents.setVisible(
            waiting and scene is not None and bool(scene.status and scene.status.waiting_for)
        )
        throttled = (
            scene is not None
            and scene.status is not None
            and scene.status.throttled
            and kind is StateKind.PLAYING
        )
        if not throttled:
            self._throttled_since = None
        elif self._throttled_since is None:
            self._throttled_since = time.monotonic()
        since = self._throttled_since
        show = since is not None and time.monotonic() - since > _HINT_AFTER_S and not observing
        if show and session is not None:
            self.hint.setText(f"throttled to {speed_text(session.speed)} — fast forward?")
        self.hint.setVisible(show)


def _fix_width(number: QLabel, text: str) -> None:
    """Make ``number`` wide enough for ``text``, if it isn't.

    Of a label of fixed size Qt asks for no other, and does not lay out the window at every text.
    """
    need = number.fontMetrics().horizontalAdvance(text) + 3 * METRICS.grid
    if need > number.width() or number.minimumWidth() != number.maximumWidth():
        number.setFixedSize(need, METRICS.control_height)


def _enable(action: QAction, enabled: bool, why_not: str, tips: dict[QAction, str]) -> None:
    """Enable an action; its tooltip says what it does, of a disabled one why it is."""
    action.setEnabled(enabled)
    shortcut = action.shortcut().toString()
    text = f"{action.text()}   {shortcut}" if shortcut else action.text()
    does = tips.get(action, "") if enabled else why_not
    tooltip = plain_text(f"{text}\n{does}" if does else text)
    if action.toolTip() != tooltip:
        action.setToolTip(tooltip)
