"""Articulations: the joints under a body as one pose, and their pose controller."""

from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest

import stroboscope.engine as physics

Scene = physics.Scene
Make = Callable[..., Scene]
CART = "cart_with_double_pendulum"
PARAMS = physics.PoseControllerParams(stiffness=(900.0, 120.0, 60.0), damping=(90.0, 6.0, 2.5))


def cart(make_scene: Make) -> tuple[Scene, physics.Articulation]:
    scene = make_scene(CART)
    return scene, scene.get_articulation("cart")


def test_it_has_the_slides_and_hinges_under_a_body(make_scene: Make) -> None:
    scene, articulation = cart(make_scene)
    assert articulation.num_dofs == 3
    assert articulation.joint_names == ("slider", "shoulder", "elbow")
    assert scene.get_articulation("lower").joint_names == ("elbow",)
    assert scene.get_articulation("ball").num_dofs == 0
    humanoid = make_scene("humanoid").get_articulation("torso")
    assert humanoid.num_dofs == 21
    with pytest.raises(physics.EngineError, match=r"no body 'carts'.*cart, upper"):
        scene.get_articulation("carts")


def test_pose_and_velocities_are_read_and_written_as_copies(make_scene: Make) -> None:
    scene, articulation = cart(make_scene)
    articulation.set_articulated_pose_from_joints(pose=(0.1, -0.2, 0.3))
    articulation.set_articulated_joint_velocities(velocities=[1, 2, 3])
    assert articulation.get_articulated_pose().tolist() == [0.1, -0.2, 0.3]
    assert scene.data.qpos[:3].tolist() == [0.1, -0.2, 0.3]
    assert articulation.get_articulated_joint_velocities().tolist() == [1.0, 2.0, 3.0]
    articulation.get_articulated_pose()[:] = 9.0
    assert scene.data.qpos[0] == 0.1


@pytest.mark.parametrize("wrong", [(0.1, 0.2), (1, 2, 3, 4), 0.5, [[1, 2, 3]], (0, 0, np.nan)])
def test_a_wrong_size_names_both_and_changes_nothing(make_scene: Make, wrong: object) -> None:
    scene, articulation = cart(make_scene)
    articulation.add_articulated_pose_controller(PARAMS)
    before = scene.data.qpos.copy()
    for call in (
        lambda: articulation.set_articulated_pose_from_joints(pose=wrong),  # type: ignore[arg-type]
        lambda: articulation.set_articulated_target_pose(pose=wrong),  # type: ignore[arg-type]
    ):
        with pytest.raises(ValueError, match=r"3 joints: slider|finite"):
            call()
    assert np.array_equal(scene.data.qpos, before)


def test_the_controller_brings_the_joints_to_their_targets(make_scene: Make) -> None:
    scene, articulation = cart(make_scene)
    assert not articulation.has_pose_controller
    articulation.set_articulated_pose_from_joints(pose=(0.2, 0.0, 0.0))
    articulation.add_articulated_pose_controller(PARAMS)
    assert articulation.has_pose_controller
    # Nothing jumps: the target is where the joints are, and the pose has survived.
    assert articulation.get_articulated_target_pose().tolist() == [0.2, 0.0, 0.0]
    assert scene.data.qpos[0] == 0.2
    articulation.set_articulated_target_pose(pose=(-0.3, 0.0, 0.0))
    scene.step(1.0)
    scene.step(1.0)
    scene.step(1.0)
    np.testing.assert_allclose(articulation.get_articulated_pose(), (-0.3, 0, 0), atol=5e-3)
    articulation.reset_articulated_target_pose()
    np.testing.assert_array_equal(
        articulation.get_articulated_target_pose(), articulation.get_articulated_pose()
    )


def test_the_force_is_stiffness_times_error_minus_damping_times_velocity(make_scene: Make) -> None:
    scene, articulation = cart(make_scene)
    articulation.add_articulated_pose_controller(
        physics.PoseControllerParams(
            stiffness={"slider": 10.0, "shoulder": 20.0, "elbow": 30.0}, damping=2.0, max_force=5.0
        )
    )
    articulation.set_articulated_target_pose(pose=(0.1, 0.2, -0.1))
    articulation.set_articulated_joint_velocities(velocities=(0.5, 0.0, 0.0))
    scene.step()
    np.testing.assert_allclose(scene.data.actuator_force, (10 * 0.1 - 2 * 0.5, 4.0, -3.0))
    articulation.set_articulated_target_pose(pose=(9.0, 0.0, 0.0))
    scene.step()
    assert scene.data.actuator_force[0] == 5.0


def test_targets_are_part_of_the_state(make_scene: Make) -> None:
    scene, articulation = cart(make_scene)
    articulation.add_articulated_pose_controller(PARAMS)
    articulation.set_articulated_target_pose(pose=(0.1, 0.2, 0.3))
    handle = scene.capture_state()
    articulation.set_articulated_target_pose(pose=(0.0, 0.0, 0.0))
    scene.restore_state(handle)
    assert articulation.get_articulated_target_pose().tolist() == [0.1, 0.2, 0.3]


