"""Frames whose state can't be had again: told of where a run becomes another file."""

import logging

from stroboscope.engine.counted import counted
from stroboscope.engine.history.past import UNKNOWN_SLEEP, VERIFIED
from stroboscope.engine.trajectory.trajectory import Trajectory

__all__ = ["UnknownFrames"]

_KNOWN = ("", VERIFIED, UNKNOWN_SLEEP)
_log = logging.getLogger(__name__)


class UnknownFrames:
    """Counts them. ``instead``: what is in their place, in words."""

    def __init__(self, trajectory: Trajectory, *, instead: str) -> None:
        self._path, self._instead = trajectory.path, instead
        self._count, self._first, self._why = 0, 0, ""

    def has(self, index: int, note: str) -> bool:
        """Return whether a frame is one of them; ``note`` says how it was had."""
        if note in _KNOWN:
            return False
        if not self._count:
            self._first, self._why = index, note
        self._count += 1
        return True

    def tell(self) -> None:
        """Warn of them, if there are any."""
        if self._count:
            _log.warning(
                "%s: the state of %s can't be had again, frame %s the first (%s): %s",
                self._path, counted(self._count, "frame"), f"{self._first:,}", self._why,
                self._instead,
            )  # fmt: skip
