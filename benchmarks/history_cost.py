"""Rows 9 and 10, and row 2 without a window: what history and stop checks cost, and how far back.

One thread, one process. The attached scene has nobody who subscribes, so that nothing but the step,
its row and its checks are measured; it takes turns with a bare loop on data of its own. Processor
time, not the clock's: other processes must not count.

The target of row 9 was taken from what the least that could do takes where it was written down:
``mj_getState``, the time, and the row's dot product with itself, 2.4 µs there. What these take
here, in the same run, tells what 2.5 µs are on this processor.
"""

import os
import statistics
import tempfile
import time
from collections.abc import Callable

import mujoco
import numpy as np
from harness import Measured, Row, Settings, interleave, run_alone
from subjects import humanoid_path

import stroboscope.engine as physics
from stroboscope.debugger_protocol.host.host import HostListener
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.engine.runtime import current_runtime

_BEFORE, _STEPS = 10, 100
# A block of rows is full once in a few hundred steps: means of so many rounds have it in them.
_ROUNDS_OF_A_MEAN = 20
# What the least takes where the target was written down, and the target [µs].
_LEAST, _ALLOWED = 2.4, 2.5
_HZ = 500.0
_MIB = 1 << 20


def _seconds_per_step(step: Callable[[], None]) -> float:
    begin = time.thread_time()
    for _ in range(_STEPS):
        step()
    return (time.thread_time() - begin) / _STEPS


def _arms(settings: Settings) -> dict[str, Callable[[], float]]:
    """Return what takes turns: a bare loop, a scene that remembers, one that only looks."""
    model = mujoco.MjModel.from_xml_path(str(humanoid_path()))
    data = mujoco.MjData(model)
    kept = physics.create_scene("kept", humanoid_path())
    full = physics.create_scene("full", humanoid_path())
    full.history.max_bytes = (8 if settings.quick else 64) * _MIB
    checked = physics.create_scene("checked", humanoid_path())
    checked.link.backend.time_machine().set_history(keep=False, max_bytes=None)
    for _ in range(settings.scaled(50_000)):
        full.step()  # from here on every block of rows means that old ones are thinned out

    def of(scene: physics.Scene) -> Callable[[], float]:
        def run() -> float:
            scene.reset()
            for _ in range(_BEFORE):
                scene.step()
            return _seconds_per_step(scene.step)

        return run

    def bare() -> float:
        mujoco.mj_resetData(model, data)
        for _ in range(_BEFORE):
            mujoco.mj_step(model, data)
        return _seconds_per_step(lambda: mujoco.mj_step(model, data))

    spec = mujoco.mjtState.mjSTATE_INTEGRATION
    row = np.zeros(mujoco.mj_stateSize(model, spec))
    dot = row.dot

    def step_with_the_least() -> None:
        mujoco.mj_getState(model, data, row, spec)
        mujoco.mj_step(model, data)
        if not (data.time > 0.0 and dot(row) < 1e20):
            raise AssertionError("the humanoid has blown up")

    def least() -> float:
        mujoco.mj_resetData(model, data)
        for _ in range(_BEFORE):
            mujoco.mj_step(model, data)
        return _seconds_per_step(step_with_the_least)

    return {
        "bare": bare,
        "least": least,
        "checked": of(checked),
        "kept": of(kept),
        "full": of(full),
    }


def _seconds_back(settings: Settings) -> tuple[float, float]:
    """Return how many seconds at 500 Hz fill 64 MiB with random controls: stored, and in all."""
    scene = physics.create_scene("back", humanoid_path())
    scene.history.max_bytes = 64 * _MIB
    for k in range(settings.scaled(60_000)):
        if k % 5 == 0:
            scene.ctrl[:] = 0.4 * (-1) ** (k // 5)
        scene.step()
    history = scene.link.backend.time_machine().history()
    stored = (history.live - history.dense) / _HZ
    return stored, history.rows / _HZ


def measure(settings: Settings) -> list[Row]:
    """Attach without a client, in fast forward, and let the arms take turns."""
    os.chdir(tempfile.mkdtemp())  # the engine may write MUJOCO_LOG.TXT
    physics.initialize()
    host = current_runtime().host
    host.listener = HostListener()
    host.attach(PlaybackMode.FAST_FORWARD)
    arms = _arms(settings)
    seconds = interleave(arms, rounds=40 * settings.rounds)
    dense, reached = _seconds_back(settings)
    host.detach("measured")
    physics.shutdown()

    def above(name: str) -> Measured:
        return Measured.of(
            [1e6 * (a - b) for a, b in zip(seconds[name], seconds["bare"], strict=True)]
        )

    def mean_above(name: str) -> Measured:
        differences = [1e6 * (a - b) for a, b in zip(seconds[name], seconds["bare"], strict=True)]
        return Measured.of(
            [
                statistics.fmean(differences[at : at + _ROUNDS_OF_A_MEAN])
                for at in range(0, len(differences), _ROUNDS_OF_A_MEAN)
            ]
        )

    def against_the_least(name: str) -> Measured:
        columns = (seconds[name], seconds["least"], seconds["bare"])
        return Measured.of([(a - c) / (b - c) for a, b, c in zip(*columns, strict=True)])

    def share(name: str) -> Measured:
        return Measured.of([b / a for a, b in zip(seconds[name], seconds["bare"], strict=True)])

    bare = Measured.of([1e6 * each for each in seconds["bare"]])
    note = f"humanoid, {bare.median:.1f} µs per bare step"
    rows = [
        Row(
            number="9",
            what=f"an attached step above a bare one, {what}",
            measured=above(name),
            unit="µs",
            target="≤ 2.5 of it for history and checks",
            note=note,
        )
        for name, what in (
            ("checked", "checks alone"),
            ("kept", "checks and rows, in memory that is touched for the first time"),
            ("full", "checks and rows, old ones thinned out"),
        )
    ]
    rows.append(
        Row(
            number="9",
            what="the same as a mean, which has the thinning out of every few hundredth step in it",
            measured=mean_above("full"),
            unit="µs",
            target="≤ 2.5 of it for history and checks",
            note=note,
        )
    )
    whole = against_the_least("full")
    rows.append(
        Row(
            number="9",
            what="checks and rows, old ones thinned out, against mj_getState, time and dot(row)",
            measured=whole,
            target=f"≤ {_ALLOWED / _LEAST:.2f}, as {_ALLOWED} µs are to {_LEAST}",
            reached=whole.median <= _ALLOWED / _LEAST,
            note=f"which take {above('least').median:.1f} µs",
        )
    )
    kept = share("kept")
    rows.append(
        Row(
            number="2",
            what="steps/s in fast forward with history, nobody subscribed, vs a bare loop",
            measured=kept,
            target="≥ 0.85",
            reached=kept.median >= 0.85,
            note=note,
        )
    )
    for what, value in (("every row stored", dense), ("in all, thinned out and verified", reached)):
        rows.append(
            Row(
                number="10",
                what=f"history at 500 Hz in 64 MiB, {what}",
                measured=Measured.of([value]),
                unit="s",
                target="≥ 60",
                reached=None if settings.quick or what.startswith("every") else value >= 60.0,
                note="humanoid",
            )
        )
    return rows


if __name__ == "__main__":
    run_alone(measure)
