"""The scene of a recorded run, whose history is the file; and states that only it can find."""

import bisect
import functools
import threading
from typing import TYPE_CHECKING

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.engine.checkpoint import Counters
from stroboscope.engine.data_views import motion_of
from stroboscope.engine.errors import StateError
from stroboscope.engine.files.errors import FileError
from stroboscope.engine.files.frames import SceneRecord
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.files.row_digest import digest_of_row
from stroboscope.engine.files.scene_names import group_of
from stroboscope.engine.history.past import UNKNOWN_SLEEP, VERIFIED, Past
from stroboscope.engine.history.segments import Stretch, digest_of_motion
from stroboscope.engine.physics_options import write_option
from stroboscope.engine.recording.doubts import doubts_of
from stroboscope.engine.trajectory.building import build_scene
from stroboscope.engine.trajectory.file_history import FileKeyframes, FileRing, FileSignals
from stroboscope.engine.trajectory.model_writes import with_models_in_place
from stroboscope.engine.trajectory.recorded_notes import notes_of
from stroboscope.engine.trajectory.recorded_options import check_options
from stroboscope.engine.trajectory.recorded_rows import RecordedRows, Row
from stroboscope.engine.trajectory.recorded_where import why_different

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene

__all__ = ["ReplayedScene"]


