"""Memory that was freed goes back to the system, also from below what is still in use."""

import ctypes
import os
from pathlib import Path

import pytest

from stroboscope.app.main.freed_memory import FreedMemory

BLOCK, BLOCKS = 100 << 10, 2000  # below what malloc maps by itself


def resident() -> int:
    """Return how many bytes of memory this process has."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


@pytest.fixture
def malloc():
    """The C library's, where freed memory can be given back."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallinfo2"):
        pytest.skip("this C library does not say what is free")
    library.malloc.restype = ctypes.c_void_p
    library.malloc.argtypes = (ctypes.c_size_t,)
    library.free.argtypes = (ctypes.c_void_p,)
    return library


@pytest.fixture
def freed_below(malloc):
    """Use 200 MB, free them all but what lies on top of them; return how much there was."""
    blocks = use(malloc)
    # In a large process some of them fill holes that are left below: not on top of the others.
    above = [malloc.malloc(BLOCK)]
    while above[-1] < max(blocks):
        above.append(malloc.malloc(BLOCK))
    full = resident()
    for block in blocks:
        malloc.free(block)
    assert resident() > full - BLOCK * BLOCKS // 2, "malloc has given it back by itself"
    yield full
    for block in above:
        malloc.free(block)


def use(malloc):
    """Take 200 MB and write into all of them."""
    blocks = [malloc.malloc(BLOCK) for _ in range(BLOCKS)]
    for block in blocks:
        ctypes.memset(block, 1, BLOCK)
    return blocks


def test_the_window_gives_back_what_was_freed(freed_below, qapp, wait_until):
    wait_until(lambda: resident() < freed_below - 0.9 * BLOCK * BLOCKS)


def test_what_was_given_back_and_is_used_and_freed_again_is_given_back_again(freed_below, malloc):
    memory = FreedMemory()
    memory.give_back()
    low = resident()
    assert low < freed_below - 0.9 * BLOCK * BLOCKS
    blocks = use(malloc)
    assert not memory.look()
    for block in blocks:
        malloc.free(block)
    assert memory.look()
    assert resident() < low + 0.1 * BLOCK * BLOCKS


def test_what_was_given_back_is_used_and_freed_again_between_two_looks(freed_below, malloc):
    # Nobody saw it in use: as much is free as was given back, and all of it is kept.
    memory = FreedMemory()
    memory.give_back()
    low = resident()
    for block in use(malloc):
        malloc.free(block)
    assert resident() > low + 0.5 * BLOCK * BLOCKS
    assert memory.look()
    assert resident() < low + 0.1 * BLOCK * BLOCKS
    assert not memory.look()


def test_little_is_kept_for_what_comes_next(malloc):
    memory = FreedMemory()
    memory.give_back()
    block = malloc.malloc(BLOCK)
    ctypes.memset(block, 1, BLOCK)
    malloc.free(block)
    assert not memory.look()
