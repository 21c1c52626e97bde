"""One table for all values: filter, sort, copy, plot, and a click that selects in the scene."""

from collections.abc import Callable

from PySide6.QtCore import QEvent, QItemSelectionModel, QMimeData, QModelIndex, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QApplication,
    QLineEdit,
    QStackedLayout,
    QVBoxLayout,
    QWidget,
)

from stroboscope.app.models.element_values import ValueRow
from stroboscope.app.models.selection import Element
from stroboscope.app.models.tables.table import Table, cell_text
from stroboscope.app.panels.labels import ElidedLabel, EmptyText
from stroboscope.app.panels.style import number_font
from stroboscope.app.panels.tables.value_model import ValueModel
from stroboscope.app.panels.tables.value_view import ValueView
from stroboscope.resources.themes import Palette

__all__ = ["FilterField", "ValueTable"]

_SHOWN_AT_FIRST = 500


class FilterField(QLineEdit):
    """Words to look for; Escape clears it, and leaves it when there is nothing to clear."""

    def __init__(self, hint: str = "Filter") -> None:
        super().__init__()
        self.on_leave: Callable[[], None] = lambda: None
        self.setPlaceholderText(hint)
        self.setClearButtonEnabled(True)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setMinimumWidth(60)
        self.setProperty("compact", True)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Take Escape, and Down, which goes on in the table."""
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
        elif event.key() in (Qt.Key.Key_Escape, Qt.Key.Key_Down, Qt.Key.Key_Return):
            self.on_leave()
        else:
            super().keyPressEvent(event)


class ValueTable(QWidget):
    """Shows tables of one kind after the other, updated in place.

    ``select`` is called with the element of a row that was clicked; ``plot`` and ``make_mime`` come
    from the plots. ``filter`` and ``total`` (a line about all rows) are to be placed by whoever
    has the bar.
    """

    def __init__(
        self,
        palette: Palette,
        *,
        select: Callable[[Element], None] | None = None,
        plot: Callable[[ValueRow], None] | None = None,
        make_mime: Callable[[ValueRow], QMimeData | None] | None = None,
        limit: int = _SHOWN_AT_FIRST,
    ) -> None:
        super().__init__()
        self._select = select
        self.model = ValueModel(limit, self)
        self.view = ValueView(self.model, palette)
        self.view.on_click = self._on_click
        self.view.on_copy = self._on_copy
        if plot is not None:
            self.view.on_plot = plot
        if make_mime is not None:
            self.view.make_mime = make_mime
        self.filter = FilterField()
        self.filter.textChanged.connect(self.model.set_filter)
        self.filter.on_leave = self.view.setFocus
        self._empty = EmptyText()
        self.total = ElidedLabel()
        self.total.setProperty("role", "small")
        self.total.setFont(number_font())
        host = QWidget()
        self._stack = QStackedLayout(host)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self.view)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(host, 1)
        self._hovered = False
        self.view.viewport().installEventFilter(self)

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self.view.set_theme(palette)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Know whether the pointer is over the rows: nothing moves under it."""
        if event.type() == QEvent.Type.Enter:
            self._hovered = True
        elif event.type() == QEvent.Type.Leave:
            self._hovered = False
        return super().eventFilter(watched, event)

    # --- showing

    @property
    def table(self) -> Table | None:
        """The table that is shown."""
        return self.model.table

    def show_table(self, table: Table, *, empty: str, reorder: bool = True) -> None:
        """Show another instant; ``empty`` is said where the table has no rows.

        ``reorder``: rows may change places because values they are sorted by have changed. They
        stay where they are as long as the pointer is over them.
        """
        self.model.set_table(table, reorder=reorder and not self._hovered)
        self.view.prepare()
        if table.count:
            self._stack.setCurrentWidget(self.view)
        else:
            self.say(empty)

    def say(self, text: str) -> None:
        """Show a sentence instead of rows."""
        if self._empty.text() != text:
            self._empty.setText(text)
        self._stack.setCurrentWidget(self._empty)

    @property
    def sentence(self) -> str:
        """What is said instead of rows, empty while rows are shown."""
        return self._empty.text() if self._stack.currentWidget() is self._empty else ""

    def mark(self, element: Element | None) -> None:
        """Mark the rows of an element that was selected elsewhere, and bring one into sight."""
        table = self.model.table
        selection = self.view.selectionModel()
        if table is None:
            return
        shown = self.model.shown_rows()
        rows = [n for n, row in enumerate(shown) if table.element(int(row)) == element]
        marked = {index.row() for index in selection.selectedRows()}
        if element is not None and (marked & set(rows)):
            return
        selection.clearSelection()
        if element is None:
            return
        flags = QItemSelectionModel.SelectionFlag
        for row in rows:
            selection.select(self.model.index(row, 0), flags.Select | flags.Rows)
        if rows and not self._hovered:
            column = max(self.view.columnAt(0), 0)
            self.view.scrollTo(self.model.index(rows[0], column))

    # --- what a person does

    def _on_click(self, index: QModelIndex) -> None:
        row = self.model.source_row(index)
        if row < 0:
            self.model.show_all()
            return
        table = self.model.table
        element = table.element(row) if table is not None else None
        if element is not None and self._select is not None:
            self._select(element)

    def _on_copy(self, everything: bool) -> None:
        QApplication.clipboard().setText(self.as_text(everything=everything))

    def as_text(self, *, everything: bool = False) -> str:
        """Return the selected rows, or all that are shown, with titles, separated by tabs.

        Numbers are complete, not as rounded as they are shown.
        """
        table = self.model.table
        if table is None:
            return ""
        rows = [self.model.source_row(index) for index in self.view.selectionModel().selectedRows()]
        rows = sorted((row for row in rows if row >= 0), key=list(self.model.shown_rows()).index)
        if everything or not rows:
            rows = [int(row) for row in self.model.shown_rows()]
        columns = [
            column
            for n, column in enumerate(table.columns)
            if everything or not self.view.isColumnHidden(n)
        ]
        lines = []
        titles: list[str] = []
        for column in columns:
            titles.append(f"{column.title} [{column.unit}]" if column.unit else column.title)
            if (cells := table.cells.get(column.key)) is not None and cells.units is not None:
                titles.append("unit")
        lines.append("\t".join(titles))
        for row in rows:
            parts: list[str] = []
            for column in columns:
                cells = table.cells.get(column.key)
                number = table.number(column.key, row)
                is_text = cells is not None and cells.numbers is None
                parts.append(
                    cell_text(table, column, row)
                    if is_text
                    else ("" if number is None else repr(number))
                )
                if cells is not None and cells.units is not None:
                    parts.append(cells.units[row])
            lines.append("\t".join(parts))
        return "\n".join(lines)
