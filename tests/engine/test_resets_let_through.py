"""Resets of MuJoCo's own in steps that count all the same: an episode, whatever is to blame."""

import math
from collections.abc import Callable

import pytest

import stroboscope.engine as physics
from stroboscope.debugger_protocol.time_messages import SegmentKind


@pytest.mark.parametrize("number", [math.nan, 1e12])
def test_a_reset_that_is_let_through_begins_an_episode(
    make_scene: Callable[..., physics.Scene], number: float
) -> None:
    scene = make_scene("humanoid")
    scene.keep_history()
    for step in range(20):
        if step in (5, 12):
            scene.data.qvel[3] = number
        scene.step()
    assert scene.stops.resets == 2
    kinds = [each.kind for each in scene.history.segments.told()]
    assert kinds.count(SegmentKind.EPISODE) == 2
