"""Somebody who clicks, drags, turns wheels and types anywhere, and notices when that hurts.

Every event enters where the window system's own would (at the QWindow), so that menus, dialogs,
drags and shortcuts see what they see in life. The monkey lives on a timer: event loops that its
own actions start (a modal dialog, a drag out of a table) are loops it goes on in.
"""

import collections
import faulthandler
import gc
import logging
import random
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import shiboken6
from PySide6.QtCore import (
    QEvent,
    QPoint,
    QRect,
    Qt,
    QTimer,
    QtMsgType,
    qInstallMessageHandler,
)
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence, QWindow
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QWidget

from stroboscope.app.main.action_table import ACTIONS
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.session_finder import find_sessions
from stroboscope.debugger_protocol.messages import LogLevel

__all__ = ["Ears", "Monkey"]

TICK_MS = 2
# Ticks that may pass inside one event before it must have started an event loop of its own.
PATIENCE = 15
# How long fifty actions may take [s], however busy the machine is.
QUIET_S = 300.0
# What QTest says of drags that leave the window, as people's do.
_OF_THE_TEST = "occurs outside target window"
# What is said of files and sizes that the monkey wants in vain: nothing has broken.
_NO_FOLDER = "no such folder"
_IN_VAIN = (_NO_FOLDER, "pixels; at most", "not its numbers")
_PRESS, _RELEASE, _DOUBLE, _MOVE = (
    QTest.MouseAction.MousePress,
    QTest.MouseAction.MouseRelease,
    QTest.MouseAction.MouseDClick,
    QTest.MouseAction.MouseMove,
)
_NO = Qt.KeyboardModifier.NoModifier
_CONTROL, _SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
_MODIFIERS = (_NO, _NO, _NO, _CONTROL, _SHIFT, _CONTROL | _SHIFT)
_LEFT, _RIGHT, _MIDDLE = (
    Qt.MouseButton.LeftButton,
    Qt.MouseButton.RightButton,
    Qt.MouseButton.MiddleButton,
)
_BUTTONS = (_LEFT, _LEFT, _LEFT, _RIGHT, _MIDDLE)
_KEYS = tuple(QKeySequence(key) for spec in ACTIONS for key in spec.keys)
_PLAIN_KEYS = (
    Qt.Key.Key_Escape,
    Qt.Key.Key_Return,
    Qt.Key.Key_Tab,
    Qt.Key.Key_Backtab,
    Qt.Key.Key_Space,
    Qt.Key.Key_Up,
    Qt.Key.Key_Down,
    Qt.Key.Key_Left,
    Qt.Key.Key_Right,
    Qt.Key.Key_Home,
    Qt.Key.Key_End,
    Qt.Key.Key_PageUp,
    Qt.Key.Key_PageDown,
    Qt.Key.Key_Delete,
    Qt.Key.Key_Backspace,
    Qt.Key.Key_F2,
    Qt.Key.Key_A,
    Qt.Key.Key_Menu,
)
_TEXTS = (
    "0.5",
    "-1e308",
    "nan",
    "inf",
    "1e-9",
    "",
    "knee",
    "qpos[0] - ctrl[0]",
    "norm(contact[0,1].force",
    "<b>bold</b><img src=x>",
    "%s %d & && \N{GREEK SMALL LETTER MU} \N{LEFT-TO-RIGHT OVERRIDE}",
    "x" * 300,
)


class Ears:
    """Hears of everything that went wrong anywhere in this process; ``heard`` has it in words."""

    def __init__(self, log: Any) -> None:
        self.heard: list[str] = []
        self._log = log
        self._hooks = (sys.excepthook, sys.unraisablehook, threading.excepthook)
        self._handler = logging.Handler(logging.ERROR)

    def __enter__(self) -> "Ears":
        before, _, before_threads = self._hooks

        def hook(kind: Any, error: Any, trace: Any) -> None:
            self._note("exception", "".join(traceback.format_exception(kind, error, trace)))
            before(kind, error, trace)

        def unraisable(event: Any) -> None:
            text = "".join(traceback.format_exception(event.exc_value))
            self._note("unraisable", f"{event.err_msg} {event.object!r}: {text}")

        def thread_hook(event: Any) -> None:
            text = "".join(traceback.format_exception(event.exc_value))
            self._note("thread", text)
            before_threads(event)

        sys.excepthook, sys.unraisablehook, threading.excepthook = hook, unraisable, thread_hook
        self._handler.emit = lambda record: self._note(  # type: ignore[method-assign]
            "logging", f"{record.name}: {record.getMessage()}"
        )
        logging.getLogger().addHandler(self._handler)
        self._qt_before = qInstallMessageHandler(self._on_qt)
        self._log.added.connect(self._on_line)
        return self

    def __exit__(self, *_: object) -> None:
        gc.collect()
        self._log.added.disconnect(self._on_line)
        qInstallMessageHandler(self._qt_before)
        logging.getLogger().removeHandler(self._handler)
        sys.excepthook, sys.unraisablehook, threading.excepthook = self._hooks

    def _note(self, what: str, text: str) -> None:
        self.heard.append(f"{what}: {text}")

    def _on_qt(self, kind: QtMsgType, _context: Any, text: str) -> None:
        if kind in (QtMsgType.QtDebugMsg, QtMsgType.QtInfoMsg) or _OF_THE_TEST in text:
            return
        self._note("Qt", text)

    def _on_line(self, line: Any) -> None:
        # The window's own problems have no source; an application's refusals name it.
        in_vain = any(words in line.text for words in _IN_VAIN)
        if line.level is LogLevel.ERROR and not line.source and not in_vain:
            self._note("the window's log", line.text)


