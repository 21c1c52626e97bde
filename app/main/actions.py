"""The window's actions in its menus, with keys that people may change.

Keys sleep while a text field has the focus.
"""

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QAbstractItemView,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QLineEdit,
    QMainWindow,
    QMenu,
    QPlainTextEdit,
    QTextEdit,
    QWidget,
)

from stroboscope.app.main.action_table import (
    ACTIONS,
    MENUS,
    MOUSE,
    NAMED_SUBMENUS,
    ActionSpec,
)
from stroboscope.app.panels.key_sheet import KeyGroup, KeyRow

__all__ = ["ShortcutGate", "WindowActions"]


_SPECS = {spec.name: spec for spec in ACTIONS}
# Menus and their submenus ("Show/Contacts"), in the order of the table.
_PLACES = tuple(dict.fromkeys(spec.menu for spec in ACTIONS))


class WindowActions(QObject):
    """The actions by name, connected to ``handlers``, in the window's menus.

    ``shortcuts`` maps names of actions to other keys than those of the table, separated by spaces;
    "" takes them away. It is kept up to date when keys are changed.
    """

    def __init__(
        self,
        window: QMainWindow,
        handlers: dict[str, Callable[[], None]],
        *,
        shortcuts: dict[str, str] | None = None,
    ) -> None:
        super().__init__(window)
        self._chosen = shortcuts if shortcuts is not None else {}
        self._titles: dict[str, str] = {}
        self.menus: dict[str, QMenu] = {}
        self._actions: dict[str, QAction] = {}
        for title in MENUS:
            self.menus[title] = window.menuBar().addMenu(f"&{title}")
        for spec in ACTIONS:
            action = QAction(spec.text, self)
            action.setCheckable(spec.checkable)
            action.setShortcutContext(Qt.ShortcutContext.WindowShortcut)
            action.triggered.connect(lambda _=False, f=handlers[spec.name]: f())
            menu = self.menu(spec.menu)
            if spec.separator:
                menu.addSeparator()
            menu.addAction(action)
            window.addAction(action)
            self._actions[spec.name] = action
            self._apply_keys(spec)

    def menu(self, place: str) -> QMenu:
        """Return a menu, or a submenu named as in ``Show/Contacts``."""
        if place not in self.menus:
            above, _, title = place.rpartition("/")
            self.menus[place] = self.menus[above].addMenu(title)
        return self.menus[place]

    def __getitem__(self, name: str) -> QAction:
        """Return an action."""
        return self._actions[name]

    # --- keys

    def keys_of(self, name: str) -> tuple[str, ...]:
        """Return the keys of an action, as in ``Ctrl+P``."""
        return tuple(key.toString() for key in self._actions[name].shortcuts())

    def change_key(self, name: str, key: str | None) -> str:
        """Give an action another key ("": none, None: those of the table).

        Whoever had it loses it; the answer says who, "" when nobody did.
        """
        spec = _SPECS[name]
        wanted = spec.keys if key is None else (key,) if key else ()
        losers = []
        for other in ACTIONS:
            kept = [k for k in self.keys_of(other.name) if not _same_key(k, wanted)]
            if other.name != name and len(kept) < len(self.keys_of(other.name)):
                losers.append(f"“{other.text.rstrip('…')}”")
                self._choose(other, tuple(kept))
        self._choose(spec, wanted)
        if not losers:
            return ""
        return f"{', '.join(wanted)} was a key of {' and '.join(losers)} and is not any more."

    def reset_keys(self) -> None:
        """Give every action the keys of the table."""
        self._chosen.clear()
        for spec in ACTIONS:
            self._apply_keys(spec)

    def _choose(self, spec: ActionSpec, keys: tuple[str, ...]) -> None:
        if keys == spec.keys:
            self._chosen.pop(spec.name, None)
        else:
            self._chosen[spec.name] = " ".join(keys)
        self._apply_keys(spec)

    def set_title(self, name: str, title: str | None) -> None:
        """Say in an action's tip what it does now; None: what stands in the table."""
        if title is None:
            self._titles.pop(name, None)
        else:
            self._titles[name] = title
        self._apply_keys(_SPECS[name])

    def _apply_keys(self, spec: ActionSpec) -> None:
        action = self._actions[spec.name]
        chosen = self._chosen.get(spec.name)
        keys = spec.keys if chosen is None else tuple(chosen.split())
        action.setShortcuts([QKeySequence(key) for key in keys])
        shown = action.shortcut().toString()
        title = self._titles.get(spec.name, spec.text)
        hint = f"{title}   {shown}" if shown else title
        action.setToolTip(f"{hint}\n{spec.tip}" if spec.tip else hint)

    # --- lists

    def palette_entries(self) -> list[tuple[str, str, QAction]]:
        """Return what the command palette lists: text, other words to find it by, action."""
        return [
            (
                f"{spec.menu.partition('/')[0]}: {_whole_text(spec)}",
                f"{spec.words} {spec.tip}",
                self._actions[spec.name],
            )
            for spec in ACTIONS
            if spec.name not in ("command_palette", "demos")
            and self._actions[spec.name].isVisible()
        ]

    def key_groups(self) -> tuple[KeyGroup, ...]:
        """Return what the key sheet shows."""
        groups = [
            KeyGroup(
                place.rpartition("/")[2],
                tuple(
                    KeyRow(
                        what=spec.text.rstrip("…"),
                        keys="  ".join(self.keys_of(spec.name)),
                        action=spec.name,
                        changed=spec.name in self._chosen,
                    )
                    for spec in ACTIONS
                    if spec.menu == place and spec.name != "demos"
                ),
            )
            for place in _PLACES
        ]
        mouse = tuple(KeyRow(what, how) for what, how in MOUSE)
        return (KeyGroup("Mouse in the scene", mouse), *groups)


