"""Two states, two rollouts: what differs most, under which name, from which step on."""

from collections.abc import Callable

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.time_messages import GhostRef, GhostSource, StatesCompared
from stroboscope.engine.rollouts.desk import RolloutDesk
from stroboscope.engine.rollouts.stored import StoredRollout

Make = Callable[..., physics.Scene]
Drive = Callable[..., NDArray[np.float64]]
StateOf = Callable[[physics.Scene], NDArray[np.float64]]
Array = NDArray[np.float64]

BALL = """
<mujoco><option timestep="0.005"/><worldbody><geom name="floor" type="plane" size="2 2 .1"/>
  <body name="ball" pos="0 0 .3"><joint name="lift" type="slide" axis="0 0 1"/>
  <joint name="spin" axis="0 0 1"/><geom name="skin" size=".1"/></body></worldbody>
  <actuator><motor name="push" joint="lift"/></actuator></mujoco>
"""


@pytest.fixture
def ball() -> physics.Scene:
    return physics.create_scene("ball", BALL)


def compare(
    scene: physics.Scene, first: int, second: int, *, tolerance: float = 0.0
) -> StatesCompared:
    """Compare two rollouts of a scene."""
    refs = [
        GhostRef(source=GhostSource.ROLLOUT, number=number, scene_id=scene.scene_id)
        for number in (first, second)
    ]
    desk = RolloutDesk(scene, scene.rollouts)
    return desk.compare(*refs, tolerance=tolerance, keeper=None, row_at=no_row)


def compare_rows(scene: physics.Scene, *rows: Array) -> StatesCompared:
    """Compare two rows of a scene's history."""
    refs = [
        GhostRef(source=GhostSource.ROW, number=number, scene_id=scene.scene_id)
        for number in (0, 1)
    ]
    desk = RolloutDesk(scene, scene.rollouts)
    return desk.compare(*refs, tolerance=0.0, keeper=None, row_at=lambda axis: rows[axis])


def no_row(axis: int) -> Array:
    raise AssertionError(axis)


def stored(scene: physics.Scene, rows: Array, *, timestep: float | None = None) -> StoredRollout:
    return StoredRollout(
        name="one",
        rows=rows,
        timestep=timestep or float(scene.model.opt.timestep),
        make_model=lambda: scene.model,
        digest=scene.world.codec.digest,
    )


def rows_of(
    scene: physics.Scene, state_of: StateOf, steps: int, change: Callable[[int], None]
) -> Array:
    scene.reset()
    rows = []
    for step in range(steps):
        change(step)
        rows.append(state_of(scene))
        scene.step()
    rows.append(state_of(scene))
    return np.array(rows)


def test_equal_states_have_no_differences(ball: physics.Scene, state_of: StateOf) -> None:
    row = state_of(ball)
    compared = compare_rows(ball, row, row.copy())
    assert compared.differences == ()
    assert (compared.first_bit, compared.first_beyond, compared.first_contacts) == (-1, -1, -1)
    assert compared.text == "no bit differs"


def test_values_have_the_names_and_units_of_the_model(
    ball: physics.Scene, state_of: StateOf
) -> None:
    first = state_of(ball)
    ball.data.qpos[0] = 0.5
    ball.data.qvel[1] = 0.001
    ball.data.ctrl[0] = -2.0
    ball.data.time = 1.0
    ball.data.xfrc_applied[1, 2] = 3.0
    compared = compare_rows(ball, first, state_of(ball))
    found = {each.name: (each.unit, each.first, each.second) for each in compared.differences}
    assert found == {
        "time": ("s", 0.0, 1.0),
        "qpos lift": ("m", 0.0, 0.5),
        "qvel spin": ("rad/s", 0.0, 0.001),
        "ctrl push": ("N", 0.0, -2.0),
        "xfrc_applied ball.fz": ("N", 0.0, 3.0),
    }
    assert compared.first_bit == 0


def test_the_most_different_comes_first_within_its_kind(
    make_scene: Make, state_of: StateOf
) -> None:
    scene = make_scene("arm")
    first = state_of(scene)
    scene.data.qvel[:3] = (0.1, 5.0, 1.0)
    names = [each.name for each in compare_rows(scene, first, state_of(scene)).differences]
    velocity = [f"qvel {mujoco.mj_id2name(scene.model, 3, index)}" for index in (1, 2, 0)]
    assert names == velocity


