"""Recording some scenes into a file while they run."""

import dataclasses
import functools
import logging
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.engine.errors import RecordingError, RecordingFullError
from stroboscope.engine.files.disk import Disk
from stroboscope.engine.files.frames import SceneRecord
from stroboscope.engine.foxglove_messages import SceneMessages
from stroboscope.engine.recording.batch_tap import BatchTap
from stroboscope.engine.recording.by_owner import PATIENCE_S, SHORT_PATIENCE_S, OwnersTask, wait_for
from stroboscope.engine.recording.feed import Attachments, NewModel, SceneFeed
from stroboscope.engine.recording.file_thread import FileThread
from stroboscope.engine.recording.for_tools import messages_of
from stroboscope.engine.recording.recording import ThreadRecording
from stroboscope.engine.recording.scene_records import manifest_of, record_of, records_of
from stroboscope.engine.recording.scene_tap import SceneTap, model_event
from stroboscope.engine.recording.trajectory_file import SlowDisk, TrajectoryFile

if TYPE_CHECKING:
    from stroboscope.engine.batch.batch_scene import BatchScene
    from stroboscope.engine.scene import Scene

__all__ = ["FileRecording"]

AnyScene: TypeAlias = "Scene | BatchScene"
AnyTap: TypeAlias = SceneTap | BatchTap

_log = logging.getLogger(__name__)


