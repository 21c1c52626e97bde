"""The log: every error of every session is here, not only in a console."""

import time
from collections.abc import Callable
from pathlib import PurePath

from PySide6.QtCore import (
    QPoint,
    Qt,
    QTimer,
)
from PySide6.QtGui import QBrush, QColor, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QComboBox,
    QHBoxLayout,
    QHeaderView,
    QLineEdit,
    QMenu,
    QStackedLayout,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from stroboscope.app.models.log import LogLine, LogModel
from stroboscope.app.models.numbers import number_text, with_unit
from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.panels.icons import Icon, icon
from stroboscope.app.panels.labels import EmptyText, icon_button
from stroboscope.app.panels.log_rows import LINE_ROLE, TEXT, MessageDelegate
from stroboscope.app.panels.style import METRICS
from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.resources.themes import Palette

__all__ = ["LogPanel"]

_SHOWN = 1000
# Below this a message has no room beside its time and source, and stands below them [px].
_NARROW = 440


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
        self._delegate.set_theme(palette)
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
        self._delegate = MessageDelegate(self.view, self._palette)
        self.view.setItemDelegateForColumn(TEXT, self._delegate)
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
        header.resizeSection(1, 96)
        self._empty = EmptyText(
            "Nothing yet. Messages of the applications and problems of this window appear here."
        )
        host = QWidget()
        self._stack = QStackedLayout(host)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self.view)
        layout.addWidget(host, 1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Have time and source over the messages where they are narrow."""
        super().resizeEvent(event)
        narrow = self.width() < _NARROW
        if narrow is not self._delegate.narrow:
            self._delegate.narrow = narrow
            for column in (0, 1):
                self.view.setColumnHidden(column, narrow)
            self.view.scheduleDelayedItemsLayout()

    def _on_resized(self, section: int, _before: int, _after: int) -> None:
        if section == TEXT:
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
        item.setData(0, LINE_ROLE, line)
        return item

    def _on_double_click(self, item: QTreeWidgetItem) -> None:
        line = item.data(0, LINE_ROLE)
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
        line = item.data(0, LINE_ROLE) if item is not None else None
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
        lines = [item.data(0, LINE_ROLE) for item in items if item is not None]
        text = "\n".join(line.as_text() for line in lines if isinstance(line, LogLine))
        QApplication.clipboard().setText(text)
