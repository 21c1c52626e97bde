"""The very step before which a script has written into its model, found by stepping.

See :mod:`stroboscope.engine.history.model_placing`: this is of the rows of a file.
"""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from stroboscope.engine.checkpoint import Counters
from stroboscope.engine.errors import StateError
from stroboscope.engine.frames.evaluation import results
from stroboscope.engine.history.model_placing import Placed, placed_where_it_was_written
from stroboscope.engine.history.past import VERIFIED
from stroboscope.engine.history.segments import Stretch
from stroboscope.engine.model_option_fields import field_width
from stroboscope.engine.trajectory.recorded_rows import RecordedRows, Row
from stroboscope.engine.trajectory.steps_again import StepsAgain

if TYPE_CHECKING:
    from stroboscope.engine.trajectory.replayed_scene import ReplayedScene

__all__ = ["with_models_in_place"]


def with_models_in_place(
    replayed: "ReplayedScene", rows: RecordedRows, stretches: Sequence[Stretch]
) -> tuple[list[Stretch], list[Placed]]:
    """Return the stretches, each with a model of its own from the step on that was taken with it.

    And those of which that is not known for all steps: several values followed each other, no step
    tells, a callback of this process would be called.
    """
    if not any(each.has_unknown_begin for each in stretches):
        return list(stretches), []
    try:
        steps = _RecordedSteps(replayed, rows)
    except StateError:
        return list(stretches), []
    placed: list[Stretch] = []
    doubts: list[Placed] = []
    for each in stretches:
        stretch = _within(each, rows)
        if not placed or not stretch.has_unknown_begin:
            placed.append(stretch)
            continue
        found = placed_where_it_was_written(stretch, placed[-1], steps)
        placed += found.stretches
        if found.first < found.end:
            doubts.append(found)
    return placed, doubts


def _within(stretch: Stretch, rows: RecordedRows) -> Stretch:
    """Return a stretch whose model was written not before the first row, where that is not known.

    A part of a file may hold only some of the rows that it may have been written at.
    """
    first = rows.axis(0)
    if not stretch.has_unknown_begin or not stretch.model_since < first < stretch.segment.begin:
        return stretch
    return dataclasses.replace(stretch, model_since=first)


class _RecordedSteps:
    """Takes recorded steps again, with the model before and behind a change."""

    def __init__(self, replayed: "ReplayedScene", rows: RecordedRows) -> None:
        self._again = StepsAgain(replayed, rows)
        self._replayed, self._rows = replayed, rows

    def leads_on(self, axis: int, stretch: Stretch) -> bool:
        """Return whether the step of a row leads to the next one with the model of a stretch."""
        rows, again, frame = self._rows, self._again, self._rows.frame_at(axis)
        after = self._had(frame + 1) if 0 <= frame < rows.last_whole else None
        if after is None or rows.axis(frame + 1) != axis + 1 or not rows.follows(frame + 1):
            raise StateError(f"the row before step {axis} says nothing of the model")
        note = self._replayed.state(frame)[2]
        if note not in ("", VERIFIED):
            raise StateError(f"the row before step {axis} can't be had: {note}")
        again.put(frame)
        again.put_options_of(stretch, timestep=rows.timestep(frame))
        again.step()
        reached = again.row()
        begin, end = rows.record.inputs
        reached[begin:end] = after[begin:end]
        return reached.tobytes() == after.tobytes()

    def _had(self, frame: int) -> Row | None:
        """Return a row that is stored, or that steps lead to as recorded; else None."""
        stored = self._rows.stored(frame)
        if stored is not None:
            return stored
        row, _, note = self._replayed.state(frame)
        return row if note == VERIFIED else None

    def shows(self, axis: int, first: Stretch, second: Stretch) -> bool:
        """Return whether what follows from the state of a row differs between two models."""
        rows, again, frame = self._rows, self._again, self._rows.frame_at(axis)
        if frame < 0:
            raise LookupError(axis)
        seen: set[bytes] = set()
        for stretch in (first, second):
            again.put(frame)
            again.put_options_of(stretch, timestep=rows.timestep(frame))
            again.evaluate()
            seen.add(results(again.data))
        return len(seen) > 1

    def values(self, stretch: Stretch, name: str) -> tuple[float, ...]:
        """Return what a field of the model had in a stretch."""
        return self._again.options_of(stretch)[name]

    def width(self, name: str) -> int:
        """Return how many numbers of a field belong to one object."""
        return field_width(self._again.model, name)

    def stands_at(self, axis: int) -> tuple[Counters, int, float]:
        """Return the counters of a row, how many steps had ever been taken, and its time [s]."""
        frame = self._rows.frame_at(axis)
        counters = self._replayed.place(frame)[1]
        return counters, self._rows.step(frame), self._rows.time(frame)

    def follows_at(self, axis: int) -> bool:
        """Return whether a row follows from the one before, but for its model."""
        return self._rows.follows_at(axis)
