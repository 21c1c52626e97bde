"""Arrangements of plots by name: save, load, delete."""

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QInputDialog, QMenu, QWidget

__all__ = ["LayoutMenu"]

_MAX_NAME = 80


class LayoutMenu:
    """The menu of named layouts; ``kept`` is the settings' own dictionary and is changed in place.

    ``get`` returns the present layout, ``load`` takes one, ``changed`` is told when one was kept or
    deleted.
    """

    def __init__(
        self,
        kept: dict[str, dict[str, Any]],
        *,
        get: Callable[[], dict[str, Any]],
        load: Callable[[dict[str, Any]], None],
        changed: Callable[[], None],
        parent: QWidget,
    ) -> None:
        self.kept = kept
        self._get = get
        self._load = load
        self._changed = changed
        self._parent = parent

    def open_at(self, position: QPoint) -> QMenu:
        """Show the menu at a global position."""
        menu = QMenu(self._parent)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction("Save these plots as…").triggered.connect(self._ask)
        menu.addSeparator()
        if not self.kept:
            menu.addAction("Nothing is saved yet").setEnabled(False)
        for name in sorted(self.kept):
            action = menu.addAction(name.replace("&", "&&"))
            action.triggered.connect(lambda _=False, each=name: self.load(each))
        if self.kept:
            menu.addSeparator()
            delete = menu.addMenu("Delete")
            for name in sorted(self.kept):
                action = delete.addAction(name.replace("&", "&&"))
                action.triggered.connect(lambda _=False, each=name: self.delete(each))
        menu.popup(position)
        return menu

    def save(self, name: str) -> None:
        """Keep the present layout; one of the same name is replaced."""
        name = name.strip()[:_MAX_NAME]
        if name:
            self.kept[name] = self._get()
            self._changed()

    def delete(self, name: str) -> None:
        """Forget a kept layout."""
        if self.kept.pop(name, None) is not None:
            self._changed()

    def load(self, name: str) -> None:
        """Take a kept layout."""
        if name in self.kept:
            self._load(self.kept[name])

    def _ask(self) -> None:
        name, accepted = QInputDialog.getText(
            self._parent, "Save plots", "Name of this arrangement of plots:"
        )
        if accepted:
            self.save(name)
