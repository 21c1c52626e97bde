"""Frames of a thread that goes on are followed without harm to it, or to who follows them."""

import gc
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from stroboscope.debugger_protocol.host.frames import frames_of_thread
from stroboscope.debugger_protocol.host.script_place import script_place

# A script whose finalizers run, and give way, wherever something is allocated.
BUSY = """
import gc, sys, threading
from stroboscope.debugger_protocol.host.frames import frames_of_thread
from stroboscope.debugger_protocol.host.main_thread import why_main_thread_ends
from stroboscope.debugger_protocol.host.script_place import script_place

class Resource:
    def __del__(self):
        for _ in range(50):
            pass

class Cycle:
    def __init__(self):
        self.me, self.held = self, Resource()

class Guard:
    def __enter__(self):
        return self
    def __exit__(self, *error):
        Cycle()

def deeper(left):
    mine = Resource()
    Cycle()
    with Guard():
        if left:
            deeper(left - 1)
    if left == 20:
        raise ValueError(mine)

def look():
    ident, followed = threading.main_thread().ident, 0
    while followed < 100_000:
        with frames_of_thread(ident) as frames:
            followed += len(frames)
            assert script_place(frames)
        assert why_main_thread_ends() is None or True
    done.append(followed)

gc.set_threshold(20, 2, 2)
sys.setswitchinterval(1e-6)
done = []
watcher = threading.Thread(target=look)
watcher.start()
while watcher.is_alive():
    try:
        deeper(20)
    except ValueError:
        pass
assert done and gc.isenabled(), (done, gc.isenabled())
"""


def test_a_thread_is_followed_while_finalizers_give_way() -> None:
    subprocess.run([sys.executable, "-c", BUSY], check=True, timeout=60)


@pytest.fixture
def collecting() -> Iterator[None]:
    """Python collects garbage by itself, whether or not a window of an earlier test does it."""
    was_enabled = gc.isenabled()
    gc.enable()
    yield
    (gc.enable if was_enabled else gc.disable)()


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="collected between bytecodes only")
def test_garbage_is_collected_again_afterwards_or_not_as_before(collecting: None) -> None:
    ident = threading.main_thread().ident
    with frames_of_thread(ident) as frames:
        assert not gc.isenabled()
        assert script_place(frames).startswith("test_frames.py:")
    assert gc.isenabled()
    gc.disable()
    with frames_of_thread(ident):
        pass
    assert not gc.isenabled()


def test_a_thread_that_is_not_there_has_no_frames() -> None:
    with frames_of_thread(None) as frames:
        assert frames == []
