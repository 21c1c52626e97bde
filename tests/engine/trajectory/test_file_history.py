"""Navigation in long files: right everywhere, and without going through all of it."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stroboscope.engine as physics
from stroboscope.debugger_protocol.time_messages import SegmentKind
from stroboscope.engine.history.waypoints import Waypoints
from stroboscope.engine.trajectory.trajectory import Trajectory, load_trajectory

MODEL = """
<mujoco>
  <option timestep="0.004"/>
  <worldbody>
    <body pos="0 0 .6">
      <joint name="shoulder" axis="0 1 0" damping=".05"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
    </body>
  </worldbody>
  <actuator><position joint="shoulder" kp="8"/></actuator>
</mujoco>
"""
STEPS = 4000


def _record(path: Path, **how: Any) -> Path:
    scene = physics.create_scene("Arm", MODEL)
    with scene.start_recording(physics.TrajectoryFile(path, chunk_size=16, **how)):
        for step in range(STEPS):
            if step in (1203, 1204, 2600):
                scene.reset()
            scene.data.ctrl[:] = math.sin(0.05 * step)
            scene.step()
    scene.destroy()
    return path


@pytest.fixture(scope="module", params=[1, 10])
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """16 s of an arm with three resets, every step of it or every tenth."""
    return _record(tmp_path_factory.mktemp("run") / "run.mcap", every=request.param)


@pytest.fixture
def trajectory(recorded: Path) -> Iterator[Trajectory]:
    """The run, its scene built; 60 steps were taken from its end since."""
    with load_trajectory(recorded) as opened:
        opened.seek(-1)
        scene = opened.scene
        scene.keep_history(keep=True)
        for _ in range(60):
            scene.step()
        yield opened
        scene.destroy()


def _remembered(trajectory: Trajectory) -> list[int]:
    recorded = [trajectory.axis(frame) for frame in range(len(trajectory) - 1)]
    end = trajectory.axes[1]
    return [*recorded, *range(end, end + 60)]


def test_what_is_remembered_before_after_and_between_is_found(trajectory: Trajectory) -> None:
    ring, axes = trajectory.scene.history.ring, _remembered(trajectory)
    live = trajectory.axes[1] + 60
    assert ring.reachable == len(axes)
    assert ring.axes(0, live).tolist() == axes
    there = np.array(axes)
    rng = np.random.default_rng(0)
    for axis in (0, 1, *rng.integers(0, live, 300).tolist(), trajectory.axes[1], live):
        before, after = there[there < axis], there[there >= axis]
        assert ring.last_remembered(axis) == (before[-1] if len(before) else -1), axis
        assert ring.next_remembered(axis, live) == (after[0] if len(after) else live), axis
        last = axis + int(rng.integers(0, 400))
        expected = there[(there >= axis) & (there <= last)]
        assert ring.axes(axis, last).tolist() == expected.tolist(), (axis, last)


def test_times_and_steps_are_found_and_few_blocks_are_read_for_it(
    trajectory: Trajectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = trajectory.scene
    machine = scene.link.backend.time_machine()
    axes, live = _remembered(trajectory), scene.counters.axis
    read: set[int] = set()
    block = trajectory._rows.block

    def counted(number: int) -> Any:
        read.add(number)
        return block(number)

    monkeypatch.setattr(trajectory._rows, "block", counted)
    middle = len(axes) // 3
    wanted = scene.history.ring.time(axes[middle])
    assert machine.find(time=wanted, near=axes[middle]) == axes[middle]
    assert machine.steps_away(axes[middle], -1, physics=True) == axes[middle - 1]
    assert machine.steps_away(axes[middle], -1, physics=False) == axes[middle - 1]
    assert machine.steps_away(axes[middle], 1, physics=False) == axes[middle + 1]
    assert machine.steps_away(axes[middle], -2000, physics=False) == axes[0]
    assert machine.steps_away(axes[0], live, physics=False) == live
    assert len(read) < 40


def test_a_frame_that_was_sought_is_where_the_next_steps_begin(recorded: Path) -> None:
    with load_trajectory(recorded) as opened:
        scene = opened.scene
        scene.keep_history(keep=True)
        axis = opened.axis(opened.seek(time=1.0, episode=0).index)
        scene.step()
        begun = scene.history.segments.last
        assert begun is not None
        assert (begun.segment.kind, begun.segment.parent_axis) == (SegmentKind.BRANCH, axis)
        assert begun.segment.begin == scene.counters.axis - 1
        scene.destroy()


def test_the_nearest_waypoint_is_found_whatever_was_kept_and_forgotten() -> None:
    rng = np.random.default_rng(0)
    row = np.zeros(4)
    waypoints = Waypoints(most_bytes=20 * row.nbytes)
    kept: list[int] = []
    for axis in rng.integers(0, 60, 500).tolist():
        waypoints.keep(axis, row + axis, b"")
        kept = [*(each for each in kept if each != axis), axis][-20:]
        after = int(rng.integers(0, 60))
        found = waypoints.before(axis + 3, after=after, edits=0)
        expected = max((each for each in kept if after < each <= axis + 3), default=None)
        assert (None if found is None else found[0]) == expected
        assert found is None or found[1][0] == expected
