"""What stands how high in the timeline: ruler, marks, the scene's line, what was left behind."""

import dataclasses

__all__ = ["FLAG_PX", "RULER_PX", "TimelineRows"]

RULER_PX = 16
FLAG_PX = 5.0
"""How far the flag of where the view stands reaches to each side, in the ruler."""
_MARKS_PX = 12
_LINE_PX = 16
_LANE_PX = 9
_LEAST_LANE_PX = 4
_GAP_PX = 3
_NAMED_PX = 13
_MOST_FULL = 3


@dataclasses.dataclass(frozen=True, slots=True)
class TimelineRows:
    """Heights [px] for ``count`` lanes in a widget that is ``height`` high."""

    height: int
    count: int

    @property
    def marks_top(self) -> int:
        """Where marks begin."""
        return RULER_PX

    @property
    def line_top(self) -> int:
        """Where the scene's own line begins."""
        return RULER_PX + _MARKS_PX

    @property
    def line_height(self) -> int:
        """How high the scene's own line is: all there is, without branches."""
        room = self.height - self.line_top - _GAP_PX
        if self.count <= 1:
            return min(max(room, _LEAST_LANE_PX), 2 * _LINE_PX)
        return min(_LINE_PX, max(room - (self.count - 1) * (_LEAST_LANE_PX + _GAP_PX), 6))

    @staticmethod
    def least_height(count: int) -> int:
        """Return the height [px] in which names of episodes are read above ``count`` lanes."""
        below = min(max(count - 1, 0), _MOST_FULL) * (_LEAST_LANE_PX + _GAP_PX)
        return RULER_PX + _MARKS_PX + _NAMED_PX + below + _GAP_PX

    def lane(self, number: int) -> tuple[int, int]:
        """Return top and height of a lane; 0 is the scene's own line."""
        if number == 0:
            return self.line_top, self.line_height
        top = self.line_top + self.line_height + _GAP_PX
        room = max(self.height - top - _GAP_PX, _LEAST_LANE_PX)
        each = room // max(self.count - 1, 1)
        height = min(max(each - _GAP_PX, _LEAST_LANE_PX), _LANE_PX)
        return top + (number - 1) * min(each, _LANE_PX + _GAP_PX), height
