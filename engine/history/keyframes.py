"""What rows don't hold, for models whose islands may sleep: copied now and then."""

from collections import OrderedDict

__all__ = ["Keyframes"]


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
