"""F1: every key and mouse gesture, grouped, on one sheet."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QGridLayout,
    QHBoxLayout,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from stroboscope.app.panels.labels import label
from stroboscope.app.panels.style import METRICS

__all__ = ["KeySheet"]

_COLUMNS = 3

Group = tuple[str, tuple[tuple[str, str], ...]]


class KeySheet(QDialog):
    """``groups`` are a title and pairs of what it does and how."""

    def __init__(self, groups: tuple[Group, ...], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Keys and mouse")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 16, 16, METRICS.padding)
        content = QWidget()
        content.setObjectName("panel")
        columns = QHBoxLayout(content)
        columns.setSpacing(32)
        room = sum(len(rows) + 2 for _, rows in groups) / _COLUMNS
        column, used = QVBoxLayout(), 0
        columns.addLayout(column)
        for title, rows in groups:
            if used and used + len(rows) / 2 > room and columns.count() < _COLUMNS:
                column.addStretch(1)
                column, used = QVBoxLayout(), 0
                columns.addLayout(column)
            column.addLayout(self._group(title, rows))
            used += len(rows) + 2
        column.addStretch(1)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setWidget(content)
        layout.addWidget(scroll, 1)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        layout.addWidget(buttons)
        self.resize(1060, 660)

    def _group(self, title: str, rows: tuple[tuple[str, str], ...]) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(METRICS.padding)
        grid.setVerticalSpacing(METRICS.grid)
        grid.setColumnStretch(0, 1)
        heading = label(title, "heading")
        heading.setContentsMargins(0, METRICS.gap, 0, METRICS.grid)
        grid.addWidget(heading, 0, 0, 1, 2)
        for line, (what, keys) in enumerate(rows, start=1):
            key = label(keys)
            key.setObjectName("key")
            grid.addWidget(label(what), line, 0)
            grid.addWidget(key, line, 1, Qt.AlignmentFlag.AlignRight)
        return grid
