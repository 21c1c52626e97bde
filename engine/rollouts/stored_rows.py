"""Rows of a rollout that is kept, each with the model and the timestep that it was stepped with."""

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.engine.hidden_state import needs_hidden_state
from stroboscope.engine.mujoco_adapter import MujocoAdapter
from stroboscope.engine.rollouts.stored import StoredRollout
from stroboscope.engine.row_layout import RowLayout

__all__ = ["StoredRows"]

Row = NDArray[np.float64]


class StoredRows:
    """Reads rows of one rollout; one thread at a time."""

    def __init__(self, rollout: StoredRollout, *, adapter: MujocoAdapter) -> None:
        self._rollout = rollout
        self._adapter = adapter
        timesteps = rollout.timesteps
        model = rollout.model
        self._is_own = timesteps is not None and bool(
            (timesteps != float(model.opt.timestep)).any()
        )
        if self._is_own:
            model = copy.copy(model)
        self.model = model
        """What they are to be computed with: has the timestep of the row that was returned last."""
        self._data: Any = None
        self._layout: RowLayout | None = None
        # Then steps can't be taken again from rows alone.
        self._is_mute = (
            needs_hidden_state(model, adapter=adapter)
            or bool(adapter.callbacks_in_the_way(model))
            or adapter.has_control_callback()
        )

    def check_model(self) -> None:
        """Raise CommandError where somebody has written into the model since."""
        is_as_it_was = self._rollout.is_model_as_it_was
        if is_as_it_was is not None and not is_as_it_was():
            raise CommandError(
                f"what follows from the states of {self._rollout.name!r} can't be computed: the "
                "script has written into its model since, which is too large to be kept twice; "
                "positions, velocities and controls can be read"
            )

    def row(self, step: int) -> Row:
        """Return the row before a step, and have the model as it was then."""
        timesteps = self._rollout.timesteps
        if timesteps is not None and self._is_own:
            self.model.opt.timestep = timesteps[min(step, len(timesteps) - 1)]
        row: Row = self._rollout.rows[step]
        return row

    def known_row(self, step: int) -> Row | None:
        """Return the row before a step; None where it was stepped with another model than this."""
        return self.row(step) if self.is_known(step) else None

    def is_known(self, step: int) -> bool:
        """Return whether a step was taken with the model, as far as anything tells.

        What the script has written into its model and taken back nobody has seen; but such a step
        leads elsewhere.
        """
        rollout, adapter = self._rollout, self._adapter
        if step in rollout.unsure:
            return False
        if step >= rollout.steps_of_script or self._is_mute:
            return True
        row, after = self.row(step), rollout.rows[step + 1]
        if self._data is None or self._layout is None:
            self._data = adapter.module.MjData(self.model)
            self._layout = RowLayout(self.model, adapter=adapter)
        data, came = self._data, np.empty_like(after)
        adapter.mj_setState(self.model, data, row, adapter.integration)
        try:
            adapter.mj_step(self.model, data)
        except adapter.module.FatalError:
            self._data = None
            return False
        adapter.mj_getState(self.model, data, came, adapter.integration)
        # What goes into the step after that one stands in the row, too.
        came[self._layout.inputs] = after[self._layout.inputs]
        return bool(came.tobytes() == after.tobytes())
