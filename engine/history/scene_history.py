"""The history of one scene: which rows follow from which, and since when it is kept."""

import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from stroboscope.debugger_protocol.time_messages import Segment, SegmentKind
from stroboscope.engine.history.budget import HistoryBudget
from stroboscope.engine.history.keyframes import KEYFRAME_INTERVAL, CopyPace, Keyframes
from stroboscope.engine.history.model_notes import ModelNotes
from stroboscope.engine.history.model_placing import MODEL_TEXT
from stroboscope.engine.history.model_watch import Fields
from stroboscope.engine.history.own_timesteps import OwnTimesteps
from stroboscope.engine.history.packing import RowPacking
from stroboscope.engine.history.recorded_signals import NoSignals, RecordedSignals
from stroboscope.engine.history.ring import RowRing
from stroboscope.engine.history.row_tap import HistoryTap, SyncTap
from stroboscope.engine.history.script_rows import ScriptRows
from stroboscope.engine.history.segments import (
    LOST_FIELDS,
    Options,
    SegmentList,
    Stretch,
    digest_of_motion,
)
from stroboscope.engine.model_option_fields import FIELD_OPTION
from stroboscope.engine.physics_options import read_option

if TYPE_CHECKING:
    import numpy as np

    from stroboscope.engine.scene import Scene
    from stroboscope.engine.world import World

__all__ = ["SceneHistory"]

_STATE_CHANGED = "the state was changed between two steps"
# What copies in between may take of all the memory: one part of so many.
_PASSING_PART = 8
_TORN = "not reproducible: a callback within this very step has put another state in its place"


