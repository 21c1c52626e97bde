"""Scenes that one thread steps in turn, as a vector of environments does, keep to real time."""

import itertools
import statistics
import time

import stroboscope.engine as physics
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.messages import PlaybackMode

BALL = """<mujoco><option timestep="0.002"/><worldbody><body><freejoint/><geom size=".1"/></body>
</worldbody></mujoco>"""
CONTROL = 15  # physics steps of one application step
ROUNDS = 9


def pace(scenes: list[physics.Scene]) -> float:
    """Return the wall time [s] of one round of steps, the median of some."""
    times = []
    for _ in range(ROUNDS):
        for scene in scenes:
            scene.step(nstep=CONTROL)
        times.append(time.monotonic())
    return statistics.median(after - before for before, after in itertools.pairwise(times))


def test_four_scenes_in_one_loop_take_no_longer_than_one(host: Host) -> None:
    scenes = [physics.create_scene(f"Ball {i}", model=BALL) for i in range(4)]
    host.attach(PlaybackMode.PLAYING)
    alone = pace(scenes[:1])
    in_turns = pace(scenes)
    # It was four times as long.
    assert in_turns < 2.0 * alone
    # None of them is left behind or hurried on.
    assert [scene.physics_step_count for scene in scenes[1:]] == [ROUNDS * CONTROL] * 3
    host.detach("enough")
