"""Checkpoints as values: what they know, where they go, and what changed in the model meanwhile."""

import copy
import pickle
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.engine.checkpoint_bytes import CRC_FROM, Head
from stroboscope.engine.runtime import current_runtime

Scene = physics.Scene
Make = Callable[..., Scene]
Drive = Callable[..., NDArray[np.float64]]
StateOf = Callable[[Scene], NDArray[np.float64]]


def test_a_checkpoint_says_what_it_is_of(make_scene: Make) -> None:
    scene = make_scene("arm")
    scene.step(nstep=3)
    scene.step()
    checkpoint = scene.checkpoint("before the grasp", note="gripper open")
    assert checkpoint.name == "before the grasp"
    assert checkpoint.note == "gripper open"
    assert checkpoint.scene_name == scene.name
    assert checkpoint.time == scene.get_total_simulation_time()
    assert (checkpoint.step_count, checkpoint.physics_step_count) == (2, 4)
    assert str(checkpoint.exactness) == "exact"
    assert checkpoint.nbytes == len(checkpoint.to_bytes())
    assert checkpoint.model_changes == ()
    assert "before the grasp" in repr(checkpoint)
    for wrong in ("", "  ", 3):
        with pytest.raises(ValueError, match="name"):
            scene.checkpoint(wrong)  # type: ignore[arg-type]


def test_a_name_is_no_checkpoint_and_those_that_the_script_has_are_told(make_scene: Make) -> None:
    scene = make_scene("arm")
    with pytest.raises(TypeError, match=r"'grasp' is a name.*this scene has none with a name"):
        scene.restore("grasp")  # type: ignore[arg-type]
    kept = [scene.checkpoint("home"), scene.checkpoint("grasp"), scene.checkpoint()]
    scene.checkpoint("let go of")  # nobody has it any more
    for name in ("grasp", "grsp"):
        with pytest.raises(TypeError) as refused:
            scene.restore(name)  # type: ignore[arg-type]
        assert f"{name!r} is a name" in str(refused.value)
        assert f"made = scene.checkpoint({name!r}), scene.restore(made)" in str(refused.value)
        assert str(refused.value).endswith("this scene has 'home', 'grasp'")
    assert scene.restore(kept[1]).is_exact


def test_any_form_of_a_checkpoint_continues_bit_for_bit_in_any_scene_of_the_model(
    make_scene: Make, drive: Drive
) -> None:
    scene = make_scene()
    drive(scene, 100)
    checkpoint = scene.checkpoint("here")
    buffer = physics.DynamicArrayUint8()
    scene.capture_state_to_bytes(buffer)
    first = drive(scene, 100, seed=1)
    other = make_scene()
    forms = (
        checkpoint,
        checkpoint.to_bytes(),
        physics.Checkpoint.from_bytes(checkpoint.to_bytes()),
        pickle.loads(pickle.dumps(checkpoint)),  # noqa: S301 - our own
        copy.deepcopy(checkpoint),
        bytes(buffer),
        buffer,
        memoryview(checkpoint.to_bytes()),
    )
    for form in forms:
        for target in (scene, other):
            assert target.restore(form).is_exact
            assert target.step_count == 100
            assert np.array_equal(first, drive(target, 100, seed=1))
    other.restore_state_from_bytes(checkpoint.to_bytes())
    assert np.array_equal(first, drive(other, 100, seed=1))
    with pytest.raises(TypeError, match="bytes"):
        scene.restore(7)  # type: ignore[arg-type]


def test_what_travels_with_a_checkpoint_survives_its_bytes(make_scene: Make) -> None:
    scene = make_scene("arm")
    scene.model.body_mass[2] *= 2
    kept = {"integral": np.arange(3.0)}
    scene.register_state("controller", lambda: kept, kept.update)
    checkpoint = scene.checkpoint("heavy", note="why not")
    again = physics.Checkpoint.from_bytes(checkpoint.to_bytes())
    assert (again.name, again.note, again.scene_name) == ("heavy", "why not", scene.name)
    assert again.model_changes == checkpoint.model_changes != ()
    assert again.is_equal(checkpoint)
    assert again.to_bytes() == checkpoint.to_bytes()
    kept["integral"] = np.zeros(3)
    scene.restore(again)
    assert np.array_equal(kept["integral"], np.arange(3.0))


