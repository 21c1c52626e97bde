"""The list of applications on this machine, live, for the welcome page and the dialog."""

from pathlib import Path

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QScrollArea, QVBoxLayout, QWidget

from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.models.session_finder import FoundSession, find_sessions
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.models.signal import Signal
from stroboscope.app.panels.labels import ElidedLabel, label
from stroboscope.app.panels.style import METRICS

__all__ = ["SessionList"]

_REFRESH_MS = 1000


def _age_text(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


class SessionList(QWidget):
    """One row per application with a Connect button; looks again every second while visible."""

    def __init__(self, sessions: SessionsModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.connect_to: Signal[[Path]] = Signal()
        self._sessions = sessions
        self._shown: tuple[object, ...] | None = None
        self.buttons: dict[str, QPushButton] = {}
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        layout.addWidget(self._scroll)
        self._timer = QTimer(self)
        self._timer.setInterval(_REFRESH_MS)
        self._timer.timeout.connect(self.refresh)
        self.refresh()

    def showEvent(self, event: QShowEvent) -> None:
        """Look while somebody looks."""
        super().showEvent(event)
        self.refresh()
        self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        """Nobody looks."""
        self._timer.stop()
        super().hideEvent(event)

    def stop(self) -> None:
        """Look no more."""
        self._timer.stop()

    def refresh(self) -> None:
        """Show what is running now."""
        found, problem = find_sessions()
        attached = {session.path for session in self._sessions.sessions if session.is_connected}
        shape = (problem, tuple((f.session_id, f.path in attached) for f in found))
        if shape == self._shown:
            return
        self._shown = shape
        content = QWidget()
        content.setObjectName("panel")
        column = QVBoxLayout(content)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(METRICS.grid)
        self.buttons = {}
        for session in found:
            column.addLayout(self._row(session, attached=session.path in attached))
        if not found:
            text = problem or "No application is waiting. Start a script as shown; it appears here."
            column.addWidget(label(text, "muted", wrap=True))
        column.addStretch(1)
        self._scroll.setWidget(content)

    def _row(self, session: FoundSession, *, attached: bool) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(METRICS.gap)
        name = ElidedLabel(Path(session.script).name or session.session_id)
        name.setToolTip(plain_text(session.script or session.session_id))
        about = label(f"pid {session.pid} · {_age_text(session.age_s)}", "small")
        button = QPushButton("Attached" if attached else "Connect")
        button.setEnabled(not attached)
        button.clicked.connect(lambda _=False, path=session.path: self.connect_to.emit(path))
        self.buttons[session.session_id] = button
        row.addWidget(name, 1)
        row.addWidget(about)
        row.addWidget(button)
        return row
