"""Rows of a few environments, which reach further back than those of all."""

from collections import deque
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_DEEP", "DeepRows"]

MOST_DEEP = 64
"""Of so many environments rows may be kept longer: each is copied by itself, in every step."""

Rows = NDArray[np.float64]


class DeepRows:
    """The rows of the environment that is looked at and of chosen ones, up to a common axis.

    Each has as many as there were since it is one of them, and as the room allows.
    """

    def __init__(self) -> None:
        self._rows: dict[int, deque[Rows]] = {0: deque()}
        self._chosen: tuple[int, ...] = ()
        self._looked_at = 0

    def look_at(self, env: int) -> None:
        """Keep those of the environment that is looked at from now on, no longer of the last."""
        self._looked_at = env
        self._be({env, *self._chosen})

    def choose(self, envs: Iterable[int]) -> None:
        """Keep those of these environments as well, whichever is looked at."""
        self._chosen = tuple(envs)
        self._be({self._looked_at, *self._chosen})

    def _be(self, envs: set[int]) -> None:
        self._rows = {env: self._rows.get(env, deque()) for env in sorted(envs)}

    def add(self, matrix: Rows, room: int) -> None:
        """Take in the next rows, of ``matrix`` (n_envs, row); ``room``: bytes for all together."""
        most = max(1, room // (len(self._rows) * 8 * matrix.shape[1]))
        for env, rows in self._rows.items():
            rows.append(matrix[env].copy())
            while len(rows) > most:
                rows.popleft()

    def clear(self) -> None:
        """Forget all rows."""
        for rows in self._rows.values():
            rows.clear()

    def count(self, env: int) -> int:
        """Return how many rows there are of an environment."""
        return len(self._rows.get(env, ()))

    @property
    def longest(self) -> int:
        """How many rows there are of the one with most."""
        return max(map(len, self._rows.values()))

    @property
    def total(self) -> int:
        """How many rows there are of all together."""
        return sum(map(len, self._rows.values()))

    def row(self, env: int, back: int) -> Rows | None:
        """Return the row that many steps before the end, from 1; None where it is not there."""
        rows = self._rows.get(env)
        return rows[-back] if rows and 1 <= back <= len(rows) else None
