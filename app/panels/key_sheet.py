"""F1: every key and mouse gesture, grouped, on one sheet; a click on a key changes it."""

import dataclasses
from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QGridLayout,
    QHBoxLayout,
    QKeySequenceEdit,
    QLineEdit,
    QMenu,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from stroboscope.app.panels.labels import label
from stroboscope.app.panels.style import METRICS

__all__ = ["KeyGroup", "KeyRow", "KeySheet"]

_COLUMNS = 3
_KEY_WIDTH = 128
_HINT = "Click a key to change it, right-click it to take it away or to reset it."


@dataclasses.dataclass(frozen=True, slots=True)
class KeyRow:
    """What something does and with which keys; ``action`` names what can be changed."""

    what: str
    keys: str
    action: str = ""
    changed: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class KeyGroup:
    """Rows under one title."""

    title: str
    rows: tuple[KeyRow, ...]


class KeySheet(QDialog):
    """Shows what ``get_groups`` returns.

    ``change`` takes the name of an action and its new key ("" for none, None for that of before)
    and returns a sentence about what else that did. ``reset`` gives every action its first keys.
    """

    def __init__(
        self,
        get_groups: Callable[[], tuple[KeyGroup, ...]],
        *,
        change: Callable[[str, str | None], str],
        reset: Callable[[], None],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Keys and mouse")
        self._get_groups = get_groups
        self._change = change
        self.buttons: dict[str, QPushButton] = {}
        self.editor: QKeySequenceEdit | None = None
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 16, 16, METRICS.padding)
        self.search = QLineEdit()
        self.search.setPlaceholderText("Search commands and keys")
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(lambda _text: self.refresh())
        layout.addWidget(self.search)
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        layout.addWidget(self._scroll, 1)
        foot = QHBoxLayout()
        self.message = label(_HINT, "muted", wrap=True)
        foot.addWidget(self.message, 1)
        box = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        self.reset_button = QPushButton("Reset all keys")
        self.reset_button.setAutoDefault(False)
        self.reset_button.clicked.connect(lambda: self._reset(reset))
        foot.addWidget(self.reset_button)
        foot.addWidget(box)
        box.rejected.connect(self.reject)
        layout.addLayout(foot)
        self.refresh()
        self.resize(1120, 680)

    def refresh(self) -> None:
        """Show the keys as they are now."""
        every = self._get_groups()
        groups = tuple(found for group in every if (found := _matching(group, self.search.text())))
        at = self._scroll.verticalScrollBar().value()
        self.buttons, self.editor = {}, None
        content = QWidget()
        content.setObjectName("panel")
        columns = QHBoxLayout(content)
        columns.setSpacing(32)
        columns.setContentsMargins(0, METRICS.grid, METRICS.padding, METRICS.grid)
        if not groups:
            columns.addWidget(label("Nothing is called that, and no such key is taken.", "muted"))
        room = sum(len(group.rows) + 2 for group in groups) / _COLUMNS
        column, used = QVBoxLayout(), 0
        column.setSpacing(METRICS.padding)
        columns.addLayout(column, 1)
        for group in groups:
            size = len(group.rows)
            if used and used + size / 2 > room and columns.count() < _COLUMNS:
                column.addStretch(1)
                column, used = QVBoxLayout(), 0
                column.setSpacing(METRICS.padding)
                columns.addLayout(column, 1)
            column.addLayout(self._group(group))
            used += size + 2
        column.addStretch(1)
        self._scroll.setWidget(content)
        self._scroll.verticalScrollBar().setValue(at)
        changed = any(row.changed for group in every for row in group.rows)
        self.reset_button.setEnabled(changed)
        self.reset_button.setToolTip("" if changed else "No key was changed.")

    def _group(self, group: KeyGroup) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(METRICS.padding)
        grid.setVerticalSpacing(2)
        grid.setColumnStretch(0, 1)
        heading = label(group.title, "heading")
        heading.setContentsMargins(0, METRICS.gap, 0, METRICS.grid)
        grid.addWidget(heading, 0, 0, 1, 2)
        for line, row in enumerate(group.rows, start=1):
            grid.addWidget(label(row.what), line, 0)
            if row.action:
                key: QWidget = self._button(row, grid, line)
            else:
                key = label(row.keys)
                key.setObjectName("key")
            grid.addWidget(key, line, 1, Qt.AlignmentFlag.AlignRight)
        return grid

    def _button(self, row: KeyRow, grid: QGridLayout, line: int) -> QPushButton:
        button = QPushButton(row.keys or "no key")
        button.setProperty("key", "true" if row.keys else "none")
        button.setAutoDefault(False)
        button.setToolTip(f"Change the key of “{row.what}”")
        button.clicked.connect(lambda: self._edit(row, grid, line))
        button.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        button.customContextMenuRequested.connect(
            lambda at: self.menu_of(row).exec(button.mapToGlobal(at))
        )
        self.buttons[row.action] = button
        return button

    def menu_of(self, row: KeyRow) -> QMenu:
        """Return the menu of a key."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if row.keys:
            menu.addAction("No key", lambda: self._set(row.action, ""))
        if row.changed:
            menu.addAction("Reset", lambda: self._set(row.action, None))
        return menu

    def _edit(self, row: KeyRow, grid: QGridLayout, line: int) -> None:
        if self.editor is not None:
            self.refresh()
            return
        button = self.buttons[row.action]
        editor = QKeySequenceEdit()
        editor.setMaximumSequenceLength(1)
        editor.setFixedWidth(max(_KEY_WIDTH, button.width()))
        # Later: the editor must not go while it handles the key itself.
        editor.editingFinished.connect(
            lambda: self._finish(row.action, editor), Qt.ConnectionType.QueuedConnection
        )
        self.editor = editor
        button.hide()
        grid.addWidget(editor, line, 1, Qt.AlignmentFlag.AlignRight)
        self.message.setText(f"Press the new key of “{row.what}”; click elsewhere to leave it.")
        editor.show()
        editor.setFocus()

    def _finish(self, action: str, editor: QKeySequenceEdit) -> None:
        if editor is not self.editor:
            return
        key = editor.keySequence().toString(QKeySequence.SequenceFormat.PortableText)
        if key:
            self._set(action, key)
        else:
            self.message.setText(_HINT)
            self.refresh()

    def _set(self, action: str, key: str | None) -> None:
        self.message.setText(self._change(action, key) or _HINT)
        self.refresh()

    def _reset(self, reset: Callable[[], None]) -> None:
        reset()
        self.message.setText("Every key is as in the beginning.")
        self.refresh()


def _matching(group: KeyGroup, words: str) -> KeyGroup | None:
    """Return the rows that hold all ``words``, None where there are none."""
    wanted = words.casefold().split()
    rows = tuple(
        row
        for row in group.rows
        if all(w in f"{group.title} {row.what} {row.keys}".casefold() for w in wanted)
    )
    return KeyGroup(group.title, rows) if rows else None
