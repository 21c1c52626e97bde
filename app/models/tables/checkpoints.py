"""Checkpoints as a table."""

from collections.abc import Mapping, Sequence

import numpy as np

from stroboscope.app.models.checkpoints import KeptCheckpoint, size_text
from stroboscope.app.models.numbers import count_text
from stroboscope.app.models.tables.table import (
    NORMAL,
    WARN,
    Cells,
    Column,
    ColumnKind,
    Table,
    texts_of,
    tick_cells,
)
from stroboscope.debugger_protocol.messages import CheckpointOrigin
from stroboscope.debugger_protocol.time_messages import GhostRef

__all__ = ["TICK_KEY", "checkpoints_table"]

TICK_KEY = "tick"

_BY = {CheckpointOrigin.CLIENT: "you", CheckpointOrigin.SCRIPT: "the script"}

_COLUMNS = (
    Column(key="name", title="checkpoint", kind=ColumnKind.TEXT, sample="before the grasp"),
    Column(
        key=TICK_KEY,
        title="ghost",
        kind=ColumnKind.TEXT,
        sample="ghost",
        still=True,
        tip="Click: show it in the picture.",
    ),
    Column(key="scene", title="scene", kind=ColumnKind.TEXT, sample="Rollout 17"),
    Column(
        key="by",
        title="made by",
        kind=ColumnKind.TEXT,
        still=True,
        sample="the script",
        tip="You, or the script with scene.checkpoint(name), which keeps its own.",
    ),
    Column(
        key="step", title="step", sample="000 000", write=lambda v: count_text(int(v)), still=True
    ),
    Column(key="time", title="time", unit="s", sample="0000.000", still=True),
    Column(
        key="exact",
        title="continues",
        kind=ColumnKind.TEXT,
        still=True,
        sample="approximately",
        tip="Whether the scene goes on from there bit for bit.",
    ),
    Column(
        key="size", title="size", sample="000.0 KiB", write=lambda v: size_text(int(v)), still=True
    ),
    Column(key="note", title="note", kind=ColumnKind.TEXT, sample="m" * 30),
)


def checkpoints_table(
    checkpoints: Sequence[KeptCheckpoint], ticked: Mapping[GhostRef, int]
) -> Table:
    """Return one row per checkpoint, the newest of each scene first; keys are the references."""
    rows = tuple(reversed(checkpoints))
    infos = [each.info for each in rows]
    approximate = np.array([bool(info.approximate) for info in infos], dtype=np.bool_)
    return Table(
        columns=_COLUMNS,
        cells={
            "name": texts_of([info.name for info in infos]),
            TICK_KEY: tick_cells([ticked.get(each.ref, -1) for each in rows]),
            "scene": texts_of([each.scene.name for each in rows]),
            "by": texts_of([_BY[info.origin] for info in infos]),
            "step": Cells(numbers=np.array([float(info.step_count) for info in infos])),
            "time": Cells(numbers=np.array([info.time for info in infos])),
            "exact": texts_of(
                ["approximately" if info.approximate else "exactly" for info in infos],
                levels=np.where(approximate, WARN, NORMAL).astype(np.int8),
            ),
            "size": Cells(numbers=np.array([float(info.nbytes) for info in infos])),
            "note": texts_of([info.note for info in infos]),
        },
        keys=tuple(each.ref for each in rows),
        tips=[info.approximate for info in infos],
    )
