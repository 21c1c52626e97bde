"""A recorded run: its frames, signals and events, and the scene that goes on from any of them."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stroboscope.engine.arguments import (
    MOST_THREADS,
    checked_path,
    flag,
    function,
    whole_number,
)
from stroboscope.engine.checkpoint import Counters
from stroboscope.engine.counted import counted
from stroboscope.engine.files.damage import Damage
from stroboscope.engine.files.errors import FileError
from stroboscope.engine.files.frames import FileEvent, Manifest, SceneRecord
from stroboscope.engine.files.low_rate import Signal
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.files.repair import Repaired, repair
from stroboscope.engine.files.scene_names import SceneGroup, group_of, scene_names
from stroboscope.engine.files.suffixes import RECORDED, found_file, with_suffix
from stroboscope.engine.history.segments import Options, Stretch
from stroboscope.engine.model_fields import ModelFields
from stroboscope.engine.recording.recorded_stops import ends_in_step
from stroboscope.engine.scene_loading import show_scene
from stroboscope.engine.trajectory.building import (
    compiled_model,
    recorded_fields,
    recorded_model,
)
from stroboscope.engine.trajectory.choosing import (
    ALL,
    Choice,
    one_to_show,
    scene_named,
    to_show,
    told_choice,
)
from stroboscope.engine.trajectory.environment_frames import times_of
from stroboscope.engine.trajectory.finding import FrameFinder
from stroboscope.engine.trajectory.frame import Frame
from stroboscope.engine.trajectory.last_frame import LastFrame, compute_last
from stroboscope.engine.trajectory.lookup import ByName, NoSuchFrameError
from stroboscope.engine.trajectory.playing import play
from stroboscope.engine.trajectory.recorded_rows import RecordedRows, Row
from stroboscope.engine.trajectory.replayed_scene import ReplayedScene
from stroboscope.engine.trajectory.standing import compute_derived, stand_at
from stroboscope.engine.trajectory.steps_again import StepsAgain
from stroboscope.engine.trajectory.stretches import stretches_of
from stroboscope.engine.trajectory.verify import Verification
from stroboscope.engine.trajectory.verify_file import none_whole, verify_file

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stroboscope.engine.scene import Scene

__all__ = ["Trajectory", "load_chosen", "load_trajectory"]


class Trajectory:
    """One scene of a trajectory file; owner thread only, as far as :attr:`scene` is used.

    Frame i is the state just before the i-th recorded physics step, with the inputs of that step;
    the last one is the state in which the recording ended. What a frame's place in the run is, it
    says itself: time, step and episode are stored, not inferred. Made by
    :func:`~stroboscope.engine.load_trajectory`; a context manager.
    """

    def __init__(self, reader: TrajectoryReader, scene: int) -> None:
        self._reader = reader
        self._record = reader.scene(scene)
        self._rows = RecordedRows(reader, self._record)
        if not self._rows.count:
            raise FileError(
                reader.path,
                f"has no frame of scene {self.name!r}",
                "it was cut off before the first block was written: record it again"
                if not any(map(reader.frame_count, reader.scenes))
                else "others in it have some: name one of them",
            )
        self._stretches = self._make_stretches()
        self._finder = FrameFinder(self._rows, self._stretches, path=reader.path)
        self._replayed = ReplayedScene(reader, self._record, self._rows, self._stretches)
        self._position = 0
        self._has_stood = False
        """Whether the scene, if there is one, has been put where it is looked at."""

    def __repr__(self) -> str:
        """Return which file and scene it is, and how much there is of it."""
        ending = "complete" if self.complete else "not complete"
        frames, count = counted(len(self), "frame"), len(self.manifest.scenes)
        which = f", one of {count:,} scenes" if count > 1 else ""
        return f"<Trajectory {self.path.name}: {self.name!r}{which}, {frames}, {ending}>"

    # --- the file

    @property
    def path(self) -> Path:
        """The file."""
        return self._reader.path

    @property
    def manifest(self) -> Manifest:
        """What the file says about itself: versions, platform, scenes."""
        return self._reader.manifest

    @property
    def record(self) -> SceneRecord:
        """What the file says about the scene: its columns, its mode, how often it was recorded."""
        return self._record

    @property
    def name(self) -> str:
        """The name of the recorded scene; of one environment of many: ``name[number]``."""
        return scene_names(self._reader)[self._record.index]

    @property
    def scene_name(self) -> str:
        """The name of the recorded scene, whichever of its environments this is."""
        return self.group.name

    @property
    def group(self) -> SceneGroup:
        """The scene that was recorded, and which of the file are environments of it."""
        return group_of(self._reader, self._record.index)

    @property
    def timestep(self) -> float:
        """The timestep [s] of the recorded model."""
        return self._record.timestep

    @property
    def carries_model(self) -> bool:
        """Whether the scene can be built from the file."""
        return bool(self._record.model)

    @property
    def model_digest(self) -> str:
        """The sha256 of the recorded model, hexadecimal."""
        return self._record.model_digest

    @property
    def exactness(self) -> str:
        """Why a scene only goes on approximately from a frame; empty when to the last bit."""
        return self._record.exactness

    @property
    def axes(self) -> tuple[int, int]:
        """The axis, physics steps ever taken, of the first and of the last frame."""
        return self._rows.axis(0), self._rows.axis(len(self) - 1)

    @property
    def complete(self) -> bool:
        """Whether the file was closed by its writer: else it was cut, and see :attr:`damage`."""
        return self._reader.complete

    @property
    def damage(self) -> tuple[Damage, ...]:
        """What is known to be wrong with the file, and which frames are lost by it."""
        return self._reader.damage

    @property
    def scenes(self) -> tuple[str, ...]:
        """The names of all scenes, or environments, of which the file holds frames.

        Each of them is what ``load_trajectory(path, scene=…)`` opens, and :meth:`others` has.
        """
        reader = self._reader
        return tuple(
            name for index, name in scene_names(reader).items() if reader.frame_count(index)
        )

    def others(self) -> dict[str, "Trajectory"]:
        """Return all scenes, or environments, of the file by name, this one among them.

        Those of which the file holds no frame are left out.
        """
        made = {
            name: self if index == self._record.index else Trajectory(self._reader, index)
            for index, name in scene_names(self._reader).items()
            if self._reader.frame_count(index)
        }
        what = f"{self.path.name} has frames of no scene"
        return ByName(made, what=what)

    def to_show(self) -> dict[str, str]:
        """Return by the name of each scene which of :meth:`others` to look at; for the engine.

        Of many environments the one that stopped last, or the first: what ends the script ends
        them all.
        """
        names = scene_names(self._reader)
        return {scene: names[index] for scene, index in to_show(self._reader).items()}

    def close(self) -> None:
        """Let the file go; ``scene`` stays where it was asked for, without its recorded past."""
        self._replayed.close()
        self._reader.close()

    def release(self) -> None:
        """End what was built to compute something, until it is needed again; for the engine."""
        if not self._replayed.is_given:
            self._replayed.close()

    def __enter__(self) -> "Trajectory":
        """Return itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close it."""
        self.close()

    def refresh(self) -> bool:
        """Look for frames that were recorded since; True when there are more.

        A scene that stands at the end of what there was stands at the new end then.
        """
        if not self._reader.follow():
            return False
        self._rows.refresh()
        self._stretches[:] = self._make_stretches()
        stands_at_end = self._stands_at_end
        self._replayed.take_in()
        if stands_at_end:
            self._position = self.last_whole
            compute_derived(self._replayed.build())
        return True

    @property
    def _stands_at_end(self) -> bool:
        """Whether there is a scene, and it stands where the file has ended so far."""
        if not self._replayed.is_built:
            return False
        scene = self._replayed.build()
        return not scene.is_destroyed and scene.history.is_at_recorded_end

    # --- frames

    def __len__(self) -> int:
        """Return how many frames there are."""
        return self._rows.count

    def __iter__(self) -> Iterator[Frame]:
        """Go through all frames."""
        return (self.frame(index) for index in range(len(self)))

    @property
    def rows(self) -> RecordedRows:
        """Its rows, by the number of a frame and by the axis; for the engine."""
        return self._rows

    @property
    def position(self) -> int:
        """The frame that was sought last."""
        return self._position

    def frame(self, index: int) -> Frame:
        """Return a frame; negative numbers count from the end.

        Raises NoSuchFrameError outside of the file, FileDamagedError where the frame is lost,
        StateError where it would have to be simulated again and that does not lead there.
        """
        number = self._number(index)
        rows = self._rows
        row, note = rows.stored(number), ""
        if row is None:
            row, _, note = self._replayed.state(number)
        stretch, counters = self._place(number)
        return Frame(
            row,
            self._record,
            index=number,
            axis=rows.axis(number),
            timestep=rows.timestep(number),
            wall=rows.wall(number),
            episode=stretch.segment.episode,
            physics_step=counters.physics_step_count,
            step_count=counters.step_count,
            is_last=number == len(self) - 1,
            note=note,
        )

    @property
    def last(self) -> LastFrame:
        """All arrays of MuJoCo's data as they were when the recording ended, for post-mortems.

        Contacts, forces of constraints, poses and the rest by MuJoCo's names. They are computed
        again by the last recorded step; ``note`` says how far they are what was there. Raises
        StateError where callbacks of this process would be called.
        """
        stretch, counters = self._place(self.last_whole)
        has_failed = ends_in_step(
            self.events,
            self.axes[1],
            episode=stretch.segment.episode,
            physics_step=counters.physics_step_count,
        )
        return compute_last(self._replayed, self._rows, has_failed=has_failed)

    @property
    def last_whole(self) -> int:
        """The number of the last frame that can be read: others behind it are lost."""
        return self._rows.last_whole

    def stored_state(self, index: int) -> tuple[Row, bytes, Counters, float]:
        """Return a frame's row, what no row holds, its counters and timestep; for the engine."""
        number = self._number(index)
        row, hidden, _ = self._replayed.state(number)
        return row, hidden, self._place(number)[1], self._rows.timestep(number)

    def attachment(self, name: str) -> bytes:
        """Return what else is in the file under a name; empty where nothing is; for the engine."""
        return self._reader.attachment(name) if name in self._reader.attachments else b""

    def model_at(self, index: int) -> tuple[Options, str]:
        """Return options and own fields of a frame, and why they may be others; for the engine."""
        number = self._number(index)
        if self.carries_model and any(each.has_unknown_begin for each in self._stretches):
            self._replayed.build()  # steps tell from where on
        return self._place(number)[0].options, self._replayed.doubt_at(number)

    def model_file(self) -> tuple[str, bytes]:
        """Return the model that the file carries: its name, and its bytes; for the engine."""
        return recorded_model(self._reader, self._record)

    def compiled_model(self) -> Any:
        """Return the model that the file carries, a copy of the caller's own; for the engine."""
        return compiled_model(self._reader, self._record)

    def model_fields(self) -> ModelFields:
        """Return the numbers of the recorded model; for the engine."""
        return recorded_fields(self._reader, self._record)

    def time(self, index: int) -> float:
        """Return the simulation time of a frame [s]."""
        return self._rows.time(self._number(index))

    def times(self, index: int) -> "NDArray[np.float64]":
        """Return the simulation time [s] of each recorded environment in a frame, by number, (n,).

        One where the scene is of one world. Raises as :meth:`frame`, and says which ones lack it.
        """
        return times_of(self, index)

    def axis(self, index: int) -> int:
        """Return how many physics steps had ever been taken before a frame."""
        return self._rows.axis(self._number(index))

    def episode(self, index: int) -> int:
        """Return the episode of a frame."""
        return self._place(self._number(index))[0].segment.episode

    def wall(self, index: int) -> int:
        """Return when a frame was taken: monotonic [ns], see ``manifest.clock``."""
        return self._rows.wall(self._number(index))

    def timings(self, index: int, *, again: bool = False) -> Mapping[str, float]:
        """Return the wall time [s] of the physics step that led to a frame, by stage.

        ``step`` is recorded: from row to row, whatever the script did between the steps included;
        with ``every`` above 1 the mean of those steps. No more of it is: a second look at the
        clock in every step would cost the simulation. ``again=True`` adds MuJoCo's own stages
        as ``again.step``, ``again.position``, …: measured now, on this machine, by taking the step
        that began at the frame before again; NaN where the installed MuJoCo does not measure.
        Empty for the first frame, and after a gap.
        """
        number = self._number(index)
        is_measured = flag(again, "again")
        rows, every = self._rows, self._record.every
        if not number or rows.axis(number) - rows.axis(number - 1) != every:
            return {}
        found = {"step": (rows.wall(number) - rows.wall(number - 1)) * 1e-9 / every}
        if is_measured:
            stages = StepsAgain(self._replayed, rows).stage_times(number - 1)
            found.update({f"again.{stage}": seconds for stage, seconds in stages.items()})
        return found

    def find(self, *, time: float, episode: int | None = None) -> int:
        """Return the last frame that is not later than ``time`` [s].

        Within ``episode``; without: within the one of :attr:`position`, else the first that has
        such a frame. Raises ValueError when none has.
        """
        here = self._place(self._position)[0].segment.episode
        return self._finder.find(time, episode=episode, here=here)

    def frames_at(self, interval: float) -> "NDArray[np.int64]":
        """Return the frames that stand ``interval`` seconds of simulated time apart, from 0 on.

        Some come more than once where frames are rarer than that. Where time goes back, as after a
        reset, they go on with the next ones. Raises ValueError for an interval that is not above 0.
        """
        return self._finder.frames_at(interval)

    def frame_played(self, seconds: float) -> int:
        """Return the frame in view ``seconds`` of simulated time after the first; any thread."""
        return self._rows.frame_played(seconds)

    def _number(self, index: int) -> int:
        count = len(self)
        number = whole_number(index, "the number of a frame", least=-sys.maxsize, most=sys.maxsize)
        if not -count <= number < count:
            raise NoSuchFrameError(
                f"there is no frame {number:,}: {self.path.name} has {count:,}, from 0 to "
                f"{count - 1:,} or from -{count:,} to -1"
            )
        return number % count

    def _place(self, number: int) -> tuple[Stretch, Counters]:
        """Return the stretch of a frame and the counters that belonged to its state."""
        return self._replayed.place(number)

    def _make_stretches(self) -> list[Stretch]:
        rows = self._rows
        return stretches_of(
            self._reader.events(self._record.index),
            first_axis=rows.axis(0),
            first_step=rows.first_step,
            first_time=float(rows.index.first_time[0]),
        )

    # --- what else was recorded

    @property
    def signals(self) -> Mapping[str, Signal]:
        """The script's logged values by name: ``axes``, ``times`` [s] and ``values``.

        Of many environments all have the same, at the times of the one that was looked at.
        """
        reader, index = self._reader, self._signals_of
        what = f"{self.name!r} of {self.path.name} has logged no signal"
        return ByName(
            {name: reader.signal(index, name) for name in reader.signals(index)}, what=what
        )

    def signal_names(self, name: str) -> tuple[str, ...]:
        """Return what the values of a logged vector are called; empty where they have no names."""
        return self._reader.signal_names(self._signals_of, name)

    @property
    def _signals_of(self) -> int:
        """Which scene of the file has what the script logged: of environments the first."""
        return self._replayed.signals_of

    @property
    def events(self) -> tuple[FileEvent, ...]:
        """What happened: resets, restores, branches, edits, stops, warnings, texts, gaps."""
        return self._reader.events(self._record.index)

    def verify(
        self, *, jobs: int | None = None, progress: Callable[[float], None] = lambda _: None
    ) -> Verification:
        """Take every recorded step again on ``jobs`` threads (default: all cores) and compare.

        ``progress``: called by these threads with 0 to 1. StateError where callbacks are installed.
        """
        if jobs is not None:
            jobs = whole_number(jobs, "jobs (threads)", least=1, most=MOST_THREADS)
        if not self._rows.is_any_whole:
            return none_whole(self._rows)
        return verify_file(
            self._reader,
            self._record,
            self._stretches,
            self._replayed.build(),  # wherever it stands: that frame may be lost
            jobs=jobs,
            progress=function(progress, "progress"),
        )

    def repair(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        progress: Callable[[float], None] = lambda _: None,
    ) -> Repaired:
        """Write a complete file of all that is whole, of all scenes; this one stays as it is.

        ``path``: of the new file, ``name.repaired.mcap`` beside this one unless said. What is
        returned has its ``path`` and says, as text, what was damaged and what is lost. ``progress``
        is called with 0 to 1. Raises FileError; there is no new file then.
        """
        target = None if path is None else with_suffix(Path(checked_path(path, "path")), RECORDED)
        return repair(self.path, target, progress=function(progress, "progress"))

    # --- the scene

    @property
    def scene(self) -> "Scene":
        """The recorded scene, built from the file when it is first asked for.

        It stands at :attr:`position`, and ``scene.step()`` goes on from there bit for bit, given
        the inputs that stand there or others. The file is its history.
        """
        scene = self._standing_scene()
        self._replayed.is_given = True
        return scene

    def _standing_scene(self) -> "Scene":
        stands = self._replayed.is_built and self._has_stood
        scene = self._replayed.build()
        if not stands:
            if self._position != self.last_whole:
                self._stand(self._position)
            else:
                compute_derived(scene)
            self._has_stood = True
        return scene

    def seek(
        self, index: int | None = None, *, time: float | None = None, episode: int | None = None
    ) -> Frame:
        """Put the scene into a frame, given by its number or by simulation time [s]; return it."""
        if (index is None) == (time is None):
            raise ValueError("give the number of a frame, or a time: one of both")
        number = self._number(index) if index is not None else -1
        if time is not None:
            number = self.find(time=time, episode=episode)
        frame = self.frame(number)
        if self._replayed.is_built:
            self._stand(number)
            self._has_stood = True
        self._position = number
        return frame

    def _stand(self, number: int) -> None:
        row, hidden, _ = self._replayed.state(number)
        stretch, counters = self._place(number)
        self._replayed.put_options(number)
        stand_at(
            self._replayed.build(),
            row,
            hidden,
            counters,
            axis=self._rows.axis(number),
            episode=stretch.segment.episode,
        )

    def play(self, speed: float = 1.0, *, loop: bool = False) -> None:
        """Seek from :attr:`position` to the end, ``speed`` × real time; ``loop``: for ever.

        A window that is attached sees the scene move. Ends with the window, where there was one;
        of one frame alone there is nothing to play where nobody looks.
        """
        play(self, self._rows, speed=speed, loop=loop)


