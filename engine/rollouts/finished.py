"""What is left of a scene that has ended: its last rows, to look at and to compare with."""

from collections.abc import Iterator, Sequence

from stroboscope.debugger_protocol.arrays import Arrays
from stroboscope.debugger_protocol.time_machine import FinishedRun
from stroboscope.debugger_protocol.time_messages import Reduction
from stroboscope.engine.mujoco_adapter import MujocoAdapter
from stroboscope.engine.rollouts.derived import derived_numbers_of
from stroboscope.engine.rollouts.row_channels import RowChannels, thinned
from stroboscope.engine.rollouts.stored import StoredRollout
from stroboscope.engine.rollouts.stored_rows import StoredRows
from stroboscope.engine.signal_channels import channel_table

__all__ = ["FinishedScene", "read_stored"]


class FinishedScene(FinishedRun):
    """A finished scene as a rollout; read-only, any thread, one at a time."""

    def __init__(self, rollout: StoredRollout, *, adapter: MujocoAdapter) -> None:
        self.rollout = rollout
        self.info = rollout.info()
        self.nbytes = rollout.nbytes
        self._adapter = adapter

    def derive(self, expression: str, *, reduction: Reduction, name: str) -> Iterator[object]:
        """Return what computes a number, and adds it to what is told."""

        def note(rollout: StoredRollout, title: str, value: float) -> None:
            rollout.numbers[title] = value
            self.info = rollout.info()

        return derived_numbers_of(
            [self.rollout],
            expression,
            reduction=reduction,
            name=name,
            note=note,
            adapter=self._adapter,
        )

    def read_rows(
        self, channels: Sequence[str], *, first: int, last: int, max_rows: int
    ) -> Iterator[Arrays]:
        """Yield channels of the rows ``first`` to ``last`` (-1: the last one)."""
        return read_stored(
            self.rollout, channels, first=first, last=last, max_rows=max_rows, adapter=self._adapter
        )


def read_stored(
    rollout: StoredRollout,
    channels: Sequence[str],
    *,
    first: int,
    last: int,
    max_rows: int,
    adapter: MujocoAdapter,
) -> Iterator[Arrays]:
    """Yield channels of a rollout's steps ``first`` to ``last`` (-1: the last), evenly thinned.

    What rows do not hold is computed of those only whose model is known; the others are left out.
    """
    rows = StoredRows(rollout, adapter=adapter)
    table = channel_table(rows.model, adapter=adapter)
    reader = RowChannels(rows, channels, table=table, adapter=adapter)
    end = rollout.steps if last < 0 else min(last, rollout.steps)
    begin = max(0, first)
    steps = begin + thinned(max(0, end - begin + 1), max_rows)
    if not reader.evaluated:
        return reader.pieces(steps)
    rows.check_model()
    return _checked(reader.pieces(steps), rows)


def _checked(pieces: Iterator[Arrays], rows: StoredRows) -> Iterator[Arrays]:
    """Yield pieces that were computed before anybody has written into the model."""
    for piece in pieces:
        rows.check_model()
        yield piece
