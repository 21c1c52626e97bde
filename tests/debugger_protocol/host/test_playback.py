import random

import pytest
from samples import few

from stroboscope.debugger_protocol.host.playback import Pacer

STEP = 0.002


class World:
    """Wall time that only moves when somebody waits or works; every wait is a little too long."""

    def __init__(self, *, speed: float = 1.0, step: float = STEP, seed: int = 1) -> None:
        self.wall = 100.0
        self.sim = 7.0
        self.pacer = Pacer()
        self.speed = speed
        self.step = step
        self._random = random.Random(seed)

    def run(self, wall_seconds: float, *, work: float = 0.0) -> None:
        end = self.wall + wall_seconds
        while self.wall < end:
            ahead = self.pacer.ahead(self.sim, now=self.wall, speed=self.speed)
            while ahead >= 0.001:
                self.wall += ahead + self._random.uniform(0.00005, 0.0005)
                ahead = self.pacer.ahead(self.sim, now=self.wall, speed=self.speed)
            self.wall += work
            self.sim += self.step


@pytest.mark.parametrize("speed", few([1 / 64, 0.25, 1.0, 3.0, 64.0], 3))
@pytest.mark.parametrize("step", few([0.002, 0.0001, 0.02], 2))
def test_simulation_time_keeps_to_one_percent_over_ten_seconds(speed: float, step: float) -> None:
    world = World(speed=speed, step=step)
    world.run(10.0)
    assert world.sim - 7.0 == pytest.approx(10.0 * speed, rel=0.01, abs=2 * step)


def test_work_inside_steps_does_not_slow_down_as_long_as_there_is_time() -> None:
    world = World()
    world.run(10.0, work=0.0015)
    assert world.sim - 7.0 == pytest.approx(10.0, rel=0.01)


def test_a_stall_is_not_made_up_for_by_a_burst() -> None:
    world = World()
    world.run(1.0)
    world.wall += 5.0
    before = world.sim
    world.run(1.0)
    assert world.sim - before == pytest.approx(1.0, abs=Pacer.MAX_LAG + 2 * STEP)


def test_a_short_delay_is_made_up_for() -> None:
    world = World()
    world.run(1.0)
    world.wall += 0.03
    world.run(9.0)
    assert world.sim - 7.0 == pytest.approx(10.03, rel=0.001)


def test_a_change_of_speed_counts_from_now_on() -> None:
    world = World()
    world.run(2.0)
    before, world.speed = world.sim, 4.0
    world.run(2.0)
    assert world.sim - before == pytest.approx(8.0, rel=0.01)


@pytest.mark.parametrize("jump", [-5.0, 100.0])
def test_a_script_that_sets_the_time_is_not_held_back_or_hurried(jump: float) -> None:
    world = World()
    world.run(1.0)
    world.sim += jump
    before, wall = world.sim, world.wall
    world.run(1.0)
    assert world.sim - before == pytest.approx(1.0, abs=0.01)
    assert world.wall - wall < 1.1


def test_a_scene_that_was_stopped_starts_from_there() -> None:
    world = World()
    world.run(1.0)
    world.wall += 0.04
    world.pacer.forget()
    before = world.sim
    world.run(1.0)
    assert world.sim - before == pytest.approx(1.0, abs=0.01)
