"""Numbers don't jitter and don't lie."""

import math

import pytest

from stroboscope.app.models.numbers import (
    count_text,
    magnitude_text,
    number_text,
    range_text,
    speed_text,
    with_unit,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e8, "1.0×10⁸"),
        (-3.14159e-5, "−3.1×10⁻⁵"),
        (-350.0, "−350"),
        (1234.0, "1200"),
        (0.0, "0"),
    ],
)
def test_about_how_large_a_number_is_takes_two_digits(value, text):
    assert magnitude_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.4125, "0.412"),
        (-0.4125, "−0.412"),
        (-0.0001, "0.000"),
        (12345.6789, "12345.679"),
        (5e8, "5.000e+08"),
        (-2e-7 * 1e15, "−2.000e+08"),
        (math.nan, "NaN"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
    ],
)
def test_fixed_decimals_with_a_real_minus_sign(value, text):
    assert number_text(value) == text


def test_units_stand_behind_a_thin_space():
    assert with_unit("1.0", "N·m") == "1.0\u202fN·m"
    assert with_unit("1.0", "") == "1.0"


def test_ranges_and_counts():
    assert range_text(-0.5, 0.5, 2) == "±0.50"
    assert range_text(0.0, 1.5, 1) == "0.0 … 1.5"
    assert count_text(3671) == "3\u202f671"


def test_speeds_read_as_people_write_them():
    assert [speed_text(s) for s in (1 / 64, 0.5, 1.0, 2.5, 64.0)] == [
        "1/64×",
        "1/2×",
        "1×",
        "2.5×",
        "64×",
    ]