def test_what_the_solver_keeps_for_itself_comes_last(
    make_scene: Make, drive: Drive, state_of: StateOf
) -> None:
    scene = make_scene()
    first = state_of(scene)
    drive(scene, 30)
    compared = compare_rows(scene, first, state_of(scene))
    internal = [each.name.startswith("warmstart") for each in compared.differences]
    assert internal == sorted(internal)
    assert any(internal)


def test_nan_against_a_number_is_the_largest_difference(
    ball: physics.Scene, state_of: StateOf
) -> None:
    first, second = state_of(ball), state_of(ball)
    second[1], second[2] = 3.0, np.nan
    compared = compare_rows(ball, first, second)
    assert [each.name for each in compared.differences] == ["qpos spin", "qpos lift"]
    assert compared.first_beyond == 0


def test_rollouts_say_the_first_step_that_differs_in_a_bit_beyond_and_in_contacts(
    ball: physics.Scene, state_of: StateOf
) -> None:
    falling = rows_of(ball, state_of, 100, lambda step: None)

    def push(step: int) -> None:
        ball.ctrl[0] = 60.0 if step == 20 else 0.0

    pushed = rows_of(ball, state_of, 100, push)
    ids = [ball.rollouts.add(stored(ball, rows)) for rows in (falling, pushed)]
    compared = compare(ball, *ids, tolerance=0.5)
    assert compared.first_bit == 20
    assert compared.first_beyond == 20  # the control itself
    landed = int(np.argmax(falling[:, 1] <= -0.2))
    assert compared.first_contacts == landed > 21
    worst = compared.differences[0]
    assert worst.name in ("ctrl push", "qvel lift", "qpos lift")
    by_name = {each.name: each for each in compared.differences}
    height = by_name["qpos lift"]
    assert height.at_step == int(np.abs(falling[:, 1] - pushed[:, 1]).argmax())
    assert (height.first, height.second) == (
        falling[height.at_step, 1],
        pushed[height.at_step, 1],
    )
    assert "from step 20 on" in compared.text


def test_other_timesteps_are_compared_where_both_have_a_state(
    ball: physics.Scene, state_of: StateOf
) -> None:
    coarse = rows_of(ball, state_of, 30, lambda step: None)
    ball.model.opt.timestep = 0.0025
    fine = rows_of(ball, state_of, 60, lambda step: None)
    ball.model.opt.timestep = 0.005
    ids = [ball.rollouts.add(stored(ball, rows)) for rows in (coarse, fine)]
    compared = compare(ball, *ids, tolerance=1e-9)
    assert "compared at 31 of 31 and 61 states" in compared.text
    assert compared.first_beyond == 1
    time = next((each for each in compared.differences if each.name == "time"), None)
    assert time is None or abs(time.first - time.second) < 1e-12
    other = compare(ball, *reversed(ids), tolerance=1e-9)
    assert other.first_beyond == 2  # steps of the first one


def test_rollouts_of_other_models_are_refused(
    ball: physics.Scene, make_scene: Make, state_of: StateOf
) -> None:
    arm = make_scene("arm")
    mine = ball.rollouts.add(stored(ball, state_of(ball)[None]))
    other = ball.rollouts.add(stored(arm, state_of(arm)[None]))
    with pytest.raises(CommandError, match=r"than 'ball': .* here, .* there"):
        compare(ball, mine, other)


def test_the_script_s_contact_filter_is_not_called(ball: physics.Scene, state_of: StateOf) -> None:
    calls = []

    def keep(model: mujoco.MjModel, data: mujoco.MjData, first: int, second: int) -> int:
        calls.append(1)
        return 0

    first = rows_of(ball, state_of, 60, lambda step: None)
    mujoco.set_mjcb_contactfilter(keep)
    try:
        second = first.copy()
        second[30:, 1] += 0.3
        ids = [ball.rollouts.add(stored(ball, rows)) for rows in (first, second)]
        compared = compare(ball, *ids)
    finally:
        mujoco.set_mjcb_contactfilter(None)
    assert calls == []
    assert compared.first_contacts == -1
    assert "contacts were not compared" in compared.text
