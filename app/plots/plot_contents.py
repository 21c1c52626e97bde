"""What the plots show: lines, marks and legend texts, from the store. No widgets."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath

import numpy as np

from stroboscope.app.models.ghosts import ghost_colour
from stroboscope.app.models.marks import Mark, MarkKind
from stroboscope.app.models.numbers import count_text, number_text
from stroboscope.app.models.plot_layout import Plot, PlotLayout
from stroboscope.app.models.plot_store import PlotScene, PlotSeriesId, PlotStore, SceneKey
from stroboscope.app.models.polyline import Polyline, visible_polyline
from stroboscope.app.models.rollout_curves import RolloutCurves
from stroboscope.app.models.session_time import Moment
from stroboscope.app.models.signal_columns import SignalColumns
from stroboscope.app.plots.axes import decimals_for
from stroboscope.app.plots.plot_legend import LegendRow
from stroboscope.debugger_protocol.scene_description import ChannelKind
from stroboscope.resources.themes import Palette

__all__ = ["PlotContents"]

_NEAR_PX = 4.0
# Of a longer script name the beginning stands in legends, the rest in the tooltip.
_SCRIPT_LETTERS = 14


class PlotContents:
    """Answers what there is to draw; keeps nothing but how legends are named."""

    def __init__(self, store: PlotStore, layout: PlotLayout) -> None:
        self.rollouts = RolloutCurves()
        self._store = store
        self._layout = layout
        self._with_scene_names = False
        self._with_scripts = False
        # The newest physics step of each scene, while a legend is made.
        self._newest: dict[SceneKey, int] = {}
        self._key: SceneKey | None = None
        self._find_events: Callable[[], Sequence[Mark]] = tuple

    def prefer_scene_names(self, shown: SceneKey | None) -> None:
        """Name scenes in legends when there are several, ``shown`` among them; scripts likewise."""
        scenes = {each.scene for each in self._layout.all_series()}
        if shown is not None:
            scenes.add(shown)
        self._with_scene_names = len(scenes) > 1
        self._with_scripts = len({scene.session for scene in scenes}) > 1

    @property
    def names_owners(self) -> bool:
        """Whether legends name scenes now: they need more room then."""
        return self._with_scene_names

    def extent(self) -> tuple[float, float]:
        """Return session time [s] of the oldest row and of now, over all that is plotted."""
        starts, ends = [], []
        for series in self._layout.all_series():
            columns = self._columns(series)
            if columns is not None and columns.count:
                starts.append(float(columns.session_time[0]))
                ends.append(float(columns.session_time[-1]))
        for scene in self._scenes():
            if scene.time.now is not None:
                ends.append(scene.time.now.session_time)
        start = min(starts, default=min(ends, default=0.0))
        return start, max(ends, default=start)

    def lines(
        self, plot: Plot, *, start: float, end: float, pixels: int
    ) -> Mapping[PlotSeriesId, Polyline]:
        """Return what to draw of each series of a plot between two session times [s]."""
        lines = {}
        for series in plot.series:
            columns = self._columns(series)
            if columns is None or series.component >= columns.width:
                empty = np.empty(0)
                line = Polyline(empty, empty, np.empty(0, np.bool_), np.empty(0, np.intp))
            else:
                line = visible_polyline(
                    columns, series.component, start=start, end=end, pixels=pixels
                )
            lines[series] = line
        return lines

    def marks(
        self, plot: Plot, *, start: float, end: float, limit: int
    ) -> tuple[list[float], list[float]]:
        """Return the session times [s] of restores and of "now" to mark in a plot."""
        restores: set[float] = set()
        now = []
        for scene in self._scenes(plot):
            found = scene.time.marks_between(start, end)
            stride = max(len(found) // limit, 1)
            restores.update(mark.session_time for mark in found[::stride])
            if scene.time.now is not None and not scene.stale:
                now.append(scene.time.now.session_time)
        return sorted(restores), sorted(now)

    def set_events(self, key: SceneKey | None, find: Callable[[], Sequence[Mark]]) -> None:
        """Take what finds out what happened in one of the scenes; it is asked for each picture."""
        self._key, self._find_events = key, find

    def events(
        self, plot: Plot | None = None, *, start: float, end: float
    ) -> tuple[dict[float, Mark], dict[float, Mark]]:
        """Return by session time [s] the stops in a plot, or in any, and what else happened."""
        stops: dict[float, Mark] = {}
        others: dict[float, Mark] = {}
        scene = self._store.scenes.get(self._key) if self._key is not None else None
        if scene is None or not any(each is scene for each in self._scenes(plot)):
            return stops, others
        for mark in self._find_events():
            at = scene.time.session_at(mark.axis)
            if start <= at <= end:
                (stops if mark.kind is MarkKind.STOP else others)[at] = mark
        return stops, others

    def told_near(self, session_time: float, pixel: float) -> str:
        """Return what happened near a session time, or why a state was replaced there, or ""."""
        reach = _NEAR_PX * pixel
        for events in self.events(start=session_time - reach, end=session_time + reach):
            if events:
                return next(iter(events.values())).text
        for scene in self._scenes():
            found = scene.time.marks_between(session_time - reach, session_time + reach)
            if found:
                return found[-1].reason
        return ""

    def restored(self) -> Moment | None:
        """Return where the scene of the first plotted rows stands if it was put there and waits.

        What was executed before is of another state, then.
        """
        for series in self._layout.all_series():
            columns = self._columns(series)
            if columns is not None and columns.count:
                return self._restored_of(series.scene)
        return None

    def moment(self, cursor: float | None) -> Moment | None:
        """Return the instant of the plotted row nearest to the cursor, else the newest."""
        for series in self._layout.all_series():
            columns = self._columns(series)
            if columns is None or not columns.count:
                continue
            row = columns.count - 1 if cursor is None else _nearest(columns, cursor)
            return Moment(
                int(columns.axis[row]),
                float(columns.session_time[row]),
                float(columns.time[row]),
            )
        return None

    def moment_of(self, session_time: float) -> tuple[SceneKey, Moment] | None:
        """Return the plotted row nearest to a session time [s], and whose it is."""
        best: tuple[SceneKey, Moment] | None = None
        for series in self._layout.all_series():
            columns = self._columns(series)
            if columns is None or not columns.count:
                continue
            row = _nearest(columns, session_time)
            at = float(columns.session_time[row])
            if best is None or abs(at - session_time) < abs(best[1].session_time - session_time):
                moment = Moment(int(columns.axis[row]), at, float(columns.time[row]))
                best = series.scene, moment
        return best

    def legend(
        self, plot: Plot, cursor: float | None, *, span: float, palette: Palette
    ) -> list[LegendRow]:
        """Return the legend of a plot at a session time [s], None: newest values.

        ``span`` of the value axis decides the decimals: a thousandth of it can be read.
        """
        decimals = decimals_for(span / 1000.0)
        self._newest = {key: self._newest_axis(key) for key in {s.scene for s in plot.series}}
        rows = []
        for each in plot.series:
            rows.append(self._legend_row(each, cursor, decimals, palette))
            rows += self._dashed_rows(each, cursor, decimals, palette)
        return rows

    def dashed(
        self, plot: Plot, *, start: float, end: float, pixels: int
    ) -> Mapping[PlotSeriesId, Polyline]:
        """Return what to draw of rollouts beside the lines of a plot."""
        lines = {}
        for series in plot.series:
            for curve in self.rollouts.of(series):
                line = curve.line(series.component, start=start, end=end, pixels=pixels)
                if line is not None:
                    lines[curve.series(series)] = line
        return lines

    def dashed_colours(self, plot: Plot, palette: Palette) -> dict[PlotSeriesId, str]:
        """Return the colours of the rollouts in a plot: those of their ghosts."""
        return {
            curve.series(series): ghost_colour(palette, curve.colour)
            for series in plot.series
            for curve in self.rollouts.of(series)
        }

    def _dashed_rows(
        self, series: PlotSeriesId, cursor: float | None, decimals: int, palette: Palette
    ) -> list[LegendRow]:
        label, unit = self._store.label(series), self._store.unit(series)
        rows = []
        for curve in self.rollouts.of(series):
            value = curve.value(series.component, cursor)
            rows.append(
                LegendRow(
                    curve.series(series),
                    f"{curve.label} · {label}",
                    ghost_colour(palette, curve.colour),
                    number_text(value, decimals),
                    unit,
                    f"{label} = {value!r} {unit}\nof the rollout {curve.label}",
                    dashed=True,
                    problem=not np.isfinite(value),
                )
            )
        return rows

    def missing_note(self) -> tuple[str, str]:
        """Return what is missing from the plots, short and in full; ("", "") if nothing is."""
        seen: dict[int, SignalColumns] = {}
        for series in self._layout.all_series():
            columns = self._columns(series)
            if columns is not None:
                seen[id(columns)] = columns
        lost = max((columns.lost for columns in seen.values()), default=0)
        evicted = max((columns.evicted for columns in seen.values()), default=0)
        parts, full = [], []
        if lost:
            parts.append(f"{count_text(lost)} steps lost")
            full.append(
                f"{lost} steps were lost because they came faster than they could be sent: the "
                "lines are broken there, and the CSV counts them. Plot fewer channels at once."
            )
        if evicted:
            parts.append(f"oldest {count_text(evicted)} steps dropped")
            budget = self._store.budget_bytes >> 20
            full.append(f"The plots keep {budget} MiB: the oldest {evicted} steps are gone.")
        return " · ".join(parts), "\n".join(full)

    # --- inside

    def _columns(self, series: PlotSeriesId) -> SignalColumns | None:
        return self._store.columns(series.scene, series.channel)

    def _restored_of(self, key: SceneKey) -> Moment | None:
        # While a scene runs, the rows of the step after are on their way.
        scene = self._store.scenes.get(key)
        waits = scene is not None and scene.paused and not scene.stale
        return scene.time.restored if scene is not None and waits else None

    def _newest_axis(self, key: SceneKey) -> int:
        columns = (self._columns(each) for each in self._layout.all_series() if each.scene == key)
        return max((int(c.axis[-1]) for c in columns if c is not None and c.count), default=0)

    def _scenes(self, plot: Plot | None = None) -> list[PlotScene]:
        series = self._layout.all_series() if plot is None else plot.series
        keys = dict.fromkeys(each.scene for each in series)
        return [self._store.scenes[key] for key in keys if key in self._store.scenes]

    def _legend_row(
        self, series: PlotSeriesId, cursor: float | None, decimals: int, palette: Palette
    ) -> LegendRow:
        scene = self._store.scenes.get(series.scene)
        columns = self._columns(series)
        label = self._store.label(series)
        unit = self._store.unit(series)
        colour = palette.plot[self._layout.colours.assign(series)]
        name = label
        if scene is not None and self._with_scene_names:
            name = f"{self._owner(scene)} · {label}"
        if columns is None or not columns.count or series.component >= columns.width:
            waiting = "–" if scene is None or not scene.stale else "gone"
            return LegendRow(series, name, colour, waiting, "", f"{label}: no value yet", held=True)
        row = columns.count - 1 if cursor is None else _nearest(columns, cursor)
        value = float(columns.values(series.component)[row])
        axis = int(columns.axis[row])
        # A log() after a step stands one step later than the step's own row; anything older than
        # that has been held since.
        held = cursor is None and axis < self._newest.get(series.scene, 0) - 1
        moment = (axis, float(columns.time[row]))
        tooltip = self._tooltip(series, columns, f"{label} = {value!r} {unit}".strip(), moment)
        if cursor is None and self._restored_of(series.scene) is not None:
            tooltip = (
                f"No step was executed since the state was replaced. The last before:\n{tooltip}"
            )
            return LegendRow(series, name, colour, "–", unit, tooltip, held=True)
        return LegendRow(
            series,
            name,
            colour,
            number_text(value, decimals),
            unit,
            tooltip,
            held=held,
            problem=not np.isfinite(value),
        )

    def _owner(self, scene: PlotScene) -> str:
        """Return the scene's name, after its script's where several applications are plotted."""
        script = PurePath(scene.script).name
        if len(script) > _SCRIPT_LETTERS:
            script = f"{script[: _SCRIPT_LETTERS - 1]}…"
        return f"{script} › {scene.name}" if script and self._with_scripts else scene.name

    def _tooltip(
        self, series: PlotSeriesId, columns: SignalColumns, value: str, moment: tuple[int, float]
    ) -> str:
        scene = self._store.scenes.get(series.scene)
        axis, time = moment
        info = self._store.info(series.scene, series.channel)
        if info is not None and info.kind is ChannelKind.ENGINE:
            instant = f"EXECUTED: of physics step {axis}, t {time:.6g} s. NOW is one step later."
        else:
            instant = f"Logged at physics step {axis}, t {time:.6g} s."
        lines = [value, instant]
        if scene is not None:
            script = f", {PurePath(scene.script).name}" if scene.script else ""
            lines.append(f"of {scene.name}{script}{' (gone)' if scene.stale else ''}")
        if columns.lost:
            lines.append(f"{columns.lost} steps lost")
        if columns.evicted:
            lines.append(f"oldest {columns.evicted} steps dropped")
        if columns.nonfinite[series.component]:
            lines.append(f"{columns.nonfinite[series.component]} values are not finite")
        return "\n".join(lines)


def _nearest(columns: SignalColumns, session_time: float) -> int:
    times = columns.session_time
    right = int(np.searchsorted(times, session_time, "left"))
    if right == 0:
        return 0
    if right == len(times):
        return len(times) - 1
    nearer_left = session_time - times[right - 1] <= times[right] - session_time
    return right - 1 if nearer_left else right
