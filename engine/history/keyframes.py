"""What rows don't hold, for models whose islands may sleep: copied now and then."""

__all__ = ["Keyframes"]


class Keyframes:
    """Hidden state by axis; owner thread only. The row of such an axis is always stored."""

    def __init__(self) -> None:
        self._kept: dict[int, bytes] = {}
        self.nbytes = 0

    def keep(self, axis: int, hidden: bytes) -> None:
        """Keep what belongs to the row of ``axis``."""
        self.drop(axis)
        self._kept[axis] = hidden
        self.nbytes += len(hidden)

    def drop(self, axis: int) -> None:
        """Forget the one of ``axis``, if there is one."""
        self.nbytes -= len(self._kept.pop(axis, b""))

    def clear(self) -> None:
        """Forget all of them."""
        self._kept.clear()
        self.nbytes = 0

    def forget_before(self, axis: int) -> None:
        """Forget those before ``axis``."""
        for old in [each for each in self._kept if each < axis]:
            self.drop(old)

    def at(self, axis: int) -> bytes | None:
        """Return what belongs to the row of ``axis``; None when it was not copied."""
        return self._kept.get(axis)

    def before(self, axis: int) -> int:
        """Return the last axis that is not after ``axis`` and was copied; -1 for none."""
        return max((each for each in self._kept if each <= axis), default=-1)
