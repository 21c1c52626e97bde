"""What the guarded process is asked, and what it answers: a head, and the models behind it."""

import msgspec

from stroboscope.engine.files.kinds import FileKind
from stroboscope.engine.files.scene_manifest import SceneManifest
from stroboscope.engine.outside.limits import GuardLimits

__all__ = ["GIVEN", "MAGIC", "MOST_HEAD_BYTES", "Answer", "Built", "Question", "Trouble"]

MAGIC = b"stroboscope compiled model 1\n"
MOST_HEAD_BYTES = 96 << 20
GIVEN = "given"
"""The file among what may be written with the content of a file that is none by itself."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A file to compile. ``path``: the file, or only its name when its content comes along.

    ``root``: the folder whose files it may name. ``scratch``: a folder to write into.
    """

    path: str
    root: str
    scratch: str
    with_content: bool = False
    limits: GuardLimits = GuardLimits()


class Trouble(msgspec.Struct, frozen=True):
    """Why there is no model: which of the file errors, what is wrong, and what to do."""

    kind: str
    wrong: str
    todo: str


class Built(msgspec.Struct, frozen=True, kw_only=True):
    """What was built. ``exact``: from the compiled model in the file, as it was written.

    ``difference``: in what the model differs from the one that was exported; empty when it is the
    same. ``notes``: what the compiler warned of. ``sizes``: bytes of the compiled model, and of
    the portable one that came along. ``is_given``: the compiled model is to the last bit what was
    given, and is not sent back.
    """

    kind: FileKind
    name: str
    exact: bool
    digest: str
    difference: str = ""
    notes: tuple[str, ...] = ()
    sizes: tuple[int, int] = (0, 0)
    is_given: bool = False
    manifest: SceneManifest | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """Either of both."""

    built: Built | None = None
    trouble: Trouble | None = None
    confined: bool = False
    """Whether the system itself refused files outside."""
