"""The newest minutes of a scene in memory, and in a file as soon as something goes wrong."""

import logging
import math
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.engine.arguments import check_memory
from stroboscope.engine.counted import counted
from stroboscope.engine.errors import EngineError, RecordingError
from stroboscope.engine.files.disk import Disk
from stroboscope.engine.files.frames import FileEvent
from stroboscope.engine.history.block import Block
from stroboscope.engine.history.ring import RowRing
from stroboscope.engine.history.segments import Stretch
from stroboscope.engine.recording.by_owner import PATIENCE_S, OwnersTask, wait_for
from stroboscope.engine.recording.feed import Attachments, FinalRow, Value
from stroboscope.engine.recording.recorded_stops import ends_script
from stroboscope.engine.recording.recording import Recording
from stroboscope.engine.recording.saved_causes import SavedCauses
from stroboscope.engine.recording.saving import Saving
from stroboscope.engine.recording.scene_records import record_of
from stroboscope.engine.recording.scene_tap import final_row
from stroboscope.engine.recording.trajectory_file import TrajectoryFile

if TYPE_CHECKING:
    from stroboscope.engine.batch.batch_scene import BatchScene
    from stroboscope.engine.scene import Scene
    from stroboscope.engine.world import World

__all__ = ["MOST_VALUES", "FlightRecorder", "SceneFlightRecorder", "rows_of"]

_log = logging.getLogger(__name__)

MOST_VALUES: Final = 1_000_000
"""Values of the script's channels that are kept at most."""


