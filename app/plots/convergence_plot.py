"""How the constraint solver converged in one step: improvement and gradient per iteration."""

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from stroboscope.app.models.numbers import power_text
from stroboscope.app.plots.plot_style import line_pen, small_number_font
from stroboscope.resources.themes import Palette

__all__ = ["Convergence", "ConvergencePlot"]

_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 12.0, 8.0, 22.0
_DOT = 2.5


@dataclasses.dataclass(frozen=True, slots=True)
class Convergence:
    """One island: ``improvement`` and ``gradient`` (n,) after each iteration.

    ``limit`` iterations are allowed, the solver stops early below ``tolerance``; None: not known.
    """

    improvement: tuple[float, ...]
    gradient: tuple[float, ...]
    limit: int | None = None
    tolerance: float | None = None

    @property
    def iterations(self) -> int:
        """How many iterations are drawn."""
        return max(len(self.improvement), len(self.gradient))

    @property
    def last_shown(self) -> int:
        """The iteration at the right edge: the limit when it is near enough to be seen."""
        n = max(self.iterations, 1)
        if self.limit is not None and self.limit <= max(3 * n, 12):
            return max(self.limit, n)
        return n + 1

    def decades(self) -> tuple[int, int]:
        """Return the powers of ten at the lower and upper edge."""
        values = [v for v in (*self.improvement, *self.gradient) if v > 0.0 and math.isfinite(v)]
        if self.tolerance is not None and self.tolerance > 0.0:
            values.append(self.tolerance)
        if not values:
            return -1, 1
        low = math.floor(math.log10(min(values)) + 1e-9)
        high = math.ceil(math.log10(max(values)) - 1e-9)
        return low, max(high, low + 1)


class ConvergencePlot(QWidget):
    """Draws one island on a logarithmic scale; what is 0 or not finite leaves a gap."""

    def __init__(self, palette: Palette, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._palette = palette
        self._shown: Convergence | None = None
        self.setFont(small_number_font())
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumHeight(80)
        self.setAccessibleName("solver convergence")

    @property
    def shown(self) -> Convergence | None:
        """What is drawn."""
        return self._shown

    def show_convergence(self, convergence: Convergence | None) -> None:
        """Draw another step; None: nothing to draw."""
        if convergence != self._shown:
            self._shown = convergence
            self.update()

    def set_theme(self, palette: Palette) -> None:
        """Take the colours of a palette."""
        self._palette = palette
        self.update()

    def sizeHint(self) -> QSize:
        """Room for a few decades."""
        return QSize(320, 160)

    def point(self, iteration: int, value: float) -> QPointF:
        """Return where a value after an iteration (1, 2, …) is drawn, in this widget."""
        area, shown = self._area(), self._shown
        if shown is None:
            return QPointF()
        low, high = shown.decades()
        across = (iteration - 0.5) / shown.last_shown
        up = (math.log10(value) - low) / (high - low)
        return QPointF(area.left() + across * area.width(), area.bottom() - up * area.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint grid, limit, tolerance and both lines."""
        painter = QPainter(self)
        painter.fillRect(event.rect(), QColor(self._palette.surface0))
        shown = self._shown
        if shown is not None and shown.iterations:
            self._paint_grid(painter, shown)
            self._paint_limits(painter, shown)
            for values, colour in (
                (shown.improvement, self._palette.plot[0]),
                (shown.gradient, self._palette.plot[1]),
            ):
                self._paint_line(painter, np.array(values), colour)
        painter.end()

    def _area(self) -> QRectF:
        return QRectF(self.rect()).adjusted(_LEFT, _TOP, -_RIGHT, -_BOTTOM)

    def _paint_grid(self, painter: QPainter, shown: Convergence) -> None:
        area, p = self._area(), self._palette
        low, high = shown.decades()
        height = self.fontMetrics().height()
        stride = max(1, math.ceil((high - low) * 1.3 * height / max(area.height(), 1.0)))
        flags = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        for power in range(low, high + 1, stride):
            y = round(area.bottom() - (power - low) / (high - low) * area.height()) + 0.5
            painter.setPen(line_pen(p.line))
            painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
            painter.setPen(QColor(p.muted))
            box = QRectF(0.0, y - 0.5 * height, area.left() - 6.0, float(height))
            painter.drawText(box, int(flags), power_text(power))
        painter.setPen(QColor(p.muted))
        width = self.fontMetrics().horizontalAdvance(f" {shown.last_shown} ") + 8
        every = max(1, math.ceil(shown.last_shown * width / max(area.width(), 1.0)))
        middle = Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop
        for iteration in range(1, shown.last_shown + 1, every):
            x = area.left() + (iteration - 0.5) / shown.last_shown * area.width()
            box = QRectF(x - 0.5 * width, area.bottom() + 4.0, float(width), float(height))
            painter.drawText(box, int(middle), str(iteration))

    def _paint_limits(self, painter: QPainter, shown: Convergence) -> None:
        area, p = self._area(), self._palette
        if shown.limit is not None and shown.limit <= shown.last_shown:
            hit = shown.iterations >= shown.limit
            x = round(area.left() + shown.limit / shown.last_shown * area.width()) - 0.5
            colour = p.stop if hit else p.warn
            painter.setPen(line_pen(colour, style=Qt.PenStyle.DashLine))
            painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))
            painter.setPen(QColor(colour))
            self._words(painter, f"limit {shown.limit}", x - 4.0, area.top())
        if shown.tolerance is not None and shown.tolerance > 0.0:
            y = round(self.point(1, shown.tolerance).y()) + 0.5
            painter.setPen(line_pen(p.muted, style=Qt.PenStyle.DashLine))
            painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
            painter.setPen(QColor(p.muted))
            height = float(self.fontMetrics().height())
            digits, _, power = f"{shown.tolerance:.0e}".partition("e")
            text = f"tolerance {digits}e{int(power)}".replace("-", "−")
            self._words(painter, text, area.right() - 4.0, max(y - height - 1.0, area.top()))

    def _words(self, painter: QPainter, text: str, right: float, top: float) -> None:
        width = float(self.fontMetrics().horizontalAdvance(text))
        box = QRectF(right - width - 2.0, top, width + 4.0, float(self.fontMetrics().height()))
        painter.fillRect(box, QColor(self._palette.surface0))
        painter.drawText(QPointF(right - width, top + self.fontMetrics().ascent()), text)

    def _paint_line(self, painter: QPainter, values: NDArray[np.float64], colour: str) -> None:
        good = np.isfinite(values) & (values > 0.0)
        points = {int(i): self.point(int(i) + 1, float(values[i])) for i in np.flatnonzero(good)}
        painter.setPen(line_pen(colour))
        places = np.flatnonzero(good)
        for run in np.split(places, np.flatnonzero(np.diff(places) > 1) + 1):
            painter.drawPolyline(QPolygonF([points[int(i)] for i in run]))
        if len(points) <= 200:
            painter.setPen(QPen(Qt.PenStyle.NoPen))
            painter.setBrush(QColor(colour))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            for point in points.values():
                painter.drawEllipse(point, _DOT, _DOT)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)
