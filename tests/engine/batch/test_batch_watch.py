"""Which environments of a batch are looked at closer after a step."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import stroboscope.engine as physics
from stroboscope.engine.batch.failures import BatchWatch
from stroboscope.engine.stops.detector import FAST

COUNT = 300
NONE = np.empty(0, dtype=np.intp)


@pytest.fixture
def scene(model_path: Callable[[str], Path]) -> physics.BatchScene:
    made = physics.create_scene("Herd", model_path("humanoid"), n_envs=COUNT)
    assert isinstance(made, physics.BatchScene)
    return made


@pytest.mark.parametrize("usual", [0.0, 0.1, 20.0, 0.99 * FAST / np.sqrt(27)])
@pytest.mark.parametrize(
    "speed", [0.0, 0.9 * FAST, 1.01 * FAST, -1.01 * FAST, 1e300, np.inf, -np.inf, np.nan]
)
def test_the_one_that_is_too_fast_is_found_among_slow_ones_and_fast_ones(
    scene: physics.BatchScene, usual: float, speed: float
) -> None:
    envs = scene.environments
    watch = BatchWatch(envs)
    watch.before()
    before = envs.state.copy()
    envs.qvel[:] = usual
    envs.qvel[217] = 0.0
    envs.qvel[217, 13] = speed
    expected = [] if abs(speed) < FAST else [217]
    assert watch.suspicious(before, NONE).tolist() == expected


def test_an_environment_that_has_warned_is_found_by_its_count_or_its_time(
    scene: physics.BatchScene,
) -> None:
    envs = scene.environments
    scene.step()
    watch = BatchWatch(envs)
    watch.before()
    before = envs.state.copy()
    envs.time[:] += envs.model.opt.timestep
    assert watch.suspicious(before, NONE).tolist() == []
    envs.warning[299, 0, 1] = 1
    assert watch.suspicious(before, NONE).tolist() == [299]
    watch.before()
    assert watch.suspicious(before, NONE).tolist() == []
    envs.time[7] = 0.0
    assert watch.suspicious(before, NONE).tolist() == [7]
    assert watch.suspicious(before, np.array([3])).tolist() == [3, 7]
