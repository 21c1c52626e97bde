"""The process that reads and compiles a model that is not ours; it answers on standard output.

    python -P -m stroboscope.engine.outside.child

It gets a :class:`Question` in its environment and, for content that is in no file of its own, that
on standard input. Whatever happens to it, whoever asked is another process.
"""

import json
import os
import sys

import msgspec

from stroboscope.engine.errors import EngineError
from stroboscope.engine.files.errors import FileError, FileFormatError
from stroboscope.engine.outside.answers import MAGIC, Answer, Question, Trouble
from stroboscope.engine.outside.building import build, import_all, plain
from stroboscope.engine.outside.confinement import confine_files, limit_resources

__all__ = ["QUESTION", "main"]

QUESTION = "STROBOSCOPE_OUTSIDE_QUESTION"
"""The environment variable that holds the question."""


def main() -> int:
    """Answer the question of the environment."""
    question = msgspec.convert(json.loads(os.environ.pop(QUESTION)), type=Question)
    limit_resources(question.limits)
    # What libraries print is no part of the answer.
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    # No module can be imported any more once files are refused, and those that are found by a
    # relative path none from another folder.
    import_all()
    os.chdir(question.scratch)
    confined = confine_files(read=[question.root], write=[question.scratch])
    content = sys.stdin.buffer.read() if question.with_content else None
    models: tuple[bytes, ...] = ()
    try:
        built, models = build(question, content)
        answer = Answer(built=built, confined=confined)
    except MemoryError:
        memory = question.limits.memory / 2**30
        error: EngineError = FileFormatError(
            question.path, f"it needs more than {memory:g} GiB of memory", "make it smaller"
        )
        answer = Answer(trouble=_trouble(error), confined=confined)
    except EngineError as refusal:
        answer = Answer(trouble=_trouble(refusal), confined=confined)
    head = msgspec.json.encode(answer)
    with output:
        output.write(MAGIC + len(head).to_bytes(8, "little") + head)
        for model in models:
            output.write(model)
    return 0


def _trouble(error: EngineError) -> Trouble:
    if isinstance(error, FileError):
        return Trouble(type(error).__name__, plain(error.wrong), plain(error.todo))
    return Trouble("FileFormatError", plain(str(error)), "repair it, or get another copy")


if __name__ == "__main__":
    sys.exit(main())
