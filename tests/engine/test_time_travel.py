"""Travels in time of a real MuJoCo scene by a real client, against MuJoCo itself as the oracle."""

import math
import random
import time
from collections.abc import Callable, Iterator
from functools import partial

import mujoco
import numpy as np
import pytest
from driven_scene import ARM, BOX_AND_ARM, FULL, Driven
from numpy.typing import NDArray

from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.host.server import DebugServer
from stroboscope.debugger_protocol.messages import OwnerActivity
from stroboscope.debugger_protocol.topics import Instant, Topic

Row = NDArray[np.float64]

COMMANDS = {
    "step": 5,
    "physics": 2,
    "back": 6,
    "forward": 4,
    "scrub": 6,
    "run": 1,
    "continue": 3,
    "replay": 2,
    "restore": 1,
    "checkpoint": 2,
    "take back": 3,
    "edit": 2,
    "resimulate": 2,
    "live": 1,
}


def controls(now: float) -> tuple[float, float]:
    """What the script's controller wants at a time [s]: it has no state of its own."""
    return 0.9 * math.sin(7.0 * now), 1.5 * math.cos(5.0 * now)


def controller(driven: Driven, *, nstep: int = 1) -> None:
    """A script that writes its controls before every step."""
    while not driven.over:
        data = driven.scene.data
        data.ctrl[:] = controls(data.time)
        driven.scene.step(nstep=nstep)


class Oracle:
    """Every row that there ever was, by plain MuJoCo, and what is looked at."""

    def __init__(self, start: Row, nstep: int) -> None:
        self.nstep = nstep
        self.done = 0
        """Physics steps of the open application step."""
        self.model = mujoco.MjModel.from_xml_string(BOX_AND_ARM.format(option=""))
        self.data = mujoco.MjData(self.model)
        self.initial = self.live = start
        self.axis = 0
        self.rows: dict[int, Row] = {}
        self.segments: list[int] = [0]
        self.view: int | None = None
        self.kept: dict[int, Row] = {}

    def step(self, count: int) -> None:
        """Complete application steps; the open one counts."""
        self.physics(count * self.nstep - self.done)

    def physics(self, count: int) -> None:
        self.view = None
        for _ in range(count):
            self.rows[self.axis] = self.live
            mujoco.mj_setState(self.model, self.data, self.live, FULL)
            mujoco.mj_step(self.model, self.data)
            self.done = (self.done + 1) % self.nstep
            if not self.done:
                self.data.ctrl[:] = controls(self.data.time)
            self.live = self.row()
            self.axis += 1

    def row(self) -> Row:
        row = np.empty(mujoco.mj_stateSize(self.model, FULL))
        mujoco.mj_getState(self.model, self.data, row, FULL)
        return row

    def look(self, axis: int) -> None:
        axis = min(max(axis, 0), self.axis)
        self.view = None if axis == self.axis else axis

    def put(self, row: Row) -> None:
        """Stand at a row; what remains of the open step is abandoned: the script goes on."""
        self.live, self.view = row, None
        self.segments.append(self.axis)
        if self.done:
            self.done = 0
            self.part(row)
            self.data.ctrl[:] = controls(self.data.time)
            self.live = self.row()

    def edit_arm(self, value: float) -> None:
        mujoco.mj_setState(self.model, self.data, self.live, FULL)
        self.data.qpos[self.model.jnt_qposadr[self.model.body_jntadr[ARM]]] = value
        self.live, self.view = self.row(), None
        self.segments.append(self.axis)

    def replay(self, near: int) -> None:
        """Step the recorded rows again; what was edited or restored since the last is undone."""
        end = self.axis
        ctrl = self.part(self.live)
        mujoco.mj_setState(self.model, self.data, self.rows[end - 1], FULL)
        mujoco.mj_step(self.model, self.data)
        self.data.ctrl[:] = ctrl
        self.put(self.row())
        for axis in range(near, end):
            self.rows[self.axis] = self.rows[axis]
            self.axis += 1

    def part(self, row: Row) -> Row:
        """Return the controls of a row."""
        mujoco.mj_setState(self.model, self.data, row, FULL)
        return self.data.ctrl.copy()

    def end_of_segment(self, axis: int) -> int:
        return min([begin for begin in self.segments if begin > axis], default=self.axis)

    def shown(self) -> tuple[float, bytes, bytes]:
        """Return time, positions and velocities of the row that is looked at."""
        assert self.view is not None
        mujoco.mj_setState(self.model, self.data, self.rows[self.view], FULL)
        return self.data.time, self.data.qpos.tobytes(), self.data.qvel.tobytes()


