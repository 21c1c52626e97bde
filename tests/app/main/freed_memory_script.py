"""Checks of memory that is given back, each in a process of its own: ``NAME`` of a function here.

In a large process other threads' heaps and holes below decide where memory comes from.
"""

import ctypes
import os
import sys
import time
from pathlib import Path

from PySide6.QtWidgets import QApplication

from stroboscope.app.main.freed_memory import FreedMemory
from stroboscope.app.main.garbage import GarbageCollector

BLOCK, BLOCKS = 100 << 10, 2000  # below what malloc maps by itself
WHOLE = BLOCK * BLOCKS

malloc = ctypes.CDLL(None)
malloc.malloc.restype = ctypes.c_void_p
malloc.malloc.argtypes = (ctypes.c_size_t,)
malloc.free.argtypes = (ctypes.c_void_p,)


def resident() -> int:
    """Return how many bytes of memory this process has."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


def use() -> list[int]:
    """Take 200 MB and write into all of them."""
    blocks = [malloc.malloc(BLOCK) for _ in range(BLOCKS)]
    for block in blocks:
        ctypes.memset(block, 1, BLOCK)
    return blocks


def free(blocks: list[int]) -> None:
    """Free them all."""
    for block in blocks:
        malloc.free(block)


def free_below() -> int:
    """Use 200 MB, free them all but what lies on top of them; return how much there was."""
    blocks = use()
    while malloc.malloc(BLOCK) < max(blocks):
        pass
    full = resident()
    free(blocks)
    assert resident() > full - WHOLE // 2, "malloc has given it back by itself"
    return full


def the_window() -> None:
    """The window gives back what was freed."""
    application = QApplication(["stroboscope"])
    GarbageCollector(application)
    full = free_below()
    end = time.monotonic() + 60.0
    while not resident() < full - 0.9 * WHOLE:
        assert time.monotonic() < end, "it was kept for a minute"
        application.processEvents()
    os._exit(0)


def used_and_freed_again() -> None:
    """What was given back and is used and freed again is given back again."""
    full = free_below()
    memory = FreedMemory()
    memory.give_back()
    low = resident()
    assert low < full - 0.9 * WHOLE
    blocks = use()
    assert not memory.look()
    free(blocks)
    assert memory.look()
    assert resident() < low + 0.1 * WHOLE


def between_two_looks() -> None:
    """The same where nobody saw it in use: as much is free as was given back, and all is kept."""
    free_below()
    memory = FreedMemory()
    memory.give_back()
    low = resident()
    free(use())
    assert resident() > low + 0.5 * WHOLE
    assert memory.look()
    assert resident() < low + 0.1 * WHOLE
    assert not memory.look()


def little() -> None:
    """Little is kept for what comes next."""
    memory = FreedMemory()
    memory.give_back()
    block = malloc.malloc(BLOCK)
    ctypes.memset(block, 1, BLOCK)
    malloc.free(block)
    assert not memory.look()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
