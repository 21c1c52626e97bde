"""A part of a trajectory as a file of its own."""

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np

from stroboscope.engine.counted import counted
from stroboscope.engine.files.chunk_index import ChunkKind
from stroboscope.engine.files.copying import (
    Progress,
    gap_event,
    intact_attachments,
    kind_of_topic,
    messages_by_kind,
    nobody,
    refuse_itself,
    whole_trajectory,
)
from stroboscope.engine.files.disk import Disk
from stroboscope.engine.files.errors import FileDamagedError
from stroboscope.engine.files.frames import BlockKind, FileEvent, RowBlock
from stroboscope.engine.files.low_rate import signal_topic
from stroboscope.engine.files.low_rate_chunks import Message
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.files.scene_names import scene_names

__all__ = ["CutOut", "cut"]

# What says how a stretch of states begins: the last one before a part belongs to it.
_STRETCHES = frozenset({"begin", "episode", "restore", "branch", "edit"})
# What other tools keep showing once they were told, by schema.
_LASTING = frozenset({"foxglove.SceneUpdate"})
# What holds until it is changed again.
_STANDING = frozenset({"option", "model", "doubt"})
# What such an event tells of the model.
_OF_MODEL = ("model_since", "model", "fields", "lost")


@dataclasses.dataclass(frozen=True, slots=True)
class CutOut:
    """The new file, and which frames of each scene it has: begin and end, as numbered before."""

    path: Path
    frames: dict[int, tuple[int, int]]


def cut(
    path: str | Path,
    target: str | Path,
    *,
    begin: int,
    end: int,
    scene: int | None = None,
    disk: Disk | None = None,
    progress: Progress | None = None,
) -> CutOut:
    """Write the frames ``begin`` to ``end`` (exclusive) of a scene into a new file.

    ``scene``: the first one unless said. Other scenes are cut to the same stretch of wall time;
    events, signals and messages go along. Where a state can only be had from an earlier one (a
    minimal block, sleeping bodies) the part begins with the block that ``begin`` is in. The file
    is at ``target`` as a whole or not at all. Raises ValueError for frames that are not there,
    FileError, and FileDamagedError when a block at either end is damaged; damaged ones between
    are left out, and an event "gap" says where.
    """
    with TrajectoryReader(path) as reader:
        refuse_itself(reader, Path(target))
        parts = _Parts(reader, reader.scenes[0] if scene is None else scene, begin, end)
        attachments, _ = intact_attachments(reader)
        with whole_trajectory(
            target, reader.manifest, attachments=attachments, disk=disk
        ) as writer:
            for events in map(parts.events, reader.scenes):
                writer.write_events(events)
            order = [place for place in reader.block_order() if parts.rows(*place)]
            for done, place in enumerate(order):
                (progress or nobody)(done / len(order))
                rows = parts.rows(*place)
                if rows.stop - rows.start == reader.index(place[0]).count[place[1]]:
                    try:
                        writer.write_encoded_block(place[0], reader.encoded_block(*place))
                    except FileDamagedError as error:
                        writer.write_events([gap_event(reader, *place, error)])
                else:
                    writer.write_block(_rows_of(reader.block(*place), rows))
            for kind, messages in messages_by_kind(parts.messages()):
                writer.copy_messages(messages, kind)
        (progress or nobody)(1.0)
        return CutOut(Path(target), parts.frames)


class _Sample(msgspec.Struct):
    axis: int


