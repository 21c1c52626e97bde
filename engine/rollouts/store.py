"""The rollouts of a scene that stay for people to look at."""

import itertools
import threading
from collections import OrderedDict
from typing import Protocol

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.time_messages import RolloutInfo
from stroboscope.engine.rollouts.stored import StoredRollout

__all__ = ["MOST_ROLLOUTS", "RolloutStore", "SharedBytes"]

MOST_ROLLOUTS = 256
"""How many rollouts of one scene are kept."""
_SCENE_BYTES = 64 << 20
# One sequence for all scenes: two that stand in one table, or are compared, have two numbers.
_numbers = itertools.count(1)


class SharedBytes(Protocol):
    """Memory that histories and rollouts of a process share, by who has it."""

    def share(self, scene: int, wanted: int, /) -> int:
        """Return how many bytes one may have that would like ``wanted``."""

    def uses(self, scene: int, used: int, /) -> None:
        """Note how many bytes one has."""

    def forget(self, scene: int, /) -> None:
        """Note that one has none any more."""


class RolloutStore:
    """Rollouts of one scene by id, oldest first; the oldest go when they are too many or too large.

    Any thread: a script notes costs while the debugger's clients are told what there is.
    ``budget`` is what it shares with histories; None: it has a limit of its own.
    """

    def __init__(self, *, budget: SharedBytes | None = None, most: int = MOST_ROLLOUTS) -> None:
        self._budget = budget
        self._most = most
        self._used = 0
        self._groups = itertools.count(1)
        self._lock = threading.Lock()
        self._rollouts: OrderedDict[int, StoredRollout] = OrderedDict()
        self._infos: tuple[RolloutInfo, ...] | None = ()
        self.dropped = 0
        """How many were forgotten to make room."""

    def next_group(self) -> int:
        """Return a number for candidates that nobody has named."""
        return next(self._groups)

    def add(self, rollout: StoredRollout) -> int:
        """Keep a rollout and return its id; 0 for one that is larger than all the room.

        Nothing else goes for that.
        """
        with self._lock:
            need = rollout.nbytes
            if need > self._room(need):
                self.dropped += 1
                return 0
            rollout.rollout_id = next(_numbers)
            self._infos = None
            while self._rollouts and (
                len(self._rollouts) >= self._most or self._used + need > self._room(need)
            ):
                self._forget(next(iter(self._rollouts)))
                self.dropped += 1
            self._rollouts[rollout.rollout_id] = rollout
            self._change(need)
            return rollout.rollout_id

    def _room(self, need: int) -> int:
        if self._budget is None:
            return _SCENE_BYTES
        return min(_SCENE_BYTES, self._budget.share(id(self), self._used + need))

    def _forget(self, rollout_id: int) -> None:
        self._change(-self._rollouts.pop(rollout_id).nbytes)

    def _change(self, nbytes: int) -> None:
        self._used += nbytes
        if self._budget is not None:
            self._budget.uses(id(self), self._used)

    @property
    def nbytes(self) -> int:
        """How much memory they take together."""
        return self._used

    def get(self, rollout_id: int) -> StoredRollout:
        """Return a rollout; CommandError when there is none (any more)."""
        with self._lock:
            found = self._rollouts.get(rollout_id)
        if found is None:
            raise CommandError(f"there is no rollout {rollout_id}, or it was dropped to make room")
        return found

    def drop(self, rollout_id: int) -> None:
        """Forget a rollout; CommandError when there is none."""
        self.get(rollout_id)
        with self._lock:
            if rollout_id in self._rollouts:
                self._forget(rollout_id)
                self._infos = None

    def clear(self) -> None:
        """Forget all of them."""
        with self._lock:
            self._rollouts.clear()
            self._used = 0
            self._infos = None
            if self._budget is not None:
                self._budget.forget(id(self))

    def note(self, rollout_id: int, name: str, value: float) -> None:
        """Add a number to what is known of a rollout; nothing when it was dropped."""
        with self._lock:
            rollout = self._rollouts.get(rollout_id)
            if rollout is not None:
                rollout.numbers[name] = value
                self._infos = None

    def infos(self) -> tuple[RolloutInfo, ...]:
        """Return what there is, oldest first; the same object while nothing changed."""
        infos = self._infos
        if infos is None:
            with self._lock:
                infos = self._infos = tuple(each.info() for each in self._rollouts.values())
        return infos
