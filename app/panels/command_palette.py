"""Ctrl+P: find any command by its words."""

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import QDialog, QLineEdit, QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from stroboscope.app.panels.style import METRICS
from stroboscope.app.panels.tree_items import SIDE_ROLE, SideTextDelegate
from stroboscope.resources.themes import Palette

__all__ = ["CommandPalette", "matches"]

_ACTION_ROLE = Qt.ItemDataRole.UserRole + 9


def matches(query: str, text: str) -> bool:
    """Return whether every word of ``query`` appears in ``text``, in any order."""
    folded = text.casefold()
    return all(word in folded for word in query.casefold().split())


class CommandPalette(QDialog):
    """A field over a list of actions (text, other words to find it by, action).

    Enter does the chosen one. What matches by its text comes first.
    """

    def __init__(
        self,
        actions: list[tuple[str, str, QAction]],
        palette: Palette,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._actions = actions
        layout = QVBoxLayout(self)
        layout.setContentsMargins(METRICS.gap, METRICS.gap, METRICS.gap, METRICS.gap)
        self.field = QLineEdit()
        self.field.setPlaceholderText("Type a command")
        self.list = QListWidget()
        self.list.setItemDelegate(SideTextDelegate(palette, self.list))
        layout.addWidget(self.field)
        layout.addWidget(self.list)
        self.field.textChanged.connect(self._filter)
        self.field.installEventFilter(self)
        self.list.itemActivated.connect(self._run)
        self.list.itemClicked.connect(self._run)
        self.resize(520, 360)
        self._filter("")
        self.field.setFocus()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Let the arrow keys move in the list while the field has the focus."""
        if (
            watched is self.field
            and isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.KeyPress
        ):
            if event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down):
                step = 1 if event.key() == Qt.Key.Key_Down else -1
                row = self.list.currentRow() + step
                self.list.setCurrentRow(min(max(row, 0), self.list.count() - 1))
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._run(self.list.currentItem())
                return True
        return super().eventFilter(watched, event)

    def _filter(self, query: str) -> None:
        self.list.clear()
        found = [
            (not matches(query, path), path, action)
            for path, words, action in self._actions
            if matches(query, f"{path} {words}")
        ]
        for _, path, action in sorted(found, key=lambda entry: entry[0]):
            item = QListWidgetItem(path)
            item.setData(SIDE_ROLE, action.shortcut().toString())
            item.setData(_ACTION_ROLE, action)
            if not action.isEnabled():
                item.setFlags(item.flags() & ~Qt.ItemFlag.ItemIsEnabled)
            self.list.addItem(item)
        if not found:
            nothing = QListWidgetItem(f"Nothing matches “{query.strip()}”")
            nothing.setFlags(Qt.ItemFlag.NoItemFlags)
            self.list.addItem(nothing)
        self.list.setCurrentRow(0)

    def _run(self, item: QListWidgetItem | None) -> None:
        if item is None or not item.flags() & Qt.ItemFlag.ItemIsEnabled or not self.isVisible():
            return
        action: QAction = item.data(_ACTION_ROLE)
        self.accept()
        # Behind the click or key: an action may open a dialog, whose own loop of events would end
        # us while the list still has the mouse.
        QTimer.singleShot(0, action, action.trigger)
