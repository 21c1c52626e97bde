"""A run is the same to the last bit, whoever records it or looks on."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import mujoco
import numpy as np
import pytest
from random_models import disturb, random_model
from samples import few

import stroboscope.engine as physics
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.messages import PlaybackMode

FULL = mujoco.mjtState.mjSTATE_INTEGRATION
STEPS = 160
SEEDS = few(range(40, 80), 3)


def states(seed: int, recorded: Callable[[physics.Scene], object] | None = None) -> list[bytes]:
    """Return the states that a script comes by, all its inputs and resets being random.

    ``recorded``: is called with the scene after some steps.
    """
    scene = physics.create_scene(f"Random {seed}", random_model(seed).xml)
    random = np.random.default_rng(seed)
    seen = []
    row = np.empty(mujoco.mj_stateSize(scene.model, FULL))
    for k in range(STEPS):
        if k == 5 and recorded is not None:
            recorded(scene)
        match random.integers(40):
            case 0:
                scene.reset()
            case 1:
                mujoco.mj_resetData(scene.model, scene.data)
            case 2 if scene.model.nv:
                scene.data.qvel[:] += random.normal(0.0, 1e-3, scene.model.nv)
            case _:
                disturb(scene.model, scene.data, random, gently=bool(seed % 2))
        scene.step(nstep=int(random.integers(1, 4)) if random.integers(10) == 0 else 1)
        mujoco.mj_getState(scene.model, scene.data, row, FULL)
        seen.append(row.tobytes())
    is_fine = scene.last_stop is None
    scene.destroy()
    return seen if is_fine else [*seen, b"stopped"]


@contextlib.contextmanager
def _attached(host: Host) -> Iterator[None]:
    host.attach(PlaybackMode.FAST_FORWARD)
    try:
        yield
    finally:
        host.detach("the test is over")


@pytest.mark.parametrize("seed", SEEDS)
def test_a_run_is_the_same_recorded_or_not(seed: int, tmp_path: Path, host: Host) -> None:
    def into(name: str, **wanted: object) -> Callable[[physics.Scene], object]:
        file = physics.TrajectoryFile(tmp_path / name, **wanted)  # type: ignore[arg-type]
        return lambda scene: scene.start_recording(file)

    alone = states(seed)
    ways = {
        "exact": into("exact"),
        "minimal": into("minimal", mode="minimal"),
        "of every fifth step": into("every", every=5),
        "in blocks of seven": into("seven", chunk_size=7),
        "by a flight recorder": into("flight", keep_last=0.1, save_on_stop=True),
        "kept": lambda scene: scene.keep_history(),
    }
    for how, way in ways.items():
        found = states(seed, way)
        assert found[:STEPS] == alone[:STEPS], how
        if len(found) > STEPS:
            pytest.skip("this one stops by itself, and would be held where somebody is attached")
    with _attached(host):
        assert states(seed) == alone, "attached"
        assert states(seed, into("attached")) == alone, "attached and recorded"
