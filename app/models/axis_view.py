"""Which part of the axis of physics steps is looked at."""

from stroboscope.app.models.signal import Signal

__all__ = ["AxisView"]

_MIN_SPAN = 8.0
_MAX_SPAN = 1e12
# Room to the right of now, so that the newest step does not stick to the edge.
_AHEAD = 0.02
_LEAST_SHOWN = 100.0


class AxisView:
    """Visible physics steps: everything there is, so many steps up to now, or what was chosen."""

    def __init__(self) -> None:
        self.changed: Signal[[]] = Signal()
        self._start = 0.0
        self._span = _LEAST_SHOWN
        self._follow = True
        # None: everything, however much that is.
        self._chosen: float | None = None

    @property
    def range(self) -> tuple[float, float]:
        """The axis at the left and at the right edge."""
        return self._start, self._start + self._span

    @property
    def follows(self) -> bool:
        """Whether now stays in sight."""
        return self._follow

    def set_follow(self, follow: bool) -> None:
        """Follow now, or stand still."""
        if follow != self._follow:
            self._follow = follow
            self.changed.emit()

    def track(self, first: int, live: int) -> None:
        """Move along with now, when following; ``first`` is the oldest row there is."""
        if not self._follow:
            return
        if self._chosen is None:
            length = max(float(live - first), _LEAST_SHOWN)
            self._start = first - _AHEAD / 2 * length
            self._span = length * (1.0 + 1.5 * _AHEAD)
        else:
            self._span = self._chosen
            self._start = live - self._span * (1.0 - _AHEAD)

    def show(self, start: float, end: float) -> None:
        """Show so much, and stand still."""
        self._start = start
        self._span = self._chosen = min(max(end - start, _MIN_SPAN), _MAX_SPAN)
        self._follow = False
        self.changed.emit()

    def pan(self, steps: float) -> None:
        """Move by ``steps``; stops following."""
        self._start += steps
        self._follow = False
        self._chosen = self._span
        self.changed.emit()

    def zoom(self, factor: float, about: float) -> None:
        """Show ``factor`` times as much, ``about`` this axis, or now when following."""
        span = min(max(self._span * factor, _MIN_SPAN), _MAX_SPAN)
        self._start = about - (about - self._start) * span / self._span
        self._span = self._chosen = span
        self.changed.emit()

    def fit(self) -> None:
        """Show everything, and follow."""
        self._chosen = None
        self._follow = True
        self.changed.emit()
