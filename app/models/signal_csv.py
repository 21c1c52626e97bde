"""Plotted signals as CSV: every physics step, every digit."""

import csv
from collections.abc import Iterator, Sequence
from typing import TextIO

import numpy as np

from stroboscope.app.models.plot_store import PlotSeriesId, PlotStore, SceneKey
from stroboscope.app.models.signal_columns import SignalRows
from stroboscope.debugger_protocol.column_names import column_names

__all__ = ["CsvExport"]

_ROWS_PER_SLICE = 4096


class CsvExport:
    """Writes series to CSV in slices, so that a window stays alive and can cancel.

    One line per scene and physics step; several when a channel has several rows in one step (a
    script that logs more than once). A cell is empty where a channel has no row. ``missing``
    counts the steps that are absent just before the line, in any of its channels. Floats are
    written as ``repr``: reading them back gives the same bits. Columns have names that can be
    typed, and the units of their panels. ``between`` two session times [s] only: what is shown.
    """

    def __init__(
        self,
        store: PlotStore,
        series: Sequence[PlotSeriesId],
        *,
        between: tuple[float, float] | None = None,
    ) -> None:
        self._series = tuple(series)
        self._header = column_names((
            "scene", "step", "session_time", "episode_time", "missing",
            *(self._title(store, each) for each in self._series),
        ))  # fmt: skip
        self._names = {each.scene: store.scenes[each.scene].name for each in self._series}
        self._rows: dict[SceneKey, dict[str, SignalRows]] = {}
        for each in self._series:
            columns = store.columns(each.scene, each.channel)
            channels = self._rows.setdefault(each.scene, {})
            if columns is not None and each.channel not in channels:
                rows = columns.rows()
                channels[each.channel] = rows if between is None else rows.between(*between)
        self.total = sum(
            len(rows.axis) for channels in self._rows.values() for rows in channels.values()
        )

    def write(self, file: TextIO) -> Iterator[float]:
        """Write everything to ``file``; yields the fraction done after every few thousand rows."""
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(self._header)
        done = 0
        for scene, channels in self._rows.items():
            for rows, lines in self._lines(scene, channels):
                writer.writerows(lines)
                done += rows
                yield min(done / max(self.total, 1), 1.0)
        yield 1.0

    def _title(self, store: PlotStore, series: PlotSeriesId) -> str:
        label = store.label(series)
        if len({each.scene for each in self._series}) > 1:
            return f"{store.scenes[series.scene].name}: {label}"
        return label

    def _lines(
        self, scene: SceneKey, channels: dict[str, SignalRows]
    ) -> Iterator[tuple[int, list[list[object]]]]:
        """Merge the channels of one scene by physics step."""
        positions = dict.fromkeys(channels, 0)
        lines: list[list[object]] = []
        taken = 0
        axes = {name: rows.axis.tolist() for name, rows in channels.items()}
        while True:
            heads = [axes[n][p] for n, p in positions.items() if p < len(axes[n])]
            if not heads:
                break
            step = min(heads)
            here = {n: p for n, p in positions.items() if p < len(axes[n]) and axes[n][p] == step}
            for name in here:
                positions[name] += 1
            lines.append(self._line(scene, step, here))
            taken += len(here)
            if len(lines) >= _ROWS_PER_SLICE:
                yield taken, lines
                lines, taken = [], 0
        yield taken, lines

    def _line(self, scene: SceneKey, step: int, here: dict[str, int]) -> list[object]:
        channels = self._rows[scene]
        name, index = next(iter(here.items()))
        missing = max(int(channels[n].missing[i]) for n, i in here.items())
        line: list[object] = [
            self._names[scene],
            step,
            _exact(channels[name].session_time[index]),
            _exact(channels[name].time[index]),
            missing,
        ]
        for each in self._series:
            at = here.get(each.channel) if each.scene == scene else None
            rows = channels.get(each.channel)
            if at is None or rows is None:
                line.append("")
            else:
                line.append(_exact(rows.values[at, each.component]))
        return line


def _exact(value: np.float64) -> str:
    return repr(float(value))
