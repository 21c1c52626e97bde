"""What a file says of single steps besides stops: texts of the script, warnings, checkpoints."""

from collections.abc import Iterable, Iterator
from typing import Final

from stroboscope.debugger_protocol.note_messages import Note, NoteKind
from stroboscope.engine.files.frames import FileEvent
from stroboscope.engine.recording.doubts import DOUBT

__all__ = ["channel_of", "notes_of", "said_text"]

_KINDS: Final = {
    "log": NoteKind.TEXT,
    "warning": NoteKind.WARNING,
    DOUBT: NoteKind.WARNING,
    "checkpoint": NoteKind.CHECKPOINT,
}


def channel_of(event: FileEvent) -> str:
    """Return under which name the script has logged a text; empty where it has not."""
    channel = event.data.get("channel") if event.kind == "log" else ""
    return channel if isinstance(channel, str) else ""


def said_text(event: FileEvent) -> str:
    """Return what was said, in the words in which it stood in the log then."""
    channel = channel_of(event)
    return f"{channel}: {event.text}" if channel else event.text


def notes_of(events: Iterable[FileEvent], *, first: int, last: int) -> Iterator[Note]:
    """Return the notes of frames from axis ``first`` to ``last``: there is nothing to go to else.

    Of a file's end and of what came before its first frame there may be events, too.
    """
    for event in events:
        kind = _KINDS.get(event.kind)
        if kind is not None and event.text and first <= event.axis <= last:
            yield Note(kind=kind, axis=event.axis, time=event.time, text=said_text(event))
