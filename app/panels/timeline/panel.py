"""The timeline: a bar that says where the view stands and goes elsewhere, over the strip."""

from collections.abc import Callable
from typing import Protocol

from PySide6.QtCore import QEvent, QObject, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QAction, QHideEvent, QKeyEvent, QShowEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLineEdit,
    QMenu,
    QProgressBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from stroboscope.app.models.goto_text import GotoPlace, GotoTextError, parse_goto
from stroboscope.app.models.history import HistoryModel
from stroboscope.app.models.numbers import MINUS, count_text, number_text, with_unit
from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.panels.icons import Icon, icon
from stroboscope.app.panels.labels import ElidedLabel, icon_button
from stroboscope.app.panels.paced import PacedRefresh
from stroboscope.app.panels.style import METRICS, number_font, set_property
from stroboscope.app.panels.timeline.strip import AxisRange, TimelineStrip
from stroboscope.app.panels.tips import tell
from stroboscope.resources.themes import Palette

__all__ = ["TimeCommands", "TimelinePanel"]

_RATE = 10.0
_MIB = float(1 << 20)
_TRY = "Try something else from here…"
_TO_LIVE = "Back to where the scene stands   End, Esc"
_TO_THE_END = "The last frame of the file   End, Esc"
_CONTINUE_TIP = (
    "Move the scene to the step in view; the script goes on from there.   Enter\n"
    "What comes after it now stays in the timeline."
)
_SCRIPT_TIP = "The script's next step goes on from this state."
_INPUTS_TIP = (
    "The engine simulates the recorded inputs again up to where the scene stood,\n"
    "while the script waits; then the script goes on."
)
_TRY_TIP = "Simulate them with another gain, option or input; the scene stays."
_SURE_TIP = "Move the scene there all the same   Enter"
_RECORDED_TIP = "Simulate the recorded inputs again instead"
_DOUBT = "What comes of it need not be what happened then."
_ASK = (
    "The script has registered no state: its own variables stay as they are now "
    "(scene.register_state takes them along)."
)
_ASK_SHORT = (
    "The script has registered no state: its variables stay as they are.",
    "The script's own variables stay as they are.",
    "The script's variables stay.",
)


class TimeCommands(Protocol):
    """What the timeline asks for."""

    def choose(self, axis: int) -> None:
        """Go to a row."""

    def scrub(self, axis: int) -> None:
        """Go to a row; more will follow."""

    def go_to(self, place: GotoPlace, on_problem: Callable[[str], None]) -> None:
        """Go to a place that was typed; ``on_problem`` gets why that can't be done."""

    def go_live(self) -> None:
        """Look at the present."""

    def go_first(self) -> None:
        """Look at the oldest row."""

    def continue_here(self, *, with_script: bool, sure: bool = False) -> None:
        """Move the scene to what is looked at."""


