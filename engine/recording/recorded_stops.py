"""Stops in files: all that is known of one, what can be tried about it among it, and back again."""

import dataclasses
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from stroboscope.debugger_protocol.messages import ElementRef
from stroboscope.debugger_protocol.time_messages import SegmentKind, StopInfo, StopReason, WhatIf
from stroboscope.engine.files.frames import FileEvent
from stroboscope.engine.files.json_values import number_of
from stroboscope.engine.mujoco_adapter import MujocoAdapter
from stroboscope.engine.stops.event import StopEvent

__all__ = ["ends_in_step", "ends_script", "signal_data", "stop_data", "stop_of"]

# The reason, in files, of what ended with its process because a signal came; also where its name
# is. On the wire there is no such reason, see ``StopInfo.signal``.
_SIGNAL: Final = "signal"
_ENDINGS: Final = (StopReason.SCRIPT_ERROR, _SIGNAL)
_REPLACED: Final = frozenset(SegmentKind) - {SegmentKind.BEGIN}
_ALWAYS_IN_STEP: Final = frozenset({
    StopReason.EXPLODING, StopReason.WARNING, StopReason.AUTORESET, StopReason.FATAL,
    StopReason.ARENA,
})  # fmt: skip
_ELEMENTS, _OFFERS, _BEFORE_STEP = "elements", "what_if", "is_before_step"
# A file may hold anything: far more than any stop of ours has is no offer.
_MOST_ELEMENTS: Final = 64
_MOST_OFFERS: Final = 16
_MOST_EDITS: Final = 256
_LONGEST_NAME: Final = 200
_COUNTS: Final = {
    "body": "nbody", "joint": "njnt", "geom": "ngeom", "site": "nsite", "camera": "ncam",
    "light": "nlight", "sensor": "nsensor", "tendon": "ntendon", "equality": "neq",
    "flex": "nflex", "pair": "npair",
}  # fmt: skip


def stop_data(stop: StopInfo) -> dict[str, object]:
    """Return what the event of a stop says besides its place and its text."""
    data: dict[str, object] = dataclasses.asdict(StopEvent.of(stop))
    data["reason"] = str(stop.reason)
    if stop.signal:
        data |= signal_data(stop.signal, stop.message)
    data[_BEFORE_STEP] = stop.is_before_step  # also where it isn't: older files don't say
    if stop.elements:
        data[_ELEMENTS] = msgspec.to_builtins(stop.elements)
    if stop.what_if:
        data[_OFFERS] = msgspec.to_builtins(stop.what_if)
    return data


def signal_data(name: str, message: str) -> dict[str, object]:
    """Return what the event of a process that a signal ended says besides its place."""
    return {"reason": _SIGNAL, _SIGNAL: name, "message": message}


def ends_script(event: FileEvent) -> bool:
    """Return whether an event is a stop that says what has ended the script, all of its scenes."""
    return event.kind == "stop" and event.data.get("reason") in _ENDINGS


def ends_in_step(
    events: Iterable[FileEvent], axis: int, *, episode: int, physics_step: int
) -> bool | None:
    """Return whether a run ends at ``axis`` in a physics step that was taken back; None: unknown.

    Not where its state was replaced after that: events of one axis are in no order where a flight
    recorder has written them, but that state stands at another ``physics_step`` of its ``episode``.
    """
    is_in_step: bool | None = False
    at = (episode, physics_step)
    for event in events:
        if event.axis == axis and (event.kind != "stop" or at == _place_of(event)):
            is_of_step = _is_of_step(event)
            if is_of_step is not False or event.kind in _REPLACED:
                is_in_step = is_of_step
    return is_in_step


def _place_of(event: FileEvent) -> tuple[int, int]:
    return event.episode, event.physics_step


def _is_of_step(event: FileEvent) -> bool | None:
    """Return whether an event is a stop because of a physics step, which was taken back.

    None: the file doesn't say whether it was found before that step, and for such reasons some are.
    """
    reason = event.data.get("reason") if event.kind == "stop" else None
    if not reason or reason == StopReason.CONDITION or ends_script(event):
        return False
    is_before = event.data.get(_BEFORE_STEP)
    if isinstance(is_before, bool):
        return not is_before
    return True if reason in _ALWAYS_IN_STEP else None


def stop_of(event: FileEvent, *, model: Any, adapter: MujocoAdapter) -> StopInfo | None:
    """Return what a recorded stop says; None where that is not what stops say here.

    Elements that ``model`` does not have, and offers that are none, are left out.
    """
    fields: dict[str, object] = {
        "stop_id": 0,
        "axis": event.axis,
        "episode": event.episode,
        "step": event.step_count,
        "physics_step": event.physics_step,
        "time": event.time,
        "message": event.text,
        **event.data,
    }
    if fields.get("reason") == _SIGNAL:
        fields["reason"] = StopReason.SCRIPT_ERROR
    elements, offers = fields.pop(_ELEMENTS, ()), fields.pop(_OFFERS, ())
    try:
        for name in ("time", "value"):
            if isinstance(word := fields.get(name), str):
                fields[name] = number_of(word)
        stop = msgspec.convert(fields, StopInfo)
    except (msgspec.ValidationError, ValueError):
        return None
    return msgspec.structs.replace(
        stop,
        elements=_elements(elements, model, adapter),
        what_if=_offers(offers),
    )


def _elements(told: object, model: Any, adapter: MujocoAdapter) -> tuple[ElementRef, ...]:
    try:
        found = msgspec.convert(told, tuple[ElementRef, ...])
    except msgspec.ValidationError:
        return ()

    def is_there(each: ElementRef) -> bool:
        if each.kind == "actuator":
            count = adapter.actuator_count(model)
        else:
            count = getattr(model, _COUNTS.get(each.kind, ""), 0)
        return 0 <= each.index < count

    return tuple(each for each in found[:_MOST_ELEMENTS] if is_there(each))


def _offers(told: object) -> tuple[tuple[str, tuple[WhatIf, ...]], ...]:
    try:
        offers = msgspec.convert(told, tuple[tuple[str, tuple[WhatIf, ...]], ...])
    except msgspec.ValidationError:
        return ()
    return tuple(
        (name, edits)
        for name, edits in offers[:_MOST_OFFERS]
        if 0 < len(name) <= _LONGEST_NAME
        and len(edits) + sum(len(edit.values) for edit in edits) <= _MOST_EDITS
    )
