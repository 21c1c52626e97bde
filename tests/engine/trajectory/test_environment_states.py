"""Checkpoint files of environments: some of them, with fields of their own, into other scenes."""

from pathlib import Path

import msgspec
import mujoco
import numpy as np
import pytest

import stroboscope.engine as physics
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.files.writer import TrajectoryWriter
from stroboscope.engine.runtime import current_runtime

pytest.importorskip("mujoco.batch")

MODEL = """
<mujoco>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body name="box" pos="0 0 .4"><freejoint/><geom type="box" size=".1 .15 .2"/></body>
  </worldbody>
</mujoco>
"""


def moved(count: int = 4) -> physics.BatchScene:
    scene = physics.create_scene("Many", MODEL, n_envs=count)
    scene.qvel[:, 0] = np.arange(count)
    for _ in range(5):
        scene.step()
    scene.reset(envs_idx=1)
    for _ in range(5):
        scene.step()
    return scene


def test_some_go_back_and_the_others_stay(tmp_path: Path) -> None:
    scene = moved()
    before, counts = scene.environments.state.copy(), scene.step_count
    path = scene.save_checkpoint(tmp_path / "two", envs_idx=[3, 1], with_scene=False)
    for _ in range(7):
        scene.step()
    after = scene.environments.state.copy()
    assert scene.load_checkpoint(path).is_exact
    for env in range(4):
        expected = before if env in (1, 3) else after
        assert scene.environments.state[env].tobytes() == expected[env].tobytes()
    assert scene.step_count.tolist() == [17, counts[1], 17, counts[3]] == [17, 5, 17, 10]


def test_a_scene_is_built_with_what_each_has_of_its_own_and_goes_on_so(tmp_path: Path) -> None:
    scene = moved()
    scene.expand("opt.gravity")[2] = (0.0, 0.0, -1.62)
    scene.expand("body_mass")[3, 1] *= 2.0
    scene.set_const()
    twin = physics.load_checkpoint(scene.save_checkpoint(tmp_path / "all"))
    assert isinstance(twin, physics.BatchScene)
    assert twin.name == "Many (2)"
    for _ in range(20):
        scene.step()
        twin.step()
    assert twin.environments.state.tobytes() == scene.environments.state.tobytes()
    assert twin.step_count.tolist() == scene.step_count.tolist()


def test_of_some_environments_a_scene_of_all_is_built_and_it_is_said(tmp_path: Path) -> None:
    scene = moved()
    twin = physics.load_checkpoint(scene.save_checkpoint(tmp_path / "two", envs_idx=[0, 2]))
    assert isinstance(twin, physics.BatchScene)
    assert twin.n_envs == 4
    for env in range(4):
        same = twin.environments.state[env].tobytes() == scene.environments.state[env].tobytes()
        assert same == (env in (0, 2))
    one = physics.load_checkpoint(scene.save_checkpoint(tmp_path / "one", envs_idx=2))
    assert isinstance(one, physics.Scene)
    assert one.data.qpos.tobytes() == scene.qpos[2].tobytes()


def test_an_environment_that_is_not_there_is_refused_and_nothing_has_changed(
    tmp_path: Path,
) -> None:
    path = moved(6).save_checkpoint(tmp_path / "six")
    scene = moved(4)
    before = scene.environments.state.copy()
    with pytest.raises(physics.StateMismatchError, match=r"holds environment 5.* envs_idx"):
        scene.load_checkpoint(path)
    assert scene.environments.state.tobytes() == before.tobytes()


def test_environments_are_chosen_of_a_file_as_of_a_checkpoint(tmp_path: Path) -> None:
    six = moved(6)
    path = six.save_checkpoint(tmp_path / "six")
    scene = moved(4)
    for _ in range(3):
        scene.step()
    before = scene.environments.state.copy()
    assert scene.load_checkpoint(path, envs_idx=[3, 1]).is_exact
    for env in range(4):
        expected = six.environments.state if env in (1, 3) else before
        assert scene.environments.state[env].tobytes() == expected[env].tobytes()
    pair = six.save_checkpoint(tmp_path / "pair", envs_idx=[5, 4])
    scene.load_checkpoint(pair, envs_idx=[0, 2])
    for env, source in ((0, 4), (2, 5)):
        assert scene.environments.state[env].tobytes() == six.environments.state[source].tobytes()
    alone = six.save_checkpoint(tmp_path / "alone", envs_idx=2)
    scene.load_checkpoint(alone, envs_idx=1)
    assert scene.environments.state[1].tobytes() == six.environments.state[2].tobytes()


