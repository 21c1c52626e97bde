"""Rows 5 and 6: bytes per frame, opening a million frames, and seeking in them.

A seven-dof arm whose targets change twice a second, and our humanoid with noise on every actuator;
rows are what a recording keeps. Beside it the `mcap` package's own writer and reader with the same
rows, a message each, in chunks of the same size: what one would use without blocks of our own.
"""

import io
import itertools
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import xxhash
from harness import Measured, Row, Settings, interleave, ratio, run_alone
from mcap.reader import make_reader
from mcap.writer import CompressionType, Writer
from numpy.typing import NDArray
from subjects import humanoid_path

from stroboscope.engine.files.block import rows_per_block
from stroboscope.engine.files.frames import (
    BlockKind,
    Manifest,
    RecordMode,
    RowBlock,
    SceneRecord,
    Segment,
)
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.files.writer import TrajectoryWriter

_STATE = mujoco.mjtState.mjSTATE_INTEGRATION
_MILLION = 1_000_000
# So many that hardly any seek meets a block which is still decoded.
_SEEK_FRAMES = 100_000
_AXES = ("0 0 1", "0 1 0", "0 0 1", "0 1 0", "0 0 1", "0 1 0", "0 0 1")
# Targets of the arm change every so many steps.
_HELD = 250


def arm_model() -> mujoco.MjModel:
    """Return an arm of seven hinges with a position servo each."""
    links = "".join(
        f'<body pos="0 0 .2"><joint name="j{i}" axis="{axis}" damping="1"/>'
        '<geom type="capsule" fromto="0 0 0 0 0 .2" size=".04"/>'
        for i, axis in enumerate(_AXES)
    )
    servos = "".join(f'<position joint="j{i}" kp="100" kv="10"/>' for i in range(len(_AXES)))
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option integrator="implicitfast"/><worldbody>{links}{"</body>" * len(_AXES)}'
        f"</worldbody><actuator>{servos}</actuator></mujoco>"
    )


class Run:
    """Rows of a simulation, and when they were taken."""

    def __init__(self, name: str, model: mujoco.MjModel, count: int, *, held: int) -> None:
        self.name, self.count = name, count
        data = mujoco.MjData(model)
        self.width = mujoco.mj_stateSize(model, _STATE)
        self.rows: NDArray[np.float64] = np.empty((count, self.width))
        self.wall: NDArray[np.int64] = np.empty(count, dtype=np.int64)
        self.timestep = float(model.opt.timestep)
        rng = np.random.default_rng(0)
        for k in range(count):
            if k % held == 0:
                data.ctrl[:] = rng.uniform(-1, 1, model.nu)
            mujoco.mj_getState(model, data, self.rows[k], _STATE)
            self.wall[k] = time.monotonic_ns()
            mujoco.mj_step(model, data)
        # Time, positions, velocities, activations and the warm start are no inputs.
        self.inputs = (1 + model.nq + 2 * model.nv + model.na, self.width)
        self.per_block = rows_per_block(self.width)

    def manifest(self, mode: RecordMode) -> Manifest:
        """Return the manifest of a file with this run."""
        scene = SceneRecord(
            index=0,
            name=self.name,
            width=self.width,
            columns=(Segment("time", 0, 1),),
            inputs=self.inputs,
            model_digest="0" * 64,
            model="model.mjb",
            timestep=self.timestep,
            mode=mode,
        )
        return Manifest(
            format=1,
            uuid="benchmark",
            stroboscope="benchmark",
            engine="mujoco",
            engine_version=mujoco.__version__,
            platform="",
            created=time.time(),
            clock=int(self.wall[0]),
            scenes=(scene,),
        )

    def blocks(self, mode: RecordMode, frames: int) -> Iterator[RowBlock]:
        """Yield blocks of so many frames; the run begins again when it is over."""
        minimal = mode is RecordMode.MINIMAL
        kind = BlockKind.MINIMAL if minimal else BlockKind.EXACT
        rows_each = min(rows_per_block(self.width, is_minimal=minimal), self.count)
        for first in range(0, frames, rows_each):
            begin = first % (self.count - rows_each + 1)
            part = slice(begin, begin + min(rows_each, frames - first))
            rows = self.rows[part]
            axes = np.arange(first, first + len(rows), dtype=np.int64)
            digests = [xxhash.xxh3_64_intdigest(row) for row in rows] if minimal else None
            yield RowBlock(
                scene=0,
                kind=kind,
                rows=rows,
                axes=axes,
                steps=axes,
                timesteps=np.full(len(rows), self.timestep),
                wall=self.wall[part],
                flags=np.zeros(len(rows), dtype=np.uint8),
                digests=None if digests is None else np.array(digests, dtype=np.uint64),
            )

    def write(self, path: Path, mode: RecordMode, frames: int) -> float:
        """Write a file of so many frames, and return the processor's time per frame [µs]."""
        with TrajectoryWriter(path, self.manifest(mode), attachments={}) as writer:
            blocks = list(self.blocks(mode, min(frames, self.count)))
            begin = time.thread_time()
            for block in blocks:
                writer.write_block(block)
            took = time.thread_time() - begin
            for block in itertools.islice(self.blocks(mode, frames), len(blocks), None):
                writer.write_block(block)
        return 1e6 * took / min(frames, self.count)

    def write_with_mcap(self, path: Path, frames: int) -> float:
        """Write the same rows as messages with the mcap package; return the time per frame [µs]."""
        with path.open("wb") as file:
            writer = Writer(
                file,
                chunk_size=8 * self.width * self.per_block,
                compression=CompressionType.ZSTD,
                enable_crcs=True,
            )
            writer.start()
            channel = writer.register_channel("/state", "raw", 0)
            begin = time.thread_time()
            for k in range(frames):
                row = self.rows[k % self.count]
                stamp = int(self.wall[0]) + 20_000 * k
                writer.add_message(channel, stamp, row.tobytes(), stamp, k)
            writer.finish()
            took = time.thread_time() - begin
        return 1e6 * took / frames


