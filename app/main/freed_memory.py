"""Memory that was freed, given back to the system."""

import ctypes
import time
from collections.abc import Callable

__all__ = ["FreedMemory"]

# Less is soon used again.
_WORTH_BYTES = 64 << 20
_LOOK_S = 2.0
# Giving back holds up every thread that allocates: 10 ms for 100 MiB.
_SHARE_OF_TIME = 0.002


class _Heap(ctypes.Structure):
    """What glibc's ``mallinfo2`` returns, all in bytes but the counts."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        )
    )


class FreedMemory:
    """Gives back what glibc keeps: of freed blocks of up to 32 MB only those at its heap's top.

    Views, pictures and scenes that are gone leave hundreds of megabytes, which a simulation beside
    the window could use. With another C library nothing is done.
    """

    def __init__(self) -> None:
        try:
            library = ctypes.CDLL(None)
            look, trim = library.mallinfo2, library.malloc_trim
        except (AttributeError, OSError, TypeError):
            self._look: Callable[[], _Heap] | None = None
            return
        look.restype = _Heap
        trim.argtypes = (ctypes.c_size_t,)
        self._look, self._trim = look, trim
        # What is free stays in the count when it was given back, until it is used again.
        self._returned = 0
        self._next_look = 0.0

    def look_if_due(self) -> None:
        """Look a few times a minute; seldom where giving back has taken long."""
        if time.monotonic() >= self._next_look:
            # Of this thread's own time: on a busy machine it mostly waits for its turn meanwhile.
            start = time.thread_time()
            gave = self.look()
            pause = (time.thread_time() - start) / _SHARE_OF_TIME if gave else 0.0
            self._next_look = time.monotonic() + max(_LOOK_S, pause)

    def look(self) -> bool:
        """Give back what was freed since the last time if that is worth it; return whether."""
        if self._look is None:
            return False
        free = self._look().fordblks
        self._returned = min(self._returned, free)
        if free - self._returned < _WORTH_BYTES:
            return False
        self.give_back()
        return True

    def give_back(self) -> None:
        """Give back all that is free."""
        if self._look is not None:
            self._trim(0)
            self._returned = self._look().fordblks
