"""Rows of a scene's past, each with its model, for who computes what follows from them."""

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.engine.files.errors import FileDamagedError
from stroboscope.engine.hidden_state import needs_hidden_state
from stroboscope.engine.history.past import Past

if TYPE_CHECKING:
    from stroboscope.engine.history.scene_history import SceneHistory
    from stroboscope.engine.history.segments import Stretch
    from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["RowsOfPast"]

Row = NDArray[np.float64]


class RowsOfPast:
    """Reads the rows at ``axes`` (n,), in any order; owner thread only."""

    def __init__(
        self,
        past: Past,
        history: "SceneHistory",
        axes: NDArray[np.int64],
        *,
        adapter: "MujocoAdapter",
    ) -> None:
        self.axes = axes
        self._past = past
        self._ring = history.ring
        self._there: Stretch | None = None
        kept = history.models.kept()
        own, end = float(kept.opt.timestep), history.recording_end
        lived = axes[axes >= end].tolist()  # those of a file would all be read
        self._is_plain = (
            len(lived) == len(axes)
            and not any(stretch.options for stretch in history.segments.newest_first())
            and all(self._ring.timestep(axis) == own for axis in lived)
        )
        """Whether the model was never another one."""
        # A copy: rows are read in pieces, and the script may write into its own in between.
        self.model: Any = kept if self._is_plain else copy.copy(kept)
        """What they are to be computed with: is as it was at the row that was returned last."""
        # Where a row does not say what slept, steps are taken where that is known.
        self._is_whole = not needs_hidden_state(self.model, adapter=adapter)

    def row(self, axis: int) -> Row | None:
        """Return a row; None where it is lost, or can't be stepped to again: others can be read."""
        if not self._is_plain:
            self._past.settle(axis)
            stretch = self._past.stretch(axis)
            if stretch is not self._there:
                self._past.write_options(axis, self.model)
                self._there = stretch
        try:
            found = self._past.row(axis)
        except (FileDamagedError, CommandError):
            return None
        if not self._is_plain:
            self.model.opt.timestep = self._ring.timestep(axis)
        return found

    def doubt(self, axis: int) -> str:
        """Return why ``model`` isn't what it was at a row, "" where it is."""
        return self._past.doubt(axis)

    def is_doubtful(self, axis: int) -> bool:
        """Return whether that is so, as far as is known by now."""
        if self._is_said_by_rows(axis):
            return bool(self._past.known_doubt(axis))
        return bool(self._past.doubt(axis))

    def tells(self, axis: int) -> bool:
        """Return whether where the step of a row leads says more."""
        return self._is_said_by_rows(axis) and self._past.is_to_be_tried(axis)

    def _is_said_by_rows(self, axis: int) -> bool:
        """Return whether what row and model say leads to what the next row says."""
        return self._is_whole and self._past.follows_at(axis + 1)

    def has_led_to(self, axis: int, came: Row) -> bool:
        """Return whether the step of a row has led to the state ``came``, inputs aside."""
        return not self._past.tried(axis, came)
