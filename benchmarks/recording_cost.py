"""Row 3: what recording every state exactly costs, and how many bytes a frame takes, all in.

A scene that is recorded takes turns with one that is not, nobody attached. Processor time of the
stepping thread, and steps per second by the clock, which the thread that writes takes part in. The
size is that of a closed file with scene, index and manifest; controls are random, at 50 Hz.

Of a batch of environments some are recorded, into a file and into the memory of a flight recorder,
and none in turn, from the same states: batch steps by the clock, and by the processor time of all
threads, where other programs don't count. Where some are recorded, all are
looked at after every step, as a stop of one of them is to be in the file.

The least that anybody who records every state could do, ``mj_getState`` into memory that is there
and a look at the speeds, takes its turn too: what that costs here, right after a step that has
filled the processor's caches, tells what the target is on this processor.
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
_ENVS = 1024
_CHOSEN = (4, 64)
_BATCH_STEPS = 40
_BATCH_WARM_UP = 4
_BEFORE = 60
# 118 numbers per state: a 7-dof arm with position servos in an otherwise empty world.
_ARM = """
<mujoco>
  <option timestep="0.002" integrator="implicitfast"/>
  <worldbody>{bodies}</worldbody>
  <actuator>{servos}</actuator>
</mujoco>
"""


def arm_xml() -> str:
    """Return an arm of seven hinges with a position servo each."""
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

    def least(clock: Callable[[], float]) -> Callable[[], float]:
        model, data, spec = plain.model, plain.data, mujoco.mjtState.mjSTATE_INTEGRATION
        states = np.zeros((_STEPS, mujoco.mj_stateSize(model, spec)))

        def run() -> float:
            mujoco.mj_resetData(model, data)
            for _ in range(10):
                plain.step()
            step, speeds, begin = plain.step, data.qvel, clock()
            for state in states[:steps]:
                mujoco.mj_getState(model, data, state, spec)
                step()
                if not mujoco.mju_norm(speeds) < 1e10:
                    raise AssertionError("the humanoid has blown up")
            return steps / (clock() - begin)

        return run

    rows = []
    for what, clock in (
        ("processor time of the stepping thread", time.thread_time),
        ("steps/s by the clock, writing included", time.perf_counter),
    ):
        rates = interleave(
            {
                "plain": arm(plain, clock),
                "recorded": arm(recorded, clock),
                "least": least(clock),
            },
            rounds=4 * settings.rounds,
        )
        measured = ratio(rates["recorded"], rates["plain"])
        possible = ratio(rates["least"], rates["plain"]).median
        rows.append(
            Row(
                number="3",
                what=f"recording every state exactly, vs not: {what}",
                measured=measured,
                target="≥ 0.90",
                reached=measured.median >= 0.90,
                note=f"humanoid, {1e6 / max(rates['plain']):.1f} µs per step; "
                f"{possible:.2f} with mj_getState and a look at the speeds alone",
            )
        )
    return rows


def _sizes(settings: Settings, folder: Path) -> list[Row]:
    rows = []
    frames = settings.scaled(_FRAMES)
    for name, model, targets in (
        ("7-dof arm", arm_xml(), {"exact": 200.0, "minimal": 15.0}),
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


def _of_batches(settings: Settings, folder: Path) -> list[Row]:
    count = settings.scaled(_ENVS)
    scene = physics.create_scene("humanoids", humanoid_path(), n_envs=count)
    for _ in range(settings.scaled(_BEFORE)):
        scene.step()  # until they lie about, in contact
    start = scene.checkpoint()

    by_processor: dict[str, list[float]] = {}

    def arm(name: str, chosen: int, keep_last: float | None) -> Callable[[], float]:
        def run() -> float:
            scene.restore(start)
            recording = None
            if chosen:
                envs = np.linspace(0, count - 1, chosen).astype(int)
                file = physics.TrajectoryFile(folder / "envs", envs=envs, keep_last=keep_last)
                recording = scene.start_recording(file)
            for _ in range(_BATCH_WARM_UP):
                scene.step()
            begin, used = time.perf_counter(), time.process_time()
            for _ in range(_BATCH_STEPS):
                scene.step()
            rate = _BATCH_STEPS / (time.perf_counter() - begin)
            used = time.process_time() - used
            by_processor.setdefault(name, []).append(_BATCH_STEPS / used)
            if recording is not None:
                recording.stop().unlink()
            return rate

        return run

    arms = {"none": arm("none", 0, None)}
    for chosen in _CHOSEN:
        for where, keep_last in (("into a file", None), ("in a flight recorder", 60.0)):
            name = f"{chosen} {where}"
            arms[name] = arm(name, chosen, keep_last)
    by_clock = interleave(arms, rounds=settings.rounds)
    used = {name: rates[-settings.rounds :] for name, rates in by_processor.items()}
    alone = sorted(by_clock["none"])[settings.rounds // 2]
    rows = []
    for name in list(arms)[1:]:
        for how, rates in (("the clock", by_clock), ("processor time", used)):
            measured = ratio(rates[name], rates["none"])
            rows.append(
                Row(
                    number="3",
                    what=f"of {count:,} environments {name}, vs none: env-steps/s by {how}",
                    measured=measured,
                    target="≥ 0.90",
                    reached=None if settings.quick else measured.median >= 0.90,
                    note=f"humanoid, {alone * count:,.0f} env-steps/s with none",
                )
            )
    scene.destroy()
    return rows


def measure(settings: Settings) -> list[Row]:
    """Record with and without, and look at the files."""
    with tempfile.TemporaryDirectory() as made:
        os.chdir(made)  # the engine may write MUJOCO_LOG.TXT
        folder = Path(made)
        rows = [
            *_cost(settings, folder),
            *_sizes(settings, folder),
            *_of_batches(settings, folder),
        ]
        physics.shutdown()
        os.chdir("/")
    return rows


if __name__ == "__main__":
    run_alone(measure)
