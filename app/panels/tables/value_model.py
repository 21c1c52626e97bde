"""Feeds a table to Qt: updated in place, so that selection and scroll bar stay where they are."""

from collections.abc import Hashable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
)

from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.models.tables.order import ordered
from stroboscope.app.models.tables.table import ABSENT, Column, ColumnKind, Table, cell_text

__all__ = ["MORE_KEY", "ValueModel"]

Index = QModelIndex | QPersistentModelIndex
_NONE = QModelIndex()
_UP, _DOWN = "▴", "▾"
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter

MORE_KEY = "+more"
"""The key of the row that stands for those that are not shown."""


class ValueModel(QAbstractTableModel):
    """Rows of a table in the order wanted; the last one may stand for the rest.

    Only what is painted is written out as text. ``limit``: how many rows are shown at first.
    """

    LEVELS: ClassVar[tuple[str, str, str]] = ("", "warn", "stop")

    def __init__(self, limit: int, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.limit: int | None = limit
        self._table: Table | None = None
        self._order: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._keys: list[Hashable] = []
        self._more = 0
        self._sort, self._descending = "", False
        self._words, self._heads = "", False

    # --- what it shows

    @property
    def table(self) -> Table | None:
        """The table that is shown."""
        return self._table

    @property
    def columns(self) -> tuple[Column, ...]:
        """Its columns."""
        return self._table.columns if self._table is not None else ()

    @property
    def more(self) -> int:
        """How many rows stand behind "+N more"."""
        return self._more

    @property
    def sorting(self) -> tuple[str, bool]:
        """Key of the column it is sorted by ("": the table's own order), and whether descending."""
        return self._sort, self._descending

    def source_row(self, index: Index) -> int:
        """Return the table's row behind a row that is shown, -1: it is "+N more"."""
        row = index.row()
        return int(self._order[row]) if 0 <= row < len(self._order) else -1

    def shown_rows(self) -> NDArray[np.int64]:
        """Return the table's rows in the order shown."""
        return self._order

    def row_of_key(self, key: Hashable) -> int:
        """Return where a row is shown, -1: nowhere."""
        return next((n for n, known in enumerate(self._keys) if known == key), -1)

    def key_of(self, index: Index) -> Hashable:
        """Return what tells the row from others."""
        row = index.row()
        return self._keys[row] if 0 <= row < len(self._keys) else None

    # --- changing it

    def set_table(self, table: Table | None, *, reorder: bool = True) -> None:
        """Show another instant. Without ``reorder`` rows that stay keep their places."""
        columns_change = (table.columns if table else ()) != self.columns
        if columns_change:
            self.beginResetModel()
            self._table = table
            self._arrange()
            self.endResetModel()
            return
        same = table is not None and self._table is not None and _same(table.keys, self._table.keys)
        if same and not reorder and not self._words:
            self._table = table
            self._tell_changed()
            return
        self._rearrange(table)

    def sort_by(self, key: str, *, descending: bool = False) -> None:
        """Sort by a column; "": as the table comes."""
        self._sort, self._descending = key, descending
        if self.columns:
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(self.columns) - 1)
        self._rearrange(self._table)

    def set_filter(self, words: str) -> None:
        """Show only rows that hold all of these words."""
        self._words = words
        self._rearrange(self._table)

    def show_heads_only(self, heads: bool) -> None:
        """Show only rows without a parent."""
        self._heads = heads
        self._rearrange(self._table)

    def show_all(self) -> None:
        """Show every row there is."""
        self.limit = None
        self._rearrange(self._table)

    def _tell_changed(self) -> None:
        rows, columns = self.rowCount(), self.columnCount()
        if rows and columns:
            self.dataChanged.emit(self.index(0, 0), self.index(rows - 1, columns - 1))

    def _arrange(self) -> None:
        """Work out which rows are shown, in which order."""
        table = self._table
        if table is None:
            self._order, self._keys, self._more = np.empty(0, dtype=np.int64), [], 0
            return
        order = ordered(
            table,
            sort=self._sort,
            descending=self._descending,
            words=self._words,
            heads=self._heads,
        )
        self._more = 0
        if self.limit is not None and len(order) > self.limit:
            self._more = len(order) - self.limit
            order = order[: self.limit]
        self._order = order
        self._keys = [table.keys[row] for row in order]
        if self._more:
            self._keys.append(MORE_KEY)

    def _rearrange(self, table: Table | None) -> None:
        before = self._keys
        old_table, old_order, old_more = self._table, self._order, self._more
        self._table = table
        self._arrange()
        if self._keys == before:
            self._tell_changed()
            return
        after = self._keys, self._order, self._more
        # Views must see the old rows until they are told.
        self._table, self._keys, self._order, self._more = old_table, before, old_order, old_more
        self.layoutAboutToBeChanged.emit()
        places = {key: row for row, key in enumerate(after[0])}
        held = self.persistentIndexList()
        moved = [self._moved(index, before, places) for index in held]
        self._table = table
        self._keys, self._order, self._more = after
        self.changePersistentIndexList(held, moved)
        self.layoutChanged.emit()

    def _moved(
        self, index: QModelIndex, before: list[Hashable], places: dict[Hashable, int]
    ) -> QModelIndex:
        row = places.get(before[index.row()]) if index.row() < len(before) else None
        return self.createIndex(row, index.column()) if row is not None else _NONE

    # --- what Qt asks for

    def rowCount(self, parent: Index = _NONE) -> int:
        """Return how many rows are shown, "+N more" included."""
        return 0 if parent.isValid() else len(self._keys)

    def columnCount(self, parent: Index = _NONE) -> int:
        """Return how many columns there are."""
        return 0 if parent.isValid() else len(self.columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return the text of a cell, or its tooltip; the painter asks the table itself."""
        if self._table is None or not index.isValid():
            return None
        row = self.source_row(index)
        if row < 0:
            more = f"+{self._more} more"
            return more if role == Qt.ItemDataRole.DisplayRole and index.column() == 0 else None
        column = self.columns[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return cell_text(self._table, column, row)
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_text(self._tooltip(column, row))
        return None

    def _tooltip(self, column: Column, row: int) -> str:
        table = self._table
        if table is None:
            return ""
        cells = table.cells.get(column.key)
        name = cell_text(table, table.columns[0], row)
        lines = [name]
        if column is not table.columns[0]:
            value = table.number(column.key, row)
            if cells is None or (text := cell_text(table, column, row)) == ABSENT:
                why = cells.absent if cells is not None else ""
                lines.append(f"{column.title}: {why or 'nothing here'}")
            elif value is not None and cells is not None:
                unit = cells.units[row] if cells.units else column.unit
                lines.append(f"{column.title} = {value!r} {unit}".rstrip())
                if cells.channel and cells.signals is not None and cells.signals[row] >= 0:
                    lines.append("Double-click plots it; drag it into a plot.")
                if cells.field is not None:
                    lines.append("F2 edits it while paused.")
            elif text:
                lines.append(f"{column.title}: {text}")
        if table.tips and table.tips[row]:
            lines.append(table.tips[row])
        return "\n".join(line for line in lines if line)

    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> Any:
        """Return a column's title with its unit."""
        if orientation is not Qt.Orientation.Horizontal or section >= len(self.columns):
            return None
        column = self.columns[section]
        if role == Qt.ItemDataRole.DisplayRole:
            title = f"{column.title} [{column.unit}]" if column.unit else column.title
            if column.key != self._sort:
                return title
            mark = _DOWN if self._descending else _UP
            # On the side where nothing else begins: the style's own lies on the last letter.
            return f"{title} {mark}" if column.kind is ColumnKind.TEXT else f"{mark} {title}"
        if role == Qt.ItemDataRole.TextAlignmentRole and column.kind is not ColumnKind.TEXT:
            return _RIGHT
        if role == Qt.ItemDataRole.ToolTipRole:
            hint = "Click to sort, right-click to choose columns."
            return f"{column.tip}\n{hint}" if column.tip else hint
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Rows can be selected and dragged."""
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        base = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        return base | Qt.ItemFlag.ItemNeverHasChildren


def _same(a: Any, b: Any) -> bool:
    return a is b or bool(a == b)
