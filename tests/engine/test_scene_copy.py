"""Scenes that are pickled or copied: twins that take the same steps, here and elsewhere."""

import copy
import dataclasses
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
from stroboscope.engine.scene_copy import SceneCopy

Scene = physics.Scene
Make = Callable[..., Scene]
Drive = Callable[..., NDArray[np.float64]]
StateOf = Callable[[Scene], NDArray[np.float64]]

# Loads a pickled scene, steps it with the controls that `drive(scene, 100, seed=1)` uses.
ELSEWHERE = """
import pickle, sys
import numpy as np
scene = pickle.load(open(sys.argv[1], "rb"))
for control in np.random.default_rng(1).uniform(-1, 1, (100, scene.model.nu)):
    scene.ctrl[:] = control
    scene.step()
asleep = getattr(scene.data, "tree_asleep", np.empty(0)).tolist()
print(scene.name, scene.step_count, asleep, scene.data.qpos.tobytes().hex())
"""


def twin_of(scene: Scene) -> Scene:
    """Return what comes out of a pickle of the scene."""
    twin = pickle.loads(pickle.dumps(scene))  # noqa: S301 - our own
    assert isinstance(twin, Scene)
    return twin


def elsewhere(scene: Scene, folder: Path) -> str:
    """Return what a twin in another process says after 100 steps."""
    file = folder / "scene.pickle"
    file.write_bytes(pickle.dumps(scene))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ELSEWHERE, str(file)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout.strip()


def said(scene: Scene, name: str) -> str:
    asleep = getattr(scene.data, "tree_asleep", np.empty(0)).tolist()
    return f"{name} {scene.step_count} {asleep} {scene.data.qpos.tobytes().hex()}"


@pytest.mark.parametrize("model", ["humanoid", "arm"])
def test_a_pickled_scene_is_a_built_twin_that_takes_the_same_steps(
    model: str, make_scene: Make, drive: Drive, state_of: StateOf, tmp_path: Path
) -> None:
    scene = make_scene(model)
    drive(scene, 100)
    twin = twin_of(scene)
    assert (twin.name, twin.is_adopted) == (f"{scene.name} (2)", False)
    assert np.array_equal(state_of(scene), state_of(twin))
    assert twin.get_state() == scene.get_state()
    assert twin.options == scene.options
    assert twin.model is not scene.model
    name = scene.name
    script = elsewhere(scene, tmp_path)
    first = drive(scene, 100, seed=1)
    assert np.array_equal(first, drive(twin, 100, seed=1))
    assert script == said(scene, name)
    twin.restore(scene.checkpoint())
    assert np.array_equal(state_of(scene), state_of(twin)), "they are scenes of one model"


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy], ids=["copy", "deepcopy"])
def test_a_copied_scene_is_a_twin(
    how: Callable[[Scene], Scene], make_scene: Make, drive: Drive
) -> None:
    scene = make_scene(playback="free")
    drive(scene, 20)
    twin = how(scene)
    assert twin.playback == "free"
    assert np.array_equal(drive(scene, 50, seed=1), drive(twin, 50, seed=1))


def test_partly_sleeping_bodies_are_the_same_in_another_process(
    case_model: Callable[[str], Path], tmp_path: Path
) -> None:
    if not hasattr(mujoco.mjtEnableBit, "mjENBL_SLEEP"):
        pytest.skip("this MuJoCo has no sleeping islands")
    scene = physics.create_scene("Boxes", case_model("R2"))
    scene.step(nstep=1100)
    answer = elsewhere(scene, tmp_path)
    for _ in range(100):
        scene.step()
    assert answer == said(scene, "Boxes")


def test_a_twin_has_the_model_as_it_was_written_and_as_it_was_made(
    make_scene: Make, drive: Drive
) -> None:
    scene = make_scene("arm")
    beginning = scene.checkpoint("beginning")
    scene.model.body_mass[2] *= 3
    scene.model.opt.gravity[2] = -3.0
    drive(scene, 20)
    twin = twin_of(scene)
    assert np.array_equal(twin.model.body_mass, scene.model.body_mass)
    assert twin.options.gravity == (0.0, 0.0, -9.81), "what it was made with"
    assert np.array_equal(drive(scene, 50, seed=1), drive(twin, 50, seed=1))
    assert twin.restore(beginning, with_model=True).is_exact
    assert twin.model.opt.gravity[2] == -9.81


