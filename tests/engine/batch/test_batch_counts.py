"""Counters of environments whose step was taken back: they belong to the state, as its time does.

One application step is one of every environment; those that are where they were have not taken it.
"""

from pathlib import Path

import mujoco
import numpy as np
import pytest
from hinge_model import HINGE

import stroboscope.engine as physics

pytest.importorskip("mujoco.batch")

CROWDED = """
<mujoco><size memory="28K"/><worldbody><geom type="plane" size="5 5 .1"/>
  <body pos="0 0 5"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
  <body pos="1 0 5"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
  <body pos="2 0 5"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
</worldbody></mujoco>
"""


def swinging() -> physics.BatchScene:
    """A batch of three that raises when one goes wrong, after four steps."""
    scene = physics.create_scene("swing", HINGE, n_envs=3)
    scene.raise_on_stop = True
    for _ in range(4):
        scene.step()
    return scene


def test_an_environment_that_has_not_taken_a_step_has_not_counted_it() -> None:
    scene = swinging()
    scene.ctrl[1] = np.nan
    with pytest.raises(physics.SimulationStopped) as caught:
        scene.step()
    event = caught.value.event
    assert (event.env, event.step, event.physics_step) == (1, 4, 4)
    assert scene.time.tolist() == [0.01, 0.008, 0.01]
    assert scene.step_count.tolist() == scene.physics_step_count.tolist() == [5, 4, 5]
    scene.ctrl[1] = 0.0
    scene.step()
    assert scene.step_count.tolist() == [6, 5, 6]


def test_what_a_failed_step_of_several_physics_steps_left_is_within_that_step() -> None:
    scene = swinging()
    scene.ctrl[1] = 1e9  # after some physics steps of this one it is too fast
    with pytest.raises(physics.SimulationStopped) as caught:
        scene.step(nstep=100)
    event = caught.value.event
    counts = scene.physics_step_count.tolist()
    assert (event.env, event.step, event.physics_step) == (1, 4, counts[1])
    assert counts[0] == counts[1] + 1 == counts[2]
    assert scene.step_count.tolist() == [5, 4, 5]


def test_a_checkpoint_of_it_says_the_same_as_one_from_before_the_step() -> None:
    scene = swinging()
    scene.ctrl[1] = np.nan
    before = scene.get_state()
    with pytest.raises(physics.SimulationStopped):
        scene.step()
    after = scene.get_state()
    assert after.step_count[1] == before.step_count[1]
    assert after.physics_step_count[1] == before.physics_step_count[1]
    single = physics.create_scene("single", HINGE)
    single.restore(scene.checkpoint().env(1))
    assert (single.step_count, single.physics_step_count) == (4, 4)


@pytest.mark.parametrize("nstep", [1, 4])
def test_those_that_mujoco_failed_on_have_not_counted_the_step_either(nstep: int) -> None:
    model = mujoco.MjModel.from_xml_string(CROWDED)
    scene = physics.create_scene("crowd", model, n_envs=3)
    scene.step()
    scene.qpos[1, [2, 9, 16]] = 0.05
    with pytest.raises(physics.StepFailedError):
        scene.step(nstep=nstep)
    assert scene.physics_step_count.tolist() == [1 + nstep, 1, 1 + nstep]
    assert scene.step_count.tolist() == [2, 1, 2]


@pytest.mark.parametrize("nstep", [1, 3])
def test_what_a_script_resets_when_it_is_told_counts_from_there(nstep: int) -> None:
    scene = swinging()
    scene.keep_history()
    scene.step()
    scene.on_stop(lambda each: each.reset(envs_idx=[0, 1]))
    scene.ctrl[1] = np.nan
    with pytest.raises(physics.SimulationStopped):
        scene.step(nstep=nstep)
    assert scene.step_count.tolist() == scene.physics_step_count.tolist() == [0, 0, 6]
    history = scene.batch_history
    steps, counts, episodes = history.counts_at(history.end_axis() - 1)
    assert steps.tolist() == counts.tolist() == [5, 5, 5]
    assert episodes.tolist() == [0, 0, 0]


def test_a_recording_of_it_says_the_same(tmp_path: Path) -> None:
    scene = swinging()
    scene.start_recording(tmp_path / "run")
    scene.step()
    scene.ctrl[1] = np.nan
    with pytest.raises(physics.SimulationStopped):
        scene.step()
    scene.ctrl[1] = 0.0
    scene.step()
    path = scene.stop_recording()
    with physics.load_trajectory(path, scene="swing[1]") as run:
        steps = [run.frame(i).step_count for i in range(len(run))]
        times = [round(run.time(i) / 0.002) for i in range(len(run))]
    assert steps == times
    with physics.load_trajectory(path, scene="swing[0]") as run:
        assert [run.frame(i).step_count for i in range(len(run))] == [4, 5, 6, 7]
