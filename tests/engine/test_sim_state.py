"""States as plain arrays: detached, named, picklable; and resetting a scene to them."""

import pickle
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
Make = Callable[..., Scene]
Drive = Callable[..., NDArray[np.float64]]
StateOf = Callable[[Scene], NDArray[np.float64]]

EVERYTHING = """
<mujoco><size nuserdata="2"/><worldbody><geom type="plane" size="1 1 .1"/>
  <body name="hand" mocap="true" pos="0 0 1"><geom size=".02" contype="0" conaffinity="0"/></body>
  <body name="ball" pos="0 0 1"><freejoint name="free"/><geom size=".1"/></body>
  <body name="arm" pos="1 0 1"><joint name="hinge" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/>
  </body></worldbody>
  <equality><weld name="held" body1="hand" body2="ball"/></equality>
  <actuator><intvelocity name="speed" joint="hinge" actrange="-1 1" kp="5"/></actuator>
</mujoco>
"""


def test_a_state_has_every_part_by_name_with_shapes_and_units() -> None:
    scene = physics.create_scene("Everything", EVERYTHING)
    scene.step(nstep=3)
    state = scene.get_state()
    model, data = scene.model, scene.data
    for field in ("qpos", "qvel", "qacc", "act", "ctrl", "qfrc_applied", "xfrc_applied"):
        assert np.array_equal(getattr(state, field), getattr(data, field))
        assert getattr(state, field).shape == getattr(data, field).shape == state.shapes[field]
    for field in ("mocap_pos", "mocap_quat", "userdata"):
        assert np.array_equal(getattr(state, field), getattr(data, field))
    assert np.array_equal(state.warmstart, data.qacc_warmstart)
    assert np.array_equal(state.eq_active, data.eq_active)
    assert state.eq_active.dtype == np.bool_
    assert (state.plugin.size, state.history.size, state.plastic.size) == (0, 0, 0)
    assert state.time == data.time
    assert (state.step_count, state.physics_step_count) == (1, 3)
    assert (state.precision, state.n_envs) == (64, None)
    assert state.names("qpos")[-1] == "hinge"
    assert state.units["qpos"][-1] == "rad"
    assert state.units["qvel"][-1] == "rad/s"
    assert state.names("mocap_pos") == ("hand.x", "hand.y", "hand.z")
    assert state.names("eq_active") == ("held",)
    assert state.names("xpos")[3:6] == ("hand x", "hand y", "hand z")
    assert state.units["xfrc_applied"][:4] == ("N", "N", "N", "N·m")
    for field in state.fields:
        size = getattr(state, field).size
        assert len(state.names(field)) == len(state.units[field]) == size, field
    with pytest.raises(KeyError):
        state.names("nothing")
    assert model.nbody == len(state.xpos)
    assert "qpos 8" in repr(state)


def test_link_poses_are_of_that_very_instant_and_the_live_data_is_not_touched(
    state_of: StateOf,
) -> None:
    scene = physics.create_scene("Everything", EVERYTHING)
    scene.step(nstep=50)
    before, lagging = state_of(scene), scene.data.xpos.copy()
    state = scene.get_state()
    assert np.array_equal(scene.data.xpos, lagging)
    assert np.array_equal(before, state_of(scene))
    assert not np.array_equal(state.xpos, lagging), "poses after a step lag one step behind"
    mujoco.mj_kinematics(scene.model, scene.data)
    assert np.array_equal(state.xpos, scene.data.xpos)
    assert np.array_equal(state.xquat, scene.data.xquat)


def test_a_state_is_detached_and_compared_to_the_last_bit(make_scene: Make) -> None:
    scene = make_scene()
    state, again = scene.get_state(), scene.get_state()
    assert state == again
    scene.step()
    assert state == again, "what was read does not follow the scene"
    assert state != scene.get_state()
    assert "qvel" in state.differences(scene.get_state())
    copy = state.copy()
    copy.qpos[0] = np.nextafter(copy.qpos[0], 9.0)
    assert copy != state
    assert set(copy.differences(state)) == {"qpos"}
    assert 0.0 < copy.differences(state)["qpos"] < 1e-15
    assert state == again
    assert state != 3
    with pytest.raises(TypeError, match="unhashable"):
        hash(state)