def test_a_built_scene_of_the_same_model_is_put_back_in_place(
    make_scene: Make, drive: Drive
) -> None:
    scene = make_scene()
    drive(scene, 50)
    kept = scene.__getstate__()
    assert isinstance(kept, SceneCopy)
    first = drive(scene, 50, seed=1)
    scene.model.opt.gravity[2] = 0.0
    other = make_scene()
    for target in (scene, other):
        name, model = target.name, target.model
        target.__setstate__(kept)
        assert (target.name, target.model) == (name, model)
        assert target.model.opt.gravity[2] == -9.81
        assert np.array_equal(first, drive(target, 50, seed=1))


def test_a_built_scene_of_another_model_refuses_and_says_what_differs(
    make_scene: Make, state_of: StateOf
) -> None:
    scene, arm = make_scene(), make_scene("arm")
    arm.step()
    before = state_of(arm)
    with pytest.raises(physics.StateMismatchError, match="nbody is"):
        arm.__setstate__(scene.__getstate__())
    assert np.array_equal(before, state_of(arm))


def test_an_adopted_scene_becomes_one_with_a_model_of_its_own(
    model_path: Callable[[str], Path],
) -> None:
    model = mujoco.MjModel.from_xml_path(str(model_path("humanoid")))
    data = mujoco.MjData(model)
    scene = physics.create_scene("mine", model, data=data)
    mujoco.mj_step(model, data, 10)
    twin = twin_of(scene)
    assert scene.is_adopted
    assert not twin.is_adopted
    for _ in range(50):
        mujoco.mj_step(model, data)
        twin.step()
    assert np.array_equal(data.qpos, twin.data.qpos)


def test_registered_values_wait_in_the_twin_until_the_functions_come(make_scene: Make) -> None:
    scene = make_scene("arm")
    scene.register_state("controller", lambda: {"integral": np.arange(3.0)}, lambda _: None)
    twin = twin_of(scene)
    got: list[dict[str, object]] = []
    twin.register_state("other", lambda: 0, got.append)
    assert got == []
    twin.register_state("controller", lambda: got[-1], got.append)
    assert np.array_equal(got[0]["integral"], np.arange(3.0))
    twin.restore(twin.checkpoint())


def test_a_setter_that_refuses_the_copied_value_is_not_registered(make_scene: Make) -> None:
    scene = make_scene("arm")
    scene.register_state("controller", lambda: 1, lambda _: None)
    twin = twin_of(scene)

    def refuse(value: object) -> None:
        raise ZeroDivisionError(value)

    with pytest.raises(ZeroDivisionError):
        twin.register_state("controller", lambda: 1, refuse)
    got: list[int] = []
    twin.register_state("controller", lambda: 1, got.append)
    assert got == [1]


def test_what_can_not_travel_is_said(make_scene: Make) -> None:
    scene = physics.create_scene(
        "Wedge",
        '<mujoco><asset><mesh name="w" vertex="0 0 0 .1 0 0 0 .1 0 0 0 .1"/></asset><worldbody>'
        '<body><freejoint/><geom type="mesh" mesh="w"/></body></worldbody></mujoco>',
    )
    scene.model.mesh_vert[0] += 0.01
    with pytest.raises(physics.StateError, match=r"mesh_vert.*model_changed"):
        pickle.dumps(scene)
    scene.model_changed()
    twin = twin_of(scene)
    assert np.array_equal(twin.model.mesh_vert, scene.model.mesh_vert)
    physics.destroy_scene(scene)
    with pytest.raises(physics.SceneDestroyedError):
        pickle.dumps(scene)


def test_a_copy_made_with_another_mujoco_or_damaged_makes_no_scene(make_scene: Make) -> None:
    scene = make_scene("arm")
    kept = scene.__getstate__()
    blank = Scene.__new__(Scene)
    with pytest.raises(physics.StateMismatchError, match=r"copied with MuJoCo 3\.0\.0"):
        blank.__setstate__(dataclasses.replace(kept, mujoco_version="3.0.0"))
    with pytest.raises(physics.ModelError, match="copied scene"):
        blank.__setstate__(dataclasses.replace(kept, model=kept.model[:100]))
    assert len(scene._runtime.scenes) == 1
