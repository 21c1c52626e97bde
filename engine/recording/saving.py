"""Writing what is in memory into a file, as a whole or not at all, while the scene goes on."""

import dataclasses
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stroboscope.engine.errors import EngineError, RecordingError
from stroboscope.engine.files.atomic import part_of, refuse_no_file
from stroboscope.engine.files.block import rows_per_kept_block
from stroboscope.engine.files.disk import Disk
from stroboscope.engine.files.frames import RecordMode, SceneRecord
from stroboscope.engine.recording.feed import Attachments, FinalRow, SceneFeed
from stroboscope.engine.recording.file_thread import FileThread
from stroboscope.engine.recording.for_tools import messages_of
from stroboscope.engine.recording.past_of_scene import fill_with_past
from stroboscope.engine.recording.recording import ThreadRecording
from stroboscope.engine.recording.scene_records import manifest_of, record_of
from stroboscope.engine.recording.trajectory_file import TrajectoryFile

if TYPE_CHECKING:
    from stroboscope.engine.batch.batch_scene import BatchScene
    from stroboscope.engine.scene import Scene

__all__ = ["Saving"]

_LARGEST = 1 << 62
_log = logging.getLogger(__name__)


class Saving(ThreadRecording):
    """The past of one scene on its way into a file, which gets its name when it is complete.

    ``fill`` puts it into the feeds of its ``records``, one each, whose models are in
    ``attachments``. Made by the scene's owner. Raises FileWriteError when the file can't be
    created.
    """

    def __init__(
        self,
        wanted: TrajectoryFile,
        scene: "Scene | BatchScene",
        *,
        path: Path,
        records: Sequence[SceneRecord],
        attachments: Attachments,
        fill: Callable[[Sequence[SceneFeed]], None],
        disk: Disk | None = None,
    ) -> None:
        refuse_no_file(path)
        wanted = dataclasses.replace(
            wanted,
            max_size=_LARGEST,  # what is in memory is no larger than that
            rotate=False,
            chunk_size=wanted.chunk_size or min(map(_rows_per_block, records)),
        )
        world = scene.world
        self._thread = FileThread(
            wanted,
            manifest_of(records, adapter=scene.world.adapter),
            attachments,
            on_end=self._failed,
            path=part_of(path),
            finish_name=path,
            keeps_part=wanted.is_flight_recorder,
            disk=disk,
        )
        messages = messages_of(world.model, adapter=world.adapter, max_size=_LARGEST)
        feeds = [
            SceneFeed(
                record,
                messages=messages,
                wake=self._thread.wake,
                is_read=self._thread.is_reading,
                drops=False,
                hidden=world.codec.keeps_sleep and record.env < 0,
            )
            for record in records
        ]
        fill(feeds)
        self._registry = scene.runtime.recordings
        self._registry.add(self)
        self._thread.begin(feeds)
        self._thread.end(timeout=0.0)

    @classmethod
    def of_scene(
        cls,
        wanted: TrajectoryFile,
        scene: "Scene",
        *,
        path: Path,
        final: FinalRow,
        disk: Disk | None = None,
    ) -> "Saving":
        """Save the history of a scene of one world, and ``final`` behind it."""
        attachments = Attachments()
        record = record_of(scene, wanted, index=0, attachments=attachments)
        return cls(
            wanted,
            scene,
            path=path,
            records=[record],
            attachments=attachments,
            fill=lambda feeds: fill_with_past(
                feeds[0], scene, final=final, seconds=wanted.keep_last
            ),
            disk=disk,
        )

    @property
    def is_recording(self) -> bool:
        """Never: it is of the past."""
        return False

    @property
    def error(self) -> RecordingError | None:
        """Why the file could not be written."""
        error: EngineError | None = self._thread.error
        return None if error is None else RecordingError(f"the past was not saved: {error}")

    @property
    def scenes(self) -> "tuple[Scene, ...]":
        """None any more."""
        return ()

    def end_scene(self, scene: "Scene | BatchScene", *, saves: bool) -> None:
        """Nothing: its past is in the file, whatever becomes of it."""

    def finish(self) -> None:
        """Wait until the file is complete."""
        self._thread.end()
        self._registry.remove(self)

    def _failed(self) -> None:
        _log.warning("%s", self.error or "the past was not saved: it is larger than max_size")

    def disown(self) -> None:
        """In a forked child: leave the file to the parent."""
        self._thread.disown()


def _rows_per_block(record: SceneRecord) -> int:
    return rows_per_kept_block(
        record.width,
        seconds=record.timestep * record.every,
        is_minimal=record.mode is RecordMode.MINIMAL,
    )
