"""Rollouts as a table: what became of each, and every number that is known of them."""

import re
import textwrap
from collections.abc import Mapping, Sequence

import numpy as np

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
from stroboscope.app.models.telling import telling_names
from stroboscope.debugger_protocol.time_messages import GhostRef, RolloutInfo

__all__ = ["TICK_KEY", "rollouts_table"]

TICK_KEY = "tick"
_TIP_LETTERS = 100
_UNIT = re.compile(r"^(.*) \[([^\]]+)\]$")


def _count(value: float) -> str:
    return count_text(int(value))


_COLUMNS = (
    Column(
        key="name", title="rollout", kind=ColumnKind.TEXT, sample="half the timestep, from 1234"
    ),
    Column(
        key=TICK_KEY,
        title="ghost",
        kind=ColumnKind.TEXT,
        sample="ghost",
        still=True,
        tip="Click: show it in the picture and the plots. Two of them are compared.",
    ),
    Column(key="outcome", title="outcome", kind=ColumnKind.TEXT, sample="stopped: not a number"),
    Column(
        key="event",
        title="first event",
        sample="000 000",
        write=_count,
        still=True,
        tip="The step of the first stop, warning or other event.",
    ),
    Column(key="steps", title="steps", sample="000 000", write=_count, still=True),
    Column(key="time", title="time", unit="s", sample="0000.000", still=True),
    Column(key="group", title="group", kind=ColumnKind.TEXT, sample="candidates 12"),
    Column(key="from", title="from step", sample="000 000", write=_count, extra=True),
    Column(key="timestep", title="timestep", unit="s", decimals=5, sample="0.00000", extra=True),
    Column(
        key="edits",
        title="edits",
        kind=ColumnKind.TEXT,
        sample="timestep = 0.001",
        extra=True,
    ),
)

# Of scenes with many worlds only.
_ENVIRONMENT = Column(
    key="env",
    title="environment",
    sample="0 000",
    write=_count,
    still=True,
    tip="The environment that was simulated again.",
)


def rollouts_table(
    rollouts: Sequence[tuple[GhostRef, RolloutInfo]], ticked: Mapping[GhostRef, int]
) -> Table:
    """Return one row per rollout, the newest first; keys are the references."""
    rows = tuple(reversed(rollouts))
    infos = [info for _, info in rows]
    names = tuple(dict.fromkeys(name for info in infos for name, _ in info.numbers))
    titles = [info.name or f"rollout {info.rollout_id}" for info in infos]
    count = len(rows)
    went_wrong = np.array([info.outcome != "ended" for info in infos], dtype=np.bool_)
    events = np.array([float(info.event_step) for info in infos])
    begins = np.array([float(info.from_axis) for info in infos])

    def numbers(field: str) -> Cells:
        return Cells(numbers=np.array([float(getattr(info, field)) for info in infos]))

    cells = {
        "name": Cells(texts=titles, shorter=telling_names(titles)),
        TICK_KEY: tick_cells([ticked.get(ref, -1) for ref, _ in rows]),
        "outcome": texts_of(
            [info.outcome for info in infos],
            levels=np.where(went_wrong, WARN, NORMAL).astype(np.int8),
        ),
        "event": Cells(numbers=events, present=events >= 0, absent="no event"),
        "steps": numbers("steps"),
        "time": numbers("time"),
        "group": texts_of([info.group for info in infos]),
        "from": Cells(numbers=begins, present=begins >= 0, absent="not from the history"),
        "timestep": numbers("timestep"),
        "edits": texts_of(["; ".join(info.edits) for info in infos]),
    }
    columns = list(_COLUMNS)
    envs = np.array([float(info.env) for info in infos])
    if np.any(envs >= 0):
        columns.append(_ENVIRONMENT)
        cells["env"] = Cells(numbers=envs, present=envs >= 0, absent="of no environment")
    for name in names:
        found = _UNIT.match(name)
        title, unit = (found[1], found[2]) if found else (name, "")
        values = np.full(count, np.nan)
        present = np.zeros(count, dtype=np.bool_)
        for row, info in enumerate(infos):
            value = dict(info.numbers).get(name)
            if value is not None:
                values[row], present[row] = value, True
        key = f"number {name}"
        columns.append(Column(key=key, title=title, unit=unit, sample="−00 000.000"))
        cells[key] = Cells(numbers=values, present=present, absent="not known of this one")
    return Table(
        columns=tuple(columns),
        cells=cells,
        keys=tuple(ref for ref, _ in rows),
        tips=[_tip(info) for info in infos],
    )


def _tip(info: RolloutInfo) -> str:
    lines = [f"changed: {edit}" for edit in info.edits]
    if info.reproducible:
        lines.append(f"Not reproducible: {info.reproducible}")
    # A tooltip breaks no lines by itself, and a hand has twenty servos.
    return "\n".join(textwrap.fill(line, _TIP_LETTERS, subsequent_indent="    ") for line in lines)
