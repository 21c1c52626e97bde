"""The stops of a scene as a table, the newest first."""

import numpy as np

from stroboscope.app.models.numbers import count_text
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.stops import reason_of, stop_message
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

_REASON = Column(
    key="reason", title="stop", kind=ColumnKind.TEXT, sample="Automatic reset", marked=True
)
_PLACE = (
    Column(
        key="step", title="step", sample="000 000", write=lambda v: count_text(int(v)), still=True
    ),
    Column(key="time", title="time", unit="s", sample="0000.000", still=True),
)
_REST = (
    Column(
        key="episode",
        title="episode",
        sample="0000",
        write=lambda v: count_text(int(v)),
        still=True,
    ),
    # Last, where it gives way: it stands in full beside the table.
    Column(key="message", title="what", kind=ColumnKind.TEXT, sample="m" * 60),
)
_ENVIRONMENT = Column(
    key="env",
    title="env",
    sample="0000",
    tip="The environment that has stopped.",
    write=lambda v: count_text(int(v)),
)


def element_of(reference: ElementRef) -> Element | None:
    """Return what can be selected, None for kinds that can't."""
    try:
        return Element(ElementKind(reference.kind), reference.index)
    except ValueError:
        return None


def _tip(stop: StopInfo) -> str:
    whose = f"environment {stop.env}" if stop.env >= 0 else ""
    return "\n".join(part for part in (whose, stop.culprit) if part)


def stops_table(stops: tuple[StopInfo, ...]) -> Table:
    """Return one row per stop; keys are their ids."""
    rows = tuple(reversed(stops))
    grave = np.array([reason_of(stop).is_grave for stop in rows], dtype=np.bool_)
    held = np.array([stop.held for stop in rows], dtype=np.bool_)
    envs = np.array([float(stop.env) for stop in rows])
    titles = [reason_of(stop).title + ("" if stop.held else " (marked)") for stop in rows]

    def numbers(name: str) -> Cells:
        return Cells(numbers=np.array([float(getattr(stop, name)) for stop in rows]))

    has_environments = bool((envs >= 0).any())
    return Table(
        columns=(_REASON, *((_ENVIRONMENT,) if has_environments else ()), *_PLACE, *_REST),
        cells={
            "reason": texts_of(titles, levels=np.where(grave & held, STOP, WARN).astype(np.int8)),
            "episode": numbers("episode"),
            "env": Cells(numbers=envs, present=envs >= 0, absent="no environments"),
            "step": numbers("step"),
            "time": numbers("time"),
            "message": texts_of([stop_message(stop) for stop in rows]),
        },
        keys=tuple(stop.stop_id for stop in rows),
        tips=[_tip(stop) for stop in rows],
    )
