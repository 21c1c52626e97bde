"""Stepping: times, counters, failures; bit for bit what MuJoCo does alone."""

import logging
import math
from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics

Scene = physics.Scene
Make = Callable[..., Scene]


def test_steps_are_bit_identical_to_bare_mujoco(
    make_scene: Make, drive: Callable[..., NDArray[np.float64]], model_path: Callable[[str], Path]
) -> None:
    model = mujoco.MjModel.from_xml_path(str(model_path("humanoid")))
    data = mujoco.MjData(model)
    controls = np.random.default_rng(0).uniform(-1, 1, (300, model.nu))
    for k in range(300):
        data.ctrl[:] = controls[k]
        mujoco.mj_step(model, data)
    assert np.array_equal(drive(make_scene(), 300)[-1], data.qpos)


def test_nstep_takes_that_many_physics_steps_and_counts_one_application_step(
    make_scene: Make,
) -> None:
    one, many = make_scene(), make_scene()
    for _ in range(5):
        one.step()
    many.step(nstep=5)
    assert np.array_equal(one.data.qpos, many.data.qpos)
    assert (many.step_count, many.physics_step_count, many.total_steps) == (1, 5, 1)
    assert (one.step_count, one.physics_step_count, one.total_steps) == (5, 5, 5)
    assert many.get_last_time_step() == pytest.approx(0.025)
    assert one.get_last_time_step() == 0.005


def test_a_multiple_of_the_timestep_is_bit_identical_to_single_steps(make_scene: Make) -> None:
    one, many = make_scene(), make_scene()
    for _ in range(20):
        one.step()
    for _ in range(5):
        many.step(0.02)
    assert np.array_equal(one.data.qpos, many.data.qpos)
    assert one.data.time == many.data.time


def test_another_time_step_is_exact_leaves_the_model_alone_and_is_logged_once(
    make_scene: Make, caplog: pytest.LogCaptureFixture
) -> None:
    scene = make_scene()
    with caplog.at_level(logging.INFO, logger="stroboscope.engine"):
        for k in range(1, 4):
            scene.step(0.0123)
            assert scene.get_total_simulation_time() == pytest.approx(0.0123 * k, abs=1e-12)
    assert scene.model.opt.timestep == 0.005
    assert scene.physics_step_count == 9
    assert scene.get_last_time_step() == pytest.approx(0.0123, abs=1e-12)
    assert len([r for r in caplog.records if "no multiple" in r.message]) == 1


@pytest.mark.parametrize("bad", [math.nan, 0.0, -1.0, 1.5, math.inf])
def test_an_impossible_time_step_moves_nothing(
    make_scene: Make, bad: float, state_of: Callable[[Scene], NDArray[np.float64]]
) -> None:
    scene = make_scene()
    before = state_of(scene)
    with pytest.raises(ValueError, match=r"\(0, 1\] s"):
        scene.step(bad)
    for nstep in (0, -3):
        with pytest.raises(ValueError, match="1 or more"):
            scene.step(nstep=nstep)
    with pytest.raises(ValueError, match="not both"):
        scene.step(0.01, nstep=2)
    assert np.array_equal(before, state_of(scene))
    assert scene.total_steps == 0


def test_an_adopted_scene_refuses_a_time_step_that_would_change_its_options(
    model_path: Callable[[str], Path],
) -> None:
    model = mujoco.MjModel.from_xml_path(str(model_path("humanoid")))
    data = mujoco.MjData(model)
    scene = physics.create_scene("mine", model, data=data)
    assert scene.model is model
    assert scene.data is data
    scene.step(0.01)
    assert data.time == 0.01
    with pytest.raises(ValueError, match=r"multiple of 0\.005"):
        scene.step(0.0123)
    assert data.time == 0.01
    with pytest.raises(ValueError, match="own"):
        physics.create_scene("mine", model, data=data, options=physics.SceneOptions(timestep=0.001))


def test_data_of_another_model_can_not_be_adopted(model_path: Callable[[str], Path]) -> None:
    model = mujoco.MjModel.from_xml_path(str(model_path("humanoid")))
    other = mujoco.MjModel.from_xml_path(str(model_path("arm")))
    with pytest.raises(ValueError, match="another model"):
        physics.create_scene("mixed", model, data=mujoco.MjData(other))
    with pytest.raises(TypeError, match="MjData"):
        physics.create_scene("mixed", model, data=42)


STACK = """
<mujoco><size memory="60K"/><worldbody><geom type="plane" size="2 2 .1"/>
  <replicate count="30" offset="0 0 0.21"><body pos="0 0 0.3"><freejoint/>
  <geom type="box" size=".1 .1 .1"/></body></replicate></worldbody></mujoco>
"""


def step_until_it_fails(scene: Scene, limit: int = 500) -> None:
    for _ in range(limit):
        scene.step()