def test_a_checkpoint_may_be_used_on_other_threads_and_outlives_its_scene(
    make_scene: Make, drive: Drive
) -> None:
    scene = make_scene()
    drive(scene, 50)
    checkpoint = scene.checkpoint("shared")
    first = drive(scene, 100, seed=1)
    physics.destroy_scene(scene)

    def elsewhere(_: int) -> NDArray[np.float64]:
        other = make_scene()
        other.restore(checkpoint)
        positions = drive(other, 100, seed=1)
        physics.destroy_scene(other)
        return positions

    with ThreadPoolExecutor(4) as executor:
        for positions in executor.map(elsewhere, range(4)):
            assert np.array_equal(first, positions)


def test_a_released_checkpoint_is_refused_everywhere(make_scene: Make, state_of: StateOf) -> None:
    scene = make_scene("arm")
    checkpoint = scene.checkpoint("gone")
    scene.step()
    before = state_of(scene)
    checkpoint.release()
    checkpoint.release()
    assert checkpoint.is_released
    for use in (
        lambda: scene.restore(checkpoint),
        lambda: scene.restore_state(checkpoint),
        checkpoint.to_bytes,
        lambda: checkpoint.time,
        lambda: pickle.dumps(checkpoint),
    ):
        with pytest.raises(physics.StateError, match="released"):
            use()
    assert np.array_equal(before, state_of(scene))
    assert "released" in repr(checkpoint)


def test_the_scene_does_not_keep_checkpoints_alive(make_scene: Make) -> None:
    scene = make_scene("arm")
    kept = scene.capture_state()
    dropped = weakref.ref(scene.capture_state())
    assert dropped() is None
    for _ in range(3000):
        scene.capture_state()
    assert len(scene.states._kept) < 2000
    scene.release_all_states()
    assert kept.is_released


def test_direct_writes_into_the_model_are_found_and_reported_or_put_back(
    make_scene: Make, drive: Drive
) -> None:
    scene = make_scene("arm")
    mass = scene.model.body_mass.copy()
    scene.model.opt.gravity[2] = -5.0
    checkpoint = scene.checkpoint("light gravity")
    assert checkpoint.model_changes == ("opt.gravity[2]: -9.81 at first, -5.0 now",)
    first = drive(scene, 100)
    assert scene.restore(checkpoint).is_exact
    scene.model.body_mass[2] *= 2
    scene.model.opt.gravity[2] = -9.81
    exactness = scene.restore(checkpoint)
    assert not exactness.is_exact
    assert "opt.gravity[2]: -5.0 at the checkpoint, -9.81 now" in str(exactness)
    assert "body_mass of body" in str(exactness)
    assert str(exactness).startswith("approximate(the model differs")
    assert scene.model.opt.gravity[2] == -9.81, "only reported"
    assert scene.restore(checkpoint, with_model=True).is_exact
    assert scene.model.opt.gravity[2] == -5.0
    assert np.array_equal(scene.model.body_mass, mass)
    assert np.array_equal(first, drive(scene, 100))
    other = make_scene("arm")
    assert "opt.gravity" in str(other.restore(checkpoint))
    assert other.restore(checkpoint, with_model=True).is_exact
    assert np.array_equal(first, drive(other, 100))


def test_a_timestep_written_into_the_model_is_refused_or_put_back(
    make_scene: Make, state_of: StateOf
) -> None:
    scene = make_scene("arm")
    checkpoint, timestep = scene.checkpoint("slow"), scene.model.opt.timestep
    scene.model.opt.timestep = timestep / 2
    before = state_of(scene)
    with pytest.raises(physics.StateMismatchError, match="with_model=True"):
        scene.restore(checkpoint)
    assert np.array_equal(before, state_of(scene))
    assert scene.restore(checkpoint, with_model=True).is_exact
    assert scene.model.opt.timestep == timestep


def test_only_a_named_checkpoint_can_put_the_model_back(make_scene: Make) -> None:
    scene = make_scene("arm")
    with pytest.raises(physics.StateMismatchError, match="no name"):
        scene.restore(scene.checkpoint(), with_model=True)


def test_sleep_switched_on_since_is_put_back_with_the_model() -> None:
    scene = physics.create_scene("Sleepy", '<mujoco><worldbody><body><freejoint/><geom size=".1"/>'
                                 "</body></worldbody></mujoco>")  # fmt: skip
    scene.step(nstep=10)
    checkpoint = scene.checkpoint("awake")
    if not scene.world.adapter.members("mjtEnableBit", "mjENBL_SLEEP"):
        pytest.skip("this MuJoCo has no sleeping islands")
    scene.link.backend.edit_option("enable.sleep", [1.0])
    with pytest.raises(physics.StateMismatchError, match=r"enable\.sleep"):
        scene.restore(checkpoint)
    assert scene.restore(checkpoint, with_model=True).is_exact
    assert scene.link.backend.option("enable.sleep") == (0.0,)
    assert scene.restore(checkpoint).is_exact


