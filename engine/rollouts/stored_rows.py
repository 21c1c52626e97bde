"""Rows of a rollout that is kept, each with the model and the timestep that it was stepped with."""

import copy

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
        self._inputs = RowLayout(model, adapter=adapter).inputs
        # Then steps can't be taken again from rows alone.
        needs_more = needs_hidden_state(model, adapter=adapter)
        self._is_mute = needs_more or bool(adapter.callbacks_of_steps(model))

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

    def is_doubtful(self, step: int) -> bool:
        """Return whether a step is known to have been taken with another model."""
        return step in self._rollout.unsure

    def tells(self, step: int) -> bool:
        """Return whether where a step leads says whether it was taken with the model."""
        return step < self._rollout.steps_of_script and not self._is_mute

    def has_led_to(self, step: int, came: Row) -> bool:
        """Return whether a step has led to the state ``came``, inputs aside."""
        after = self._rollout.rows[step + 1]
        # What goes into the step after that one stands in the row, too.
        came[self._inputs] = after[self._inputs]
        return bool(came.tobytes() == after.tobytes())

    def is_known(self, step: int) -> bool:
        """Return whether a step was taken with the model, as far as anything tells.

        What the script has written into its model and taken back nobody has seen; but such a step
        leads elsewhere.
        """
        adapter = self._adapter
        if self.is_doubtful(step) or not self.tells(step):
            return not self.is_doubtful(step)
        row, data = self.row(step), adapter.module.MjData(self.model)
        adapter.mj_setState(self.model, data, row, adapter.integration)
        try:
            adapter.mj_step(self.model, data)
        except adapter.module.FatalError:
            return False
        came = np.empty_like(row)
        adapter.mj_getState(self.model, data, came, adapter.integration)
        return self.has_led_to(step, came)
