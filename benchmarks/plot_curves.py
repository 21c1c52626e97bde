"""Row 12: what plots cost the GUI thread: 20 curves of 5,000 samples, 25 pictures a second."""

import os
import time

import numpy as np
from harness import Measured, Row, Settings, run_alone
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from stroboscope.app.models.plot_store import PlotSeriesId, PlotStore, SceneKey
from stroboscope.app.plots.plot_panel import PlotPanel
from stroboscope.debugger_protocol.scene_description import ChannelInfo
from stroboscope.resources.themes import DARK

KEY = SceneKey("benchmark", 1)
CURVES, SAMPLES, RATE = 20, 5000, 25
TIMESTEP = 0.002
STEPS_PER_FRAME = round(1.0 / (RATE * TIMESTEP))
UNITS = ("rad", "rad/s", "N·m")


class Feed:
    """Noisy sines, one physics step after another."""

    def __init__(self, store: PlotStore) -> None:
        self._store = store
        self._step = 0
        self._rng = np.random.default_rng(0)

    def advance(self, steps: int) -> None:
        """Append rows."""
        axis = np.arange(self._step, self._step + steps, dtype=np.int64)
        self._step += steps
        phase = axis[:, None] / (60.0 + 11.0 * np.arange(CURVES)) + np.arange(CURVES)
        values = np.sin(phase) + 0.05 * self._rng.standard_normal((steps, CURVES))
        self._store.append(KEY, axis, TIMESTEP * axis, {"q": values})


def measure(settings: Settings) -> list[Row]:
    """Time frames of the panel: append what came, draw all curves, paint them."""
    if "DISPLAY" not in os.environ and "WAYLAND_DISPLAY" not in os.environ:
        raise SystemExit("plot_curves needs a display: run it under `xvfb-run -a`")
    application = QApplication.instance() or QApplication([])
    store = PlotStore()
    store.add_scene(KEY, name="benchmark", timestep=TIMESTEP)
    units = tuple(UNITS[i % len(UNITS)] for i in range(CURVES))
    store.set_channels(KEY, [ChannelInfo(name="q", width=CURVES, units=units)])
    panel = PlotPanel(store, DARK)
    panel.resize(1280, 480)
    panel.show()
    QTest.qWaitForWindowExposed(panel)
    panel.add_signals(*(PlotSeriesId(KEY, "q", i) for i in range(CURVES)))
    feed = Feed(store)
    feed.advance(2 * SAMPLES)
    panel.time_view.choose_span(SAMPLES * TIMESTEP)

    def frame() -> float:
        start = time.thread_time()  # of this thread alone: other processes share the cores
        feed.advance(STEPS_PER_FRAME)
        panel.refresh()
        application.processEvents()  # paints, once, what the refresh has changed
        return time.thread_time() - start

    for _ in range(5):
        frame()
    shares = [
        100.0 * RATE * sum(frame() for _ in range(settings.scaled(40))) / settings.scaled(40)
        for _ in range(settings.rounds)
    ]
    panel.close()
    measured = Measured.of(shares)
    return [
        Row(
            number="–",
            what=f"{CURVES} curves × {SAMPLES} samples at {RATE} Hz, pen width 1",
            measured=measured,
            unit="% of a core",
            target="< 50 %",
            reached=measured.median < 50.0,
        )
    ]


if __name__ == "__main__":
    run_alone(measure)