def test_the_state_of_one_world_goes_into_those_that_are_chosen(tmp_path: Path) -> None:
    alone = physics.create_scene("Alone", MODEL)
    for _ in range(9):
        alone.step()
    scene = moved()
    before = scene.environments.state.copy()
    scene.load_checkpoint(alone.save_checkpoint(tmp_path / "alone"), envs_idx=2)
    assert scene.qpos[2].tobytes() == alone.data.qpos.tobytes()
    assert scene.step_count[2] == 9
    assert scene.environments.state[[0, 1, 3]].tobytes() == before[[0, 1, 3]].tobytes()


def test_the_state_of_one_world_goes_into_all_of_them(tmp_path: Path) -> None:
    alone = physics.create_scene("Alone", MODEL)
    for _ in range(3):
        alone.step()
    scene = moved()
    assert scene.load_checkpoint(alone.save_checkpoint(tmp_path / "one")).is_exact
    assert (scene.qpos == alone.data.qpos).all()


def test_the_last_frames_of_a_recorded_run_will_do(tmp_path: Path) -> None:
    scene = moved()
    with scene.start_recording(tmp_path / "run") as recording:
        for _ in range(10):
            scene.step()
    end = scene.environments.state.copy()
    for _ in range(5):
        scene.step()
    assert scene.load_checkpoint(recording.path).is_exact
    assert scene.environments.state.tobytes() == end.tobytes()


def test_one_world_does_not_take_the_first_of_several_environments(tmp_path: Path) -> None:
    scene = moved()
    path = scene.save_checkpoint(tmp_path / "all")
    alone = physics.create_scene("Alone", MODEL)
    before = alone.checkpoint()
    with pytest.raises(physics.StateMismatchError, match="holds 4 environments") as caught:
        alone.load_checkpoint(path)
    assert alone.checkpoint().is_equal(before)
    # What the message says to do.
    assert "physics.load_trajectory(path, scene='Many[0]')" in str(caught.value)
    with physics.load_trajectory(path, scene="Many[2]") as trajectory:
        trajectory.seek(-1)
        alone.restore(trajectory.scene.checkpoint())
    assert alone.data.qpos.tobytes() == scene.qpos[2].tobytes()
    one = scene.save_checkpoint(tmp_path / "one", envs_idx=3)
    assert alone.load_checkpoint(one).is_exact
    assert alone.data.qpos.tobytes() == scene.qpos[3].tobytes()


def test_why_what_was_loaded_goes_on_only_approximately_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    if not hasattr(mujoco.mjtEnableBit, "mjENBL_SLEEP"):
        pytest.skip("this MuJoCo has no sleeping islands")
    sleeping = MODEL.replace("<worldbody>", '<option><flag sleep="enable"/></option><worldbody>', 1)
    scene = physics.create_scene("Sleepy", sleeping, n_envs=2)
    for _ in range(1000):
        scene.step()
    path = scene.save_checkpoint(tmp_path / "there")
    exactness = scene.load_checkpoint(path)
    assert not exactness.is_exact
    physics.load_checkpoint(path)
    assert f"there.mcap goes on only approximately: {exactness.reason}" in caplog.text
    caplog.clear()
    physics.load_checkpoint(moved().save_checkpoint(tmp_path / "exact"))
    assert "approximately" not in caplog.text


def test_a_scene_whose_states_can_not_be_put_back_does_not_stay(tmp_path: Path) -> None:
    scene = moved(3)
    path = scene.save_checkpoint(tmp_path / "there")
    scene.destroy()
    with TrajectoryReader(path) as reader:
        records = tuple(
            msgspec.structs.replace(each, env=7 if each.env == 2 else each.env)
            for each in reader.manifest.scenes
        )
        manifest = msgspec.structs.replace(reader.manifest, scenes=records)
        models = {name: reader.attachment(name) for name in reader.attachments}
        models.pop("stroboscope/manifest.json", None)
        with TrajectoryWriter(tmp_path / "odd.mcap", manifest, attachments=models) as writer:
            for place in reader.block_order():
                writer.write_block(reader.block(*place))
    with pytest.raises(physics.EngineError):
        physics.load_checkpoint(tmp_path / "odd.mcap")
    assert not list(current_runtime().scenes)
