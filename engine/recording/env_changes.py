"""What of recorded environments does not follow from their last step: found by looking.

A script writes into states and fields of a batch's models as into any array. So the states that a
step has left are compared with those that the next one begins with, and own fields likewise.
"""

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.batch.field_notes import is_beyond_files
from stroboscope.engine.model_option_fields import SAID_OF_ROWS, is_recordable

if TYPE_CHECKING:
    from stroboscope.engine.batch.environments import Environments
    from stroboscope.engine.model_fields import ModelFields

__all__ = ["EnvChanges", "base_fields", "lost_fields", "own_fields"]

Places = NDArray[np.intp]
_NONE: Final[Places] = np.empty(0, dtype=np.intp)


class EnvChanges:
    """Looks at the environments ``chosen``; owner thread only.

    ``base``: the fields of the model as the batch was made with it.
    """

    def __init__(
        self, envs: "Environments", chosen: NDArray[np.intp], *, base: "ModelFields"
    ) -> None:
        self._envs, self._chosen, self._base = envs, chosen, base
        width, inputs = envs.layout.size, envs.layout.inputs
        self._after: NDArray[np.uint64] = np.empty((len(chosen), width), dtype=np.uint64)
        self._is_known = False
        # What the script gives to a step is none of the state that the one before has left.
        self._is_state = np.ones(width, dtype=bool)
        self._is_state[inputs] = False
        self._fields: dict[str, NDArray[np.generic]] = {}

    def note(self) -> None:
        """Note how a step has left the states."""
        state = self._envs.state.view(np.uint64)
        np.take(state, self._chosen, axis=0, out=self._after, mode="clip")
        self._is_known = True

    def forget(self) -> None:
        """Forget how the last step has left the states: nobody has looked."""
        self._is_known = False

    def edited(self, rows: NDArray[np.float64]) -> Places:
        """Return which of ``rows``, (count, row), the last step has not led to."""
        if not self._is_known:
            return _NONE
        unequal = (rows.view(np.uint64) != self._after) & self._is_state
        return np.flatnonzero(unequal.any(axis=1)) if unequal.any() else _NONE

    def other_fields(self) -> dict[int, list[str]]:
        """Return which environments have fields with other values than when this was asked last.

        By place, the names of these fields.
        """
        found: dict[int, list[str]] = {}
        for name, values in self._envs.expanded.items():
            if name == SAID_OF_ROWS:
                continue
            now = values[self._chosen]
            before = self._fields.get(name)
            if before is None:
                self._fields[name] = now
                base = self._base.value(name)
                if base is None:
                    continue
                before = np.broadcast_to(base, now.shape)
            elif before.tobytes() == now.tobytes():
                continue
            else:
                self._fields[name] = now
            unequal = (now != before) & ~((now != now) & (before != before))
            for place in np.flatnonzero(unequal.reshape(len(now), -1).any(axis=1)).tolist():
                found.setdefault(place, []).append(name)
        return found


def base_fields(envs: "Environments", *, base: "ModelFields") -> dict[str, list[float]]:
    """Return what ``base`` has of the fields that environments have values of their own of."""
    made: dict[str, list[float]] = {}
    for name in envs.expanded:
        known = base.value(name)
        if known is not None and is_recordable(name, known):
            made[name] = known.reshape(-1).astype(float).tolist()
    return made


def own_fields(envs: "Environments", env: int, *, base: "ModelFields") -> dict[str, list[float]]:
    """Return the fields of an environment with other values than ``base``, flat, by name."""
    made: dict[str, list[float]] = {}
    for name, values in envs.expanded.items():
        known, own = base.value(name), np.asarray(values[env])
        if known is None or not is_recordable(name, own):
            continue
        if own.tobytes() != np.asarray(known, dtype=own.dtype).tobytes():
            made[name] = own.reshape(-1).tolist()
    return made


def lost_fields(envs: "Environments", env: int, *, base: "ModelFields") -> list[str]:
    """Return which of an environment's fields have other values than ``base`` that no file has."""
    return sorted(
        name
        for name, values in envs.expanded.items()
        if is_beyond_files(name, np.asarray(values[env]), base=base)
    )
