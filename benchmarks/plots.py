"""How long the plots take to draw: eight series in one plot, following and standing still.

    python benchmarks/plots.py [--rows 100000] [--repeats 60]

Prints medians and the range of single redraws, in milliseconds, on the display there is.
"""

import argparse
import statistics
import time

import numpy as np
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from stroboscope.app.models.plot_store import PlotSeriesId, PlotStore, SceneKey
from stroboscope.app.models.polyline import visible_polyline
from stroboscope.app.plots.plot_panel import PlotPanel
from stroboscope.debugger_protocol.scene_description import ChannelInfo
from stroboscope.resources.themes import DARK

SERIES = 8
KEY = SceneKey("benchmark", 1)


def _report(name: str, seconds: list[float]) -> None:
    ms = sorted(1e3 * each for each in seconds)
    print(f"{name:44s} median {statistics.median(ms):7.2f} ms   {ms[0]:.2f} … {ms[-1]:.2f}")


def _timed(repeats: int, action: object) -> list[float]:
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()  # type: ignore[operator]
        seconds.append(time.perf_counter() - start)
    return seconds


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=60)
    arguments = parser.parse_args()
    app = QApplication([])
    store = PlotStore()
    store.add_scene(KEY, name="benchmark", timestep=0.002)
    store.set_channels(KEY, [ChannelInfo(name="q", width=SERIES)])
    panel = PlotPanel(store, DARK)
    panel.resize(1280, 220)
    panel.show()
    QTest.qWaitForWindowExposed(panel)
    panel.add_signals(*(PlotSeriesId(KEY, "q", i) for i in range(SERIES)))
    rng = np.random.default_rng(0)
    step = 0

    def feed(rows: int) -> None:
        nonlocal step
        axis = np.arange(step, step + rows, dtype=np.int64)
        phase = axis[:, None] / (200.0 + 40.0 * np.arange(SERIES)) + np.arange(SERIES)
        values = np.sin(phase) + 0.05 * rng.standard_normal((rows, SERIES))
        store.append(KEY, axis, 0.002 * axis, {"q": values})
        step += rows

    def draw() -> None:
        panel.refresh()
        for cell in panel.cells:
            cell.view.viewport().repaint()
        app.processEvents()

    feed(arguments.rows)
    columns = store.columns(KEY, "q")
    assert columns is not None
    end = float(columns.session_time[-1])
    seconds = _timed(
        arguments.repeats,
        lambda: [
            visible_polyline(columns, i, start=0.0, end=end, pixels=960) for i in range(SERIES)
        ],
    )
    print(f"{SERIES} series x {columns.count} steps, {store.nbytes / 2**20:.1f} MiB")
    _report("decimate all (no drawing)", seconds)
    panel.fit()
    draw()
    _report("redraw everything, whole length", _timed(arguments.repeats, draw))
    panel.time_view.set_follow(True)
    panel.time_view.choose_span(10.0)

    def advance_and_draw() -> None:
        feed(17)
        draw()

    draw()
    _report(
        "append 17 steps and redraw, following 10 s", _timed(arguments.repeats, advance_and_draw)
    )
    panel.close()


if __name__ == "__main__":
    main()
