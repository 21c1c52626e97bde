"""Signals that end a process at once, and with it what is recorded in memory only.

Job schedulers, ``docker stop`` and ``kubectl`` send SIGTERM when time is up, a terminal that is
closed sends SIGHUP, a limit of processor time SIGXCPU: Python handles none of them. While something
is recorded, and only where nobody else handles them, they are handled here: files are completed,
and then the process ends by the same signal, as it would have without.
"""

import _thread
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

from stroboscope.debugger_protocol.host.frames import outwards

__all__ = ["EndSignals"]

_SIGNALS: Final = ("SIGTERM", "SIGHUP", "SIGXCPU")
# How often the main thread is asked whether it can be interrupted where it is, and how long [s].
_AGAIN_S: Final = 0.01
_PATIENCE_S: Final = 5.0

_PACKAGE: Final = Path(__file__).resolve().parents[2]
# What calls code of the script, whose scenes stand still meanwhile.
_CALLS_SCRIPT: Final = (
    "engine/callbacks.py",
    "engine/instrument/run.py",
    "engine/instrument/script.py",
    "resources/",
)


class EndSignals:
    """Calls ``finish(name)`` on the main thread before the signal ``name`` ends the process.

    It waits for an instant when the scenes of that thread stand still: ``ask(call)`` has them call
    ``call`` before their next step.
    """

    def __init__(
        self,
        *,
        finish: Callable[[str], None],
        ask: Callable[[Callable[[], None]], None],
    ) -> None:
        self._finish, self._ask = finish, ask
        self._process_id = os.getpid()
        self._watched: tuple[int, ...] = ()
        self._came = 0
        """Which signal has come."""
        self._until = 0.0
        self._ends = False
        self._ringing = _thread.allocate_lock()

    def watch(self) -> None:
        """Begin to listen, on the main thread: Python lets no other one; harmless while it does."""
        if self._watched or not _may_listen():
            return
        numbers = [int(getattr(signal, name)) for name in _SIGNALS if hasattr(signal, name)]
        free = [number for number in numbers if _is_free(number)]
        self._process_id = os.getpid()
        for number in free:
            signal.signal(number, self._on_signal)
        self._watched = tuple(free)

    def end(self) -> None:
        """Listen no more; on another thread than the main one the next ``end`` there does it."""
        if not self._watched or not _may_listen():
            return
        watched, self._watched = self._watched, ()
        for number in watched:
            if signal.getsignal(number) == self._on_signal:
                signal.signal(number, signal.SIG_DFL)

    # --- on the main thread, wherever it is

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() != self._process_id:
            _die(number)  # a child that nobody has told so
        if self._ends:
            return
        is_busy = _is_busy(frame)
        if not self._came:
            self._came, self._until = number, time.monotonic() + _PATIENCE_S
            if is_busy:
                # With a step, mostly: it is over soon, but the next one may never come.
                self._ringing.acquire()
                _thread.start_new_thread(self._ring_again, (threading.main_thread().ident,))
                self._ask(self._end_at_step)
        if not is_busy:
            self._end()
        elif time.monotonic() > self._until:
            self._end(finishes=False)

    def _ring_again(self, main_thread: int | None) -> None:
        """Ask the main thread again and again whether it can be interrupted where it is now."""
        while not self._ends and main_thread is not None:
            time.sleep(_AGAIN_S)
            signal.pthread_kill(main_thread, self._came)
        self._ringing.release()

    def _end_at_step(self) -> None:
        if self._came and not self._ends:
            self._end()

    def _end(self, *, finishes: bool = True) -> None:
        self._ends = True
        self._ringing.acquire()  # nobody rings any more
        for each in self._watched:  # somebody who does not want to wait sends another one
            signal.signal(each, signal.SIG_DFL)
        try:
            if finishes:
                self._finish(signal.Signals(self._came).name)
        finally:
            _die(self._came)


def _die(number: int) -> NoReturn:
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)
    # The first process of a container is the only one that outlives it.
    os._exit(128 + number)


def _may_listen() -> bool:
    return hasattr(signal, "pthread_kill") and (
        threading.current_thread() is threading.main_thread()
    )


def _is_free(number: int) -> bool:
    """Return whether nobody handles a signal: neither Python code nor a library."""
    if signal.getsignal(number) is not signal.SIG_DFL:
        return False
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return True  # no Linux
    for line in status.splitlines():
        name, _, mask = line.partition(":")
        if name in ("SigCgt", "SigIgn") and int(mask, 16) >> (number - 1) & 1:
            return False
    return True


def _is_busy(frame: FrameType | None) -> bool:
    """Return whether our own code is at work, with locks held and things half done."""
    prefix = f"{_PACKAGE}{os.sep}"
    for each in outwards(frame):
        name = each.f_code.co_filename
        if name.startswith(prefix):
            return not name[len(prefix) :].replace(os.sep, "/").startswith(_CALLS_SCRIPT)
    return False
