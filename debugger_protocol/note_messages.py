"""What a recorded run says of single steps: texts of the script, warnings, named checkpoints."""

import enum

import msgspec

from stroboscope.debugger_protocol.message_base import Message

__all__ = ["Note", "NoteKind", "SceneNotes"]


class NoteKind(enum.StrEnum):
    """What a note is."""

    TEXT = "text"
    """What the script has logged under a name: "name: text"."""
    WARNING = "warning"
    CHECKPOINT = "checkpoint"
    """The name of one that was made then. Its state is the row there, nothing more is kept."""


class Note(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One note: ``text``, shortened, of just before physics step ``axis``, at ``time`` [s].

    ``more``: how many of its kind, up to the axis ``until``, are left out and counted here instead.
    """

    kind: NoteKind
    axis: int
    time: float = 0.0
    text: str = ""
    more: int = 0
    until: int = -1


class SceneNotes(Message, frozen=True, kw_only=True, tag="scene_notes"):
    """The notes of a recorded run, by axis; sent on change. ``count``: how many the file has."""

    scene_id: int
    notes: tuple[Note, ...] = ()
    count: int = 0
