"""Candidates from one checkpoint: our rollouts, MuJoCo's own, and the loop that one would write."""

import os
import tempfile
import time

import mujoco
import mujoco.rollout
import numpy as np
from harness import Row, Settings, interleave, ratio, run_alone
from subjects import humanoid_path

import stroboscope.engine as physics

_FULL = int(mujoco.mjtState.mjSTATE_INTEGRATION)
_CANDIDATES = 32


def measure(settings: Settings) -> list[Row]:
    """Run the same 32 candidates in every arm; wall time, since what is measured has threads."""
    os.chdir(tempfile.mkdtemp())  # the engine may write MUJOCO_LOG.TXT
    scene = physics.create_scene("humanoid", humanoid_path())
    for _ in range(100):
        scene.step()
    checkpoint = scene.checkpoint()
    model = scene.model
    steps = settings.scaled(100)
    controls = np.random.default_rng(0).uniform(-1.0, 1.0, (_CANDIDATES, steps, model.nu))
    cores = os.cpu_count() or 1
    row = np.array(checkpoint.row)

    def loop() -> None:
        data = mujoco.MjData(model)
        rows = np.empty((_CANDIDATES, steps + 1, row.size))
        for candidate in range(_CANDIDATES):
            mujoco.mj_setState(model, data, row, _FULL)
            for step in range(steps):
                data.ctrl[:] = controls[candidate, step]
                mujoco.mj_getState(model, data, rows[candidate, step], _FULL)
                mujoco.mj_step(model, data)
            mujoco.mj_getState(model, data, rows[candidate, steps], _FULL)

    begin = mujoco.MjData(model)
    mujoco.mj_setState(model, begin, row, _FULL)
    physics_row = np.empty(mujoco.mj_stateSize(model, int(mujoco.mjtState.mjSTATE_FULLPHYSICS)))
    mujoco.mj_getState(model, begin, physics_row, int(mujoco.mjtState.mjSTATE_FULLPHYSICS))

    def peer() -> None:
        datas = [mujoco.MjData(model) for _ in range(cores)]
        mujoco.rollout.rollout(
            model, datas, physics_row, controls, initial_warmstart=begin.qacc_warmstart
        )

    arms = {
        "loop": loop,
        "mujoco.rollout": peer,
        "one thread": lambda: physics.rollout(checkpoint, controls, threads=1),
        "all threads": lambda: physics.rollout(checkpoint, controls, threads=cores),
    }

    def timed(name: str) -> float:
        start = time.perf_counter()
        arms[name]()
        return _CANDIDATES * steps / (time.perf_counter() - start)

    rates = interleave(
        {name: lambda name=name: timed(name) for name in arms},  # type: ignore[misc]
        rounds=settings.rounds,
    )
    what = f"{_CANDIDATES} × {steps} humanoid steps"
    rows = []
    for name, below, target in (
        ("one thread", "loop", 0.97),
        ("all threads", "loop", None),
        ("all threads", "mujoco.rollout", 0.9),
    ):
        measured = ratio(rates[name], rates[below])
        rows.append(
            Row(
                number="-",
                what=f"rollout, {name}, vs {below}: {what}",
                measured=measured,
                target=f"≥ {target}" if target else "",
                reached=measured.median >= target if target else None,
                note=f"{cores} cores" if name == "all threads" else "",
            )
        )
    physics.shutdown()
    return rows


if __name__ == "__main__":
    run_alone(measure)
