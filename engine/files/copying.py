"""What all trajectories that are made of others have in common."""

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from stroboscope.engine.counted import counted
from stroboscope.engine.files.atomic import replacing
from stroboscope.engine.files.chunk_index import ChunkKind
from stroboscope.engine.files.disk import Disk
from stroboscope.engine.files.errors import FileDamagedError, FileError
from stroboscope.engine.files.frames import FileEvent, Manifest
from stroboscope.engine.files.low_rate_chunks import Message
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.files.writer import TrajectoryWriter

__all__ = [
    "Progress",
    "gap_event",
    "intact_attachments",
    "kind_of_topic",
    "messages_by_kind",
    "nobody",
    "refuse_itself",
    "whole_trajectory",
]

Progress = Callable[[float], None]
"""Is told how much is done, 0 to 1; what it raises ends the work, and nothing is left of it."""

_OWN_TOPIC = re.compile(r"/stroboscope/scene/\d+/(events$|signals/)")
_MESSAGES_AT_ONCE = 10_000


@contextlib.contextmanager
def whole_trajectory(
    path: str | os.PathLike[str],
    manifest: Manifest,
    *,
    attachments: dict[str, bytes],
    disk: Disk | None = None,
) -> Iterator[TrajectoryWriter]:
    """Yield the writer of a trajectory that is at ``path`` once it is whole, or not at all."""
    with replacing(path, disk=disk) as part:
        writer = TrajectoryWriter(part, manifest, attachments=attachments, disk=disk)
        try:
            yield writer
            writer.close()
        except BaseException:
            with contextlib.suppress(FileError):
                writer.abandon()
            raise


def kind_of_topic(topic: str) -> ChunkKind:
    """Return what messages of a topic are."""
    own = _OWN_TOPIC.match(topic)
    if own is None:
        return ChunkKind.MESSAGES
    return ChunkKind.EVENTS if own[1] == "events" else ChunkKind.SIGNALS


def messages_by_kind(messages: Iterator[Message]) -> Iterator[tuple[ChunkKind, list[Message]]]:
    """Yield messages in some number, those of one kind together, in order within their kind."""
    waiting: dict[ChunkKind, list[Message]] = {}
    for message in messages:
        kind = kind_of_topic(message.channel.topic)
        waiting.setdefault(kind, []).append(message)
        if len(waiting[kind]) >= _MESSAGES_AT_ONCE:
            yield kind, waiting.pop(kind)
    yield from waiting.items()


def gap_event(
    reader: TrajectoryReader, scene: int, number: int, error: FileDamagedError
) -> FileEvent:
    """Return what says in a new file that a damaged block was left out."""
    index = reader.index(scene)
    axes = [int(index.first_axis[number]), int(index.last_axis[number])]
    return FileEvent(
        kind="gap",
        axis=axes[0],
        scene=scene,
        time=float(index.first_time[number]),
        wall=int(index.first_wall[number]),
        text=f"lost, as they were damaged: {counted(int(index.count[number]), 'frame')}",
        data={"axes": axes, "wrong": error.wrong},
    )


def nobody(done: float) -> None:
    """Be told, and do nothing."""


def refuse_itself(reader: TrajectoryReader, target: Path) -> None:
    """Raise FileError when a file would be written over itself."""
    with contextlib.suppress(OSError):
        if target.samefile(reader.path):
            raise FileError(target, "is the file that is read", "give the new file another name")


def intact_attachments(reader: TrajectoryReader) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Return the attachments that are intact, and the names of the others."""
    intact, lost = {}, []
    for name in reader.attachments:
        try:
            intact[name] = reader.attachment(name)
        except FileError:
            lost.append(name)
    return intact, tuple(lost)