def test_a_reset_to_a_state_continues_bit_for_bit_with_its_own_time(
    make_scene: Make, drive: Drive
) -> None:
    scene = make_scene()
    drive(scene, 100)
    state = scene.get_state()
    first = drive(scene, 100, seed=1)
    other = make_scene()
    for target in (scene, other):
        target.reset(state)
        assert target.get_total_simulation_time() == state.time
        assert (target.step_count, target.physics_step_count) == (100, 100)
        assert target.get_state() == state
        assert np.array_equal(first, drive(target, 100, seed=1))


def test_a_pickled_state_works_in_another_process(make_scene: Make, tmp_path: Path) -> None:
    scene = make_scene()
    scene.step(nstep=20)
    file = tmp_path / "state.pickle"
    file.write_bytes(pickle.dumps(scene.get_state()))
    script = (
        "import pickle, sys, importlib.resources\n"
        "import stroboscope.engine as physics\n"
        "folder = importlib.resources.files('stroboscope.resources')\n"
        "scene = physics.create_scene('h', str(folder.joinpath('models/humanoid.xml')))\n"
        "state = pickle.load(open(sys.argv[1], 'rb'))\n"
        "scene.reset(state)\n"
        "for _ in range(50): scene.step()\n"
        "print(scene.data.qpos.tobytes().hex())\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, str(file)],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    for _ in range(50):
        scene.step()
    assert done.stdout.strip() == scene.data.qpos.tobytes().hex()


def test_passing_a_state_does_not_make_it_the_initial_state_unless_asked(
    make_scene: Make,
) -> None:
    scene = make_scene()
    beginning = scene.get_state()
    scene.step(nstep=10)
    state = scene.get_state()
    scene.step()
    scene.reset(state)
    scene.reset()
    assert scene.get_state() == beginning
    scene.reset(state, as_initial=True)
    scene.step(nstep=5)
    scene.reset()
    assert scene.get_state() == state
    state.qpos[0] += 1.0
    scene.reset()
    assert scene.get_state() != state, "the initial state is a copy"
    scene.model_changed()
    scene.reset()
    assert scene.get_total_simulation_time() == 0.0, "another model, another initial state"


def test_a_keyframe_may_become_the_initial_state(make_scene: Make) -> None:
    scene = make_scene("arm")
    scene.reset(keyframe="home", as_initial=True)
    home = scene.get_state()
    scene.step(nstep=5)
    scene.reset()
    assert scene.get_state() == home
    with pytest.raises(ValueError, match="as_initial"):
        scene.reset(as_initial=True)
    with pytest.raises(ValueError, match="not both"):
        scene.reset(home, keyframe="home")
    with pytest.raises(TypeError, match="restore"):
        scene.reset(scene.checkpoint())  # type: ignore[arg-type]


def test_zero_time_begins_at_zero(make_scene: Make, drive: Drive) -> None:
    scene = make_scene()
    drive(scene, 30)
    state = scene.get_state()
    first = drive(scene, 50, seed=1)
    scene.reset(state, zero_time=True)
    assert scene.get_total_simulation_time() == 0.0
    assert (scene.step_count, scene.physics_step_count) == (0, 0)
    assert np.array_equal(first, drive(scene, 50, seed=1))


DELAYED = """
<mujoco><worldbody><body><joint name="j" axis="0 1 0" damping=".1"/>
  <geom size=".1" pos=".1 0 0"/><site name="s"/></body></worldbody>
  <actuator><motor joint="j" delay=".013" nsample="8" interp="linear"/></actuator>
  <sensor><jointpos joint="j" delay=".009" nsample="6" interp="linear"/>
    <gyro site="s" interval=".01 0" nsample="3" delay=".004"/></sensor></mujoco>
"""


def test_delays_remember_across_a_reset_that_begins_at_zero(drive: Drive) -> None:
    try:
        scene = physics.create_scene("Delayed", DELAYED)
    except physics.ModelError:
        pytest.skip("this MuJoCo has no delays")
    drive(scene, 57)
    state = scene.get_state()
    assert state.history.size
    first, sensed = drive(scene, 40, seed=1), scene.data.sensordata.copy()
    scene.reset(state)
    assert np.array_equal(first, drive(scene, 40, seed=1))
    scene.reset(state, zero_time=True)
    assert np.allclose(first, drive(scene, 40, seed=1), rtol=1e-9, atol=1e-12)
    assert np.allclose(sensed, scene.data.sensordata, rtol=1e-9, atol=1e-12)


def test_a_state_that_was_changed_by_hand_is_taken_as_it_is(make_scene: Make) -> None:
    scene = make_scene("arm")
    state = scene.get_state()
    state.qpos[3] = -1.2
    state.ctrl[0] = 0.3
    state.time = 7.5
    scene.reset(state)
    assert scene.data.qpos[3] == -1.2
    assert scene.ctrl[0] == 0.3
    assert scene.get_total_simulation_time() == 7.5


SLEEPERS = """
<mujoco><option><flag sleep="enable"/></option><worldbody><geom type="plane" size="5 5 .1"/>
  <body pos="0 0 .11"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
  <body pos="1 0 .11"><freejoint/><geom type="box" size=".1 .1 .1"/></body></worldbody></mujoco>
"""


def test_what_sleeps_sleeps_on_unless_the_state_was_changed() -> None:
    if not hasattr(mujoco.mjtEnableBit, "mjENBL_SLEEP"):
        pytest.skip("this MuJoCo has no sleeping islands")
    scene = physics.create_scene("Sleepers", SLEEPERS)
    scene.step(nstep=1000)
    assert (scene.data.tree_asleep >= 0).all()
    state = scene.get_state()
    scene.data.qvel[2] = 1.0
    scene.step()
    scene.reset(state)
    assert (scene.data.tree_asleep >= 0).all()
    state.qpos[2] += 0.5
    scene.reset(state)
    assert (scene.data.tree_asleep < 0).all()
    scene.step(nstep=100)
    assert scene.data.qpos[2] < 0.5, "it falls"


def test_states_of_other_shapes_types_or_without_finite_numbers_change_nothing(
    make_scene: Make, state_of: StateOf
) -> None:
    scene = make_scene("arm")
    scene.step()
    before = state_of(scene)

    def spoilt(**values: object) -> physics.SimState:
        state = scene.get_state()
        for name, value in values.items():
            setattr(state, name, value)
        return state

    for state, words in (
        (spoilt(qpos=np.zeros(3)), r"qpos has shape \(3,\)"),
        (spoilt(qvel=scene.data.qvel.astype(np.float32)), "qvel is float32, this scene's float64"),
        (spoilt(ctrl=np.zeros((2, scene.model.nu))), r"ctrl has shape \(2, "),
    ):
        with pytest.raises(physics.StateMismatchError, match=words):
            scene.reset(state)
    for name in ("qpos", "qvel"):
        words = rf"the state's {name}\[0\] is nan \(\+\d+ more\), and not finite"
        with pytest.raises(physics.StateCorruptError, match=words):
            scene.reset(spoilt(**{name: np.full_like(getattr(scene.data, name), np.nan)}))
    with pytest.raises(physics.StateCorruptError, match="the state's time is inf, and not finite"):
        scene.reset(spoilt(time=np.inf))
    assert np.array_equal(before, state_of(scene))


def test_a_reset_mends_a_scene_whose_step_failed(case_model: Callable[..., Path]) -> None:
    scene = physics.create_scene("Full", case_model("C11"))
    state = scene.get_state()
    with pytest.raises(physics.StepFailedError):
        scene.step(nstep=100)
    scene.reset(state)
    scene.step(nstep=10)
    assert scene.physics_step_count == 10
