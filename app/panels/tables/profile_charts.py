"""Small drawings of the profiler: a stacked bar, a histogram, and counts over time."""

import math

import numpy as np
from numpy.typing import NDArray
from pyqtgraph.functions import arrayToQPolygonF
from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QHelpEvent, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from stroboscope.app.models.numbers import THIN_SPACE, number_text
from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.models.tables.profile import StagePart, StepTimes, duration_text
from stroboscope.app.panels.style import METRICS, number_font
from stroboscope.resources.themes import Palette

__all__ = ["CountHistory", "StackedBar", "StepHistogram"]

NO_STEPS = "Steps are timed only while this panel is open.\nRun the scene to see them."
# Above the largest value, so that a constant curve is no line under the title.
_HEADROOM = 1.25
# From this height [px] on there is room for a second line above a curve.
_TWO_LINES = 56

_LEFT = (Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter).value
_RIGHT = (Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter).value


class _Chart(QWidget):
    """Colours and fonts of a drawing."""

    def __init__(self, palette: Palette, height: int) -> None:
        super().__init__()
        self._height = height
        self.palette_tokens = palette
        self.setMinimumHeight(height)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        font = number_font()
        font.setPixelSize(METRICS.small_font_px)
        self.setFont(font)

    def sizeHint(self) -> QSize:
        """Return the size that shows everything."""
        return QSize(240, self._height)

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self.palette_tokens = palette
        self.update()

    def pen(self, color: str) -> QPen:
        """Return a line one pixel wide."""
        return QPen(QColor(color), 1)


class StackedBar(_Chart):
    """The stages of a step beside each other, as wide as they take long, named below."""

    def __init__(self, palette: Palette) -> None:
        super().__init__(palette, 56)
        self._parts: tuple[StagePart, ...] = ()
        self._places: list[tuple[QRectF, StagePart]] = []

    def show_parts(self, parts: tuple[StagePart, ...]) -> None:
        """Show other durations."""
        if parts != self._parts:
            self._parts = parts
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint bar and legend."""
        p = self.palette_tokens
        painter = QPainter(self)
        room = self.contentsRect()
        width = float(room.width())
        self._places = []
        x = float(room.left())
        for n, part in enumerate(self._parts):
            length = part.part * width
            rect = QRectF(x, 0.0, max(length - 1.0, 0.5), 18.0)
            painter.fillRect(rect, self._color(n, part))
            self._places.append((rect, part))
            x += length
        if not self._parts:
            painter.fillRect(QRectF(x, 0, width, 18), QColor(p.surface2))
        self._legend(painter)
        painter.end()

    def _color(self, n: int, part: StagePart) -> QColor:
        p = self.palette_tokens
        return QColor(p.disabled if part.name == "other" else p.plot[n % len(p.plot)])

    def _legend(self, painter: QPainter) -> None:
        """Name the parts from left to right, as many as fit into two lines."""
        p, metrics = self.palette_tokens, QFontMetrics(self.font())
        room = self.contentsRect()
        x, line = room.left(), 0
        order = sorted(range(len(self._parts)), key=lambda n: -self._parts[n].part)
        left_out = 0
        for n in order:
            part = self._parts[n]
            text = f"{part.name} {number_text(100 * part.part, 0)}{THIN_SPACE}%"
            width = metrics.horizontalAdvance(text) + 28
            if x + width > room.right() + 12 and line == 0:
                x, line = room.left(), 1
            if left_out or (x + width > room.right() - 48 and line == 1):
                left_out += 1
                continue
            top = 22 + 17 * line
            painter.fillRect(QRect(x, top + 4, 9, 9), self._color(n, part))
            painter.setPen(QColor(p.muted))
            painter.drawText(QRect(x + 14, top, width, 17), _LEFT, text)
            x += width
        if left_out:
            painter.setPen(QColor(p.muted))
            painter.drawText(QRect(x, 39, 60, 17), _LEFT, f"+{left_out} more")

    def event(self, event: QEvent) -> bool:
        """Say what a part is, under the pointer."""
        if isinstance(event, QHelpEvent):
            at = event.pos().toPointF()
            for rect, part in self._places:
                if rect.contains(at):
                    share = number_text(100 * part.part, 1)
                    text = f"{part.name}: {duration_text(part.seconds)} per step, {share} %"
                    QToolTip.showText(event.globalPos(), plain_text(text), self)
                    return True
            QToolTip.hideText()
            return True
        return super().event(event)


class StepHistogram(_Chart):
    """How often steps took how long, with p50 and p95."""

    def __init__(self, palette: Palette) -> None:
        super().__init__(palette, 72)
        self._times: StepTimes | None = None

    def show_times(self, times: StepTimes | None) -> None:
        """Show another distribution."""
        self._times = times
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the numbers, bars, lines and the scale below."""
        p, times = self.palette_tokens, self._times
        painter = QPainter(self)
        top, base = 20, self.height() - 18
        title = QRect(0, 0, self.width(), 16)
        painter.setPen(QColor(p.muted))
        painter.drawText(title, _LEFT, "time per step")
        painter.setPen(self.pen(p.line))
        painter.drawLine(0, base, self.width(), base)
        if times is None:
            painter.setPen(QColor(p.muted))
            room = QRect(0, top, self.width(), base - top)
            painter.drawText(room, Qt.AlignmentFlag.AlignCenter, NO_STEPS)
            painter.end()
            return
        painter.setPen(QColor(p.text))
        painter.drawText(title, _RIGHT, times.text)
        peak = int(times.bins.max())
        step = self.width() / len(times.bins)
        for n, count in enumerate(times.bins):
            if count:
                # Rare long steps matter: the height is logarithmic.
                height = (base - top) * math.log1p(int(count)) / math.log1p(peak)
                bar = QRectF(n * step, base - height, max(step - 1.0, 1.0), height)
                painter.fillRect(bar, QColor(p.accent))
        for value, color in ((times.p50, p.ok), (times.p95, p.warn)):
            x = min(value / times.top, 1.0) * self.width()
            painter.setPen(self.pen(color))
            painter.drawLine(QPointF(x, top - 2.0), QPointF(x, base))
        painter.setPen(QColor(p.muted))
        scale = QRect(0, base + 1, self.width(), 16)
        painter.drawText(scale, _LEFT, "0")
        painter.drawText(scale, _RIGHT, f"≥ {duration_text(times.top)}")
        painter.end()


