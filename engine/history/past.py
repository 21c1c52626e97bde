"""Going to a row: stored ones as they are, thinned out ones by stepping there and checking.

Everything happens on data of our own, with a copy of the model: neither the scene's data nor its
model is changed. In the copy are the options and fields that were in force then.
"""

import copy
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.backend import Clock, TopicFrames
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.engine.checkpoint import Counters, with_tail
from stroboscope.engine.data_views import motion_of
from stroboscope.engine.frames.evaluation import evaluate, results
from stroboscope.engine.history.model_placing import placed_where_it_was_written
from stroboscope.engine.history.options_in_force import OptionsInForce
from stroboscope.engine.history.past_data import PastData
from stroboscope.engine.history.row_record import record_of_row
from stroboscope.engine.history.segments import Options, Stretch, digest_of_motion
from stroboscope.engine.history.steps_of_past import StepsOfPast
from stroboscope.engine.history.waypoints import Waypoints
from stroboscope.engine.physics_options import read_option, write_option

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene

__all__ = ["UNKNOWN_SLEEP", "VERIFIED", "Past"]

Row = NDArray[np.float64]
VERIFIED = "verified"
UNKNOWN_SLEEP = "approximate: nothing says what slept then"
# Rows of which it is remembered whether their step leads to the next one.
_MOST_TRIED = 100_000


