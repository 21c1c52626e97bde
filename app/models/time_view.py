"""Which part of session time is looked at; shared by all plots (and whoever shows the same)."""

from stroboscope.app.models.signal import Signal

__all__ = ["TimeView"]

_MIN_SPAN = 1e-5
_MAX_SPAN = 1e7
# While nobody has chosen a span, the view widens in these steps: few jumps, no empty picture.
_SPANS = (1.0, 2.0, 5.0, 10.0)
# Room to the right of now, so that the newest line does not stick to the edge.
_AHEAD = 0.02


class TimeView:
    """Visible session time [s]: follows now, or stands still where the user left it."""

    def __init__(self) -> None:
        self.changed: Signal[[]] = Signal()
        self._follow = True
        self._span = _SPANS[0]
        self._chosen = False
        self._whole = False
        self._start = 0.0

    @property
    def follows(self) -> bool:
        """Whether the view follows now."""
        return self._follow

    @property
    def range(self) -> tuple[float, float]:
        """Session time at the left and right edge [s]."""
        return self._start, self._start + self._span

    @property
    def span(self) -> float | None:
        """The span the user chose [s], or None."""
        return self._span if self._chosen else None

    def choose_span(self, span: float) -> None:
        """Show ``span`` seconds from now on."""
        self._span = min(max(span, _MIN_SPAN), _MAX_SPAN)
        self._chosen = True
        self.changed.emit()

    def set_follow(self, follow: bool) -> None:
        """Follow now, or freeze."""
        if follow != self._follow:
            self._follow = follow
            self.changed.emit()

    def set_whole(self, whole: bool) -> None:
        """Show everything, as of a recorded run, until somebody chooses a span; or the newest."""
        if whole != self._whole:
            self._whole = whole
            self.changed.emit()

    def track(self, first: float, now: float) -> None:
        """Move along with now, when following; ``first`` is where the data begins [s]."""
        if not self._follow:
            return
        if self._whole and not self._chosen and now > first:
            self._show_all(first, now)
            return
        if not self._chosen:
            length = now - first
            self._span = next((span for span in _SPANS if length <= span), _SPANS[-1])
        start = first
        if now - first > self._span * (1.0 - _AHEAD):
            start = now - self._span * (1.0 - _AHEAD)
        self._start = start

    def pan(self, seconds: float) -> None:
        """Move by ``seconds``; stops following."""
        self._start += seconds
        self._follow = False
        self._chosen = True
        self.changed.emit()

    def zoom(self, factor: float, about: float) -> None:
        """Show ``factor`` times as much, ``about`` this session time [s], or now if following."""
        span = min(max(self._span * factor, _MIN_SPAN), _MAX_SPAN)
        self._start = about - (about - self._start) * span / self._span
        self._span = span
        self._chosen = True
        self.changed.emit()

    def fit(self, first: float, last: float) -> None:
        """Show everything between two session times [s]; stops following."""
        self._show_all(first, last)
        self._follow = False
        self._chosen = True
        self.changed.emit()

    def _show_all(self, first: float, last: float) -> None:
        length = max(last - first, _MIN_SPAN)
        self._start = first - 0.01 * length
        self._span = min(1.02 * length, _MAX_SPAN)