class Monkey:
    """Does ``count`` random things in the window; ``done`` holds the last ones in words."""

    def __init__(self, desktop: Any, *, seed: int, folder: Path) -> None:
        self.random = random.Random(seed)
        self.done: collections.deque[str] = collections.deque(maxlen=25)
        self.acted = 0
        self.slowest = (0.0, "")
        self._desktop = desktop
        self._window = desktop.window
        self._folder = folder
        self._goal = 0
        self._acting = 0
        # The dialog that was open when each action began that is not over.
        self._modals: list[QWidget | None] = []
        self._skipped = 0
        self._kept: collections.deque[QWidget] = collections.deque(maxlen=10)
        # What is left of a drag: in a loop of its own (QDrag) it ends there.
        self._held: collections.deque[tuple[Any, ...]] = collections.deque()
        self._acts = False
        self._timer = QTimer()
        self._timer.setSingleShot(True)
        self._timer.setInterval(TICK_MS)
        self._timer.timeout.connect(self._tick)
        self._ways: tuple[tuple[int, Callable[[], str]], ...] = (
            (22, self._click),
            (7, self._double_click),
            (14, self._start_drag),
            (9, self._wheel),
            (8, self._type),
            (16, self._press_key),
            (14, self._trigger),
            (5, self._select),
            (3, self._resize),
            (2, self._switch_scene),
        )

    def act(self, count: int, *, stop: Callable[[], object], deadline_s: float) -> None:
        """Do ``count`` more things, unless ``stop()``; then close every dialog."""
        self._goal += count
        self._stop = stop
        # By the clock every window hangs on a busy machine: what it has is processor time, and by
        # the clock only so long for fifty actions. One that waits for ever uses no time.
        busy_end, acted, since = time.process_time() + deadline_s, self.acted, time.monotonic()
        self._acts = True
        self._arm()
        app = QApplication.instance()
        # Says where the window hangs, when it does.
        faulthandler.dump_traceback_later(QUIET_S, file=sys.__stderr__)
        while self.acted < self._goal and not stop() and time.process_time() < busy_end:
            if self.acted >= acted + 50:
                acted, since = self.acted, time.monotonic()
                faulthandler.dump_traceback_later(QUIET_S, file=sys.__stderr__)
            elif time.monotonic() > since + QUIET_S:
                break
            app.processEvents()
            app.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
            # Bounded by the deadline; the network thread needs its turns.
            threading.Event().wait(0.001)
        faulthandler.cancel_dump_traceback_later()
        self._acts = False
        self._timer.stop()
        self._let_go()
        assert stop() or self.acted >= self._goal, (
            f"stuck after {self.acted} actions: {list(self.done)}"
        )

    # --- the pace

    def _arm(self) -> None:
        # A timer that repeats is silent while its own slot runs an event loop.
        self._timer.start()

    def _tick(self) -> None:
        if not self._acts:
            return
        self._arm()
        if self._acting:
            # An event is being handled: go on only if it runs an event loop of its own. QTest looks
            # for events between the keys of Ctrl+Shift+A, too, and may not lose the window there.
            self._skipped += 1
            if QApplication.activeModalWidget() in (None, *self._modals) and (
                self._skipped < PATIENCE
            ):
                return
        self._skipped = 0
        if self.acted >= self._goal or self._stop():
            self._let_go()
            return
        self._acting += 1
        self._modals.append(QApplication.activeModalWidget())
        start = time.monotonic()
        nested = self._acting
        try:
            text = self._one()
        finally:
            self._acting -= 1
            self._modals.pop()
        took = time.monotonic() - start
        if nested == 1 and took > self.slowest[0] and "modal" not in text:
            self.slowest = (took, text)

    def _one(self) -> str:
        if self._held:
            self._drag_on()
            return "dragging"
        self.acted += 1
        if self._desktop.sessions.shown is None and self.random.random() < 0.3:
            self._come_back()
        modal = QApplication.activeModalWidget()
        if modal is not None and self.random.random() < 0.25:
            text = self._key(modal.windowHandle(), Qt.Key.Key_Escape, _NO)
        else:
            weights, ways = zip(*self._ways, strict=True)
            self.done.append("…")
            text = self.random.choices(ways, weights)[0]()
            self.done.pop()
        self.done.append(f"{self.acted}: {text}")
        return text

    def _let_go(self) -> None:
        """Release the mouse and close what is modal or pops up."""
        while self._held:
            self._drag_on()
        for _ in range(20):
            above = QApplication.activePopupWidget() or QApplication.activeModalWidget()
            if above is None:
                return
            above.close()

    def _come_back(self) -> None:
        for found in find_sessions()[0]:
            self._desktop.sessions.open(found.path)

    # --- where

    def _target(self) -> tuple[QWindow, QPoint]:
        """Choose a window that a person could reach, and a point in it."""
        top = self._reachable()
        # Shiboken drops its word for a window with that for the widget it came from.
        self._kept.append(top)
        if self.random.random() < 0.4:
            point = QPoint(
                self.random.randrange(max(top.width(), 1)),
                self.random.randrange(max(top.height(), 1)),
            )
        else:
            point = self._in_some_widget(top)
        return top.windowHandle(), point

    def _reachable(self) -> QWidget:
        popup, modal = QApplication.activePopupWidget(), QApplication.activeModalWidget()
        for above in (popup, modal):
            if above is not None and above.windowHandle() is not None and self._often():
                return above
        tops = [
            widget
            for widget in QApplication.topLevelWidgets()
            if widget.isVisible() and widget.windowHandle() is not None and widget is not popup
        ]
        if modal is not None:
            return modal
        if self._window.isVisible() and self.random.random() < 0.7:
            return self._window
        return self.random.choice(tops) if tops else self._window

    def _often(self) -> bool:
        return self.random.random() < 0.85

    def _in_some_widget(self, top: QWidget) -> QPoint:
        """A point in a widget chosen by its class first: a hundred labels count as one button."""
        by_class: dict[str, list[QWidget]] = {}
        for widget in top.findChildren(QWidget):
            if (
                widget.isVisible()
                and widget.window() is top
                and not widget.visibleRegion().isEmpty()
            ):
                by_class.setdefault(type(widget).__name__, []).append(widget)
        if not by_class:
            return QPoint(top.width() // 2, top.height() // 2)
        widget = self.random.choice(by_class[self.random.choice(sorted(by_class))])
        seen: QRect = widget.visibleRegion().boundingRect()
        inside = QPoint(
            seen.x() + self.random.randrange(max(seen.width(), 1)),
            seen.y() + self.random.randrange(max(seen.height(), 1)),
        )
        return widget.mapTo(top, inside)

    def _say(self, what: str, window: QWindow, point: QPoint) -> str:
        top = next((w for w in QApplication.topLevelWidgets() if w.windowHandle() is window), None)
        under = top.childAt(point) if top is not None else None
        names = f"{type(top).__name__} > {type(under).__name__}"
        return f"{what} at {point.x()},{point.y()} of {names}"

    # --- what

    def _click(self) -> str:
        window, point = self._target()
        button, modifier = self.random.choice(_BUTTONS), self.random.choice(_MODIFIERS)
        text = self._say(f"click {button.name} {modifier}", window, point)
        self._mouse(window, (_PRESS, _RELEASE), button, modifier, point)
        return text

    def _double_click(self) -> str:
        window, point = self._target()
        button, modifier = self.random.choice(_BUTTONS), self.random.choice(_MODIFIERS)
        text = self._say(f"double-click {button.name} {modifier}", window, point)
        self._mouse(window, (_PRESS, _RELEASE, _DOUBLE, _RELEASE), button, modifier, point)
        return text

    def _start_drag(self) -> str:
        window, point = self._target()
        button, modifier = self.random.choice(_BUTTONS), self.random.choice(_MODIFIERS)
        reach = self.random.choice((4, 40, 400))
        steps = [
            QPoint(self.random.randint(-reach, reach), self.random.randint(-reach, reach))
            for _ in range(self.random.randint(1, 6))
        ]
        text = self._say(f"drag {button.name} {modifier} by {reach}", window, point)
        self._mouse(window, (_PRESS,), button, modifier, point)
        at = point
        for step in steps:
            at = at + step
            self._held.append((window, _MOVE, Qt.MouseButton.NoButton, modifier, at))
        self._held.append((window, _RELEASE, button, modifier, at))
        return text

    def _drag_on(self) -> None:
        window, event, *rest = self._held.popleft()
        self._mouse(window, (event,), *rest)

    def _mouse(
        self,
        window: QWindow,
        events: tuple[QTest.MouseAction, ...],
        button: Qt.MouseButton,
        modifier: Qt.KeyboardModifier,
        at: QPoint,
    ) -> None:
        for event in events:
            # A floating panel that docks takes its window with it.
            if shiboken6.isValid(window) and window.isVisible():
                QTest.mouseEvent(event, window, button, modifier, at)

    def _wheel(self) -> str:
        window, point = self._target()
        turn = self.random.choice((-120, 120, 360, -1200, 15))
        text = self._say(f"wheel {turn}", window, point)
        self.done.append(text)
        QTest.wheelEvent(
            window, point.toPointF(), QPoint(0, turn), QPoint(), self.random.choice(_MODIFIERS)
        )
        self.done.pop()
        return text

    def _type(self) -> str:
        text = self.random.choice(_TEXTS)
        widget = QApplication.focusWidget() or self._window
        for char in text:
            for kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):
                target = QApplication.focusWidget() or widget
                QApplication.sendEvent(target, QKeyEvent(kind, 0, _NO, char))
        return f"type {text[:40]!r} into {type(widget).__name__}"

    def _press_key(self) -> str:
        window = QApplication.focusWindow() or self._window.windowHandle()
        popup = QApplication.activePopupWidget()
        if popup is not None and window is popup.windowHandle():
            # A window system sends keys to the window below; one sent to a menu itself crashes Qt.
            window = window.transientParent() or self._window.windowHandle()
        if self.random.random() < 0.5:
            chosen = self.random.choice(_KEYS)[0]
            return self._key(window, chosen.key(), chosen.keyboardModifiers())
        modifier = self.random.choice(_MODIFIERS)
        return self._key(window, self.random.choice(_PLAIN_KEYS), modifier)

    def _key(self, window: QWindow, key: Qt.Key, modifier: Qt.KeyboardModifier) -> str:
        text = f"key {modifier} {key.name} (modal: {QApplication.activeModalWidget()})"
        self.done.append(text)
        for press in (QTest.keyPress, QTest.keyRelease):
            # The press may close its window.
            if shiboken6.isValid(window) and window.isVisible():
                press(window, key, modifier)
        self.done.pop()
        return text

    def _trigger(self) -> str:
        """What choosing an entry of a menu does, without the way through the menus."""
        actions = self._window.findChildren(QAction)
        actions += self._window.panels.actions.values()
        usable = [a for a in actions if a.isEnabled() and a.isVisible() and a.menu() is None]
        if not usable or QApplication.activeModalWidget() is not None:
            return "no entry"
        action = self.random.choice(usable)
        text = f"entry {action.text()!r} (modal or not)"
        self.done.append(text)
        action.trigger()
        self.done.pop()
        return text

    def _select(self) -> str:
        shown = self._desktop.sessions.shown
        if shown is None or shown.description is None:
            return "nothing to select"
        kind = self.random.choice(list(ElementKind))
        element = Element(kind, self.random.choice((0, 0, 1, 2, 5)))
        known = getattr(shown.description, f"{kind.value}s", ())
        if element.index >= len(known):
            return "nothing to select"
        self._desktop.sessions.selection.select(element)
        return f"select {element}"

    def _resize(self) -> str:
        size = self.random.choice(((640, 400), (1280, 720), (1900, 1100), (900, 1000)))
        if not self._window.isFullScreen():
            self._window.resize(*size)
        return f"resize to {size}"

    def _switch_scene(self) -> str:
        self._desktop.sessions.show_neighbour(self.random.choice((-1, 1, 7)))
        return "another scene"


def stub_exits(monkeypatch: Any, window: Any, monkey_random: random.Random, folder: Path) -> None:
    """Keep the monkey in the test: no end of the window, no other programs, no system dialogs."""

    def answer(*_: object, **__: object) -> tuple[str, str]:
        name = monkey_random.choice(("", "a.png", "b.csv", f"{_NO_FOLDER}/c.npz", "d.mp4"))
        return (str(folder / name) if name else "", "")

    monkeypatch.setattr(window, "close", lambda: False)
    monkeypatch.setattr(window.processes, "start", lambda *_: None)
    for name in ("getSaveFileName", "getOpenFileName"):
        monkeypatch.setattr(QFileDialog, name, answer)
