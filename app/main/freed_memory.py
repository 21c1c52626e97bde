"""Memory that was freed, given back to the system."""

import ctypes
import os
import time
from collections.abc import Callable
from pathlib import Path

__all__ = ["FreedMemory"]

# Less is soon used again.
_WORTH_BYTES = 64 << 20
_LOOK_S = 2.0
# Giving back holds up every thread that allocates: 10 ms for 100 MiB.
_SHARE_OF_TIME = 0.002
_STATM = Path("/proc/self/statm")


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
        # What the process had besides what was in use: the least since it was given back.
        self._besides: int | None = None
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
        heap = self._look()
        free = heap.fordblks
        self._returned = min(self._returned, free)
        kept = free - self._returned
        if self._besides is not None:
            # What was used and freed again between two looks: as much is free as was given back,
            # but the process has it. Its threads and files may be what has grown; then it is in
            # vain, once.
            besides = _besides(heap)
            self._besides = min(self._besides, besides)
            kept = max(kept, min(besides - self._besides, free))
        if kept < _WORTH_BYTES:
            return False
        self.give_back()
        return True

    def give_back(self) -> None:
        """Give back all that is free."""
        if self._look is not None:
            self._trim(0)
            heap = self._look()
            self._returned, self._besides = heap.fordblks, _besides(heap)


def _besides(heap: _Heap) -> int:
    """Return how many bytes of memory this process has more than are in use in its heap."""
    try:
        pages = int(_STATM.read_text().split()[1])
    except (OSError, ValueError, IndexError):  # no such folder: only what the heap says counts
        return 0
    used: int = heap.uordblks + heap.hblkhd
    return pages * os.sysconf("SC_PAGESIZE") - used
