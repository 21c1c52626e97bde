"""Handlers of signals that raise within a step: what they raise comes out, no step gets lost.

Python runs them as soon as MuJoCo has returned, so that is where nearly all of them run.
"""

import contextlib
import signal
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import interrupting
import mujoco
import numpy as np
import pytest
from hinge_model import HINGE, TIMESTEP
from interrupting import interrupted_after

import stroboscope.engine as physics
from stroboscope.engine.errors import StepFailedError
from stroboscope.engine.history import ring

MODEL = """
<mujoco>
  <option timestep="0.002" integrator="{integrator}"/>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <replicate count="6" offset="0 0 .25">
      <body pos="0 0 .2"><freejoint/><geom type="box" size=".1 .1 .1" mass="1"/></body>
    </replicate>
  </worldbody>
</mujoco>
"""
INTERRUPTS = 8


class Late(Exception):
    """What the script raises when it has waited too long."""


class Ended(BaseException):
    """What no handler of exceptions is to catch."""


@pytest.fixture(params=["exception", "base exception", "callable object"])
def raised(request: Any) -> Iterator[type[BaseException]]:
    """What the handler raises again and again, after some processor time of this process."""
    kind: type[BaseException] = Ended if request.param == "base exception" else Late

    class Handler:
        def __call__(self, number: int, frame: Any) -> None:
            raise kind

    def handler(number: int, frame: Any) -> None:
        raise kind

    before = signal.signal(
        signal.SIGVTALRM, Handler() if request.param == "callable object" else handler
    )
    yield kind
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
    signal.signal(signal.SIGVTALRM, before)


@pytest.fixture(params=["Euler", "RK4"])
def scene(request: Any) -> Iterator[physics.Scene]:
    """A tower of boxes, a step of which takes long enough for a signal to come within."""
    made = physics.create_scene("Tower", MODEL.format(integrator=request.param))
    yield made
    made.destroy()


@contextlib.contextmanager
def raising_after(lines: int, *, of: str) -> Iterator[None]:
    """Raise Late once, as a handler would, after so many lines of the module ``of`` that turn."""
    left = lines

    def trace(frame: Any, event: str, arg: object) -> Any:
        nonlocal left
        if event == "line":
            left -= 1
            if left == -1:
                raise Late
        return trace

    def enter(frame: Any, event: str, arg: object) -> Any:
        return trace if frame.f_code.co_filename == of else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        yield
    finally:
        sys.settrace(before)


def step_through_interrupts(scene: physics.Scene, raised: type[BaseException]) -> int:
    """Step until enough handlers have raised; return how many steps the data has taken."""
    count = 0
    while count < INTERRUPTS:
        try:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.003)
            while True:
                scene.step()
        except raised:
            count += 1
        finally:
            with contextlib.suppress(raised):
                signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
    return round(scene.data.time / scene.model.opt.timestep)


def test_what_a_handler_raises_comes_out_of_a_step_that_counts(
    scene: physics.Scene, raised: type[BaseException]
) -> None:
    assert step_through_interrupts(scene, raised) == scene.step_count


@pytest.mark.parametrize("scene", ["Euler"], indirect=True)
@pytest.mark.parametrize("kept", ["recorded", "history"])
def test_steps_that_are_kept_are_all_kept(
    scene: physics.Scene, raised: type[BaseException], kept: str, tmp_path: Path
) -> None:
    oracle = mujoco.MjData(scene.model)
    if kept == "history":
        scene.keep_history(True)
    else:
        scene.start_recording(tmp_path / "run.mcap")
    steps = step_through_interrupts(scene, raised)
    assert scene.step_count == steps
    for _ in range(steps):
        mujoco.mj_step(scene.model, oracle)
    np.testing.assert_array_equal(scene.data.qpos, oracle.qpos)
    if kept == "history":
        scene.save_history(tmp_path / "run.mcap")
    else:
        scene.stop_recording()
    with physics.load_trajectory(tmp_path / "run.mcap") as run:
        assert run.verify().exit_code == 0
        assert run.seek(-1).axis == steps
        assert not [event for event in run.events if event.kind == "edit"]


def test_an_error_of_a_callback_of_mujoco_is_a_failed_step_still(scene: physics.Scene) -> None:
    def control(model: Any, data: Any) -> None:
        raise Late

    mujoco.set_mjcb_control(control)
    try:
        with pytest.raises(StepFailedError):
            scene.step()
    finally:
        mujoco.set_mjcb_control(None)
    assert scene.step_count == 0


def test_what_raises_anywhere_in_turning_blocks_of_rows_leaves_the_room_for_them() -> None:
    def remembered(lines: Iterable[int]) -> int:
        scene = physics.create_scene("Boxes", MODEL.format(integrator="Euler"))
        scene.keep_history(True, max_bytes=200_000)
        for _ in range(150):
            scene.step()
        for line in lines:
            with raising_after(line, of=ring.__file__), contextlib.suppress(Late):
                for _ in range(20):
                    scene.step()
        for _ in range(150):
            scene.step()
        return scene.history.ring.reachable

    assert remembered(range(0, 280, 2)) > 0.7 * remembered([])


@pytest.mark.parametrize("condition", ["", "time > 0.007"])
def test_a_stop_that_a_signal_comes_into_is_not_lost(condition: str) -> None:
    ours = str(Path(physics.__file__ or "").parent)

    def stop(calls: int) -> tuple[int, float, int, int]:
        scene, told = physics.create_scene("hinge", HINGE), list[int]()
        scene.raise_on_stop = True
        scene.on_stop(lambda: told.append(scene.physics_step_count))
        for _ in range(4):
            scene.step()
        if condition:
            scene.break_when(condition)
        else:
            scene.ctrl[:] = np.nan
        with interrupted_after(calls, within=(ours,)) as interruption:
            while scene.stops.last is None:  # no call, which the signal might come into
                with contextlib.suppress(interrupting.Late, physics.SimulationStopped):
                    scene.step()
        steps, time = scene.step_count, float(scene.data.time)
        scene.destroy()
        return steps, time, len(told), interruption.left

    steps, time, told, left = stop(100_000)
    assert (steps, told) == (5 if condition else 4, 1)
    for calls in range(0, 100_000 - left, 17):
        # At once, or of the next step: one that a signal came into counts before anybody looks.
        found, time, told, _ = stop(calls)
        assert found in (steps, steps + 1), calls
        assert time == pytest.approx(TIMESTEP * found), calls
        assert told <= 1, calls  # it may have come when the script was about to be told
