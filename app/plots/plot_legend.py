"""The legend beside a plot: colour, name, value and unit of each series; remove on hover."""

import dataclasses
from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QHelpEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QScrollArea, QSizePolicy, QToolTip, QWidget

from stroboscope.app.models.numbers import THIN_SPACE
from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.models.plot_store import PlotSeriesId
from stroboscope.app.models.telling import elided_apart
from stroboscope.app.plots.plot_style import PlotIcon, plot_icon, small_number_font
from stroboscope.resources.themes import Palette

__all__ = ["LEGEND_WIDTH", "WIDE_LEGEND", "LegendRow", "PlotLegend"]

LEGEND_WIDTH = 248
# While each row names script and scene too.
WIDE_LEGEND = 400
_ROW_HEIGHT = 20
_SWATCH = 8
_MARGIN = 8
_WIDEST_UNIT = 72
_REMOVE_WIDTH = 20
# The least room of a value; a longer one takes more, and the next shorter one leaves it that.
_VALUE_DIGITS = "−0.000"


@dataclasses.dataclass(frozen=True, slots=True)
class LegendRow:
    """One line of the legend.

    ``held``: the value belongs to an earlier instant than the others; ``problem``: it is not a
    finite number, or rows are missing.
    """

    series: PlotSeriesId
    name: str
    colour: str
    value: str = ""
    unit: str = ""
    tooltip: str = ""
    held: bool = False
    problem: bool = False
    dashed: bool = False


