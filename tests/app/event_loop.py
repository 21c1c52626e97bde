"""Waiting in the event loop of a real window, and choosing what it offers."""

import threading
import time
from collections.abc import Callable
from typing import Any

__all__ = ["DEADLINE_S", "trigger", "wait_in_loop"]

# Nobody waits so long but on a busy machine: a test that passes ends as soon as it can.
DEADLINE_S = 60.0


def wait_in_loop(condition: Callable[[], object], application: Any, deadline_s: float) -> bool:
    """Run the event loop until ``condition()``; return whether it came true in time.

    What it looks up may be about to come: a row of a table that is refreshed a few times a second.
    """
    from PySide6.QtCore import QEvent, QEventLoop

    end = time.monotonic() + deadline_s
    while True:
        application.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 20)
        application.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
        try:
            if condition():
                return True
        except LookupError:
            if time.monotonic() > end:
                raise
        if time.monotonic() > end:
            return False
        # Bounded by the deadline above; lets other threads run between two looks.
        threading.Event().wait(0.005)


def trigger(action: Any) -> None:
    """Choose an action as a user does who waits until it can be chosen: else nothing happens."""
    from PySide6.QtWidgets import QApplication

    application = QApplication.instance()
    if not action.isEnabled():  # else no event may come between: a menu of the moment goes with one
        assert wait_in_loop(action.isEnabled, application, DEADLINE_S), f"{action.text()} is grey"
    action.trigger()
