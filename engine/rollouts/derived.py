"""A number of rollouts that nobody has asked for before: an expression over all their steps.

Prepared on the owner thread, computed on another one: with data of its own, and models that nobody
writes into.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.expressions import (
    ExpressionError,
    compile_expression,
    expression_channel,
)
from stroboscope.debugger_protocol.time_messages import Reduction
from stroboscope.engine.expression_channels import ExpressionScope
from stroboscope.engine.mujoco_adapter import MujocoAdapter
from stroboscope.engine.rollouts.row_channels import RowChannels
from stroboscope.engine.rollouts.stored import StoredRollout
from stroboscope.engine.rollouts.stored_rows import StoredRows
from stroboscope.engine.signal_channels import channel_table

__all__ = ["derived_numbers_of"]

_MOST_STEPS: Final = 200_000
"""Of one rollout; more are refused, because a maximum of some of them is none."""

_Reader = Callable[[int], float | None]
"""Returns the value of a step: NaN where it has none, None where its model is not known."""
_REDUCED: Final[dict[Reduction, Callable[[NDArray[np.float64]], float]]] = {
    Reduction.MAX: lambda values: float(values.max()),
    Reduction.MIN: lambda values: float(values.min()),
    Reduction.MEAN: lambda values: float(values.mean()),
    Reduction.LAST: lambda values: float(values[-1]),
}


Note = Callable[[StoredRollout, str, float], None]


def derived_numbers_of(
    rollouts: Sequence[StoredRollout],
    text: str,
    *,
    reduction: Reduction,
    name: str,
    note: Note,
    adapter: MujocoAdapter,
) -> Iterator[object]:
    """Return what computes the number of each rollout, a step at a time, and hands it to ``note``.

    Raises CommandError for an expression that is none, has several values, or does not follow from
    rows. ``name`` empty: "max time [s]".
    """
    readers: list[tuple[str, _Reader]] = []
    for rollout in rollouts:
        if rollout.steps > _MOST_STEPS:
            raise CommandError(
                f"{rollout.name!r} has {rollout.steps:,} steps, numbers of at most "
                f"{_MOST_STEPS:,} are computed"
            )
        readers.append(_prepared(rollout, text, adapter))
    return _compute(rollouts, readers, reduction, name, note)


def _prepared(rollout: StoredRollout, text: str, adapter: MujocoAdapter) -> tuple[str, _Reader]:
    """Return the expression with its unit, and what reads it from the steps of a rollout."""
    rows = StoredRows(rollout, adapter=adapter)
    rows.check_model()
    model = rows.model
    table = channel_table(model, adapter=adapter)
    scope = ExpressionScope(model, channels=table, user={}, report=_nobody, adapter=adapter)
    try:
        expression = compile_expression(text, scope.table)
    except ExpressionError as error:
        raise CommandError(str(error)) from error
    if expression.width != 1:
        raise CommandError(
            f"a number of a rollout needs one per step, {text} has {expression.width}: use "
            "max(…), sum(…), or choose one"
        )
    unit = f" [{expression.unit}]" if expression.unit else ""
    channels = RowChannels(rows, [expression_channel(text)], table=table, adapter=adapter)

    def read(step: int) -> float | None:
        # The script may have installed one since, which must not run here.
        if called := adapter.callbacks_in_the_way(model):
            raise CommandError(f"computing it would call the script's {', '.join(called)}")
        values = channels.values(step)
        return None if values is None else float(values[0])

    return f"{expression.text}{unit}", read


def _compute(
    rollouts: Sequence[StoredRollout],
    readers: Sequence[tuple[str, _Reader]],
    reduction: Reduction,
    name: str,
    note: Note,
) -> Iterator[object]:
    for rollout, (text, read) in zip(rollouts, readers, strict=True):
        title = name or f"{reduction.value} {text}"
        if title in rollout.numbers:
            continue
        values, known = np.full(len(rollout.rows), np.nan), 0
        for step in range(len(values)):
            value = read(step)
            if value is not None:
                values[step], known = value, known + 1
            yield step
        there = values[np.isfinite(values)]
        if known < len(values):
            title += f" (of {known:,} of {len(values):,} steps: of the others the model is unknown)"
        if there.size:
            note(rollout, title, _REDUCED[reduction](there))


def _nobody(text: str) -> None:
    """Tell nobody of steps without a value: they count for nothing."""
