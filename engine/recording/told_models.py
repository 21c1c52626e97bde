"""What a recording says of what a script has written into the model: no more than is needed.

A stretch of a history has the values of every field that was ever written into; a file those that
were other ones than its model has, at some time.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from stroboscope.engine.files.frames import FileEvent
from stroboscope.engine.history.model_watch import CALLBACKS, ModelWatch
from stroboscope.engine.history.segments import Options
from stroboscope.engine.model_option_fields import FIELD_OPTION

__all__ = ["ToldModels", "fields_of", "lost_names", "told_options", "with_fields"]

# What a file holds of them at most: of a script that writes large fields again and again.
_MOST_CHANGES: Final = 1000
_MOST_NUMBERS: Final = 1_000_000
_NO_MORE: Final = "what is written after this is not told any more"

# Where an event says what the model has: from its step on, and right before it.
_KEYS: Final = ("fields", "fields_before")

Fields = Mapping[str, list[float]]


def told_options(options: Options) -> dict[str, Any]:
    """Return how an event tells of options, and of fields of the model."""
    plain = {n: list(v) for n, v in options.items() if not n.startswith(FIELD_OPTION)}
    fields = fields_of(options)
    return {key: each for key, each in (("options", plain), ("fields", fields)) if each}


def fields_of(options: Options) -> dict[str, list[float]]:
    """Return the fields of the model among options, by their own names."""
    return {
        name.removeprefix(FIELD_OPTION): list(values)
        for name, values in options.items()
        if name.startswith(FIELD_OPTION)
    }


def with_fields(events: Iterable[FileEvent], *, own: Fields, first: Fields) -> list[FileEvent]:
    """Return events of one file, each with all fields that one of them has other values of.

    ``own``: what the file's model has of all that was ever written into; ``first``: what these had
    before.
    """
    told = list(events)
    others = {
        name
        for event in told
        for fields in _all_told(event, first)
        for name, values in fields.items()
        if values != own.get(name)
    }
    return [_with(event, first, others) for event in told]


def _told(event: FileEvent, key: str, own: Fields) -> Fields:
    """Return the fields that an event tells of; what it doesn't has ``own`` values."""
    told: Fields = event.data.get(key, {})  # type: ignore[assignment]  # an event of ours
    return {**own, **told}


def _all_told(event: FileEvent, own: Fields) -> list[Fields]:
    return [_told(event, key, own) for key in _KEYS if key in event.data] or [own]


def _with(event: FileEvent, own: Fields, names: Iterable[str]) -> FileEvent:
    """Return an event that tells of the fields with these names, and of no others."""
    data = {key: each for key, each in event.data.items() if key not in _KEYS}
    for key in _KEYS:
        if key in event.data or key == "fields":
            fields = _told(event, key, own)
            if told := {name: fields[name] for name in sorted(names) if name in fields}:
                data[key] = told
    return msgspec.structs.replace(event, data=data)


class ToldModels:
    """What one recording has said by now; the owner's.

    The file's model is the one that stands when this is made.
    """

    def __init__(self, watch: ModelWatch) -> None:
        self._watch = watch
        self._own = fields_of(watch.fields)
        self._losses, self._lost = watch.losses, watch.lost
        self._names: set[str] = set()
        """The fields that ever had other values than the file's model."""
        self._last: Fields = self._own
        self._changes = self._numbers = 0

    @property
    def are_unknown(self) -> bool:
        """Whether something was written that is not told: from now on only whole rows will do."""
        return self._watch.losses != self._losses or self._is_full

    @property
    def _is_full(self) -> bool:
        return self._changes >= _MOST_CHANGES or self._numbers >= _MOST_NUMBERS

    def tell(self, event: FileEvent) -> FileEvent:
        """Return how a stretch begins with what has other values than in the file's model."""
        own = {**fields_of(self._watch.first), **self._own}
        fields = _told(event, "fields", own)
        last = {**own, **self._last}
        if self._is_full:
            event = msgspec.structs.replace(event, data=event.data | {"fields": last})
        elif fields != last:
            self._changes += 1
            self._last = fields
        self._names |= {
            name
            for each in _all_told(event, own)
            for name, values in each.items()
            if values != own[name]
        }
        told = _with(event, own, self._names)
        self._numbers += sum(len(own[name]) for name in self._names)
        if self._is_full and self._changes:
            text = event.data.get("model", "")
            said = f"{text}; {_NO_MORE}" if text else _NO_MORE
            told = msgspec.structs.replace(told, data=told.data | {"model": said})
        if lost := lost_names(self._watch.lost, of_file=self._lost):
            told = msgspec.structs.replace(told, data=told.data | {"lost": lost})
        return told


def lost_names(lost: Mapping[str, int], *, of_file: Mapping[str, int]) -> list[str]:
    """Return the fields that no row can carry, and that rows had otherwise than the file's model.

    ``lost``: what they had, with a check of each. Of a callback that the file's model had the file
    itself says that it lacks it.
    """
    names = sorted(n for n in {**lost, **of_file} if lost.get(n) != of_file.get(n))
    return [name for name in names if name in lost or name not in CALLBACKS]
