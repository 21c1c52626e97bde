"""One plot: lines, grid, cursor, marks. Draws only what it is told, when it is told."""

import math
from collections.abc import Iterable, Mapping

import numpy as np
import pyqtgraph as pg
from pyqtgraph.GraphicsScene.mouseEvents import MouseClickEvent, MouseDragEvent
from PySide6.QtCore import QEvent, QPointF, Qt, Signal
from PySide6.QtGui import QColor, QWheelEvent
from PySide6.QtWidgets import QGraphicsSceneWheelEvent, QToolButton, QWidget

from stroboscope.app.models.numbers import magnitude_text
from stroboscope.app.models.plot_store import PlotSeriesId
from stroboscope.app.models.polyline import Polyline
from stroboscope.app.models.value_range import ordinary_extremes
from stroboscope.app.plots.axes import TimeAxis, ValueAxis, nice_range
from stroboscope.app.plots.curves import Curves
from stroboscope.app.plots.outside_marks import OutsideMarks
from stroboscope.app.plots.plot_style import line_pen
from stroboscope.app.plots.time_marks import TimeMarks
from stroboscope.resources.themes import Palette

__all__ = ["PlotView"]

_ZOOM_PER_NOTCH = 1.25
# The range shrinks only when the lines fill less than this part of it.
_SHRINK_BELOW = 0.45

_LEFT_OUT = (
    "A few values, as far as {}, are out of all proportion: the range leaves them out, or all else"
    " would be a flat line.\nClick, or double-click the plot, to see them; once more: without."
)


def _all_extremes(line: Polyline) -> tuple[float, float] | None:
    return line.extremes


class _TimeViewBox(pg.ViewBox):  # type: ignore[misc]  # pyqtgraph has no types
    """Mouse: drag pans, wheel zooms time, over the value axis values; double click fits."""

    time_panned = Signal(float)  # by seconds
    time_zoomed = Signal(float, float)  # factor, about this session time
    values_changed_by_hand = Signal()
    fit_requested = Signal()
    time_clicked = Signal(float)  # session time

    def __init__(self) -> None:
        super().__init__(enableMenu=False, defaultPadding=0.0)
        self.disableAutoRange()
        self.pans_values = False

    def wheelEvent(self, event: QGraphicsSceneWheelEvent, axis: int | None = None) -> None:
        """Zoom time about the pointer; over the value axis, or with Ctrl, zoom values."""
        factor = _ZOOM_PER_NOTCH ** (-event.delta() / 120.0)
        ctrl = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        if axis == 1 or ctrl:
            low, high = self.viewRange()[1]
            middle = self.mapSceneToView(event.scenePos()).y()
            self.setYRange(
                middle - (middle - low) * factor, middle + (high - middle) * factor, padding=0.0
            )
            self.values_changed_by_hand.emit()
        else:
            self.time_zoomed.emit(factor, self.mapSceneToView(event.scenePos()).x())
        event.accept()

    def mouseDragEvent(self, event: MouseDragEvent, axis: int | None = None) -> None:
        """Pan time, and values when they are not automatic."""
        event.accept()
        now = self.mapSceneToView(event.scenePos())
        before = self.mapSceneToView(event.lastScenePos())
        delta = before - now
        if axis != 1:
            self.time_panned.emit(delta.x())
        if axis == 1 or (axis is None and self.pans_values):
            low, high = self.viewRange()[1]
            self.setYRange(low + delta.y(), high + delta.y(), padding=0.0)
            self.values_changed_by_hand.emit()

    def mouseClickEvent(self, event: MouseClickEvent) -> None:
        """Fit on double click; a single one chooses an instant."""
        if event.button() == Qt.MouseButton.LeftButton:
            event.accept()
            if event.double():
                self.fit_requested.emit()
            else:
                self.time_clicked.emit(self.mapSceneToView(event.scenePos()).x())


