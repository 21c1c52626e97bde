"""Which states of environments a script has written into between two steps: found by looking.

A state is an array like any other, so nobody tells. What a step has left is compared with what the
next one begins with.
"""

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from stroboscope.engine.batch.environments import Environments

__all__ = ["StateEdits"]

# Of more numbers, those of some 400 humanoids, nobody looks: it takes as long as a thirtieth of
# their step.
_MOST_NUMBERS = 1 << 16


class StateEdits:
    """Edits of the states of one batch, by the axis; owner thread only."""

    def __init__(self, environments: "Environments") -> None:
        self._envs = environments
        count, inputs = environments.count, environments.layout.inputs
        # What the script gives to a step is none of the state that the one before has left.
        self._columns = slice(0, inputs.start)
        self._is_followed = count * inputs.start <= _MOST_NUMBERS
        shape = (count if self._is_followed else 0, inputs.start)
        self._after = np.zeros(shape, dtype=np.uint64)
        self._unequal = np.zeros(shape, dtype=bool)
        self._is_begun = np.zeros(count, dtype=bool)
        """Which states were replaced since the last step: what is written then is their begin."""
        self._known_at = -1
        self._found: deque[tuple[int, NDArray[np.bool_]]] = deque()

    def left(self, axis: int) -> None:
        """Note how a step has left the states; the next one is the step ``axis``."""
        if not self._is_followed:
            return
        np.copyto(self._after, self._bits())
        self._is_begun[:] = False
        self._known_at = axis

    def replaced(self, envs: NDArray[np.intp]) -> None:
        """Note that states were replaced, which is told otherwise."""
        self._is_begun[envs] = True

    def look(self, axis: int) -> bool:
        """Find what was written before the step ``axis``; return whether more was than before."""
        if self._known_at != axis:
            return False
        np.not_equal(self._bits(), self._after, out=self._unequal)
        if not self._unequal.any():
            return False
        edited = self._unequal.any(axis=1) & ~self._is_begun
        if not edited.any():
            return False
        known = self._found[-1] if self._found else (-1, edited)
        if known[0] == axis:
            self._found.pop()  # the step did not come about
        self._found.append((axis, edited))
        return known[0] < axis - 1 or not np.array_equal(known[1], edited)

    def _bits(self) -> NDArray[np.uint64]:
        bits: NDArray[np.uint64] = self._envs.state.view(np.uint64)[:, self._columns]
        return bits

    @property
    def nbytes(self) -> int:
        """Bytes of what is compared."""
        return self._after.nbytes + self._unequal.nbytes

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
