"""Scenes of real models for the engine's tests; the engine is shut down after each test."""

import importlib.resources
from collections.abc import Callable, Iterator
from pathlib import Path

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics

FULL = mujoco.mjtState.mjSTATE_INTEGRATION


@pytest.fixture(autouse=True)
def engine_ends() -> Iterator[None]:
    """Shut the engine down after each test."""
    yield
    physics.shutdown()


@pytest.fixture
def model_path() -> Callable[[str], Path]:
    """``model_path("humanoid")``: the file of one of our own models."""

    def find(name: str) -> Path:
        return Path(str(importlib.resources.files("stroboscope.resources"))) / f"models/{name}.xml"

    return find


@pytest.fixture
def make_scene(model_path: Callable[[str], Path]) -> Callable[..., physics.Scene]:
    """``make_scene("humanoid")``: a scene of one of our own models."""

    def make(model: str = "humanoid", **arguments: object) -> physics.Scene:
        return physics.create_scene(model, model_path(model), **arguments)

    return make


def full_state(model: mujoco.MjModel, data: mujoco.MjData) -> NDArray[np.float64]:
    """Return all that the next step of ``data`` reads."""
    row = np.empty(mujoco.mj_stateSize(model, FULL))
    mujoco.mj_getState(model, data, row, FULL)
    return row


@pytest.fixture
def state_of() -> Callable[[physics.Scene], NDArray[np.float64]]:
    """``state_of(scene)``: all that its next step reads."""
    return lambda scene: full_state(scene.model, scene.data)


@pytest.fixture
def drive() -> Callable[..., NDArray[np.float64]]:
    """``drive(scene, steps, seed=0)``: step with random controls; return qpos after each step."""

    def run(scene: physics.Scene, steps: int, *, seed: int = 0) -> NDArray[np.float64]:
        controls = np.random.default_rng(seed).uniform(-1, 1, (steps, scene.model.nu))
        positions = np.empty((steps, scene.model.nq))
        for k in range(steps):
            scene.ctrl[:] = controls[k]
            scene.step()
            positions[k] = scene.data.qpos
        return positions

    return run
