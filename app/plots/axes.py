"""Axes whose labels keep still: fixed decimals, a scale that changes late, the unit in words."""

import math
from collections.abc import Sequence
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter

from stroboscope.app.models.numbers import MINUS, THIN_SPACE, power_text
from stroboscope.app.plots.plot_style import line_pen, small_number_font
from stroboscope.resources.themes import Palette

__all__ = ["TimeAxis", "ValueAxis", "decimals_for", "is_still", "nice_range"]

_VALUE_AXIS_WIDTH = 64
# Values between these are labelled as they are.
_PLAIN_FROM, _PLAIN_TO = 0.02, 5000.0
# Values that differ by this part of them, eight units in the last place of a float32, or by this
# much: what is left of sums of ordinary numbers that should be 0.
_STILL, _NOTHING = 1e-6, 1e-12
# A range that is this small a part of its values is labelled from an offset on.
_NARROW = 1e-4
# pyqtgraph draws the grid, which belongs to the axes, over the lines and hides level ones.
_BEHIND_LINES = -1000.0


def decimals_for(spacing: float) -> int:
    """Return the decimals that tell ticks ``spacing`` apart from each other."""
    if not math.isfinite(spacing) or spacing <= 0.0:
        return 3
    return min(max(0, -math.floor(math.log10(spacing) + 1e-9)), 12)


def is_still(low: float, high: float) -> bool:
    """Return whether values from ``low`` to ``high`` differ by no more than rounding."""
    return high - low <= max(_STILL * max(abs(low), abs(high)), _NOTHING)


def nice_range(low: float, high: float) -> tuple[float, float]:
    """Return a range around [low, high] with round ends, so that it changes rarely.

    What only rounding moves is a still line in the middle.
    """
    span = high - low
    magnitude = max(abs(low), abs(high))
    if is_still(low, high):
        span = max(0.2 * magnitude, 1e-9) if magnitude >= _NOTHING else 2.0
        middle = 0.5 * (low + high)
        low, high = middle - 0.5 * span, middle + 0.5 * span
    step = _nice_step((high - low) / 4.0) / 2.0
    margin = 0.04 * (high - low)
    return math.floor((low - margin) / step) * step, math.ceil((high + margin) / step) * step


def _nice_step(step: float) -> float:
    power = 10.0 ** math.floor(math.log10(step))
    return next(power * nice for nice in (1.0, 2.0, 5.0, 10.0) if step <= power * nice * 1.001)


def _power_for(magnitude: float, present: int) -> int:
    """Return the power of ten to label values with, a multiple of 3; 0 for ordinary numbers.

    The present one stays while it is good enough, so that a value swinging around a limit does
    not make the labels jump.
    """
    if _PLAIN_FROM <= magnitude <= _PLAIN_TO:
        return 0
    if present == 0 and 0.25 * _PLAIN_FROM <= magnitude <= 4.0 * _PLAIN_TO:
        return 0
    if present != 0 and 0.25 <= magnitude / 10.0**present <= 4000.0:
        return present
    return 3 * math.floor(math.log10(magnitude) / 3.0)


def _short_power(magnitude: float, present: int) -> int:
    """Return the power of ten that leaves two digits: beside an offset there is no more room."""
    if present != 0 and 0.3 <= magnitude / 10.0**present < 30.0:
        return present
    return math.floor(math.log10(magnitude))


def _signed(text: str) -> str:
    return text.replace("-", MINUS)