class FlightRecorder(Recording):
    """Keeps what a scene did in the last ``keep_last`` seconds; by its owner.

    What keeps the rows says :class:`SceneFlightRecorder`, and of environments another one.
    ``causes``: what several of them have saved together.
    """

    def __init__(
        self,
        wanted: TrajectoryFile,
        scene: "Scene | BatchScene",
        *,
        causes: SavedCauses | None = None,
        disk: Disk | None = None,
    ) -> None:
        self._wanted = wanted
        self._scene = scene
        self._disk = disk
        self._savings: list[Saving] = []
        self._causes = SavedCauses() if causes is None else causes
        self._left_out = 0
        """Stops that were not worth a file."""
        self._error: EngineError | None = None
        self._is_over = False
        _check_folder(wanted.path)
        self._number = self._free_number(1)
        for path in (wanted.path, wanted.part(self._number)):
            scene.runtime.recordings.check_free(path)

    def begin(self, scene: "Scene | BatchScene") -> None:
        """Keep rows from the next one on."""
        scene = self._scene
        self._keep()
        scene.recorders.add(self, self, self._wanted)
        scene.runtime.recordings.add(self)
        scene._update_fast_path()

    # --- what keeps the rows

    def _keep(self) -> None:
        """Begin to keep rows."""
        raise NotImplementedError

    def _keep_no_more(self) -> None:
        """Let go of them."""
        raise NotImplementedError

    def _saving(self, path: Path, final: FinalRow | None, *, knows: bool) -> Saving:
        """Begin to write what there is; ``final``: before which step, None: as it stands.

        ``knows``: whether anybody knows how it stands.
        """
        raise NotImplementedError

    # --- what it is

    @property
    def scenes(self) -> "tuple[Scene | BatchScene, ...]":
        """The scene, while it is kept."""
        return () if self._is_over else (self._scene,)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files that were written; before there is any, the one that would be."""
        return self.written or (self._wanted.part(self._number),)

    @property
    def written(self) -> tuple[Path, ...]:
        """The files that were written."""
        return tuple(each.path for each in self._savings)

    @property
    def frames(self) -> int:
        """How many frames were written."""
        return sum(saving.frames for saving in self._savings)

    @property
    def is_recording(self) -> bool:
        """Whether rows are kept."""
        return not self._is_over

    @property
    def keep_last(self) -> float:
        """How much is kept [s of simulation time]."""
        return self._wanted.keep_last or 0.0

    @property
    def error(self) -> RecordingError | None:
        """Why a file could not be written."""
        if self._error is not None:
            return RecordingError(f"the flight recorder was not saved: {self._error}")
        return next((saving.error for saving in self._savings if saving.error), None)

    # --- what happens

    @property
    def index(self) -> int:
        """Which scene of the file it is."""
        return 0

    def add_event(self, event: FileEvent) -> None:
        """Nothing: what happened is noted beside the history."""

    def add_value(self, value: Value) -> None:
        """Nothing, likewise."""

    # --- files

    def stopped(self, final: FinalRow | None, stops: Sequence[FileEvent]) -> None:
        """Write a file of what led to a stop, if that is wanted, and worth one."""
        if self._is_over or not self._wanted.save_on_stop or not stops:
            return
        verdict = self._causes.judge(stops, scene=self._scene.name)
        if verdict.saves:
            note = f" ({verdict.text})" if verdict.text else ""
            self.save(final, why=_told(stops), note=note, level=logging.WARNING)
            return
        self._left_out += 1
        if verdict.text:
            self._tell(f"{_told(stops)}; {verdict.text}", level=logging.WARNING)

    def save(
        self,
        final: FinalRow | None = None,
        *,
        why: str,
        note: str = "",
        knows: bool = True,
        level: int = logging.INFO,
    ) -> None:
        """Write what there is into the next file, and say so; the scene goes on meanwhile.

        Files that are there stay: what an earlier run has left may be looked for only now.
        """
        number = self._free_number(self._number)
        self._number = number + 1
        path = self._wanted.part(number)
        try:
            saving = self._saving(path, final, knows=knows)
        except EngineError as error:
            self._error = error
            _log.warning("%s; the simulation goes on", self.error)
            self._scene.link.log_text(LogLevel.WARNING, str(self.error))
            return
        self._savings.append(saving)
        command = f"stroboscope open {shlex.quote(str(path))}"
        self._tell(f"{why}; what led there is being written{note}: {command}", level=level)

    def _tell(self, text: str, *, level: int) -> None:
        _log.log(level, "scene %r: %s", self._scene.name, text)
        self._scene.link.log_text(LogLevel.INFO, text)

    def _free_number(self, number: int) -> int:
        while os.path.lexists(self._wanted.part(number)):
            number += 1
        return number

    def finish(self) -> None:
        """Write what there is, and keep no more."""
        self._end(saves=True, why="recording was stopped")

    def shut_down(self) -> None:
        """Write what there is, unless only stops are worth it."""
        self._end(saves=not self._wanted.save_on_stop, why="the script ends")

    def end_scene(self, scene: "Scene | BatchScene", *, saves: bool) -> None:
        """Keep no more; write what there is unless only stops are worth it."""
        why = "recording was stopped" if saves else "the scene ends"
        self._end(saves=saves or not self._wanted.save_on_stop, why=why)

    def _end(self, *, saves: bool, why: str) -> None:
        scene = self._scene

        def end(stands_still: bool) -> None:
            if self._is_over:
                return
            if saves:
                self.save(why=f"{why} at {self._place}", knows=stands_still)
            if self._left_out:
                more = counted(self._left_out, "more stop")
                self._tell(f"{more} had no file of their own", level=logging.WARNING)
            self._is_over = True
            if stands_still:
                self._leave()

        wait_for([OwnersTask(scene, end, late=self._leave)], patience=PATIENCE_S)
        for saving in self._savings:
            saving.finish()

    @property
    def _place(self) -> str:
        return f"physics step {self._scene.counters.axis:,}"

    def _leave(self) -> None:
        scene = self._scene
        scene.recorders.remove(self)
        self._keep_no_more()
        scene.runtime.recordings.remove(self)
        scene._update_fast_path()

    def disown(self) -> None:
        """In a forked child: nothing is written."""
        self._is_over = True
        self._scene.recorders.forget_parent()
        self._leave()


class SceneFlightRecorder(FlightRecorder):
    """That of a scene of one world: the rows are those of its history.

    Which keeps as many of them as are needed.
    """

    _scene: "Scene"

    def __init__(
        self,
        wanted: TrajectoryFile,
        scene: "Scene",
        *,
        causes: SavedCauses | None = None,
        disk: Disk | None = None,
    ) -> None:
        super().__init__(wanted, scene, causes=causes, disk=disk)
        # What takes long of it is kept with the scene's model: a stop should not have to wait.
        record_of(scene, wanted, index=0, attachments=Attachments())

    @property
    def nbytes(self) -> int:
        """How many bytes of memory the rows take."""
        return self._scene.history.nbytes

    def _keep(self) -> None:
        self._scene.history.keep_newest(self._rows(), who=self)
        self._scene.history.add_tap(self)
        self._scene.recorders.notes.keep_values(MOST_VALUES)

    def _keep_no_more(self) -> None:
        self._scene.history.remove_tap(self)
        self._scene.history.keep_newest(0, who=self)

    def _rows(self) -> int:
        timestep = self._scene.timestep_of_state
        rows = rows_of(self.keep_last, timestep, row_bytes=8 * self._scene.history.packing.words)
        return rows + 1

    def _saving(self, path: Path, final: FinalRow | None, *, knows: bool) -> Saving:
        scene = self._scene
        if final is None:
            final = final_row(scene, scene.world, knows=knows)
        return Saving.of_scene(self._wanted, scene, path=path, final=final, disk=self._disk)

    # --- what its history says

    def opened(self, ring: RowRing, block: Block, *, at: int) -> None:
        """Nothing: the rows stay where they are."""

    def sealed(self, block: Block) -> None:
        """Nothing, likewise."""

    def began(self, stretch: Stretch) -> None:
        """Nothing: the history knows."""

    def slept(self, axis: int, hidden: bytes) -> None:
        """Nothing: the history keeps that, too."""

    def leaving(self, world: "World") -> None:
        """Nothing: what was recorded with the old model ends here."""

    def entered(self) -> None:
        """Begin anew with another model: a history is of one."""
        self._scene.history.keep_newest(self._rows(), who=self)


def rows_of(seconds: float, timestep: float, *, row_bytes: int) -> int:
    """Return how many rows ``seconds`` of simulation time are.

    Raises ValueError when this machine has not the memory for them.
    """
    rows = seconds / timestep if timestep > 0.0 else 1.0
    check_memory(math.ceil(min(row_bytes * rows, 1 << 62)), f"keep_last={seconds:g} s")
    return math.ceil(rows)


def _told(stops: Sequence[FileEvent]) -> str:
    """Return what has stopped a scene, and where."""
    stop = stops[0]
    more = 0 if ends_script(stop) else len(stops) - 1
    culprit = stop.data.get("culprit")
    return (
        f"stopped at episode {stop.episode}, physics step {stop.physics_step:,} "
        f"(t = {stop.time:g}\u2009s): {stop.text}"
        + (f"; {culprit}" if culprit else "")
        + (f"; and {more} more in the same step" if more else "")
    )


def _check_folder(path: Path) -> None:
    """Raise RecordingError where no file can be written in the end: better now than then."""
    folder = path.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise RecordingError(
            f"{path} can't be written: there is no folder {folder} where that is allowed; make it, "
            "or name another one"
        )
