"""A plot takes all its widgets with it: none is left for Python to find in its garbage."""

import shiboken6
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget

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
