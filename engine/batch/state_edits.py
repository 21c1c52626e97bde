"""Which states of environments a script has written into between two steps: found by looking.

A state is an array like any other, so nobody tells. A checksum of each, as a step has left it, is
compared with that of the state which the next one begins with: less than another copy of them all.
"""

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from stroboscope.engine.batch.environments import Environments

__all__ = ["StateEdits"]

# Odd, so that each bit of a number counts; others for each column, so that two can't be swapped.
_FACTOR: Final = 0x9E3779B97F4A7C15
_MASK: Final = (1 << 64) - 1


class StateEdits:
    """Edits of the states of one batch, by the axis; owner thread only."""

    def __init__(self, environments: "Environments") -> None:
        self._envs = environments
        count, inputs = environments.count, environments.layout.inputs
        # What the script gives to a step is none of the state that the one before has left.
        self._columns = slice(0, inputs.start)
        factors = [(_FACTOR * (2 * at + 1)) & _MASK for at in range(inputs.start)]
        self._factors = np.array(factors, dtype=np.uint64)
        self._after = np.zeros(count, dtype=np.uint64)
        self._now = np.zeros(count, dtype=np.uint64)
        self._unequal = np.zeros(count, dtype=bool)
        self._is_begun = np.zeros(count, dtype=bool)
        """Which states were replaced since the last step: what is written then is their begin."""
        self._known_at = -1
        self._found: deque[tuple[int, NDArray[np.bool_]]] = deque()

    def left(self, axis: int) -> None:
        """Note how a step has left the states; the next one is the step ``axis``."""
        self._sum_up(self._after)
        self._is_begun[:] = False
        self._known_at = axis

    def replaced(self, envs: NDArray[np.intp]) -> None:
        """Note that states were replaced, which is told otherwise."""
        self._is_begun[envs] = True

    def look(self, axis: int) -> bool:
        """Find what was written before the step ``axis``; return whether more was than before."""
        if self._known_at != axis:
            return False
        self._sum_up(self._now)
        np.not_equal(self._now, self._after, out=self._unequal)
        if not self._unequal.any():
            return False
        edited = self._unequal & ~self._is_begun
        if not edited.any():
            return False
        known = self._found[-1] if self._found else (-1, edited)
        if known[0] == axis:
            self._found.pop()  # the step did not come about
        self._found.append((axis, edited))
        return known[0] < axis - 1 or not np.array_equal(known[1], edited)

    def _sum_up(self, into: NDArray[np.uint64]) -> None:
        bits = self._envs.state.view(np.uint64)[:, self._columns]
        np.matmul(bits, self._factors, out=into)

    def forget_before(self, axis: int) -> None:
        """Let go of what was written before ``axis``."""
        while self._found and self._found[0][0] < axis:
            self._found.popleft()

    def clear(self) -> None:
        """Forget everything."""
        self._found.clear()
        self._known_at = -1

    def of(self, env: int) -> Iterator[int]:
        """Go through the steps before which the state of an environment was written into."""
        return (axis for axis, edited in self._found if edited[env])

    def begins_of(self, env: int) -> Iterator[int]:
        """The same, but of several in a row only the first: a script may set every state."""
        last = -2
        for axis in self.of(env):
            if axis > last + 1:
                yield axis
            last = axis
