"""The word-sized plot."""

import numpy as np
from PySide6.QtGui import QColor

from stroboscope.app.plots.sparkline import Sparkline
from stroboscope.resources.themes import DARK


def inked_rows(widget):
    image = widget.grab().toImage()
    accent = QColor(DARK.accent)
    return {
        y
        for y in range(image.height())
        for x in range(image.width())
        if image.pixelColor(x, y) == accent
    }


def test_it_draws_from_the_lowest_to_the_highest_value(show):
    spark = show(Sparkline(DARK), 64, 16)
    spark.set_values(np.linspace(0.0, 1.0, 100))
    rows = inked_rows(spark)
    assert min(rows) <= 2
    assert max(rows) >= spark.height() - 3


def test_a_constant_value_is_a_level_line_in_the_middle(show):
    spark = show(Sparkline(DARK), 64, 16)
    for _ in range(10):
        spark.push(3.0)
    assert len(inked_rows(spark)) == 1


def test_a_value_that_only_rounding_moves_is_a_level_line(show):
    spark = show(Sparkline(DARK), 64, 16)
    spark.set_values(0.61143 * (1.0 + 3e-7 * np.random.default_rng(0).standard_normal(100)))
    assert len(inked_rows(spark)) > 1
    spark.set_values(0.61143 * (1.0 + 1e-7 * np.random.default_rng(0).random(100)))
    assert len(inked_rows(spark)) == 1


def test_it_keeps_only_the_newest_values(show):
    spark = show(Sparkline(DARK), 64, 16)
    for value in range(1000):
        spark.push(float(value))
    assert spark.values[-1] == 999.0
    assert len(spark.values) == 240


def test_values_that_are_not_finite_break_the_line_and_nothing_else(show):
    spark = show(Sparkline(DARK), 64, 16)
    spark.set_values(np.array([0.0, 1.0, np.nan, np.inf, 0.0, 1.0]))
    assert inked_rows(spark)
    spark.set_values(np.array([np.nan, np.nan]))
    assert not inked_rows(spark)
    spark.clear()
    assert not inked_rows(spark)
