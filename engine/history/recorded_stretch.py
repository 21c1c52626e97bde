"""A stretch of a scene's past as what can be simulated again."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.engine.history.past import UNKNOWN_SLEEP, VERIFIED, Past

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene

__all__ = ["RecordedStretch"]

Row = NDArray[np.float64]


class RecordedStretch:
    """A segment as something that can be simulated again; see ``rollouts.row_source.RowSource``."""

    def __init__(self, past: Past, scene: "Scene", axis: int) -> None:
        past.check(axis)
        past.settle(axis)
        later = scene.history.segments.after(past.stretch(axis))
        if later is not None and later.has_unknown_begin:  # it may begin before it ends here
            past.settle(max(axis, later.model_since), since=axis)
        self._past = past
        self._ring = scene.history.ring
        self._model = scene.world.model
        stretch = past.stretch(axis)
        self.options = past.options_of(stretch)
        self.begin = max(stretch.segment.begin, self._ring.first)
        self.end = scene.history.segments.end_of(stretch, scene.counters.axis)

    def put(self, axis: int, data: Any) -> None:
        """Put the state and the inputs before step ``axis`` into ``data``, sleep included."""
        reached, note = self._past.bring(axis)
        if reached != axis or note not in ("", VERIFIED, UNKNOWN_SLEEP):
            raise CommandError(f"row {axis} can't be had: {note}")
        self._past.copy_to(data, model=self._model)

    def row(self, axis: int) -> Row | None:
        """Return the row as it was recorded; None where it was thinned out."""
        return self._ring.row(axis) if self._ring.holds(axis) else None

    def is_recorded(self, row: Row, axis: int) -> bool:
        """Return whether a row is, to the bit, what was recorded, thinned out since or not."""
        if not self._ring.holds(axis):
            return True  # nothing tells
        stored = self._ring.row(axis)
        if stored is not None:
            return row.tobytes() == stored.tobytes()
        return self._ring.is_hash_of(row, axis)

    def inputs(self, axis: int) -> Row:
        """Return what went into step ``axis``."""
        self._past.check(axis)
        return self._ring.inputs(axis)

    def timestep(self, axis: int) -> float:
        """Return how long step ``axis`` took [s]."""
        self._past.check(axis)
        return self._ring.timestep(axis)
