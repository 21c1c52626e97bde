"""Axis labels keep still and can be read."""

import numpy as np
import pytest

from stroboscope.app.plots.axes import TimeAxis, ValueAxis, decimals_for, nice_range


@pytest.mark.parametrize(
    ("spacing", "decimals"), [(1.0, 0), (0.5, 1), (0.1, 1), (0.02, 2), (250.0, 0), (1e-5, 5)]
)
def test_decimals_tell_neighbouring_ticks_apart(spacing, decimals):
    assert decimals_for(spacing) == decimals


def test_a_nice_range_holds_the_values_and_has_room():
    rng = np.random.default_rng(0)
    for _ in range(500):
        low, high = sorted(rng.standard_normal(2) * 10.0 ** rng.integers(-8, 8))
        start, end = nice_range(low, high)
        assert start <= low < high <= end
        assert end - start <= 2.0 * (high - low)


@pytest.mark.parametrize("value", [0.0, 1.0, -3.5, 1e-12, 1e12])
def test_a_constant_value_has_a_range_around_it(value):
    start, end = nice_range(value, value)
    assert start < value < end


@pytest.mark.parametrize("value", [0.61143, -0.61143, 9.81e6, 3e-8])
@pytest.mark.parametrize("noise", [1e-16, 1e-12, 1e-9, 1e-7, 9e-7])
def test_a_value_that_only_rounding_moves_is_a_still_line_in_the_middle(value, noise):
    low, high = sorted((value, value * (1.0 + noise)))
    start, end = nice_range(low, high)
    assert high - low < 1e-4 * (end - start)
    assert 0.3 < (value - start) / (end - start) < 0.7


@pytest.mark.parametrize("noise", [1e-17, 1e-14])
def test_a_zero_that_only_rounding_moves_is_drawn_as_a_zero(noise):
    assert nice_range(-noise, noise) == nice_range(0.0, noise) == nice_range(0.0, 0.0)


def test_a_drift_that_the_numbers_can_tell_fills_the_plot():
    start, end = nice_range(0.61143, 0.61143 * (1.0 + 3e-6))
    assert end - start < 4e-6


def test_a_value_growing_a_little_does_not_change_the_range():
    assert nice_range(-1.1, 1.1) == nice_range(-1.101, 1.102)


def test_large_values_share_a_power_of_ten_that_does_not_toggle(qapp):
    axis = ValueAxis()
    axis.set_unit("N·m")
    axis.follow_range(-5e6, 5e6)
    assert axis.tickStrings([0.0, 2e6], 1.0, 2e6) == ["0", "2"]
    assert "×10⁶" in axis.labelText
    assert "N·m" in axis.labelText
    axis.follow_range(-9e5, 9e5)
    assert "×10⁶" in axis.labelText
    for ordinary in (1.0, 0.02, 5000.0):
        axis.follow_range(-1e-7, 1e-7)
        assert "×10" in axis.labelText
        axis.follow_range(-ordinary, ordinary)
        assert "×10" not in axis.labelText


def test_ticks_have_equal_decimals_and_a_real_minus_sign(qapp):
    axis = ValueAxis()
    assert axis.tickStrings([-0.5, 0.0, 0.5], 1.0, 0.5) == ["−0.5", "0.0", "0.5"]
    assert TimeAxis().tickStrings([7.2, 7.4], 1.0, 0.2) == ["7.2\u202fs", "7.4\u202fs"]


def test_a_small_drift_of_a_large_value_is_labelled_from_an_offset_that_keeps_still(qapp):
    axis = ValueAxis()
    axis.set_unit("rad")
    axis.follow_range(0.0258059810, 0.0258059880)
    first = axis.labelText
    assert first.startswith("0.02580598 +<br>")
    ticks = [0.025805982, 0.025805984, 0.025805986]
    assert axis.tickStrings(ticks, 1.0, 2e-9) == ["2", "4", "6"]
    assert "×10⁻⁹" in first
    axis.follow_range(0.0258059812, 0.0258059882)
    assert axis.labelText == first
    axis.follow_range(0.0, 0.05)
    assert "+" not in axis.labelText
    assert axis.tickStrings([0.02], 1.0, 0.01) == ["0.02"]


def test_an_offset_of_negative_values_has_a_real_minus_sign(qapp):
    axis = ValueAxis()
    axis.follow_range(-981.00021, -981.00011)
    assert axis.labelText.startswith("−981.0003 +") or axis.labelText.startswith("−981.001 +")
    assert all(float(t.replace("−", "-")) >= 0.0 for t in axis.tickStrings([-981.0002], 1.0, 1e-4))
