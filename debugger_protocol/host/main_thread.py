"""Whether the main thread is still going to do anything, seen from another thread.

A thread that is parked keeps a process alive: the interpreter joins pool threads *before* it runs
``atexit`` functions and before ``main_thread().is_alive()`` turns False. So the main thread's
stack is looked at. Costs a few microseconds, and is only done while something is parked.
"""

import concurrent.futures
import sys
import threading
from types import FrameType
from typing import Final

__all__ = ["why_main_thread_ends"]

# Private, but the entry point of the interpreter's own shutdown in every version since 3.2.
_SHUTDOWN: Final = getattr(getattr(threading, "_shutdown", None), "__code__", None)
_POOL_EXIT: Final = concurrent.futures.Executor.__exit__.__code__


def why_main_thread_ends() -> str:
    """Return why the main thread won't let the script go on, or "" while it may; any thread.

    It has ended, it is in the interpreter's shutdown, or it leaves a ``with`` block of a thread
    pool because of an exception and waits for the pool's threads.
    """
    main = threading.main_thread()
    if main is threading.current_thread():
        return ""
    frame: FrameType | None = sys._current_frames().get(main.ident or 0)
    if frame is None or not main.is_alive():
        return "the main thread has ended"
    while frame is not None:
        if frame.f_code is _SHUTDOWN:
            return "the main thread has ended"
        if frame.f_code is _POOL_EXIT:
            error = frame.f_locals.get("exc_type")
            if isinstance(error, type):
                return f"the main thread leaves a thread pool because of {error.__name__}"
        frame = frame.f_back
    return ""
