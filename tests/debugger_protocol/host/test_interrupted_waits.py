"""Ctrl+C in an owner thread that waits: it is a KeyboardInterrupt, wherever it comes."""

import sys
import threading
from types import FrameType

import pytest
from oscillator import Scene

from stroboscope.debugger_protocol.host import owners
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.messages import PlaybackMode

FILES = (owners.__file__, threading.__file__)


def wait_interrupted(scene: Scene, at: int) -> bool:
    """Step until Ctrl+C after the ``at``-th call of a wait for real time; False: not so many."""
    seen = paces = 0

    def watch(frame: FrameType, event: str, _: object) -> None:
        nonlocal seen, paces
        if event == "call" and frame.f_code is owners.Owner.pace.__code__:
            seen, paces = 0, paces + 1
        if paces and event in ("call", "c_return") and frame.f_code.co_filename in FILES:
            seen += 1
            if seen == at:
                sys.setprofile(None)
                raise KeyboardInterrupt

    sys.setprofile(watch)
    try:
        while paces < 4:
            scene.step()
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)
    return False


def test_ctrl_c_after_any_call_of_a_wait_for_real_time_ends_the_step_and_the_next_one_runs(
    host: Host,
) -> None:
    host.attach(PlaybackMode.PLAYING)
    scene = Scene(host, "A")
    at = 1
    while wait_interrupted(scene, at):
        count = scene.backend.step_count
        scene.step()
        assert scene.backend.step_count == count + 1
        at += 1
    assert at > 3
    scene.link.close()


@pytest.mark.parametrize("seconds", [0.01, 60.0, None])
def test_a_bell_that_was_rung_before_the_wait_ends_it(seconds: float | None) -> None:
    bell = owners.Bell()
    bell.ring()
    bell.ring()
    bell.wait(seconds)
    ringing = threading.Timer(0.02, bell.ring)
    ringing.start()
    bell.wait(seconds)
    ringing.join()