def test_two_scenes_with_the_same_controller_take_each_others_checkpoints(
    make_scene: Make,
) -> None:
    scenes = []
    for _ in range(2):
        scene, articulation = cart(make_scene)
        articulation.add_articulated_pose_controller(PARAMS)
        scenes.append(scene)
    plain, _ = cart(make_scene)
    buffer = physics.DynamicArrayUint8()
    scenes[0].capture_state_to_bytes(buffer)
    scenes[1].restore_state_from_bytes(buffer)
    with pytest.raises(physics.StateMismatchError, match="another model"):
        plain.restore_state_from_bytes(buffer)


def test_the_controller_keeps_what_was_there_and_works_beside_other_actuators(
    make_scene: Make,
) -> None:
    scene = make_scene("arm", options=physics.SceneOptions(gravity=(0.0, 0.0, 0.0)))
    scene.ctrl[:] = np.arange(8) / 100
    scene.data.qpos[0] = 0.7
    finger = scene.get_articulation("right_finger")
    finger.add_articulated_pose_controller(physics.PoseControllerParams(stiffness=50.0))
    assert scene.model.nu == 9
    assert scene.ctrl[:8].tolist() == (np.arange(8) / 100).tolist()
    assert scene.data.qpos[0] == 0.7
    assert scene.model.opt.gravity.tolist() == [0.0, 0.0, 0.0]
    assert scene.get_articulation("right_finger").has_pose_controller
    scene.reset(keyframe="home")
    assert scene.ctrl[7:].tolist() == [0.04, 0.04], "the keyframe holds its own pose"


def test_older_articulations_follow_the_scene_to_its_new_model(make_scene: Make) -> None:
    scene, articulation = cart(make_scene)
    old_model = scene.model
    other = scene.get_articulation("lower")
    revision = scene.revision
    articulation.add_articulated_pose_controller(PARAMS)
    assert scene.model is not old_model
    assert scene.revision == revision + 1
    other.set_articulated_pose_from_joints(pose=[0.4])
    assert scene.data.qpos[2] == 0.4


def test_a_second_controller_and_one_after_a_step_are_refused(make_scene: Make) -> None:
    scene, articulation = cart(make_scene)
    for call in (
        articulation.get_articulated_target_pose,
        articulation.reset_articulated_target_pose,
    ):
        with pytest.raises(physics.EngineError, match="add_articulated_pose_controller"):
            call()
    articulation.add_articulated_pose_controller(PARAMS)
    with pytest.raises(physics.EngineError, match="already"):
        articulation.add_articulated_pose_controller(PARAMS)
    late, late_articulation = cart(make_scene)
    late.step()
    with pytest.raises(physics.EngineError, match="before the first step"):
        late_articulation.add_articulated_pose_controller(PARAMS)
    with pytest.raises(physics.EngineError, match="no slide or hinge"):
        scene.get_articulation("ball").add_articulated_pose_controller(PARAMS)


def test_compiled_and_adopted_models_can_not_get_a_controller_and_the_error_says_why(
    model_path: Callable[[str], Path],
) -> None:
    model = mujoco.MjModel.from_xml_path(str(model_path(CART)))
    compiled = physics.create_scene("Compiled", model)
    adopted = physics.create_scene("Adopted", model, data=mujoco.MjData(model))
    for scene, why in ((compiled, "compiled MjModel"), (adopted, "adopted")):
        with pytest.raises(physics.EngineError, match=why):
            scene.get_articulation("cart").add_articulated_pose_controller(PARAMS)


@pytest.mark.parametrize(
    ("gains", "message"),
    [
        ({"stiffness": (1.0, 2.0)}, "3 joints: slider"),
        ({"stiffness": -1.0}, "not negative"),
        ({"stiffness": float("nan")}, "finite"),
        ({"stiffness": {"slider": 1.0}}, "missing: .*elbow"),
        ({"stiffness": 1.0, "damping": {"wrist": 1.0}}, "unknown: .*wrist"),
        ({"stiffness": 1.0, "max_force": (1, 2, 3, 4)}, "max_force"),
    ],
)
def test_gains_that_do_not_fit_are_refused(
    make_scene: Make, gains: dict[str, object], message: str
) -> None:
    scene, articulation = cart(make_scene)
    with pytest.raises(ValueError, match=message):
        articulation.add_articulated_pose_controller(physics.PoseControllerParams(**gains))
    assert scene.model.nu == 0
    articulation.add_articulated_pose_controller(PARAMS)


def test_an_articulation_obeys_the_owner_rule_and_the_scenes_end(make_scene: Make) -> None:
    scene, articulation = cart(make_scene)
    physics.destroy_scene(scene)
    with pytest.raises(physics.SceneDestroyedError):
        articulation.get_articulated_pose()
    assert articulation.num_dofs == 3
    assert repr(articulation) == "Articulation('cart', 3 joints)"
