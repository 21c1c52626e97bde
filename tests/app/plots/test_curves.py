"""Lines are where their values are, however deep the zoom."""

import numpy as np
import pytest
from PySide6.QtCore import QPointF

from stroboscope.app.models.plot_store import PlotSeriesId, SceneKey
from stroboscope.app.models.polyline import Polyline
from stroboscope.resources.themes import DARK

SERIES = PlotSeriesId(SceneKey("session", 1), "q")
COLOUR = "#ff0000"


@pytest.fixture
def view(show):
    from stroboscope.app.plots.plot_view import PlotView

    return show(PlotView(DARK), 800, 300)


def line(x, y, connect=None):
    connect = np.append(np.ones(len(x) - 1, bool), False) if connect is None else connect
    joined = connect.copy()
    joined[1:] |= connect[:-1]
    return Polyline(np.array(x, float), np.array(y, float), connect, np.flatnonzero(~joined))


def rows_of_colour(view, time):
    """Return the values [low, high] that are drawn in the line's colour at a session time."""
    view.settle()
    image = view.grab().toImage()
    scale = image.devicePixelRatio()
    box = view._box
    column = box.mapFromView(QPointF(time, 0.0))
    x = round(view.mapFromScene(box.mapToScene(column)).x() * scale)
    found = []
    for y in range(image.height()):
        if any(image.pixelColor(x + d, y).name() == COLOUR for d in (-1, 0, 1)):
            at = view.mapToScene(0, round(y / scale))
            found.append(box.mapSceneToView(at).y())
    return (min(found), max(found)) if found else None


@pytest.mark.parametrize("span", [2.0, 0.01, 1e-5])
def test_a_line_between_two_rows_is_right_also_when_only_a_tiny_part_is_seen(view, span):
    view.set_lines({SERIES: line([0.0, 1.0], [0.0, 1.0])}, {SERIES: COLOUR})
    for middle in (0.25, 0.6):
        view.set_time_range(middle - 0.5 * span, middle + 0.5 * span)
        low, high = rows_of_colour(view, middle)
        assert low == pytest.approx(middle, abs=0.02)
        assert high == pytest.approx(middle, abs=0.02)


@pytest.mark.parametrize("pieces", [3, 60])
def test_nothing_is_drawn_across_gaps(view, pieces):
    x = np.repeat(np.arange(pieces), 2) + np.tile([0.1, 0.6], pieces)
    connect = np.tile([True, False], pieces)
    y = np.full(2 * pieces, 0.5)
    view.set_lines({SERIES: line(x, y, connect)}, {SERIES: COLOUR})
    view.set_time_range(0.0, 3.0)
    assert rows_of_colour(view, 1.35) is not None
    assert rows_of_colour(view, 1.85) is None


def test_a_lonely_point_is_a_dot(view):
    view.set_lines({SERIES: line([1.0], [2.0], np.array([False]))}, {SERIES: COLOUR})
    view.set_time_range(0.0, 2.0)
    low, high = rows_of_colour(view, 1.0)
    assert low < 2.0 < high


def test_lines_are_seen_where_a_view_has_just_gone(view):
    """A view's matrices lag behind its range until it is painted."""
    view.set_lines({SERIES: line([0.0, 1.0], [0.0, 1.0])}, {SERIES: COLOUR})
    view.set_time_range(0.0, 1.0)
    view.settle()
    view.set_time_range(100.0, 101.0)
    view.set_lines({SERIES: line([100.0, 101.0], [39.0, 40.0])}, {SERIES: COLOUR})
    view.now_line.set_times([100.5])
    assert view._curves.boundingRect().contains(QPointF(100.5, 39.5))
    assert view.now_line.boundingRect().contains(QPointF(100.5, 39.5))
    assert rows_of_colour(view, 100.25) is not None


def blown_up(largest=1e8):
    """A swing of ±1 about 0 whose last rows go to ``largest``."""
    y = np.concatenate((np.sin(np.arange(400) / 20.0), np.geomspace(5.0, largest, 10)))
    return line(np.arange(len(y)) * 0.01, y)


def test_a_blow_up_leaves_the_rest_readable_and_is_pointed_at(view):
    view.set_time_range(0.0, 4.2)
    view.set_lines({SERIES: line([0.0, 1.0], [0.0, 1.0])}, {SERIES: COLOUR})
    assert not view.outside.isVisible()
    for largest in (50.0, 4e3, 1e5, 1e8):  # as it grows before somebody's eyes
        view.set_lines({SERIES: blown_up(largest)}, {SERIES: COLOUR})
    low, high = view.value_range
    assert -10.0 < low <= -0.99
    assert 0.99 <= high < 10.0
    assert view.outside.isVisible()
    assert view.outside.text() == "▲ 1.0×10⁸"
    ((time, above),) = view._outside.marks
    assert above
    assert 4.0 <= time <= 4.1
    # The arrow stands at the upper edge.
    rows = rows_of_colour(view, time)
    assert rows is not None
    assert rows[1] == pytest.approx(high, abs=0.1 * (high - low))


def test_a_click_shows_the_blow_up_and_another_the_rest(view):
    from PySide6.QtCore import Qt
    from PySide6.QtTest import QTest

    view.set_time_range(0.0, 4.2)
    view.set_lines({SERIES: blown_up()}, {SERIES: COLOUR})
    assert view.leaves_out
    QTest.mouseClick(view.outside, Qt.MouseButton.LeftButton)
    assert view.value_range[1] >= 1e8
    assert not view.leaves_out
    view.set_lines({SERIES: blown_up()}, {SERIES: COLOUR})
    assert view.value_range[1] >= 1e8
    view.show_all_values()  # what a double click does
    assert view.value_range[1] < 10.0
    assert view.leaves_out
    # A range that somebody has chosen has no arrows.
    view.set_automatic_values(False)
    assert not view.outside.isVisible()
    assert view._outside.marks == ()