def _whole_text(spec: ActionSpec) -> str:
    """Return an action's text as it is understood outside its submenu."""
    text, title = spec.text.rstrip("…"), spec.menu.rpartition("/")[2]
    return f"{title}: {text}" if title in NAMED_SUBMENUS else text


def _same_key(key: str, others: tuple[str, ...]) -> bool:
    return any(QKeySequence(key) == QKeySequence(other) for other in others)


_ALWAYS = frozenset({Qt.Key.Key_F1, Qt.Key.Key_F11})
_ARROWS = frozenset(
    {Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Home, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown}
)
_EDITING = frozenset({Qt.Key.Key_F2, Qt.Key.Key_Return, Qt.Key.Key_Enter})


class ShortcutGate(QObject):
    """Keeps shortcuts from taking keys that the focused text field or list needs.

    Qt asks the focused widget first (ShortcutOverride); only that widget is filtered, so the rest
    of the application pays nothing.
    """

    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        self._app = app
        app.focusChanged.connect(self._on_focus)

    def _on_focus(self, old: QWidget | None, new: QWidget | None) -> None:
        if old is not None and old is not new:
            old.removeEventFilter(self)
        if new is not None:
            new.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Accept what the widget needs; then Qt sends it as a key press instead."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            if _is_text_field(watched):
                control = event.modifiers() & Qt.KeyboardModifier.ControlModifier
                passes = event.key() in _ALWAYS or (control and event.key() == Qt.Key.Key_P)
                if not passes:
                    event.accept()
                    return True
            elif event.modifiers() == Qt.KeyboardModifier.NoModifier and (
                (event.key() in _ARROWS and isinstance(watched, QAbstractItemView))
                or (event.key() in _EDITING and _edits(watched))
            ):
                event.accept()
                return True
        return False


def _edits(widget: QObject) -> bool:
    """Return whether F2 means to edit something there."""
    return isinstance(widget, QAbstractItemView) or bool(widget.property("edits"))


def _is_text_field(widget: QObject) -> bool:
    if isinstance(widget, QComboBox):
        return widget.isEditable()
    return isinstance(widget, QLineEdit | QPlainTextEdit | QTextEdit | QAbstractSpinBox)
