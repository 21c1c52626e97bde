"""One plot: it takes all its widgets with it, and draws what is still as a level line."""

import numpy as np
import shiboken6
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget

from stroboscope.app.models.plot_store import PlotSeriesId
from stroboscope.app.models.polyline import Polyline
from stroboscope.app.plots.plot_legend import LegendRow, PlotLegend
from stroboscope.app.plots.plot_view import PlotView
from stroboscope.resources.themes import DARK


def test_a_plot_that_is_deleted_leaves_no_widget_behind(show, wait_until):
    panel = show(QWidget(), 300, 200)
    before = set(QApplication.allWidgets())
    column = QVBoxLayout(panel)
    view = PlotView(DARK)
    column.addWidget(view)
    wait_until(view.isVisible)
    assert set(QApplication.allWidgets()) > before
    view.deleteLater()
    wait_until(lambda: not shiboken6.isValid(view))
    assert set(QApplication.allWidgets()) <= before


def test_a_still_signal_is_drawn_as_a_level_line_in_the_middle(show):
    view = show(PlotView(DARK), 400, 200)
    x = np.linspace(0.0, 1.0, 200)
    y = 0.61143 * (1.0 + 1e-7 * np.random.default_rng(0).random(200))
    series = PlotSeriesId("scene", "qpos", 0)
    line = Polyline(x, y, np.ones(200, bool), np.zeros(0, np.intp))
    view.set_time_range(0.0, 1.0)
    view.set_lines({series: line}, {series: "#4C9AFF"})
    low, high = view.value_range
    assert 0.3 < (0.61143 - low) / (high - low) < 0.7
    assert np.ptp(y) < 0.01 * view._box.viewPixelSize()[1]
    assert "×10" not in view.value_axis.labelText


def test_a_legend_names_what_is_plotted_in_full_where_there_is_room_and_numbers_dont_jitter(show):
    legend = show(PlotLegend(DARK), 225, 60)
    legend.setFixedWidth(225)
    shoulder, wrist = PlotSeriesId("scene", "qpos", 0), PlotSeriesId("scene", "qpos", 1)

    def tell(first: str, second: str) -> None:
        legend.set_rows(
            [
                LegendRow(shoulder, "qpos[shoulder]", "#4C9AFF", first, "rad"),
                LegendRow(wrist, "qpos[wrist]", "#FF9F43", second, "rad"),
            ]
        )

    tell("−0.2", "63.7")
    assert legend.shown_name(shoulder) == "qpos[shoulder]"
    tell("−0.2", "−104982.4")
    wide = legend.widget().boxes(0)
    assert wide[1].width() >= legend.widget().fontMetrics().horizontalAdvance("−104982.4")
    tell("−0.2", "1.0")
    assert legend.widget().boxes(0) == wide, "nothing moves when numbers become shorter again"
    name, value, unit = wide
    assert name.right() < value.left()
    assert value.right() < unit.left() < unit.right() < 225
