"""What a plot's range holds when a few values are out of all proportion."""

import numpy as np
import pytest

from stroboscope.app.models.polyline import Polyline
from stroboscope.app.models.value_range import ordinary_extremes


def line(y):
    y = np.array(y, dtype=float)
    connect = np.append(np.ones(len(y) - 1, bool), False)
    return Polyline(np.arange(len(y), dtype=float), y, connect, np.empty(0, np.intp))


SWING = np.sin(np.arange(200) / 9.0)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("largest", [60.0, 700.0, 1e5, 1e8, 1e300])
def test_a_blow_up_at_the_end_is_left_out(sign, largest):
    blown = sign * np.geomspace(5.0, largest, 12)
    low, high = ordinary_extremes(line([*SWING, *blown]))
    assert low == pytest.approx(-1.0, abs=0.1) or sign < 0.0
    assert high == pytest.approx(1.0, abs=0.1) or sign > 0.0
    assert -10.0 < low < high < 10.0


def test_one_wild_value_among_many_is_left_out_wherever_it_is():
    y = SWING.copy()
    y[70] = 1e8
    assert ordinary_extremes(line(y)) == pytest.approx((-1.0, 1.0), abs=0.01)


@pytest.mark.parametrize(
    "y",
    [
        [*np.zeros(300), 800.0, *np.zeros(5)],  # the one contact there is
        [*np.full(300, 2.5), 1e9],  # nothing else moves
        [*SWING, 500.0, *SWING],  # an impact
        [*np.geomspace(1.0, 1e9, 100)],  # grows all the time: that is the signal
        [*SWING, *np.linspace(1e6, 2e6, 100)],  # a third of what is shown
        [0.1, 0.2, 1e8],  # too little to tell
        SWING,
    ],
)
def test_nothing_is_left_out_of_what_is_shown_to_be_seen(y):
    assert ordinary_extremes(line(y)) == (min(y), max(y))


def test_a_blow_up_before_a_reset_is_left_out_and_an_impact_in_the_next_episode_is_not():
    y = np.concatenate((SWING, np.geomspace(5.0, 3e3, 8), SWING, [30.0], SWING))
    blown = line(y)
    blown.connect[len(SWING) + 8 - 1] = False
    low, high = ordinary_extremes(blown)
    assert low == pytest.approx(-1.0, abs=0.01)
    assert high == 30.0


def test_no_points_have_no_range():
    assert ordinary_extremes(line([0.0])) == (0.0, 0.0)
    empty = Polyline(np.empty(0), np.empty(0), np.empty(0, np.bool_), np.empty(0, np.intp))
    assert ordinary_extremes(empty) is None
