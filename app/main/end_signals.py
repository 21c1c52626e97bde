"""SIGINT and SIGTERM close the window as a click on its corner does."""

import signal
import socket
from collections.abc import Callable
from types import FrameType

from PySide6.QtCore import QObject, QSocketNotifier

__all__ = ["EndSignals"]


class EndSignals(QObject):
    """Calls ``close`` on the GUI thread when the process is asked to end.

    Python handles signals only between bytecodes, and a resting Qt event loop runs none; the
    wake-up descriptor makes the loop look. Main thread only; ``stop`` puts everything back.
    """

    def __init__(self, close: Callable[[], object], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._close = close
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        self._old_descriptor = signal.set_wakeup_fd(
            self._writer.fileno(), warn_on_full_buffer=False
        )
        self._notifier = QSocketNotifier(self._reader.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._on_wake)
        self._old = {
            number: signal.signal(number, self._on_signal)
            for number in (signal.SIGINT, signal.SIGTERM)
        }

    def stop(self) -> None:
        """Put the old handlers back."""
        self._notifier.setEnabled(False)
        signal.set_wakeup_fd(self._old_descriptor)
        for number, handler in self._old.items():
            signal.signal(number, handler)
        self._reader.close()
        self._writer.close()

    def _on_wake(self) -> None:
        """Close here, between events: a handler may run in the middle of a paint."""
        try:
            numbers = self._reader.recv(64)
        except OSError:
            return
        if any(number in self._old for number in numbers):
            self._close()

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        """Nothing: the number is on its way through the socket."""
