"""What somebody has just set stays on show until it comes back from the application."""

import time

__all__ = ["PATIENCE_S", "Kept"]

PATIENCE_S = 0.5
"""After this long [s] what arrives is shown even when it is something else."""


class Kept:
    """Remembers one value that was sent; values on their way from before must not undo it."""

    def __init__(self) -> None:
        self._value: float | None = None
        self._until = 0.0

    def keep(self, value: float) -> None:
        """``value`` was sent just now."""
        self._value = value
        self._until = time.monotonic() + PATIENCE_S

    def outdates(self, value: float | None) -> bool:
        """Return whether ``value``, which has arrived, is older than what was sent."""
        if self._value is None:
            return False
        if value == self._value or time.monotonic() >= self._until:
            self._value = None
            return False
        return True
