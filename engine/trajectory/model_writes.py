"""The very step before which a script has written into its model, found by stepping.

While it is recorded, the model is looked at now and then: an event says what was written, and since
which step at the earliest. Rows between the two belong to the old model or to the new one; which,
says the step that begins there, as it leads to the next row with one of them only.
"""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from stroboscope.debugger_protocol.time_messages import Segment, SegmentKind
from stroboscope.engine.errors import StateError
from stroboscope.engine.files.errors import FileError
from stroboscope.engine.history.segments import Stretch
from stroboscope.engine.trajectory.recorded_rows import RecordedRows
from stroboscope.engine.trajectory.steps_again import StepsAgain

if TYPE_CHECKING:
    from stroboscope.engine.trajectory.replayed_scene import ReplayedScene

__all__ = ["with_models_in_place"]

_TEXT = "the model was changed"


def with_models_in_place(
    replayed: "ReplayedScene", rows: RecordedRows, stretches: Sequence[Stretch]
) -> list[Stretch]:
    """Return the stretches, each with a model of its own from the step on that was taken with it.

    One whose step can't be found (several values followed each other, a callback of this process
    would be called) stays where somebody has looked.
    """
    doubtful = [each for each in stretches if 0 <= each.model_since < each.segment.begin]
    if not doubtful:
        return list(stretches)
    try:
        search = _Search(replayed, rows)
    except StateError:
        return list(stretches)
    placed: list[Stretch] = []
    for stretch in stretches:
        frame = search.first_step_of(stretch, placed[-1]) if placed else -1
        if frame < 0:
            placed.append(stretch)
            continue
        placed.append(_begun_at(frame, stretch, replayed, rows))
        if not _is_only_of_model(stretch, rows):
            placed.append(stretch)
    return placed


def _is_only_of_model(stretch: Stretch, rows: RecordedRows) -> bool:
    """Return whether nothing but the model was changed where a stretch begins."""
    segment = stretch.segment
    return segment.kind is SegmentKind.EDIT and rows.follows_at(segment.begin)


def _begun_at(
    frame: int, stretch: Stretch, replayed: "ReplayedScene", rows: RecordedRows
) -> Stretch:
    before, counters = replayed.place(frame)
    axis = rows.axis(frame)
    segment = Segment(
        segment_id=0,
        kind=SegmentKind.EDIT,
        begin=axis,
        episode=before.segment.episode,
        physics_step=counters.physics_step_count,
        step_count=counters.step_count,
        time=rows.time(frame),
        text=_TEXT,
    )
    if _is_only_of_model(stretch, rows):
        segment = msgspec.structs.replace(segment, text=stretch.segment.text)
    return dataclasses.replace(
        stretch, segment=segment, total_steps=rows.step(frame), model_since=axis
    )


class _Search:
    """Takes steps again, with the model before and behind a change."""

    def __init__(self, replayed: "ReplayedScene", rows: RecordedRows) -> None:
        self._again = StepsAgain(replayed, rows)
        self._rows = rows

    def first_step_of(self, stretch: Stretch, before: Stretch) -> int:
        """Return the first frame whose step was taken with a stretch's model; -1: as it says."""
        since = max(stretch.model_since, before.segment.begin)
        if stretch.model_since < 0 or since >= stretch.segment.begin:
            return -1
        try:
            low, high = self._rows.frame_at(since), self._rows.frame_at(stretch.segment.begin)
            last = high
            if low < 0 or high < 0:
                return -1
            while low < high:
                middle = (low + high) // 2
                if self._leads_on(middle, before):
                    low = middle + 1
                else:
                    high = middle
            return low if low < last and self._leads_on(low, stretch) else -1
        except (FileError, StateError, LookupError):
            return -1  # what would tell is lost, or was never stored

    def _leads_on(self, frame: int, stretch: Stretch) -> bool:
        """Return whether the step of a frame leads to the next with the model of a stretch."""
        rows, again = self._rows, self._again
        after = rows.stored(frame + 1)
        is_next = rows.axis(frame + 1) == rows.axis(frame) + 1
        if after is None or not is_next or not rows.follows(frame + 1):
            raise StateError(f"frame {frame} says nothing of the model")
        again.put(frame)
        again.put_options_of(stretch, timestep=rows.timestep(frame))
        again.step()
        reached = again.row()
        begin, end = rows.record.inputs
        reached[begin:end] = after[begin:end]
        return reached.tobytes() == after.tobytes()
