"""All recordings of a process that are under way: ended with it, and not a forked child's."""

import functools
import os
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from stroboscope.engine.errors import RecordingError
from stroboscope.engine.recording.by_owner import SHORT_PATIENCE_S, OwnersTask, wait_for
from stroboscope.engine.recording.ended_by_signal import EndSignals
from stroboscope.engine.recording.recorded_stops import signal_data
from stroboscope.engine.recording.uncaught import UncaughtErrors
from stroboscope.engine.recording.worker_end import WorkerEnd

if TYPE_CHECKING:
    from stroboscope.engine.scene_life import SceneLife

__all__ = ["RecordingRegistry"]


class _Recording(Protocol):
    def shut_down(self) -> None:
        """Complete the file, and say nothing of what went wrong."""

    @property
    def scenes(self) -> "tuple[SceneLife, ...]":
        """Those that it still records."""

    @property
    def paths(self) -> tuple[Path, ...]:
        """Its files."""

    def disown(self) -> None:
        """In a forked child: leave the file to the parent."""


class RecordingRegistry:
    """What is being recorded; any thread."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        """Where clients' recordings go; None: where the script was started."""
        self.on_change: Callable[[], None] = _nobody
        """Called when there is something to record, and when there is nothing any more."""
        self.when_complete: Callable[[], None] = _nobody
        """Called when the process, or the engine, ends: all files are complete."""
        self._lock = threading.Lock()
        self._recordings: list[_Recording] = []
        self._knows_forks = False
        self._errors = UncaughtErrors(self._failed)
        self._signals = EndSignals(finish=self.ended_by_signal, ask=self.before_steps)
        self._worker_end = WorkerEnd(failed=self._failed, finish=self.finish)
        self._ends_with: Exception | None = None

    def add(self, recording: _Recording) -> None:
        """Remember a recording until it has ended."""
        with self._lock:
            self._recordings.append(recording)
            self._errors.watch()
            self._signals.watch()
            self._worker_end.watch()
            if not self._knows_forks and hasattr(os, "register_at_fork"):
                self._knows_forks = True
                forked = functools.partial(_forked, weakref.ref(self))
                os.register_at_fork(after_in_child=forked)
        self.on_change()

    def check_free(self, path: Path) -> None:
        """Raise RecordingError when ``path`` is being recorded into: it would be replaced."""
        for recording in self.recordings:
            for other in recording.paths:
                if other.absolute() == path.absolute():
                    raise RecordingError(
                        f"{path} is being recorded into: stop that recording first, or name "
                        "another file"
                    )

    def remove(self, recording: _Recording) -> None:
        """Forget a recording that has ended; harmless when it is not known."""
        with self._lock:
            self._recordings = [each for each in self._recordings if each is not recording]
            if not self._recordings:
                self._errors.end()
                self._signals.end()
        self.on_change()

    @property
    def recordings(self) -> tuple[_Recording, ...]:
        """What is recorded, oldest first."""
        with self._lock:
            return tuple(self._recordings)

    def _scenes(self) -> "list[SceneLife]":
        found = {id(scene): scene for each in self.recordings for scene in each.scenes}
        return list(found.values())

    def _failed(self, error: Exception) -> None:
        """Tell what records the scenes of this thread that an exception ends it."""
        thread = threading.current_thread()
        self._ends_with = error if thread is threading.main_thread() else self._ends_with
        for scene in self._scenes():
            if scene.owner is thread:
                scene.recorders.failed(error)

    def before_steps(self, call: Callable[[], None]) -> None:
        """Have the scenes of the main thread call ``call`` before their next step.

        In a signal handler, wherever that thread is: this takes no lock.
        """
        if not self._recordings:
            call()
        scenes = {id(scene): scene for each in tuple(self._recordings) for scene in each.scenes}
        for scene in scenes.values():
            if scene.owner is threading.main_thread():
                scene.call_soon(call)

    def ended_by_signal(self, name: str) -> None:
        """Complete all files, and say in them why they end."""
        text = f"the process was ended by {name}"
        data = signal_data(name, text)
        try:
            self._tell_all(lambda scene: scene.recorders.script_ended(text, data))
        finally:
            self._complete()

    def finish(self) -> None:
        """Complete all files."""
        self._errors.end()
        error, self._ends_with = self._ends_with, None
        try:
            if error is not None:
                # Those of other threads end with the script, too.
                self._tell_all(lambda scene: scene.recorders.failed(error))
        finally:
            self._complete()

    def _complete(self) -> None:
        for recording in self.recordings:
            recording.shut_down()
        self.when_complete()

    def _tell_all(self, tell: "Callable[[SceneLife], None]") -> None:
        tasks = [OwnersTask(scene, _telling(scene, tell)) for scene in self._scenes()]
        wait_for(tasks, patience=SHORT_PATIENCE_S)

    def forget_parent(self) -> None:
        """In a forked child: nothing is recorded."""
        self._lock = threading.Lock()
        recordings, self._recordings = self._recordings, []
        self._errors.end()
        self._signals.end()
        for recording in recordings:
            recording.disown()


def _nobody() -> None:
    """Tell nobody."""


def _telling(scene: "SceneLife", tell: "Callable[[SceneLife], None]") -> Callable[[bool], None]:
    return lambda _stands_still: tell(scene)


def _forked(registry: "weakref.ref[RecordingRegistry]") -> None:
    found = registry()
    if found is not None:
        found.forget_parent()
