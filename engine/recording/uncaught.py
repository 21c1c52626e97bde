"""Exceptions that end a script or one of its threads, told to whatever records then."""

import contextlib
import functools
import sys
import threading
import types
from collections.abc import Callable

__all__ = ["UncaughtErrors"]

_Hook = Callable[
    [type[BaseException], BaseException, types.TracebackType | None],
    object,
]


class UncaughtErrors:
    """Calls ``tell(error)`` before an uncaught exception is printed; any thread.

    The hooks that were there are called after it, and put back where nobody has replaced ours.
    """

    def __init__(self, tell: Callable[[Exception], None]) -> None:
        self._tell = tell
        self._main_hook: _Hook | None = None
        self._mine: _Hook | None = None
        self._thread_hook: Callable[[threading.ExceptHookArgs], object] | None = None
        self._my_thread_hook: Callable[[threading.ExceptHookArgs], object] | None = None

    def watch(self) -> None:
        """Begin to listen; harmless while it does."""
        if self._mine is None:
            self._main_hook, self._thread_hook = sys.excepthook, threading.excepthook
            self._mine = functools.partial(self._in_main, self._main_hook)
            self._my_thread_hook = functools.partial(self._in_thread, self._thread_hook)
            sys.excepthook, threading.excepthook = self._mine, self._my_thread_hook

    def end(self) -> None:
        """Listen no more; harmless when it doesn't."""
        if self._mine is not None and sys.excepthook is self._mine and self._main_hook:
            sys.excepthook = self._main_hook
        if self._my_thread_hook is not None and threading.excepthook is self._my_thread_hook:
            threading.excepthook = self._thread_hook or threading.__excepthook__
        self._mine = self._my_thread_hook = None

    def _in_main(
        self,
        following: _Hook,
        kind: type[BaseException],
        error: BaseException,
        trace: types.TracebackType | None,
    ) -> None:
        self._told(error)
        following(kind, error, trace)

    def _in_thread(
        self,
        following: Callable[[threading.ExceptHookArgs], object],
        args: threading.ExceptHookArgs,
    ) -> None:
        if args.exc_value is not None:
            self._told(args.exc_value)
        following(args)

    def _told(self, error: BaseException) -> None:
        # Ctrl+C is somebody's wish; and whatever fails here must not hide the error itself.
        if self._mine is not None and isinstance(error, Exception):
            with contextlib.suppress(Exception):
                self._tell(error)
