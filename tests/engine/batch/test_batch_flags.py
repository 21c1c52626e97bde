"""What mj_setConst finds of environments' models, and steps ask first, goes where fields go."""

import copy
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.debugger_protocol.topics import Topic

pytest.importorskip("mujoco.batch")
if not hasattr(mujoco.MjModel, "flg_surfacevel"):
    pytest.skip("this MuJoCo finds no flags", allow_module_level=True)

MODEL = """
<mujoco><option timestep="0.005"/><worldbody>
  <geom name="floor" type="plane" size="5 5 .1"/>
  <body name="box" pos="0 0 .16"><freejoint/><geom name="bx" type="box" size=".1 .15 .2"/>
    <body name="arm" pos="0 .2 0"><joint axis="1 0 0"/>
      <geom type="capsule" fromto="0 0 0 0 .3 0" size=".03"/></body></body>
  <body name="ball" pos="1 0 .5"><freejoint/><geom size=".1"/></body>
</worldbody><sensor><framelinacc objtype="body" objname="box"/></sensor></mujoco>
"""
HELD = MODEL.replace('name="box" pos', 'name="box" gravcomp="1" pos').replace(
    'name="ball" pos', 'name="ball" gravcomp="1" pos'
)
SLEEPY = MODEL.replace('"0.005"/>', '"0.005"><flag sleep="enable"/></option>')
SOURCES = ["geom_surfacevel", "geom_adhesion", "body_gravcomp"]


def herd(source: str, model: str = MODEL, *, name: str = "herd") -> physics.BatchScene:
    """Return three environments, the first of which has something that none of the model has."""
    scene = physics.create_scene(name, model, n_envs=3)
    run_on(scene, 3)
    written = scene.expand(source)
    if source == "body_gravcomp":
        written[0, 1] = 0.5
    else:
        written[0, ..., 0] = 0.5 if source == "geom_surfacevel" else 5.0
    scene.set_const(envs_idx=0)
    return scene


def run_on(scene: Any, steps: int) -> None:
    for _ in range(steps):
        scene.step()


def ends(*scenes: Any, steps: int = 30) -> list[NDArray[np.float64]]:
    """Return where the first environment of each gets to."""
    for scene in scenes:
        run_on(scene, steps)
    return [np.array(scene.qpos).reshape(-1, scene.model.nq)[0] for scene in scenes]


def are_equal(made: list[NDArray[np.float64]]) -> bool:
    return len({each.tobytes() for each in made}) == 1


@pytest.mark.parametrize("source", SOURCES)
def test_it_goes_into_copies_forks_and_other_scenes(source: str, tmp_path: Path) -> None:
    scene = herd(source)
    run_on(scene, 3)
    checkpoint = scene.checkpoint()
    others: list[Any] = [copy.deepcopy(scene)]
    alone = physics.create_scene("alone", MODEL)
    assert alone.restore(checkpoint.env(0), with_model=True).is_exact
    another = physics.create_scene("another", MODEL, n_envs=3)
    assert "flg_" in another.restore(checkpoint).reason
    assert another.restore(checkpoint, with_model=True).is_exact
    back = physics.create_scene("back", MODEL, n_envs=3)
    assert back.restore(alone.checkpoint("named"), with_model=True).is_exact
    loaded = physics.load_checkpoint(scene.save_checkpoint(tmp_path / "all"))
    exported = physics.load_scene(scene.export(tmp_path / "scene"), name="exported")
    assert exported.restore(checkpoint).is_exact
    others += [alone, another, back, loaded, exported]
    rollouts = physics.rollout(checkpoint.env(0), np.zeros((1, 30, 0)))
    assert scene.fork(0, [2]).is_exact
    made = ends(scene, *others)
    assert scene.qpos[2].tobytes() == scene.qpos[0].tobytes() != scene.qpos[1].tobytes()
    assert are_equal([*made, rollouts.qpos[0, -1]])