class PlotView(pg.PlotWidget):  # type: ignore[misc]  # pyqtgraph has no types
    """One plot of series of one unit over session time [s]."""

    time_panned = Signal(float)
    time_zoomed = Signal(float, float)
    fit_requested = Signal()
    time_clicked = Signal(float)
    cursor_moved = Signal(object)  # session time [s], or None when the pointer left
    automatic_values_changed = Signal(bool)

    def __init__(self, palette: Palette, parent: QWidget | None = None) -> None:
        self._box = _TimeViewBox()
        self.value_axis = ValueAxis()
        self.time_axis = TimeAxis()
        super().__init__(
            parent,
            viewBox=self._box,
            axisItems={"left": self.value_axis, "bottom": self.time_axis},
            enableMenu=False,
        )
        self.setAntialiasing(False)
        self.setFrameShape(pg.PlotWidget.Shape.NoFrame)
        # PyQtGraph makes it in any case, reads its boxes, and lets it belong to nobody.
        options = self.getPlotItem().ctrlMenu
        options.setParent(self, options.windowFlags())
        # Nor is its own dialog for exports wanted; it fails for want of a menu that led to it.
        for action in self.scene().contextMenu:
            action.deleteLater()
        self.scene().contextMenu = []
        self.hideButtons()
        self.showGrid(x=True, y=True, alpha=1.0)
        for axis in (self.value_axis, self.time_axis):
            axis.send_behind_lines()
        self.getPlotItem().layout.setContentsMargins(0, 4, 8, 0)
        self._automatic = True
        self._range = (-1.0, 1.0)
        self._curves = Curves()
        self.addItem(self._curves, ignoreBounds=True)
        self._dashed = Curves(Qt.PenStyle.DashLine)
        self.addItem(self._dashed, ignoreBounds=True)
        self.restores = TimeMarks(line_pen(palette.muted), z=4)
        self.events = TimeMarks(line_pen(palette.muted), z=3)
        self.stops = TimeMarks(line_pen(palette.stop), z=6)
        self.now_line = TimeMarks(line_pen(palette.accent), z=5)
        self.view_line = TimeMarks(line_pen(palette.warn), z=9)
        self.cursor_line = TimeMarks(line_pen(palette.text), z=10)
        self._shows_all = False
        self._drawn: tuple[tuple[Polyline, str], ...] = ()
        self._outside = OutsideMarks()
        self.addItem(self._outside, ignoreBounds=True)
        self.outside = QToolButton(self)
        """Says what lies beyond the range; a click shows it."""
        self.outside.setProperty("hint", "true")
        self.outside.setProperty("compact", "true")
        self.outside.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.outside.setCursor(Qt.CursorShape.ArrowCursor)
        self.outside.clicked.connect(self.show_all_values)
        self.outside.hide()
        lines = (self.restores, self.events, self.stops, self.now_line, self.view_line)
        for marks in (*lines, self.cursor_line):
            self.addItem(marks, ignoreBounds=True)
        self._box.time_panned.connect(self.time_panned)
        self._box.time_zoomed.connect(self.time_zoomed)
        self._box.fit_requested.connect(self.fit_requested)
        self._box.time_clicked.connect(self.time_clicked)
        self._box.values_changed_by_hand.connect(self._on_values_changed_by_hand)
        self._box.sigResized.connect(self._place_outside)
        self.scene().sigMouseMoved.connect(self._on_mouse_moved)
        self.set_theme(palette)
        self._box.setYRange(*self._range, padding=0.0)

    # --- what is shown

    @property
    def automatic_values(self) -> bool:
        """Whether the value range follows the lines."""
        return self._automatic

    def set_automatic_values(self, automatic: bool) -> None:
        """Let the value range follow the lines, or leave it to the user."""
        self._box.pans_values = not automatic
        if not automatic:
            self._shows_all = False
            self._say_outside(())
        if automatic:
            self._range = (math.inf, -math.inf)  # whatever is shown, fit it
        if automatic != self._automatic:
            self._automatic = automatic
            self.automatic_values_changed.emit(automatic)

    @property
    def leaves_out(self) -> bool:
        """Whether the range follows the lines but leaves out a blow-up."""
        return not self.outside.isHidden()

    def show_all_values(self) -> None:
        """Fit the range to every value; where it did, leave a blow-up out again."""
        self._shows_all = self.leaves_out
        self.set_automatic_values(True)
        self._fit_values()

    @property
    def time_range(self) -> tuple[float, float]:
        """Session time [s] at the left and right edge."""
        left, right = self._box.viewRange()[0]
        return float(left), float(right)

    @property
    def value_range(self) -> tuple[float, float]:
        """Value at the lower and upper edge."""
        low, high = self._box.viewRange()[1]
        return float(low), float(high)

    @property
    def columns(self) -> int:
        """Pixel columns of the drawing area."""
        return max(int(self._box.width() * self.devicePixelRatioF()), 16)

    def time_labels(self) -> list[tuple[float, str]]:
        """Return the labels of the time grid: x in this widget [px], and text."""
        start, end = self.time_range
        levels = self.time_axis.tickValues(start, end, self._box.width())
        if not levels or end <= start:
            return []
        spacing, values = levels[0]
        texts = self.time_axis.tickStrings(values, 1.0, spacing)
        left = self._box.mapRectToScene(self._box.rect()).left()
        scale = self._box.width() / (end - start)
        return [(left + (v - start) * scale, t) for v, t in zip(values, texts, strict=True)]

    def set_time_range(self, start: float, end: float) -> None:
        """Show session time [start, end] in seconds."""
        if self.time_range != (start, end):
            self._box.setXRange(start, end, padding=0.0)

    def set_lines(
        self,
        lines: Mapping[PlotSeriesId, Polyline],
        colours: Mapping[PlotSeriesId, str],
        *,
        dashed: Mapping[PlotSeriesId, Polyline] | None = None,
    ) -> None:
        """Draw these lines and no others, in these colours (``#rrggbb``), ``dashed`` ones too."""
        dashed = dashed or {}
        self._curves.set_lines(lines, colours)
        self._dashed.set_lines(dashed, colours)
        self._drawn = tuple(
            (line, colours[key]) for each in (lines, dashed) for key, line in each.items()
        )
        if self._automatic:
            self._fit_values()

    def value_at(self, position: QPointF) -> float:
        """Return the value at the height of a widget position."""
        return float(self._box.mapSceneToView(self.mapToScene(position.toPoint())).y())

    def dashed_keys(self) -> tuple[PlotSeriesId, ...]:
        """Return whose lines are dashed."""
        return self._dashed.keys

    def settle(self) -> None:
        """Bring pyqtgraph's matrices up to date: doing so while painting makes it paint twice."""
        self.scene().prepareForPaint()

    def line_data(self, series: PlotSeriesId) -> tuple[np.ndarray, np.ndarray]:
        """Return the points that are drawn of a series, for tests and pictures."""
        line = self._curves.line(series)
        return (np.empty(0), np.empty(0)) if line is None else (line.x, line.y)

    def series_near(self, position: QPointF, *, reach_px: float = 6.0) -> PlotSeriesId | None:
        """Return the series drawn within a few pixels of a widget position, the nearest."""
        point = self._box.mapSceneToView(self.mapToScene(position.toPoint()))
        dx, dy = self._box.viewPixelSize()
        best: PlotSeriesId | None = None
        best_distance = reach_px
        for series in self._curves.keys:
            x, y = self.line_data(series)
            if not len(x):
                continue
            distance = float(np.min(np.hypot((x - point.x()) / dx, (y - point.y()) / dy)))
            if distance < best_distance:
                best, best_distance = series, distance
        return best

    def set_theme(self, palette: Palette) -> None:
        """Take the colours of a palette; lines follow with the next ``set_lines``."""
        self.setBackground(QColor(palette.surface0))
        self.value_axis.set_theme(palette)
        self.time_axis.set_theme(palette)
        self.restores.set_pen(line_pen(palette.muted, style=Qt.PenStyle.DashLine))
        self.events.set_pen(line_pen(palette.muted, style=Qt.PenStyle.DotLine))
        self.stops.set_pen(line_pen(palette.stop))
        self.now_line.set_pen(line_pen(palette.accent))
        self.view_line.set_pen(line_pen(palette.warn))
        self.cursor_line.set_pen(line_pen(palette.text, alpha=0.7))

    # --- inside

    def _fit_values(self) -> None:
        lines = [line for line, _ in self._drawn]
        find = _all_extremes if self._shows_all else ordinary_extremes
        found = [each for line in lines if (each := find(line)) is not None]
        if not found:
            self._say_outside(())
            return
        low, high = min(each[0] for each in found), max(each[1] for each in found)
        shown_low, shown_high = self._range
        outside = low < shown_low or high > shown_high
        if outside or (high - low) < _SHRINK_BELOW * (shown_high - shown_low):
            self._set_range(low, high)
        self._say_outside(lines)

    def _set_range(self, low: float, high: float) -> None:
        self._range = nice_range(low, high)
        if all(map(math.isfinite, self._range)):
            self.value_axis.follow_range(*self._range)
            self._box.setYRange(*self._range, padding=0.0)

    def _say_outside(self, lines: Iterable[Polyline]) -> None:
        """Mark what lies beyond the range; nothing of no lines."""
        low, high = self._range
        found = [each for line in lines if (each := line.extremes) is not None]
        least = min((each[0] for each in found), default=math.inf)
        most = max((each[1] for each in found), default=-math.inf)
        parts = [f"▲ {magnitude_text(most)}"] if most > high else []
        parts += [f"▼ {magnitude_text(least)}"] if least < low else []
        self._outside.set_lines(self._drawn if parts else (), (low, high))
        if parts:
            self.outside.setText("  ".join(parts))
            self.outside.setToolTip(_LEFT_OUT.format(" and ".join(parts)))
            self._place_outside()
        self.outside.setVisible(bool(parts))

    def _place_outside(self, _box: object = None) -> None:
        self.outside.adjustSize()
        self.outside.move(self.width() - self.outside.width() - 12, 8)

    def _on_values_changed_by_hand(self) -> None:
        self.value_axis.follow_range(*self.value_range)
        self.set_automatic_values(False)

    def _on_mouse_moved(self, position: QPointF) -> None:
        if self._box.sceneBoundingRect().contains(position):
            self.cursor_moved.emit(self._box.mapSceneToView(position).x())
        else:
            self.cursor_moved.emit(None)

    def leaveEvent(self, event: QEvent) -> None:
        """The pointer left: no cursor."""
        super().leaveEvent(event)
        self.cursor_moved.emit(None)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom; never scroll the panel behind."""
        super().wheelEvent(event)
        event.accept()
