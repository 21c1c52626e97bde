"""Learn of SIGINT and SIGTERM without touching the script's signal handlers.

Threads that the debugger has parked wait without a time limit, so a script that is told to end and
joins its workers would wait for ever. Replacing handlers would change what asyncio and the script
see; Python's wakeup descriptor tells of every signal that has a Python handler and changes nothing.
A signal without one, like SIGTERM as it comes, kills the process as ever.
"""

import contextlib
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable

__all__ = ["SignalWatch", "is_interactive"]

_log = logging.getLogger(__name__)

_SIGNALS = frozenset({signal.SIGINT, signal.SIGTERM})
_JOIN_S = 5.0
_WAKE = b"\0"


class SignalWatch:
    """A sleeping daemon thread that calls ``release(reason)`` when the process is told to end.

    ``release`` is called on that thread, at most once per ``start``. One per process; methods may
    be called from any thread, but Python lets only the main thread take the descriptor: signals
    are seen once ``start`` or ``take_descriptor`` was called there, and never in an interactive
    process, where Ctrl+C ends a statement and not the program.
    """

    def __init__(self, *, release: Callable[[str], None]) -> None:
        self._release = release
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stop_event = threading.Event()
        # (ours, Python's): kept while Python's end is the wakeup descriptor.
        self._sockets: tuple[socket.socket, socket.socket] | None = None
        self._previous_descriptor = -1
        self._has_descriptor = False
        self._armed = False

    @property
    def has_descriptor(self) -> bool:
        """Whether signals reach the watch."""
        return self._has_descriptor

    def start(self) -> None:
        """Begin to watch; harmless while it does."""
        with self._lock:
            ours, _ = self._open()
            self.take_descriptor()
            self._armed = True
            if self._thread is not None and self._thread.is_alive():
                return
            _drain(ours)
            self._stop_event = threading.Event()
            self._thread = threading.Thread(
                target=self._run,
                args=(ours, self._stop_event),
                name="stroboscope-exit-watch",
                daemon=True,
            )
            self._thread.start()

    def stop(self) -> None:
        """End the watch; harmless when called twice.

        The wakeup descriptor goes back to its previous owner when this is the main thread, which
        Python demands; otherwise the next ``stop`` on the main thread does it.
        """
        with self._lock:
            self._armed = False
            returned = self._return_descriptor()
            if self._sockets is None or (not returned and self._previous_descriptor != -1):
                return  # whoever had the descriptor before still needs his signals forwarded
            thread, self._thread = self._thread, None
            self._stop_event.set()
            if thread is not None and thread is not threading.current_thread():
                with contextlib.suppress(OSError):
                    self._sockets[1].send(_WAKE)
                # Ctrl+C may have come while it was started; then it ends by itself.
                if thread.is_alive():
                    thread.join(timeout=_JOIN_S)
            if returned:
                self._close()

    def take_descriptor(self) -> None:
        """Hear of signals from now on if this is the main thread; any thread may ask."""
        if self._has_descriptor or is_interactive() or not _is_main_thread():
            return
        _, pythons = self._open()
        self._has_descriptor = True  # before it is so: a signal may come at once
        try:
            previous = signal.set_wakeup_fd(pythons.fileno(), warn_on_full_buffer=False)
        except ValueError:  # a subinterpreter: no signals there
            self._has_descriptor = False
            return
        if previous != -1 and sys.platform == "win32":
            # A socket there, which can't be written to by number: leave it to its owner.
            signal.set_wakeup_fd(previous)
            self._has_descriptor = False
            return
        self._previous_descriptor = previous

    def forget_parent(self) -> None:
        """In a forked child: leave the parent's socket alone; the thread did not survive."""
        self._lock = threading.Lock()
        self._thread = None
        self._return_descriptor()
        self._close()

    def _open(self) -> tuple[socket.socket, socket.socket]:
        if self._sockets is None:
            ours, pythons = socket.socketpair()
            pythons.setblocking(False)
            self._sockets = ours, pythons
        return self._sockets

    def _close(self) -> None:
        if self._sockets is not None:
            for end in self._sockets:
                end.close()
            self._sockets = None

    def _return_descriptor(self) -> bool:
        """Put the wakeup descriptor back as it was; False when this thread can't."""
        if not self._has_descriptor or self._sockets is None:
            return True
        if not _is_main_thread():
            return False
        self._has_descriptor = False
        current = signal.set_wakeup_fd(self._previous_descriptor)
        if current != self._sockets[1].fileno():
            signal.set_wakeup_fd(current)  # somebody took it after us: theirs to keep
        return True

    def _run(self, end: socket.socket, stop: threading.Event) -> None:
        while not stop.is_set():
            reason = self._wait(end)
            if reason and self._armed and not stop.is_set():
                self._armed = False
                try:
                    self._release(reason)
                except Exception:  # noqa: BLE001 - a daemon thread must say it, not die of it
                    _log.exception("releasing the parked threads failed")

    def _wait(self, end: socket.socket) -> str:
        """Sleep until something comes; return what a signal means."""
        try:
            numbers = end.recv(256).replace(_WAKE, b"")
        except OSError:
            return ""  # closed while waiting
        if numbers and self._previous_descriptor != -1:
            # Hand them on to whoever had the descriptor before (asyncio).
            with contextlib.suppress(OSError):
                os.write(self._previous_descriptor, numbers)
        for number in numbers:
            if number in _SIGNALS:
                return f"the process received {signal.Signals(number).name}"
        return ""


def _drain(end: socket.socket) -> None:
    """Forget signals that came while nobody was watching."""
    end.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while end.recv(256):
            pass
    end.setblocking(True)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def is_interactive() -> bool:
    """Return whether somebody types into this process, where Ctrl+C ends a statement only."""
    return bool(sys.flags.interactive) or hasattr(sys, "ps1")
