"""Asks whether a folder is to be trusted, whose files a model from elsewhere wants to read."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QFileDialog, QLabel, QPushButton, QVBoxLayout, QWidget

from stroboscope.app.panels.labels import button_row
from stroboscope.app.panels.style import METRICS
from stroboscope.engine.errors import EngineError
from stroboscope.engine.outside.trust import ASKS_TRUST, trust_folder

__all__ = ["Trust"]

_WIDTH = 460
_EXPLAINED = (
    "Choose a folder that holds the model and all files that it names, if you trust them: from now "
    "on every model in that folder may read all files in it. Nothing in a model is executed."
)


class Trust:
    """Asks for one file at a time, and opens it again where a folder was chosen."""

    def __init__(self, window: QWidget, open_file: Callable[[str], None]) -> None:
        self._window = window
        self._open_file = open_file
        self.dialog: QDialog | None = None

    def refused(self, path: str, why: str) -> None:
        """Ask, if trust is what the file wants; ``why`` says what is wrong with it."""
        if ASKS_TRUST not in why:
            return
        if self.dialog is not None:
            self.dialog.reject()
        dialog = QDialog(self._window)
        dialog.setWindowTitle(f"{Path(path).name} names files outside of its folder")
        dialog.setFixedWidth(_WIDTH)
        self.why, self.problem = _text(why.partition("; ")[0]), _text("")
        self.problem.setProperty("level", "warn")
        self.problem.hide()
        self.cancel, self.choose = QPushButton("Cancel"), QPushButton("Trust a folder…")
        self.cancel.clicked.connect(lambda _=False: dialog.reject())
        self.choose.clicked.connect(lambda _=False: self._choose(path))
        self.cancel.setDefault(True)  # what is explicit is no slip of Enter
        layout = QVBoxLayout(dialog)
        margin = METRICS.padding + METRICS.grid
        layout.setContentsMargins(margin, margin, margin, METRICS.padding)
        layout.setSpacing(METRICS.padding)
        for label in (self.why, _text(_EXPLAINED), self.problem):
            layout.addWidget(label)
        layout.addLayout(button_row(self.cancel, self.choose))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.finished.connect(lambda _result: setattr(self, "dialog", None))
        self.dialog = dialog
        dialog.open()

    def close(self) -> None:
        """The window goes."""
        if self.dialog is not None:
            self.dialog.reject()

    def _choose(self, path: str) -> None:
        file = Path(path).resolve()
        folder = QFileDialog.getExistingDirectory(
            self._window, "Trust the files of a folder", str(file.parent.parent)
        )
        if not folder or self.dialog is None:
            return
        problem = ""
        if not file.is_relative_to(Path(folder).resolve()):
            problem = f"{file.name} is not in {folder}: choose a folder that holds it."
        else:
            try:
                trust_folder(folder)
            except (EngineError, OSError) as error:
                problem = str(error)
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem))
        if not problem:
            self.dialog.accept()
            self._open_file(path)


def _text(text: str) -> QLabel:
    label = QLabel(text)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    return label
