"""The end of a process that multiprocessing has started, at which Python may do nothing of its own.

Such a process leaves by ``os._exit`` where it was forked: neither the functions of ``atexit`` nor
the hook for uncaught exceptions are called. What multiprocessing calls itself is its finalizers,
those that were made in the process.
"""

import contextlib
import os
import sys
from collections.abc import Callable
from typing import Final

__all__ = ["WorkerEnd"]

# Finalizers with a higher number are called first; those from 0 on before other processes end.
_EARLY: Final = 10


class WorkerEnd:
    """Calls ``failed(error)`` and ``finish()`` when the function of such a process has ended."""

    def __init__(self, *, failed: Callable[[Exception], None], finish: Callable[[], None]) -> None:
        self._failed, self._finish = failed, finish
        self._process_id = 0

    def watch(self) -> None:
        """Have it called at this process's end; harmless when it is, and in other processes."""
        process = sys.modules.get("multiprocessing.process")
        util = sys.modules.get("multiprocessing.util")
        if process is None or util is None or self._process_id == os.getpid():
            return
        if process.parent_process() is not None:
            self._process_id = os.getpid()
            util.Finalize(None, self._end, exitpriority=_EARLY)

    def _end(self) -> None:
        error = sys.exc_info()[1]  # what ends the function, and is on its way out
        if isinstance(error, Exception):
            with contextlib.suppress(Exception):
                self._failed(error)
        self._finish()