@pytest.mark.filterwarnings("ignore")
def test_a_step_that_mujoco_gives_up_raises_with_the_cause_and_tells_on_stop() -> None:
    scene = physics.create_scene("Stack", STACK)
    told: list[str] = []
    scene.on_stop(lambda: told.append("stop"))
    with pytest.raises(physics.StepFailedError, match="'Stack'") as caught:
        step_until_it_fails(scene)
    assert isinstance(caught.value.__cause__, mujoco.FatalError)
    # MuJoCo 3 warns first that there is no room, which is a stop of its own.
    assert set(told) == {"stop"}
    assert 0 < scene.total_steps < 500


def test_the_state_of_one_world_is_read_and_written_under_the_names_that_environments_have(
    make_scene: Make,
) -> None:
    scene = make_scene("arm")
    for name, size in (
        ("qpos", scene.model.nq),
        ("qvel", scene.model.nv),
        ("ctrl", scene.model.nu),
    ):
        view = getattr(scene, name)
        assert view.shape == (size,)
        view[0] = 0.25
        assert getattr(scene.data, name)[0] == 0.25


def test_counters_of_the_state_go_back_and_the_total_does_not(make_scene: Make) -> None:
    scene = make_scene()
    scene.step(nstep=3)
    handle = scene.capture_state()
    scene.step()
    scene.step(0.01)
    assert (scene.step_count, scene.physics_step_count, scene.total_steps) == (3, 6, 3)
    scene.restore_state(handle)
    assert (scene.step_count, scene.physics_step_count, scene.total_steps) == (1, 3, 3)
    assert scene.get_total_simulation_time() == pytest.approx(0.015)
    scene.step()
    assert (scene.step_count, scene.physics_step_count, scene.total_steps) == (2, 4, 4)


def test_reset_begins_an_episode_also_from_a_keyframe(make_scene: Make) -> None:
    scene = make_scene("arm")
    scene.step(nstep=10)
    scene.reset(keyframe="home")
    assert scene.step_count == 0
    assert scene.total_steps == 1
    assert scene.data.qpos[3] == 1.6
    scene.reset()
    assert scene.data.qpos[3] == 0.0
    with pytest.raises(ValueError, match="1 keyframes"):
        scene.reset(keyframe="away")
    with pytest.raises(ValueError, match="1 keyframes"):
        scene.reset(keyframe=1)


def test_options_change_the_copied_model_and_can_be_read(make_scene: Make) -> None:
    scene = make_scene(
        "arm",
        options=physics.SceneOptions(
            timestep=0.001,
            gravity=(0.0, 0.0, -1.62),
            integrator=physics.Integrator.RK4,
            solver=physics.Solver.CG,
            iterations=7,
        ),
    )
    assert scene.model.opt.timestep == 0.001
    assert scene.options.gravity == (0.0, 0.0, -1.62)
    assert scene.options.integrator is physics.Integrator.RK4
    assert scene.options.solver is physics.Solver.CG
    assert scene.options.iterations == 7
    for wrong in ({"timestep": 0.0}, {"gravity": (0, 0, math.nan)}, {"iterations": 0}):
        with pytest.raises(ValueError, match="must be"):
            physics.SceneOptions(**wrong)


def test_timings_name_mujocos_stages(make_scene: Make) -> None:
    scene = make_scene()
    scene.step(nstep=50)
    timings = scene.timings
    if not any(timings.values()):
        pytest.skip("this MuJoCo does not measure its stages by itself")
    assert timings["step"] > timings["pos_collision"] >= 0.0


def test_a_timestep_written_into_the_model_changes_the_next_plan(make_scene: Make) -> None:
    scene = make_scene()
    scene.step(0.01)
    scene.model.opt.timestep = 0.002
    scene.step(0.01)
    assert scene.physics_step_count == 2 + 5
    assert scene.get_last_time_step() == pytest.approx(0.01)
    scene.step()
    assert scene.get_last_time_step() == 0.002


def steps_until_failure(scene: Scene) -> int:
    for count in range(500):
        try:
            scene.step()
        except physics.StepFailedError:
            return count
    raise AssertionError("it did not fail")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("integrator", ["Euler", "RK4", "implicit"])
@pytest.mark.parametrize("adopted", [False, True])
def test_a_restore_after_a_failed_step_goes_on_as_the_first_time(
    integrator: str, adopted: bool
) -> None:
    # A failed step leaves MuJoCo's stack in use, so that without care the next ones fail earlier.
    text = STACK.replace("<worldbody>", f'<option integrator="{integrator}"/><worldbody>')
    text = text.replace('count="30"', 'count="12"').replace("0.21", "0.205")
    if adopted:
        model = mujoco.MjModel.from_xml_string(text)
        scene = physics.create_scene("Stack", model, data=mujoco.MjData(model))
    else:
        scene = physics.create_scene("Stack", text)
    start = scene.capture_state()
    counts = []
    for _ in range(3):
        counts.append(steps_until_failure(scene))
        scene.restore_state(start)
    assert counts == [counts[0]] * 3
