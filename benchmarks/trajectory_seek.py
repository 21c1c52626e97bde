"""Row 6 as a script has it: load_trajectory() of a million frames, seek() with the scene in place.

Beside it the file's reader alone, which `trajectory_file.py` compares with the `mcap` package's:
what is left is the frame's arrays, `mj_setState` and the scene's counters; and `mj_forward`, which
shows what a frame has computed.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
from harness import Measured, Row, Settings, interleave, ratio, run_alone
from long_recording import LongRun, write_long_run
from subjects import humanoid_path
from trajectory_file import arm_model

from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.trajectory.trajectory import load_trajectory


def measure(settings: Settings) -> list[Row]:
    """Measure an arm and a humanoid."""
    million, shorter = settings.scaled(1_000_000), settings.scaled(100_000)
    humanoid = mujoco.MjModel.from_xml_path(str(humanoid_path()))
    runs = (
        LongRun(name="arm", model=arm_model(), frames=million, simulated=million // 20),
        LongRun(name="humanoid", model=humanoid, frames=shorter, simulated=shorter // 10),
    )
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for run in runs:
            path = Path(folder) / "run.mcap"
            write_long_run(path, run)
            what = f"{run.frames:,} frames, {run.name}"
            rows += [_opening(path, run.frames, what, settings), _seeking(path, what, settings)]
    return rows


def _opening(path: Path, frames: int, what: str, settings: Settings) -> Row:
    def opened() -> float:
        begin = time.perf_counter()
        with load_trajectory(path) as trajectory:
            took = time.perf_counter() - begin
            assert len(trajectory) == frames
        return 1e3 * took

    def read() -> float:
        begin = time.perf_counter()
        with TrajectoryReader(path):
            return 1e3 * (time.perf_counter() - begin)

    times = interleave({"whole": opened, "reader": read}, rounds=settings.rounds)
    measured = Measured.of(times["whole"])
    return Row(
        number="6",
        what=f"load_trajectory(), its model aside, {what}",
        measured=measured,
        unit="ms",
        target="≤ 10 ms",
        reached=measured.median <= 10.0,
        note=f"the reader alone takes {ratio(times['reader'], times['whole']).median:.2f} of that",
    )


def _seeking(path: Path, what: str, settings: Settings) -> Row:
    rng = np.random.default_rng(0)
    seeks = settings.scaled(200)
    with load_trajectory(path) as trajectory, TrajectoryReader(path) as reader:
        world, count = trajectory.scene.world, len(trajectory)

        def median_ms(look: Callable[[int], None]) -> float:
            times = []
            for frame in rng.integers(0, count, seeks).tolist():
                begin = time.perf_counter()
                look(frame)
                times.append(time.perf_counter() - begin)
            return 1e3 * float(np.median(times))

        def computed(frame: int) -> None:
            trajectory.seek(frame)
            mujoco.mj_forward(world.model, world.live())

        def decoded(frame: int) -> None:
            block, row = reader.locate(0, frame)
            assert reader.block(0, block).rows[row][0] >= 0.0

        times = interleave(
            {
                "seek": lambda: median_ms(lambda frame: trajectory.seek(frame) and None),
                "forward": lambda: median_ms(computed),
                "reader": lambda: median_ms(decoded),
            },
            rounds=settings.rounds,
        )
    measured = Measured.of(times["seek"])
    forward = Measured.of(times["forward"])
    return Row(
        number="6",
        what=f"seek() at random with the scene, p50, {what}",
        measured=measured,
        unit="ms",
        target="≤ 1 ms",
        reached=measured.median <= 1.0,
        note=f"with mj_forward {forward.median:.2f} ms; the reader alone takes "
        f"{ratio(times['reader'], times['seek']).median:.2f} of it",
    )


if __name__ == "__main__":
    run_alone(measure)
