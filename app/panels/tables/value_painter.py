"""Paints the cells of a table: numbers right-aligned in figures of equal width, units muted.

Cells are painted here and not by the style: a table that changes ten times a second would spend
most of its time asking for fonts, colours and states.
"""

import dataclasses

import numpy as np
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter
from PySide6.QtWidgets import QWidget

from stroboscope.app.models.ghosts import ghost_colour
from stroboscope.app.models.numbers import THIN_SPACE
from stroboscope.app.models.tables.table import (
    ABSENT,
    NORMAL,
    STOP,
    Cells,
    Column,
    ColumnKind,
    Table,
    cell_text,
)
from stroboscope.app.panels.icons import Icon, pixmap
from stroboscope.app.panels.names import elided_name
from stroboscope.app.panels.style import SELECTED_ALPHA, number_font
from stroboscope.resources.themes import Palette

__all__ = ["CELL_MARGIN", "RowState", "ValuePainter"]

CELL_MARGIN = 6
_INDENT = 14
_BETWEEN = " – "
_MARK = 12
# As plain numbers: drawText takes them without asking Python's enums.
_RIGHT = (Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter).value
_LEFT = (Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter).value


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RowState:
    """How a row looks: ``row`` in the table, -1 for "+N more"."""

    row: int
    selected: bool = False
    hovered: bool = False


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Cell:
    """What is painted in one place."""

    column: Column
    cells: Cells | None
    row: int
    text: str
    level: int
    bold: bool
    first: bool


# Where a title says that the rows are sorted by it [px].
_SORT_MARK = 16
# A text of so many blanks is no name, nor a pair of them, but a sentence.
_WORDS = 3


