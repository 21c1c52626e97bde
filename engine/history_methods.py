"""The part of :class:`Scene` that is about its history and about stops."""

import sys
from collections.abc import Callable

from stroboscope.engine.arguments import flag, whole_number
from stroboscope.engine.history.scene_history import SceneHistory
from stroboscope.engine.stops.event import StopEvent
from stroboscope.engine.stops.scene_stops import SceneStops

__all__ = ["HistoryMethods"]


class HistoryMethods:
    """Methods of a scene about what it remembers and what stops it; owner thread only."""

    history: SceneHistory
    stops: SceneStops
    _guard: Callable[[], None]
    _update_fast_path: Callable[[], None]

    def keep_history(self, keep: bool = True, *, max_bytes: int | None = None) -> None:
        """Keep a row of every physics step, also while nothing is attached; or no longer.

        In at most ``max_bytes`` (64 MiB unless set): the oldest rows are thinned out then.
        """
        self._guard()
        keep = flag(keep, "keep")
        if max_bytes is not None:
            self.history.max_bytes = whole_number(max_bytes, "max_bytes", least=1, most=sys.maxsize)
        self.history.wanted = keep
        self.history.switch(off=False)
        self._update_fast_path()

    @property
    def raise_on_stop(self) -> bool:
        """Whether a stop raises SimulationStopped in :meth:`step` where nothing is attached."""
        self._guard()
        return self.stops.raise_on_stop

    @raise_on_stop.setter
    def raise_on_stop(self, value: bool) -> None:
        self._guard()
        self.stops.raise_on_stop = flag(value, "raise_on_stop")
        self._update_fast_path()

    @property
    def last_stop(self) -> StopEvent | None:
        """The newest stop: why, and at which number of which joint; None when there was none."""
        self._guard()
        return self.stops.last