class ReplayedScene:
    """Builds the scene when it is needed; owner thread only.

    The scene then stands at the last frame, having taken as many steps as the recorded one, and
    looks back at all others as at a history of its own.
    """

    def __init__(
        self,
        reader: TrajectoryReader,
        record: SceneRecord,
        rows: RecordedRows,
        stretches: list[Stretch],
    ) -> None:
        self._reader = reader
        self._record = record
        self._rows = rows
        self._stretches = stretches
        self._scene: Scene | None = None
        self._past: Past | None = None
        self._told_notes = 0
        self.is_given = False
        """Whether somebody else has got the scene, whose it is then."""

    @property
    def signals_of(self) -> int:
        """Which scene of the file has what the script logged: of environments the first."""
        return group_of(self._reader, self._record.index).scenes[0]

    @property
    def is_built(self) -> bool:
        """Whether there is a scene."""
        return self._scene is not None

    def close(self) -> None:
        """Leave the scene to itself: what it remembers of the file can't be read any more.

        One that nobody has got, built to compute something, ends.
        """
        if self._scene is not None and not self._scene.is_destroyed:
            self._scene.history.forget_file()
            if not self.is_given and self._scene.owner is threading.current_thread():
                self._scene.destroy()
        self._scene = self._past = None

    def place(self, frame: int) -> tuple[Stretch, Counters]:
        """Return the stretch of a frame, and the counters that belonged to its state."""
        axis = self._rows.axis(frame)
        at = bisect.bisect_right(self._stretches, axis, key=lambda each: each.segment.begin) - 1
        stretch = self._stretches[max(at, 0)]
        segment = stretch.segment
        steps = self._rows.step(frame) - stretch.total_steps
        return stretch, Counters(
            segment.step_count + steps, segment.physics_step + axis - segment.begin
        )

    def doubt_at(self, frame: int) -> str:
        """Say why the model of a frame may be another one than the file says; or ""."""
        lost = self.place(frame)[0].lost
        if lost:
            return f"what was in {', '.join(sorted(lost))} then is not in the file"
        segments = self._scene.history.segments if self._scene is not None else None
        return segments.doubt_of(self._rows.axis(frame)) if segments is not None else ""

    def build(self) -> "Scene":
        """Return the scene; raises ModelError, and what building it raises."""
        if self._scene is not None and not self._scene.is_destroyed:
            return self._scene
        scene = build_scene(self._reader, self._record)
        self._rows.go_into(scene.world.codec.indices)
        try:
            self._check_options(scene)
        except FileError:
            scene.destroy()
            raise
        last = self._rows.last_whole
        _, counters = self.place(last)
        scene.counters.stand_at(
            total_steps=self._rows.step(last), axis=self._rows.axis(last), counters=counters
        )
        scene.history.enter_file(
            self._reader.path.name,
            functools.partial(FileRing, recorded=self._rows),
            FileKeyframes(self._rows, check=scene.world.codec.check_hidden),
            self._stretches,
        )
        scene.history.recorded_without = self._record.without
        scene.history.is_recorded_here = not why_different(
            self._reader.manifest, self._record, version=scene.world.adapter.version
        )
        scene.history.recorded_signals = FileSignals(self._reader, self.signals_of)
        self._scene = scene
        self._past = Past(scene)
        row, hidden, _ = self.state(last)
        scene.world.codec.put_row(row, hidden)
        self._note_where_it_led(scene, last)
        scene.states.initial = None
        self._put_models_in_place(scene)
        self.put_options(last)
        self._told_notes = 0  # of this scene
        self._tell_notes(scene)
        return scene

    def _tell_notes(self, scene: "Scene") -> None:
        """Have debuggers know what was said at which step, and where checkpoints were made."""
        rows = self._rows
        events = self._reader.events(self._record.index)
        if self.signals_of != self._record.index:  # the script speaks of all environments at once
            said = self._reader.events(self.signals_of)
            events += tuple(each for each in said if each.kind in ("log", "checkpoint"))
        first, last = rows.axis(0), rows.axis(rows.count - 1)
        # Those of a file that grows may come before their rows.
        notes = list(notes_of(events, first=first, last=last))
        if len(notes) != self._told_notes:
            self._told_notes = len(notes)
            scene.link.past.notes.recall(notes)

    def _put_models_in_place(self, scene: "Scene") -> None:
        """Have each row belong to the model that its step was taken with."""
        placed, doubts = with_models_in_place(self, self._rows, self._stretches)
        if placed != self._stretches:
            self._stretches[:] = placed
            scene.history.tell_recorded(placed)
        placed_doubts = [(each.first, each.end, each.why) for each in doubts]
        events = self._reader.events(self._record.index)
        for first, end, why in doubts_of(events, placed_doubts):
            scene.history.segments.doubt(first, end, why)

    def _check_options(self, scene: "Scene") -> None:
        world = scene.world
        check_options(self._reader.path, self._stretches, world.model, adapter=world.adapter)

    def put_options(self, frame: int) -> None:
        """Have the physics options that were in force at a frame, the length of its step too."""
        scene = self.build()
        model, adapter = scene.world.model, scene.world.adapter
        options = {**scene.history.recorded_options, **self.place(frame)[0].options}
        for name, values in options.items():
            write_option(model, name, values, known=values, adapter=adapter)
        model.opt.timestep = self._rows.timestep(frame)

    def take_in(self) -> None:
        """Have the scene stand at the new end of a file that has grown.

        Where it was continued from the file meanwhile, what it does itself comes there instead.
        """
        scene = self._scene
        if scene is None or scene.is_destroyed or not scene.history.is_at_recorded_end:
            return
        self._check_options(scene)
        last = self._rows.last_whole
        _, counters = self.place(last)
        scene.counters.stand_at(
            total_steps=self._rows.step(last), axis=self._rows.axis(last), counters=counters
        )
        scene.history.recording_grew(self._stretches)
        self._put_models_in_place(scene)
        scene.history.recorded_signals = FileSignals(self._reader, self.signals_of)
        row, hidden, _ = self.state(last)
        self.put_options(last)
        scene.world.codec.put_row(row, hidden)
        self._note_where_it_led(scene, last)
        scene.stepper.forget_time()
        self._tell_notes(scene)

    def _note_where_it_led(self, scene: "Scene", last: int) -> None:
        """Keep of the last frame, which stands in the scene, what tells of the step before."""
        follows = self._rows.follows(last)
        motion = motion_of(scene.world.live())
        scene.history.recorded_left = digest_of_motion(motion) if follows else b""

    def state(self, frame: int) -> tuple[Row, bytes, str]:
        """Return the row of a frame, what no row holds, and how they were had.

        Raises StateError when it was not stored and can't be simulated again.
        """
        rows = self._rows
        row, hidden = rows.stored(frame), rows.hidden(frame)
        keeps_sleep = self.is_built and self.build().world.codec.keeps_sleep
        if row is not None and (hidden is not None or not keeps_sleep):
            if hidden and keeps_sleep:
                self.build().world.codec.check_hidden(hidden)
            return row, hidden or b"", ""
        self.build()
        assert self._past is not None  # noqa: S101 - it was just made
        try:
            if frame < rows.last_whole:
                return self._past.state(rows.axis(frame))
            return self._last_state(row, self._past)
        except CommandError as error:
            raise StateError(
                f"frame {frame:,} of {self._reader.path} can't be had: {error}"
            ) from None

    def _last_state(self, row: Row | None, past: Past) -> tuple[Row, bytes, str]:
        """Return the last frame of a file: where the step before it leads."""
        rows, last = self._rows, self._rows.last_whole
        axis = rows.axis(last)
        if not last or rows.axis(last - 1) != axis - 1 or not rows.follows(last):
            if row is None:
                raise CommandError(f"row {axis} does not follow from one that was recorded")
            return row, b"", UNKNOWN_SLEEP
        try:
            found, hidden = past.after(axis - 1)
        except CommandError:
            if row is None:
                raise
            return row, b"", UNKNOWN_SLEEP
        begin, end = self._record.inputs
        found[begin:end] = rows.inputs(last)
        if row is None:
            if rows.digest(last) != digest_of_row()(found.tobytes()):
                raise CommandError("the step before it leads to another state here")
        elif row.tobytes() != found.tobytes():
            return row, b"", UNKNOWN_SLEEP
        return found, hidden, VERIFIED