def load_trajectory(
    path: str | os.PathLike[str],
    *,
    scene: str | int | None = None,
    show: bool = False,
) -> Trajectory:
    """Open a trajectory file; the recorded scene is built when it is asked for.

    ``path``: as the recording was given it, also without its suffix. ``scene``: which one, by name
    or number, where the file holds several (default: the first that has frames); :attr:`.scenes`
    of what is returned has the names of all. ``show``: build it at once and open it in the window.
    Nothing in a file is ever executed, and its model is tried in another process before this one
    builds it. Raises FileError and its kinds; StateError where it is to be shown without a window.
    """
    is_shown = flag(show, "show")
    reader = TrajectoryReader(found_file(Path(checked_path(path, "path")), RECORDED))
    try:
        trajectory = Trajectory(reader, scene_named(reader, scene))
        if is_shown:
            show_scene(trajectory.scene)
    except BaseException:
        reader.close()
        raise
    return trajectory


def load_chosen(
    path: str | os.PathLike[str],
    choice: Choice = ALL,
    *,
    say: Callable[[str], None] = lambda _: None,
) -> Trajectory:
    """Open a trajectory file at the scene that was chosen, else at the one that stopped last.

    ``say`` is told which of several that is, where nobody had named it. For command lines; raises
    FileError and its kinds.
    """
    reader = TrajectoryReader(Path(path))
    try:
        index = one_to_show(reader, choice)
        if told := told_choice(reader, index, choice):
            say(f"{path}: {told}")
        return Trajectory(reader, index)
    except BaseException:
        reader.close()
        raise