class TimelinePanel(QWidget):
    """Follows the scene that is shown; GUI thread only.

    ``link_toggled`` (bool): whether plots and timeline are to show the same part of time.
    ``try_wanted`` (a row, or None: the one in view): something else is to be tried from there.
    ``ghost_wanted`` (a row): what followed it, and was left behind, is to be a ghost.
    ``loop_chosen``: what is played again and again was chosen. ``repair_wanted``: of the file, as
    frames of it are lost.
    """

    link_toggled = Signal(bool)
    try_wanted = Signal(object)
    ghost_wanted = Signal(int)
    loop_chosen = Signal()
    repair_wanted = Signal()

    def __init__(
        self,
        sessions: SessionsModel,
        palette: Palette,
        axis_range: AxisRange,
        commands: TimeCommands,
        *,
        events: tuple[QAction, QAction],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("timeline")
        self._sessions = sessions
        self._commands = commands
        self._range = axis_range
        self._scene: SceneModel | None = None
        self._asks = False
        self._doubt: str | None = None
        self._palette = palette
        self._added: list[tuple[QAction, Icon]] = []
        self._build(palette, events)
        self._paced = PacedRefresh(self, sessions.refreshes, refresh=self._refresh, rate=_RATE)
        self.set_theme(palette)
        sessions.shown_changed.connect(self._follow)
        self._follow(sessions.shown)

    def close_panel(self) -> None:
        """Stop listening."""
        self._paced.close()
        self._sessions.shown_changed.disconnect(self._follow)
        self._follow(None)

    def sizeHint(self) -> QSize:
        """Return a low panel."""
        return QSize(600, METRICS.compact_height + 4 + self.strip.sizeHint().height())

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._palette = palette
        for action, which in self._added:
            action.setIcon(icon(which, palette))
        self.strip.set_theme(palette)
        self.follow.setIcon(icon(Icon.FOLLOW, palette))
        self.fit.setIcon(icon(Icon.FIT, palette))
        self.link.setIcon(icon(Icon.EQUALITY, palette))
        self.live.setIcon(icon(Icon.TO_LIVE, palette))
        self._show_doubt(self._doubt or "")
        for button, which in ((self.previous, Icon.PREVIOUS), (self.next, Icon.NEXT)):
            # On the action: a button takes what it shows from there, again and again.
            button.defaultAction().setIcon(icon(which, palette))
        self.setStyleSheet(
            f"#timelineBar {{ background: {palette.surface1};"
            f" border-bottom: 1px solid {palette.line};"
            f" border-top: 1px solid {palette.line}; }}"
            "#timelineBar QToolButton { padding: 1px 4px; min-width: 18px; min-height: 16px; }"
            f"#timelineBar QLineEdit[problem='true'] {{ border: 1px solid {palette.stop}; }}"
            "#timelineBar QLineEdit { padding: 0 6px; min-height: 20px; max-height: 20px; }"
        )

    def refresh_range(self) -> None:
        """Show another part of the axis: somebody has chosen it elsewhere."""
        if self.isVisible():
            self.follow.setChecked(self._range.follows)
            self.strip.refresh()

    # --- building

    def add_button(self, action: QAction, which: Icon) -> None:
        """Put a button for an action at the end of the bar; it is there while the action is."""
        self._added.append((action, which))
        action.setIcon(icon(which, self._palette))
        button = self._action_button(self._row, action)
        button.setVisible(action.isVisible())
        action.changed.connect(lambda: button.setVisible(action.isVisible()))

    def _build(self, palette: Palette, events: tuple[QAction, QAction]) -> None:
        bar = QWidget()
        bar.setObjectName("timelineBar")
        bar.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        bar.setFixedHeight(METRICS.compact_height + 4)
        row = self._row = QHBoxLayout(bar)
        row.setContentsMargins(METRICS.padding, 1, METRICS.gap, 1)
        row.setSpacing(METRICS.grid)
        self.where = ElidedLabel()
        self.where.setFont(number_font())
        self.where.setProperty("role", "small")
        row.addWidget(self.where, 1)
        self.progress = QProgressBar()
        self.progress.setFixedSize(120, 6)
        self.progress.setTextVisible(False)
        row.addWidget(self.progress)
        self.cancel = self._button(row, "Cancel", "End the re-simulation   Esc")
        self.cancel.clicked.connect(lambda _=False: self._commands.go_live())
        self._build_branching(row, palette)
        self.live = self._button(row, "Live", _TO_LIVE)
        self.live.clicked.connect(lambda _=False: self._commands.go_live())
        row.addSpacing(METRICS.gap)
        self.field = QLineEdit()
        self.field.setPlaceholderText("Go to…")
        self.field.setToolTip(
            "A step (1200), a time (3.2 s), or an episode with either (e3, e3 120, e3 0.5 s)."
        )
        self.field.setAccessibleName("Go to a step, time or episode")
        self.field.setFixedWidth(96)
        self.field.setMaxLength(80)
        self.field.returnPressed.connect(self._go)
        self.field.textEdited.connect(lambda _: set_property(self.field, "problem", False))
        self.field.installEventFilter(self)
        row.addWidget(self.field)
        self.previous = self._action_button(row, events[0])
        self.next = self._action_button(row, events[1])
        row.addSpacing(METRICS.gap)
        self.follow = icon_button(Icon.FOLLOW, palette, "Keep the newest step in sight")
        self.follow.setCheckable(True)
        self.follow.toggled.connect(self._set_follow)
        self.fit = icon_button(Icon.FIT, palette, "Show everything (double-click)")
        self.fit.clicked.connect(lambda _=False: self._fit())
        self.link = icon_button(
            Icon.EQUALITY, palette, "Plots and timeline show the same part of time"
        )
        self.link.setCheckable(True)
        self.link.setChecked(True)
        self.link.toggled.connect(self.link_toggled)
        for button in (self.follow, self.fit, self.link):
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            row.addWidget(button)
        self.strip = TimelineStrip(palette, self._range)
        self.strip.chosen.connect(self._commands.choose)
        self.strip.scrubbed.connect(self._commands.scrub)
        self.strip.key_home.connect(self._commands.go_first)
        self.strip.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.strip.customContextMenuRequested.connect(self._open_menu)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(bar)
        column.addWidget(self.strip, 1)

    def _build_branching(self, row: QHBoxLayout, palette: Palette) -> None:
        self.continue_here = QToolButton()
        self.continue_here.setText("Continue from here")
        self.continue_here.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.continue_here.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.continue_here.clicked.connect(lambda _=False: self._continue(with_script=True))
        menu = QMenu(self.continue_here)
        menu.setToolTipsVisible(True)
        script = menu.addAction("With the script")
        script.triggered.connect(lambda _=False: self._continue(with_script=True))
        inputs = menu.addAction("With recorded inputs")
        inputs.triggered.connect(lambda _=False: self._continue(with_script=False))
        menu.addSeparator()
        other = menu.addAction(_TRY)
        other.triggered.connect(lambda _=False: self.try_wanted.emit(None))
        self.continue_menu = menu
        self._tips: tuple[tuple[QToolButton | QAction, str], ...] = (
            (self.continue_here, _CONTINUE_TIP),
            (script, _SCRIPT_TIP),
            (inputs, _INPUTS_TIP),
            (other, _TRY_TIP),
        )
        self.continue_here.setMenu(menu)
        self.continue_here.setPopupMode(QToolButton.ToolButtonPopupMode.MenuButtonPopup)
        row.addWidget(self.continue_here)
        self.sure = self._button(row, "Continue", _SURE_TIP)
        self.sure.setProperty("hint", "true")
        self.sure.clicked.connect(lambda _=False: self.confirm())
        self.recorded = self._button(row, "With recorded inputs", _RECORDED_TIP)
        self._tips += ((self.sure, _SURE_TIP), (self.recorded, _RECORDED_TIP))
        self.recorded.clicked.connect(lambda _=False: self._continue(with_script=False))
        self.stay = self._button(row, "Stay", "Change nothing   Esc")
        self.stay.clicked.connect(lambda _=False: self.ask(False))

    @staticmethod
    def _button(row: QHBoxLayout, text: str, tip: str) -> QToolButton:
        button = QToolButton()
        button.setText(text)
        button.setToolTip(tip)
        button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        row.addWidget(button)
        return button

    @staticmethod
    def _action_button(row: QHBoxLayout, action: QAction) -> QToolButton:
        button = QToolButton()
        button.setDefaultAction(action)
        button.setIconSize(QSize(METRICS.icon, METRICS.icon))
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
        button.setAutoRaise(True)
        button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        row.addWidget(button)
        return button

    def _open_menu(self, at: QPoint) -> None:
        """Offer what can be done from the step under the pointer."""
        scene, history = self._scene, self.history
        if scene is None or scene.is_stale or history is None or not history.has_rows:
            return
        axis = self.strip.axis_at(at.x())
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        there = menu.addAction(f"Go to {history.step_text(axis)}")
        there.triggered.connect(lambda _=False: self._commands.choose(axis))
        other = menu.addAction(_TRY)
        other.triggered.connect(lambda _=False: self.try_wanted.emit(axis))
        left = self.strip.lanes.lanes.at(axis)
        if left is not None and left.lane:
            segment = history.segment_at(axis)
            first = left.begin if segment is None else max(left.begin, segment.begin)
            ghost = menu.addAction(f"Ghost of what followed {history.step_text(first)}")
            ghost.triggered.connect(lambda _=False: self.ghost_wanted.emit(first))
        if self.strip.lost_at(at.x()):
            repair = menu.addAction(f"Repair {history.recording}…")
            repair.triggered.connect(lambda _=False: self.repair_wanted.emit())
        menu.addSeparator()
        begins = menu.addAction("Loop from here")
        begins.setEnabled(axis < history.live)
        begins.triggered.connect(lambda _=False: self._loop(lambda: history.loop_from(axis)))
        ends = menu.addAction("Loop to here")
        ends.setEnabled(axis > history.first)
        ends.triggered.connect(lambda _=False: self._loop(lambda: history.loop_to(axis)))
        everything = menu.addAction("Loop everything")
        everything.triggered.connect(lambda _=False: self._loop(history.loop_everything))
        menu.popup(self.strip.mapToGlobal(at))

    def _loop(self, choose: Callable[[], None]) -> None:
        choose()
        self.strip.update()
        self.loop_chosen.emit()

    # --- asking

    @property
    def asks(self) -> bool:
        """Whether a sentence waits for an answer."""
        return self._asks

    def ask(self, asks: bool) -> None:
        """Say what continuing would leave as it is, and wait for an answer; or no more."""
        self._asks = asks
        self._refresh()

    def confirm(self) -> None:
        """The answer: continue all the same."""
        self._asks = False
        self._commands.continue_here(with_script=True, sure=True)
        self._refresh()

    def _continue(self, *, with_script: bool) -> None:
        self._asks = False
        self._commands.continue_here(with_script=with_script)
        self._refresh()

    # --- going

    def _go(self) -> None:
        try:
            place = parse_goto(self.field.text())
        except GotoTextError as error:
            self._refuse(str(error))
            return
        set_property(self.field, "problem", False)
        self.field.selectAll()
        # The keys go with the view; what is refused, now or later, stays to be corrected.
        self.strip.setFocus()
        self._commands.go_to(place, self._refuse)

    def _refuse(self, problem: str) -> None:
        """Say at the field what was wrong with what was typed."""
        if self.strip.hasFocus():
            self.field.setFocus()
        set_property(self.field, "problem", True)
        self.field.setAccessibleDescription(problem)
        tell(self.field, problem)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Give the keys back to the scene with Esc."""
        if (
            watched is self.field
            and isinstance(event, QKeyEvent)
            and event.type() is QEvent.Type.KeyPress
            and event.key() == Qt.Key.Key_Escape
        ):
            self.field.clear()
            set_property(self.field, "problem", False)
            self.strip.setFocus()
            return True
        return super().eventFilter(watched, event)

    def _set_follow(self, follow: bool) -> None:
        if follow != self._range.follows:
            self._range.set_follow(follow)
            self._refresh()

    def _fit(self) -> None:
        self._range.fit()
        self._refresh()

    # --- following

    @property
    def history(self) -> HistoryModel | None:
        """The past of the scene that is shown."""
        return self._scene.history if self._scene is not None else None

    def _follow(self, scene: SceneModel | None) -> None:
        if self._scene is not None:
            self._scene.status_changed.disconnect(self._on_news)
            self._scene.history.changed.disconnect(self._on_history)
            self._scene.history.marks_changed.disconnect(self._on_news)
        if scene is not self._scene:
            self.field.clear()  # a place in another past
            set_property(self.field, "problem", False)
        self._scene = scene
        self._asks = False
        if scene is not None:
            scene.status_changed.connect(self._on_news)
            scene.history.changed.connect(self._on_history)
            scene.history.marks_changed.connect(self._on_news)
        self.strip.set_history(scene.history if scene is not None else None)
        self._refresh()

    def _on_news(self) -> None:
        if self.isVisible():
            self._paced.request()

    def _on_history(self) -> None:
        """Follow the view at once: somebody moves it; what only grows can wait."""
        history = self.history
        if history is None or not self.isVisible():
            return
        if not history.is_away:
            self._asks = False
        if history.is_away or history.wanted is not None:
            self._paced.now()
        else:
            self._paced.request()

    def showEvent(self, event: QShowEvent) -> None:
        """Show what came while nobody looked."""
        super().showEvent(event)
        self._refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        """Show nothing while nobody looks."""
        super().hideEvent(event)
        self._paced.forget()

    def _refresh(self) -> None:
        history = self.history
        told = history.told if history is not None else None
        usable = self._scene is not None and not self._scene.is_stale
        away = history is not None and history.is_away and usable
        busy = told is not None and bool(told.busy) and usable
        self.where.set_full_text(*self._where(history))
        doubt = history.doubt if history is not None and usable else ""
        if doubt != self._doubt:
            self._show_doubt(doubt)
        invalid = history is not None and usable and history.invalid
        set_property(self.where, "level", "warn" if self._asks or doubt or invalid else "")
        self.progress.setVisible(busy)
        self.cancel.setVisible(busy)
        if told is not None and busy:
            self.progress.setValue(round(100 * told.progress))
        self.continue_here.setVisible(away and not busy and not self._asks)
        for button in (self.sure, self.recorded, self.stay):
            button.setVisible(self._asks and away and not busy)
        self.live.setVisible(away and not busy and not self._asks)
        replays = history is not None and history.is_replay
        self.live.setText("End" if replays else "Live")
        self.live.setToolTip(_TO_THE_END if replays else _TO_LIVE)
        self.field.setEnabled(usable and told is not None)
        self.follow.setChecked(self._range.follows)
        self.strip.refresh()

    def _show_doubt(self, doubt: str) -> None:
        """Warn at whatever goes on from a past that does not lead to what happened any more."""
        self._doubt = doubt
        p = self._palette
        which, color = (Icon.WARNING, p.warn) if doubt else (Icon.BRANCH, p.accent)
        self.continue_here.setIcon(icon(which, p, color=color))
        told = f"{doubt[:1].upper()}{doubt[1:]}. {_DOUBT}" if doubt else ""
        for each, tip in self._tips:
            each.setToolTip(plain_text("\n".join(part for part in (tip, told) if part)))

    def _where(self, history: HistoryModel | None) -> tuple[str, ...]:
        """Return where the view stands, and the same for less room."""
        if history is None:
            return ("",)
        told = history.told
        if told is None:
            if self._scene is not None and self._scene.description is None:
                return ("Waiting for the scene",)
            return ("No history: this engine keeps none", "No history")
        if self._asks:
            return (_ASK, *_ASK_SHORT)
        if told.busy:
            return (told.busy,)
        if told.view is not None:
            return self._where_away(history)
        if history.is_replay:
            parts = [f"{history.frame_text}, the last", *_invalid(history), *_episode(history)]
            return (" · ".join(parts), parts[0])
        if not told.keeps:
            return ("The history is switched off",)
        if not told.rows and not history.live:
            return ("No steps yet: play or step, then look back at them here", "No steps yet")
        branch = history.branch_text
        segment = history.segments[-1] if history.segments else None
        used = f"{number_text(told.used_bytes / _MIB, 1)} of {told.max_bytes / _MIB:.0f} MiB"
        kept = f"{count_text(told.rows)} step{'' if told.rows == 1 else 's'} kept"
        parts = [kept, used]
        if segment is not None:
            parts.insert(0, f"episode {segment.episode}")
        if branch:
            parts.insert(0, f"on a branch from {branch}")
        parts[:0] = _invalid(history)
        return (" · ".join(parts), parts[0])

    def _where_away(self, history: HistoryModel) -> tuple[str, ...]:
        told = history.told
        if told is None or told.view is None:
            return ("",)
        place = history.place(told.view)
        back = history.frame_text or f"PAST {MINUS}{count_text(told.view_back)}"
        when = with_unit(number_text(told.view_time), "s")
        parts = [back]
        if place is not None:
            parts.append(f"episode {place.episode}")
            parts.append(history.step_text(told.view))
        parts.append(f"t {when}")
        note = [*([told.view_note] if told.view_note else []), *_invalid(history)]
        # Why there is doubt may be left to the tooltip, that there is may not.
        doubts = (history.doubt, history.invalid)
        short = [each.partition(":")[0] for each in doubts if each]
        return (
            " · ".join(parts + note),
            " · ".join(parts + short),
            " · ".join([back, *note]),
            " · ".join([back, *short]),
        )


def _invalid(history: HistoryModel) -> list[str]:
    """Return why what is looked at is no valid state, if it is none."""
    return [history.invalid] if history.invalid else []


def _episode(history: HistoryModel) -> list[str]:
    """Return the newest episode, if there is one."""
    return [f"episode {history.segments[-1].episode}"] if history.segments else []