class Past:
    """The rows of one scene in one world; owner thread only."""

    def __init__(self, scene: "Scene") -> None:
        world = scene.world
        self._scene = scene
        self._world = world
        self._adapter = world.adapter
        self._history = scene.history
        self._in_force = OptionsInForce(scene.history, world)
        self._own = PastData(world, scene.history.models)
        self._waypoints = Waypoints()
        self._tried: dict[int, tuple[Stretch, str]] = {}
        """Rows whose step was taken again, with the stretch they were in, and what came of it."""

    # --- what there is

    def check(self, axis: int) -> None:
        """Raise CommandError for a step that is not remembered."""
        ring, live = self._history.ring, self._scene.counters.axis
        if ring.holds(axis) and axis < live:
            return
        if ring.first < 0:
            raise CommandError(f"nothing of {self._scene.name!r} is remembered")
        if not ring.first <= axis < live:
            raise CommandError(
                f"row {axis} is not remembered: rows from {ring.first} to {live - 1} are"
            )
        raise CommandError(f"row {axis} was not recorded: nobody followed the scene then")

    def stretch(self, axis: int) -> Stretch:
        """Return the segment of a remembered step."""
        found = self._history.segments.of(axis)
        if found is None:
            raise CommandError(f"row {axis} belongs to no segment that is remembered")
        return found

    def settle(self, axis: int, *, since: int = -1) -> None:
        """Find out with which model the step of a row was taken, and those from ``since`` on.

        The scratch data may be anything then.
        """
        segments = self._history.segments
        found = segments.of(axis if since < 0 else since)
        while found is not None and found.segment.begin <= axis:
            later = segments.after(found)
            if later is None:
                break
            if later.has_unknown_begin and later.model_since <= axis:
                placed = placed_where_it_was_written(
                    later, found, StepsOfPast(self, later, before=found)
                )
                segments.put_in_place(later, placed.stretches)
                segments.doubt(placed.first, placed.end, placed.why)
            found = segments.after(found)

    def settle_newest(self, count: int) -> None:
        """The same of the newest ``count`` stretches."""
        for stretch in [*self._history.segments.newest_first()][:count]:
            if stretch.has_unknown_begin and self._history.ring.holds(stretch.model_since):
                self.settle(stretch.model_since)

    def counters(self, axis: int) -> Counters:
        """Return the counters that belonged to the state before a remembered step."""
        return self._counters_in(self.stretch(axis), axis)

    def _counters_in(self, stretch: Stretch, axis: int) -> Counters:
        segment = stretch.segment
        steps = self._history.ring.step(axis) - stretch.total_steps
        return Counters(segment.step_count + steps, segment.physics_step + axis - segment.begin)

    def clock(self, axis: int) -> Clock:
        """Return where the scene stood before a remembered step."""
        ring, counters = self._history.ring, self.counters(axis)
        return Clock(
            ring.time(axis),
            counters.step_count,
            counters.physics_step_count,
            ring.step(axis),
            axis,
        )

    # --- going there

    def row(self, axis: int) -> Row:
        """Return the row of a remembered step, a copy; CommandError where it can't be had again."""
        self.check(axis)
        stored = self._history.ring.row(axis)
        if stored is not None:
            return stored
        reached, note = self.bring(axis)
        if reached != axis or note != VERIFIED:
            raise CommandError(f"row {axis} can't be had: {note}")
        return self._own.row()

    def frames(self, axis: int, topics: frozenset[Topic]) -> tuple[int, TopicFrames, str]:
        """Return the axis that could be reached, its topics, and how it was had."""
        reached, note = self.bring(axis)
        with self._options_of(self.stretch(reached)):
            with self._timestep_of(reached):
                frames = self._own.frames.past(self._own.data, topics)
            if note in ("", VERIFIED):
                note = self._doubt(reached) or note
            return reached, frames, note

    def state(self, axis: int) -> tuple[Row, bytes, str]:
        """Return the row of a step, what no row holds, and how it was had."""
        reached, note = self.bring(axis)
        if reached != axis:
            raise CommandError(f"row {axis} can't be had: {note}")
        return (*self._own.codec.read_row(), note)

    def after(self, axis: int) -> tuple[Row, bytes]:
        """Return the state after a remembered step, which was the last one: with its inputs."""
        reached, note = self.bring(axis)
        if reached != axis or note not in ("", VERIFIED):
            raise CommandError(f"row {axis} can't be had: {note}")
        with self._options_of(self.stretch(axis)), self._timestep_of(axis):
            self._adapter.mj_step(self.model, self._own.data)
        return self._own.codec.read_row()

    def checkpoint(self, axis: int) -> bytes:
        """Return the state before a remembered step as the bytes of a checkpoint that compares."""
        doubt, (_, _, note) = self.doubt(axis), self.state(axis)
        whole, own = self._history.own_timesteps.of(axis, self._history.ring.timestep(axis))
        world, stretch, codec = self._world, self.stretch(axis), self._own.codec
        made = bytes(codec.capture(self.counters(axis), timestep=own, edits=world.edits))
        with self._options_of(stretch), self._timestep_of(axis, whole):
            record = record_of_row(
                self.model, self.options_of(stretch), name=f"row {axis}", world=world,
                scene_name=self._scene.name, doubt=doubt if note in ("", VERIFIED) else note,
            )  # fmt: skip
        return with_tail(made, script=self._script_at(axis), record=record.packed())

    @contextmanager
    def _timestep_of(self, axis: int, timestep: float | None = None) -> Iterator[None]:
        """Have the model with the timestep [s] of a row's step, or another one."""
        option = self.model.opt
        own = float(option.timestep)
        try:
            option.timestep = self._history.ring.timestep(axis) if timestep is None else timestep
            yield
        finally:
            option.timestep = own

    def _script_at(self, axis: int) -> bytes:
        """Return what the script had registered at a step; empty when that was not looked at."""
        begin = self.stretch(axis).segment.begin
        noted = self._history.script_rows.before(axis, since=begin)
        if noted is None or self._history.ring.step(noted[0]) != self._history.ring.step(axis):
            return b""
        return noted[1]

    def bring(self, axis: int) -> tuple[int, str]:
        """Put the state and the inputs before a step into the scratch data.

        Returns the axis whose state it is now, and how it was had: empty, "verified", or why it
        may be another one than then. Where the script's callbacks keep it from being stepped to,
        that is the last stored row before. Raises CommandError.
        """
        self.check(axis)
        self.settle(axis, since=max(self._base(axis)[0], self._history.ring.first))
        with self._options_of(self.stretch(axis)):
            return self._bring(axis)

    def _bring(self, axis: int) -> tuple[int, str]:
        ring = self._history.ring
        base, hidden = self._base(axis)
        if base < 0:
            # Nothing says what slept then: all of it wakes up.
            row = ring.row(axis)
            if row is None:
                raise CommandError(f"row {axis} can't be had: nothing says what slept then")
            self._own.codec.put_row(row, b"")
            return axis, UNKNOWN_SLEEP
        row = ring.row(base)
        if row is None:  # pragma: no cover - what a search found is there
            raise CommandError(f"row {base} has gone")
        callbacks = self._callbacks() if base != axis else ""
        if base != axis and not callbacks and self._bring_from_waypoint(base, axis):
            return axis, VERIFIED
        self._own.codec.put_row(row, hidden)
        if base == axis:
            return axis, ""
        if callbacks:
            where = self.counters(base).physics_step_count
            return base, (
                f"not reproducible: script callback ({callbacks}): this is physics step {where}, "
                "the last one before that was kept"
            )
        failure = self._step(base, axis, keeps=True)
        if failure:
            return axis, failure
        return axis, VERIFIED if self._is_right(axis) else self._why_wrong(base, axis, hidden)

    def _base(self, axis: int) -> tuple[int, bytes]:
        """Return the stored row from which one is stepped to, and what that row does not hold.

        -1: nothing says what slept.
        """
        history, ring = self._history, self._history.ring
        if not self._own.needs_hidden_state:
            return ring.stored_before(axis), b""
        base = history.keyframes.before(axis)
        while base >= 0 and not ring.is_stored(base):  # it has been thinned out since
            base = history.keyframes.before(base - 1)
        if base < 0 or len(ring.axes(base, axis)) <= axis - base:
            return -1, b""
        return base, history.keyframes.at(base) or b""

    def _bring_from_waypoint(self, base: int, axis: int) -> bool:
        """Go on from a state that was stepped to before; False where that is not what was recorded.

        The scratch data may be anything then.
        """
        found = self._waypoints.before(axis, after=base, edits=self._world.edits)
        if found is None:
            return False
        near, row, hidden = found
        self._own.codec.put_row(row, hidden)
        if near < axis:
            self._step(near, axis, keeps=True)
        return self._is_right(axis)

    def doubt(self, axis: int) -> str:
        """Return why what follows from a row can't be computed with the model of then, or "".

        The scratch data may be anything then. Raises CommandError for a step that is not
        remembered.
        """
        self.check(axis)
        doubt = self.known_doubt(axis)
        if doubt or self._tried_before(axis) is not None:
            return doubt
        if not self._tells(axis):
            return self._doubt_before(axis)
        reached, note = self.bring(axis)
        if reached != axis or note not in ("", VERIFIED):
            return ""  # that is said of the row itself
        return self._tried_doubt(axis)

    def known_doubt(self, axis: int) -> str:
        """The same as far as it is known without taking the step of that row."""
        self.settle(axis)
        return self.told_doubt(axis) or self._tried_before(axis) or ""

    def is_to_be_tried(self, axis: int) -> bool:
        """Return whether taking the step of a row, of which nothing is told, says more."""
        return self._tells(axis) and self._tried_before(axis) is None

    def _tried_before(self, axis: int) -> str | None:
        """Return what came of trying; None where nobody has."""
        tried = self._tried.get(axis)
        return tried[1] if tried is not None and tried[0] is self.stretch(axis) else None

    def told_doubt(self, axis: int) -> str:
        """The same without taking any step: what is known by now."""
        history = self._history
        if axis < history.recording_end and history.recorded_without:
            return f"approximate: {history.recorded_without}: what follows is computed without"
        lost = history.lost_fields(axis)
        if lost:
            return f"approximate: {lost}: what follows from the state is computed with those of now"
        return history.segments.doubt_of(axis)

    def told_doubt_within(self, first: int, end: int) -> str:
        """The same of the steps ``first`` to ``end`` - 1 of one stretch."""
        return self.told_doubt(first) or self._history.segments.doubt_within(first, end)

    def doubt_of_trial(self, first: int, end: int, *, last: int) -> str:
        """The same of a run of them, which compares where each but the ``last`` has led."""
        doubt = self.told_doubt_within(first, end) or self.doubt(first)
        return doubt or (self.doubt(last) if first < last < end else "")

    def _tells(self, axis: int) -> bool:
        """Return whether the step of a row tells with which model it was taken.

        Steps of a file may have been taken by another processor.
        """
        history = self._history
        if axis < history.recording_end and not history.is_recorded_here:
            return False
        is_told = self.follows_at(axis + 1) or bool(self._left_by(axis))
        return is_told and not self._callbacks()

    def _left_by(self, axis: int) -> bytes:
        """Return :attr:`Stretch.left` of where a step has led; empty where that is not known."""
        history = self._history
        following = history.segments.after(self.stretch(axis))
        if axis + 1 == history.recording_end and history.recorded_left:
            return history.recorded_left
        if following is not None and following.segment.begin == axis + 1:
            return following.left
        return history.left if axis + 1 == self._scene.counters.axis else b""

    def _is_where_it_led(self, axis: int, left: bytes) -> bool:
        """Return whether the scratch data is where the step of a row has led; LookupError."""
        is_last = axis + 1 == self._scene.counters.axis  # the script's data may be gone
        if self.follows_at(axis + 1) and not (is_last and left):
            return self._is_right(axis + 1)
        if not left:
            raise LookupError(axis)
        return digest_of_motion(motion_of(self._own.data)) == left

    def _doubt(self, axis: int) -> str:
        """Return why the step of a row, which stands in the scratch data, is another one by now.

        Empty where it leads to the next row, and where nobody can tell. The scratch data may be
        anything then.
        """
        if doubt := self.told_doubt(axis):
            return doubt
        return self._tried_doubt(axis) if self._tells(axis) else self._doubt_before(axis)

    def _doubt_before(self, axis: int) -> str:
        """Return what the step before a row says where its own tells nothing, as before resets."""
        before, ring = axis - 1, self._history.ring
        is_one = ring.holds(before) and self.stretch(before) is self.stretch(axis)
        return self.doubt(before) if is_one and self._tells(before) else ""

    def _tried_doubt(self, axis: int) -> str:
        """The same of a row that tells."""
        try:
            self._step(axis, axis + 1)
            is_as_then = self._is_where_it_led(axis, self._left_by(axis))
        except (CommandError, LookupError):
            return ""  # what would tell is lost
        return self._note_tried(axis, is_as_then=is_as_then)

    def tried(self, axis: int, came: Row) -> str:
        """Return in words that a step, which has led to ``came``, led elsewhere then; or "".

        ``came`` gets the inputs of the next step, whose row follows.
        """
        try:
            is_as_then = self._is_what_came(came, axis + 1)
        except (CommandError, LookupError):
            return ""
        return self._note_tried(axis, is_as_then=is_as_then)

    def _note_tried(self, axis: int, *, is_as_then: bool) -> str:
        doubt = ""
        if not is_as_then:
            where = self.counters(axis).physics_step_count
            doubt = (
                f"not reproducible: physics step {where} leads elsewhere by now, as after a script "
                "has written into its model: what follows from the state is computed with what the "
                "model is"
            )
        if axis + 1 < self._scene.counters.axis:  # else what comes after it may still be written to
            if len(self._tried) >= _MOST_TRIED:
                self._tried.clear()
            self._tried[axis] = self.stretch(axis), doubt
        return doubt

    def leads_on(self, axis: int, stretch: Stretch, *, left: bytes = b"") -> bool:
        """See :class:`StepsOfPast`; raises LookupError where nothing tells.

        ``left``: where the step has led, if that is in no row.
        """
        ring = self._history.ring
        base, hidden = self._base(axis)
        row = ring.row(base) if base >= 0 else None
        tells = left or self.follows_at(axis + 1)
        if row is None or not tells or self._callbacks():
            raise LookupError(axis)
        self._own.codec.put_row(row, hidden)
        self._step(base, axis)
        if base < axis and not self._is_right(axis):
            return False
        with self._options_of(stretch):
            self._step_within(axis, axis + 1)
        return self._is_where_it_led(axis, left)

    def computed(self, axis: int, stretch: Stretch) -> bytes:
        """Return what follows from the last stored row up to ``axis``, with a stretch's model.

        Raises LookupError where that is not known.
        """
        row = self._history.ring.row(self._history.ring.stored_before(axis))
        needs_more = self._own.needs_hidden_state
        if row is None or needs_more or self._callbacks():
            raise LookupError(axis)
        with self._options_of(stretch):
            self._own.codec.put_row(row, b"")
            evaluate(self.model, self._own.data, adapter=self._adapter)
            return results(self._own.data)

    def follows_at(self, axis: int) -> bool:
        """Return whether a row, or where the scene stands, follows from the row before."""
        ring = self._history.ring
        if axis == self._scene.counters.axis:
            return self._scene.stepper.is_where_it_was_left
        return ring.holds(axis) and ring.follows(axis)

    def stands_at(self, axis: int, *, stretch: Stretch) -> tuple[Counters, int, float]:
        """Return the counters of a row, how many steps had ever been taken, and its time [s]."""
        ring = self._history.ring
        return self._counters_in(stretch, axis), ring.step(axis), ring.time(axis)

    def write_options(self, axis: int, model: Any) -> None:
        """Have the physics options and fields that were in force at a step in another model."""
        for name, values in self.options_of(self.stretch(axis)).items():
            write_option(model, name, values, known=values, adapter=self._adapter)

    def model_at(self, axis: int, *, most_bytes: int) -> Any:
        """Return a copy of the model of a step, which nobody writes into.

        Where it has more than ``most_bytes``: the scene's own, and None where that is another one
        by now.
        """
        self.settle(axis)
        options = self.options_of(self.stretch(axis))
        model, adapter = self._world.model, self._adapter
        is_small = adapter.module.mj_sizeModel(model) <= most_bytes
        if all(read_option(model, n, adapter=adapter) == options[n] for n in options):
            return self._history.models.kept() if is_small else model
        if not is_small:
            return None
        made = copy.copy(model)
        self.write_options(axis, made)
        return made

    @contextmanager
    def with_model_of(self, axis: int) -> Iterator[Any]:
        """Have a model as it was at a step; CommandError where that is not known."""
        doubt = self.doubt(axis)
        if doubt:
            raise CommandError(f"row {axis} can't be placed: {doubt}")
        with self._options_of(self.stretch(axis)):
            yield self.model

    def _callbacks(self) -> str:
        return ", ".join(self._adapter.callbacks_of_steps(self.model))

    def _step(self, first: int, last: int, *, keeps: bool = False) -> str:
        """Step the scratch data from row ``first`` to row ``last``; return what went wrong.

        Each step with the options that were in force. ``keeps``: the states on the way, for who
        steps back through them.
        """
        segments, begin = self._history.segments, first
        while begin < last:
            stretch = self.stretch(begin)
            end = min(last, segments.end_of(stretch, last))
            with self._options_of(stretch):
                self._step_within(begin, end, keeps=keeps)
            begin = end
        return ""

    def _step_within(self, first: int, last: int, *, keeps: bool = False) -> None:
        option = self.model.opt
        own = float(option.timestep)
        try:
            owner = self._scene.link.owner
            for axis in range(first, last):
                if owner.serving:
                    owner.signals.pass_on()  # it may take long, and nothing depends on it
                self._step_once(axis)
                if keeps:
                    self._waypoints.keep(axis + 1, *self._own.codec.read_row())
        except self._adapter.module.FatalError as error:
            self._own.drop()
            raise CommandError(f"row {last} can't be stepped to again: {error}") from error
        finally:
            option.timestep = own

    def _step_once(self, axis: int) -> None:
        """Step the scratch data from row ``axis`` to the next one, inputs included."""
        ring, adapter, scratch = self._history.ring, self._adapter, self._own.data
        self.model.opt.timestep = ring.timestep(axis)
        adapter.mj_step(self.model, scratch)
        if not ring.holds(axis + 1):
            return  # nobody knows the inputs of a step that comes
        adapter.mj_setState(
            self.model, scratch, ring.inputs(axis + 1), self._own.layout.inputs_mask
        )

    def _is_right(self, axis: int) -> bool:
        """Return whether the scratch data is, to the bit, what was recorded at ``axis``.

        Where the scene stands: what it has come to; nobody knows the inputs of the next step.
        """
        return self._is_what_came(self._own.row(), axis)

    def _is_what_came(self, row: Row, axis: int) -> bool:
        """The same of a row, whose inputs don't count, and become those of then."""
        ring, inputs = self._history.ring, self._own.layout.inputs
        is_live = axis == self._scene.counters.axis
        stored = self._world.codec.read_row()[0] if is_live else ring.row(axis)
        row[inputs] = ring.inputs(axis) if stored is None else stored[inputs]
        return ring.is_hash_of(row, axis) if stored is None else row.tobytes() == stored.tobytes()

    def _why_wrong(self, base: int, axis: int, hidden: bytes) -> str:
        """Return since which step the recorded states are others than those stepped to."""
        row = self._history.ring.row(base)
        wrong = axis
        if row is not None:
            self._own.codec.put_row(row, hidden)
            wrong = self._first_wrong(base, axis)
            if wrong < axis:
                self._step(wrong, axis)
        where = self.counters(wrong).physics_step_count
        return f"not reproducible: outside edit before physics step {where}"

    def _first_wrong(self, base: int, axis: int) -> int:
        """Return the first row that is not what the steps from ``base`` on lead to."""
        segments = self._history.segments
        while base < axis:
            stretch = self.stretch(base)
            end = min(axis, segments.end_of(stretch, axis))
            with self._options_of(stretch):
                for each in range(base, end):
                    self._step_within(each, each + 1)
                    if not self._is_right(each + 1):
                        return each + 1
            base = end
        return axis

    # --- a model and data of our own

    @property
    def model(self) -> Any:
        """A copy of the scene's, in which options and fields may have the values of then."""
        return self._own.model

    def copy_to(self, data: Any, *, model: Any) -> None:
        """Copy the scratch data, where :meth:`bring` has put something, to ``data``."""
        self._own.copy_to(data, model=model)

    def options_of(self, stretch: Stretch) -> Options:
        """Return the physics options, and fields of the model, that were in force in a stretch."""
        return self._in_force.of(stretch)

    def _options_of(self, stretch: Stretch) -> AbstractContextManager[None]:
        """Have them in the model."""
        return self._in_force.having(self.model, stretch)
