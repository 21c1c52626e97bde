"""Files of several scenes: which there are, and what is shared by those who open them."""

from pathlib import Path
from typing import Any

import pytest

import stroboscope.engine as physics
from stroboscope.engine.outside.guard import guarded_model
from stroboscope.engine.trajectory import building

MODEL = """
<mujoco>
  <worldbody>
    <body><joint axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body>
  </worldbody>
</mujoco>
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Left and right, which have one model."""
    scenes = [physics.create_scene(name, MODEL) for name in ("Left", "Right")]
    path = tmp_path_factory.mktemp("several") / "run"
    with physics.start_recording(path, scenes=scenes) as recording:
        for scene in scenes:
            scene.step(nstep=5)
    for scene in scenes:
        scene.destroy()
    return recording.path


def test_a_trajectory_says_which_scenes_its_file_has(file: Path) -> None:
    with physics.load_trajectory(file) as first:
        assert first.scenes == ("Left", "Right") == tuple(first.others())
        assert repr(first).startswith("<Trajectory run.mcap: 'Left', one of 2 scenes, 6 frames")
        for name in first.scenes:
            with physics.load_trajectory(file, scene=name) as one:
                assert (one.name, one.scenes) == (name, first.scenes)


def test_who_opens_a_file_that_is_open_has_its_model_without_compiling_it_again(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[str] = []

    def counting(path: Any, **arguments: Any) -> Any:
        compiled.append(str(path))
        return guarded_model(path, **arguments)

    monkeypatch.setattr(building, "guarded_model", counting)
    with physics.load_trajectory(file) as first:
        scene = first.scene
        with physics.load_trajectory(file, scene="Right") as second:
            other = second.scene
            assert len(compiled) == 1
            scene.model.body_mass[1] = 7.0
            assert other.model.body_mass[1] != 7.0
        with physics.load_trajectory(file) as third:
            assert third.scene.model.body_mass[1] == other.model.body_mass[1]
            assert len(compiled) == 1
    with physics.load_trajectory(file) as later:
        assert later.scene.model.nbody == scene.model.nbody
    assert len(compiled) == 2, "nothing is kept of a file that is closed"
