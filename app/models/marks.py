"""What is marked on the time axis; and what was said at which step, by a file or right now."""

import collections
import dataclasses
import enum
from typing import Final

from stroboscope.debugger_protocol.messages import LogEntry, LogLevel
from stroboscope.debugger_protocol.note_messages import NoteKind, SceneNotes

__all__ = ["MODES", "Mark", "MarkKind", "NotesModel"]

# As many as a file tells, of what the script says while somebody listens.
_MOST_HEARD: Final = 5000
# Letters of a text in a tooltip; all of it is in the log.
_LONGEST: Final = 240


class MarkKind(enum.StrEnum):
    """What a mark on the time axis is about."""

    STOP = "stop"
    CHECKPOINT = "checkpoint"
    BRANCH = "branch"
    RESTORE = "restore"
    EDIT = "edit"
    WARNING = "warning"
    TEXT = "text"
    PLAY = "play"
    FAST_FORWARD = "fast forward"
    PAUSE = "pause"


MODES = frozenset({MarkKind.PLAY, MarkKind.FAST_FORWARD, MarkKind.PAUSE})
"""Marks of what the user did, not of what happened in the simulation."""

_OF_NOTE = {
    NoteKind.TEXT: MarkKind.TEXT,
    NoteKind.WARNING: MarkKind.WARNING,
    NoteKind.CHECKPOINT: MarkKind.CHECKPOINT,
}


@dataclasses.dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened just before physics step ``axis``; ``text`` says what.

    ``more`` of its kind, up to the axis ``until``, have no mark of their own.
    """

    axis: int
    kind: MarkKind
    text: str
    more: int = 0
    until: int = -1

    @property
    def rank(self) -> int:
        """How near at hand it is among others: rare things come first, what the user did last."""
        if self.kind in MODES:
            return 2
        return 1 if self.kind is MarkKind.TEXT else 0


class NotesModel:
    """Texts that a script has logged, and warnings, of one scene; GUI thread only.

    Of a recorded run what its file says, named checkpoints too; of one that runs what was heard.
    """

    def __init__(self) -> None:
        self._told: tuple[Mark, ...] = ()
        self._heard: collections.deque[Mark] = collections.deque(maxlen=_MOST_HEARD)

    def marks(self, *, recorded_to: int | None) -> list[Mark]:
        """Return all of them.

        Up to the axis ``recorded_to`` a file says itself what was said, None: there is no file.
        """
        heard = list(self._heard)
        if recorded_to is not None:
            heard = [mark for mark in heard if mark.axis > recorded_to]
        return [*self._told, *heard]

    def receive(self, message: SceneNotes) -> None:
        """Take what a file says."""
        self._told = tuple(
            Mark(
                note.axis,
                _OF_NOTE[note.kind],
                f"checkpoint {note.text}" if note.kind is NoteKind.CHECKPOINT else note.text,
                note.more,
                note.until,
            )
            for note in message.notes
        )

    def hear(self, entry: LogEntry) -> bool:
        """Take what was said just now; return whether it is a mark."""
        is_warning = entry.level is LogLevel.WARNING and not entry.source
        if entry.axis is None or not (entry.channel or is_warning):
            return False
        text = entry.text if len(entry.text) <= _LONGEST else f"{entry.text[:_LONGEST]}…"
        kind = MarkKind.TEXT if entry.channel else MarkKind.WARNING
        self._heard.append(Mark(entry.axis, kind, text))
        return True
