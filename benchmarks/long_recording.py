"""Long recorded runs that carry their model, written straight away: what `replay` opens."""

import dataclasses
import time
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import zstandard
from xxhash import xxh3_64_intdigest

from stroboscope.engine.files.block import rows_per_block
from stroboscope.engine.files.frames import (
    BlockKind,
    FileEvent,
    Manifest,
    RecordMode,
    RowBlock,
    SceneRecord,
    Segment,
)
from stroboscope.engine.files.writer import TrajectoryWriter
from stroboscope.engine.mjb import mjb_of
from stroboscope.engine.model_digest import model_digest
from stroboscope.engine.mujoco_adapter import load_mujoco
from stroboscope.engine.row_layout import RowLayout

__all__ = ["LongRun", "write_long_run"]

_STATE = mujoco.mjtState.mjSTATE_INTEGRATION
# Controls change every so many steps.
_HELD = 250


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LongRun:
    """What to write: so many ``frames``, the state after the last step among them.

    ``simulated``: so many are really simulated, and come again with later times; what is
    re-simulated must be simulated whole (0: all). ``episodes``: how often the run begins anew,
    evenly. ``every``: physics steps between two frames.
    """

    name: str
    model: mujoco.MjModel
    frames: int
    simulated: int = 0
    mode: RecordMode = RecordMode.EXACT
    every: int = 1
    episodes: int = 1


def write_long_run(path: Path, run: LongRun) -> None:
    """Write a run as a recording does, as fast as it goes."""
    model, adapter = run.model, load_mujoco()
    layout = RowLayout(model, adapter=adapter)
    content = bytes(mjb_of(model, adapter=adapter))
    record = SceneRecord(
        index=0,
        name=run.name,
        width=layout.size,
        columns=tuple(Segment(n, p.start, p.stop - p.start) for n, p in layout.parts.items()),
        inputs=(layout.inputs.start, layout.inputs.stop),
        model_digest=model_digest(model, adapter=adapter).hex(),
        model="stroboscope/model.mjb.zst",
        timestep=float(model.opt.timestep),
        every=run.every,
        mode=run.mode,
    )
    manifest = Manifest(
        format=1,
        uuid="benchmark",
        stroboscope="benchmark",
        engine="mujoco",
        engine_version=mujoco.__version__,
        platform="benchmark",
        created=time.time(),
        scenes=(record,),
        clock=0,
    )
    # As a recording has it: compressed.
    attachments = {record.model: zstandard.ZstdCompressor().compress(content)}
    with TrajectoryWriter(path, manifest, attachments=attachments) as writer:
        _Rows(run, layout.size).write(writer)


class _Rows:
    """Simulates, and hands on blocks."""

    def __init__(self, run: LongRun, width: int) -> None:
        self._run = run
        self._width = width
        self._data = mujoco.MjData(run.model)
        self._rng = np.random.default_rng(0)
        simulated = min(run.simulated or run.frames, run.frames)
        self._rows = np.empty((min(simulated, run.frames), width))
        self._steps = 0
        for row in self._rows:
            self._take(row)

    def _take(self, row: Any) -> None:
        for _ in range(self._run.every):
            if self._steps % _HELD == 0:
                self._data.ctrl[:] = self._rng.uniform(-1, 1, self._run.model.nu)
            mujoco.mj_getState(self._run.model, self._data, row, _STATE)
            mujoco.mj_step(self._run.model, self._data)
            self._steps += 1

    def write(self, writer: TrajectoryWriter) -> None:
        run = self._run
        timestep = float(run.model.opt.timestep)
        length = -(-run.frames // run.episodes)
        per_block = min(rows_per_block(self._width), length)
        events = []
        begin = 0
        while begin < run.frames:
            at = begin % length
            begins_episode = at == 0
            end = min(begin + per_block, run.frames, begin + length - at)
            if begin < run.frames - 1 < end:
                end = run.frames - 1  # the last one is a block of its own
            frames = np.arange(begin, end, dtype=np.int64)
            rows = self._rows[frames % len(self._rows)]
            if run.simulated or run.episodes > 1:
                rows[:, 0] = (frames % length) * run.every * timestep
            axes = frames * run.every
            minimal = run.mode is RecordMode.MINIMAL and end < run.frames
            kind = BlockKind.MINIMAL if minimal else BlockKind.EXACT
            digests = [xxh3_64_intdigest(row) for row in rows] if minimal else None
            writer.write_block(
                RowBlock(
                    scene=0,
                    kind=BlockKind.FINAL if end == run.frames else kind,
                    rows=rows,
                    axes=axes,
                    steps=axes,
                    timesteps=np.full(len(rows), timestep),
                    wall=axes * 20_000,
                    flags=(frames % length == 0).astype(np.uint8),
                    digests=None if digests is None else np.array(digests, dtype=np.uint64),
                )
            )
            if begins_episode:
                axis = int(axes[0])
                events.append(
                    FileEvent(
                        kind="episode" if begin else "begin",
                        axis=axis,
                        total_steps=axis,
                        episode=begin // length,
                    )
                )
            begin = end
        for first in range(0, len(events), 1000):
            writer.write_events(events[first : first + 1000])
