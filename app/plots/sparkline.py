"""A word-sized plot of one value's recent past, for tables and the inspector."""

import numpy as np
from numpy.typing import NDArray
from pyqtgraph.functions import arrayToQPolygonF
from PySide6.QtCore import QSize
from PySide6.QtGui import QPainter, QPaintEvent, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from stroboscope.app.plots.axes import is_still
from stroboscope.app.plots.plot_style import line_pen
from stroboscope.resources.themes import Palette

__all__ = ["Sparkline"]

_KEPT = 240


class Sparkline(QWidget):
    """Draws the last values it was given; every value a pixel column stands for is in its range."""

    def __init__(self, palette: Palette, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._palette = palette
        self._values = np.full(_KEPT, np.nan)
        self._count = 0
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("recent values")

    def push(self, value: float) -> None:
        """Add the newest value."""
        if self._count == _KEPT:
            self._values[:-1] = self._values[1:].copy()
            self._count -= 1
        self._values[self._count] = value
        self._count += 1
        self.update()

    def set_values(self, values: NDArray[np.float64]) -> None:
        """Replace everything by ``values`` (n,), oldest first; only the newest are kept."""
        newest = values[-_KEPT:]
        self._count = len(newest)
        self._values[: self._count] = newest
        self.update()

    def clear(self) -> None:
        """Forget everything: another value is shown from now on."""
        self._count = 0
        self.update()

    @property
    def values(self) -> NDArray[np.float64]:
        """The values that are drawn, oldest first."""
        return self._values[: self._count].copy()

    def set_theme(self, palette: Palette) -> None:
        """Take the colours of a palette."""
        self._palette = palette
        self.update()

    def sizeHint(self) -> QSize:
        """As wide as four or five figures, as high as a line of text."""
        return QSize(64, 16)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the line; a constant value is a line in the middle."""
        painter = QPainter(self)
        for polygon in self._polygons():
            painter.setPen(line_pen(self._palette.accent))
            painter.drawPolyline(polygon)
        painter.end()

    def _polygons(self) -> list[QPolygonF]:
        values = self._values[: self._count]
        finite = np.isfinite(values)
        if self._count < 2 or not finite.any():
            return []
        low, high = float(values[finite].min()), float(values[finite].max())
        height, width = self.height() - 3.0, self.width() - 2.0
        x = 1.0 + width * np.arange(self._count) / (self._count - 1)
        y = np.full(self._count, 0.5 * height + 1.0)
        if not is_still(low, high):
            y[finite] = 1.0 + height * (1.0 - (values[finite] - low) / (high - low))
        runs = np.split(np.arange(self._count), np.flatnonzero(np.diff(finite)) + 1)
        return [arrayToQPolygonF(x[run], y[run]) for run in runs if finite[run[0]] and len(run) > 1]
