"""The picture of the welcome page: one swing of a double pendulum, as a stroboscope sees it."""

import math

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from stroboscope.resources.themes import Palette

__all__ = ["StrobeArt", "swing"]

_FLASHES = 13
_LENGTH = 1.0  # of either rod, in units of the picture's scale
# Angles [rad] and their rates [rad/s] at the first flash: a swing that folds and opens again.
_START = (-1.25, -0.95, 0.0, 0.0)
_FLASH_S = 0.09
_SUBSTEPS = 40


def swing() -> list[tuple[float, float]]:
    """Return the angles [rad] from the vertical of both rods at each flash.

    Two equal point masses on massless rods of 1 m, symplectic Euler: enough for a picture.
    """
    a, b, u, v = _START
    angles = [(a, b)]
    h = _FLASH_S / _SUBSTEPS
    for _ in range(_FLASHES - 1):
        for _ in range(_SUBSTEPS):
            du, dv = _accelerations(a, b, u, v)
            u, v = u + h * du, v + h * dv
            a, b = a + h * u, b + h * v
        angles.append((a, b))
    return angles


def _accelerations(a: float, b: float, u: float, v: float) -> tuple[float, float]:
    """Return the angular accelerations [rad/s²]; the textbook equations for equal masses."""
    g, d = 9.81, a - b
    below = _LENGTH * (3.0 - math.cos(2.0 * d))
    first = (
        -3.0 * g * math.sin(a)
        - g * math.sin(a - 2.0 * b)
        - 2.0 * math.sin(d) * _LENGTH * (v * v + u * u * math.cos(d))
    )
    second = (
        2.0
        * math.sin(d)
        * (2.0 * u * u * _LENGTH + 2.0 * g * math.cos(a) + v * v * _LENGTH * math.cos(d))
    )
    return first / below, second / below


class StrobeArt(QWidget):
    """Draws the flashes, the oldest faintest, in the palette's colours."""

    def __init__(self, palette: Palette, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._palette = palette
        self._angles = swing()
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._palette = palette
        self.update()

    def sizeHint(self) -> QSize:
        """As high as the title block."""
        return QSize(360, 168)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint every flash over the one before; called by Qt."""
        del event
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        scale = self.height() * 0.44
        pivot = QPointF(self.width() * 0.5, 10.0)
        p = self._palette
        for number, (a, b) in enumerate(self._angles):
            newest = number == len(self._angles) - 1
            strength = 1.0 if newest else 0.08 + 0.5 * (number / len(self._angles)) ** 1.5
            elbow = pivot + QPointF(scale * math.sin(a), scale * math.cos(a))
            bob = elbow + QPointF(scale * math.sin(b), scale * math.cos(b))
            self._rod(painter, pivot, elbow, p.accent, strength)
            self._rod(painter, elbow, bob, p.run_b, strength)
            self._ball(painter, elbow, 3.5, p.accent, strength)
            self._ball(painter, bob, 6.5, p.run_b, strength)
        self._rail(painter, pivot)
        painter.end()

    def _rail(self, painter: QPainter, pivot: QPointF) -> None:
        painter.setPen(QPen(QColor(self._palette.line), 2.0))
        painter.drawLine(QPointF(0.0, 10.0), QPointF(self.width(), 10.0))
        self._ball(painter, pivot, 4.5, self._palette.muted, 1.0)

    def _rod(
        self, painter: QPainter, start: QPointF, end: QPointF, color: str, strength: float
    ) -> None:
        shade = QColor(color)
        shade.setAlphaF(strength)
        painter.setPen(QPen(shade, 3.0, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
        painter.drawLine(start, end)

    def _ball(
        self, painter: QPainter, at: QPointF, radius: float, color: str, strength: float
    ) -> None:
        shade = QColor(color)
        shade.setAlphaF(strength)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(shade)
        painter.drawEllipse(at, radius, radius)
