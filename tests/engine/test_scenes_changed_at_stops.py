"""What a script does to its scene when it is told of a stop for which nobody holds it.

The step counts all the same: what the script writes then is of the steps that follow.
"""

from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest
from hinge_model import HINGE, TIMESTEP

import stroboscope.engine as physics
from stroboscope.debugger_protocol.backend import Clock

# What makes a step stop: a speed that it leads to, an input and a state that it begins with.
FAULTS: dict[str, Callable[[physics.Scene], None]] = {
    "a speed after it": lambda scene: scene.ctrl.fill(1e12),
    "an input before it": lambda scene: scene.ctrl.fill(np.nan),
    "a state before it": lambda scene: scene.qpos.fill(np.nan),
}


def run(scene: physics.Scene, fault: str, *, nstep: int) -> None:
    """Take eight steps; the fourth is in trouble."""
    for step in range(8):
        scene.ctrl[:] = 1.0
        if step == 3:
            FAULTS[fault](scene)
        scene.step(nstep=nstep)
    assert scene.last_stop is not None


def clocks(scene: physics.Scene) -> list[Clock]:
    machine = scene.link.backend.time_machine()
    known = machine.history()
    return [machine.look_at(k, frozenset()).clock for k in range(known.first, known.live)]


@pytest.mark.parametrize("nstep", [1, 3])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_scene_that_is_reset_then_counts_from_there(fault: str, nstep: int) -> None:
    scene = physics.create_scene("reset", HINGE)
    scene.keep_history()
    scene.on_stop(lambda each: each.reset())
    run(scene, fault, nstep=nstep)
    assert scene.physics_step_count == round(scene.data.time / TIMESTEP)
    seen = clocks(scene)
    assert [each.physics_step_count for each in seen] == [
        round(each.time / TIMESTEP) for each in seen
    ]


@pytest.mark.parametrize("nstep", [1, 3])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_scene_that_is_mended_then_is_recorded_as_it_went_on(
    fault: str, nstep: int, tmp_path: Path
) -> None:
    def mend(scene: physics.Scene) -> None:
        scene.qpos[:], scene.qvel[:], scene.ctrl[:] = 0.1, 0.0, 0.0

    scene = physics.create_scene("mended", HINGE)
    scene.on_stop(mend)
    scene.start_recording(tmp_path / "run")
    run(scene, fault, nstep=nstep)
    with physics.load_trajectory(scene.stop_recording()) as trajectory:
        assert trajectory.verify().exit_code == 0
        assert any(frame.qpos[0] == 0.1 for frame in trajectory)


def test_what_a_script_raises_then_loses_no_step() -> None:
    def refuse(scene: physics.Scene) -> None:
        raise ConnectionError("the robot is off")

    scene = physics.create_scene("raises", HINGE)
    scene.keep_history()
    scene.on_stop(refuse)
    scene.ctrl[:] = 1e12
    with pytest.raises(ConnectionError):
        scene.step(nstep=3)
    assert scene.physics_step_count == round(scene.data.time / TIMESTEP) == 1


def test_a_step_that_raised_is_taken_back_before_the_script_is_told() -> None:
    scene = physics.create_scene("callback", HINGE)
    scene.keep_history()
    scene.on_stop(lambda each: each.reset())
    for _ in range(3):
        scene.step()

    def broken(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        raise ValueError("no such gain")

    mujoco.set_mjcb_control(broken)
    try:
        with pytest.raises(physics.StepFailedError):
            scene.step()
    finally:
        mujoco.set_mjcb_control(None)
    assert (scene.data.time, scene.physics_step_count) == (0.0, 0)
