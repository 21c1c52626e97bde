"""The grid of a table: keyboard and mouse, dragging numbers to plots, choosing columns."""

from collections.abc import Callable, Hashable

from PySide6.QtCore import (
    QEvent,
    QMimeData,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRect,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QAction,
    QContextMenuEvent,
    QDrag,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QHeaderView,
    QLabel,
    QMenu,
    QTableView,
)

from stroboscope.app.models.element_values import EditTarget, ValueRow
from stroboscope.app.models.tables.table import Column, ColumnKind, Table, cell_text
from stroboscope.app.panels.style import METRICS
from stroboscope.app.panels.tables.cell_editor import CellEditor
from stroboscope.app.panels.tables.column_fit import ColumnWish, fitted_widths
from stroboscope.app.panels.tables.sideways_bar import SidewaysBar
from stroboscope.app.panels.tables.value_model import ValueModel
from stroboscope.app.panels.tables.value_painter import CELL_MARGIN, RowState, ValuePainter
from stroboscope.resources.themes import Palette

__all__ = ["ValueView"]

# The widest column of texts that fits itself to them, and how narrow such columns become [px].
_NAMES, _LAST = 240, 72


class ValueView(QTableView):
    """Shows a :class:`ValueModel`. The functions are what the widget around it does.

    ``kept`` is what people chose of each kind of table: columns and sorting, as plain data that
    may outlive the window. ``chosen`` is emitted after each choice.
    """

    chosen = Signal()

    def __init__(self, model: ValueModel, palette: Palette) -> None:
        super().__init__()
        self.on_click: Callable[[QModelIndex], None] = lambda _index: None
        self.on_plot: Callable[[ValueRow], None] = lambda _row: None
        self.on_copy: Callable[[bool], None] = lambda _everything: None
        # Writes an edited number; returns a problem. None: nothing can be edited here.
        self.on_edit: Callable[[EditTarget, float], str] | None = None
        self.make_mime: Callable[[ValueRow], QMimeData | None] = lambda _row: None
        self.add_actions: Callable[[QMenu, QModelIndex], None] = lambda _menu, _index: None
        self.kept: dict[str, dict[str, object]] = {}
        self.editor: CellEditor | None = None
        self._model = model
        self._pressed: tuple[QPoint, QModelIndex] | None = None
        self._widths: tuple[tuple[str, str], ...] = ()
        self._hovered_row = -1
        self._names_fit = False
        self._fitted_to: tuple[Hashable, ...] = ()
        self._fitting = self._dragged = False
        self._painter = ValuePainter(self, palette)
        self.setModel(model)
        self.setShowGrid(False)
        self.setMouseTracking(True)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setStyleSheet("QTableView::corner { background: transparent; border: none; }")
        self.setFrameShape(QTableView.Shape.NoFrame)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.sideways = SidewaysBar(self)
        self.setAutoScroll(False)
        rows = self.verticalHeader()
        rows.hide()
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        rows.setMinimumSectionSize(METRICS.row_height)
        rows.setDefaultSectionSize(METRICS.row_height)
        header = self.horizontalHeader()
        header.setSectionsClickable(True)
        header.setHighlightSections(False)
        header.setMinimumSectionSize(28)
        header.setFixedHeight(METRICS.row_height)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.sectionClicked.connect(self._on_header)
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(
            lambda at: self.choose_columns(header.mapToGlobal(at))
        )
        self._title = QLabel(header)
        self._title.setContentsMargins(CELL_MARGIN, 0, CELL_MARGIN, 0)
        self._title.hide()
        header.sectionResized.connect(self._on_resized)
        self._line_below_header(palette)
        model.modelReset.connect(self.fit_columns)

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._painter.set_theme(palette)
        self._line_below_header(palette)
        self.viewport().update()

    def _line_below_header(self, palette: Palette) -> None:
        self.horizontalHeader().setStyleSheet(
            f"QHeaderView {{ background: {palette.surface1}; border: none; "
            f"border-bottom: 1px solid {palette.line}; }} "
            f"QHeaderView::section {{ border: none; padding: 0 {CELL_MARGIN}px; }} "
            f"QLabel {{ background: {palette.surface1}; color: {palette.muted}; "
            f"border-right: 1px solid {palette.line}; }}"
        )

    def prepare(self) -> None:
        """Measure what a new table needs; call before its rows are painted."""
        table = self._model.table
        self._painter.measure(table)
        if table is None or not table.count:
            return
        # Once, with the first rows there are: later ones don't move the columns. Where nothing
        # changes but with the rows, there is something else to fit then.
        keys = tuple(table.keys) if any(column.still for column in table.columns) else ()
        if not self._names_fit or keys != self._fitted_to:
            self._names_fit, self._fitted_to = True, keys
            self._fit_to_view()

    # --- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the rows and columns that can be seen."""
        table = self._model.table
        if table is None:
            return
        painter = QPainter(self.viewport())
        area = event.rect()
        columns = self._visible_columns(area)
        first = self.rowAt(area.top())
        last = self.rowAt(area.bottom())
        last = last if last >= 0 else self._model.rowCount() - 1
        selected = {index.row() for index in self.selectionModel().selectedRows()}
        rows = self._model.shown_rows()
        for row in range(first, last + 1) if first >= 0 else ():
            top, height = self.rowViewportPosition(row), self.rowHeight(row)
            line = QRect(0, top, self.viewport().width(), height)
            source = int(rows[row]) if row < len(rows) else -1
            state = RowState(row=source, selected=row in selected, hovered=row == self._hovered_row)
            self._painter.paint_row(painter, state, table=table, rect=line)
            if source < 0:
                self._painter.paint_more(painter, self._model.more, rect=line)
                continue
            for column, left, width in columns:
                rect = QRect(left, top, width, height)
                self._painter.paint_cell(painter, table, column=column, row=source, rect=rect)
            if self._is_scrolled:
                names = QRect(0, top, self.columnWidth(0), height)
                self._painter.paint_frozen(painter, state, table=table, rect=names)
        painter.end()

    # --- names stay in sight

    @property
    def _is_scrolled(self) -> bool:
        return self.horizontalScrollBar().value() > 0 and not self.isColumnHidden(0)

    def indexAt(self, pos: QPoint) -> QModelIndex:
        """Return the cell at a place; the names cover what is scrolled below them."""
        if self._is_scrolled and pos.x() < self.columnWidth(0):
            row = self.rowAt(pos.y())
            return self._model.index(row, 0) if row >= 0 else QModelIndex()
        return super().indexAt(pos)

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        """Paint anew when scrolled sideways: the names don't move along."""
        super().scrollContentsBy(dx, dy)
        if dx:
            self.viewport().update()
            self._place_title()

    def _place_title(self) -> None:
        """Keep the title of the names over them."""
        header = self.horizontalHeader()
        columns = self._model.columns
        self._title.setVisible(self._is_scrolled and bool(columns))
        if columns and self._is_scrolled:
            told = self._model.headerData(0, Qt.Orientation.Horizontal)
            self._title.setText(str(told))
            self._title.setGeometry(0, 0, self.columnWidth(0), header.height() - 1)
            self._title.raise_()

    def _visible_columns(self, area: QRect) -> list[tuple[Column, int, int]]:
        """Return the columns within ``area`` with left side and width [px]."""
        found = []
        for n, column in enumerate(self._model.columns):
            left, width = self.columnViewportPosition(n), self.columnWidth(n)
            if not self.isColumnHidden(n) and left <= area.right() and left + width > area.left():
                found.append((column, left, width))
        return found

    def _hover(self, row: int) -> None:
        if row != self._hovered_row:
            self._hovered_row = row
            self.viewport().update()

    def leaveEvent(self, event: QEvent) -> None:
        """No row is under the pointer any more."""
        self._hover(-1)
        super().leaveEvent(event)

    # --- columns

    def fit_columns(self) -> None:
        """Give each column the width of its content type; once per set of columns."""
        keys = tuple((column.key, column.unit) for column in self._model.columns)
        if keys == self._widths:
            return
        self._widths = keys
        self._names_fit = self._dragged = False
        header = self.horizontalHeader()
        self._fitting = True
        for n, column in enumerate(self._model.columns):
            header.resizeSection(n, self._painter.width_of(column))
            self.setColumnHidden(n, not self._is_shown(column))
        self._fitting = False
        kept = self._kept()
        sort, descending = kept.get("sort"), bool(kept.get("descending"))
        known = isinstance(sort, str) and self.column_at(sort) >= 0
        self._sort(sort if known and isinstance(sort, str) else "", descending=descending)

    def _fit_to_view(self) -> None:
        """Have all columns in sight, if that can be; those that somebody has dragged stay."""
        table, header = self._model.table, self.horizontalHeader()
        if table is None or not self._names_fit or self._dragged:
            return
        columns = self._model.columns
        sections = [n for n in range(len(columns)) if not self.isColumnHidden(n)]
        wishes = [self._wish(table, columns[n]) for n in sections]
        self._fitting = True
        widths = fitted_widths(wishes, self.viewport().width())
        for n, width in zip(sections, widths, strict=True):
            if width != self.columnWidth(n):
                header.resizeSection(n, width)
        self._fitting = False

    def _wish(self, table: Table, column: Column) -> ColumnWish:
        wanted, title = self._painter.width_of(column), self._painter.width_of_title(column)
        if column.kind is not ColumnKind.TEXT:
            least = wanted
            if column.still:
                least = max(self._painter.width_of_numbers(table, column), title)
            return ColumnWish(wanted, least, gives_way=column.still, may_elide=least)
        texts = min(self._painter.width_of_texts(table, column), _NAMES)
        least = max(texts, title, 0 if column.still else _LAST)
        wanted = max(wanted, texts) if column is table.columns[0] else wanted
        return ColumnWish(wanted, least, gives_way=True, may_elide=min(least, _LAST))

    def _on_resized(self, _section: int, _before: int, _now: int) -> None:
        # A column is only ever resized by us or by the mouse.
        self._dragged = self._dragged or not self._fitting
        self._place_title()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the columns into the new width."""
        super().resizeEvent(event)
        self._fit_to_view()

    def _kept(self) -> dict[str, object]:
        columns = self._model.columns
        kept = self.kept.get(columns[0].title) if columns else None
        return kept if isinstance(kept, dict) else {}

    def _is_shown(self, column: Column) -> bool:
        shown = self._kept().get("columns")
        choice = shown.get(column.key) if isinstance(shown, dict) else None
        return choice if isinstance(choice, bool) else not column.extra

    def _keep(self, **choices: object) -> None:
        if self._model.columns:
            self.kept[self._model.columns[0].title] = {**self._kept(), **choices}
            self.chosen.emit()

    def column_at(self, key: str) -> int:
        """Return where a column stands, -1: nowhere."""
        return next((n for n, c in enumerate(self._model.columns) if c.key == key), -1)

    def _on_header(self, section: int) -> None:
        """Sort ascending, descending, and then as the table comes again."""
        key = self._model.columns[section].key
        now, descending = self._model.sorting
        if now == key and descending:
            key, descending = "", False
        else:
            descending = now == key
        self._sort(key, descending=descending)
        self._keep(sort=key, descending=descending)

    def _sort(self, key: str, *, descending: bool) -> None:
        self._model.sort_by(key, descending=descending)

    def choose_columns(self, place: QPoint) -> None:
        """Open the menu of columns there (on the screen)."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for n, column in enumerate(self._model.columns):
            action = QAction(column.title, menu)
            action.setCheckable(True)
            action.setChecked(not self.isColumnHidden(n))
            action.setEnabled(n > 0)
            action.toggled.connect(lambda shown, key=column.key: self.show_column(key, shown=shown))
            menu.addAction(action)
        menu.exec(place)

    def show_column(self, key: str, *, shown: bool) -> None:
        """Show or hide a column, also when this kind of table comes again.

        The table may be of another kind by now: nothing happens when it has no such column.
        """
        section = self.column_at(key)
        if section < 0:
            return
        before = self._kept().get("columns")
        self._fitting = True
        self.setColumnHidden(section, not shown)
        self._fitting = False
        self._fit_to_view()
        self._keep(columns={**(before if isinstance(before, dict) else {}), key: shown})

    # --- numbers that can be plotted

    def value_row(self, index: QModelIndex) -> ValueRow | None:
        """Return the number in a cell with its signal, None: there is none to plot."""
        table, row = self._model.table, self._model.source_row(index)
        if table is None or row < 0:
            return None
        column = self._model.columns[index.column()]
        cells = table.cells.get(column.key)
        if cells is None or not cells.channel or cells.signals is None or cells.signals[row] < 0:
            return None
        return ValueRow(
            label=f"{cell_text(table, table.columns[0], row)} {column.title}",
            value=table.number(column.key, row),
            unit=cells.units[row] if cells.units else column.unit,
            channel=cells.channel,
            column=int(cells.signals[row]),
        )

    def edit_target(self, index: QModelIndex) -> EditTarget | None:
        """Return where an edited number would go, None: it can't be edited."""
        table, row = self._model.table, self._model.source_row(index)
        if self.on_edit is None or table is None or row < 0:
            return None
        cells = table.cells.get(self._model.columns[index.column()].key)
        if cells is None or cells.field is None or cells.signals is None or not cells.has(row):
            return None
        address = int(cells.signals[row])
        return EditTarget(cells.field, address) if address >= 0 else None

    def _edit_cell(self, cell: QPersistentModelIndex) -> None:
        if cell.isValid():
            self.edit_number(self._model.index(cell.row(), cell.column()))

    def edit_number(self, index: QModelIndex) -> None:
        """Open a field over a number that can be edited."""
        target, table = self.edit_target(index), self._model.table
        commit = self.on_edit
        if target is None or table is None or commit is None:
            return
        key = self._model.columns[index.column()].key
        value = table.number(key, self._model.source_row(index))
        if value is not None:
            self.editor = CellEditor(
                self.viewport(),
                value,
                place=self.visualRect(index),
                commit=lambda number: commit(target, number),
            )

    # --- mouse and keys

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Remember where a drag may begin; on a number that can't be dragged rows are selected."""
        at = event.position().toPoint()
        index = self.indexAt(at)
        self._pressed = None
        if event.button() is Qt.MouseButton.LeftButton and self.value_row(index) is not None:
            self._pressed = (at, index)
        super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Begin to drag the signal behind a number."""
        self._hover(self.rowAt(event.position().toPoint().y()))
        if self._pressed is None or not event.buttons() & Qt.MouseButton.LeftButton:
            super().mouseMoveEvent(event)
            return
        start, index = self._pressed
        moved = (event.position().toPoint() - start).manhattanLength()
        if moved < QApplication.startDragDistance():
            return
        self._pressed = None
        row = self.value_row(index)
        mime = self.make_mime(row) if row is not None else None
        if mime is not None:
            drag = QDrag(self)
            drag.setMimeData(mime)
            drag.exec(Qt.DropAction.CopyAction)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Tell which row was clicked."""
        self._pressed = None
        super().mouseReleaseEvent(event)
        if event.button() is Qt.MouseButton.LeftButton and not event.modifiers():
            index = self.indexAt(event.position().toPoint())
            if index.isValid():
                self.on_click(index)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Plot a number."""
        row = self.value_row(self.indexAt(event.position().toPoint()))
        if event.button() is Qt.MouseButton.LeftButton and row is not None:
            self.on_plot(row)
            return
        super().mouseDoubleClickEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Copy; Enter selects in the scene. Everything else but moving about is the window's."""
        if event.matches(QKeySequence.StandardKey.Copy):
            self.on_copy(False)
        elif event.key() == Qt.Key.Key_F2:
            self.edit_number(self.currentIndex())
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if self.currentIndex().isValid():
                self.on_click(self.currentIndex())
        elif event.key() in _MOVES or event.matches(QKeySequence.StandardKey.SelectAll):
            super().keyPressEvent(event)
        else:
            event.ignore()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer what can be done with a cell."""
        index = self.indexAt(event.pos())
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        row = self.value_row(index) if index.isValid() else None
        if row is not None:
            menu.addAction("Plot", lambda: self.on_plot(row))
            menu.addAction("Copy value", lambda: QApplication.clipboard().setText(repr(row.value)))
        if index.isValid() and self.edit_target(index) is not None:
            cell = QPersistentModelIndex(index)  # rows may move, or go, while the menu is open
            menu.addAction("Edit…", lambda: self._edit_cell(cell))
        menu.addAction("Copy selected rows", lambda: self.on_copy(False))
        menu.addAction("Copy all rows", lambda: self.on_copy(True))
        self.add_actions(menu, index)
        menu.exec(event.globalPos())


_MOVES = (
    Qt.Key.Key_Up,
    Qt.Key.Key_Down,
    Qt.Key.Key_PageUp,
    Qt.Key.Key_PageDown,
)
