"""Which signals stand in which plot: the model behind the plot panel. Plain Python."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from stroboscope.app.models.derived_signals import sources_of
from stroboscope.app.models.plot_colours import PLOT_COLOURS, PlotColours
from stroboscope.app.models.plot_store import PlotScene, PlotSeriesId, PlotStore, SceneKey
from stroboscope.app.models.signal import Signal

__all__ = ["LAYOUT_VERSION", "Plot", "PlotLayout", "RememberedSeries"]

LAYOUT_VERSION = 1


@dataclasses.dataclass(frozen=True, slots=True)
class RememberedSeries:
    """A series as it survives a restart: by the names of script, scene, channel, component."""

    script: str
    scene: str
    channel: str
    component: str
    colour: int


@dataclasses.dataclass(slots=True)
class Plot:
    """One plot: series of one unit, and remembered ones whose scene is not there (yet)."""

    plot_id: int
    series: list[PlotSeriesId] = dataclasses.field(default_factory=list)
    waiting: list[RememberedSeries] = dataclasses.field(default_factory=list)


class PlotLayout:
    """Plots from top to bottom, and the channels that they need.

    One unit per plot and at most eight series, one per colour: what does not fit gets a plot of
    its own. ``subscriptions_changed`` tells the channels that a scene's plots need, whenever they
    change; nothing plotted means nothing subscribed.
    """

    def __init__(self, store: PlotStore, colours: PlotColours | None = None) -> None:
        self.changed: Signal[[]] = Signal()
        self.subscriptions_changed: Signal[[SceneKey, tuple[str, ...]]] = Signal()
        self.store = store
        self.colours = colours if colours is not None else PlotColours()
        self.plots: list[Plot] = []
        self._next_id = 1
        self._subscribed: dict[SceneKey, tuple[str, ...]] = {}
        # Channels whose rows are kept: what is plotted, and what that is made of.
        self._needed: set[tuple[SceneKey, str]] = set()

    # --- what is there

    def all_series(self) -> list[PlotSeriesId]:
        """Return every plotted series, from top to bottom."""
        return [series for plot in self.plots for series in plot.series]

    def is_plotted(self, series: PlotSeriesId) -> bool:
        """Return whether a series stands in any plot."""
        return any(series in plot.series for plot in self.plots)

    def plot(self, plot_id: int) -> Plot | None:
        """Return a plot by its id."""
        return next((plot for plot in self.plots if plot.plot_id == plot_id), None)

    def unit(self, plot: Plot) -> str:
        """Return the unit of a plot's series."""
        return self.store.unit(plot.series[0]) if plot.series else ""

    # --- what the user does

    def add(self, series: PlotSeriesId, *, plot_id: int | None = None) -> str:
        """Plot a series, in ``plot_id`` if it fits there; return a sentence if it does not.

        Without ``plot_id`` it joins the first plot of the same scene and unit. A series that is
        plotted stays where it is.
        """
        if self.is_plotted(series):
            return ""
        problem = ""
        target = self.plot(plot_id) if plot_id is not None else None
        if target is not None:
            problem = self._misfit(series, target)
        if target is None or problem:
            target = self._home(series)
        self._put(series, target)
        self._publish()
        return problem

    def add_all(self, series: Iterable[PlotSeriesId], *, plot_id: int | None = None) -> str:
        """Plot several series; return the first problem, a sentence, or ""."""
        problems = [self.add(each, plot_id=plot_id) for each in series]
        return next(filter(None, problems), "")

    def remove(self, series: PlotSeriesId) -> None:
        """Take a series out; an empty plot goes too."""
        for plot in self.plots:
            if series in plot.series:
                plot.series.remove(series)
        self._drop_empty()
        self._publish()

    def remove_plot(self, plot_id: int) -> None:
        """Take out a plot with all its series."""
        self.plots = [plot for plot in self.plots if plot.plot_id != plot_id]
        self._publish()

    def clear(self) -> None:
        """Take out everything."""
        self.plots = []
        self._publish()

    # --- what is remembered

    def to_dict(self) -> dict[str, Any]:
        """Return the layout as plain data, for the settings."""
        return {
            "version": LAYOUT_VERSION,
            "plots": [
                [dataclasses.asdict(each) for each in self._remembered(plot)] for plot in self.plots
            ],
        }

    def restore(self, data: Mapping[str, Any], *, otherwise: SceneKey | None = None) -> None:
        """Replace the layout by a remembered one; entries that make no sense are left out.

        Series appear as soon as their scene does. Those of a scene that is not there belong to
        the scene ``otherwise``, if one is given.
        """
        self.plots = []
        entries = data.get("plots", ()) if data.get("version") == LAYOUT_VERSION else ()
        for entry in entries if isinstance(entries, list | tuple) else ():
            if not isinstance(entry, list | tuple):
                continue
            waiting = [_parsed(each) for each in entry if isinstance(each, Mapping)]
            plot = Plot(self._take_id(), [], [each for each in waiting if each is not None])
            plot.waiting = [self._at_home(each, otherwise) for each in plot.waiting]
            if plot.waiting:
                self.plots.append(plot)
        self._publish()
        self.resolve()

    def _at_home(self, entry: RememberedSeries, otherwise: SceneKey | None) -> RememberedSeries:
        scene = self.store.scenes.get(otherwise) if otherwise is not None else None
        if scene is None or self._find(entry) is not None:
            return entry
        return dataclasses.replace(entry, script=scene.script, scene=scene.name)

    def resolve(self) -> None:
        """Look whether scenes of remembered or restarted scripts have appeared; adopt them."""
        adopted = self._adopt_restarted()
        for plot in self.plots:
            for entry in tuple(plot.waiting):
                series = self._find(entry)
                if series is not None:
                    plot.waiting.remove(entry)
                    self.colours.set(series, entry.colour)
                    if not self.is_plotted(series):
                        plot.series.append(series)
                        self._want(series)
                    adopted = True
        if adopted or self._subscribed != self._wanted():
            self._publish()
        self._forget_gone()

    # --- inside

    def _take_id(self) -> int:
        self._next_id += 1
        return self._next_id - 1

    def _misfit(self, series: PlotSeriesId, plot: Plot) -> str:
        unit, other = self.store.unit(series), self.unit(plot)
        label = self.store.label(series)
        if plot.series and unit != other:
            return (
                f"{label} is in {unit or 'no unit'}, this plot in {other or 'no unit'}: "
                "it has a plot of its own."
            )
        if len(plot.series) >= PLOT_COLOURS:
            return f"This plot is full ({PLOT_COLOURS} signals): {label} has another one."
        return ""

    def _home(self, series: PlotSeriesId) -> Plot:
        for plot in self.plots:
            same_scene = any(each.scene == series.scene for each in plot.series)
            if same_scene and not self._misfit(series, plot):
                return plot
        plot = Plot(self._take_id())
        self.plots.append(plot)
        return plot

    def _put(self, series: PlotSeriesId, plot: Plot) -> None:
        self.colours.assign(series, beside=plot.series)
        plot.series.append(series)
        self._want(series)

    def _want(self, series: PlotSeriesId) -> None:
        for channel in sources_of(series.channel):
            self.store.want(series.scene, channel)

    def _drop_empty(self) -> None:
        self.plots = [plot for plot in self.plots if plot.series or plot.waiting]

    def _wanted(self) -> dict[SceneKey, tuple[str, ...]]:
        """Return the plotted channels of every scene that something can come from."""
        wanted: dict[SceneKey, tuple[str, ...]] = {}
        for series in self.all_series():
            scene = self.store.scenes.get(series.scene)
            channels = wanted.get(series.scene, ())
            channel = sources_of(series.channel)[0]
            if scene is not None and not scene.stale and channel not in channels:
                wanted[series.scene] = (*channels, channel)
        return wanted

    def _publish(self) -> None:
        wanted = self._wanted()
        needed = {
            (series.scene, channel)
            for series in self.all_series()
            for channel in sources_of(series.channel)
        }
        for key, channel in self._needed - needed:
            self.store.retire(key, channel)
        self._needed = needed
        before, self._subscribed = self._subscribed, wanted
        for key in {**before, **wanted}:
            old, new = before.get(key, ()), wanted.get(key, ())
            if set(old) != set(new):
                self.subscriptions_changed.emit(key, new)
        self.changed.emit()

    def _remembered(self, plot: Plot) -> list[RememberedSeries]:
        entries = []
        for series in plot.series:
            scene = self.store.scenes.get(series.scene)
            if scene is not None:
                component = self._component_name(scene, series)
                colour = self.colours.index(series) or 0
                entries.append(
                    RememberedSeries(scene.script, scene.name, series.channel, component, colour)
                )
        return entries + plot.waiting

    def _component_name(self, scene: PlotScene, series: PlotSeriesId) -> str:
        info = self.store.info(scene.key, series.channel)
        if info is not None and series.component < len(info.names):
            return info.names[series.component]
        return str(series.component)

    def _find(self, entry: RememberedSeries) -> PlotSeriesId | None:
        for key, scene in self.store.scenes.items():
            if scene.stale or (scene.script, scene.name) != (entry.script, entry.scene):
                continue
            info = self.store.info(key, entry.channel)
            if info is None:
                continue
            if entry.component in info.names:
                return PlotSeriesId(key, entry.channel, info.names.index(entry.component))
            if entry.component.isdecimal() and int(entry.component) < info.width:
                return PlotSeriesId(key, entry.channel, int(entry.component))
        return None

    def _adopt_restarted(self) -> bool:
        """Hand the places of scenes that are gone to those of the same script and name."""
        live = {
            (scene.script, scene.name): key
            for key, scene in self.store.scenes.items()
            if not scene.stale and scene.channels
        }
        adopted = False
        for key in {series.scene for series in self.all_series()}:
            scene = self.store.scenes.get(key)
            new = live.get((scene.script, scene.name)) if scene is not None else None
            if scene is not None and scene.stale and scene.script and new is not None:
                self._hand_over(key, new)
                adopted = True
        return adopted

    def _forget_gone(self) -> None:
        """Drop scenes that are gone and not plotted: a training run makes thousands."""
        plotted = {series.scene for series in self.all_series()}
        for key, scene in tuple(self.store.scenes.items()):
            if scene.stale and key not in plotted and key in self.store.scenes:
                self.store.forget_scene(key)

    def _hand_over(self, old: SceneKey, new: SceneKey) -> None:
        for plot in self.plots:
            waiting = self._remembered(Plot(0, [s for s in plot.series if s.scene == old]))
            plot.series = [series for series in plot.series if series.scene != old]
            plot.waiting.extend(waiting)
        self.colours.rebind(old, new)
        self.store.forget_scene(old)
        self._subscribed.pop(old, None)


def _parsed(entry: Mapping[str, Any]) -> RememberedSeries | None:
    match entry:
        case {
            "script": str(script),
            "scene": str(scene),
            "channel": str(channel),
            "component": str(component),
            "colour": int(colour),
        }:
            return RememberedSeries(script, scene, channel, component, colour)
    return None
