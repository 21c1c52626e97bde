"""Whether the main thread is still going to do anything, seen from another thread.

A thread that is parked keeps a process alive: the interpreter joins pool threads *before* it runs
``atexit`` functions and before ``main_thread().is_alive()`` turns False. So the main thread's
stack is looked at: only while another thread is parked, and only when it has moved since.
"""

import dataclasses
import enum
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Final

from stroboscope.debugger_protocol.host.frames import frames_of_thread

__all__ = ["Ending", "Likelihood", "MainThreadWatch", "why_main_thread_ends"]

# Private, but the entry point of the interpreter's own shutdown in every version since 3.2.
_SHUTDOWN: Final = getattr(getattr(threading, "_shutdown", None), "__code__", None)
_JOIN: Final = threading.Thread.join.__code__
_ENDED: Final = "the main thread has ended"
_HAS_VARARGS: Final = 0x04


class Likelihood(enum.Enum):
    """How sure it is that the script won't go on."""

    CERTAIN = enum.auto()
    LIKELY = enum.auto()
    POSSIBLE = enum.auto()
    """It waits inside a ``finally`` or an ``except`` block, and nobody can tell which."""


@dataclasses.dataclass(frozen=True, slots=True)
class Ending:
    """Why the main thread seems to end, and where it stands.

    Unless it is ``CERTAIN``, only a thread that is seen twice in a row at the same ``position``
    waits there; one that is seen once may just pass.
    """

    reason: str
    likelihood: Likelihood
    position: tuple[int, int] = (0, 0)
    is_joining: bool = False
    """Whether the interpreter's shutdown waits for other threads: the script's code is over."""


class MainThreadWatch:
    """Looks at the main thread again and again; of one thread, which is not the main thread.

    ``cpu_time`` [s] tells whether it has done anything since the last look (None: can't tell),
    ``why`` looks at its stack.
    """

    def __init__(
        self,
        *,
        cpu_time: Callable[[], float | None] | None = None,
        why: Callable[[], Ending | None] | None = None,
    ) -> None:
        self._cpu_time = cpu_time or _main_cpu_clock()
        self._why = why or why_main_thread_ends
        self._used: float | None = None
        self._seen: Ending | None = None

    @property
    def suspects(self) -> bool:
        """Whether the last look has to be confirmed by another one soon."""
        return self._seen is not None and self._seen.likelihood is not Likelihood.POSSIBLE

    def look(self) -> Ending | None:
        """Return why the main thread won't let the script go on, once that is sure enough."""
        used = self._cpu_time()
        stood = used is not None and used == self._used
        self._used = used
        before = self._seen
        if not stood:  # else its stack is what it was
            self._seen = self._why()
        ending = self._seen
        if ending is None or ending.likelihood is Likelihood.CERTAIN:
            return ending
        return ending if ending == before else None


def _main_cpu_clock() -> Callable[[], float | None]:
    """Return what reads the CPU time of the main thread, where the system has that."""
    main = threading.main_thread()
    if main.is_alive() and main.ident is not None and hasattr(time, "pthread_getcpuclockid"):
        clock = time.pthread_getcpuclockid(main.ident)

        def read() -> float | None:
            try:
                return time.clock_gettime(clock)
            except OSError:
                return None  # it is gone

        return read
    return lambda: None


def why_main_thread_ends() -> Ending | None:
    """Return why the main thread won't let the script go on, or None while it may; any thread.

    It has ended, it is in the interpreter's shutdown, it leaves a ``with`` block (of a thread
    pool, usually) because of an exception, or it joins threads while it handles one: after Ctrl+C
    on its way out, and after another error perhaps.
    """
    main = threading.main_thread()
    if main is threading.current_thread():
        return None
    with frames_of_thread(main.ident) as frames:
        if not frames or not main.is_alive():
            return Ending(_ENDED, Likelihood.CERTAIN)
        return _why_thread_ends(main.ident or 0, frames)


def _why_thread_ends(ident: int, frames: list[FrameType]) -> Ending | None:
    joins = False
    in_ours = False
    for frame in frames:
        if frame.f_code is _SHUTDOWN:
            return Ending(_ENDED, Likelihood.CERTAIN, is_joining=True)
        joins = joins or frame.f_code is _JOIN
        # A main thread that steps, or is parked, inside an `__exit__` waits for nobody else.
        in_ours = in_ours or str(frame.f_globals.get("__name__")).startswith("stroboscope.")
        error = None if in_ours else _error_of_exit(frame)
        if error is not None:
            reason = f"the main thread leaves a `with` block because of {error.__name__}"
            return Ending(reason, Likelihood.LIKELY, _position(frames[0]))
    if not joins:
        return None
    # `finally: worker.join()` after Ctrl+C or sys.exit(). Other exceptions prove nothing: a program
    # may well live inside an `except` block.
    error = _exception_in_flight(ident)
    if error is None:
        return None
    if issubclass(error, KeyboardInterrupt | SystemExit):
        reason = f"the main thread joins its threads because of {error.__name__}"
        return Ending(reason, Likelihood.LIKELY, _position(frames[0]))
    reason = f"the main thread waits for its threads after {error.__name__}"
    return Ending(reason, Likelihood.POSSIBLE, _position(frames[0]))


def _position(frame: FrameType) -> tuple[int, int]:
    return id(frame), frame.f_lasti


def _error_of_exit(frame: FrameType) -> type[BaseException] | None:
    """Return the exception class that ``frame``, an ``__exit__`` method, was called with."""
    code = frame.f_code
    arguments = code.co_argcount + bool(code.co_flags & _HAS_VARARGS)
    if code.co_name != "__exit__" or arguments < 2:
        return None
    # The first argument after self, or `*args`, which holds it.
    value = frame.f_locals.get(code.co_varnames[1])
    if isinstance(value, tuple) and value:
        value = value[0]
    return value if isinstance(value, type) and issubclass(value, BaseException) else None


def _exception_in_flight(ident: int) -> type[BaseException] | None:
    # (type, value, traceback) in 3.11, the exception itself from 3.12 on.
    current: object = sys._current_exceptions().get(ident)
    if isinstance(current, tuple):
        current = current[1]
    return type(current) if isinstance(current, BaseException) else None
