"""A file that was cut off or damaged, rewritten into one that is complete."""

import dataclasses
from pathlib import Path

import msgspec

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
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.files.writer import TrajectoryWriter

__all__ = ["Repaired", "repair"]


@dataclasses.dataclass(frozen=True, slots=True)
class Repaired:
    """What has become of a file: ``path`` of the new one, ``damage`` of the old one.

    ``frames``: how many each scene has now. ``attachments_lost``: names of those left out.
    """

    path: Path
    frames: dict[int, int]
    damage: tuple[Damage, ...]
    attachments_lost: tuple[str, ...]


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
    new = source.with_name(f"{source.stem}.repaired.mcap") if target is None else Path(target)
    with TrajectoryReader(source) as reader:
        refuse_itself(reader, new)
        attachments, lost = intact_attachments(reader)
        note = "; ".join(filter(None, (reader.manifest.note, f"repaired from {source.name}")))
        manifest = msgspec.structs.replace(reader.manifest, note=note)
        with whole_trajectory(new, manifest, attachments=attachments, disk=disk) as writer:
            frames = _copy_blocks(reader, writer, progress or nobody)
            for kind, messages in messages_by_kind(reader.messages()):
                writer.copy_messages(messages, kind)
        return Repaired(new, frames, reader.damage, lost)


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
