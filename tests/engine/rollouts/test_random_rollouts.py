"""Random models: rollouts give the bits of a single scene, and recorded inputs come out again."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from random_models import disturb, random_model

import stroboscope.engine as physics
from stroboscope.engine.mujoco_adapter import load_mujoco
from stroboscope.engine.rollouts.resimulation import Resimulation, resimulate
from stroboscope.engine.rollouts.row_source import RecordedRows

StateOf = Callable[[physics.Scene], NDArray[np.float64]]
SEEDS = [*range(8), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(8, 40))]


@pytest.fixture
def scene_of() -> Callable[[int], physics.Scene]:
    """``scene_of(seed)``: a scene of a random model, after some steps of disturbance."""

    def make(seed: int) -> physics.Scene:
        scene = physics.create_scene(f"random {seed}", random_model(seed).xml)
        rng = np.random.default_rng(seed)
        for _ in range(int(rng.integers(1, 60))):
            disturb(scene.model, scene.data, rng, gently=True)
            scene.step()
        return scene

    return make


@pytest.mark.parametrize("seed", SEEDS)
def test_every_candidate_is_what_a_single_scene_does(
    scene_of: Callable[[int], physics.Scene], state_of: StateOf, seed: int
) -> None:
    scene = scene_of(seed)
    checkpoint = scene.checkpoint()
    rng = np.random.default_rng(seed)
    controls = rng.uniform(-1.0, 1.0, (3, 25, scene.model.nu))
    nstep = int(rng.integers(1, 3))
    rollouts = physics.rollout(checkpoint, controls, nstep=nstep, threads=2)
    for candidate in range(3):
        scene.restore(checkpoint)
        steps = int(rollouts.steps[candidate])
        for step in range(steps + 1):
            if step < 25:
                scene.ctrl[:] = controls[candidate, step]
            assert state_of(scene).tobytes() == rollouts.states[candidate, step].tobytes()
            if step < steps:
                scene.step(nstep=nstep)


@pytest.mark.parametrize("seed", SEEDS)
def test_recorded_inputs_come_out_as_they_were(
    scene_of: Callable[[int], physics.Scene], state_of: StateOf, seed: int
) -> None:
    scene = scene_of(seed)
    if scene.checkpoint().hidden:
        pytest.skip("rows of this model are not all of its state: keyframes hold that")
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(30):
        disturb(scene.model, scene.data, rng, gently=True)
        rows.append(state_of(scene))
        scene.step()
    rows.append(state_of(scene))
    source = RecordedRows(
        scene.model,
        np.array(rows),
        timesteps=float(scene.model.opt.timestep),
        adapter=load_mujoco(),
    )
    result = Resimulation()
    for _ in resimulate(
        source,
        result,
        model=scene.model,
        axis=0,
        steps=0,
        edits=(),
        name="",
        digest=b"",
        adapter=load_mujoco(),
    ):
        pass
    assert result.rollout is not None
    assert result.rollout.reproducible == ""
    assert result.rollout.rows.tobytes() == np.array(rows).tobytes()