@pytest.mark.parametrize("model", [MODEL, HELD, SLEEPY], ids=["none", "two held", "sleepy"])
def test_it_is_taken_back_with_the_model_of_a_checkpoint(model: str) -> None:
    scene = physics.create_scene("herd", model, n_envs=3)
    run_on(scene, 3)
    before = scene.checkpoint()
    held = scene.expand("body_gravcomp")
    held[0] = 0.5 - held[0]
    held[1] = 0
    scene.expand("geom_surfacevel")[1:] = 0.5
    scene.set_const()
    scene.restore(before, with_model=True)
    fresh = physics.create_scene("fresh", model, n_envs=3)
    fresh.restore(before)
    run_on(scene, 30)
    run_on(fresh, 30)
    assert scene.qpos.tobytes() == fresh.qpos.tobytes()
    assert "flg_surfacevel" not in scene.restore(before).reason


@pytest.mark.parametrize("model", [MODEL, HELD], ids=["none", "two held"])
def test_environments_that_count_otherwise_are_looked_at_in_turn(model: str) -> None:
    """MuJoCo refuses to write an environment's model over one with another count."""
    scene = physics.create_scene("herd", model, n_envs=3)
    scene.keep_history(True)
    run_on(scene, 3)
    held = scene.expand("body_gravcomp")
    held[1] = 0.5 if model is MODEL else 0
    scene.set_const()
    run_on(scene, 3)
    poses = scene.get_state().xpos
    for env in (1, 0, 1, 2, 1):
        scene.select_environment(env)
        place = scene.backend.time_machine().look_at(5, frozenset({Topic.STATE}))
        assert place.note == ""
        own, mine = scene.get_model(env), scene.world.model
        assert own.body_gravcomp.tobytes() == mine.body_gravcomp.tobytes() == held[env].tobytes()
        assert own.flg_gravcomp == mine.flg_gravcomp == bool(held[env].any())
    assert poses.tobytes() == scene.get_state().xpos.tobytes()
    twin = copy.deepcopy(scene)
    run_on(scene, 20)
    run_on(twin, 20)
    assert scene.qpos.tobytes() == twin.qpos.tobytes()
    scene.raise_on_stop = True
    scene.qvel[1, 0] = np.nan
    with pytest.raises(physics.SimulationStopped, match="environment 1"):
        scene.step()


def test_what_is_written_before_mj_set_const_stays_without_effect_in_the_past(
    tmp_path: Path,
) -> None:
    scene = physics.create_scene("herd", MODEL, n_envs=2)
    scene.keep_history(True)
    model = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(model)
    seen = []
    for axis in range(30):
        if axis == 10:
            scene.expand("geom_surfacevel")[1, 0, 0] = model.geom_surfacevel[0, 0] = 0.5
        if axis == 20:
            scene.set_const()
            mujoco.mj_setConst(model, mujoco.MjData(model))
        mujoco.mj_step(model, data)
        scene.step()
        seen.append(data.sensordata.copy())
    scene.select_environment(1)
    assert scene.qpos[1].tobytes() == data.qpos.tobytes()
    values = np.concatenate(
        [
            part["values"]
            for part in scene.backend.time_machine().read_rows(
                0, ["sensordata"], first=0, last=30, max_rows=100
            )
        ]
    )
    assert values.tobytes() == np.array(seen).tobytes()
    path = scene.save_history(tmp_path / "past")
    with physics.load_trajectory(path, scene="herd[1]") as trajectory:
        assert trajectory.verify().exit_code == 0


def test_it_is_nothing_to_write() -> None:
    scene = herd("geom_surfacevel")
    with pytest.raises(ValueError, match="set_const"):
        scene.expand("flg_surfacevel")
    with pytest.raises(ValueError, match="set_const"):
        scene.expand("flg_adhesion")


def test_what_set_const_has_written_is_known_where_it_fails_for_one() -> None:
    """The ball is compiled as simple, which it is no more with another centre."""
    scene = physics.create_scene("herd", MODEL, n_envs=3)
    run_on(scene, 3)
    scene.expand("body_mass")[0, 1] *= 5
    scene.expand("geom_surfacevel")[0, 0, 0] = 0.5
    scene.expand("body_ipos")[1, 3] = 0.02
    with pytest.raises(mujoco.batch.SimulationError, match="simple"):
        scene.set_const()
    checkpoint = scene.checkpoint()
    another = physics.create_scene("another", MODEL, n_envs=3)
    assert another.restore(checkpoint, with_model=True).is_exact
    assert scene.fork(0, [2]).is_exact
    assert are_equal(ends(scene, another, copy.deepcopy(scene)))
    assert scene.qpos[2].tobytes() == scene.qpos[0].tobytes()
