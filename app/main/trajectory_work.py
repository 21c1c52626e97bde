"""Work on a recorded run that the window has a process of its own for: checking it, repairing it.

``python -m stroboscope.app.main.trajectory_work check FILE`` or ``repair FILE TARGET`` says what it
does on standard output, a JSON object per line: ``{"progress": 0.5}``, then ``{"result": …}`` or
``{"error": "…"}``. It ends when its standard input does, and leaves nothing half done.
"""

import _thread
import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Final

import msgspec
import numpy as np

from stroboscope.app.models.file_health import CheckedFile, LostFrames, RepairedFile
from stroboscope.engine.errors import EngineError
from stroboscope.engine.files.damage import Damage
from stroboscope.engine.files.in_use import is_being_written
from stroboscope.engine.files.lost_messages import lost_in_words
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.files.repair import repair
from stroboscope.engine.files.scene_names import scene_names

__all__ = ["CHECKED_BYTES", "main"]

CHECKED_BYTES: Final = 4 << 30
"""Of larger files all checksums are compared only when somebody asks (``stroboscope verify``)."""

# How often a file that is still being recorded is looked at [s].
_LOOK_S: Final = 1.0
# What is said of progress at most [1/s].
_SAY_S: Final = 0.1
_TOLD_DAMAGE: Final = 200


def check(path: str, progress: Callable[[float], None], over: threading.Event) -> CheckedFile:
    """Return what is wrong with a file; one that is still being recorded is waited for.

    Raises KeyboardInterrupt when it is ``over``.
    """
    while not over.is_set():
        with TrajectoryReader(path) as reader:
            if reader.complete or not is_being_written(path):
                everything = reader.nbytes <= CHECKED_BYTES
                damage = reader.check(progress) if everything else reader.damage
                return _checked(reader, damage, everything=everything)
        over.wait(_LOOK_S)
    raise KeyboardInterrupt


def _checked(
    reader: TrajectoryReader, damage: tuple[Damage, ...], *, everything: bool
) -> CheckedFile:
    names = scene_names(reader)
    frames = {name: reader.frame_count(scene) for scene, name in names.items()}
    last = {}
    for scene, name in names.items():
        if (step := _last_step(reader, scene, damage)) >= 0:
            last[name] = step
    lost = []
    for each in damage:
        if each.scene not in reader.scenes or (each.frames is None and each.axes is None):
            continue
        name = names[each.scene]
        begin, end = each.frames or (-1, -1)
        frames[name] -= end - begin
        lost.append(LostFrames(name, begin, end, *(each.axes or (-1, -1))))
    return CheckedFile(
        closed=reader.complete,
        everything=everything,
        frames=frames,
        last=last,
        lost=tuple(lost),
        damage=tuple(str(each) for each in damage[:_TOLD_DAMAGE] if not each.is_cut_off),
    )


def _last_step(reader: TrajectoryReader, scene: int, damage: tuple[Damage, ...]) -> int:
    """Return the physics step of the last frame of a scene that can be read; -1 without any."""
    gone = {each.frames for each in damage if each.scene == scene and each.frames is not None}
    index = reader.index(scene)
    ends = np.cumsum(index.count).tolist()
    for end, count, axis in zip(
        reversed(ends), index.count[::-1].tolist(), index.last_axis[::-1].tolist(), strict=True
    ):
        if (end - count, end) not in gone:
            return int(axis)
    return -1


def _repair(path: str, target: str, progress: Callable[[float], None]) -> RepairedFile:
    made = repair(path, target, progress=progress)
    frames = {made.names[scene]: count for scene, count in made.frames.items()}
    lost = made.attachments_lost
    if made.messages_lost:
        lost = (*lost, lost_in_words(made.messages_lost, made.names))
    return RepairedFile(path=str(made.path), frames=frames, lost=lost)


# --- the process


def main(arguments: list[str]) -> int:
    """Do what the arguments say; returns the exit code."""
    over = _end_with_input()
    with contextlib.suppress(AttributeError, OSError):
        os.nice(10)  # not there on Windows
    try:
        match arguments:
            case ["check", path]:
                result: CheckedFile | RepairedFile = check(path, _Progress(), over)
            case ["repair", path, target]:
                result = _repair(path, target, _Progress())
            case _:
                return 2
        _say({"result": msgspec.to_builtins(result)})
    except (EngineError, OSError) as error:
        _say({"error": _sentence(error, arguments[1])})
    except KeyboardInterrupt:
        return 130
    return 0


def _sentence(error: Exception, path: str) -> str:
    if isinstance(error, OSError):
        return f"{path} can't be read ({error.strerror or error}): check that it is still there"
    return str(error)


def _say(said: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()


class _Progress:
    """Says how much is done, a few times a second."""

    def __init__(self) -> None:
        self._said = 0.0

    def __call__(self, done: float) -> None:
        now = time.monotonic()
        if now - self._said >= _SAY_S:
            self._said = now
            _say({"progress": done})


def _end_with_input() -> threading.Event:
    """Interrupt the main thread, and set what is returned, when whoever started this lets it go."""
    over = threading.Event()

    def wait() -> None:
        # Not sys.stdin, whose lock the end of the process would find taken.
        with contextlib.suppress(OSError):
            while os.read(0, 1):
                pass
        over.set()
        _thread.interrupt_main()

    threading.Thread(target=wait, name="wait for the end", daemon=True).start()
    return over


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
