"""Two states or rollouts side by side: what differs most, and since when."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from stroboscope.app.models.numbers import count_text
from stroboscope.app.models.signal import Signal
from stroboscope.app.models.tables.table import Cells, Column, ColumnKind, Table, texts_of
from stroboscope.debugger_protocol.time_messages import (
    CompareStates,
    GhostRef,
    GhostSource,
    Rows,
    StatesCompared,
)

if TYPE_CHECKING:
    from stroboscope.app.models.scene import SceneModel

__all__ = ["ComparisonModel", "comparison_table", "first_steps_text"]


def _digits(value: float) -> str:
    """Write a value in five digits: how small differences are, their own column says."""
    return f"{value:.5g}".replace("-", "\u2212")


def _short(value: float) -> str:
    return f"{value:+.3g}".replace("-", "\u2212")


_NAME = Column(key="name", title="value", kind=ColumnKind.TEXT, sample="qpos left_shoulder")
_VALUES = (
    Column(key="first", title="A", sample="−1.2346e−06", write=_digits, still=True),
    Column(key="second", title="B", sample="−1.2346e−06", write=_digits, still=True),
    Column(key="difference", title="B − A", sample="−1.23e-10", write=_short, still=True),
)
_UNIT = Column(key="unit", title="unit", kind=ColumnKind.TEXT, sample="N·m·s", still=True)
_STEP = Column(
    key="step",
    title="at step",
    sample="000 000",
    still=True,
    write=lambda v: count_text(int(v)),
    tip="Where the two differ most, counted from where both begin.",
)


def comparison_table(compared: StatesCompared, *, with_steps: bool) -> Table:
    """Return one row per value, the most different first, as the engine has ranked them."""
    rows = compared.differences
    first = np.array([row.first for row in rows], dtype=np.float64)
    second = np.array([row.second for row in rows], dtype=np.float64)
    with np.errstate(invalid="ignore"):
        difference = second - first
    cells = {
        "name": texts_of([row.name for row in rows]),
        "first": Cells(numbers=first),
        "second": Cells(numbers=second),
        "difference": Cells(numbers=difference),
        "unit": texts_of([row.unit for row in rows]),
        "step": Cells(numbers=np.array([float(row.at_step) for row in rows])),
    }
    columns = (_NAME, *_VALUES, _UNIT, *((_STEP,) if with_steps else ()))
    return Table(columns=columns, cells=cells, keys=tuple(row.name for row in rows))


def first_steps_text(
    compared: StatesCompared, *, tolerance: float, with_steps: bool
) -> tuple[str, ...]:
    """Return since when the two differ, in words; then shorter texts, for narrow places."""
    if not compared.differences and compared.first_bit < 0:
        return ("No value differs: they are equal to the last bit.",)
    parts = []
    if with_steps:
        for step, what in (
            (compared.first_bit, "first other bit"),
            (compared.first_beyond, f"beyond {tolerance:g}"),
            (compared.first_contacts, "other contacts"),
        ):
            parts.append(f"{what}: {f'step {count_text(step)}' if step >= 0 else 'never'}")
    if compared.more:
        parts.append(f"+{count_text(compared.more)} more values differ")
    if compared.text:
        parts.append(compared.text)
    return tuple(" · ".join(parts[:count]) for count in range(len(parts), 0, -1))


class ComparisonModel:
    """Asks for one comparison at a time and keeps the newest answer. ``changed`` with each."""

    def __init__(self) -> None:
        self.changed: Signal[[]] = Signal()
        self.pair: tuple[GhostRef, GhostRef] | None = None
        self.labels = ("", "")
        self.tolerance = 1e-9
        self.result: StatesCompared | None = None
        self.problem = ""
        self.is_waiting = False
        self._asked = 0

    @property
    def with_steps(self) -> bool:
        """Whether both are rollouts, which differ from some step on."""
        sources = {ref.source for ref in self.pair or ()}
        return sources == {GhostSource.ROLLOUT}

    def compare(
        self,
        scene: "SceneModel",
        first: tuple[GhostRef, str],
        second: tuple[GhostRef, str],
    ) -> None:
        """Compare two things of a scene; the answer replaces that of before."""
        self.pair, self.labels = (first[0], second[0]), (first[1], second[1])
        self.result, self.problem = None, ""
        self._asked += 1
        asked = self._asked
        if scene.is_stale:
            self.problem = "The scene is not live: nothing can be compared any more."
            self.changed.emit()
            return
        self.is_waiting = True
        tolerance = self.tolerance

        def newest(take: Callable[[], None]) -> None:
            if asked == self._asked:
                take()

        def piece(message: Rows | StatesCompared) -> None:
            if isinstance(message, StatesCompared):
                newest(lambda: setattr(self, "result", message))

        def end(reason: str) -> None:
            self.is_waiting, self.problem = False, reason
            self.changed.emit()

        scene.session.send(
            lambda i: CompareStates(
                id=i,
                scene_id=scene.scene_id,
                first=first[0],
                second=second[0],
                tolerance=tolerance,
            ),
            piece=piece,
            then=lambda _id, _value: newest(lambda: end("")),
            otherwise=lambda _id, reason: newest(lambda: end(reason)),
        )
        self.changed.emit()

    def clear(self) -> None:
        """Compare nothing."""
        if self.pair is not None:
            self._asked += 1
            self.pair, self.result, self.problem = None, None, ""
            self.is_waiting = False
            self.changed.emit()
