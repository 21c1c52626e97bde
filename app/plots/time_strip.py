"""The labels of the time axis, below all plots: they stay in sight when the plots scroll."""

from collections.abc import Sequence

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from stroboscope.app.plots.plot_style import small_number_font
from stroboscope.resources.themes import Palette

__all__ = ["TimeStrip"]

_HEIGHT = 20


class TimeStrip(QWidget):
    """Paints labels at the positions it is given."""

    def __init__(self, palette: Palette, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFixedHeight(_HEIGHT)
        self.setFont(small_number_font())
        self._palette = palette
        self._labels: tuple[tuple[float, str], ...] = ()

    @property
    def labels(self) -> tuple[tuple[float, str], ...]:
        """What is shown: x in this widget [px], and text."""
        return self._labels

    def set_labels(self, labels: Sequence[tuple[float, str]]) -> None:
        """Show each text centred at its x."""
        if tuple(labels) != self._labels:
            self._labels = tuple(labels)
            self.update()

    def set_theme(self, palette: Palette) -> None:
        """Take the colours of a palette."""
        self._palette = palette
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the labels, leaving out those that would run over the edge or their neighbour."""
        painter = QPainter(self)
        painter.fillRect(event.rect(), QColor(self._palette.surface0))
        painter.setPen(QColor(self._palette.muted))
        metrics = self.fontMetrics()
        taken = 0.0
        for x, text in self._labels:
            width = metrics.horizontalAdvance(text) + 2.0
            left = x - 0.5 * width
            if left >= taken and left + width <= self.width():
                box = QRectF(left, 0.0, width, float(self.height()))
                painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)
                taken = left + width + 8.0
        painter.end()
