"""Ctrl+C while a command still imports ends it without a word, as it does later.

Whoever starts a command imports this first: it needs nothing but what Python has at hand.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Final

__all__ = ["INTERRUPTED", "end_quietly", "hand_over_interrupts", "quiet_imports"]

INTERRUPTED: Final = 130
"""The exit code of a command that Ctrl+C has ended, as shells have it."""


def end_quietly() -> None:
    """From now on Ctrl+C ends the process at once, until :func:`hand_over_interrupts`.

    Nothing is undone then: for imports alone. An exception would be lost in many of them, or
    become another one. Where Ctrl+C is ignored, or somebody else's, it stays so.
    """
    _replace(signal.default_int_handler, _end)


def hand_over_interrupts() -> None:
    """Make Ctrl+C raise KeyboardInterrupt again, as Python has it; more than once is fine."""
    _replace(_end, signal.default_int_handler)


@contextlib.contextmanager
def quiet_imports() -> Iterator[None]:
    """Have Ctrl+C end the process at once meanwhile; for what a command imports late.

    In a process that does nothing else: what compiled modules raise then is no KeyboardInterrupt.
    """
    end_quietly()
    try:
        yield
    finally:
        hand_over_interrupts()


def _replace(handler: Callable[..., Any], other: Callable[..., Any]) -> None:
    if signal.getsignal(signal.SIGINT) is handler:
        with contextlib.suppress(ValueError):  # only the main thread may
            signal.signal(signal.SIGINT, other)


def _end(_number: int, _frame: FrameType | None) -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError, RuntimeError):
            continue  # closed, or nobody reads it
    os._exit(INTERRUPTED)
