"""The stretches of a recorded run, from its events: what a history's segments are."""

import contextlib
from collections.abc import Iterable, Mapping
from typing import Final

from stroboscope.debugger_protocol.time_messages import Segment, SegmentKind
from stroboscope.engine.files.frames import FileEvent
from stroboscope.engine.files.json_values import number_of
from stroboscope.engine.history.segments import Options, Stretch
from stroboscope.engine.model_option_fields import FIELD_OPTION

__all__ = ["STRETCH_KINDS", "stretches_of"]

STRETCH_KINDS = {kind.value: kind for kind in SegmentKind}
"""The kinds of events with which a stretch begins."""

_NONE: Options = {}
_LONGEST_TEXT: Final = 1000
_MOST_LOST = 100
_LONGEST_DIGEST: Final = 64


def stretches_of(
    events: Iterable[FileEvent], *, first_axis: int, first_step: int, first_time: float
) -> list[Stretch]:
    """Return the stretches in the order of the axis, at least one from ``first_axis`` on.

    Of two that begin at the same place, the newer one counts: nothing came of the other.
    """
    found: dict[int, Stretch] = {}
    for event in events:
        if event.kind in STRETCH_KINDS:
            stretch, known = _stretch(event), found.get(event.axis)
            found[event.axis] = stretch if known is None else stretch.in_place_of(known)
    if not any(axis <= first_axis for axis in found):
        # The file begins within a stretch whose beginning it does not hold.
        segment = Segment(
            segment_id=0,
            kind=SegmentKind.BEGIN,
            begin=first_axis,
            episode=0,
            physics_step=first_axis,
            step_count=first_step,
            time=first_time,
        )
        found[first_axis] = Stretch(segment, first_step, {})
    return [found[axis] for axis in sorted(found)]


def _stretch(event: FileEvent) -> Stretch:
    segment = Segment(
        segment_id=0,
        kind=STRETCH_KINDS[event.kind],
        begin=event.axis,
        episode=event.episode,
        parent_axis=event.parent_axis,
        physics_step=event.physics_step,
        step_count=event.step_count,
        time=event.time,
        text=event.text,
    )
    told, fields = event.data.get("options"), event.data.get("fields")
    options = _numbers(told) if told else _NONE
    if fields:
        options = {**options, **_fields(fields)}
    since = event.data.get("model_since")
    lost, left = _lost(event.data.get("lost")), _digest(event.data.get("left"))
    if not isinstance(since, int) or not 0 <= since <= event.axis:
        return Stretch(segment, event.total_steps, options, lost=lost, left=left)
    told = str(event.data.get("model", ""))[:_LONGEST_TEXT]
    text = "".join(each if each.isprintable() else " " for each in told)
    before = event.data.get("fields_before")
    return Stretch(
        segment,
        event.total_steps,
        options,
        model_since=since,
        model_text=text,
        lost=lost,
        fields_before=_fields(before) if before else None,
        left=left,
    )


def _digest(told: object) -> bytes:
    """Return where the step before has led; empty where that is not told."""
    if isinstance(told, str) and len(told) <= _LONGEST_DIGEST:
        with contextlib.suppress(ValueError):
            return bytes.fromhex(told)
    return b""


def _lost(told: object) -> dict[str, int]:
    """Return what had values then that are not in the file: another check than any."""
    names = told if isinstance(told, list) else []
    return {name: -1 for name in names[:_MOST_LOST] if isinstance(name, str) and name.isprintable()}


def _fields(told: object) -> Options:
    """Return fields of the model that an event tells of, by the names that options have."""
    return {f"{FIELD_OPTION}{name}": values for name, values in _numbers(told).items()}


def _numbers(told: object) -> Options:
    """Return the options or fields that an event tells of, as far as they are numbers."""
    options: dict[str, tuple[float, ...]] = {}
    if isinstance(told, Mapping):
        for name, values in told.items():
            with contextlib.suppress(TypeError, ValueError, OverflowError):
                options[str(name)] = tuple(number_of(value) for value in values)
    return options
