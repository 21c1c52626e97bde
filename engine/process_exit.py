"""Find out that a process wants to end while the debugger keeps threads of it parked.

A parked ``step()`` waits without a time limit, so a main thread that joins its workers on the way
out would wait for ever; ``atexit`` runs only after that join. :class:`ExitWatch` sees it from
outside: SIGINT and SIGTERM through Python's wakeup descriptor, which leaves every signal handler
as the script set it, and the main thread's way out by looking at its stack.
"""

import contextlib
import dataclasses
import logging
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType

__all__ = ["ExitWatch", "Leaving", "main_thread_is_leaving"]

_log = logging.getLogger(__name__)

_SIGNALS = frozenset({signal.SIGINT, signal.SIGTERM})
# A release must follow within 100 ms; looking costs about ten microseconds.
_POLL_PARKED_S = 0.02
_POLL_S = 0.25
_JOIN_S = 5.0
_WAKE = b"\0"
_ENDED = "the main thread has ended"
_SHUTDOWN_CODE = getattr(threading, "_shutdown").__code__  # noqa: B009 - private, but stable
_JOIN_CODE = threading.Thread.join.__code__


@dataclasses.dataclass(frozen=True, slots=True)
class Leaving:
    """Why the main thread seems to be on its way out, and where it stands.

    A thread that waits is seen at the same ``position`` again; one that only passes is not.
    """

    reason: str
    position: tuple[int, int] = (0, 0)


def main_thread_is_leaving() -> Leaving | None:
    """Return why the main thread won't come back to the script, or None when it may; any thread.

    It is on its way out when it has ended, when the interpreter is shutting down, or when an
    exception has left a block whose end waits for something (``with ThreadPoolExecutor``).
    """
    main = threading.main_thread()
    if main.ident == threading.get_ident():
        return None
    frame = sys._current_frames().get(main.ident or 0)
    if frame is None or not main.is_alive():
        return Leaving(_ENDED)
    reason = _why_leaving(frame, main.ident or 0)
    if not reason:
        return None
    return Leaving(reason) if reason == _ENDED else Leaving(reason, (id(frame), frame.f_lasti))


def _why_leaving(innermost: FrameType, ident: int) -> str:
    joins = False
    in_engine = False
    for frame in _outwards(innermost):
        if frame.f_code is _SHUTDOWN_CODE:
            return _ENDED
        joins = joins or frame.f_code is _JOIN_CODE
        # A main thread that steps, or is parked, inside an `__exit__` waits for nobody else.
        in_engine = in_engine or str(frame.f_globals.get("__name__")).startswith("stroboscope.")
        error = None if in_engine else _error_of_exit(frame)
        if error is not None:
            return f"the main thread is leaving a `with` block on {error.__name__}"
    if joins:
        # `finally: worker.join()` after Ctrl+C or sys.exit(); other exceptions are no sign, since
        # a program may well live inside an `except` block.
        error = _exception_in_flight(ident)
        if error is not None and issubclass(error, KeyboardInterrupt | SystemExit):
            return f"the main thread is ending on {error.__name__}"
    return ""


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _error_of_exit(frame: FrameType) -> type[BaseException] | None:
    """Return the exception class that ``frame``, an ``__exit__`` method, was called with."""
    code = frame.f_code
    if code.co_name != "__exit__" or code.co_argcount + bool(code.co_flags & 0x04) < 2:
        return None
    # The first argument after self; `*args` stands there too when that is how it is written.
    name = code.co_varnames[1]
    value = frame.f_locals.get(name)
    if isinstance(value, tuple) and value:
        value = value[0]
    return value if isinstance(value, type) and issubclass(value, BaseException) else None


def _exception_in_flight(ident: int) -> type[BaseException] | None:
    # (type, value, traceback) in 3.11, the exception itself from 3.12 on.
    current: object = sys._current_exceptions().get(ident)
    if isinstance(current, tuple):
        current = current[1]
    return type(current) if isinstance(current, BaseException) else None