class _Parts:
    """Which frames of each scene, and what of all else, belong to a part of a file."""

    def __init__(self, reader: TrajectoryReader, scene: int, begin: int, end: int) -> None:
        self._reader = reader
        reader.scene(scene)  # one that is not there is refused
        name, count = scene_names(reader)[scene], reader.frame_count(scene)
        if not 0 <= begin < end <= count:
            allowed = (
                f"{name!r} has {counted(count, 'frame')}, 0 to {count - 1:,}; the end, the frame "
                f"behind the last one, can be up to {count:,}"
                if end > begin
                else f"the end must come after the beginning ({name!r} has "
                f"{counted(count, 'frame')})"
            )
            raise ValueError(
                f"{reader.path} can't be cut to frames {begin:,} to {end:,}: {allowed}"
            )
        self._first_wall = self._wall(scene, begin) if begin else None
        self._end_wall = self._wall(scene, end) if end < count else None
        self.frames = {other: self._same_time(other) for other in reader.scenes}
        self.frames[scene] = (begin, end)
        for other in reader.scenes:
            self.frames[other] = self._with_whole_state(other)
        self._axes = {other: self._axes_of(other) for other in reader.scenes}

    def _wall(self, scene: int, frame: int) -> int:
        block, row = self._reader.locate(scene, frame)
        return int(self._reader.block(scene, block).wall[row])

    def _same_time(self, scene: int) -> tuple[int, int]:
        """Return the frames of another scene that were taken in the same stretch of wall time."""
        begin = 0 if self._first_wall is None else self._frame_at(scene, self._first_wall)
        if self._end_wall is None:
            return begin, self._reader.frame_count(scene)
        return begin, self._frame_at(scene, self._end_wall)

    def _frame_at(self, scene: int, wall: int) -> int:
        """Return the first frame that was not taken before a wall time; how many, when none."""
        index = self._reader.index(scene)
        if not len(index):
            return 0
        block = max(int(np.searchsorted(index.first_wall, wall)) - 1, 0)
        row = int(np.searchsorted(self._reader.block(scene, block).wall, wall))
        return int(index.frames[block]) + row

    def _with_whole_state(self, scene: int) -> tuple[int, int]:
        """Return the frames of a scene, from an earlier one where the first state needs that."""
        begin, end = self.frames[scene]
        if begin >= end:
            return begin, begin
        block, row = self._reader.locate(scene, begin)
        if row:
            rows = self._reader.block(scene, block)
            if rows.kind is BlockKind.MINIMAL or rows.hidden:
                begin -= row
        return begin, end

    def _axes_of(self, scene: int) -> tuple[int, int]:
        """Return the first and last axis of a scene's part; the end of all has no last one."""
        begin, end = self.frames[scene]
        if begin >= end:
            return 0, -1
        reader = self._reader
        block, row = reader.locate(scene, begin)
        first = int(reader.block(scene, block).axes[row]) if begin else -(1 << 63)
        if end == reader.frame_count(scene):
            return first, (1 << 63) - 1
        block, row = reader.locate(scene, end - 1)
        return first, int(reader.block(scene, block).axes[row])

    def rows(self, scene: int, number: int) -> range:
        """Return which rows of a block belong to it."""
        begin, end = self.frames[scene]
        frames = self._reader.index(scene).frames
        first, behind = int(frames[number]), int(frames[number + 1])
        return range(max(begin, first) - first, max(min(end, behind), first) - first)

    def events(self, scene: int) -> list[FileEvent]:
        """Return the events of a scene's part, and those around it that still hold there."""
        first, last = self._axes[scene]
        before, within = [], []
        stretch: list[FileEvent] = []
        behind: list[FileEvent] = []
        for event in self._reader.events(scene):
            if event.axis > last:
                if event.kind in _STRETCHES:
                    behind.append(event)
            elif event.axis >= first:
                within.append(event)
            elif event.kind in _STRETCHES:
                stretch = [event]
            elif event.kind in _STANDING:
                before.append(event)
        if last < first:
            return []
        return [*before, *stretch, *within, *self._written_within(scene, behind)]

    def _written_within(self, scene: int, behind: Sequence[FileEvent]) -> list[FileEvent]:
        """Return what the model was found to be behind a part, and may have been in it already.

        As it was before the stretch that the part has nothing else of, and right behind the part.
        """
        last = self._axes[scene][1]
        begin = min((event.axis for event in behind), default=-1)
        told = [event for event in behind if event.axis == begin]
        since = [event.data.get("model_since") for event in told]
        if not any(isinstance(each, int) and 0 <= each <= last for each in since):
            return []
        block, row = self._reader.locate(scene, self.frames[scene][1] - 1)
        rows = self._reader.block(scene, block)
        found = []
        for event in told:
            data = {key: event.data[key] for key in _OF_MODEL if key in event.data}
            if "fields_before" in event.data:
                data["fields"] = event.data["fields_before"]
            told_of = msgspec.structs.replace(
                event,
                kind="edit",
                axis=last + 1,
                time=float(rows.rows[row, 0] + rows.timesteps[row]),
                parent_axis=last,
                physics_step=event.physics_step + last + 1 - event.axis,
                text=f"the model was changed: {data.get('model', '')}",
                data=data,
            )
            found.append(told_of)
            if "fields_before" in event.data:
                break  # what was written later came behind that stretch's begin
        return found

    def messages(self) -> Iterator[Message]:
        """Yield signals and messages of the part."""
        for message in self._reader.messages():
            kind = kind_of_topic(message.channel.topic)
            if kind is ChunkKind.SIGNALS:
                if self._has_sample(message):
                    yield message
            elif kind is ChunkKind.MESSAGES:
                if self._has_time(message.log_time):
                    yield message
                elif self._lasts(message):
                    yield message._replace(log_time=self._log_time(self._first_wall or 0))

    def _has_sample(self, message: Message) -> bool:
        for scene, (first, last) in self._axes.items():
            if message.channel.topic.startswith(signal_topic(scene, "")):
                try:
                    return first <= msgspec.json.decode(message.data, type=_Sample).axis <= last
                except (msgspec.MsgspecError, RecursionError):
                    return False
        return False

    def _log_time(self, wall: int) -> int:
        manifest = self._reader.manifest
        return round(manifest.created * 1e9) - manifest.clock + wall

    def _lasts(self, message: Message) -> bool:
        """Return whether a message from before the part still holds in it."""
        schema = message.channel.schema
        is_lasting = schema is not None and schema[0] in _LASTING
        before = self._first_wall is not None and message.log_time < self._log_time(
            self._first_wall
        )
        return is_lasting and before

    def _has_time(self, log_time: int) -> bool:
        wall = log_time - self._log_time(0)
        return (self._first_wall is None or wall >= self._first_wall) and (
            self._end_wall is None or wall < self._end_wall
        )


def _rows_of(block: RowBlock, rows: range) -> RowBlock:
    """Return some rows of a block."""
    part = slice(rows.start, rows.stop)
    return dataclasses.replace(
        block,
        rows=block.rows[part],
        axes=block.axes[part],
        steps=block.steps[part],
        timesteps=block.timesteps[part],
        wall=block.wall[part],
        flags=block.flags[part],
        digests=None if block.digests is None else block.digests[part],
        hidden=block.hidden if not rows.start else b"",
    )