class ValueAxis(pg.AxisItem):  # type: ignore[misc]  # pyqtgraph has no types
    """The value axis of one plot; large and small values share a power of ten in the label."""

    def __init__(self) -> None:
        super().__init__("left")
        self.enableAutoSIPrefix(False)
        self.setWidth(_VALUE_AXIS_WIDTH)
        self.setStyle(
            tickFont=small_number_font(), tickLength=0, tickTextOffset=6, autoExpandTextSpace=False
        )
        self._unit = ""
        self._power = 0
        self._offset = 0.0
        self._label_style = {"color": "#808080"}

    def send_behind_lines(self) -> None:
        """Draw the grid behind the lines; adding the axis to a plot brings it to the front."""
        self.setZValue(_BEHIND_LINES)

    def set_unit(self, unit: str) -> None:
        """Show the unit of the plot's series."""
        if unit != self._unit:
            self._unit = unit
            self._update_label()

    def set_theme(self, palette: Palette) -> None:
        """Take the colours of a palette."""
        self.setPen(line_pen(palette.line))
        self.setTextPen(line_pen(palette.muted))
        self._label_style = {"color": palette.muted, "font-size": "12px"}
        self._update_label()

    def resizeEvent(self, event: Any = None) -> None:
        """Keep the label inside: pyqtgraph moves it five pixels over the edge."""
        super().resizeEvent(event)
        if self.label is not None:
            self.label.setX(max(self.label.x(), 0.0))

    def follow_range(self, low: float, high: float) -> None:
        """Choose the power of ten for a range; it changes only when the numbers get unwieldy."""
        magnitude = max(abs(low), abs(high))
        if magnitude <= 0.0 or not math.isfinite(magnitude):
            return
        offset = self._offset_for(low, high)
        rest = max(abs(low - offset), abs(high - offset))
        power = _short_power(rest, self._power) if offset else _power_for(rest, self._power)
        if power == self._power and offset == self._offset:
            return
        self._power, self._offset = power, offset
        self._update_label()
        self.picture = None
        self.update()

    def drawPicture(self, p: QPainter, axisSpec: Any, tickSpecs: Any, textSpecs: Any) -> None:
        """Draw the grid as thin bars: in a window Qt draws a level line pixel by pixel, in 0.2 ms.

        The names of the parameters are pyqtgraph's.
        """
        p.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        for pen, start, end in tickSpecs:
            left, right = sorted((start.x(), end.x()))
            p.fillRect(QRectF(left, math.floor(start.y()), right - left, 1.0), pen.color())
        super().drawPicture(p, axisSpec, [], textSpecs)

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
        """Return the labels of ticks, all with the same decimals."""
        factor = 10.0**-self._power
        decimals = decimals_for(spacing * factor)
        return [
            _signed(f"{(value - self._offset) * factor + 0.0:.{decimals}f}") for value in values
        ]

    def tickValues(self, *args: Any) -> list[tuple[float, list[float]]]:
        """Return major ticks only: minor ones would be a second grid."""
        return list(super().tickValues(*args)[:1])

    def _offset_for(self, low: float, high: float) -> float:
        """Return what the labels of a narrow range leave out, 0 of an ordinary one.

        The present one stays while it is near, as the power of ten does.
        """
        span, magnitude = high - low, max(abs(low), abs(high))
        if not 0.0 < span < (4.0 if self._offset else 1.0) * _NARROW * magnitude:
            return 0.0
        if self._offset and max(abs(low - self._offset), abs(high - self._offset)) < 20.0 * span:
            return self._offset
        step = 10.0 ** math.ceil(math.log10(span))
        return round(math.floor(low / step) * step, decimals_for(step))

    def _update_label(self) -> None:
        # A line of its own: together they would be longer than a plot is high.
        offset = f"{_signed(f'{self._offset:.12g}')} +<br>" if self._offset else ""
        parts = [
            f"×{power_text(self._power)}" if self._power else "",
            self._unit,
        ]
        text = THIN_SPACE.join(part for part in parts if part)
        self.setLabel(offset + text or None, **self._label_style)
        self.setWidth(_VALUE_AXIS_WIDTH)
        self.resizeEvent()  # centres the label again; pyqtgraph forgets to


class TimeAxis(pg.AxisItem):  # type: ignore[misc]  # pyqtgraph has no types
    """The shared time axis [s]: the grid. Its labels stand in the strip below all plots."""

    def __init__(self) -> None:
        super().__init__("bottom")
        self.enableAutoSIPrefix(False)
        self.setStyle(tickFont=small_number_font(), tickLength=0, showValues=False)
        self.setHeight(1)

    def send_behind_lines(self) -> None:
        """Draw the grid behind the lines; adding the axis to a plot brings it to the front."""
        self.setZValue(_BEHIND_LINES)

    def set_theme(self, palette: Palette) -> None:
        """Take the colours of a palette."""
        self.setPen(line_pen(palette.line))
        self.setTextPen(line_pen(palette.muted))

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
        """Return the labels of ticks, in seconds."""
        decimals = decimals_for(spacing)
        return [_signed(f"{value + 0.0:.{decimals}f}{THIN_SPACE}s") for value in values]

    def tickValues(self, *args: Any) -> list[tuple[float, list[float]]]:
        """Return major ticks only: minor ones would be a second grid."""
        return list(super().tickValues(*args)[:1])
