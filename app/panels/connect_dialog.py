"""Connect to an application that runs on this machine."""

from pathlib import Path

from PySide6.QtWidgets import QCheckBox, QDialog, QDialogButtonBox, QVBoxLayout, QWidget

from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.panels.labels import label
from stroboscope.app.panels.session_list import SessionList
from stroboscope.app.panels.style import METRICS

__all__ = ["ConnectDialog"]


class ConnectDialog(QDialog):
    """Lists the sessions found; stays open, so that several can be attached."""

    def __init__(self, sessions: SessionsModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Connect to an application")
        self._sessions = sessions
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 16, 16, METRICS.padding)
        layout.setSpacing(METRICS.padding)
        layout.addWidget(label("Applications on this machine", "heading"))
        self.list = SessionList(sessions)
        self.list.setMinimumSize(420, 160)
        self.list.connect_to.connect(self._connect)
        layout.addWidget(self.list, 1)
        self.observe = QCheckBox("Only observe: never take control")
        self.observe.setToolTip(
            "Looks and plots only. Closing this window then changes nothing in the application."
        )
        layout.addWidget(self.observe)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        layout.addWidget(buttons)
        self.resize(520, 320)

    def _connect(self, path: Path) -> None:
        self._sessions.open(path, observe=self.observe.isChecked())
        self.accept()