def measure(settings: Settings) -> list[Row]:
    """Write, open and seek, ours and mcap's in turn."""
    os.chdir(tempfile.mkdtemp())  # the engine may write MUJOCO_LOG.TXT
    count = settings.scaled(20_480)
    humanoid = mujoco.MjModel.from_xml_path(str(humanoid_path()))
    arm = Run("arm", arm_model(), count, held=_HELD)
    runs = [arm, Run("humanoid", humanoid, count, held=1)]
    noisy = Run("arm with noise on every servo", arm_model(), count, held=1)
    with tempfile.TemporaryDirectory() as folder:
        rows = [row for run in (*runs, noisy) for row in _sizes(run, Path(folder), settings)]
        rows += _opening(arm, Path(folder), settings)
        for run in runs:
            rows += _seeking(run, Path(folder), settings)
    return rows


def _sizes(run: Run, folder: Path, settings: Settings) -> list[Row]:
    """Measure bytes per frame, all in, and what writing takes."""
    ours, theirs = folder / "ours.mcap", folder / "theirs.mcap"
    times = interleave(
        {
            "exact": lambda: run.write(ours, RecordMode.EXACT, run.count),
            "minimal": lambda: run.write(folder / "minimal.mcap", RecordMode.MINIMAL, run.count),
            "mcap": lambda: run.write_with_mcap(theirs, run.count),
        },
        rounds=settings.rounds,
    )
    targets = {"exact": 200, "minimal": 15} if run.name == "arm" else {}
    rows = []
    for mode, path in (("exact", ours), ("minimal", folder / "minimal.mcap")):
        size = path.stat().st_size / run.count
        rows.append(
            Row(
                number="5",
                what=f"bytes per {mode} frame, {run.name} ({run.width} numbers)",
                measured=Measured.of([size]),
                unit="B",
                target=f"≤ {targets[mode]} B" if targets else "",
                reached=size <= targets[mode] if targets else None,
                note=f"mcap's own {theirs.stat().st_size / run.count:.0f} B",
            )
        )
    rows.append(
        Row(
            number="5",
            what=f"writer thread per exact frame, {run.name}",
            measured=Measured.of(times["exact"]),
            unit="µs",
            note=f"mcap's own takes {ratio(times['mcap'], times['exact']).median:.1f} times that",
        )
    )
    return rows


