"""The log: every error of every session is here, not only in a console."""

import time
from collections.abc import Callable
from pathlib import PurePath

from PySide6.QtCore import (
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
    QTimer,
)
from PySide6.QtGui import QBrush, QColor
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QComboBox,
    QHBoxLayout,
    QHeaderView,
    QLineEdit,
    QMenu,
    QStackedLayout,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from stroboscope.app.models.log import LogLine, LogModel
from stroboscope.app.models.numbers import number_text, with_unit
from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.panels.icons import Icon, icon
from stroboscope.app.panels.labels import icon_button, label
from stroboscope.app.panels.style import METRICS
from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.resources.themes import Palette

__all__ = ["LogPanel"]

_LINE_ROLE = Qt.ItemDataRole.UserRole + 1
_SHOWN = 1000
_TEXT = 2
# One message must not push all others out of sight: it has two lines until it is chosen, then more,
# and the tooltip has it all.
# Findings, which have a panel of their own, have one.
_LINES, _LINES_CHOSEN = 2, 12


class _WrappedText(QStyledItemDelegate):
    """Gives a message a second line where it needs one, and more while it is chosen."""

    def __init__(self, view: QTreeWidget) -> None:
        super().__init__(view)
        self._view = view

    def initStyleOption(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Break no line where there is only one."""
        super().initStyleOption(option, index)
        if self._most_lines(index) == 1:
            option.features &= ~QStyleOptionViewItem.ViewItemFeature.WrapText

    def _most_lines(self, index: QModelIndex | QPersistentModelIndex) -> int:
        if self._view.selectionModel().isRowSelected(index.row()):
            return _LINES_CHOSEN
        line = index.sibling(index.row(), 0).data(_LINE_ROLE)
        return 1 if isinstance(line, LogLine) and line.found else _LINES

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        """Return the size of the wrapped text."""
        hint = super().sizeHint(option, index)
        text, metrics = str(index.data()), self._view.fontMetrics()
        margin = 2 * (self._view.style().pixelMetric(QStyle.PixelMetric.PM_FocusFrameHMargin) + 3)
        width = max(self._view.columnWidth(_TEXT) - margin, 40)
        if metrics.horizontalAdvance(text) <= width:
            return QSize(hint.width(), METRICS.compact_height)
        box = metrics.boundingRect(QRect(0, 0, width, 10_000), Qt.TextFlag.TextWordWrap, text)
        most = self._most_lines(index) * metrics.lineSpacing()
        return QSize(hint.width(), max(min(box.height(), most) + 6, METRICS.compact_height))


class LogPanel(QWidget):
    """Lines with level, time, source and text; filtered by level and words."""

    def __init__(
        self,
        log: LogModel,
        palette: Palette,
        *,
        open_file: Callable[[str], None] = lambda _path: None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("panel")
        self._open_file = open_file
        self._log = log
        self._palette = palette
        self._build()
        # Many lines at once are shown together.
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(50)
        self._timer.timeout.connect(self.refresh)
        log.changed.connect(self._schedule)
        self.refresh()

    def close_panel(self) -> None:
        """Stop listening."""
        self._timer.stop()
        self._log.changed.disconnect(self._schedule)

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._palette = palette
        self.copy_button.setIcon(icon(Icon.COPY, palette))
        self.clear_button.setIcon(icon(Icon.CLEAR, palette))
        self.refresh()

    def _build(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        bar = QHBoxLayout()
        bar.setContentsMargins(METRICS.gap, 3, METRICS.gap, 3)
        bar.setSpacing(METRICS.gap)
        self.level = QComboBox()
        for text, level in (
            ("All", LogLevel.INFO),
            ("Warnings", LogLevel.WARNING),
            ("Errors", LogLevel.ERROR),
        ):
            self.level.addItem(text, level)
        self.level.setToolTip("Show lines of this level and above.")
        self.level.currentIndexChanged.connect(lambda _: self.refresh())
        self.filter = QLineEdit()
        self.filter.setPlaceholderText("Filter")
        self.filter.setClearButtonEnabled(True)
        self.filter.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.filter.setMinimumWidth(60)
        self.filter.textChanged.connect(lambda _: self.refresh())
        self.copy_button = icon_button(Icon.COPY, self._palette, "Copy the lines shown")
        self.copy_button.clicked.connect(self.copy)
        self.clear_button = icon_button(Icon.CLEAR, self._palette, "Clear the log")
        self.clear_button.clicked.connect(self._log.clear)
        bar.addWidget(self.level)
        bar.addWidget(self.filter, 1)
        bar.addWidget(self.copy_button)
        bar.addWidget(self.clear_button)
        for field in (self.level, self.filter):
            field.setProperty("compact", True)
        for button in (self.copy_button, self.clear_button):
            button.setFixedSize(METRICS.compact_height, METRICS.compact_height)
            button.setProperty("compact", True)
        layout.addLayout(bar)

        self.view = QTreeWidget()
        self.view.setColumnCount(3)
        self.view.setHeaderHidden(True)
        self.view.setRootIsDecorated(False)
        self.view.setWordWrap(True)
        self.view.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.view.setItemDelegateForColumn(_TEXT, _WrappedText(self.view))
        self.view.header().sectionResized.connect(self._on_resized)
        self.view.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.view.itemSelectionChanged.connect(self.view.scheduleDelayedItemsLayout)
        self.view.itemDoubleClicked.connect(self._on_double_click)
        self.view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.view.customContextMenuRequested.connect(self._on_menu)
        header = self.view.header()
        header.setStretchLastSection(True)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Interactive)
        header.resizeSection(0, 100)
        header.resizeSection(1, 72)
        self._empty = label(
            "Nothing yet. Messages of the applications and problems of this window appear here.",
            "muted",
            wrap=True,
        )
        self._empty.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self._empty.setContentsMargins(METRICS.padding, METRICS.gap, METRICS.padding, 0)
        host = QWidget()
        self._stack = QStackedLayout(host)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self.view)
        layout.addWidget(host, 1)

    def _on_resized(self, section: int, _before: int, _after: int) -> None:
        if section == _TEXT:
            self.view.scheduleDelayedItemsLayout()

    def _schedule(self) -> None:
        if not self._timer.isActive():
            self._timer.start()

    def refresh(self) -> None:
        """Show the lines that pass the filter, newest last."""
        lines = self._log.select(at_least=self.chosen_level, text=self.filter.text())
        bar = self.view.verticalScrollBar()
        at_end = bar.value() >= bar.maximum() - 2
        self.view.clear()
        hidden = self._log.forgotten + max(0, len(lines) - _SHOWN)
        if hidden:
            note = QTreeWidgetItem(["", "", f"+{hidden} older lines are not shown"])
            note.setForeground(2, QBrush(QColor(self._palette.muted)))
            self.view.addTopLevelItem(note)
        self.view.addTopLevelItems([self._item(line) for line in lines[-_SHOWN:]])
        self._stack.setCurrentWidget(self.view if self._log.lines else self._empty)
        if at_end:
            self.view.scrollToBottom()

    def _item(self, line: LogLine) -> QTreeWidgetItem:
        p = self._palette
        clock = time.strftime("%H:%M:%S", time.localtime(line.wall_time))
        item = QTreeWidgetItem([clock, line.source, line.text.replace("\n", "  ")])
        look = {
            LogLevel.INFO: (Icon.INFO, p.muted),
            LogLevel.WARNING: (Icon.WARNING, p.warn),
            LogLevel.ERROR: (Icon.ERROR, p.stop),
        }
        # Findings are what somebody may look into, not what has gone wrong.
        grave = line.level is not LogLevel.INFO
        which, color = look[LogLevel.WARNING if line.found and grave else line.level]
        item.setIcon(0, icon(which, p, color=color))
        for column in (0, 1):
            item.setForeground(column, QBrush(QColor(p.muted)))
        at = f"\nt {with_unit(number_text(line.time), 's')}" if line.time is not None else ""
        opens = "\nDouble-click to open it." if line.file else ""
        item.setToolTip(2, plain_text(f"{line.text}{at}{opens}"))
        if line.file:
            item.setForeground(2, QBrush(QColor(p.accent)))
        item.setToolTip(1, plain_text(line.source))
        item.setData(0, _LINE_ROLE, line)
        return item

    def _on_double_click(self, item: QTreeWidgetItem) -> None:
        line = item.data(0, _LINE_ROLE)
        if isinstance(line, LogLine) and line.file:
            self._open_file(line.file)

    def menu_of(self, line: LogLine | None) -> QMenu:
        """Return what can be done with a line; the caller shows it."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if line is not None and line.file:
            menu.addAction(f"Open {PurePath(line.file).name}".replace("&", "&&")).triggered.connect(
                lambda _=False: self._open_file(line.file)
            )
        menu.addAction("Copy").triggered.connect(lambda _=False: self.copy())
        return menu

    def _on_menu(self, at: QPoint) -> None:
        item = self.view.itemAt(at)
        line = item.data(0, _LINE_ROLE) if item is not None else None
        menu = self.menu_of(line if isinstance(line, LogLine) else None)
        menu.popup(self.view.viewport().mapToGlobal(at))

    @property
    def chosen_level(self) -> LogLevel:
        """The level from which on lines are shown."""
        return LogLevel(self.level.currentData())

    def choose_level(self, level: str) -> None:
        """Show lines of that level and above; an unknown word changes nothing."""
        for index in range(self.level.count()):
            if self.level.itemData(index) == level:
                self.level.setCurrentIndex(index)

    def copy(self) -> None:
        """Copy the selected lines, or all that are shown."""
        every = (self.view.topLevelItem(n) for n in range(self.view.topLevelItemCount()))
        items: list[QTreeWidgetItem | None] = [*self.view.selectedItems()] or [*every]
        lines = [item.data(0, _LINE_ROLE) for item in items if item is not None]
        text = "\n".join(line.as_text() for line in lines if isinstance(line, LogLine))
        QApplication.clipboard().setText(text)
