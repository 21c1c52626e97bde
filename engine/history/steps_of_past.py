"""Steps of a scene's past as what searches for a change of its model takes them again."""

from typing import TYPE_CHECKING

from stroboscope.engine.checkpoint import Counters
from stroboscope.engine.history.segments import Stretch
from stroboscope.engine.model_option_fields import field_width

if TYPE_CHECKING:
    from stroboscope.engine.history.past import Past

__all__ = ["StepsOfPast"]


class StepsOfPast:
    """Takes remembered steps again, to find the first one that was taken with another model.

    ``later``: the stretch whose begin is searched; ``before``: the one that the steps belong to as
    far as anybody knows.
    """

    def __init__(self, past: "Past", later: Stretch, *, before: Stretch) -> None:
        self._past, self._before = past, before
        self._end, self._left = later.segment.begin, later.left

    def leads_on(self, axis: int, stretch: Stretch) -> bool:
        """Return whether the step of a row leads to the next one with the model of a stretch.

        A row that was thinned out is stepped to with the model before: where that leads elsewhere,
        the other one was in force already.
        """
        left = self._left if axis + 1 == self._end else b""
        return self._past.leads_on(axis, stretch, left=left)

    def shows(self, axis: int, first: Stretch, second: Stretch) -> bool:
        """Return whether what follows from the state of a row differs between two models."""
        return self._past.computed(axis, first) != self._past.computed(axis, second)

    def values(self, stretch: Stretch, name: str) -> tuple[float, ...]:
        """Return what a field of the model had in a stretch."""
        return self._past.options_of(stretch)[name]

    def width(self, name: str) -> int:
        """Return how many numbers of a field belong to one object."""
        return field_width(self._past.model, name)

    def stands_at(self, axis: int) -> tuple[Counters, int, float]:
        """Return the counters of a row, how many steps had ever been taken, and its time [s]."""
        return self._past.stands_at(axis, stretch=self._before)

    def follows_at(self, axis: int) -> bool:
        """Return whether a row follows from the one before, but for its model."""
        return self._past.follows_at(axis)
