"""What happened to a scene besides its rows: kept as long as the rows that it belongs to."""

from collections import deque
from typing import Final

from stroboscope.engine.files.frames import FileEvent
from stroboscope.engine.recording.feed import Value

__all__ = ["Notes"]

# A value takes about 200 bytes.
_MOST_EVENTS: Final = 10_000
_MOST_VALUES: Final = 50_000


class Notes:
    """The newest events, and values of the script's own channels; owner thread only."""

    def __init__(self) -> None:
        self.events: deque[FileEvent] = deque(maxlen=_MOST_EVENTS)
        self.values: deque[Value] = deque(maxlen=_MOST_VALUES)

    def keep_values(self, most: int) -> None:
        """Keep more values than usual from now on."""
        self.values = deque(self.values, maxlen=max(most, _MOST_VALUES))

    def forget_before(self, axis: int) -> None:
        """Let go of what belongs to rows before ``axis``, which are gone."""
        while self.events and self.events[0].axis < axis:
            self.events.popleft()
        while self.values and self.values[0].axis < axis:
            self.values.popleft()

    def clear(self) -> None:
        """Let go of everything."""
        self.events.clear()
        self.values.clear()
