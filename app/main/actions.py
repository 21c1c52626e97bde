"""Every action of the window with its menu and keys, in one table.

Keys follow MuJoCo's viewer where they meet. They sleep while a text field has the focus.
"""

import dataclasses
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

from stroboscope.app.models.overlays import OVERLAYS
from stroboscope.app.panels.key_sheet import KeyGroup, KeyRow

__all__ = ["ACTIONS", "MOUSE", "ActionSpec", "ShortcutGate", "WindowActions"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ActionSpec:
    """One action: ``keys`` are alternatives, the first is shown.

    ``words`` are others that people look for it by.
    """

    name: str
    menu: str
    text: str
    keys: tuple[str, ...] = ()
    tip: str = ""
    checkable: bool = False
    separator: bool = False
    words: str = ""


def _spec(
    menu: str,
    name: str,
    text: str,
    *keys: str,
    tip: str = "",
    checkable: bool = False,
    separator: bool = False,
    words: str = "",
) -> ActionSpec:
    return ActionSpec(
        name=name,
        menu=menu,
        text=text,
        keys=keys,
        tip=tip,
        checkable=checkable,
        separator=separator,
        words=words,
    )


ACTIONS: tuple[ActionSpec, ...] = (
    _spec("Session", "connect", "Connect…", "Ctrl+O", tip="Attach to an application that runs."),
    _spec("Session", "run_script", "Run script…", "Ctrl+R", tip="Run a script with the debugger."),
    _spec("Session", "demos", "Demos"),
    _spec("Session", "take_control", "Take control", separator=True),
    _spec("Session", "reconnect", "Reconnect"),
    _spec("Session", "disconnect", "Disconnect", tip="Leave the shown application; it goes on."),
    _spec(
        "Session",
        "forget_ended",
        "Remove ended applications",
        tip="Take the last states of applications that have ended out of the window.",
    ),
    _spec("Session", "quit", "Quit", "Ctrl+Q", separator=True),
    _spec(
        "Run",
        "play",
        "Play",
        "Space",
        "F5",
        tip="Play or pause what is in scope.",
        words="continue resume stop run",
    ),
    _spec("Run", "fast_forward", "Fast forward", "Shift+Space", checkable=True, words="speed"),
    _spec("Run", "step", "Single step", "Right", "F10", tip="One step of the shown scene."),
    _spec("Run", "step_many", "Step N…", "Ctrl+Shift+Right"),
    _spec("Run", "physics_step", "Physics step", "Shift+Right"),
    _spec("Run", "run_until", "Run until…", "Ctrl+T"),
    _spec("Run", "restore", "Restore initial state", "Backspace", words="reset restart back"),
    _spec("Run", "slower", "Slower", "-", separator=True, words="speed slow motion"),
    _spec("Run", "faster", "Faster", "=", "+", words="speed"),
    _spec("Run", "scope_scene", "Only this scene", checkable=True),
    _spec("View", "next_scene", "Next scene", "PgDown"),
    _spec("View", "previous_scene", "Previous scene", "PgUp"),
    _spec("View", "instant", "NOW / executed step", ".", tip="Which instant of a paused scene."),
    _spec(
        "View", "frame_selection", "Frame selection", "Shift+F", separator=True, words="zoom fit"
    ),
    _spec("View", "frame_all", "Frame everything", "Home", words="zoom fit reset camera"),
    _spec("View", "free_camera", "Free camera", "Esc", tip="Once more: select nothing."),
    _spec("View", "next_camera", "Next camera", "]"),
    _spec("View", "previous_camera", "Previous camera", "["),
    _spec("View", "hide", "Hide or show selection", "Ctrl+H", separator=True),
    _spec("View", "isolate", "Only the selection", "Ctrl+I", tip="Hide all else; again: show it."),
    _spec("View", "show_all", "Show everything", "Ctrl+Shift+H"),
    *(
        _spec(
            "View",
            each.name,
            each.title,
            *each.keys,
            tip=each.tip,
            checkable=True,
            separator=each.group is not before.group or each is before,
            words=each.words,
        )
        for before, each in zip((OVERLAYS[0], *OVERLAYS), OVERLAYS, strict=False)
    ),
    _spec("View", "frames", "Next axes", "F6", separator=True, tip="Of bodies, geoms, sites, …"),
    _spec("View", "labels", "Next labels", "F7", tip="Names of bodies, joints, geoms, …"),
    *(
        _spec(
            "View",
            f"group_{n}",
            f"Geom group {n}",
            str(n),
            checkable=True,
            separator=n == 0,
        )
        for n in range(6)
    ),
    _spec("Window", "panels", "Panels", "Tab", tip="Hide all panels, or show them again."),
    _spec("Window", "theme", "Light theme", checkable=True, words="dark colours colors"),
    _spec("Window", "reset_layout", "Reset layout"),
    _spec("Window", "full_screen", "Full screen", "F11", checkable=True),
    _spec("Window", "picture", "Save picture…", "Ctrl+Shift+P", separator=True, words="screenshot"),
    _spec("Window", "copy_picture", "Copy picture of the scene"),
    _spec("Help", "command_palette", "Command palette…", "Ctrl+P"),
    _spec("Help", "search", "Search in the scene", "Ctrl+F"),
    _spec("Help", "keys", "Keys and mouse", "F1", words="shortcuts hotkeys help"),
    _spec("Help", "about", "About Stroboscope", separator=True),
)

MOUSE: tuple[tuple[str, str], ...] = (
    ("Turn", "left drag"),
    ("Move", "right drag"),
    ("Zoom", "wheel, or middle drag"),
    ("Select", "double-click"),
    ("Look at", "right double-click"),
    ("Track a body", "Ctrl + right double-click"),
    ("Pull the selection", "Ctrl + right drag"),
    ("… horizontally", "Ctrl + Shift + right drag"),
    ("Turn the selection", "Ctrl + left drag"),
    ("Fly", "right button + W A S D Q E"),
)

_SPECS = {spec.name: spec for spec in ACTIONS}
_MENUS = ("Session", "Run", "View", "Window", "Help")


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
        self.menus: dict[str, QMenu] = {}
        self._actions: dict[str, QAction] = {}
        for title in _MENUS:
            self.menus[title] = window.menuBar().addMenu(f"&{title}")
        for spec in ACTIONS:
            action = QAction(spec.text, self)
            action.setCheckable(spec.checkable)
            action.setShortcutContext(Qt.ShortcutContext.WindowShortcut)
            action.triggered.connect(lambda _=False, f=handlers[spec.name]: f())
            menu = self.menus[spec.menu]
            if spec.separator:
                menu.addSeparator()
            menu.addAction(action)
            window.addAction(action)
            self._actions[spec.name] = action
            self._apply_keys(spec)

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

    def _apply_keys(self, spec: ActionSpec) -> None:
        action = self._actions[spec.name]
        chosen = self._chosen.get(spec.name)
        keys = spec.keys if chosen is None else tuple(chosen.split())
        action.setShortcuts([QKeySequence(key) for key in keys])
        shown = action.shortcut().toString()
        hint = f"{spec.text}   {shown}" if shown else spec.text
        action.setToolTip(f"{hint}\n{spec.tip}" if spec.tip else hint)

    # --- lists

    def palette_entries(self) -> list[tuple[str, str, QAction]]:
        """Return what the command palette lists: text, other words to find it by, action."""
        return [
            (
                f"{spec.menu}: {spec.text.rstrip('…')}",
                f"{spec.words} {spec.tip}",
                self._actions[spec.name],
            )
            for spec in ACTIONS
            if spec.name not in ("command_palette", "demos")
        ]

    def key_groups(self) -> tuple[KeyGroup, ...]:
        """Return what the key sheet shows."""
        groups = [
            KeyGroup(
                title,
                tuple(
                    KeyRow(
                        what=spec.text.rstrip("…"),
                        keys="  ".join(self.keys_of(spec.name)),
                        action=spec.name,
                        changed=spec.name in self._chosen,
                    )
                    for spec in ACTIONS
                    if spec.menu == title and spec.name != "demos"
                ),
            )
            for title in _MENUS
        ]
        mouse = tuple(KeyRow(what, how) for what, how in MOUSE)
        return (*groups, KeyGroup("Mouse in the scene", mouse))


def _same_key(key: str, others: tuple[str, ...]) -> bool:
    return any(QKeySequence(key) == QKeySequence(other) for other in others)


_ALWAYS = frozenset({Qt.Key.Key_F1, Qt.Key.Key_F11})
_ARROWS = frozenset(
    {Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Home, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown}
)


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
            elif (
                isinstance(watched, QAbstractItemView)
                and event.key() in _ARROWS
                and event.modifiers() == Qt.KeyboardModifier.NoModifier
            ):
                event.accept()
                return True
        return False


def _is_text_field(widget: QObject) -> bool:
    if isinstance(widget, QComboBox):
        return widget.isEditable()
    return isinstance(widget, QLineEdit | QPlainTextEdit | QTextEdit | QAbstractSpinBox)
