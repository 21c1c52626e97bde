"""A file that was cut off or damaged, rewritten into one that is complete."""

import dataclasses
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np

from stroboscope.engine.files.copying import (
    Progress,
    gap_event,
    intact_attachments,
    messages_by_kind,
    nobody,
    refuse_itself,
    whole_trajectory,
)
from stroboscope.engine.files.damage import Damage
from stroboscope.engine.files.disk import Disk
from stroboscope.engine.files.errors import FileDamagedError
from stroboscope.engine.files.frames import FileEvent
from stroboscope.engine.files.lost_messages import (
    LostMessages,
    content_of_topic,
    how_many,
    lost_in_words,
    messages_in_words,
)
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.files.scene_names import scene_names
from stroboscope.engine.files.writer import TrajectoryWriter

__all__ = ["Repaired", "repair"]


@dataclasses.dataclass(frozen=True, slots=True)
class Repaired:
    """What has become of a file: ``path`` of the new one, ``damage`` of the old one.

    ``frames``: how many each scene has now, ``frames_there`` how many it had, ``names`` of scenes.
    ``messages``: how many of each topic are there now, ``messages_lost``: which are not.
    ``attachments_lost``: names of those left out. ``was_closed``: whether the old one was, by its
    writer: else nobody knows what would have followed.
    """

    path: Path
    names: dict[int, str]
    frames: dict[int, int]
    frames_there: dict[int, int]
    messages: dict[str, int]
    messages_lost: tuple[LostMessages, ...]
    damage: tuple[Damage, ...]
    attachments_lost: tuple[str, ...]
    was_closed: bool

    @property
    def has_lost(self) -> bool:
        """Whether anything that is known to have been there is not any more."""
        return bool(
            self.frames != self.frames_there or self.messages_lost or self.attachments_lost
        ) or any(not each.is_cut_off for each in self.damage)

    def __str__(self) -> str:
        """Return the same as text."""
        return "\n".join(self.told())

    def told(self) -> list[str]:
        """Return a line each: what was wrong, what is lost, and what the new file has of it."""
        lines = [f"was damaged {damage.told(self.names)}" for damage in self.damage]
        if not self.was_closed:
            lines.append(
                "it ends before its writer has closed it: what would have followed is lost, and "
                "nobody knows how much that is"
            )
        elif not self.damage:
            lines.append("no damage was found: the new file holds the same")
        lines += [f"lost: {name}" for name in self.attachments_lost]
        is_all = self.was_closed and not self.has_lost
        lines.append(f"{self.path} has {'all of it' if is_all else 'what is whole'}:")
        there = Counter(self.messages)
        for each in self.messages_lost:
            there[each.topic] += each.number
        of_scene: dict[int, dict[str, int]] = {}
        for topic, count in there.items():
            of_scene.setdefault(content_of_topic(topic)[0], {})[topic] = count
        for scene, name in self.names.items():
            count, was = self.frames[scene], self.frames_there[scene]
            frames = how_many(count, was, "frame")
            more = messages_in_words(self.messages, of_scene.get(scene, {}))
            lines.append(f"  {name}: {', '.join((frames, *more))}")
        return lines + [
            f"  {words}" for words in messages_in_words(self.messages, of_scene.get(-1, {}))
        ]


def repair(
    path: str | Path,
    target: str | Path | None = None,
    *,
    disk: Disk | None = None,
    progress: Progress | None = None,
) -> Repaired:
    """Rewrite a file that was cut off or damaged into one that is complete; the old one stays.

    ``target``: ``name.repaired.mcap`` beside it unless said; it is there as a whole or not at
    all. Blocks that are damaged are left out, and an event "gap" says where. Raises FileError.
    """
    source = Path(path)
    with TrajectoryReader(source) as reader:  # first: what is no file has no such name either
        new = source.with_name(f"{source.stem}.repaired.mcap") if target is None else Path(target)
        refuse_itself(reader, new)
        attachments, lost = intact_attachments(reader)
        note = "; ".join(filter(None, (reader.manifest.note, f"repaired from {source.name}")))
        manifest = msgspec.structs.replace(reader.manifest, note=note)
        with whole_trajectory(new, manifest, attachments=attachments, disk=disk) as writer:
            frames = _copy_blocks(reader, writer, progress or nobody)
            copied: Counter[str] = Counter()
            for kind, messages in messages_by_kind(reader.messages()):
                writer.copy_messages(messages, kind)
                copied.update(message.channel.topic for message in messages)
            messages_lost = tuple(each for damage in reader.damage for each in damage.messages)
            writer.write_events(list(_losses(reader, messages_lost)))
        return Repaired(
            path=new,
            names=scene_names(reader),
            frames=frames,
            frames_there={scene: reader.frame_count(scene) for scene in reader.scenes},
            messages=dict(copied),
            messages_lost=messages_lost,
            damage=reader.damage,
            attachments_lost=lost,
            was_closed=reader.complete,
        )


def _losses(reader: TrajectoryReader, lost: tuple[LostMessages, ...]) -> Iterator[FileEvent]:
    """Yield what says in the new file which events and values of signals are lost, and where."""
    by_scene: dict[int, list[LostMessages]] = {}
    for each in lost:
        scene = content_of_topic(each.topic)[0] if each.topic else reader.scenes[0]
        by_scene.setdefault(scene, []).append(each)
    for scene, mine in by_scene.items():
        if scene not in reader.scenes:
            continue  # for other tools
        place, first = _place(reader, scene, mine)
        yield FileEvent(
            kind="gap",
            axis=first,
            scene=scene,
            text=f"lost, as they were damaged: {lost_in_words(mine, scene_names(reader))}{place}",
        )


def _place(reader: TrajectoryReader, scene: int, lost: list[LostMessages]) -> tuple[str, int]:
    """Return between which physics steps messages were logged, in words, and the first of them."""
    index = reader.index(scene)
    if not len(index):
        return "", 0
    origin = round(reader.manifest.created * 1e9) - reader.manifest.clock
    walls = index.first_wall
    begin, end = (
        min(max(int(np.searchsorted(walls, time - origin, side="right")) - 1, 0), len(index) - 1)
        for time in (min(each.first for each in lost), max(each.last for each in lost))
    )
    first, last = int(index.first_axis[begin]), int(index.last_axis[end])
    return f", logged between physics steps {first:,} and {last:,}", first


def _copy_blocks(
    reader: TrajectoryReader, writer: TrajectoryWriter, progress: Progress
) -> dict[int, int]:
    """Copy all blocks that are intact in the order of the file; return the frames per scene."""
    frames = dict.fromkeys(reader.scenes, 0)
    order = reader.block_order()
    for done, (scene, number) in enumerate(order):
        progress(done / len(order))
        try:
            block = reader.encoded_block(scene, number)
        except FileDamagedError as error:
            writer.write_events([gap_event(reader, scene, number, error)])
            continue
        writer.write_encoded_block(scene, block)
        frames[scene] += block[0].rows
    progress(1.0)
    return frames
