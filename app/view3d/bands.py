"""Large pictures in bands: a few hundred rows at a time, so that the event loop goes on between.

A band is the whole picture with everything outside it cut off (scissors), so each pixel is the one
that a picture drawn at once would have. Edges look at their neighbours: a band is drawn with some
rows more on both sides than are read of it.
"""

import dataclasses
import math

from stroboscope.app.view3d.renderer import Frame

__all__ = ["BandPlan", "Rows"]

Rows = tuple[int, int]
"""First row and the one after the last, from the bottom as OpenGL counts [px]."""

# How long a band may take, and how many rows the first one has.
_WANTED_S, _FIRST_ROWS, _LEAST_ROWS = 0.15, 128, 32
# At most so many times as many rows as the band before: the next may hold the whole model.
_GROWTH = 2.0
_NEIGHBOURS_PX = 8.0  # logical: no line round anything is wider


class BandPlan:
    """Which rows come next, as many as can be drawn in a moment."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._next = 0
        self._rows = float(_FIRST_ROWS)
        self.rows: Rows = (0, 0)

    @property
    def done(self) -> float:
        """Part of the picture that is drawn, 0…1."""
        return self._next / self._frame.size[1]

    @property
    def is_over(self) -> bool:
        """Whether there are no more rows."""
        return self._next >= self._frame.size[1]

    def begin(self) -> Frame:
        """Return the frame to draw for the next band, whose own rows are then ``rows``."""
        height = self._frame.size[1]
        self.rows = (self._next, min(self._next + round(self._rows), height))
        margin = math.ceil(_NEIGHBOURS_PX * self._frame.pixel_ratio)
        low, high = max(self.rows[0] - margin, 0), min(self.rows[1] + margin, height)
        return dataclasses.replace(self._frame, rows=(low, high))

    def end(self, duration: float) -> None:
        """Take note that the band is drawn and took ``duration`` [s]."""
        factor = min(_WANTED_S / max(duration, 1e-4), _GROWTH)
        self._rows = max(self._rows * factor, float(_LEAST_ROWS))
        self._next = self.rows[1]