class FileRecording(ThreadRecording):
    """Scenes whose rows are in a file a quarter of a second after they were written, or before."""

    def __init__(
        self, wanted: TrajectoryFile, scenes: Sequence[AnyScene], *, disk: Disk | None = None
    ) -> None:
        self._wanted = wanted
        self._scenes = tuple(scenes)
        self._lock = threading.RLock()
        self._told: set[int] = set()
        """Ids of scenes by whose step, or end, somebody has learnt that the file is full."""
        self._lacks_end = False
        """Whether a scene has ended when nothing was written any more."""
        self._registry = scenes[0].runtime.recordings
        self._registry.check_free(wanted.path)
        self._attachments = attachments = Attachments()
        records: list[SceneRecord] = []
        parts = []
        for scene in scenes:
            part = records_of(scene, wanted, first=len(records), attachments=attachments)
            parts.append(part)
            records += part
        manifest = manifest_of(records, adapter=scenes[0].world.adapter)
        self._thread = FileThread(
            wanted,
            manifest,
            attachments,
            on_end=self._ended_by_itself,
            on_news=self._tell_news,
            disk=disk,
        )
        self._taps: dict[int, AnyTap] = {
            id(scene): self._tap(scene, part) for scene, part in zip(scenes, parts, strict=True)
        }
        self._thread.begin([feed for tap in self._taps.values() for feed in tap.feeds])
        self._registry.add(self)

    def _tap(self, scene: AnyScene, records: Sequence[SceneRecord]) -> AnyTap:
        is_batch = records[0].env >= 0
        messages = self._messages_of(scene)
        feeds = [
            SceneFeed(
                record,
                messages=messages,
                wake=self._thread.wake,
                is_read=self._thread.is_reading,
                drops=self._wanted.slow_disk is SlowDisk.DROP,
                hidden=scene.world.codec.keeps_sleep and not is_batch,
            )
            for record in records
        ]
        if is_batch:
            envs = np.array([record.env for record in records], dtype=np.intp)
            return BatchTap(cast("BatchScene", scene), envs, feeds)
        one = cast("Scene", scene)
        return SceneTap(one, feeds[0], on_model=lambda: self._new_model(one))

    def _messages_of(self, scene: AnyScene) -> SceneMessages:
        world = scene.world
        return messages_of(world.model, adapter=world.adapter, max_size=self._wanted.max_size)

    def begin(self, scene: AnyScene) -> None:
        """Begin to record one of the scenes; by its owner."""
        tap = self._taps.get(id(scene))
        if tap is not None:
            tap.begin()
            scene.recorders.add(self, tap.listener, self._wanted)

    # --- what it is

    @property
    def scenes(self) -> tuple[AnyScene, ...]:
        """Those that are still recorded."""
        return tuple(scene for scene in self._scenes if id(scene) in self._taps)

    @property
    def is_recording(self) -> bool:
        """Whether frames are still taken."""
        return bool(self._taps) and self._thread.is_reading()

    @property
    def error(self) -> RecordingError | None:
        """Why it stopped by itself: the disk failed, or the file has its size; None: it didn't."""
        thread = self._thread
        if thread.is_full:
            return RecordingFullError(
                f"{thread.path} has reached its max_size of {self._wanted.max_size:,} bytes with "
                f"{thread.frames:,} frames, and was closed{self._left_out()}; record with a larger "
                "max_size, with rotate=True, or with every=…"
            )
        if thread.error is not None:
            return RecordingError(
                f"recording has stopped after {thread.frames:,} frames: {thread.error}"
            )
        return None

    def _left_out(self) -> str:
        parts = self._thread.left_out
        if not parts:
            return ""
        one = dataclasses.replace(
            parts[0],
            frames=sum(each.frames for each in parts),
            events=sum(each.events for each in parts),
            values=sum(each.values for each in parts),
        )
        return f"; {one.words} that waited at the end were left out"

    def untold_error(self, scene: "Scene | BatchScene | None" = None) -> RecordingError | None:
        """Return why it stopped by itself; of a full file only what no step has raised, once."""
        error = self.error
        if not isinstance(error, RecordingFullError):
            return error
        is_whole = not self._thread.left_out and not self._lacks_end
        told = id(scene) in self._told if scene is not None else bool(self._told)
        if is_whole or told:
            return None
        self._told.add(id(scene))
        return error

    # --- the end

    def finish(self) -> None:
        """Stop recording, and say nothing of what went wrong."""
        self._end(self._scenes, patience=PATIENCE_S)

    def shut_down(self) -> None:
        """Stop recording because the script ends: wait for nobody who may not step again."""
        self._end(self._scenes, patience=SHORT_PATIENCE_S)
        self._log_untold()

    def end_scene(self, scene: AnyScene, *, saves: bool) -> None:
        """Record one of the scenes no more; the file is complete when it was the last."""
        self._end([scene], patience=PATIENCE_S)
        if not saves and not self._taps:
            self._log_untold()

    def _log_untold(self) -> None:
        error = self.untold_error()
        if isinstance(error, RecordingFullError):  # what a disk did is in the log already
            _log.warning("%s", error)

    def _end(self, scenes: Sequence[AnyScene], *, patience: float) -> None:
        with self._lock:
            taps = [tap for scene in scenes if (tap := self._taps.pop(id(scene), None))]
            is_last = not self._taps
        for tap in taps:
            tap.scene.recorders.remove(self)
        reads = self._thread.is_reading()
        self._lacks_end |= bool(taps) and not reads
        endings = [OwnersTask(tap.scene, _ending(tap, reads=reads), late=tap.leave) for tap in taps]
        wait_for(endings, patience=patience)
        if is_last:
            self._thread.end()
            self._registry.remove(self)

    # --- what becomes of it meanwhile

    def _new_model(self, scene: "Scene") -> NewModel:
        """Return what is to be recorded of a scene that has another model; by its owner."""
        with self._lock:
            self._attachments = attachments = self._attachments.following()
        index = self._taps[id(scene)].listener.index
        record = record_of(scene, self._wanted, index=index, attachments=attachments)
        event = model_event(scene, record)
        return NewModel(record, attachments, event, self._messages_of(scene))

    def _ended_by_itself(self) -> None:
        """Tell everybody that nothing is recorded any more; on the thread that wrote."""
        error = self.error
        if error is None:
            return
        raises = isinstance(error, RecordingFullError) or self._wanted.raise_on_error
        if not isinstance(error, RecordingFullError):
            _log.warning("%s; the simulation goes on", error)
        for tap in tuple(self._taps.values()):
            tap.scene.call_soon(self._telling(tap, error if raises else None))

    def _tell_news(self, text: str) -> None:
        """Tell what others have done to the file; on the thread that writes."""
        _log.warning("%s", text)
        for tap in tuple(self._taps.values()):
            tell = functools.partial(tap.scene.link.log_text, LogLevel.WARNING, text)
            tap.scene.call_soon(tell)

    def _telling(self, tap: AnyTap, raised: RecordingError | None) -> Callable[[], None]:
        def tell() -> None:
            with self._lock:
                if self._taps.pop(id(tap.scene), None) is None:
                    return
                is_last = not self._taps
            if is_last:
                self._registry.remove(self)
            tap.scene.recorders.remove(self)
            tap.scene.recorders.ended = self
            tap.leave()
            tap.scene.link.log_text(LogLevel.WARNING, str(self.error))
            if raised is not None:
                self._told.add(id(tap.scene))
                raise raised

        return tell

    def disown(self) -> None:
        """In a forked child: the file is the parent's."""
        self._lock = threading.RLock()
        taps, self._taps = self._taps, {}
        self._thread.disown()
        for tap in taps.values():
            for feed in tap.feeds:
                feed.forget_parent()
            tap.scene.recorders.forget_parent()
            tap.scene.recorders.remove(self)
            tap.leave()


def _ending(tap: AnyTap, *, reads: bool) -> Callable[[bool], None]:
    """Return what ends a scene's part: where that may be moving, what is there by now is all."""

    def end(stands_still: bool) -> None:
        if stands_still:
            tap.end(with_final=reads)

    return end
