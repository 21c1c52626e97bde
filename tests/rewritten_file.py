"""Recorded files written anew with something else in them: as other writers, or older ones, do."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec

from stroboscope.engine.files.frames import FileEvent, Manifest, RowBlock, SceneRecord
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.files.writer import TrajectoryWriter

__all__ = ["rewrite_file"]


def rewrite_file(
    source: Path,
    target: Path,
    *,
    record: Callable[[SceneRecord], SceneRecord] = lambda record: record,
    manifest: Callable[[Manifest], Manifest] = lambda manifest: manifest,
    event: Callable[[FileEvent], FileEvent] = lambda event: event,
    block: Callable[[RowBlock], RowBlock] = lambda block: block,
    keeps: Callable[[int, int], bool] = lambda scene, number: True,
    more: Mapping[str, bytes] = MappingProxyType({}),
) -> Path:
    """Write the scenes, frames and events of a file into another one; return that.

    ``keeps``: which blocks, by the scene's index and their number. ``more``: attachments.
    """
    with TrajectoryReader(source) as reader:
        scenes = tuple(record(each) for each in reader.manifest.scenes)
        written = manifest(msgspec.structs.replace(reader.manifest, scenes=scenes))
        attachments = {name: reader.attachment(name) for name in reader.attachments}
        attachments.pop("stroboscope/manifest.json", None)
        attachments.update(more)
        with TrajectoryWriter(target, written, attachments=attachments) as writer:
            for place in reader.block_order():
                if keeps(*place):
                    writer.write_block(block(reader.block(*place)))
            for index in reader.scenes:
                writer.write_events([event(each) for each in reader.events(index)])
    return target
