"""From the network thread to the GUI thread: one queued note, one poll, at most 60 a second."""

import time
from collections.abc import Callable

from PySide6.QtCore import QObject, Qt, QTimer, Signal

__all__ = ["Waker"]

_INTERVAL_S = 1.0 / 60.0
_LONG_S = 0.1
"""After a poll that took longer, as much time belongs to whoever uses the window."""


class Waker(QObject):
    """``wake`` may be called on any thread; ``poll`` then runs soon on the GUI thread.

    Idle costs nothing: the timer runs only when something has arrived.
    """

    _woken = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.poll: Callable[[], None] = lambda: None
        self._next = 0.0
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._run)
        self._woken.connect(self._schedule, Qt.ConnectionType.QueuedConnection)

    def wake(self) -> None:
        """Ask for a poll; any thread."""
        self._woken.emit()

    def close(self) -> None:
        """Poll no more."""
        self._timer.stop()
        self.poll = lambda: None

    def _schedule(self) -> None:
        if not self._timer.isActive():
            wait = self._next - time.monotonic()
            self._timer.start(max(0, round(wait * 1000)))

    def _run(self) -> None:
        start = time.monotonic()
        self.poll()
        end = time.monotonic()
        self._next = start + _INTERVAL_S if end - start < _LONG_S else 2 * end - start
