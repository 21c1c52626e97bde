"""What is recorded of a step that a signal came into, at each place in turn, and of those after it.

It is what would have been recorded without.
"""

import contextlib
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import pytest
from driven_scene import FULL
from interrupting import Late, interrupted_after

import stroboscope.engine as physics
from stroboscope.engine import scene_counters, step_rows, stepping
from stroboscope.engine.history import ring, scene_history, segments

MODEL = """
<mujoco>
  <option timestep="0.002">{flag}</option>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <replicate count="2" offset="0 0 .25">
      <body pos="0 0 .2"><freejoint/><geom type="box" size=".1 .1 .1" mass="1"/></body>
    </replicate>
  </worldbody>
</mujoco>
"""
LIMIT = 60_000
SLEEP = '<flag sleep="enable"/>'
FILES = tuple(
    str(part.__file__)
    for part in (ring, scene_counters, scene_history, segments, step_rows, stepping)
)


class Tap:
    """Keeps what it hears of segments, and of blocks that have rows."""

    def __init__(self) -> None:
        self.heard: list[tuple[Any, ...]] = []

    def opened(self, ring: Any, block: Any, *, at: int) -> None:
        """Take the rows of ``block``."""

    def sealed(self, block: Any) -> None:
        """Note how many there are."""
        if block.count:
            self.heard.append((block.begin, block.count))

    def began(self, stretch: Any) -> None:
        """Note a segment."""
        self.heard.append((stretch.segment, stretch.total_steps))

    def slept(self, axis: int, hidden: bytes) -> None:
        """Nothing."""


def stepped(scene: Any) -> None:
    for _ in range(5):
        scene.step()


def anew(scene: Any) -> None:
    """The first row of all comes next."""


def restored(scene: Any) -> None:
    checkpoint = scene.checkpoint()
    stepped(scene)
    scene.restore(checkpoint)


def reset_by_the_script(scene: Any) -> None:
    stepped(scene)
    mujoco.mj_resetData(scene.model, scene.data)


def edited(scene: Any) -> None:
    stepped(scene)
    scene.data.qvel[0] += 1.0


def block_is_full(scene: Any) -> None:
    stepped(scene)
    while scene.history.ring.at < scene.history.ring.size:
        scene.step()


def block_is_full_and_the_state_edited(scene: Any) -> None:
    block_is_full(scene)
    scene.data.qvel[0] += 1.0


def old_rows_are_thinned_out(scene: Any) -> None:
    for _ in range(700):
        scene.step()
    block_is_full(scene)


def left_out(scene: Any) -> None:
    stepped(scene)
    scene.keep_history(False)
    stepped(scene)
    scene.keep_history(True)


def recorded(scene: Any, tap: Tap) -> dict[str, Any]:
    """Return all that is remembered, and where the scene stands."""
    rows, state = scene.history.ring, np.empty(mujoco.mj_stateSize(scene.model, FULL))
    mujoco.mj_getState(scene.model, scene.data, state, FULL)
    assert rows.nbytes <= LIMIT
    axes = [axis for begin, end in rows.spans() for axis in range(begin, end)]
    stored = [rows.row(axis) for axis in axes]
    return {
        "state": state.tobytes(),
        "counters": (scene.step_count, scene.physics_step_count, scene.counters.total_steps),
        "episode": scene.history.episode,
        "segments": scene.history.segments.told(),
        "axes": axes,
        "rows": [None if row is None else row.tobytes() for row in stored],
        "inputs": [rows.inputs(axis).tobytes() for axis in axes],
        "follows": [rows.follows(axis) for axis in axes],
        "times": [(rows.time(axis), rows.timestep(axis)) for axis in axes],
        "steps": [rows.step(axis) for axis in axes],
        "heard": tap.heard,
    }


PLACES = [
    *((arrange, "", 12) for arrange in (anew, restored, edited, block_is_full)),
    *(
        pytest.param(arrange, flag, 1000, marks=pytest.mark.slow)
        for flag in ("", SLEEP)
        for arrange in (
            anew,
            restored,
            reset_by_the_script,
            edited,
            block_is_full,
            block_is_full_and_the_state_edited,
            old_rows_are_thinned_out,
            left_out,
        )
    ),
]


@pytest.mark.parametrize(("arrange", "flag", "places"), PLACES)
def test_what_is_recorded_is_what_it_would_have_been_without_a_signal(
    arrange: Callable[[Any], None], flag: str, places: int
) -> None:
    def run(calls: int) -> tuple[dict[str, Any], int]:
        scene, tap = physics.create_scene("Boxes", MODEL.format(flag=flag)), Tap()
        scene.keep_history(True, max_bytes=LIMIT)
        scene.history.add_tap(tap)  # type: ignore[arg-type]
        arrange(scene)
        end = scene.counters.single + 2
        with interrupted_after(calls, within=FILES) as interruption:
            while scene.counters.single < end:
                with contextlib.suppress(Late):
                    scene.step()
        for _ in range(20):
            scene.step()
        found = recorded(scene, tap)
        scene.destroy()
        return found, interruption.left

    most = 1_000_000
    expected, left = run(most)
    count = most - left
    for calls in range(0, count, max(1, count // places)):
        found, _ = run(calls)
        assert found == expected, f"call {calls} of {count}"
