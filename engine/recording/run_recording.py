"""Recording a script that says nothing of it: ``stroboscope run --record FILE script.py``.

Each of its scenes is recorded from its first step on, into a file of its own: the first one into
the file that was named, others into ``FILE.NAME.mcap``. So every file is complete as soon as its
scene ends, and scenes may come and go while the script runs.
"""

import atexit
import dataclasses
import os
import re
import shlex
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from stroboscope.engine.counted import counted
from stroboscope.engine.errors import EngineError
from stroboscope.engine.recording.ended_by_signal import EndSignals
from stroboscope.engine.recording.recording import Recording
from stroboscope.engine.recording.recording_methods import new_recording
from stroboscope.engine.recording.saved_causes import SavedCauses
from stroboscope.engine.recording.scene_records import MOST_UNASKED
from stroboscope.engine.recording.trajectory_file import TrajectoryFile
from stroboscope.engine.runtime import forget_scenes, watch_scenes

if TYPE_CHECKING:
    from stroboscope.engine.recording.registry import RecordingRegistry
    from stroboscope.engine.scene import Scene
    from stroboscope.engine.scene_life import SceneLife

__all__ = ["RunRecording"]

_MOST_SCENES: Final = 256
"""Each has a thread that writes, and a file."""
_MOST_TOLD: Final = 10


class RunRecording:
    """Records all scenes that are made from now on; any thread.

    ``tell`` takes what the user should read, ``over`` is called when the interpreter ends: nothing
    is recorded after that. Scenes of one world and of many environments alike.
    """

    def __init__(
        self, wanted: TrajectoryFile, *, tell: Callable[[str], None], over: Callable[[], None]
    ) -> None:
        self._wanted = wanted
        self._tell, self._over = tell, over
        self._causes = SavedCauses()
        self._lock = threading.Lock()
        self._taken: set[Path] = set()
        """Files of scenes."""
        self._recordings: dict[Path, Recording] = {}
        self._knows_end = False
        self._is_told_full = False
        self._process_id = os.getpid()
        self._recorder: RecordingRegistry | None = None
        # Now, for scenes may be made by other threads, on which Python lets nobody listen.
        self._signals = EndSignals(finish=self._ended_by_signal, ask=self._before_steps)
        self._signals.watch()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._signals.end)
        watch_scenes(self._made)
        atexit.register(self._tell_of_none)

    # --- scenes

    def _made(self, scene: "SceneLife") -> None:
        """Record a scene that was made just now, by its owner."""
        with self._lock:
            is_first, self._knows_end = not self._knows_end, True
        if is_first:
            # Now that there is a runtime: what is registered last is called first.
            atexit.register(self._end)
        self._recorder = scene.runtime.recordings
        self._recorder.when_complete = self._tell_of_files
        begin = partial(self._begin, cast("Scene", scene))
        if getattr(scene, "is_adopted", False):
            begin()  # it may only ever call sync()
        else:
            # What the script does to it until then, it is made of; of one that never steps, and of
            # a recorded run that is only looked at, there is nothing to record.
            scene.call_soon(begin)

    def _begin(self, scene: "Scene") -> None:
        path = self._path(scene)
        if path is None:
            return
        wanted = dataclasses.replace(self._wanted, filename=path)
        n_envs = int(getattr(scene, "n_envs", 0))
        if n_envs > MOST_UNASKED:
            self._tell(
                f"of the {n_envs:,} environments of scene {scene.name!r} the first {MOST_UNASKED} "
                "are recorded: to choose others, let the script call scene.start_recording(…)"
            )
            wanted = dataclasses.replace(wanted, envs=range(MOST_UNASKED))
        try:
            recording = new_recording(scene, wanted, causes=self._causes)
            recording.begin(scene)
        except (EngineError, ValueError, TypeError, OSError) as error:
            self._tell(f"scene {scene.name!r} is not recorded: {error}")
            return
        with self._lock:
            self._recordings[path] = recording

    def _path(self, scene: "Scene") -> Path | None:
        """Return a file that no scene before has, also one of the same name; None: these are many.

        What has ended without a file leaves its name to others.
        """
        path, number = self._wanted.path, 1
        with self._lock:
            for other, recording in list(self._recordings.items()):
                if not recording.is_recording and not recording.written:
                    del self._recordings[other]
                    self._taken.discard(other)
            is_full = len(self._taken) >= _MOST_SCENES
            is_news = is_full and not self._is_told_full
            self._is_told_full = self._is_told_full or is_full
            if path in self._taken:
                plain = re.sub(r"[^\w-]+", "_", scene.name).strip("_") or "scene"
                first = path = path.with_name(f"{path.stem}.{plain}{path.suffix}")
                while path in self._taken:
                    number += 1
                    path = first.with_name(f"{first.stem}_{number}{first.suffix}")
            if not is_full:
                self._taken.add(path)
        if is_news:
            self._tell(f"{_MOST_SCENES} scenes of the script are recorded, others are not")
        return None if is_full else path

    # --- the end

    def _ended_by_signal(self, name: str) -> None:
        if self._recorder is not None:
            self._recorder.ended_by_signal(name)

    def _before_steps(self, call: Callable[[], None]) -> None:
        if self._recorder is not None:
            self._recorder.before_steps(call)
        else:
            call()

    def _end(self) -> None:
        if os.getpid() == self._process_id:
            forget_scenes(self._made)
            self._signals.end()
            self._over()

    def _tell_of_files(self) -> None:
        """Say where everything is, which is complete now."""
        with self._lock:
            recordings, self._recordings = list(self._recordings.values()), {}
        if os.getpid() != self._process_id or not recordings:
            return
        told = [line for each in recordings for line in _told(each)]
        for line in told[:_MOST_TOLD]:
            self._tell(line)
        if len(told) > _MOST_TOLD:
            folder = self._wanted.path.parent
            self._tell(f"and {len(told) - _MOST_TOLD:,} more files in {folder}")
        if not told:
            self._tell("no scene has stopped, so nothing was saved")

    def _tell_of_none(self) -> None:
        if not self._taken and os.getpid() == self._process_id:
            self._tell("nothing was recorded: the script has stepped no simulation that we can see")


def _told(recording: Recording) -> list[str]:
    """Return what is to be said of a recording that is over."""
    frames = counted(recording.frames, "frame")
    lines = [
        f"recorded: stroboscope open {shlex.quote(os.path.relpath(path))}"
        for path in recording.written
    ]
    if len(lines) == 1:
        lines[0] = lines[0].replace("recorded:", f"recorded {frames}:")
    return lines if recording.error is None else [*lines, str(recording.error)]
