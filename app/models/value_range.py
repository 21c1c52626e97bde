"""Which values the range of a plot should hold, where some are out of all proportion."""

import itertools

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.polyline import Polyline

__all__ = ["ordinary_extremes"]

# Fewer points than this say nothing about what is ordinary.
_FEWEST = 10
# So much of a line's points is ordinary.
_ORDINARY_PART = 0.9
# What goes beyond ordinary values so many times is out of all proportion: the rest would be less
# than a pixel high. Impacts and other peaks stay below it.
_OUT_OF_PROPORTION = 1000.0
# At the end of a line, where it goes up and up until the scene stops or begins anew, this tells a
# blow-up: a wall that is met there goes down again.
_BLOWN_UP = 40.0
# The greatest value of a line that blows up is among so many last points of it.
_LAST = 4
# What is within so many times the ordinary values is seen with them.
_WITHIN = 4.0
# Values that differ by no more than this part of them are still.
_STILL = 1e-6


def ordinary_extremes(line: Polyline) -> tuple[float, float] | None:
    """Return the least and greatest y without those of a blow-up, None when there is no point.

    A step that goes wrong makes numbers a million times those before it, in a few rows. Where
    nothing but that moves, it is what there is to see: nothing is left out.
    """
    extremes = line.extremes
    y = line.y
    if extremes is None or len(y) < _FEWEST:
        return extremes
    with np.errstate(over="ignore"):
        middle = float(np.median(y))
        away = np.abs(y - middle)
    last = int(_ORDINARY_PART * (len(y) - 1))
    usual = float(np.partition(away, last)[last])
    if float(away.max()) <= _BLOWN_UP * usual or usual <= _STILL * abs(middle):
        return extremes
    kept = np.ones(len(y), dtype=np.bool_)
    ends = np.append(np.flatnonzero(~line.connect[:-1]), len(y) - 1)
    for begin, end in itertools.pairwise([0, *(ends + 1).tolist()]):
        _leave_out_blow_up(away[begin:end], kept[begin:end], usual)
    if float(away[kept].max()) > _OUT_OF_PROPORTION * usual:
        kept &= away <= _WITHIN * usual
    return float(y[kept].min()), float(y[kept].max())


def _leave_out_blow_up(away: NDArray[np.float64], kept: NDArray[np.bool_], usual: float) -> None:
    """Clear ``kept`` for the points of one run that lead up to a blow-up at its end."""
    if int(np.argmax(away)) < len(away) - _LAST or float(away.max()) <= _BLOWN_UP * usual:
        return
    ordinary = np.flatnonzero(away <= _WITHIN * usual)
    begin = int(ordinary[-1]) + 1 if len(ordinary) else 0
    kept[begin:] = False
