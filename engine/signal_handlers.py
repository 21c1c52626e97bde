"""Exceptions that handlers of signals raise: not errors of the call that they came out of."""

import inspect
import signal
from types import CodeType
from typing import Any

__all__ = ["is_of_handler", "raised_by_handler"]


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


def _codes() -> set[CodeType]:
    """Return the code of all handlers that are installed."""
    found = set()
    for number in signal.valid_signals():
        handler: Any = signal.getsignal(number)
        called = inspect.getattr_static(type(handler), "__call__", None)
        # A function, a method, functools.partial() of one, an object that can be called.
        inner = getattr(handler, "__func__", None), getattr(handler, "func", None)
        for each in (handler, *inner, called):
            code = getattr(each, "__code__", None)
            if isinstance(code, CodeType):
                found.add(code)
    return found
