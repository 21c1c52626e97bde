"""One recording, as scripts see it."""

import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from stroboscope.engine.errors import RecordingError

if TYPE_CHECKING:
    from stroboscope.engine.batch.batch_scene import BatchScene
    from stroboscope.engine.files.frames import FileEvent
    from stroboscope.engine.recording.feed import FinalRow
    from stroboscope.engine.recording.file_thread import FileThread
    from stroboscope.engine.scene import Scene

__all__ = ["Recording", "ThreadRecording", "stop_of_scene"]


class Recording:
    """Scenes that are being recorded; made by :meth:`Scene.start_recording`.

    As a context manager it stops at the end of the block. Methods are for any thread.
    """

    @property
    def path(self) -> Path:
        """The file that is written now, or was written last."""
        return self.paths[-1]

    @property
    def paths(self) -> tuple[Path, ...]:
        """All files of it, oldest first."""
        raise NotImplementedError

    @property
    def written(self) -> tuple[Path, ...]:
        """Those of them that there are."""
        return self.paths

    @property
    def frames(self) -> int:
        """How many frames were written."""
        raise NotImplementedError

    @property
    def nbytes(self) -> int:
        """How many bytes the present file has."""
        raise NotImplementedError

    @property
    def is_recording(self) -> bool:
        """Whether frames are still taken."""
        raise NotImplementedError

    @property
    def error(self) -> RecordingError | None:
        """Why it stopped by itself: the disk failed, or the file has its size; None: it didn't."""
        raise NotImplementedError

    def untold_error(self, scene: "Scene | BatchScene | None" = None) -> RecordingError | None:
        """Return why it stopped by itself, where whoever ends it (``scene``) is to learn that."""
        return self.error

    def stop(self) -> Path:
        """Stop recording, wait until the file is complete, and return its path.

        The last frame is the state that each scene stands in. Twice is harmless. Raises
        RecordingError where the disk has failed: what was written before that is in the file. And
        RecordingFullError, once, where the file did not take the newest frames, unless a step has.
        """
        self.finish()
        return self.told()

    def told(self, scene: "Scene | BatchScene | None" = None) -> Path:
        """Return the file; raises what went wrong with it, if nobody has been told."""
        error = self.untold_error(scene)
        if error is not None:
            raise error
        return self.path

    def __enter__(self) -> "Recording":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            self.stop()
            return
        if isinstance(error, Exception):
            for scene in self.scenes:
                if scene.owner is threading.current_thread():
                    scene.recorders.failed(error)
        self.shut_down()

    def __repr__(self) -> str:
        """Say which file, and how much is in it."""
        state = "recording" if self.is_recording else "stopped"
        return f"<{type(self).__name__} {str(self.path)!r}, {state}, {self.frames:,} frames>"

    # --- for the engine

    def begin(self, scene: "Scene | BatchScene") -> None:
        """Begin to record one of the scenes; by its owner."""
        raise NotImplementedError

    def end_scene(self, scene: "Scene | BatchScene", *, saves: bool) -> None:
        """Record one of the scenes no more; the file is complete when it was the last.

        ``saves``: because somebody wants the file; else because the scene ends.
        """
        raise NotImplementedError

    def finish(self) -> None:
        """Stop recording, and say nothing of what went wrong."""
        raise NotImplementedError

    def shut_down(self) -> None:
        """Stop recording because the script, or the block around it, ends."""
        self.finish()

    @property
    def scenes(self) -> "tuple[Scene | BatchScene, ...]":
        """Those that are still recorded."""
        raise NotImplementedError

    def stopped(self, final: "FinalRow | None", stops: "Sequence[FileEvent]") -> None:
        """Hear that one of the scenes has stopped, by its owner; ``final``: before which step.

        ``stops``: what was recorded of it; of many environments one each.
        """

    def disown(self) -> None:
        """In a forked child: leave the file to the parent."""
        raise NotImplementedError


class ThreadRecording(Recording):
    """One whose file a thread writes."""

    _thread: "FileThread"

    @property
    def paths(self) -> tuple[Path, ...]:
        """All files of it, oldest first."""
        return tuple(self._thread.paths)

    @property
    def frames(self) -> int:
        """How many frames are in the files by now."""
        return self._thread.frames

    @property
    def nbytes(self) -> int:
        """How many bytes the present file has."""
        return self._thread.nbytes


def stop_of_scene(scene: "Scene | BatchScene", recording: Recording) -> Path:
    """Record a scene no more, by its owner; return the file, complete when it was the last one.

    Raises what :meth:`Recording.stop` does.
    """
    recording.end_scene(scene, saves=True)
    if recording.is_recording:
        return recording.path
    recording.finish()
    return recording.told(scene)