class Traveller:
    """Gives a client's commands and the oracle's at once."""

    def __init__(self, client: DebuggerClient, driven: Driven, seed: int, nstep: int) -> None:
        self.client, self.driven = client, driven
        self.chance = random.Random(seed)
        self.oracle = Oracle(driven.state(), nstep)
        self.arm = int(driven.model.jnt_qposadr[driven.model.body_jntadr[ARM]])
        client.subscribe(driven.id, [Topic.STATE], max_rate_hz=1000)

    def travel(self, count: int) -> None:
        for _ in range(count):
            word = self.chance.choices(list(COMMANDS), list(COMMANDS.values()))[0]
            self.command(word)
            self.check(word)

    def command(self, word: str) -> None:
        client, id, oracle, chance = self.client, self.driven.id, self.oracle, self.chance
        n = chance.choice((1, 1, 2, 7, 30))
        near = oracle.axis if oracle.view is None else oracle.view
        match word:
            case "step":
                client.step(id, n)
                oracle.step(n)
            case "physics":
                client.physics_step(id, n)
                oracle.physics(n)
            case "run":
                client.fast_forward()
                client.pause()
                oracle.physics(client.scenes()[0].axis - oracle.axis)
                assert client.wait_until(lambda c: c.history(id).view is None, 60)
            case "restore":
                client.restore_initial(id)
                oracle.put(oracle.initial)
            case "checkpoint":
                kept = client.checkpoint(id, f"at {near}")
                oracle.kept[kept] = oracle.live if oracle.view is None else oracle.rows[near]
            case "edit":
                value = chance.uniform(-1.0, 1.0)
                client.edit_state(id, "qpos", self.arm, [value])
                oracle.edit_arm(value)
            case "live":
                client.go_live(id)
                oracle.view = None
            case _ if oracle.rows:
                self.look_or_branch(word, n, near)

    def look_or_branch(self, word: str, n: int, near: int) -> None:
        client, id, oracle, chance = self.client, self.driven.id, self.oracle, self.chance
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
                self.replay(near)
            case "take back" if oracle.kept:
                kept = chance.choice(list(oracle.kept))
                client.restore(id, kept)
                oracle.put(oracle.kept[kept])
                if len(oracle.kept) > 50:
                    client.drop_checkpoint(id, kept)
                    del oracle.kept[kept]
            case "resimulate":
                axis = chance.randrange(oracle.axis)
                end = oracle.end_of_segment(axis)
                if axis + 1 >= end:
                    return
                steps = min(chance.randint(1, 40), end - axis - 1)
                made = client.resimulate(id, axis=axis, steps=steps)
                rows = client.read_rows(id, ["qpos"], rollout_id=made)
                for at, qpos in zip(rows["axis"], rows["qpos"], strict=True):
                    mujoco.mj_setState(oracle.model, oracle.data, oracle.rows[axis + at], FULL)
                    assert qpos.tobytes() == oracle.data.qpos.tobytes()
                client.drop_rollout(id, made)

    def replay(self, near: int) -> None:
        client, id, oracle = self.client, self.driven.id, self.oracle
        if oracle.end_of_segment(near) != oracle.axis:
            with pytest.raises(CommandError, match="the recorded inputs lead from here"):
                client.continue_from_here(id, with_script=False)
            return
        client.continue_from_here(id, with_script=False)
        oracle.replay(near)

    def check(self, word: str) -> None:
        """Compare everything with the oracle, bit for bit."""
        oracle = self.oracle
        assert self.driven.scene.counters.axis == oracle.axis, word
        # The script writes its controls after the step that was asked for, or was abandoned.
        end = time.monotonic() + 60.0
        while (differs := np.flatnonzero(self.driven.state() != oracle.live)).size:
            assert time.monotonic() < end, f"{word}: {differs} of the state differ"
        history = self.client.history(self.driven.id)
        assert (history.view if history is not None else None) == oracle.view, word
        if oracle.view is not None:
            assert self.frame() == oracle.shown(), word

    def frame(self) -> tuple[float, bytes, bytes]:
        """Return what is shown of the row that is looked at."""
        end = time.monotonic() + 60.0
        while time.monotonic() < end:
            slot = self.driven.scene.link.publisher.slots.get((Topic.STATE, Instant.PAST))
            if slot is not None and slot.clock.axis == self.oracle.view:
                state = slot.arrays
                return slot.clock.time, state["qpos"].tobytes(), state["qvel"].tobytes()
        raise AssertionError("the row that is looked at was never shown")


@pytest.fixture
def traveller(host: Host, drive_box: Callable[..., Driven]) -> Iterator[Callable[..., Traveller]]:
    """``traveller(seed)``: a client of a paused scene that is controlled by a script."""
    server = DebugServer(host)
    server.start()
    with DebuggerClient.connect(server.connection_file) as client:

        def make(seed: int, nstep: int = 1) -> Traveller:
            driven = drive_box(loop=partial(controller, nstep=nstep))
            client.pause()
            assert client.wait_until(
                lambda c: [s.activity for s in c.scenes()] == [OwnerActivity.PARKED], 60
            )
            return Traveller(client, driven, seed, nstep)

        yield make
    server.stop()


@pytest.mark.parametrize("nstep", [1, 3])
def test_random_travels_leave_every_state_as_mujoco_has_it(
    traveller: Callable[..., Traveller], nstep: int
) -> None:
    traveller(1, nstep=nstep).travel(200)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("nstep", [1, 3])
def test_ten_thousand_random_travels_leave_every_state_as_mujoco_has_it(
    traveller: Callable[..., Traveller], nstep: int
) -> None:
    traveller(3, nstep=nstep).travel(10_000)
