"""Scenes that are built to compute something of a file end with it; those that are given stay."""

from collections.abc import Callable
from pathlib import Path

import pytest
from samples import few

import stroboscope.engine as physics
from stroboscope.engine.runtime import current_runtime
from stroboscope.engine.trajectory.trajectory import Trajectory

_ASKED: dict[str, Callable[[Trajectory], object]] = {
    "last": lambda trajectory: trajectory.last.xpos,
    "verify": lambda trajectory: trajectory.verify(),
    "timings": lambda trajectory: trajectory.timings(5, again=True),
    "frame": lambda trajectory: trajectory.frame(7).qpos,
}


@pytest.mark.parametrize("mode", few(["minimal", "exact"], 1))
@pytest.mark.parametrize("asked", _ASKED)
def test_a_scene_that_nobody_has_asked_for_ends_with_the_file(
    tmp_path: Path, model_path: Callable[[str], Path], asked: str, mode: str
) -> None:
    scene = physics.create_scene("arm", model=model_path("arm"))
    with scene.start_recording(physics.TrajectoryFile(tmp_path / "run", mode=mode)):
        for _ in range(20):
            scene.step()
    with physics.load_trajectory(tmp_path / "run.mcap") as trajectory:
        _ASKED[asked](trajectory)
    assert [each.name for each in current_runtime().scenes] == ["arm"]
    with physics.load_trajectory(tmp_path / "run.mcap") as trajectory:
        _ASKED[asked](trajectory)
        given = trajectory.scene
        _ASKED[asked](trajectory)
    given.step()
    assert given in current_runtime().scenes
