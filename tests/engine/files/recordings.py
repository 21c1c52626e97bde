"""Small trajectories for tests: made of numbers, of no simulation."""

from pathlib import Path

import numpy as np

from stroboscope.engine.files.frames import (
    BlockKind,
    FileEvent,
    Manifest,
    RecordMode,
    RowBlock,
    SceneRecord,
    Segment,
)
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.files.writer import TrajectoryWriter

__all__ = [
    "CLOCK",
    "block_of",
    "blocks_of",
    "frames_of",
    "manifest_of",
    "same_block",
    "write_small",
]

CLOCK = 5_000_000_000
TIMESTEP = 0.002
WIDTH = 6
# Columns 4 and 5 are inputs.
INPUTS = (4, 6)
# Half of what wall times are kept to.
WALL_TOLERANCE = {BlockKind.EXACT: 1 << 9, BlockKind.MINIMAL: 1 << 13, BlockKind.FINAL: 1 << 9}


def manifest_of(*, scenes: int = 1, mode: RecordMode = RecordMode.EXACT) -> Manifest:
    """Return the manifest of a file of so many scenes, always the same."""
    return Manifest(
        format=1,
        uuid="6f1c8f6e-0000-4000-8000-000000000001",
        stroboscope="0.1.0",
        engine="mujoco",
        engine_version="4.0.1",
        platform="test",
        created=1_700_000_000.0,
        clock=CLOCK,
        scenes=tuple(
            SceneRecord(
                index=index,
                name=f"scene {index}",
                width=WIDTH,
                columns=(Segment("time", 0, 1), Segment("qpos", 1, 3), Segment("ctrl", 4, 2)),
                inputs=INPUTS,
                model_digest="ab" * 32,
                model="model.mjb",
                timestep=TIMESTEP,
                mode=mode,
            )
            for index in range(scenes)
        ),
    )


def block_of(
    first: int, count: int, *, scene: int = 0, kind: BlockKind = BlockKind.EXACT, seed: int = 0
) -> RowBlock:
    """Return the frames ``first`` to ``first + count`` of a scene that moves smoothly."""
    axes = np.arange(first, first + count, dtype=np.int64)
    rng = np.random.default_rng([seed, scene, first])
    times = TIMESTEP * axes
    rows = np.empty((count, WIDTH))
    rows[:, 0] = times
    rows[:, 1:4] = np.sin(times[:, None] * [1.0, 2.0, 3.0] + scene)
    rows[:, 4:] = rng.uniform(-1, 1, (count, 2))
    return RowBlock(
        scene=scene,
        kind=kind,
        rows=rows,
        axes=axes,
        steps=axes // 2,
        timesteps=np.full(count, TIMESTEP),
        wall=CLOCK + 20_000 * axes + rng.integers(0, 3_000, count),
        flags=(axes == first).astype(np.uint8),
        digests=rng.integers(0, 2**64, count, dtype=np.uint64)
        if kind is BlockKind.MINIMAL
        else None,
    )


def blocks_of(count: int, rows: int = 4, *, scene: int = 0) -> list[RowBlock]:
    """Return so many blocks that follow each other."""
    return [block_of(rows * number, rows, scene=scene) for number in range(count)]


def write_small(path: Path, *, blocks: int = 3, scenes: int = 1, close: bool = True) -> Path:
    """Write a file with frames, events, signals, a message and an attachment."""
    writer = TrajectoryWriter(path, manifest_of(scenes=scenes), attachments={"model.mjb": b"model"})
    for number in range(blocks):
        for scene in range(scenes):
            block = block_of(4 * number, 4, scene=scene)
            writer.write_block(block)
            axis, wall = int(block.axes[0]), int(block.wall[0])
            event = FileEvent(kind="log", axis=axis, scene=scene, wall=wall, text="grüße")
            writer.write_events([event])
    axes = np.arange(3)
    writer.write_signals(0, "reward", axes, 0.1 * axes, np.array([1.0, np.nan, np.inf]))
    knee = np.arange(6.0).reshape(3, 2)
    writer.write_signals(0, "knee", axes, 0.1 * axes, knee, names=("q", "v"))
    writer.write_message("/tf", "json", None, b'{"a":1}', 1_700_000_000_000_000_000)
    writer.flush()
    if close:
        writer.close()
    else:
        writer.abandon()
    return path


def same_block(read: RowBlock, written: RowBlock) -> bool:
    """Return whether a block came back: every bit of it, wall times as far as they are kept."""
    rows = written.rows
    if written.kind is BlockKind.MINIMAL:
        rows = rows.copy()
        rows[1:, 1 : INPUTS[0]] = np.nan
    tolerance = WALL_TOLERANCE[written.kind]
    return bool(
        (read.scene, read.kind, read.hidden) == (written.scene, written.kind, written.hidden)
        and read.rows.tobytes() == rows.tobytes()
        and np.array_equal(read.axes, written.axes)
        and np.array_equal(read.steps, written.steps)
        and read.timesteps.tobytes() == np.asarray(written.timesteps).tobytes()
        and np.abs(read.wall - written.wall).max() <= tolerance
        and np.array_equal(read.flags, written.flags)
        and (read.digests is None) == (written.digests is None)
        and (read.digests is None or np.array_equal(read.digests, written.digests))
    )


def frames_of(reader: TrajectoryReader, scene: int = 0) -> list[RowBlock]:
    """Return all blocks of a scene."""
    return [reader.block(scene, number) for number in range(len(reader.index(scene)))]
