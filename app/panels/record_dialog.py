"""Asks how a recording, or a saved history, is to be called."""

from collections.abc import Callable

from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QFormLayout,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from stroboscope.app.panels.labels import button_row, label
from stroboscope.app.panels.style import METRICS, set_property

__all__ = ["RecordDialog"]

_MARGIN = 16
_WHERE = (
    "Into the folder that the script has chosen (physics.set_recordings_folder), by default the "
    "one that it was started in. A file that is there already stays: the new one gets a number."
)
_MODES = (
    ("Every bit of every state", "exact"),
    ("Inputs and digests: small, simulated again", "minimal"),
    ("The smaller one where that is exact", "auto"),
)


class RecordDialog(QDialog):
    """A name and, of a recording, how much of each frame; stays until the application agrees.

    ``begin(name, mode)`` asks it; the answer is :meth:`accept`, or :meth:`refuse` with the reason.
    """

    def __init__(
        self,
        title: str,
        *,
        button: str,
        suggested: str,
        has_mode: bool,
        begin: Callable[[str, str], None],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self._begin = begin
        self.name = QLineEdit()
        self.name.setPlaceholderText(suggested)
        self.name.setAccessibleName("Name of the file")
        self.name.setToolTip("A name, no path; .mcap is added. Empty: that of the scene.")
        self.mode = QComboBox()
        for text, mode in _MODES:
            self.mode.addItem(text, mode)
        form = QFormLayout()
        form.setHorizontalSpacing(METRICS.padding)
        form.setVerticalSpacing(METRICS.gap)
        form.addRow("Name", self.name)
        if has_mode:
            form.addRow("What", self.mode)
        self.where = label(_WHERE, "small", wrap=True)
        self.problem = label("", "small", wrap=True)
        set_property(self.problem, "level", "stop")
        self.problem.hide()
        self.start = QPushButton(button)
        self.start.clicked.connect(lambda _=False: self._ask())
        self.cancel = QPushButton("Cancel")
        self.cancel.clicked.connect(lambda _=False: self.reject())
        layout = QVBoxLayout(self)
        layout.setContentsMargins(_MARGIN, _MARGIN, _MARGIN, METRICS.padding)
        layout.setSpacing(METRICS.padding)
        layout.addLayout(form)
        layout.addWidget(self.where)
        layout.addWidget(self.problem)
        layout.addLayout(button_row(self.cancel, self.start))
        self.setMinimumWidth(440)

    def refuse(self, reason: str) -> None:
        """Say why not, and let another name be given."""
        self.problem.setText(reason)
        self.problem.show()
        self.start.setEnabled(True)
        self.name.setFocus()
        self.name.selectAll()

    def _ask(self) -> None:
        self.problem.hide()
        self.start.setEnabled(False)
        self._begin(self.name.text().strip(), str(self.mode.currentData()))
