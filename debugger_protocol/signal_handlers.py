"""Exceptions that handlers of signals raise: not errors of the call that they came out of."""

import contextlib
import importlib
import inspect
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, TracebackType
from typing import Any, Final

from stroboscope.debugger_protocol.host.frames import outwards

__all__ = [
    "HeldSignals",
    "goes_to_script",
    "handler_came_into",
    "is_of_handler",
    "raised_by_handler",
]

# What `signal` makes enumerations of, which takes a hundred times as long.
_plain: Final[Any] = importlib.import_module("_signal")

Handler = Callable[[int, FrameType | None], Any]

# What is held back goes through after so long [s]: something hangs, and Ctrl+C has to end it.
_PATIENCE_S: Final = 3.0


def raised_by_handler(error: BaseException) -> bool:
    """Return whether a handler of a signal has raised this out of a call of compiled code.

    Python runs handlers when such a call has returned: what it was called for is done. To be asked
    by whoever has caught the error right around that call.
    """
    here = error.__traceback__
    inner = here.tb_next if here is not None else None
    if inner is None:
        return isinstance(error, KeyboardInterrupt)  # Python's own, which has no frame
    return inner.tb_frame.f_code in _codes()  # else a callback stands there


def is_of_handler(error: BaseException) -> bool:
    """Return whether a handler of a signal has raised this, in whatever frame it ran.

    Whether what was going on then is done, it does not say.
    """
    codes, each = _codes(), error.__traceback__
    while each is not None:
        if each.tb_frame.f_code in codes:
            return True
        each = each.tb_next
    return isinstance(error, KeyboardInterrupt)


def goes_to_script(error: BaseException) -> bool:
    """Return whether an exception is the script's, whoever has caught it around a call of ours."""
    return not isinstance(error, Exception) or is_of_handler(error)


def handler_came_into(folder: str) -> bool:
    """Return whether this runs in a handler of a signal that came while code in ``folder`` ran.

    Not within what that has called: a function of the script that compiled code has called, say.
    """
    if threading.current_thread() is not threading.main_thread():
        return False
    codes = _codes()
    for frame in outwards(sys._getframe(1)):
        outer = frame.f_back
        if (
            outer is not None
            and frame.f_code in codes
            and outer.f_code.co_filename.startswith(folder)
        ):
            return True
    return False


def _codes() -> set[CodeType]:
    """Return the code of all handlers that are installed."""
    found = set()
    for number in range(1, signal.NSIG):
        handler: Any = _plain.getsignal(number)
        if isinstance(handler, _Held):
            handler = handler.handler
        if not callable(handler):
            continue
        called = inspect.getattr_static(type(handler), "__call__", None)
        # A function, a method, functools.partial() of one, an object that can be called.
        inner = getattr(handler, "__func__", None), getattr(handler, "func", None)
        for each in (handler, *inner, called):
            code = getattr(each, "__code__", None)
            if isinstance(code, CodeType):
                found.add(code)
    return found


class HeldSignals:
    """While this is entered, handlers of signals wait; then they run, and may raise out of it.

    For what must be done or not, but never by halves: a handler may raise between any two calls,
    which no order of calls is safe from. Entered by one thread, for milliseconds. Python runs
    handlers on the main thread alone, elsewhere nothing is held. Those that wait are called once
    each, as Python does with signals that come while it can't call them.
    """

    def __init__(self) -> None:
        self._is_holding = False
        self._entered_again = 0
        self._until = 0.0
        self._held: list[int] = []
        self._waiting: dict[int, tuple[Handler, FrameType | None]] = {}

    def __enter__(self) -> "HeldSignals":
        if self._is_holding:
            self._entered_again += 1
        elif threading.current_thread() is threading.main_thread():
            try:
                self._hold()
            except BaseException:
                self._let_go()
                raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._entered_again:
            self._entered_again -= 1
        elif self._is_holding:
            self._let_go()

    @contextlib.contextmanager
    def let_through(self) -> Iterator[None]:
        """Have handlers run at once while this is entered: the script's own code runs."""
        if not self._is_holding:
            yield
            return
        try:
            self._give_back()
            yield
        finally:
            self._hold()

    def pass_on(self) -> None:
        """Run those that wait, where they may raise: nothing is half done."""
        if self._waiting:
            number, (handler, frame) = self._waiting.popitem()
            try:
                handler(number, frame)
            finally:
                self.pass_on()

    def came(self, number: int, frame: FrameType | None, *, handler: Handler) -> None:
        """Run the handler of a signal now, or later."""
        if self._is_holding and time.monotonic() < self._until:
            self._waiting[number] = handler, frame
        else:
            handler(number, frame)

    def _hold(self) -> None:
        self._until = time.monotonic() + _PATIENCE_S
        self._is_holding = True
        try:
            self._take()
        except BaseException:
            self._take()  # the rest of them
            raise

    def _take(self) -> None:
        for number in range(1, signal.NSIG):
            handler: Any = _plain.getsignal(number)
            if callable(handler) and not isinstance(handler, _Held):
                self._held.append(number)
                _plain.signal(number, _Held(self, handler))

    def _let_go(self) -> None:
        try:
            self._give_back()
        finally:
            self.pass_on()

    def _give_back(self) -> None:
        self._is_holding = False  # from here on they run at once, whoever is called
        try:
            self._put_back()
        except BaseException:
            self._put_back()  # the rest of them
            raise

    def _put_back(self) -> None:
        while self._held:
            handler = _plain.getsignal(self._held[-1])
            if isinstance(handler, _Held):
                _plain.signal(self._held[-1], handler.handler)
            self._held.pop()


class _Held:
    """Stands in for a handler that may have to wait."""

    def __init__(self, held: HeldSignals, handler: Handler) -> None:
        self._came = held.came
        self.handler = handler

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self._came(number, frame, handler=self.handler)
