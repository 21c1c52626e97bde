"""The cases R1, R2, C19 and C35 of tests/cases: exact means exact, and what is missing is named."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics

Scene = physics.Scene
Case = Callable[[str], Path]
Positions = NDArray[np.float64]

# Restores the bytes of a checkpoint in a scene of its own and takes the steps that follow.
FRESH_PROCESS = """
import sys
import numpy as np
import stroboscope.engine as physics
model, state, controls = sys.argv[1:]
scene = physics.create_scene("fresh", model)
assert scene.restore(open(state, "rb").read()).is_exact
for control in np.load(controls):
    scene.ctrl[:] = control
    scene.step()
asleep = getattr(scene.data, "tree_asleep", np.empty(0)).tolist()
print(asleep, scene.get_state().qpos.tobytes().hex())
"""


def steps(scene: Scene, controls: NDArray[np.float64]) -> Positions:
    """Take a step per row of ``controls``; return the positions after each."""
    positions = np.empty((len(controls), scene.model.nq))
    for k, control in enumerate(controls):
        scene.ctrl[:] = control
        scene.step()
        positions[k] = scene.data.qpos
    return positions


def asleep(scene: Scene) -> list[int]:
    found: list[int] = getattr(scene.data, "tree_asleep", np.empty(0)).tolist()
    return found


def check_exact(scene: Scene, model: Path, controls: NDArray[np.float64], folder: Path) -> None:
    """Check that the steps that follow are repeated in this scene, a fresh one, a fresh process."""
    checkpoint = scene.checkpoint("here")
    assert checkpoint.exactness.is_exact
    slept = asleep(scene)
    first, first_asleep = steps(scene, controls), asleep(scene)
    for target in (scene, physics.create_scene("Fresh", model)):
        assert target.restore(checkpoint).is_exact
        assert asleep(target) == slept
        assert np.abs(steps(target, controls) - first).max() == 0.0
        assert asleep(target) == first_asleep
    state, file = folder / "state", folder / "controls.npy"
    state.write_bytes(checkpoint.to_bytes())
    np.save(file, controls)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FRESH_PROCESS, str(model), str(state), str(file)],
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    assert done.stdout.strip() == f"{first_asleep} {scene.get_state().qpos.tobytes().hex()}"


def test_a_stirred_pile_of_boxes_continues_exactly_and_not_without_warm_start(
    case_model: Case, tmp_path: Path
) -> None:
    model = case_model("R1")
    controls = np.random.default_rng(0).uniform(-3, 3, (300, 1))
    scene = physics.create_scene("Pile", model)
    assert scene.model.nv == 163
    steps(scene, controls[:200])
    assert scene.data.ncon > 50
    state = scene.get_state()
    check_exact(scene, model, controls[200:], tmp_path)
    first = scene.data.qpos.copy()
    state.warmstart[:] = 0.0
    scene.reset(state)
    assert np.abs(steps(scene, controls[200:])[-1] - first).max() > 1e-9


def test_boxes_that_sleep_continue_exactly(case_model: Case, tmp_path: Path) -> None:
    if not hasattr(mujoco.mjtEnableBit, "mjENBL_SLEEP"):
        pytest.skip("this MuJoCo has no sleeping islands")
    model = case_model("R2")
    scene = physics.create_scene("Boxes", model)
    scene.step(nstep=1100)
    assert sum(tree >= 0 for tree in asleep(scene)) == 6
    check_exact(scene, model, np.empty((300, 0)), tmp_path)


DOMINOES = """
<mujoco><option timestep="0.002"><flag sleep="enable"/></option><worldbody>
  <geom type="plane" size="5 5 .1"/>
  <replicate count="12" offset=".09 0 0"><body pos="0 0 .1"><freejoint/>
    <geom type="box" size=".01 .05 .1" mass=".1"/></body></replicate>
  <body name="striker" pos="-.3 0 .15"><joint type="slide" axis="1 0 0" damping=".1"/>
    <geom size=".03" mass=".3"/></body></worldbody>
  <actuator><motor joint="striker" gear="1"/></actuator></mujoco>
""".replace('<joint type="slide"', '<joint name="striker" type="slide"')


def test_dominoes_of_which_some_sleep_and_some_fall_continue_exactly(tmp_path: Path) -> None:
    if not hasattr(mujoco.mjtEnableBit, "mjENBL_SLEEP"):
        pytest.skip("this MuJoCo has no sleeping islands")
    model = tmp_path / "dominoes.xml"
    model.write_text(DOMINOES)
    scene = physics.create_scene("Dominoes", model)
    steps(scene, np.zeros((600, 1)))
    pushes = np.ones((2000, 1))
    awake = 0
    for k in range(len(pushes)):
        scene.ctrl[:] = pushes[k]
        scene.step()
        awake = sum(tree < 0 for tree in asleep(scene))
        if 3 <= awake <= 9:
            break
    assert 3 <= awake <= 9, "some were meant to fall while the others still sleep"
    check_exact(scene, model, np.full((300, 1), 0.2), tmp_path)


def test_a_restore_of_positions_velocities_and_time_alone_names_what_it_misses(
    case_model: Case, tmp_path: Path
) -> None:
    model = case_model("C19")
    controls = np.random.default_rng(0).uniform(-1, 1, (500, 18))
    scene = physics.create_scene("Exact", model)
    steps(scene, controls[:200])
    state = scene.get_state()
    check_exact(scene, model, controls[200:], tmp_path)
    scene.reset(state)
    first = steps(scene, controls[200:])
    careless = physics.create_scene("Careless", model)
    careless.data.qpos[:], careless.data.qvel[:] = state.qpos, state.qvel
    careless.data.time = state.time
    careless.ctrl[:] = state.ctrl
    missing = state.differences(careless.get_state())
    assert set(missing) - {"qacc", "step_count", "physics_step_count"} == {"warmstart"}
    error = np.abs(steps(careless, controls[200:]) - first).max(axis=1)
    assert np.flatnonzero(error)[0] == 0, "not exact from step 200 on"


def test_reading_states_and_checkpoints_all_along_changes_nothing(case_model: Case) -> None:
    controls = np.random.default_rng(0).uniform(-1, 1, (400, 18))
    plain = physics.create_scene("Plain", case_model("C35"))
    read = physics.create_scene("Read", case_model("C35"))
    expected = steps(plain, controls)[-1]
    buffer = physics.DynamicArrayUint8()
    for control in controls:
        read.ctrl[:] = control
        read.step()
        read.get_state()
        read.checkpoint("look")
        buffer.clear()
        read.capture_state_to_bytes(buffer)
        read.__getstate__()
    assert np.array_equal(expected, read.data.qpos)
    assert plain.checkpoint().is_equal(read.checkpoint())
