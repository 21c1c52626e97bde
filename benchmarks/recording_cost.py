"""Row 3: what recording every state exactly costs, and how many bytes a frame takes, all in.

A scene that is recorded takes turns with one that is not, nobody attached. Processor time of the
stepping thread, and steps per second by the clock, which the thread that writes takes part in. The
size is that of a closed file with scene, index and manifest; controls are random, at 50 Hz.
"""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
from harness import Measured, Row, Settings, interleave, ratio, run_alone
from subjects import humanoid_path

import stroboscope.engine as physics

_STEPS = 4_000
_FRAMES = 100_000
# 118 numbers per state: a 7-dof arm with position servos in an otherwise empty world.
_ARM = """
<mujoco>
  <option timestep="0.002" integrator="implicitfast"/>
  <worldbody>{bodies}</worldbody>
  <actuator>{servos}</actuator>
</mujoco>
"""


def _arm() -> str:
    bodies, axes = "", ("0 0 1", "0 1 0", "0 0 1", "0 1 0", "0 0 1", "0 1 0", "0 0 1")
    for number, axis in reversed(list(enumerate(axes))):
        bodies = (
            f'<body pos="0 0 {0.2 if number else 0}"><joint name="j{number}" axis="{axis}" '
            f'damping="2"/><geom type="capsule" fromto="0 0 0 0 0 .2" size=".04"/>{bodies}</body>'
        )
    servos = "".join(f'<position joint="j{k}" kp="200" kv="10"/>' for k in range(len(axes)))
    return _ARM.format(bodies=bodies, servos=servos)


def _drive(scene: physics.Scene, steps: int, *, hold: int = 10) -> None:
    random = np.random.default_rng(0)
    for k in range(steps):
        if not k % hold:
            scene.ctrl[:] = random.uniform(-1, 1, scene.model.nu)
        scene.step()


def _cost(settings: Settings, folder: Path) -> list[Row]:
    plain = physics.create_scene("plain", humanoid_path())
    recorded = physics.create_scene("recorded", humanoid_path())
    steps = settings.scaled(_STEPS)

    def arm(scene: physics.Scene, clock: Callable[[], float]) -> Callable[[], float]:
        def run() -> float:
            mujoco.mj_resetData(scene.model, scene.data)
            file = physics.TrajectoryFile(folder / "cost.mcap")
            recording = scene.start_recording(file) if scene is recorded else None
            for _ in range(10):
                scene.step()
            step, begin = scene.step, clock()
            for _ in range(steps):
                step()
            rate = steps / (clock() - begin)
            if recording is not None:
                recording.stop()
            return rate

        return run

    rows = []
    for what, clock in (
        ("processor time of the stepping thread", time.thread_time),
        ("steps/s by the clock, writing included", time.perf_counter),
    ):
        rates = interleave(
            {"plain": arm(plain, clock), "recorded": arm(recorded, clock)},
            rounds=4 * settings.rounds,
        )
        measured = ratio(rates["recorded"], rates["plain"])
        rows.append(
            Row(
                number="3",
                what=f"recording every state exactly, vs not: {what}",
                measured=measured,
                target="≥ 0.90",
                reached=measured.median >= 0.90,
                note=f"humanoid, {1e6 / max(rates['plain']):.1f} µs per step",
            )
        )
    return rows


def _sizes(settings: Settings, folder: Path) -> list[Row]:
    rows = []
    frames = settings.scaled(_FRAMES)
    for name, model, targets in (
        ("7-dof arm", _arm(), {"exact": 200.0, "minimal": 15.0}),
        ("humanoid", humanoid_path(), {}),
    ):
        for mode in ("exact", "minimal"):
            scene = physics.create_scene(name, model)
            with scene.start_recording(physics.TrajectoryFile(folder / mode, mode=mode)) as made:
                _drive(scene, frames)
            size = made.path.stat().st_size / made.frames
            limit = targets.get(mode)
            rows.append(
                Row(
                    number="5",
                    what=f"bytes per frame, {mode}, {name}, all in",
                    measured=Measured.of([size]),
                    unit="B",
                    target="" if limit is None else f"≤ {limit:.0f}",
                    reached=None if limit is None or settings.quick else size <= limit,
                    note=f"{made.frames:,} frames",
                )
            )
            scene.destroy()
    return rows


def measure(settings: Settings) -> list[Row]:
    """Record with and without, and look at the files."""
    with tempfile.TemporaryDirectory() as made:
        os.chdir(made)  # the engine may write MUJOCO_LOG.TXT
        folder = Path(made)
        rows = [*_cost(settings, folder), *_sizes(settings, folder)]
        physics.shutdown()
        os.chdir("/")
    return rows


if __name__ == "__main__":
    run_alone(measure)
