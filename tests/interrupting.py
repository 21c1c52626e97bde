"""Signals whose handler raises, or acts, at each place in turn where Python runs handlers."""

import contextlib
import dataclasses
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["Interruption", "Late", "interrupted_after"]


class Late(Exception):
    """What the script raises when it has waited too long."""


@dataclasses.dataclass
class Interruption:
    """One that comes after so many calls more; below zero: it has come."""

    left: int

    @property
    def came(self) -> bool:
        """Whether the handler was called."""
        return self.left < 0


@contextlib.contextmanager
def interrupted_after(
    calls: int, *, within: tuple[str, ...], act: Callable[[], object] | None = None
) -> Iterator[Interruption]:
    """Get a signal after so many calls in files or folders; its handler raises Late, or acts.

    Python runs handlers when a function begins and when compiled code has returned; what raises
    stands in the very frame then, as here.
    """
    interruption = Interruption(calls)

    def watch(*arguments: Any) -> None:
        if len(arguments) == 2:  # as the handler
            if act is None:
                raise Late
            act()
            return
        frame, event, _ = arguments
        if event in ("call", "c_return") and frame.f_code.co_filename.startswith(within):
            interruption.left -= 1
            if interruption.left == -1:
                signal.raise_signal(signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, watch)
    sys.setprofile(watch)
    try:
        yield interruption
    finally:
        sys.setprofile(None)
        assert signal.signal(signal.SIGUSR1, before) is watch, "somebody has kept the handler"
