"""The stretches of a recorded run, from its events: what a history's segments are."""

from collections.abc import Iterable, Mapping

from stroboscope.debugger_protocol.time_messages import Segment, SegmentKind
from stroboscope.engine.files.frames import FileEvent
from stroboscope.engine.history.segments import Options, Stretch

__all__ = ["STRETCH_KINDS", "stretches_of"]

STRETCH_KINDS = {kind.value: kind for kind in SegmentKind}
"""The kinds of events with which a stretch begins."""

_NONE: Options = {}


def stretches_of(
    events: Iterable[FileEvent], *, first_axis: int, first_step: int, first_time: float
) -> list[Stretch]:
    """Return the stretches in the order of the axis, at least one from ``first_axis`` on.

    Of two that begin at the same place, the newer one counts: nothing came of the other.
    """
    found: dict[int, Stretch] = {}
    for event in events:
        if event.kind in STRETCH_KINDS:
            found[event.axis] = _stretch(event)
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
    told = event.data.get("options")
    return Stretch(segment, event.total_steps, _options(told) if told else _NONE)


def _options(told: object) -> Options:
    """Return the options that an event tells of, as far as they are numbers."""
    options: dict[str, tuple[float, ...]] = {}
    if isinstance(told, Mapping):
        for name, values in told.items():
            if isinstance(values, list | tuple) and all(isinstance(v, int | float) for v in values):
                options[str(name)] = tuple(float(value) for value in values)
    return options
