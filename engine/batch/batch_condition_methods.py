"""The part of :class:`BatchScene` that is about conditions, and where they are looked at."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.engine.condition_methods import ConditionMethods, wanted_condition
from stroboscope.engine.errors import ConditionError
from stroboscope.engine.stops.conditions import Condition

if TYPE_CHECKING:
    from stroboscope.engine.batch.selected import SelectedEnvironment

__all__ = ["BatchConditionMethods"]


class BatchConditionMethods(ConditionMethods):
    """Methods of a batched scene that say when it has to stop; owner thread only."""

    selected: "SelectedEnvironment"
    _chosen: Callable[[object], NDArray[np.intp]]

    def break_when(
        self,
        expression: str,
        *,
        envs_idx: object = None,
        name: str = "",
        hits: int = 1,
        once: bool = False,
        log_only: bool = False,
    ) -> Condition:
        """Stop after the batch step in which ``expression`` becomes true in some environment.

        What speaks of time, positions, velocities, activations, controls, forces put in, results
        of a step that are arrays of MjData (``sensordata``, ``qacc``, ``xpos``, …) and margins of
        joints is looked at in every environment, or in those that ``envs_idx`` names. Everything
        else (contacts, energies, what the script logs) is looked at in the environment that is
        selected, or in those named, 64 at most: their steps are done once more for it.

        The stop names the environment, which is selected; all have completed the step. ``hits``
        counts in all of them together. The rest is as in a scene of one world.
        """
        self._guard()
        wanted = wanted_condition(expression, name=name, hits=hits, once=once, log_only=log_only)
        envs = None if envs_idx is None else self._chosen(envs_idx)
        if envs is not None and not len(envs):
            raise ValueError("envs_idx chooses no environment: a condition needs one at least")
        try:
            info = self.selected.conditions.put(wanted, envs=envs)
        except CommandError as error:
            raise ConditionError(str(error)) from None
        self.stops.tell_note(info)
        return self.stops.handle(info.condition_id, self._guard)
