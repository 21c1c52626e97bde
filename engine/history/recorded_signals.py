"""What a script has logged in a past that is in a file."""

from typing import Protocol

from stroboscope.debugger_protocol.arrays import Arrays

__all__ = ["NoSignals", "RecordedSignals"]


class RecordedSignals(Protocol):
    """What a script has logged in a recorded past, by the name of the channel."""

    def __contains__(self, name: str) -> bool:
        """Return whether there is a channel of that name."""

    def piece(self, name: str, first: int, last: int, *, max_rows: int) -> Arrays:
        """Return ``axis``, ``time`` [s], ``values`` (n, width) and ``widths`` of a stretch."""


class NoSignals:
    """Of a past that is in no file."""

    def __contains__(self, name: str) -> bool:
        return False

    def piece(self, name: str, first: int, last: int, *, max_rows: int) -> Arrays:
        raise KeyError(name)
