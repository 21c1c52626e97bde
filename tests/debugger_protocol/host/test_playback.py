import random

import pytest
from samples import few

from stroboscope.debugger_protocol.host.playback import Pacer, Turns

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
            self.step_once()
            self.wall += work

    def step_once(self, turns: Turns | None = None) -> None:
        while (
            ahead := self.pacer.ahead(self.sim, now=self.wall, speed=self.speed, turns=turns)
        ) >= 0.001:
            before = self.wall
            self.wall += ahead + self._random.uniform(0.00005, 0.0005)
            self.pacer.has_waited(self.wall - before)
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


class Turned:
    """Scenes of one thread, stepped in turn for ``control`` seconds of simulation each."""

    def __init__(self, count: int) -> None:
        self.worlds = [World(seed=seed) for seed in range(count)]
        self.turns = Turns()
        self.wall = 100.0

    def run(self, rounds: int, *, control: float) -> None:
        for _ in range(rounds):
            for world in self.worlds:
                self.turn(world, control)

    def turn(self, world: World, control: float) -> None:
        world.wall = self.wall
        for _ in range(round(control / world.step)):
            world.step_once(self.turns)
        self.wall = world.wall


@pytest.mark.parametrize("speed", few([1.0, 0.5, 4.0], 1))
@pytest.mark.parametrize(("count", "control"), [(4, 0.05), (24, 0.05), (3, 0.2), (5, 0.002)])
def test_scenes_in_turns_are_as_fast_as_one(count: int, control: float, speed: float) -> None:
    scenes = Turned(count)
    for world in scenes.worlds:
        world.speed = speed
    scenes.run(3, control=control)
    before, begin = [world.sim for world in scenes.worlds], scenes.wall
    rounds = 20
    scenes.run(rounds, control=control)
    for world, sim in zip(scenes.worlds, before, strict=True):
        assert world.sim - sim == pytest.approx(rounds * control)
    assert scenes.wall - begin == pytest.approx(rounds * control / speed, rel=0.05, abs=0.002)


def test_scenes_that_are_used_one_after_the_other_are_each_paced() -> None:
    scenes = Turned(2)
    for _ in range(3):
        for world in scenes.worlds:
            begin = scenes.wall
            scenes.turn(world, 2.0)
            assert scenes.wall - begin == pytest.approx(2.0, abs=Pacer.MAX_LAG + 0.01)


def test_a_stall_of_scenes_in_turns_is_not_made_up_for() -> None:
    scenes = Turned(4)
    scenes.run(5, control=0.05)
    scenes.wall += 5.0
    begin = scenes.wall
    scenes.run(20, control=0.05)
    assert scenes.wall - begin == pytest.approx(1.0, abs=0.11)


def test_of_scenes_in_turns_one_may_begin_anew_end_or_be_left_out() -> None:
    scenes = Turned(4)
    scenes.run(5, control=0.05)
    scenes.worlds[1].sim = 0.0  # its episode has ended
    scenes.worlds[2].pacer.forget()  # it was restored
    scenes.run(3, control=0.05)
    for _ in range(3):  # whoever has paced the others among them
        begin = scenes.wall
        scenes.run(20, control=0.05)
        assert scenes.wall - begin == pytest.approx(1.0, abs=0.06)
        scenes.worlds.pop()
        scenes.run(3, control=0.05)