class ValuePainter:
    """Knows fonts and colours; measures how wide a column must be."""

    def __init__(self, widget: QWidget, palette: Palette) -> None:
        self._widget = widget
        self._in_selected = False
        self._font = number_font()
        self._bold = QFont(self._font)
        self._bold.setWeight(QFont.Weight.DemiBold)
        self._metrics = QFontMetrics(self._font)
        self._bold_metrics = QFontMetrics(self._bold)
        # Widest unit of a column's rows, and largest magnitude behind its bars, per table.
        self._measured: Table | None = None
        self._unit_widths: dict[str, int] = {}
        self._peaks: dict[str, float] = {}
        self._signed: set[str] = set()
        self.set_theme(palette)

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._palette = palette
        self.line = QColor(palette.line)
        self._panel = QColor(palette.surface1)
        self._text = QColor(palette.text)
        self._muted = QColor(palette.muted)
        self._accent = QColor(palette.accent)
        self._selected = QColor(palette.accent)
        self._selected.setAlphaF(SELECTED_ALPHA)
        self._hover = QColor(palette.surface2)
        self._head = QColor(palette.surface2)
        self._head.setAlphaF(0.6)
        self._bar = QColor(palette.accent)
        self._bar.setAlphaF(0.30)
        self._levels = (self._text, QColor(palette.warn), QColor(palette.stop))
        ratio = self._widget.devicePixelRatioF()
        self._marks = {
            1: pixmap(Icon.WARNING, _MARK, palette.warn, ratio=ratio),
            2: pixmap(Icon.ERROR, _MARK, palette.stop, ratio=ratio),
        }

    # --- widths

    def width_of(self, column: Column) -> int:
        """Return a width [px] that fits every value of this kind, and the title."""
        header = self.width_of_title(column)
        sample = self._metrics.horizontalAdvance(column.sample)
        extra = _MARK + 4 if column.marked else 4
        return max(header, sample + 2 * CELL_MARGIN + extra)

    def width_of_title(self, column: Column) -> int:
        """Return the width [px] that its title needs."""
        title = f"{column.title} [{column.unit}]" if column.unit else column.title
        return self._metrics.horizontalAdvance(title) + 2 * CELL_MARGIN + _SORT_MARK

    def width_of_texts(self, table: Table, column: Column | None = None) -> int:
        """Return the width [px] of the widest text in a column, without one in the first."""
        if column is not None and column is not table.columns[0]:
            own = table.cells.get(column.key)
            found = own.texts if own is not None and own.texts is not None else ()
            most = max(map(self._bold_metrics.horizontalAdvance, set(found)), default=0)
            return most + 2 * CELL_MARGIN + (_MARK if column.marked else 0) + 4
        cells = table.cells.get(table.columns[0].key)
        texts = cells.texts if cells is not None and cells.texts is not None else ()
        if table.parents is None:
            widest = max(map(self._metrics.horizontalAdvance, texts), default=0)
        else:
            widest = max(
                (
                    self._bold_metrics.horizontalAdvance(text)
                    if parent < 0
                    else self._metrics.horizontalAdvance(text) + _INDENT
                    for text, parent in zip(texts, table.parents, strict=True)
                ),
                default=0,
            )
        return widest + 2 * CELL_MARGIN + 2

    def width_of_numbers(self, table: Table, column: Column) -> int:
        """Return the width [px] of the widest number in a column."""
        texts = {cell_text(table, column, row) for row in range(table.count)}
        metrics = self._metrics if table.parents is None else self._bold_metrics
        widest = max(map(metrics.horizontalAdvance, texts), default=0)
        return widest + self._unit_widths.get(column.key, 0) + 2 * CELL_MARGIN + 4

    def measure(self, table: Table | None) -> None:
        """Find what the cells of a table share: room for units, scale of bars."""
        if table is None or table is self._measured:
            return
        self._measured = table
        self._signed.clear()
        for column in table.columns:
            cells = table.cells.get(column.key)
            if cells is None:
                continue
            if cells.units is not None:
                units = set(cells.units)
                self._unit_widths[column.key] = max(
                    (self._metrics.horizontalAdvance(THIN_SPACE + unit) for unit in units),
                    default=0,
                )
            if column.kind is ColumnKind.BAR and cells.numbers is not None:
                finite = np.abs(cells.numbers[np.isfinite(cells.numbers)])
                if (cells.numbers < 0.0).any():
                    self._signed.add(column.key)
                percent = 100.0 if column.unit == "%" else 0.0
                self._peaks[column.key] = max(float(finite.max(initial=0.0)), percent)

    # --- painting

    def paint_row(self, painter: QPainter, state: RowState, *, table: Table, rect: QRect) -> None:
        """Paint what lies behind the cells of a row, ``rect`` wide as all of them."""
        self._in_selected = state.selected
        head = state.row >= 0 and table.parents is not None and table.parents[state.row] < 0
        if state.selected:
            painter.fillRect(rect, self._selected)
        elif head:
            painter.fillRect(rect, self._head)
        elif state.hovered:
            painter.fillRect(rect, self._hover)
        # A bar: in a window Qt draws a level line pixel by pixel.
        painter.fillRect(rect.left(), rect.bottom(), rect.width(), 1, self.line)

    def paint_frozen(
        self, painter: QPainter, state: RowState, *, table: Table, rect: QRect
    ) -> None:
        """Paint the name of a row over whatever has been scrolled below it."""
        painter.fillRect(rect, self._panel)
        self.paint_row(painter, state, table=table, rect=rect)
        self.paint_cell(painter, table, column=table.columns[0], row=state.row, rect=rect)
        painter.setPen(self.line)
        painter.drawLine(rect.topRight(), rect.bottomRight())

    def paint_cell(
        self, painter: QPainter, table: Table, *, column: Column, row: int, rect: QRect
    ) -> None:
        """Paint one cell."""
        cells = table.cells.get(column.key)
        is_head = table.parents is not None and table.parents[row] < 0
        cell = _Cell(
            column=column,
            cells=cells,
            row=row,
            text=cell_text(table, column, row),
            level=cells.level(row) if cells is not None else NORMAL,
            bold=is_head,
            first=column is table.columns[0],
        )
        inner = rect.adjusted(CELL_MARGIN, 0, -CELL_MARGIN, -1)
        if column.kind is ColumnKind.TEXT:
            if cell.first and table.parents is not None and not is_head:
                inner.setLeft(inner.left() + _INDENT)
            self._paint_text(painter, cell, inner=inner)
        else:
            self._paint_number(painter, cell, rect=rect, inner=inner)

    def paint_more(self, painter: QPainter, more: int, *, rect: QRect) -> None:
        """Paint the row that stands for those that are not shown."""
        painter.setPen(self._accent)
        painter.setFont(self._font)
        place = rect.adjusted(CELL_MARGIN, 0, 0, -1)
        painter.drawText(place, _LEFT, f"+{more} more: click to show all")

    def _paint_text(self, painter: QPainter, cell: "_Cell", *, inner: QRect) -> None:
        text = cell.text
        if not text:
            return
        if cell.level != NORMAL and not cell.first:
            mark = self._marks[min(cell.level, STOP)]
            place = QPoint(inner.left(), inner.center().y() - _MARK // 2)
            painter.drawPixmap(place, mark)
            inner = inner.adjusted(_MARK + 4, 0, 0, 0)
        painter.setPen(self._text if cell.first else self._color(cell.level))
        cells, row = cell.cells, cell.row
        if cells is not None and cells.colours is not None and cells.colours[row] >= 0:
            painter.setPen(QColor(ghost_colour(self._palette, cells.colours[row])))
        painter.setFont(self._bold if cell.bold else self._font)
        metrics = self._bold_metrics if cell.bold else self._metrics
        if metrics.horizontalAdvance(text) > inner.width():
            text = cells.shorter[row] if cells is not None and cells.shorter else text
        if metrics.horizontalAdvance(text) > inner.width():
            text = _elided(text, metrics, inner.width())
        painter.drawText(inner, _LEFT, text)

    def _paint_number(self, painter: QPainter, cell: "_Cell", *, rect: QRect, inner: QRect) -> None:
        cells, column = cell.cells, cell.column
        width = self._unit_widths.get(column.key, 0)
        if cells is None or not cells.has(cell.row):
            if cell.bold:
                return  # the head of a group has no number of its own
            painter.setPen(self._muted)
            painter.setFont(self._font)
            painter.drawText(inner.adjusted(0, 0, -width, 0), _RIGHT, ABSENT)
            return
        if column.kind is ColumnKind.BAR and cells.numbers is not None:
            self._paint_bar(painter, cell, rect=rect)
        if cells.units is not None:
            unit = cells.units[cell.row]
            if unit:
                painter.setPen(self._muted)
                painter.setFont(self._font)
                place = QRect(inner.right() - width + 1, inner.top(), width, inner.height())
                painter.drawText(place, _LEFT, THIN_SPACE + unit)
            inner = inner.adjusted(0, 0, -width, 0)
        on_bar = column.kind is ColumnKind.BAR
        painter.setPen(self._text if on_bar else self._color(cell.level))
        painter.setFont(self._bold if cell.bold else self._font)
        painter.drawText(inner, _RIGHT, cell.text)

    def _color(self, level: int) -> QColor:
        """Return a level's colour, where it can be read: not on the colour of what is selected."""
        return self._text if self._in_selected else self._levels[level]

    def _paint_bar(self, painter: QPainter, cell: "_Cell", *, rect: QRect) -> None:
        numbers = cell.cells.numbers if cell.cells is not None else None
        peak = self._peaks.get(cell.column.key, 0.0)
        value = float(numbers[cell.row]) if numbers is not None else np.nan
        if not np.isfinite(value) or peak <= 0.0:
            return
        color = self._bar
        if cell.level != NORMAL:
            color = QColor(self._levels[cell.level])
            color.setAlphaF(0.30)
        room = rect.adjusted(2, 4, -2, -5)
        if cell.column.key in self._signed:
            # Both directions from the middle.
            half = room.width() // 2
            length = round(half * min(abs(value) / peak, 1.0))
            left = room.left() + half - (length if value < 0.0 else 0)
            self._fill(painter, QRect(left, room.top(), length, room.height()), color)
            return
        length = round(room.width() * min(abs(value) / peak, 1.0))
        self._fill(painter, QRect(room.left(), room.top(), length, room.height()), color)

    @staticmethod
    def _fill(painter: QPainter, rect: QRect, color: QColor) -> None:
        if rect.width() > 0:
            painter.fillRect(rect, color)


def _elided(text: str, metrics: QFontMetrics, width: int) -> str:
    """Return ``text`` shortened: a sentence after its beginning, of two names both."""
    if text.count(" ") >= _WORDS:
        return metrics.elidedText(text, Qt.TextElideMode.ElideRight, width)
    first, dash, second = text.partition(_BETWEEN)
    if not dash:
        return elided_name(text, metrics, width)
    room = width - metrics.horizontalAdvance(_BETWEEN)
    one, other = metrics.horizontalAdvance(first), metrics.horizontalAdvance(second)
    # A name that needs less than its half leaves the rest to the other.
    room_one = min(one, max(room // 2, room - other))
    first = elided_name(first, metrics, room_one)
    return f"{first}{_BETWEEN}{elided_name(second, metrics, room - room_one)}"
