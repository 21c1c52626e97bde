"""A scene put into a recorded frame has what MuJoCo computes from it, and goes on bit for bit."""

import copy
from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray
from random_models import disturb, random_model

import stroboscope.engine as physics

FULL = mujoco.mjtState.mjSTATE_INTEGRATION
ARM = """
<mujoco>
  <option timestep="0.004" integrator="INTEGRATOR"/>
  <worldbody>
    <geom type="plane" size="2 2 .1"/>
    <body name="upper" pos="0 0 .5">
      <joint name="shoulder" axis="0 1 0" damping=".05"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
      <site name="tip" pos=".3 0 0"/>
    </body>
    <body pos=".4 .05 .06"><freejoint/><geom size=".06"/></body>
  </worldbody>
  <actuator><position joint="shoulder" kp="8" DELAY/></actuator>
  <sensor>
    <framepos objtype="site" objname="tip"/>
    <jointvel joint="shoulder" DELAY/>
    <accelerometer site="tip"/>
  </sensor>
</mujoco>
"""
DELAY = 'nsample="5" delay="0.012"'
KINDS = {
    "Euler": ("Euler", ""),
    "RK4": ("RK4", ""),
    "implicit": ("implicit", ""),
    "implicitfast": ("implicitfast", ""),
    "delays": ("Euler", DELAY),
}
# Dominoes that fall asleep, with whatever else their models have.
SLEEPING = (0, 8, 13)
VALUES = ("xpos", "site_xpos", "geom_xmat", "cvel", "qfrc_bias", "actuator_force", "sensordata")


def _row(scene: physics.Scene) -> NDArray[np.float64]:
    row = np.empty(mujoco.mj_stateSize(scene.model, FULL))
    mujoco.mj_getState(scene.model, scene.data, row, FULL)
    return row


def _xml(kind: str) -> str:
    if kind == "delays" and tuple(map(int, mujoco.__version__.split(".")[:2])) < (3, 5):
        pytest.skip("this MuJoCo has no delays")
    integrator, delay = KINDS[kind]
    return ARM.replace("INTEGRATOR", integrator).replace("DELAY", delay)


def _record(scene: physics.Scene, path: Path, steps: int) -> list[NDArray[np.float64]]:
    """Record some steps of ``scene``; return its state before each of them, and the last."""
    scene.start_recording(path)
    rows = []
    for number in range(steps):
        if scene.model.nu:
            scene.data.ctrl[:] = np.sin(0.1 * number)
        rows.append(_row(scene))
        scene.step()
    rows.append(_row(scene))
    scene.stop_recording()
    return rows


def _check_values(scene: physics.Scene) -> None:
    fresh = mujoco.MjData(scene.model)
    mujoco.mj_setState(scene.model, fresh, _row(scene), FULL)
    mujoco.mj_forward(scene.model, fresh)
    for name in VALUES:
        np.testing.assert_array_equal(getattr(scene.data, name), getattr(fresh, name), name)
    assert scene.data.ncon == fresh.ncon


@pytest.mark.parametrize("kind", KINDS)
def test_a_sought_frame_has_what_mujoco_computes_from_it_and_goes_on_bit_for_bit(
    kind: str, tmp_path: Path
) -> None:
    path = tmp_path / "run.mcap"
    rows = _record(physics.create_scene("arm", _xml(kind)), path, 160)
    with physics.load_trajectory(path) as trajectory:
        assert trajectory.scene.data.time == 0.0
        _check_values(trajectory.scene)
        for index in (159, 40):
            trajectory.seek(index)
            scene = trajectory.scene
            assert _row(scene).tobytes() == rows[index].tobytes()
            _check_values(scene)
        for number in range(40, 140):
            scene.data.ctrl[:] = np.sin(0.1 * number)
            scene.step()
            scene.data.ctrl[:] = np.sin(0.1 * (number + 1))
            assert _row(scene).tobytes() == rows[number + 1].tobytes(), number


@pytest.mark.parametrize("seed", SLEEPING)
def test_what_sleeps_goes_on_bit_for_bit_from_a_sought_frame_whose_values_are_there(
    seed: int, tmp_path: Path
) -> None:
    scene = physics.create_scene("Dominoes", random_model(seed).xml)
    scene.start_recording(tmp_path / "run")

    def step(scene: physics.Scene, number: int) -> None:
        disturb(scene.model, scene.data, np.random.default_rng([seed, number]), gently=True)
        scene.step()

    poses = []
    for number in range(160):
        step(scene, number)
        evaluated = copy.copy(scene.data)
        mujoco.mj_forward(scene.model, evaluated)
        poses.append(evaluated.geom_xpos.copy())
    end = _row(scene)
    path = scene.stop_recording()
    with physics.load_trajectory(path) as trajectory:
        for index in (20, 60, 130):
            trajectory.seek(index)
            twin = trajectory.scene
            np.testing.assert_array_equal(twin.data.geom_xpos, poses[index - 1])
            twin.step()  # with the inputs that stand there
            for number in range(index + 1, 160):
                step(twin, number)
            assert _row(twin).tobytes() == end.tobytes(), index


@pytest.mark.parametrize("into", ["a new scene", "a running scene"])
def test_a_checkpoint_from_a_file_has_what_mujoco_computes_from_it(
    into: str, tmp_path: Path
) -> None:
    scene = physics.create_scene("arm", _xml("RK4"))
    for _ in range(30):
        scene.step()
    path = scene.save_checkpoint(tmp_path / "there")
    if into == "a new scene":
        loaded = physics.load_checkpoint(path)
    else:
        loaded = physics.create_scene("arm", _xml("RK4"))
        loaded.load_checkpoint(path)
    assert _row(loaded).tobytes() == _row(scene).tobytes()
    _check_values(loaded)
    for _ in range(100):
        loaded.step()
        scene.step()
        assert _row(loaded).tobytes() == _row(scene).tobytes()


def test_seeking_and_verifying_call_no_callback_of_the_script(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    _record(physics.create_scene("arm", _xml("Euler")), path, 20)
    called: list[str] = []

    def noting(name: str) -> Callable[..., float]:
        def note(*_: object) -> float:
            called.append(name)
            return 0.0

        return note

    with physics.load_trajectory(path) as trajectory:
        scene = trajectory.scene
        mujoco.set_mjcb_control(noting("control"))
        try:
            trajectory.seek(10)
            _check_poses(scene)
            with pytest.raises(
                physics.StateError, match=r"callbacks \(control\); read the file in"
            ):
                trajectory.verify()
            mujoco.set_mjcb_passive(noting("passive"))
            trajectory.seek(5)
            _check_poses(scene)
            with pytest.raises(physics.StateError, match="passive, control"):
                trajectory.verify(jobs=1)
        finally:
            mujoco.set_mjcb_control(None)
            mujoco.set_mjcb_passive(None)
        assert not called
        assert trajectory.verify(jobs=1).exit_code == 0


def _check_poses(scene: physics.Scene) -> None:
    fresh = mujoco.MjData(scene.model)
    fresh.qpos[:] = scene.data.qpos
    mujoco.mj_kinematics(scene.model, fresh)
    np.testing.assert_array_equal(scene.data.site_xpos, fresh.site_xpos)
