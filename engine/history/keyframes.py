"""What rows don't hold, for models whose islands may sleep: copied now and then."""

from collections import OrderedDict
from time import thread_time

__all__ = ["KEYFRAME_INTERVAL", "CopyPace", "Keyframes"]

KEYFRAME_INTERVAL = 64
"""Rows between two full copies, where a row alone does not say how the scene goes on."""
# Fewer where steps are slow: so many that they take so long together [s], and at least some.
_PATIENCE_S = 0.4
_FEWEST_STEPS = 4


class Keyframes:
    """Hidden state by axis; owner thread only. The row of such an axis is always stored.

    Those in passing are of the newest rows only, so that going back to these takes few steps; their
    rows may be thinned out later.
    """

    def __init__(self) -> None:
        self._kept: dict[int, bytes] = {}
        self._passing: OrderedDict[int, int] = OrderedDict()
        self.nbytes = 0
        self.passing_bytes = 0
        """Bytes of those in passing, counted in :attr:`nbytes`, too."""

    def keep(self, axis: int, hidden: bytes) -> None:
        """Keep what belongs to the row of ``axis``."""
        self.drop(axis)
        self._kept[axis] = hidden
        self.nbytes += len(hidden)

    def keep_passing(self, axis: int, hidden: bytes, *, most_bytes: int) -> None:
        """Keep it until newer ones take the room: ``most_bytes`` for all of these."""
        self.keep(axis, hidden)
        self._passing[axis] = len(hidden)
        self.passing_bytes += len(hidden)
        while self._passing and self.passing_bytes > most_bytes:
            self.drop(next(iter(self._passing)))

    def drop(self, axis: int) -> None:
        """Forget the one of ``axis``, if there is one."""
        self.nbytes -= len(self._kept.pop(axis, b""))
        self.passing_bytes -= self._passing.pop(axis, 0)

    def clear(self) -> None:
        """Forget all of them."""
        self._kept.clear()
        self._passing.clear()
        self.nbytes = self.passing_bytes = 0

    def forget_before(self, axis: int) -> None:
        """Forget those before ``axis``."""
        for old in [each for each in self._kept if each < axis]:
            self.drop(old)

    def at(self, axis: int) -> bytes | None:
        """Return what belongs to the row of ``axis``; None when it was not copied."""
        return self._kept.get(axis)

    def all(self) -> dict[int, bytes]:
        """Return all of them by axis."""
        return dict(self._kept)

    def before(self, axis: int) -> int:
        """Return the last axis that is not after ``axis`` and was copied; -1 for none."""
        return max((each for each in self._kept if each <= axis), default=-1)


class CopyPace:
    """When to copy again: the slower steps are, the sooner, as who goes back waits for them.

    ``interval``: physics steps from the last copy to the next one.
    """

    def __init__(self) -> None:
        self.interval = _FEWEST_STEPS
        self._axis = 0
        self._thread_s = 0.0

    def is_due(self, axis: int) -> bool:
        """Return whether it is time at a step."""
        return axis >= self._axis + self.interval

    def steps_left(self, axis: int) -> int:
        """Return how many steps there are before that."""
        return self._axis + self.interval - axis

    def is_more_often(self, axis: int) -> bool:
        """Learn from the steps since the last copy; return whether blocks of rows are too far."""
        taken = (thread_time() - self._thread_s) / (axis - self._axis)
        wanted = int(_PATIENCE_S / max(taken, 1e-9))
        self.interval = max(_FEWEST_STEPS, min(KEYFRAME_INTERVAL, wanted))
        return self.interval < KEYFRAME_INTERVAL

    def done(self, axis: int) -> None:
        """Note that it was copied at a step, or looked whether to."""
        self._axis, self._thread_s = axis, thread_time()
