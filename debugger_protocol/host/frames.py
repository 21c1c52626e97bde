"""Frames of threads, from the innermost outwards; those of another thread are followed unharmed."""

import contextlib
import gc
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Final

__all__ = ["frames_of_thread", "outwards"]

# From 3.12 on garbage is collected between bytecodes only.
_COLLECTS_ANYWHERE: Final = sys.version_info < (3, 12)
_one_at_a_time = threading.Lock()


def outwards(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield ``frame`` and what has called it."""
    while frame is not None:
        yield frame
        frame = frame.f_back


@contextlib.contextmanager
def frames_of_thread(ident: int | None) -> Iterator[list[FrameType]]:
    """Have the frames of a thread that goes on; none when there is no such thread.

    They, and what they refer to, are for the ``with`` block only: no garbage is collected in it.
    CPython 3.11 may collect whenever it makes something, the object for an outer frame too. A
    finalizer that gives way then lets the other thread leave that frame, and what ``f_back``
    returns is memory that is something else by now.
    """
    with _one_at_a_time:
        is_held = _COLLECTS_ANYWHERE and gc.isenabled()
        if is_held:
            gc.disable()
        try:
            yield list(outwards(sys._current_frames().get(ident or 0)))
        finally:
            if is_held:
                gc.enable()
