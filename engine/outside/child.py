"""The process that reads and compiles a model that is not ours; it answers on standard output.

    python -P -m stroboscope.engine.outside.child

It may be started long before there is a file: it imports all that it needs and waits for a
:class:`Question`, a line on standard input, and ends where that ends. Content that is in no file of
its own lies in the folder that it may write into. Whatever happens to it, whoever asked is another
process.
"""

import json
import os
import sys
from pathlib import Path

import msgspec

from stroboscope.engine.errors import EngineError
from stroboscope.engine.files.errors import FileError, FileFormatError
from stroboscope.engine.outside.answers import GIVEN, MAGIC, Answer, Question, Trouble
from stroboscope.engine.outside.building import build, import_all, plain
from stroboscope.engine.outside.confinement import confine_files, limit_resources

__all__ = ["main"]


def main() -> int:
    """Answer the question on standard input."""
    # What libraries print is no part of the answer.
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    # No module can be imported any more once files are refused, and those that are found by a
    # relative path none from another folder.
    import_all()
    line = sys.stdin.buffer.readline()
    if not line.endswith(b"\n"):
        return 0  # whoever was to ask has gone
    question = msgspec.convert(json.loads(line), type=Question)
    limit_resources(question.limits)
    os.chdir(question.scratch)
    confined = confine_files(read=[question.root], write=[question.scratch])
    content = None
    if question.with_content:
        content = (Path(question.scratch) / GIVEN).read_bytes()
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
    code = main()
    sys.stderr.flush()
    # Who asked waits for the end; nothing here is worth being taken down piece by piece.
    os._exit(code)
