"""Builds models one after the other, each in a fork of its own, and tells what each one opened.

    python confined_builds.py names|system|neither   < list of files, a line each

``names``: only the check of names stands between the model and other files. ``system``: only the
system's own refusal. ``neither``: nothing. Prints one line of JSON per file.
"""

import json
import os
import sys
import tempfile
import time
from pathlib import Path

from stroboscope.engine.errors import EngineError
from stroboscope.engine.outside import building
from stroboscope.engine.outside.answers import Question
from stroboscope.engine.outside.confinement import confine_files, limit_resources
from stroboscope.engine.outside.limits import GuardLimits
from stroboscope.engine.outside.named_files import NamedFiles


def build(path: str, net: str, scratch: str, opened: list[str]) -> tuple[str, str]:
    """Return what became of one model: "built", "refused" or an error's type, and its words."""
    limits = GuardLimits()
    root = os.path.dirname(path)
    question = Question(path=path, root=root, scratch=scratch, limits=limits)
    limit_resources(limits)
    if net != "names":
        NamedFiles.check = lambda self: None  # type: ignore[method-assign]
    if net == "system" and not confine_files(read=[root], write=[scratch]):
        return "unconfined", ""
    sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
    try:
        built, _ = building.build(question, None)
    except EngineError as error:
        return "refused", str(error)
    except BaseException as error:  # noqa: BLE001 - told to the test
        return type(error).__name__, str(error)
    return "built", built.name


def main() -> None:
    """Import once, then go through the list."""
    building.import_all()
    with tempfile.TemporaryDirectory() as folder:
        go_through(folder)


def go_through(folder: str) -> None:
    # MuJoCo writes warnings onto standard output.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin.read().splitlines():
        start = time.monotonic()
        scratch = tempfile.mkdtemp(dir=folder)
        read, write = os.pipe()
        child = os.fork()
        if not child:
            opened: list[str] = []
            outcome, words = build(line, sys.argv[1], scratch, opened)
            answer = json.dumps([outcome, words, opened])
            os.write(write, answer.encode()[:60_000])
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            answer = pipe.read().decode()
        _, status = os.waitpid(child, 0)
        found = json.loads(answer) if answer else ["died", str(status), []]
        seconds = time.monotonic() - start
        answers.write(json.dumps([line, *found, seconds]) + "\n")
        answers.flush()


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
