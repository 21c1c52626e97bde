"""Paints the cells of a table: numbers right-aligned in figures of equal width, units muted.

Cells are painted here and not by the style: a table that changes ten times a second would spend
more time asking for fonts and colours than showing numbers.
"""

import dataclasses

import numpy as np
from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QTableView

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
from stroboscope.app.panels.style import METRICS, number_font, ui_font
from stroboscope.app.panels.tables.value_model import ValueModel
from stroboscope.resources.themes import Palette

__all__ = ["CELL_MARGIN", "ValueDelegate"]

CELL_MARGIN = 6
_INDENT = 14
_MARK = 12
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


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


class ValueDelegate(QStyledItemDelegate):
    """Knows fonts and colours; measures how wide a column must be."""

    def __init__(self, view: QTableView, model: ValueModel, palette: Palette) -> None:
        super().__init__(view)
        self._view = view
        self._model = model
        self._font = ui_font()
        self._figures = number_font()
        self._bold = QFont(self._font)
        self._bold.setWeight(QFont.Weight.DemiBold)
        self._bold_figures = QFont(self._figures)
        self._bold_figures.setWeight(QFont.Weight.DemiBold)
        self._metrics = QFontMetrics(self._figures)
        self._text_metrics = QFontMetrics(self._font)
        self._bold_metrics = QFontMetrics(self._bold)
        # Widest unit of a column's rows, and largest magnitude behind its bars, per table.
        self._measured: Table | None = None
        self._unit_widths: dict[str, int] = {}
        self._peaks: dict[str, float] = {}
        self.set_theme(palette)

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self.line = QColor(palette.line)
        self._text = QColor(palette.text)
        self._muted = QColor(palette.muted)
        self._accent = QColor(palette.accent)
        self._selected = QColor(palette.accent)
        self._selected.setAlphaF(0.22)
        self._hover = QColor(palette.surface2)
        self._head = QColor(palette.surface2)
        self._head.setAlphaF(0.6)
        self._bar = QColor(palette.accent)
        self._bar.setAlphaF(0.30)
        self._levels = (self._text, QColor(palette.warn), QColor(palette.stop))
        ratio = self._view.devicePixelRatioF()
        self._marks = {
            1: pixmap(Icon.WARNING, _MARK, palette.warn, ratio=ratio),
            2: pixmap(Icon.ERROR, _MARK, palette.stop, ratio=ratio),
        }

    # --- widths

    def width_of(self, column: Column) -> int:
        """Return a width [px] that fits every value of this kind, and the title."""
        title = f"{column.title} [{column.unit}]" if column.unit else column.title
        header = self._bold_metrics.horizontalAdvance(title) + 2 * CELL_MARGIN + 14
        sample = self._metrics.horizontalAdvance(column.sample)
        extra = _MARK + 4 if column.kind is ColumnKind.TEXT else 2
        return max(header, sample + 2 * CELL_MARGIN + extra)

    def measure(self, table: Table | None) -> None:
        """Find what the cells of a table share: room for units, scale of bars."""
        if table is None or table is self._measured:
            return
        self._measured = table
        for column in table.columns:
            cells = table.cells.get(column.key)
            if cells is None:
                continue
            if cells.units is not None:
                units = set(cells.units)
                self._unit_widths[column.key] = max(
                    (self._text_metrics.horizontalAdvance(THIN_SPACE + unit) for unit in units),
                    default=0,
                )
            if column.kind is ColumnKind.BAR and cells.numbers is not None:
                finite = np.abs(cells.numbers[np.isfinite(cells.numbers)])
                percent = 100.0 if column.unit == "%" else 0.0
                self._peaks[column.key] = max(float(finite.max(initial=0.0)), percent)

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        """Return the width that fits the column's content type."""
        columns = self._model.columns
        width = self.width_of(columns[index.column()]) if index.column() < len(columns) else 40
        return QSize(width, METRICS.compact_height)

    # --- painting

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        """Paint one cell."""
        table, row = self._model.table, self._model.source_row(index)
        rect = option.rect
        if table is None:
            return
        is_head = row >= 0 and table.parents is not None and table.parents[row] < 0
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, self._selected)
        elif is_head:
            painter.fillRect(rect, self._head)
        elif option.state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(rect, self._hover)
        painter.setPen(QPen(self.line, 1))
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        inner = rect.adjusted(CELL_MARGIN, 0, -CELL_MARGIN, -1)
        if row < 0:
            self._paint_more(painter, inner, index)
            return
        column = self._model.columns[index.column()]
        cells = table.cells.get(column.key)
        cell = _Cell(
            column=column,
            cells=cells,
            row=row,
            text=cell_text(table, column, row),
            level=cells.level(row) if cells is not None else NORMAL,
            bold=is_head,
            first=index.column() == 0,
        )
        if column.kind is ColumnKind.TEXT:
            if cell.first and table.parents is not None and not is_head:
                inner.setLeft(inner.left() + _INDENT)
            self._paint_text(painter, cell, inner=inner)
        else:
            self._paint_number(painter, cell, rect=rect, inner=inner)

    def _paint_more(
        self, painter: QPainter, inner: QRect, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        if index.column() == 0:
            painter.setPen(self._accent)
            painter.setFont(self._font)
            painter.drawText(inner, _LEFT, f"+{self._model.more} more, click to show all")

    def _paint_text(self, painter: QPainter, cell: "_Cell", *, inner: QRect) -> None:
        text = cell.text
        if not text:
            return
        if cell.level != NORMAL and not cell.first:
            mark = self._marks[min(cell.level, STOP)]
            place = QPoint(inner.left(), inner.center().y() - _MARK // 2)
            painter.drawPixmap(place, mark)
            inner = inner.adjusted(_MARK + 4, 0, 0, 0)
        painter.setPen(self._text if cell.first else self._levels[cell.level])
        painter.setFont(self._bold if cell.bold else self._font)
        metrics = self._bold_metrics if cell.bold else self._text_metrics
        if metrics.horizontalAdvance(text) > inner.width():
            text = metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, inner.width())
        painter.drawText(inner, _LEFT, text)

    def _paint_number(self, painter: QPainter, cell: "_Cell", *, rect: QRect, inner: QRect) -> None:
        cells, column = cell.cells, cell.column
        width = self._unit_widths.get(column.key, 0)
        if cells is None or not cells.has(cell.row):
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
        painter.setPen(self._levels[cell.level])
        painter.setFont(self._bold_figures if cell.bold else self._figures)
        painter.drawText(inner, _RIGHT, cell.text)

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
        length = round(room.width() * min(abs(value) / peak, 1.0))
        painter.fillRect(QRect(room.left(), room.top(), length, room.height()), color)
