"""Random travels in time against an oracle in plain Python that simulates everything again."""

import dataclasses
import random
import time
from collections.abc import Callable

import pytest
from remembering import GuardedStepper, Row, advanced

from stroboscope.debugger_protocol import time_messages as tm
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.topics import Instant, Topic

Connect = Callable[..., DebuggerClient]
Remember = Callable[..., GuardedStepper]

COMMANDS = {
    "step": 6,
    "back": 6,
    "forward": 4,
    "scrub": 6,
    "run": 1,
    "continue": 3,
    "replay": 1,
    "restore": 1,
    "checkpoint": 2,
    "take back": 3,
    "edit": 2,
    "resimulate": 2,
    "live": 1,
}


class Oracle:
    """What the scene must be like: every row ever, where it stands, and what is looked at."""

    def __init__(self, start: Row) -> None:
        self.initial = start
        self.live = start
        self.axis = 0
        self.rows: dict[int, Row] = {}
        self.view: int | None = None
        self.kept: dict[int, Row] = {}

    def step(self, count: int) -> None:
        self.view = None
        for _ in range(count):
            self.rows[self.axis] = self.live
            after = advanced(self.live)
            self.live = dataclasses.replace(after, step_count=self.live.step_count + 1)
            self.axis += 1

    def look(self, axis: int) -> None:
        axis = min(max(axis, 0), self.axis)
        self.view = None if axis == self.axis else axis

    def put(self, row: Row) -> None:
        self.live, self.view = row, None

    def simulated(self, axis: int, steps: int) -> Row:
        row = self.rows[axis]
        for _ in range(steps):
            row = advanced(row)
        return row


class Traveller:
    """Gives a client's commands and the oracle's at once."""

    def __init__(self, client: DebuggerClient, stepper: GuardedStepper, seed: int) -> None:
        self.client, self.stepper = client, stepper
        self.chance = random.Random(seed)
        self.oracle = Oracle(stepper.scene.backend.row())
        client.subscribe(stepper.id, [Topic.STATE], max_rate_hz=1000)

    def travel(self, count: int) -> None:
        for _ in range(count):
            word = self.chance.choices(list(COMMANDS), list(COMMANDS.values()))[0]
            self.command(word)
            self.check(word)

    def command(self, word: str) -> None:
        client, id, oracle, chance = self.client, self.stepper.id, self.oracle, self.chance
        n = chance.choice((1, 1, 2, 7, 30))
        near = oracle.axis if oracle.view is None else oracle.view
        match word:
            case "step":
                client.step(id, n)
                oracle.step(n)
            case "run":
                client.fast_forward()
                client.pause()
                oracle.step(client.scenes()[0].axis - oracle.axis)
                # The owner goes live before its next step, which it may not have come to.
                assert client.wait_until(lambda c: c.history(id).view is None, 60)
            case "restore":
                client.restore_initial(id)
                oracle.put(oracle.initial)
            case "checkpoint":
                kept = client.checkpoint(id, f"at {near}")
                oracle.kept[kept] = oracle.live if oracle.view is None else oracle.rows[near]
            case "edit":
                value = chance.uniform(-1.0, 1.0)
                client.edit_state(id, "qpos", 0, [value])
                oracle.put(dataclasses.replace(oracle.live, q=value))
            case "live":
                client.go_live(id)
                oracle.view = None
            case _ if oracle.rows:
                self.look_or_branch(word, n, near)

    def look_or_branch(self, word: str, n: int, near: int) -> None:
        client, id, oracle, chance = self.client, self.stepper.id, self.oracle, self.chance
        match word:
            case "back":
                client.step_back(id, n, physics=True)
                oracle.look(near - n)
            case "forward":
                client.step_forward(id, n, physics=True)
                oracle.look(near + n)
            case "scrub":
                axis = chance.randint(0, oracle.axis)
                client.goto(id, axis=axis)
                oracle.look(axis)
            case "continue" if oracle.view is not None:
                client.continue_from_here(id)
                oracle.put(oracle.rows[near])
            case "replay" if oracle.view is not None and oracle.axis - near < 200:
                client.continue_from_here(id, with_script=False)
                counted = oracle.live.step_count
                after = oracle.simulated(near, oracle.axis - near)
                oracle.put(dataclasses.replace(after, step_count=counted))
            case "take back" if oracle.kept:
                kept = chance.choice(list(oracle.kept))
                client.restore(id, kept)
                oracle.put(oracle.kept[kept])
                if len(oracle.kept) > 50:
                    client.drop_checkpoint(id, kept)
                    del oracle.kept[kept]
            case "resimulate":
                axis = chance.randrange(oracle.axis)
                steps = chance.randint(1, 40)
                made = client.resimulate(id, axis=axis, steps=steps)
                rows = client.read_rows(id, ["qpos", "qvel"], rollout_id=made)
                last = oracle.simulated(axis, steps)
                assert (rows["qpos"][-1, 0], rows["qvel"][-1, 0]) == (last.q, last.v)
                client.drop_rollout(id, made)

    def check(self, word: str) -> None:
        """Compare everything with the oracle, bit for bit."""
        backend, oracle = self.stepper.scene.backend, self.oracle
        live = (backend.q, backend.v, backend.time, backend.step_count, backend.axis)
        expected = oracle.live
        assert live == (
            expected.q,
            expected.v,
            expected.time,
            expected.step_count,
            oracle.axis,
        ), word
        history = self.client.history(self.stepper.id)
        assert (history.view if history is not None else None) == oracle.view, word
        if oracle.view is not None:
            row = oracle.rows[oracle.view]
            frame = self.frame()
            assert frame == (oracle.view, row.time, row.q, row.v), word

    def frame(self) -> tuple[int, float, float, float]:
        """Return the frame of the row that is looked at; it may have been shown already."""
        end = time.monotonic() + 60.0
        while time.monotonic() < end:
            slot = self.stepper.scene.link.publisher.slots.get((Topic.STATE, Instant.PAST))
            if slot is not None and slot.clock.axis == self.oracle.view:
                state = slot.arrays
                return slot.clock.axis, slot.clock.time, state["qpos"][0], state["qvel"][0]
        raise AssertionError("the row that is looked at was never shown")


@pytest.mark.parametrize("seed", [1, 2])
def test_random_travels_leave_every_state_as_the_oracle_has_it(
    connect: Connect, remember: Remember, seed: int
) -> None:
    traveller = Traveller(connect(), remember(), seed)
    traveller.travel(250)
    assert traveller.client.history(traveller.stepper.id) is not None


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_ten_thousand_random_travels_leave_every_state_as_the_oracle_has_it(
    connect: Connect, remember: Remember
) -> None:
    Traveller(connect(), remember(), 3).travel(10_000)


def test_a_travelling_client_that_disappears_leaves_a_scene_that_runs_on(
    connect: Connect, remember: Remember
) -> None:
    client, stepper = connect(), remember()
    traveller = Traveller(client, stepper, 4)
    traveller.travel(40)
    assert tm.SegmentKind.BRANCH in {s.kind for s in stepper.memory.segments}
    client.goto(stepper.id, axis=0)
    client.close()
    axis = stepper.scene.backend.axis
    watcher = connect(observe=True)
    assert watcher.wait_until(lambda c: c.scenes()[0].axis > axis, 60)
