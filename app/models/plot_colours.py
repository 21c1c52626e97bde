"""Which of the eight plot colours a signal has: the same everywhere, for as long as it is known."""

from collections.abc import Iterable

from stroboscope.app.models.plot_store import PlotSeriesId, SceneKey

__all__ = ["PLOT_COLOURS", "PlotColours"]

PLOT_COLOURS = 8


class PlotColours:
    """Gives every series a place in ``Palette.plot`` when it is first seen, and keeps it."""

    def __init__(self) -> None:
        self._index: dict[PlotSeriesId, int] = {}

    def assign(self, series: PlotSeriesId, *, beside: Iterable[PlotSeriesId] = ()) -> int:
        """Return the colour index of ``series``.

        A new series gets the least used colour, and one that differs from those it is going to
        stand ``beside`` when there is one.
        """
        if series not in self._index:
            near = [self._index[each] for each in beside if each in self._index]
            used = list(self._index.values())
            self._index[series] = min(
                range(PLOT_COLOURS), key=lambda i: (near.count(i), used.count(i), i)
            )
        return self._index[series]

    def index(self, series: PlotSeriesId) -> int | None:
        """Return the colour index of a series that has one."""
        return self._index.get(series)

    def set(self, series: PlotSeriesId, index: int) -> None:
        """Give a series the colour it had in an earlier run."""
        self._index[series] = index % PLOT_COLOURS

    def rebind(self, old: SceneKey, new: SceneKey) -> None:
        """Hand the colours of one scene to the scene that took its place."""
        for series, index in tuple(self._index.items()):
            if series.scene == old:
                self._index[PlotSeriesId(new, series.channel, series.component)] = index
                del self._index[series]