def test_an_unnamed_checkpoint_knows_that_options_were_edited_since(make_scene: Make) -> None:
    scene = make_scene("arm")
    checkpoint = scene.checkpoint()
    scene.link.backend.edit_option("gravity", [0.0, 0.0, -1.0])
    assert "edited physics options 0 times" in str(scene.restore(checkpoint))


def test_a_changed_asset_is_reported_and_can_not_be_put_back() -> None:
    scene = physics.create_scene(
        "Wedge",
        '<mujoco><asset><mesh name="w" vertex="0 0 0 .1 0 0 0 .1 0 0 0 .1"/></asset><worldbody>'
        '<body><freejoint/><geom type="mesh" mesh="w"/></body></worldbody></mujoco>',
    )
    checkpoint = scene.checkpoint("whole")
    scene.model.mesh_vert[0] += 0.01
    assert "mesh_vert was written into" in str(scene.restore(checkpoint))
    with pytest.raises(physics.StateMismatchError, match="mesh_vert"):
        scene.restore(checkpoint, with_model=True)


def test_a_setter_that_raises_leaves_state_model_and_other_script_state_as_they_were(
    make_scene: Make, state_of: StateOf
) -> None:
    scene = make_scene("arm")
    kept = {"first": 1}
    fails = [False]

    def refuse(value: object) -> None:
        if fails[0]:
            raise ZeroDivisionError("always")

    scene.register_state("first", lambda: kept["first"], lambda v: kept.update(first=v))
    scene.register_state("second", lambda: 0, refuse)
    scene.model.opt.gravity[2] = -5.0
    checkpoint = scene.checkpoint("then")
    scene.model.opt.gravity[2] = -2.0
    scene.step()
    kept["first"], fails[0] = 2, True
    before = state_of(scene)
    with pytest.raises(physics.StateError, match=r"'second'.*old value"):
        scene.restore(checkpoint, with_model=True)
    assert kept["first"] == 2
    assert scene.model.opt.gravity[2] == -2.0
    assert np.array_equal(before, state_of(scene))
    assert scene.step_count == 1


def test_environments_are_refused_where_there_are_none(make_scene: Make) -> None:
    scene = make_scene("arm")
    checkpoint = scene.checkpoint()
    for use in (
        lambda: scene.checkpoint(envs_idx=[0]),
        lambda: scene.restore(checkpoint, envs_idx=0),
        lambda: scene.reset(envs_idx=np.array([True])),
        lambda: scene.fork(0, [1, 2]),
    ):
        with pytest.raises(ValueError, match="no environments"):
            use()


def test_other_counts_and_precisions_are_refused_by_name(
    make_scene: Make, state_of: StateOf
) -> None:
    scene = make_scene("arm")
    before = state_of(scene)
    head = Head.of(scene.checkpoint().to_bytes())
    assert (head.n_envs, head.precision) == (1, 8)
    at = CRC_FROM + 4 * 4  # after format, text bytes, table bytes, approximate
    for offset, value, words in ((at, 4, "32 bits"), (at + 4, 16, "16 environments")):
        made = scene.checkpoint()
        changed = bytearray(made.head)
        changed[offset : offset + 4] = value.to_bytes(4, "little")
        made.head = bytes(changed)
        for form in (made, made.to_bytes()):
            with pytest.raises(physics.StateMismatchError, match=words):
                scene.restore(form)
    assert np.array_equal(before, state_of(scene))


def test_a_checkpoint_is_refused_on_another_thread_than_the_scene_s(make_scene: Make) -> None:
    scene = make_scene("arm")
    errors: list[BaseException] = []

    def work() -> None:
        for use in (scene.checkpoint, scene.get_state, scene.reset, scene.__getstate__):
            try:
                use()
            except physics.OwnerThreadError as error:
                errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(60)
    assert len(errors) == 4
    assert current_runtime().scenes == (scene,)


def test_a_scene_that_gets_another_model_refuses_older_checkpoints_which_others_still_take(
    make_scene: Make, drive: Drive
) -> None:
    scene, other = make_scene("arm"), make_scene("arm")
    checkpoint, kept = scene.checkpoint("before"), scene.capture_state()
    first = drive(other, 50)
    scene.model.body_mass[2] = 9.0
    scene.model_changed()
    for restore in (lambda: scene.restore(checkpoint), lambda: scene.restore_state(kept)):
        with pytest.raises(physics.StateMismatchError, match=r"body_mass of body .*: 9\.0 here"):
            restore()
    assert other.restore(checkpoint).is_exact
    assert np.array_equal(first, drive(other, 50))