class _Rows(QWidget):
    """The painted rows: one widget however many series there are."""

    removed = Signal(object)

    def __init__(self, palette: Palette) -> None:
        super().__init__()
        self._palette = palette
        self._rows: tuple[LegendRow, ...] = ()
        self._hovered = -1
        self._value_width = self._unit_width = 0
        self.setMouseTracking(True)
        self.setFont(small_number_font())
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def rows(self) -> tuple[LegendRow, ...]:
        return self._rows

    def set_rows(self, rows: Sequence[LegendRow]) -> None:
        if tuple(rows) != self._rows:
            if len(rows) != len(self._rows):
                self._hovered = -1
                self.setFixedHeight(_ROW_HEIGHT * len(rows) + 8)
            if [row.series for row in rows] != [row.series for row in self._rows]:
                self._value_width = self.fontMetrics().horizontalAdvance(_VALUE_DIGITS)
            self._rows = tuple(rows)
            advance = self.fontMetrics().horizontalAdvance
            self._value_width = max((self._value_width, *(advance(r.value) for r in rows)))
            units = {row.unit for row in rows if row.unit}
            widest = max((advance(THIN_SPACE + unit) for unit in units), default=0)
            self._unit_width = min(widest, _WIDEST_UNIT)
            self.setAccessibleName("; ".join(f"{r.name} {r.value} {r.unit}" for r in rows))
            self.update()

    def set_theme(self, palette: Palette) -> None:
        self._palette = palette
        self.update()

    def row_rect(self, index: int) -> QRect:
        return QRect(0, 4 + index * _ROW_HEIGHT, self.width(), _ROW_HEIGHT)

    def remove_rect(self, index: int) -> QRect:
        row = self.row_rect(index)
        return QRect(row.right() - _REMOVE_WIDTH - 2, row.top(), _REMOVE_WIDTH, _ROW_HEIGHT)

    def row_at(self, position: QPoint) -> int:
        index = (position.y() - 4) // _ROW_HEIGHT
        return index if 0 <= index < len(self._rows) else -1

    def boxes(self, index: int) -> tuple[QRect, QRect, QRect]:
        """Return where name, value and unit of a row stand: numbers below each other."""
        rect, unit_width = self.row_rect(index), self._unit_width
        left, right = _MARGIN + _SWATCH + 6, rect.right() + 1 - _MARGIN
        unit = QRect(right - unit_width, rect.top(), unit_width, rect.height())
        value = QRect(unit.left() - self._value_width, rect.top(), self._value_width, rect.height())
        name = QRect(left, rect.top(), value.left() - left - 6, rect.height())
        return name, value, unit

    def shown_names(self) -> list[str]:
        """Return the names of all rows as they are drawn, elided where they must be."""
        width, metrics = self.boxes(0)[0].width(), self.fontMetrics()
        return elided_apart(
            [row.name for row in self._rows],
            lambda name: metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, width),
            lambda name: metrics.elidedText(name, Qt.TextElideMode.ElideRight, width),
        )

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(event.rect(), QColor(self._palette.surface1))
        for index, (row, name) in enumerate(zip(self._rows, self.shown_names(), strict=True)):
            self._paint_row(painter, index, row, name)
        painter.end()

    def _paint_row(self, painter: QPainter, index: int, row: LegendRow, name: str) -> None:
        p, rect, metrics = self._palette, self.row_rect(index), self.fontMetrics()
        hovered = index == self._hovered
        if hovered:
            painter.fillRect(rect, QColor(p.surface2))
        middle = rect.center().y() + 1
        if row.dashed:
            for left in (_MARGIN, _MARGIN + _SWATCH - 3):
                painter.fillRect(left, middle - 1, 3, 2, QColor(row.colour))
        else:
            painter.fillRect(_MARGIN, middle - _SWATCH // 2, _SWATCH, _SWATCH, QColor(row.colour))
        flags = Qt.AlignmentFlag.AlignVCenter
        name_box, value_box, unit_box = self.boxes(index)
        if row.unit:
            painter.setPen(QColor(p.muted))
            right = Qt.TextElideMode.ElideRight
            unit = metrics.elidedText(row.unit, right, unit_box.width())
            painter.drawText(unit_box, flags | Qt.AlignmentFlag.AlignLeft, THIN_SPACE + unit)
        color = p.stop if row.problem else p.muted if row.held else p.text
        painter.setPen(QColor(color))
        painter.drawText(value_box, flags | Qt.AlignmentFlag.AlignRight, row.value)
        painter.setPen(QColor(p.text))
        painter.drawText(name_box, flags, name)
        if hovered:
            # Over the unit: room of its own would be taken from the names of all rows for ever.
            place = self.remove_rect(index)
            painter.fillRect(place, QColor(p.surface2))
            plot_icon(PlotIcon.REMOVE, p, color=p.muted).paint(
                painter, place.adjusted(3, 3, -3, -3)
            )

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        hovered = self.row_at(event.position().toPoint())
        if hovered != self._hovered:
            self._hovered = hovered
            self.update()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._hovered = -1
        self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        position = event.position().toPoint()
        index = self.row_at(position)
        if index >= 0 and self.remove_rect(index).contains(position):
            self.removed.emit(self._rows[index].series)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            index = self.row_at(event.pos())
            if index >= 0:
                over_remove = self.remove_rect(index).contains(event.pos())
                row = self._rows[index]
                text = f"Remove {row.name} from the plot" if over_remove else row.tooltip
                QToolTip.showText(event.globalPos(), plain_text(text), self)
            return True
        return super().event(event)


class PlotLegend(QScrollArea):
    """The legend of one plot; scrolls when there are more series than room."""

    removed = Signal(object)  # PlotSeriesId

    def __init__(self, palette: Palette, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._content = _Rows(palette)
        self._content.removed.connect(self.removed)
        self.setWidget(self._content)
        self.setWidgetResizable(True)
        self.setFixedWidth(LEGEND_WIDTH)
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.set_theme(palette)

    @property
    def rows(self) -> tuple[LegendRow, ...]:
        """What is shown."""
        return self._content.rows

    def set_rows(self, rows: Sequence[LegendRow]) -> None:
        """Show these rows; nothing is painted when nothing has changed."""
        self._content.set_rows(rows)

    def shown_name(self, series: PlotSeriesId) -> str:
        """Return the name of a series as it is drawn, elided where it must be."""
        return self._content.shown_names()[[row.series for row in self.rows].index(series)]

    def remove_button_center(self, series: PlotSeriesId) -> QPoint:
        """Return where to click, in global coordinates, to remove a series."""
        index = [row.series for row in self.rows].index(series)
        return self._content.mapToGlobal(self._content.remove_rect(index).center())

    def set_theme(self, palette: Palette) -> None:
        """Take the colours of a palette."""
        self._content.set_theme(palette)
        self.viewport().setStyleSheet(f"background: {palette.surface1};")

    def minimumSizeHint(self) -> QSize:
        """At least one row."""
        return QSize(LEGEND_WIDTH, _ROW_HEIGHT + 8)
