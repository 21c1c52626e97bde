"""What a script has written into the model of a scene of which only the newest rows are kept.

The file that is written in the end carries the model as it stands then. So every stretch of it says
what was different: all fields that were ever written, with the values that they had there.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec

from stroboscope.debugger_protocol.time_messages import SegmentKind
from stroboscope.engine.files.frames import FileEvent
from stroboscope.engine.recording.model_watch import ModelChange, ModelWatch

if TYPE_CHECKING:
    from stroboscope.engine.world import World

__all__ = ["ModelStages", "Place"]

Fields = dict[str, list[float]]
Place = Callable[[FileEvent, int], FileEvent]
"""Returns an event of an axis, made of one before it in the same stretch."""


class ModelStages:
    """The fields of a model as they followed each other, from the axis ``axis`` on; the owner's."""

    def __init__(self, world: "World", *, axis: int) -> None:
        self._watch = ModelWatch(world, axis=axis)
        self._first: Fields = {}
        """What each field that was written had at first."""
        self._stages: list[tuple[ModelChange, Fields]] = []

    def look(self, axis: int) -> None:
        """Note what was written since this was called last, before the step of ``axis``."""
        change = self._watch.look(axis)
        if change is None:
            return
        fields = self._watch.fields
        for name in fields:
            if name not in self._first:
                self._first[name] = self._watch.at_first(name)
        self._stages.append((change, dict(fields)))

    def tell(self, events: Iterable[FileEvent], *, place: Place) -> list[FileEvent]:
        """Return the events with which stretches begin, each with the fields that it has.

        Where the model was written into within one of them, another one begins.
        """
        told: list[FileEvent] = []
        for event in events:
            told += self._within(told[-1], until=event.axis, place=place) if told else ()
            told.append(self._with_fields(event))
        return told + (self._within(told[-1], until=None, place=place) if told else [])

    def _within(self, event: FileEvent, *, until: int | None, place: Place) -> list[FileEvent]:
        made = []
        for change, _ in self._stages:
            if change.axis > event.axis and (until is None or change.axis < until):
                begun = msgspec.structs.replace(
                    place(event, change.axis),
                    kind=str(SegmentKind.EDIT),
                    text="the model was changed",
                    parent_axis=-1,
                )
                made.append(self._with_fields(begun))
        return made

    def _with_fields(self, event: FileEvent) -> FileEvent:
        if not self._first:
            return event
        there: Fields = {}
        data = dict(event.data)
        data.pop("model_since", None)
        data.pop("model", None)
        for change, fields in self._stages:
            if change.axis <= event.axis:
                there = fields
                if change.axis == event.axis:
                    data |= {"model_since": change.since, "model": change.text}
        data["fields"] = {name: there.get(name, value) for name, value in self._first.items()}
        return msgspec.structs.replace(event, data=data)
