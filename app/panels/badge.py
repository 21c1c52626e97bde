"""The badge that always says which state is shown, with icon and word."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QButtonGroup, QFrame, QHBoxLayout, QLabel, QToolButton, QWidget

from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.models.shown_state import ShownState, StateKind
from stroboscope.app.models.signal import Signal
from stroboscope.app.panels.icons import Icon, pixmap
from stroboscope.app.panels.labels import label
from stroboscope.app.panels.style import METRICS, number_font, set_property
from stroboscope.debugger_protocol.topics import Instant
from stroboscope.resources.themes import Palette

__all__ = ["InstantToggle", "StateBadge"]

_ICONS = {
    StateKind.NONE: Icon.STALE,
    StateKind.CONNECTING: Icon.WAIT,
    StateKind.LIVE: Icon.LIVE,
    StateKind.PLAYING: Icon.PLAY,
    StateKind.FAST_FORWARD: Icon.FAST_FORWARD,
    StateKind.PAUSING: Icon.WAIT,
    StateKind.PAUSED: Icon.PAUSE,
    StateKind.PAST: Icon.PAST,
    StateKind.REPLAY: Icon.REPLAY,
    StateKind.BUSY: Icon.WAIT,
    StateKind.HELD: Icon.HELD,
    StateKind.STALE: Icon.STALE,
    StateKind.ENDED: Icon.CHECK,
    StateKind.FAILED: Icon.ERROR,
    StateKind.DISCONNECTED: Icon.STALE,
}
_LEVELS = {
    StateKind.LIVE: "ok",
    StateKind.PLAYING: "ok",
    StateKind.FAST_FORWARD: "ok",
    StateKind.PAUSING: "warn",
    StateKind.PAUSED: "accent",
    StateKind.PAST: "warn",
    StateKind.REPLAY: "accent",
    StateKind.BUSY: "warn",
    StateKind.HELD: "warn",
    StateKind.STALE: "stop",
    StateKind.FAILED: "stop",
    StateKind.DISCONNECTED: "warn",
}

_PAST_HINT = (
    "A step of the past is looked at, all of it of that one instant; the scene stands where it "
    "stood.\nEsc: back to live.   Enter: continue from here."
)
_REPLAY_HINT = (
    "A recorded run: Space plays it, ← and → go from step to step.\n"
    "Enter: continue simulating from here; the file stays as it is."
)
_HINTS = {StateKind.PAST: _PAST_HINT, StateKind.REPLAY: _REPLAY_HINT}


class StateBadge(QFrame):
    """Icon and word; the sentence is in the tooltip."""

    def __init__(self, palette: Palette, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("badge")
        self._palette = palette
        self._state: ShownState | None = None
        layout = QHBoxLayout(self)
        layout.setContentsMargins(8, 0, 10, 0)
        layout.setSpacing(6)
        self._icon = QLabel()
        self._word = label("")
        self._word.setFont(number_font())
        layout.addWidget(self._icon)
        layout.addWidget(self._word)
        self.setFixedHeight(METRICS.control_height)

    @property
    def word(self) -> str:
        """The word shown."""
        return self._word.text()

    def set_state(self, state: ShownState) -> None:
        """Show a state."""
        if state == self._state:
            return
        kind_changed = self._state is None or state.kind is not self._state.kind
        self._state = state
        self._word.setText(state.word)
        hint = _HINTS.get(state.kind, "")
        self.setToolTip(plain_text("\n".join(part for part in (state.detail, hint) if part)))
        self.setAccessibleName(f"{state.word} {state.detail}")
        if kind_changed:
            self._dress()

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._palette = palette
        self._dress()

    def _dress(self) -> None:
        if self._state is None:
            return
        p = self._palette
        level = _LEVELS.get(self._state.kind, "")
        colors = {"ok": p.ok, "warn": p.warn, "stop": p.stop, "accent": p.accent}
        color = colors.get(level, p.muted)
        ratio = self.devicePixelRatioF()
        self._icon.setPixmap(pixmap(_ICONS[self._state.kind], METRICS.icon, color, ratio=ratio))
        set_property(self, "level", level)


class InstantToggle(QWidget):
    """NOW | EXECUTED: which instant of a paused scene is shown."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.chosen: Signal[[Instant]] = Signal()
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        self._group = QButtonGroup(self)
        self._group.setExclusive(True)
        self._buttons: dict[Instant, QToolButton] = {}
        for instant, text in ((Instant.NOW, "NOW"), (Instant.EXECUTED, "EXECUTED")):
            button = QToolButton()
            button.setText(text)
            button.setCheckable(True)
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            button.clicked.connect(lambda _=False, i=instant: self.chosen.emit(i))
            self._group.addButton(button)
            self._buttons[instant] = button
            layout.addWidget(button)
        self._buttons[Instant.NOW].setToolTip(
            "The state the scene stands at, recomputed with the inputs as they are.\n"
            "Forces are predictions of the coming step. (N)"
        )

    def button(self, instant: Instant) -> QToolButton:
        """Return the button of an instant."""
        return self._buttons[instant]

    def show_instant(self, instant: Instant | None, *, executed_known: bool) -> None:
        """Mark the instant that is shown; EXECUTED is disabled while there is none."""
        executed = self._buttons[Instant.EXECUTED]
        executed.setEnabled(executed_known)
        executed.setToolTip(
            "The last executed step: its state and everything it computed. Exact. (N)"
            if executed_known
            else "No step was executed since the scene stands here, so there is none to show."
        )
        if instant in self._buttons:
            self._buttons[instant].setChecked(True)