class ExitWatch:
    """A sleeping daemon thread that calls ``release(reason)`` when the process wants to end.

    ``release`` is called on that thread, at most once per ``start``. ``is_parked`` says whether
    any thread is parked: only then does the main thread's end matter, since a process whose main
    thread has ended while others go on stepping is well and alive. One per process; methods may
    be called from any thread. Signals are watched when ``start`` or ``watch_signals`` is called on
    the main thread of a process that is not interactive (where Ctrl+C ends a statement only).
    """

    def __init__(self, *, release: Callable[[str], None], is_parked: Callable[[], bool]) -> None:
        self._release = release
        self._is_parked = is_parked
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stop_event = threading.Event()
        # (ours, Python's): kept while Python's end is the wakeup descriptor.
        self._sockets: tuple[socket.socket, socket.socket] | None = None
        self._previous_descriptor = -1
        self._watches_signals = False

    @property
    def watches_signals(self) -> bool:
        """Whether SIGINT and SIGTERM reach the watch."""
        return self._watches_signals

    def start(self) -> None:
        """Begin to watch; harmless while it does."""
        with self._lock:
            self.watch_signals()
            if self._thread is not None:
                return
            ours, _ = self._open()
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
            thread, self._thread = self._thread, None
            self._stop_event.set()
            returned = self._return_signals()
            if self._sockets is None:
                return
            if thread is not None and thread is not threading.current_thread():
                with contextlib.suppress(OSError):
                    self._sockets[1].send(_WAKE)
                thread.join(timeout=_JOIN_S)
            if returned:
                self._close()

    def watch_signals(self) -> None:
        """Watch signals from now on if this is the main thread; any thread may ask."""
        if self._watches_signals or _is_interactive() or not _is_main_thread():
            return
        _, pythons = self._open()
        try:
            previous = signal.set_wakeup_fd(pythons.fileno(), warn_on_full_buffer=False)
        except ValueError:  # a subinterpreter: no signals there
            return
        if previous != -1 and sys.platform == "win32":
            # A socket there, which can't be written to by number: leave it to its owner.
            signal.set_wakeup_fd(previous)
            return
        self._previous_descriptor = previous
        self._watches_signals = True

    def forget_parent(self) -> None:
        """In a forked child: leave the parent's socket alone; the thread did not survive."""
        self._lock = threading.Lock()
        self._thread = None
        self._return_signals()
        self._close()

    def _open(self) -> tuple[socket.socket, socket.socket]:
        if self._sockets is None:
            ours, pythons = socket.socketpair()
            ours.setblocking(False)
            pythons.setblocking(False)
            self._sockets = ours, pythons
        return self._sockets

    def _close(self) -> None:
        if self._sockets is not None:
            for end in self._sockets:
                end.close()
            self._sockets = None

    def _return_signals(self) -> bool:
        """Put the wakeup descriptor back as it was; False when this thread can't."""
        if not self._watches_signals or self._sockets is None:
            return True
        if not _is_main_thread():
            return False
        self._watches_signals = False
        current = signal.set_wakeup_fd(self._previous_descriptor)
        if current != self._sockets[1].fileno():
            signal.set_wakeup_fd(current)  # somebody took it after us: theirs to keep
        return True

    def _run(self, end: socket.socket, stop: threading.Event) -> None:
        before: Leaving | None = None
        while not stop.is_set():
            reason = self._signal_reason(end)
            leaving = main_thread_is_leaving() if self._is_parked() else None
            if leaving is not None and (leaving == before or leaving.reason == _ENDED):
                reason = reason or leaving.reason
            before = leaving
            if reason and not stop.is_set():
                try:
                    self._release(reason)
                except Exception:  # noqa: BLE001 - a daemon thread must say it, not die of it
                    _log.exception("releasing the parked threads failed")
                return

    def _signal_reason(self, end: socket.socket) -> str:
        timeout = _POLL_PARKED_S if self._is_parked() else _POLL_S
        try:
            readable, _, _ = select.select([end], [], [], timeout)
            received = end.recv(256) if readable else b""
        except (OSError, ValueError):  # closed while waiting
            return ""
        numbers = received.replace(_WAKE, b"")
        if numbers and self._previous_descriptor != -1:
            # Hand them on to whoever had the wakeup descriptor before (asyncio).
            with contextlib.suppress(OSError):
                os.write(self._previous_descriptor, numbers)
        for number in numbers:
            if number in _SIGNALS:
                return f"the process received {signal.Signals(number).name}"
        return ""


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _is_interactive() -> bool:
    return bool(sys.flags.interactive) or hasattr(sys, "ps1")
