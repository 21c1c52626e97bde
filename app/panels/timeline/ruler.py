"""The numbers above the timeline, which make room for the flag of where the view stands."""

import dataclasses

from PySide6.QtGui import QFontMetrics

from stroboscope.app.models.numbers import count_text
from stroboscope.app.panels.timeline.geometry import FLAG_PX
from stroboscope.app.panels.timeline.scale import AxisScale

__all__ = ["RulerLabel", "ruler_labels"]

TICK_PX = 84.0
_GAP_PX = 3.0


@dataclasses.dataclass(frozen=True, slots=True)
class RulerLabel:
    """A tick's number, from ``left`` [px] on."""

    text: str
    left: float


def ruler_labels(
    scale: AxisScale, metrics: QFontMetrics, *, flag: float | None
) -> tuple[RulerLabel, ...]:
    """Return the numbers of the ticks; ``flag`` is where that of the view stands [px].

    A number stands right of its tick. Where the flag or the picture's edge is in the way it stands
    left of it, and left of the flag; where the number before leaves no room there, nowhere.
    """
    width = 2.0 * scale.left + scale.width
    labels: list[RulerLabel] = []
    taken = -_GAP_PX
    for tick in scale.ticks(TICK_PX):
        text = count_text(tick)
        at, room = round(scale.x(tick)) + 0.5, float(metrics.horizontalAdvance(text))
        left = at + _GAP_PX
        if left + room > width or _covers(flag, left, left + room):
            left = at - _GAP_PX - room
            if _covers(flag, left, left + room):
                left = (flag or 0.0) - FLAG_PX - _GAP_PX - room
        if left >= taken + _GAP_PX:
            labels.append(RulerLabel(text, left))
            taken = left + room
    return tuple(labels)


def _covers(flag: float | None, left: float, right: float) -> bool:
    reach = FLAG_PX + 0.5 * _GAP_PX
    return flag is not None and left - reach < flag < right + reach
