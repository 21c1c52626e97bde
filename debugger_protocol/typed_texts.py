"""Texts of messages as programs get them: with the minus sign and the spaces of a keyboard.

On the wire they are as windows show them, "−0.5 s" with a thin space. Names stay what they are:
they are asked for by.
"""

from typing import Any, Final, TypeVar

import msgspec

from stroboscope.debugger_protocol import messages as wire
from stroboscope.debugger_protocol import time_messages as tm
from stroboscope.debugger_protocol.note_messages import Note, SceneNotes
from stroboscope.debugger_protocol.plain_text import typed_numbers

__all__ = ["with_typed_texts"]

_Message = TypeVar("_Message")

# Fields that are sentences for people, or lists of what has some.
_TEXTS: Final[dict[type, tuple[str, ...]]] = {
    Note: ("text",),
    SceneNotes: ("notes",),
    tm.ConditionInfo: ("where", "failure"),
    tm.RolloutInfo: ("name", "outcome", "edits", "reproducible"),
    tm.SceneConditions: ("conditions",),
    tm.SceneHistory: ("segments", "view_note", "busy", "invalid"),
    tm.SceneRollouts: ("rollouts",),
    tm.SceneStops: ("stops",),
    tm.Segment: ("text",),
    tm.StatesCompared: ("text",),
    tm.StopInfo: ("message", "culprit", "advice", "what_if"),
    wire.CheckpointInfo: ("approximate",),
    wire.ControlChanged: ("reason",),
    wire.Done: ("note",),
    wire.Finding: ("text", "advice"),
    wire.LogEntry: ("text",),
    wire.SceneCheckpoints: ("checkpoints",),
    wire.SceneEdited: ("text",),
    wire.SceneFindings: ("findings",),
    wire.SceneRestored: ("reason",),
    wire.SceneStatus: ("hold_reason",),
}


def with_typed_texts(message: _Message) -> _Message:
    """Return a message whose texts are as they are typed; itself where they are already."""
    changed = {
        name: typed
        for name in _TEXTS.get(type(message), ())
        if (typed := _typed(value := getattr(message, name))) is not value
    }
    return msgspec.structs.replace(message, **changed) if changed else message  # type: ignore[type-var]


def _typed(value: Any) -> Any:
    match value:
        case str():
            text = typed_numbers(value)
            return value if text == value else text
        case (tm.Segment(), *_) if all(each.text.isascii() for each in value):
            return value  # tens of thousands, ten times a second
        case tuple():
            typed = tuple(map(_typed, value))
            return value if all(a is b for a, b in zip(typed, value, strict=True)) else typed
        case msgspec.Struct():
            return with_typed_texts(value)
    return value
