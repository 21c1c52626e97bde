"""The threads of process pools that carry arguments to other processes and results back.

What a pool or a queue is given, a thread of its own pickles, while whoever gave it may do anything;
what comes back, such a thread builds. Of the script's code only callbacks of the pool run there.
"""

import threading
from typing import Final

__all__ = ["carries_for_pool"]

_CARRIERS: Final = (
    "multiprocessing.pool",
    "multiprocessing.queues",
    "concurrent.futures.process",
    "loky.",
    "joblib.externals.loky.",
)
# The threads of a ThreadPool, which does run the script's code.
_WORKERS: Final = "multiprocessing.dummy"


def carries_for_pool(thread: threading.Thread) -> bool:
    """Return whether a thread does nothing but carry for a process pool, or a queue of one."""
    kind = type(thread).__module__
    if kind == _WORKERS:
        return False
    target = getattr(getattr(thread, "_target", None), "__module__", None) or ""
    return f"{kind}.".startswith(_CARRIERS) or f"{target}.".startswith(_CARRIERS)