def _opening(run: Run, folder: Path, settings: Settings) -> list[Row]:
    """Measure opening a million frames."""
    frames = settings.scaled(_MILLION)
    ours, theirs = folder / "million.mcap", folder / "million_theirs.mcap"
    run.write(ours, RecordMode.EXACT, frames)
    run.write_with_mcap(theirs, frames)
    cut_off = folder / "cut_off.mcap"
    cut_off.write_bytes(ours.read_bytes()[:-1000])

    def open_ours(path: Path) -> float:
        begin = time.perf_counter()
        with TrajectoryReader(path) as reader:
            assert reader.frame_count(0) == frames
        return 1e3 * (time.perf_counter() - begin)

    def open_theirs() -> float:
        begin = time.perf_counter()
        with theirs.open("rb") as file:
            make_reader(file, validate_crcs=True).get_summary()
        return 1e3 * (time.perf_counter() - begin)

    times = interleave(
        {
            "ours": lambda: open_ours(ours),
            "cut off": lambda: open_ours(cut_off),
            "mcap": open_theirs,
        },
        rounds=settings.rounds,
    )
    opened = Measured.of(times["ours"])
    theirs_took = ratio(times["mcap"], times["ours"]).median
    return [
        Row(
            number="6",
            what=f"open a trajectory of {frames:,} frames, {run.name}",
            measured=opened,
            unit="ms",
            target="≤ 10 ms",
            reached=opened.median <= 10.0,
            note=f"mcap's own takes {theirs_took:.1f} times that",
        ),
        Row(
            number="6",
            what="open it when it was cut off",
            measured=Measured.of(times["cut off"]),
            unit="ms",
            note="mcap's own can't",
        ),
    ]


def _seeking(run: Run, folder: Path, settings: Settings) -> list[Row]:
    """Measure going to frames at random, decoding and checksums included."""
    ours, theirs = folder / "ours.mcap", folder / "theirs.mcap"
    frames = settings.scaled(_SEEK_FRAMES)
    run.write(ours, RecordMode.EXACT, frames)
    run.write_with_mcap(theirs, frames)
    rng = np.random.default_rng(0)
    seeks = settings.scaled(200)

    def median_ms(look: Callable[[int], Any]) -> float:
        times = []
        for frame in rng.integers(0, frames, seeks).tolist():
            begin = time.perf_counter()
            row = look(frame)
            times.append(time.perf_counter() - begin)
            assert len(row) == run.width
        return 1e3 * float(np.median(times))

    def seek_ours() -> float:
        with TrajectoryReader(ours) as reader:

            def look(frame: int) -> Any:
                block, row = reader.locate(0, frame)
                return reader.block(0, block).rows[row]

            return median_ms(look)

    content = theirs.read_bytes()

    def seek_theirs() -> float:
        reader = make_reader(io.BytesIO(content), validate_crcs=True)
        reader.get_summary()

        def look(frame: int) -> Any:
            stamp = int(run.wall[0]) + 20_000 * frame
            _, _, message = next(iter(reader.iter_messages(starting_at=stamp)))
            return np.frombuffer(message.data)

        return median_ms(look)

    times = interleave({"ours": seek_ours, "mcap": seek_theirs}, rounds=settings.rounds)
    measured = Measured.of(times["ours"])
    return [
        Row(
            number="6",
            what=f"random seek, p50, {run.name}",
            measured=measured,
            unit="ms",
            target="≤ 1 ms",
            reached=measured.median <= 1.0,
            note=f"mcap's own takes {ratio(times['mcap'], times['ours']).median:.1f} times that",
        )
    ]


if __name__ == "__main__":
    run_alone(measure)
