"""Random models, captured at a random step: everything that follows a restore is equal to the bit.

Every integrator and solver, delayed actuators and sensors, plastic springs, plugins, mocap bodies,
flexes, equality switches, sleeping islands: whatever a checkpoint calls exact.
"""

import mujoco
import numpy as np
import pytest
from random_models import RandomModel, disturb, random_model
from samples import few

import stroboscope.engine as physics

FULL = mujoco.mjtState.mjSTATE_INTEGRATION
STEPS = 200
QUICK = few(range(20), 5)
MANY = range(1000, 1500)
SLEEPY = frozenset({"sleep", "dominoes"})


def fingerprint(scene: physics.Scene) -> bytes:
    """Return all that the next step reads, what sensors say, and what sleeps."""
    model, data = scene.model, scene.data
    row = np.empty(mujoco.mj_stateSize(model, FULL))
    mujoco.mj_getState(model, data, row, FULL)
    asleep = data.tree_asleep.tobytes() if hasattr(data, "tree_asleep") else b""
    return row.tobytes() + data.sensordata.tobytes() + asleep


def run(scene: physics.Scene, rng: np.random.Generator, steps: int, *, gently: bool) -> list[bytes]:
    """Step with random inputs; return a fingerprint after each step.

    A model that diverges until MuJoCo fails is put back to its beginning, and does so every time.
    """
    prints = []
    for _ in range(steps):
        disturb(scene.model, scene.data, rng, gently=gently)
        try:
            scene.step()
        except physics.StepFailedError:
            scene.reset()
        prints.append(fingerprint(scene))
    return prints


def first_difference(one: list[bytes], two: list[bytes]) -> int | None:
    return next((k for k, (a, b) in enumerate(zip(one, two, strict=True)) if a != b), None)


def check(seed: int) -> tuple[RandomModel, bool]:
    """Check one model; return it, and whether some but not all of its islands slept."""
    made = random_model(seed)
    rng = np.random.default_rng(seed)
    gently = bool(SLEEPY & set(made.features))
    scene = physics.create_scene(f"Random {seed}", made.xml)
    before = int(rng.integers(300, 1200) if gently else rng.integers(5, 150))
    run(scene, rng, before, gently=gently)
    asleep = np.asarray(getattr(scene.data, "tree_asleep", [-1])) >= 0
    checkpoint = scene.checkpoint()
    buffer = physics.DynamicArrayUint8()
    scene.capture_state_to_bytes(buffer)
    state = scene.get_state()
    inputs = rng.bit_generator.state

    def again(target: physics.Scene) -> list[bytes]:
        rng.bit_generator.state = inputs
        return run(target, rng, STEPS, gently=gently)

    first = again(scene)
    assert checkpoint.exactness.is_exact, (seed, made.features, str(checkpoint.exactness))
    fresh, third = (physics.create_scene(name, made.xml) for name in ("Fresh", "Third"))
    assert scene.restore(checkpoint).is_exact
    fresh.restore_state_from_bytes(buffer)
    third.reset(state)
    for target in (scene, fresh, third):
        step = first_difference(first, again(target))
        assert step is None, (seed, target.name, step, made.features)
    for target in (scene, fresh, third):
        physics.destroy_scene(target)
    return made, bool(asleep.any() and not asleep.all())


@pytest.mark.parametrize("seed", QUICK)
def test_a_random_model_continues_bit_for_bit_wherever_it_is_restored(seed: int) -> None:
    check(seed)


@pytest.mark.slow
def test_five_hundred_random_models_continue_bit_for_bit() -> None:
    features: dict[str, int] = {}
    partly_asleep = 0
    for seed in MANY:
        made, partly = check(seed)
        partly_asleep += partly
        for feature in made.features:
            features[feature] = features.get(feature, 0) + 1
    print(f"{len(MANY)} models, {partly_asleep} partly asleep when captured: {features}")
    if hasattr(mujoco.mjtEnableBit, "mjENBL_SLEEP"):
        assert partly_asleep >= 20
