"""Noticing that one geom has gone through another, touched or not.

Looked at in the frame of the second geom: where the first one's centre has left the box around it
on another side than it came from, it went through. That is told once the two touch no more, so that
the speed is the one with which it has come out.
"""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.engine.contacts import cross
from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["MAX_PAIRS", "Passage", "PassingWatch"]

MAX_PAIRS = 64
"""How many pairs of geoms one condition may follow."""

Array = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, slots=True)
class Passage:
    """``geom`` has gone through ``through``; ``speed`` relative to it [m/s] when it was out again.

    ``contact_steps``: in how many physics steps they touched.
    """

    geom: int
    through: int
    speed: float
    contact_steps: int


class PassingWatch:
    """Follows pairs of geoms from step to step; of one thread.

    Raises CommandError for more than :data:`MAX_PAIRS`.
    """

    def __init__(
        self, model: Any, first: frozenset[int], second: frozenset[int], *, adapter: MujocoAdapter
    ) -> None:
        pairs = [(a, b) for a in sorted(first) for b in sorted(second) if a != b]
        if not 0 < len(pairs) <= MAX_PAIRS:
            raise CommandError(
                f"{len(pairs)} pairs of geoms would have to be followed, 1 … {MAX_PAIRS} can be: "
                "name geoms, not bodies with many of them"
            )
        self._model = model
        self._of, self._through = np.array(pairs, dtype=np.intp).T
        boxes = np.array(model.geom_aabb, dtype=np.float64)[self._through]
        self._centre, self._half = boxes[:, :3], boxes[:, 3:]
        planes = np.asarray(model.geom_type)[self._through] == int(
            adapter.module.mjtGeom.mjGEOM_PLANE
        )
        size = np.asarray(model.geom_size, dtype=np.float64)[self._through[planes]]
        size[:, 2] = 0.0
        size[:, :2][size[:, :2] == 0.0] = np.inf  # endless
        self._half[planes] = size
        self.newest: Passage | None = None
        """The last one that was noticed."""
        self.forget()

    def forget(self) -> None:
        """Begin anew: where things are now says nothing about where they were before."""
        count = len(self._of)
        self._outside = np.full((count, 3), np.nan)
        self._crossed = np.zeros(count, dtype=bool)
        self._contact_steps = np.zeros(count, dtype=np.int64)

    def read(self, source: Any) -> Array:
        """Return 1 when one has just come out on another side, else 0; (1,)."""
        position = self._positions(source)
        outside = (np.abs(position) > self._half).any(axis=1)
        went = outside & _crosses(self._outside, position, self._half)
        self._crossed ^= went
        self._outside[outside] = position[outside]
        touching = self._touching(source)
        self._contact_steps[touching] += 1
        out = self._crossed & outside & ~touching
        fired = np.flatnonzero(out)
        if fired.size:
            pair = int(fired[0])
            self.newest = Passage(
                int(self._of[pair]),
                int(self._through[pair]),
                self._speed(source, pair),
                int(self._contact_steps[pair]),
            )
            self._crossed[fired] = False
        self._contact_steps[outside & ~touching & ~self._crossed] = 0
        return np.array((float(fired.size > 0),))

    def _positions(self, source: Any) -> Array:
        """Return the centres in the frames of what they may go through, (n, 3)."""
        apart = source.geom_xpos[self._of] - source.geom_xpos[self._through]
        axes = np.asarray(source.geom_xmat)[self._through].reshape(-1, 3, 3)
        local: Array = np.einsum("ni,nij->nj", apart, axes) - self._centre
        return local

    def _touching(self, source: Any) -> NDArray[np.bool_]:
        if not source.ncon:
            return np.zeros(len(self._of), dtype=bool)
        geom = np.asarray(source.contact.geom).reshape(-1, 2)
        a, b = geom[:, 0], geom[:, 1]
        of, through = self._of[:, None], self._through[:, None]
        pairs = (of == a) & (through == b) | (of == b) & (through == a)
        touching: NDArray[np.bool_] = pairs.any(axis=1)
        return touching

    def _speed(self, source: Any, pair: int) -> float:
        """Return the speed of the centre relative to the other geom's material there [m/s]."""
        model = self._model
        geoms = np.array((self._of[pair], self._through[pair]))
        body = np.asarray(model.geom_bodyid)[geoms]
        at = np.asarray(source.geom_xpos)[geoms[0]]
        arm = at - np.asarray(source.subtree_com)[np.asarray(model.body_rootid)[body]]
        spatial = np.asarray(source.cvel)[body]
        velocity = spatial[:, 3:] + cross(spatial[:, :3], arm)
        return float(np.linalg.norm(velocity[0] - velocity[1]))


def _crosses(start: Array, end: Array, half: Array) -> NDArray[np.bool_]:
    """Return which segments go through the boxes of these half sizes around the origin, (n,)."""
    with np.errstate(all="ignore"):
        along = end - start
        one, two = (-half - start) / along, (half - start) / along
        low, high = np.minimum(one, two), np.maximum(one, two)
        still = along == 0.0
        inside = np.abs(start) <= half
        low = np.where(still, np.where(inside, -np.inf, np.inf), low)
        high = np.where(still, np.where(inside, np.inf, -np.inf), high)
        enters, leaves = low.max(axis=1), high.min(axis=1)
        crosses: NDArray[np.bool_] = (enters <= leaves) & (enters <= 1.0) & (leaves >= 0.0)
    return crosses