class CountHistory(_Chart):
    """One count over the last physics steps, with its newest and largest value."""

    def __init__(self, palette: Palette, title: str, color: int) -> None:
        super().__init__(palette, 46)
        self._title = title
        self._color = color
        self._values: NDArray[np.float64] = np.empty(0)
        self.setToolTip(
            f"Number of {title} in the last 5000 steps, those since the panel was opened.\n"
            "Right: the newest and the largest."
        )

    def show_values(self, values: NDArray[np.float64]) -> None:
        """Show other values, oldest first, (n,)."""
        self._values = values[np.isfinite(values)]
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the title, the newest value, and the curve."""
        p = self.palette_tokens
        painter = QPainter(self)
        values = self._values
        top, base = 18, self.height() - 3
        painter.setPen(QColor(p.muted))
        painter.drawText(QRect(0, 0, self.width(), 16), _LEFT, self._title)
        painter.setPen(self.pen(p.line))
        painter.drawLine(0, base + 1, self.width(), base + 1)
        if values.size:
            peak = float(values.max())
            painter.setPen(QColor(p.text))
            newest, largest = self.numbers()
            painter.drawText(QRect(0, 0, self.width(), 16), _RIGHT, newest)
            if largest:
                painter.setPen(QColor(p.muted))
                painter.drawText(QRect(0, 16, self.width(), 16), _RIGHT, largest)
                top += 16
            painter.setPen(self.pen(p.plot[self._color]))
            painter.drawPolyline(self._curve(values, peak, top=top, base=base))
        painter.end()

    def numbers(self) -> tuple[str, str]:
        """Return the newest value and the largest, in one line or, where that is narrow, two."""
        if not self._values.size:
            return "", ""
        newest = number_text(float(self._values[-1]), 0)
        largest = number_text(float(self._values.max()), 0)
        metrics = QFontMetrics(self.font())
        room = self.width() - metrics.horizontalAdvance(f"{self._title}  ")
        both = f"now {newest} · max {largest}"
        for text in (both, f"{newest} · max {largest}") if self.height() < _TWO_LINES else (both,):
            if metrics.horizontalAdvance(text) <= room:
                return text, ""
        word = f"now {newest}"
        second = f"max {largest}" if self.height() >= _TWO_LINES else ""
        return (word if metrics.horizontalAdvance(word) <= room else newest), second

    def _curve(self, values: NDArray[np.float64], peak: float, *, top: int, base: int) -> QPolygonF:
        """Return the curve, the largest value of each pixel column."""
        columns = max(self.width(), 2)
        if values.size > columns:
            edges = np.linspace(0, values.size, columns, endpoint=False).astype(np.int64)
            values = np.maximum.reduceat(values, edges)
        x = np.linspace(0.0, self.width() - 1.0, values.size)
        y = base - (base - top) * values / (_HEADROOM * peak or 1.0)
        polygon: QPolygonF = arrayToQPolygonF(x, y)
        return polygon
