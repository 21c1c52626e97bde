"""Stepping back in a scene that is slow to step, and whose rows are not all of its state."""

from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.engine.history import keyframes

pytestmark = pytest.mark.skipif(
    not hasattr(mujoco.mjtEnableBit, "mjENBL_SLEEP"), reason="this MuJoCo knows no sleep"
)
StateOf = Callable[[physics.Scene], NDArray[np.float64]]
BOXES = """
<mujoco><option timestep=".005"><flag sleep="enable"/></option><worldbody>
  <geom type="plane" size="5 5 .1"/>
  <body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
  <body pos="1 0 .6"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
  <body pos="2 0 1.6"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
</worldbody></mujoco>
"""


class SlowSteps:
    """Processor time in which every physics step takes a tenth of a second."""

    def __init__(self) -> None:
        self.scene: Any = None

    def __call__(self) -> float:
        return 0.0 if self.scene is None else 0.1 * self.scene.counters.axis


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> SlowSteps:
    clock = SlowSteps()
    monkeypatch.setattr(keyframes, "thread_time", clock)
    return clock


@pytest.fixture
def steps_taken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Physics steps that were taken once more to reach a row."""
    from stroboscope.engine.history.past import Past

    taken: list[int] = []
    step = Past._step_once

    def counted(self: Past, axis: int) -> None:
        taken.append(axis)
        step(self, axis)

    monkeypatch.setattr(Past, "_step_once", counted)
    return taken


def boxes(count: int, state_of: StateOf, slow: SlowSteps | None = None) -> Any:
    scene = physics.create_scene("boxes", mujoco.MjModel.from_xml_string(BOXES))
    if slow is not None:
        slow.scene = scene
    scene.keep_history()
    rows = []
    for _ in range(count):
        rows.append(state_of(scene))
        scene.step()
    return scene, rows


def look(scene: Any, axis: int) -> Any:
    return scene.backend.time_machine().look_at(axis, frozenset({Topic.STATE}))


def test_the_newest_rows_of_a_slow_scene_are_a_few_steps_away(
    state_of: StateOf, slow: SlowSteps, steps_taken: list[int]
) -> None:
    scene, rows = boxes(230, state_of, slow)
    for axis in range(229, 180, -1):
        steps_taken.clear()
        past = look(scene, axis)
        assert past.note in ("", "verified")
        assert len(steps_taken) <= 5, axis
        row = scene.backend.time_machine()._past.row(axis)
        assert row.tobytes() == rows[axis].tobytes()


def test_stepping_back_through_rows_that_were_stepped_to_takes_no_step_twice(
    state_of: StateOf, steps_taken: list[int]
) -> None:
    scene, rows = boxes(128, state_of)
    for axis in range(127, 64, -1):
        past = look(scene, axis)
        assert past.note in ("", "verified")
        machine = scene.backend.time_machine()
        assert machine._past.row(axis).tobytes() == rows[axis].tobytes()
    assert len(steps_taken) < 128
    scene.backend.time_machine().continue_from(100)
    for axis in range(100, 128):
        assert state_of(scene).tobytes() == rows[axis].tobytes()
        scene.step()


def test_what_was_stepped_to_is_not_taken_for_what_an_edited_model_does(
    state_of: StateOf, steps_taken: list[int]
) -> None:
    scene, _ = boxes(64, state_of)
    look(scene, 40)
    scene.model.opt.gravity[2] = -3.0
    scene.model_changed()
    scene.keep_history()
    for _ in range(64):
        scene.step()
    assert look(scene, 64 + 30).note in ("", "verified")


def test_the_copies_in_between_take_a_bounded_part_of_the_memory(
    state_of: StateOf, slow: SlowSteps
) -> None:
    scene, _ = boxes(3000, state_of, slow)
    keyframes = scene.history.keyframes
    assert keyframes.passing_bytes <= scene.history.limit // 8
    scene.keep_history(max_bytes=1 << 20)
    for _ in range(500):
        scene.step()
    assert keyframes.passing_bytes <= (1 << 20) // 8 + 200_000
    assert look(scene, scene.counters.axis - 3).note in ("", "verified")
