"""The part of scenes, also of many environments, that is about stops."""

from collections.abc import Callable

from stroboscope.engine.arguments import flag
from stroboscope.engine.stops.event import StopEvent
from stroboscope.engine.stops.scene_stops import SceneStops

__all__ = ["StopMethods"]


class StopMethods:
    """Methods of a scene about what stops it; owner thread only."""

    stops: SceneStops
    _guard: Callable[[], None]
    _update_fast_path: Callable[[], None]

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
        """The newest stop: why, where, at which number of which joint; None when there was none."""
        self._guard()
        return self.stops.last
