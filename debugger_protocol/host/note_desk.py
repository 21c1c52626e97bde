"""The notes of a recorded run, as many as clients can use."""

import itertools
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from stroboscope.debugger_protocol.codec import trim_text
from stroboscope.debugger_protocol.note_messages import Note, NoteKind, SceneNotes

__all__ = ["NoteDesk"]

# A timeline has a few hundred places; of the newest of each kind every one is told, as a run is
# mostly looked at where it ends, and of those before only every so many'th.
_MOST_OF_KIND: Final = 2000
_NEWEST: Final = 500
# Of a longer text the beginning: all of it is in the file.
_TEXT_BYTES: Final = 256


class NoteDesk:
    """Notes of one scene; owner thread only. ``told`` is replaced by reference."""

    def __init__(self, scene_id: int) -> None:
        self.told = SceneNotes(scene_id=scene_id)

    def recall(self, notes: Iterable[Note]) -> None:
        """Have these notes and no others."""
        by_kind: dict[NoteKind, list[Note]] = {}
        for note in notes:
            by_kind.setdefault(note.kind, []).append(note)
        told = list(itertools.chain.from_iterable(map(_thinned, by_kind.values())))
        told.sort(key=lambda note: note.axis)
        count = sum(map(len, by_kind.values()))
        self.told = msgspec.structs.replace(self.told, notes=tuple(told), count=count)


def _thinned(notes: list[Note]) -> list[Note]:
    """Return the notes of one kind, of too many some that count for the others, in order."""
    notes.sort(key=lambda note: note.axis)
    if len(notes) <= _MOST_OF_KIND:
        return [_short(note) for note in notes]
    older, newest = notes[:-_NEWEST], notes[-_NEWEST:]
    stride = -(-len(older) // (_MOST_OF_KIND - _NEWEST))
    told = [_joined(older[at : at + stride]) for at in range(0, len(older), stride)]
    return told + [_short(note) for note in newest]


def _joined(notes: Sequence[Note]) -> Note:
    more, until = len(notes) - 1, notes[-1].axis
    first = _short(notes[0])
    return msgspec.structs.replace(first, more=more, until=until) if more else first


def _short(note: Note) -> Note:
    text = trim_text(note.text, _TEXT_BYTES)
    return note if text == note.text else msgspec.structs.replace(note, text=text)
