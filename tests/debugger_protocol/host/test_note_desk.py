"""Notes of a recorded run: all of a few, and of a hundred thousand as many as can be used."""

import msgspec

from stroboscope.debugger_protocol.host.note_desk import NoteDesk
from stroboscope.debugger_protocol.note_messages import Note, NoteKind


def text(axis: int, words: str = "grasp") -> Note:
    return Note(kind=NoteKind.TEXT, axis=axis, text=words)


def test_a_few_notes_are_told_as_they_are_by_axis():
    desk = NoteDesk(1)
    desk.recall([text(9), Note(kind=NoteKind.CHECKPOINT, axis=4, text="lifted")])
    assert [note.axis for note in desk.told.notes] == [4, 9]
    assert desk.told.count == 2


def test_a_hundred_thousand_texts_are_counted_and_the_newest_and_the_rare_are_all_there():
    desk = NoteDesk(1)
    warning = Note(kind=NoteKind.WARNING, axis=50_001, text="diverged")
    desk.recall([warning, *(text(axis, f"{axis} " + "x" * 1000) for axis in range(100_000))])
    told = desk.told
    texts = [note for note in told.notes if note.kind is NoteKind.TEXT]
    assert warning in told.notes
    assert told.count == 100_001
    assert len(texts) <= 2000
    assert sum(1 + note.more for note in texts) == 100_000
    assert [note.axis for note in texts[-500:]] == list(range(99_500, 100_000))
    assert all(note.until == note.axis + note.more for note in texts if note.more)
    assert len(msgspec.msgpack.encode(told)) < 1 << 20


def test_what_was_told_before_is_replaced():
    desk = NoteDesk(1)
    desk.recall([text(1), text(2)])
    desk.recall([text(3)])
    assert [note.axis for note in desk.told.notes] == [3]
