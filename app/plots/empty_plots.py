"""What the plot panel says when nothing is plotted."""

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from stroboscope.app.plots.plot_style import METRICS, PlotIcon, plot_icon
from stroboscope.resources.themes import Palette

__all__ = ["EmptyPlots"]


class EmptyPlots(QWidget):
    """Says how to plot something, with a button that does it."""

    add_requested = Signal()

    def __init__(self, palette: Palette, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("emptyPlots")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._icon = QLabel()
        self._text = QLabel("Nothing is plotted. Drag a value from the inspector or the tree here.")
        self._text.setWordWrap(True)
        self._text.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.add = QPushButton("Add signal…")
        self.add.clicked.connect(self.add_requested)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(self.add)
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(*([METRICS.padding] * 4))
        column.setSpacing(METRICS.gap)
        column.addStretch(1)
        column.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addWidget(self._text)
        column.addLayout(row)
        column.addStretch(1)
        self.set_theme(palette)

    def set_theme(self, palette: Palette) -> None:
        """Take the colours of a palette."""
        icon = plot_icon(PlotIcon.CHART, palette, color=palette.disabled)
        self._icon.setPixmap(icon.pixmap(QSize(28, 28), self.devicePixelRatioF()))
        self.add.setIcon(plot_icon(PlotIcon.ADD, palette))
        self._text.setStyleSheet(f"color: {palette.muted};")
        self.setStyleSheet(f"#emptyPlots {{ background: {palette.surface0}; }}")
