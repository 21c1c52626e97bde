"""Runs of plain MuJoCo, written into files: what trajectories are compared with."""

import dataclasses
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

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
from stroboscope.engine.model_digest import model_digest
from stroboscope.engine.mujoco_adapter import load_mujoco
from stroboscope.engine.row_layout import RowLayout

__all__ = ["PlainRun", "record_plain"]

FULL = mujoco.mjtState.mjSTATE_INTEGRATION


@dataclasses.dataclass
class PlainRun:
    """What plain MuJoCo did: rows before each step and the last state, (n + 1, width)."""

    model: Any
    rows: NDArray[np.float64]
    resets: list[int]
    path: Path

    def after(self, frame: int, steps: int) -> NDArray[np.float64]:
        """Return the state that plain MuJoCo reaches from a frame with the inputs held."""
        data = mujoco.MjData(self.model)
        mujoco.mj_setState(self.model, data, self.rows[frame], FULL)
        for _ in range(steps):
            mujoco.mj_step(self.model, data)
        return state_of(self.model, data)


def state_of(model: Any, data: Any) -> NDArray[np.float64]:
    """Return the integration state."""
    row = np.empty(mujoco.mj_stateSize(model, FULL))
    mujoco.mj_getState(model, data, row, FULL)
    return row


def record_plain(
    path: Path,
    model: Any,
    *,
    steps: int,
    control: Callable[[int, Any], None],
    mode: RecordMode = RecordMode.EXACT,
    resets: tuple[int, ...] = (),
    block_rows: int = 16,
    first_axis: int = 0,
    close: bool = True,
    reward: Callable[[NDArray[np.int64]], NDArray[np.float64]] | None = None,
    tamper: Callable[[NDArray[np.float64]], None] = lambda rows: None,
    more_events: Sequence[FileEvent] = (),
) -> PlainRun:
    """Step ``model`` and write what happened. ``resets``: steps before which the data is reset.

    ``reward``: what the script has logged at each step. ``tamper`` may change rows before they
    are written. ``more_events``: beside the beginning and the resets.
    """
    data = mujoco.MjData(model)
    rows = []
    for step in range(steps):
        if step in resets:
            mujoco.mj_resetData(model, data)
        control(step, data)
        rows.append(state_of(model, data))
        mujoco.mj_step(model, data)
    rows.append(state_of(model, data))
    run = PlainRun(model, np.array(rows), list(resets), path)
    written = run.rows.copy()
    tamper(written)
    adapter = load_mujoco()
    layout = RowLayout(model, adapter=adapter)
    content = np.empty(mujoco.mj_sizeModel(model), dtype=np.uint8)
    mujoco.mj_saveModel(model, None, content)
    record = SceneRecord(
        index=0,
        name="Plain",
        width=layout.size,
        columns=tuple(Segment(n, p.start, p.stop - p.start) for n, p in layout.parts.items()),
        inputs=(layout.inputs.start, layout.inputs.stop),
        model_digest=model_digest(model, adapter=adapter).hex(),
        model="stroboscope/model.mjb",
        timestep=float(model.opt.timestep),
        mode=mode,
    )
    manifest = Manifest(
        format=1,
        uuid="00000000-0000-4000-8000-000000000000",
        stroboscope="0.1.0",
        engine="mujoco",
        engine_version=mujoco.__version__,
        platform="test",
        created=time.time(),
        scenes=(record,),
        clock=0,
    )
    attachments = {record.model: content.tobytes()}
    writer = TrajectoryWriter(path, manifest, attachments=attachments)
    begins = sorted({0, *resets, *range(0, steps, block_rows), steps})
    for begin, end in zip(begins, [*begins[1:], steps + 1], strict=True):
        kind = BlockKind.EXACT if mode is RecordMode.EXACT else BlockKind.MINIMAL
        part = written[begin:end]
        axes = first_axis + np.arange(begin, end, dtype=np.int64)
        digests = np.array([xxh3_64_intdigest(row.tobytes()) for row in part], dtype=np.uint64)
        writer.write_block(
            RowBlock(
                scene=0,
                kind=BlockKind.FINAL if begin == steps else kind,
                rows=part,
                axes=axes,
                steps=axes.copy(),
                timesteps=np.full(len(axes), float(model.opt.timestep)),
                wall=axes * 2_000_000,
                flags=np.isin(np.arange(begin, end), [0, *resets]).astype(np.uint8),
                digests=digests if kind is BlockKind.MINIMAL and begin < steps else None,
            )
        )
    events = [FileEvent(kind="begin", axis=first_axis, total_steps=first_axis)]
    events += [
        FileEvent(
            kind="episode",
            axis=first_axis + step,
            episode=number + 1,
            total_steps=first_axis + step,
            text="reset",
        )
        for number, step in enumerate(resets)
    ]
    writer.write_events([*events, *more_events])
    if reward is not None:
        steps_taken = np.arange(steps)
        writer.write_signals(
            0, "reward", first_axis + steps_taken, run.rows[:-1, 0], np.array(reward(steps_taken))
        )
    if close:
        writer.close()
    else:
        writer.abandon()
    return run
