"""Curves of rollouts for the plots, beside what a scene really did."""

import dataclasses
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.plot_store import PlotSeriesId
from stroboscope.app.models.polyline import Polyline, visible_polyline
from stroboscope.app.models.signal import Signal
from stroboscope.app.models.signal_columns import SignalColumns
from stroboscope.debugger_protocol.time_messages import GhostRef

__all__ = ["RolloutCurve", "RolloutCurves", "columns_of"]

_BYTES = 8 << 20


def columns_of(
    axis: NDArray[np.int64],
    time: NDArray[np.float64],
    session_time: NDArray[np.float64],
    values: NDArray[np.float64],
) -> SignalColumns:
    """Return rows of a rollout as columns: ``values`` (n, width), the others (n,)."""
    columns = SignalColumns(values.shape[1], limit_bytes=_BYTES)
    nothing = np.zeros(len(axis), np.int64)
    columns.append(axis, time, session_time, values, segment=nothing, missing=nothing)
    return columns


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class RolloutCurve:
    """A channel of one rollout; ``colour`` is its ghost's number."""

    ref: GhostRef
    label: str
    colour: int
    columns: SignalColumns

    def series(self, of: PlotSeriesId) -> PlotSeriesId:
        """Return what tells it from the scene's own line and from other rollouts'."""
        name = f"rollout {self.ref.scene_id}/{self.ref.number} {of.channel}"
        return dataclasses.replace(of, channel=name)

    def line(self, component: int, *, start: float, end: float, pixels: int) -> Polyline | None:
        """Return what to draw between two session times [s]; None: it has no such component."""
        if component >= self.columns.width:
            return None
        return visible_polyline(self.columns, component, start=start, end=end, pixels=pixels)

    def value(self, component: int, session_time: float | None) -> float:
        """Return the value nearest to a session time, None: the last; NaN where there is none."""
        columns = self.columns
        if not columns.count or component >= columns.width:
            return float("nan")
        row = columns.count - 1
        if session_time is not None:
            row = int(np.argmin(np.abs(columns.session_time - session_time)))
        return float(columns.values(component)[row])


class RolloutCurves:
    """All of them by the scene and channel that they belong to. ``removed``: by hand, in a legend.

    GUI thread only.
    """

    def __init__(self) -> None:
        self.changed: Signal[[]] = Signal()
        self.removed: Signal[[GhostRef]] = Signal()
        self._curves: dict[tuple[object, str], tuple[RolloutCurve, ...]] = {}

    def replace(self, curves: dict[tuple[object, str], tuple[RolloutCurve, ...]]) -> None:
        """Show these and no others."""
        self._curves = curves
        self.changed.emit()

    def of(self, series: PlotSeriesId) -> tuple[RolloutCurve, ...]:
        """Return the curves beside one line."""
        return self._curves.get((series.scene, series.channel), ())

    def any_of(self, series: Iterable[PlotSeriesId]) -> bool:
        """Return whether there is a curve beside any of these lines."""
        return any(self.of(each) for each in series)

    def remove(self, series: PlotSeriesId) -> bool:
        """Take the rollout away whose curve that is; return whether it is one."""
        for (scene, channel), curves in self._curves.items():
            for curve in curves:
                own = curve.series(dataclasses.replace(series, channel=channel))
                if scene == series.scene and own == series:
                    self.removed.emit(curve.ref)
                    return True
        return False
