"""Handlers of signals that raise within a step: what they raise comes out, no step gets lost.

Python runs them as soon as MuJoCo has returned, so that is where nearly all of them run.
"""

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import stroboscope.engine as physics
from stroboscope.engine.errors import StepFailedError

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
