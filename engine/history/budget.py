"""How many bytes the histories of a process may take, together and each."""

import dataclasses
import threading

from stroboscope.engine.history.ahead import BlocksAhead

__all__ = ["HistoryBudget", "HistoryLimits"]

_MIB = 1 << 20


@dataclasses.dataclass(frozen=True, slots=True)
class HistoryLimits:
    """Bytes of rows: of all scenes of a process together, and of each unless it asks for more."""

    process_bytes: int = 512 * _MIB
    scene_bytes: int = 64 * _MIB


class HistoryBudget:
    """Shares the process's bytes among the scenes that remember; any thread.

    Nobody's memory is taken from outside: each scene asks for its share when it needs room, and
    thins out its own oldest rows until it keeps to it.
    """

    def __init__(self, limits: HistoryLimits | None = None) -> None:
        self.limits = limits or HistoryLimits()
        self.ahead = BlocksAhead()
        self._lock = threading.RLock()  # a handler of a signal may come back here
        self._used: dict[int, int] = {}

    def share(self, scene: int, wanted: int) -> int:
        """Return how many bytes a scene may have that would like ``wanted``.

        All of it while there is room for everybody; else what the others leave, but at least an
        equal part.
        """
        with self._lock:
            total = self.limits.process_bytes
            self._used.setdefault(scene, 0)
            others = sum(used for key, used in self._used.items() if key != scene)
            return min(wanted, max(total - others, total // len(self._used)))

    def uses(self, scene: int, used: int) -> None:
        """Note how many bytes a scene has."""
        with self._lock:
            self._used[scene] = used

    def forget(self, scene: int) -> None:
        """Note that a scene remembers nothing any more."""
        with self._lock:
            self._used.pop(scene, None)

    def forget_parent(self) -> None:
        """In a forked child: begin anew."""
        self._lock = threading.RLock()  # a handler of a signal may come back here
        self.ahead.forget_parent()

    @property
    def used(self) -> int:
        """Bytes of all scenes together."""
        with self._lock:
            return sum(self._used.values())
