"""The very step before which a script has written into its model, found by stepping.

The model is looked at now and then: a stretch says what was written, and since which step at the
earliest. Rows between the two belong to the old model or to the new one; which, says the step that
begins there, as it leads to the next row with one of them only.
"""

import dataclasses
from collections.abc import Callable
from typing import Protocol

import msgspec

from stroboscope.debugger_protocol.time_messages import SegmentKind
from stroboscope.engine.checkpoint import Counters
from stroboscope.engine.errors import StateError
from stroboscope.engine.files.errors import FileError
from stroboscope.engine.history.segments import Stretch
from stroboscope.engine.model_option_fields import FIELD_OPTION

__all__ = ["MODEL_TEXT", "StepsAgain", "begun_where_it_was_written"]

_NOTHING_TELLS = (StateError, FileError, LookupError)
MODEL_TEXT = "the model was changed"
"""How a stretch begins with which nothing but the model was another one."""


class StepsAgain(Protocol):
    """Remembered steps that can be taken again, by the axis."""

    def leads_on(self, axis: int, stretch: Stretch) -> bool:
        """Return whether the step of a row leads to the next one with the model of a stretch.

        Raises StateError, FileError or LookupError where nothing tells.
        """

    def stands_at(self, axis: int) -> tuple[Counters, int, float]:
        """Return the counters of a row, how many steps had ever been taken, and its time [s]."""

    def follows_at(self, axis: int) -> bool:
        """Return whether a row follows from the one before, but for its model."""


def begun_where_it_was_written(
    stretch: Stretch, before: Stretch, steps: StepsAgain
) -> list[Stretch]:
    """Return what takes the place of a stretch whose model was in force before it begins.

    ``before``: the one before it. It stays as it is where the step can't be found: several values
    followed each other, or the rows in between are lost. Raises what ``leads_on`` does.
    """
    written = _of_model_only(stretch, before)
    first, known = _steps_with(written, before, steps)
    found: list[Stretch] = []
    for axis, is_lost in ((first, True), (known, False)):
        if axis < 0 or (is_lost and axis == known):
            continue
        begun = _begun_at(axis, written, before, steps)
        if is_lost:
            text = f"{MODEL_TEXT}: several values followed each other, which nobody has seen"
            segment = msgspec.structs.replace(begun.segment, text=text)
            begun = dataclasses.replace(
                before, segment=segment, total_steps=begun.total_steps, model_is_lost=True
            )
        found.append(begun)
    if not found:
        return [stretch]
    segment = stretch.segment
    if known >= 0 and segment.kind is SegmentKind.EDIT and steps.follows_at(segment.begin):
        # Nothing but the model was another one.
        text = segment.text
        found[-1] = dataclasses.replace(
            found[-1], segment=msgspec.structs.replace(found[-1].segment, text=text)
        )
        return found
    return [*found, dataclasses.replace(stretch, model_since=segment.begin, fields_before=None)]


def _begun_at(axis: int, stretch: Stretch, before: Stretch, steps: StepsAgain) -> Stretch:
    """Return the stretch as it begins at another step of the one before."""
    counters, total_steps, time = steps.stands_at(axis)
    segment = msgspec.structs.replace(
        stretch.segment,
        kind=SegmentKind.EDIT,
        begin=axis,
        parent_axis=axis - 1,
        episode=before.segment.episode,
        physics_step=counters.physics_step_count,
        step_count=counters.step_count,
        time=time,
        text=f"{MODEL_TEXT}: {stretch.model_text}",
    )
    return dataclasses.replace(stretch, segment=segment, total_steps=total_steps, model_since=axis)


def _of_model_only(stretch: Stretch, before: Stretch) -> Stretch:
    """Return a stretch as its model was before it began: options were not edited yet."""
    plain = {n: v for n, v in before.options.items() if not n.startswith(FIELD_OPTION)}
    fields = stretch.options if stretch.fields_before is None else stretch.fields_before
    model = {n: v for n, v in fields.items() if n.startswith(FIELD_OPTION)}
    return dataclasses.replace(stretch, options={**plain, **model}, fields_before=None)


def _steps_with(stretch: Stretch, before: Stretch, steps: StepsAgain) -> tuple[int, int]:
    """Return the first step not taken with the model before, and the first with a stretch's.

    -1, -1: as the stretch says. The second one is -1 where no step before it was taken with its
    model: others have followed each other.
    """
    low, last = max(stretch.model_since, before.segment.begin), stretch.segment.begin - 1
    if not stretch.has_unknown_begin or low > last:
        return -1, -1
    try:
        is_there = steps.leads_on(last, before)
    except _NOTHING_TELLS:  # of the step before a reset, where it has led was not kept
        last -= 1
        is_there = low > last or steps.leads_on(last, before)
    if is_there:
        return -1, -1  # it was written into where it was looked at: at a reset, most often
    first = _first(low, last, lambda axis: not steps.leads_on(axis, before))
    if steps.leads_on(first, stretch):
        return first, first
    if not steps.leads_on(last, stretch):
        return first, -1
    return first, _first(first + 1, last, lambda axis: steps.leads_on(axis, stretch))


def _first(low: int, high: int, is_so: Callable[[int], bool]) -> int:
    """Return the first from which on something is so, which it is of the last one, ``high``."""
    while low < high:
        middle = (low + high) // 2
        if is_so(middle):
            high = middle
        else:
            low = middle + 1
    return low
