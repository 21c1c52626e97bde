"""The stops of a scene as a table, the newest first."""

import numpy as np

from stroboscope.app.models.numbers import count_text
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.stops import REASONS
from stroboscope.app.models.tables.table import (
    STOP,
    WARN,
    Cells,
    Column,
    ColumnKind,
    Table,
    texts_of,
)
from stroboscope.debugger_protocol.edit_messages import ElementRef
from stroboscope.debugger_protocol.time_messages import StopInfo

__all__ = ["element_of", "stops_table"]

_COLUMNS = (
    Column(key="reason", title="stop", kind=ColumnKind.TEXT, sample="Automatic reset", marked=True),
    Column(key="step", title="step", sample="000 000", write=lambda v: count_text(int(v))),
    Column(key="time", title="time", unit="s", sample="0000.000"),
    Column(key="message", title="what", kind=ColumnKind.TEXT, sample="m" * 60),
    Column(key="episode", title="episode", sample="0000", write=lambda v: count_text(int(v))),
    Column(
        key="env",
        title="environment",
        sample="0000",
        write=lambda v: count_text(int(v)),
        extra=True,
    ),
)


def element_of(reference: ElementRef) -> Element | None:
    """Return what can be selected, None for kinds that can't."""
    try:
        return Element(ElementKind(reference.kind), reference.index)
    except ValueError:
        return None


def stops_table(stops: tuple[StopInfo, ...]) -> Table:
    """Return one row per stop; keys are their ids."""
    rows = tuple(reversed(stops))
    grave = np.array([REASONS[stop.reason].is_grave for stop in rows], dtype=np.bool_)
    held = np.array([stop.held for stop in rows], dtype=np.bool_)
    envs = np.array([float(stop.env) for stop in rows])
    titles = [REASONS[stop.reason].title + ("" if stop.held else " (marked)") for stop in rows]

    def numbers(name: str) -> Cells:
        return Cells(numbers=np.array([float(getattr(stop, name)) for stop in rows]))

    return Table(
        columns=_COLUMNS,
        cells={
            "reason": texts_of(titles, levels=np.where(grave & held, STOP, WARN).astype(np.int8)),
            "episode": numbers("episode"),
            "env": Cells(numbers=envs, present=envs >= 0, absent="no environments"),
            "step": numbers("step"),
            "time": numbers("time"),
            "message": texts_of([stop.message for stop in rows]),
        },
        keys=tuple(stop.stop_id for stop in rows),
        tips=[stop.culprit for stop in rows],
    )