class SceneHistory:
    """Rows, and the segments that they belong to; owner thread only.

    ``time_after`` and ``after`` say where the last step has left the scene: when the next
    one begins elsewhere, :meth:`arrive` finds out what came between.
    """

    def __init__(self, scene: "Scene", budget: HistoryBudget) -> None:
        self._scene = scene
        self._budget = budget
        self.wanted = False
        """Whether the script wants it kept, attached or not."""
        self.switched_off = False
        """Whether a client wants none."""
        self.max_bytes = budget.limits.scene_bytes
        self.recording = ""
        """The file that the rows before ``recording_end`` are in; empty where there is none."""
        self.recording_end = 0
        self.is_recorded_here = False
        """Whether the recorded steps lead, taken again, to what was recorded, as far as known."""
        self.recorded_left = b""
        """Where the last recorded step has led, see :attr:`Stretch.left`."""
        self.recorded_without = ""
        """What steps of the recorded past were taken with that no file holds; empty: nothing."""
        self.recorded_signals: RecordedSignals = NoSignals()
        self.recorded_options: dict[str, tuple[float, ...]] = {}
        """The model's own values of the options that were edited in the recorded past."""
        self.episode = 0
        """Which episode the state belongs to; counted whether rows are kept or not."""
        self._episodes = 0
        self.segments = SegmentList()
        self.keyframes = Keyframes()
        self.script_rows = ScriptRows()
        self.own_timesteps = OwnTimesteps()
        self._is_replaced = False
        self._due = (-1, "")
        """The axis that a segment has to begin at, whatever comes between, and why."""
        self._opened_at = -1
        """Where the last one was opened for a row that nobody has arrived at yet."""
        self._world: World
        self.senses = False
        """Whether the script may fill sensors: each step is looked at for who fills them."""
        self.models: ModelNotes
        """Knows what was written into the model, as far as somebody has looked."""
        self.packing: RowPacking
        self.ring: RowRing
        self.time_after = math.nan
        self.after: bytes | None = None
        self.taps: tuple[HistoryTap, ...] = ()
        """Who records the scene: rows are written for them whatever anybody else wants."""
        self.sync_taps: tuple[SyncTap, ...] = ()
        """Those who also record what sync() sees."""
        self.is_synced = False
        """Whether the script has stepped by itself to where the scene stood last."""
        self._least_rows: dict[int, int] = {}
        self._calls: deque[Callable[[], None]] = deque()
        self._copies = CopyPace()

    def enter_world(self, world: "World") -> None:
        """Begin anew with another model: rows of the old one say nothing about it."""
        if self.taps:
            self.look_at_model()
            self.ring.seal()
        for tap in self.taps:
            tap.leaving(self._world)
        self._world = world
        self.models = ModelNotes(world, axis=lambda: self._scene.counters.axis)
        self.senses = world.adapter.has_user_sensors(world.model)
        self.packing = RowPacking(world.model, world.live, adapter=world.adapter)
        self.recording, self.recording_end = "", 0
        self.recorded_without, self.recorded_left = "", b""
        self.recorded_options, self.recorded_signals = {}, NoSignals()
        self.keyframes = Keyframes()
        self.segments = SegmentList()
        self.ring = self._make_ring(RowRing)
        self.forget()
        for tap in self.taps:
            tap.entered()

    def enter_file(
        self,
        name: str,
        make_ring: Callable[..., RowRing],
        keyframes: Keyframes,
        stretches: Sequence[Stretch],
    ) -> None:
        """Begin behind a past that was recorded in the file ``name``: the scene stands at its end.

        ``make_ring`` takes what RowRing takes. Nothing of the past is ever forgotten.
        """
        self.recording, self.recording_end = name, self._scene.counters.axis
        self.keyframes = keyframes
        self.ring = self._make_ring(make_ring)
        self._scene.stepper.use_ring()
        self._note_options(stretches)
        self.segments = SegmentList(self._begun(stretches))
        last = stretches[-1].segment
        self.episode = self._episodes = last.episode
        self._lose_track()

    def _begun(self, stretches: Sequence[Stretch]) -> Sequence[Stretch]:
        """Return those of a recorded past that a step was taken in, or else the first.

        A reset right before the end begins one that nothing came of.
        """
        begun = [s for s in stretches if s.segment.begin < self.recording_end] or stretches[:1]
        return [each.settled() for each in begun]  # whoever has the file knows better

    @property
    def is_at_recorded_end(self) -> bool:
        """Whether the scene still stands where its recorded past ends."""
        if not self.recording or self._scene.counters.axis != self.recording_end:
            return False
        last = self.segments.last
        return last is None or last.segment.begin < self.recording_end

    def recording_grew(self, stretches: Sequence[Stretch]) -> None:
        """Follow the recorded past to its new end, where the scene stands already."""
        self.ring.take_in()  # type: ignore[attr-defined]  # the one of enter_file
        self.recording_end = self._scene.counters.axis
        self._note_options(stretches)
        self.tell_recorded(stretches)
        self.episode = self._episodes = stretches[-1].segment.episode

    def tell_recorded(self, stretches: Sequence[Stretch]) -> None:
        """Have the recorded past consist of these stretches."""
        self.segments = SegmentList(self._begun(stretches))

    def _note_options(self, stretches: Sequence[Stretch]) -> None:
        model, adapter = self._world.model, self._world.adapter
        own = dict(self.recorded_options)
        for name in {name for each in stretches for name in each.options} - own.keys():
            own[name] = read_option(model, name, adapter=adapter)
        # Fields come last: an option may be told by its own name, too, which is a part of one.
        self.recorded_options = dict(sorted(own.items(), key=_fields_last))

    def forget_file(self) -> None:
        """Have no recorded past any more: its file is closed."""
        if self.taps:
            self.ring.seal()  # what was counted by now is theirs
        self.recording, self.recording_end = "", 0
        self.recorded_without, self.recorded_left = "", b""
        self.recorded_signals = NoSignals()
        self.keyframes = Keyframes()
        self.segments = SegmentList()
        self.ring = self._make_ring(RowRing)
        self._scene.stepper.use_ring()
        self.forget()

    def _make_ring(self, make: Callable[..., RowRing]) -> RowRing:
        ring = make(
            self.packing,
            limit=self._limit,
            on_drop=self._dropped,
            on_merge=self.keyframes.drop,
            ahead=self._budget.ahead,
            capacity=KEYFRAME_INTERVAL if self._world.codec.keeps_sleep else None,
        )
        ring.taps = self.taps
        ring.least_dense = max(self._least_rows.values(), default=0)
        return ring

    # --- whether it is kept

    @property
    def keeps(self) -> bool:
        """Whether the next step's row will stay."""
        return bool(self.taps) or self._is_looked_at

    @property
    def _is_looked_at(self) -> bool:
        return (self._scene.link.active or self.wanted) and not self.switched_off

    # --- whoever records it

    def add_tap(self, tap: HistoryTap) -> None:
        """Have ``tap`` record the scene from its next row on."""
        self.taps = (*self.taps, tap)
        if self.ring.advance:
            self.ring.tap(tap)
        else:
            self.ring.taps = self.taps
            self._lose_track()  # the next step has to look

    def remove_tap(self, tap: HistoryTap) -> None:
        """Have ``tap`` record no more; harmless when it doesn't."""
        self.taps = tuple(each for each in self.taps if each is not tap)
        self.ring.untap(tap)
        if not self.keeps:
            self.forget()

    def keep_newest(self, rows: int, *, who: object) -> None:
        """Keep so many of the newest rows, all of them, for ``who``, whatever room others have."""
        self._least_rows[id(who)] = rows
        if not rows:
            del self._least_rows[id(who)]
        self.ring.least_dense = max(self._least_rows.values(), default=0)

    def call_soon(self, call: Callable[[], None]) -> None:
        """Have the owner call ``call`` before its next row is written; any thread.

        What it raises is raised by that step, which has moved nothing.
        """
        self._calls.append(call)
        self.ring.interrupt()

    @property
    def is_called(self) -> bool:
        """Whether the owner has to call something."""
        return bool(self._calls)

    def _answer_calls(self) -> None:
        self.ring.resume()
        if not self._calls:
            return
        try:
            while self._calls:
                self._calls.popleft()()
        finally:
            self._scene._update_fast_path()

    def end(self) -> None:
        """Leave the process's bytes to other scenes; any thread. The rows go with the scene."""
        self._budget.forget(id(self))

    def switch(self, *, off: bool) -> None:
        """Keep nothing from now on, or as it is without anybody's wish."""
        self.switched_off = off
        if off and not self.taps:
            self.forget()
        elif not self.ring.advance:
            self._lose_track()  # the next step has to look

    @property
    def nbytes(self) -> int:
        """Bytes of all that is kept."""
        return self.ring.nbytes + self.keyframes.nbytes + self.script_rows.nbytes

    @property
    def limit(self) -> int:
        """How many bytes may be kept."""
        return self._budget.share(id(self), self.max_bytes)

    def forget(self) -> None:
        """Forget everything that was kept."""
        self.ring.stop_keeping()
        self.segments.clear()
        self.keyframes.clear()
        self.script_rows.clear()
        self._scene.recorders.notes.clear()
        self._budget.forget(id(self))
        self._lose_track()

    def _lose_track(self) -> None:
        self.time_after = math.nan
        self.after = None
        self._opened_at = -1

    def _limit(self) -> int:
        """Return how many bytes rows may take."""
        self._budget.uses(id(self), self.nbytes)
        return max(self.limit, self.ring.least_bytes) - self.keyframes.nbytes

    def _dropped(self, axis: int) -> None:
        """Forget what belongs to the rows before ``axis``, which are gone."""
        self.segments.forget_before(axis)
        self.keyframes.forget_before(axis)
        self.script_rows.forget_before(axis)
        self._scene.recorders.notes.forget_before(axis)

    # --- where the scene stands

    @property
    def is_replaced(self) -> bool:
        """Whether the state was replaced since the last step."""
        return self._is_replaced

    def last_row(self) -> "NDArray[np.float64] | None":
        """Return the row that the last followed physics step began with; None without any."""
        ring = self.ring
        if not ring.advance or ring.at:
            return ring.written(max(ring.at - 1, 0))
        return ring.row(self._scene.counters.axis - 1)

    def has_model_of_last_step(self) -> bool:
        """Return whether options and model are still those of the last step, as far as known."""
        return not self._is_replaced and self.models.is_as_seen()

    def synced(self, time: float) -> None:
        """Note that the script has stepped by itself, up to ``time`` [s], counted already."""
        self._lose_track()
        self.time_after = time
        self.is_synced = True
        self._is_replaced = False
        if self.sync_taps:
            self.look_at_model(in_passing=True)
            self.ring.seal()
            for tap in self.sync_taps:
                tap.synced()

    # --- segments

    def begin(
        self,
        kind: SegmentKind,
        text: str = "",
        *,
        parent_axis: int = -1,
        episode: int = -1,
        ahead: int = 0,
    ) -> Segment:
        """Say that the state was replaced, and its counters, too: another segment begins.

        ``episode``: which one it belongs to; -1: the one in force, or the next one. ``ahead``: by a
        physics step that is done and not counted yet, 1.
        """
        self._is_replaced = True
        if kind is SegmentKind.EPISODE:
            self.episode = self._episodes + 1
        elif episode >= 0:
            self.episode = episode
        left = b"" if ahead else self.left
        if self.ring.advance:
            self.models.look(in_passing=True)  # what comes now is another stretch's
        opened = self._open(kind, text, parent_axis, ahead=ahead, left=left)
        # Nothing but stores, which no handler of a signal comes between: else it was not noticed.
        if kind is SegmentKind.EPISODE:
            self._episodes = self.episode
        self.time_after, self.after, self._opened_at = math.nan, None, -1
        return opened

    def edited(self, text: str) -> Segment | None:
        """Say that an option was edited in the debugger, by whoever has looked right before."""
        if self.ring.advance:
            self.models.look()
            self.models.is_told()  # it is no secret
        return self.begin(SegmentKind.EDIT, text)

    def restored(self) -> None:
        """Say that the state was restored; next to nothing while no rows are kept."""
        if self.ring.advance:
            self.begin(SegmentKind.RESTORE)
        else:
            self._is_replaced = True
            self._lose_track()

    @property
    def left(self) -> bytes:
        """Where the last step has led, whatever has taken the place of that since."""
        return b"" if self.after is None else digest_of_motion(self.after)

    def _open(
        self, kind: SegmentKind, text: str, parent_axis: int, *, ahead: int = 0, left: bytes = b""
    ) -> Segment:
        counters, world = self._scene.counters, self._world
        axis = counters.axis + ahead
        if kind is SegmentKind.EDIT and parent_axis < 0 and self.ring.holds(axis - 1):
            parent_axis = axis - 1
        segment = Segment(
            segment_id=0,
            kind=kind,
            begin=axis,
            episode=self.episode,
            parent_axis=parent_axis,
            physics_step=counters.physics_step_count + ahead,
            step_count=counters.step_count,
            time=float(world.live().time),
            text=text,
        )
        has_row = bool(self.ring.advance or self.recording) or kind is SegmentKind.BEGIN
        if not (has_row or (self.is_synced and self.sync_taps)):
            return segment  # the first one begins with the first row
        if not ahead and self._scene.stepper.is_within_step:
            self.segments.doubt(axis, axis + 1, _TORN)
        models = self.models
        stretch = Stretch(
            segment, counters.total_steps, self.options_in_force(), lost=models.lost, left=left
        ).with_model(models.pending)
        if has_row:
            stretch = self.segments.open(stretch)
        models.is_told()
        for tap in self.taps:
            tap.began(stretch)
        return stretch.segment

    def options_in_force(self) -> Options:
        """Return the values of all options, and fields of the model, that ever had other ones."""
        edited, backend = self._edited_options(), self._scene.link.backend
        fields = {**self._recorded_fields(), **self.models.fields}
        return {**fields, **{name: backend.option(name) for name in edited}}

    def _recorded_fields(self) -> Options:
        """Return what fields have that had other values in a file: its own may be another one."""
        model, adapter = self._world.model, self._world.adapter
        names = [name for name in self.recorded_options if name.startswith(FIELD_OPTION)]
        return {name: read_option(model, name, adapter=adapter) for name in names}

    def _edited_options(self) -> list[str]:
        """Return the names of the options that were edited in the debugger, now or in a file."""
        known = (*self._world.unedited_options, *self.recorded_options)
        return [name for name in dict.fromkeys(known) if not name.startswith(FIELD_OPTION)]

    # --- what is written into the model

    @property
    def first_fields(self) -> Fields:
        """What the fields of the model had at first that were written into."""
        return self.models.first

    def lost_fields(self, axis: int) -> str:
        """Say of which fields of the model it is not known what they were then; or "".

        Of those that no row can carry it is known whether they are what they were.
        """
        if axis < self.segments.fields_from:
            return LOST_FIELDS
        stretch, now = self.segments.of(axis), self.models.lost
        if stretch is None or stretch.lost == now:
            return ""
        then = stretch.lost
        names = sorted(name for name in {**then, **now} if then.get(name) != now.get(name))
        return f"what was in {', '.join(names)} then is not remembered"

    def look_at_model(self, *, in_passing: bool = False) -> None:
        """Notice what the script has written into the model since this was called last.

        MuJoCo tells nobody: so it is done where a block of rows ends, where a state was replaced,
        both ``in_passing``, and before somebody looks back.
        """
        axis, models = self._scene.counters.axis, self.models
        change, last = models.watch.look(axis, in_passing=in_passing), self.segments.last
        if change is None:
            return
        if last is not None and last.segment.begin == axis:
            amended = self.segments.amend(
                last.amended(self.options_in_force(), models.lost, change)
            )
            models.is_told()
            for tap in self.taps:
                tap.began(amended)
        elif self.ring.next_axis == axis:
            self._open(SegmentKind.EDIT, f"{MODEL_TEXT}: {change.text}", -1)

    def arrive(self, *, time: float, motion: Any) -> None:
        """Prepare the row of the coming step, which may begin where the last one did not end.

        Does all of it anew, with the same outcome, when an exception has come between.
        """
        ring = self.ring
        if ring.at >= ring.size or self._calls:
            self._answer_calls()
        if self.keeps:
            self._arrive(time, motion)
        elif ring.advance:
            self.forget()
        after = motion.tobytes()
        # Nothing but stores, which no handler of a signal comes between.
        self._is_replaced, self.is_synced, self._due, self._opened_at = False, False, (-1, ""), -1
        self.time_after, self.after = time, after

    def _arrive(self, time: float, motion: Any) -> None:
        ring, axis = self.ring, self._scene.counters.axis
        if self.senses and not self.models.watch.is_sensed_as_seen():
            self.look_at_model(in_passing=True)
        is_replaced, is_opened = self._is_replaced, self._opened_at == axis
        follows = not is_replaced and not is_opened
        if ring.next_axis != axis and self._due[0] != axis:
            is_left_out = ring.next_axis >= 0 or self.is_synced
            self._due = axis, "steps in between were not followed" if is_left_out else ""
        if self._due[0] == axis:
            if ring.next_axis != axis or ring.is_turning:
                self._turn(axis)
            if not is_opened and not (is_replaced and self._is_begun(axis)):
                self._open(SegmentKind.BEGIN, self._due[1], -1)
                self._opened_at = axis
            follows = False
        elif follows and (time != self.time_after or motion.tobytes() != self.after):
            follows = False
            if not self._is_edited_again(axis):
                # The step before tells with which model it was taken.
                self.models.look(in_passing=True)
                self._open(SegmentKind.EDIT, _STATE_CHANGED, -1, left=self.left)
                self._opened_at = axis
        if ring.at == ring.size or ring.is_turning:
            self._turn(axis)
        if not follows:
            ring.flag()
            if is_replaced:
                self.look_at_model(in_passing=True)
        if self._world.codec.keeps_sleep:
            self._keep_hidden(axis, in_passing=bool(ring.at) and follows)

    def _keep_hidden(self, axis: int, *, in_passing: bool) -> None:
        """Copy what the row of ``axis`` does not hold, and say when to do that again.

        The slower the scene is to step, the more often: who goes back waits for the steps from the
        last copy on.
        """
        ring = self.ring
        if not in_passing:
            hidden = self._world.codec.read_row()[1]
            self.keyframes.keep(axis, hidden)
            for tap in self.taps:
                tap.slept(axis, hidden)
        elif self._copies.is_due(axis):
            if self._copies.is_more_often(axis):
                self.keyframes.keep_passing(
                    axis, self._world.codec.read_row()[1], most_bytes=self.limit // _PASSING_PART
                )
        else:
            ring.look_up_after(self._copies.steps_left(axis))
            return
        self._copies.done(axis)
        ring.look_up_after(self._copies.interval)
        if self._calls:  # what somebody has asked for meanwhile is not to wait for that
            ring.interrupt()

    def _turn(self, axis: int) -> None:
        with self._scene.link.owner.signals:  # what a handler does may end what is kept
            self.look_at_model(in_passing=True)
            self.ring.forgets = not self._is_looked_at  # who records has what he needs elsewhere
            self.ring.turn(axis)

    def _is_begun(self, axis: int) -> bool:
        """Return whether a segment begins there already: behind a file, before any own row."""
        last = self.segments.last
        return last is not None and last.segment.begin == axis

    def _is_edited_again(self, axis: int) -> bool:
        """Return whether this is one of many edits in a row: a script that sets every state."""
        last, ring = self.segments.last, self.ring
        if last is None or last.segment.kind is not SegmentKind.EDIT or last.model_since >= 0:
            return False
        return last.segment.begin == axis - 1 or (
            ring.holds(axis - 1) and not ring.follows(axis - 1)
        )


def _fields_last(option: tuple[str, tuple[float, ...]]) -> tuple[bool, str]:
    name, _ = option
    return name.startswith(FIELD_OPTION), name
