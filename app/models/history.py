"""What a scene remembers and where the view stands in it; what happened when. GUI thread only.

Axis a: physics steps ever taken; row a: state and inputs just before that step. The live state has
no row yet.
"""

import bisect
import dataclasses
import math
from typing import TYPE_CHECKING

from stroboscope.app.models.file_health import LostFrames
from stroboscope.app.models.marks import MODES, Mark, MarkKind, NotesModel
from stroboscope.app.models.numbers import THIN_SPACE, count_text
from stroboscope.app.models.signal import Signal
from stroboscope.app.models.stops import stop_whose
from stroboscope.debugger_protocol.messages import LogEntry, PlaybackMode
from stroboscope.debugger_protocol.note_messages import SceneNotes
from stroboscope.debugger_protocol.step_words import step_words
from stroboscope.debugger_protocol.time_messages import (
    SceneHistory,
    SceneStops,
    Segment,
    SegmentKind,
    StopInfo,
)
from stroboscope.debugger_protocol.told_segments import MOST_SEGMENTS

if TYPE_CHECKING:
    from stroboscope.app.models.scene import SceneModel

__all__ = ["HistoryModel", "RowPlace"]

# Changes of the mode that are kept.
_KEPT_MODES = 2000
# So many texts are events that one may go to; more of them are a script's way of life.
_MOST_TEXTS = 100
# How the engine's words about such a past begin.
_NOT_REPRODUCIBLE = "not reproducible"


_OF_MODE = {
    PlaybackMode.PLAYING: MarkKind.PLAY,
    PlaybackMode.FAST_FORWARD: MarkKind.FAST_FORWARD,
    PlaybackMode.PAUSED: MarkKind.PAUSE,
}
_OF_SEGMENT = {
    SegmentKind.BRANCH: MarkKind.BRANCH,
    SegmentKind.RESTORE: MarkKind.RESTORE,
    SegmentKind.EDIT: MarkKind.EDIT,
}


@dataclasses.dataclass(frozen=True, slots=True)
class RowPlace:
    """Where a row is: ``episode``, physics step and time [s] within it, and its segment."""

    episode: int
    step: int
    time: float
    segment: Segment


class HistoryModel:
    """The past of one scene as its application tells it; commands are sent by who has a clock.

    ``changed``: what is remembered, or where the view stands; ``marks_changed``: what happened.
    """

    def __init__(self, scene: "SceneModel") -> None:
        self.changed: Signal[[]] = Signal()
        self.marks_changed: Signal[[]] = Signal()
        self.told: SceneHistory | None = None
        """None until the application has said anything: its engine remembers nothing."""
        self.segments: list[Segment] = []
        """All that were told and are still there, oldest first."""
        self.stops: tuple[StopInfo, ...] = ()
        self.lost: tuple[LostFrames, ...] = ()
        """Rows of its file that can't be read, oldest first, as far as is known."""
        self.is_playing = False
        """Whether the view moves forward by itself."""
        self.loop: tuple[int, int] | None = None
        """The first and the last row that are played again and again; None: all."""
        self.wanted: int | None = None
        """The axis that was asked for and is not in view yet, None: nothing."""
        self.asks_play = False
        """Whether the application has asked for it to be played, and nobody has begun yet."""
        self.notes = NotesModel()
        """What was said at which step."""
        self._scene = scene
        self._begins: list[int] = []
        self._modes: list[Mark] = []
        self._mode: PlaybackMode | None = None
        self._marks: tuple[Mark, ...] | None = None
        self._events: list[int] | None = None
        self._notable: list[Mark] | None = None
        scene.edits.changed.connect(self._on_marks)
        scene.edits.checkpoints_changed.connect(self._on_marks)

    # --- what there is

    def loop_from(self, axis: int) -> None:
        """Have what is played again and again begin with a row; to its end, else to the live one.

        Nothing changes where that would leave nothing to play.
        """
        end = self.live if self.loop is None or self.loop[1] <= axis else self.loop[1]
        self._set_loop(axis, end)

    def loop_to(self, axis: int) -> None:
        """Have what is played again and again end with a row; from its beginning, or the oldest."""
        begin = self.first if self.loop is None or self.loop[0] >= axis else self.loop[0]
        self._set_loop(begin, axis)

    def loop_everything(self) -> None:
        """Have all there is played again and again."""
        self.loop = None
        self.changed.emit()

    def _set_loop(self, begin: int, end: int) -> None:
        if begin < end:
            self.loop = (begin, end)
            self.changed.emit()

    @property
    def is_kept(self) -> bool:
        """Whether there is a past to look at, or there will be with the next step."""
        return self.told is not None and self.told.keeps

    @property
    def has_rows(self) -> bool:
        """Whether there is a row to look at."""
        return self.told is not None and self.told.rows > 0

    @property
    def live(self) -> int:
        """The axis of the step that would come next."""
        status, told = self._scene.status, self.told
        begun = self._begins[-1] if self._begins else 0
        # The status of a recorded run may come after its rows.
        recorded = told.recording_end if told is not None else 0
        return max(status.axis if status is not None else 0, begun, recorded)

    @property
    def first(self) -> int:
        """The oldest axis that can be looked at."""
        return self.told.first if self.told is not None else 0

    @property
    def view(self) -> int | None:
        """The axis that is looked at; None: live."""
        return self.told.view if self.told is not None else None

    @property
    def is_away(self) -> bool:
        """Whether the past is looked at."""
        return self.view is not None

    @property
    def recording(self) -> str:
        """The name of the file that the oldest rows come from; empty where there is none."""
        return self.told.recording if self.told is not None else ""

    @property
    def is_replay(self) -> bool:
        """Whether what is looked at was recorded in a file, the end of the file included."""
        told = self.told
        if told is None or not told.recording:
            return False
        if told.view is not None:
            return told.view < told.recording_end
        last = self.segments[-1].begin if self.segments else -1
        return self.live == told.recording_end and last < told.recording_end

    @property
    def frame_text(self) -> str:
        """Which frame of its file is looked at, "frame 120 of 0 … 3 000"; empty where not known.

        Both ends are named: frame 3 000 is the last one of 3 001. Of files without some steps it is
        said which physics step that is, and which are the first and the last one in the file.
        """
        told = self.told
        if told is None or not self.is_replay:
            return ""
        axis = told.recording_end if told.view is None else told.view
        # Beside them there are the rows of what the file was continued with.
        recorded = told.rows - max(self.live - told.recording_end, 0)
        all_there = recorded == told.recording_end - told.first
        what, begin = ("frame", told.first) if all_there else ("step", 0)
        number, first, last = (
            count_text(each - begin) for each in (axis, told.first, told.recording_end)
        )
        return f"{what} {number} of {first}{THIN_SPACE}…{THIN_SPACE}{last}"

    @property
    def doubt(self) -> str:
        """Why what is looked at is not what follows from it any more; empty where it is."""
        note = self.told.view_note if self.told is not None and self.is_away else ""
        return note if note.startswith(_NOT_REPRODUCIBLE) else ""

    @property
    def invalid(self) -> str:
        """Why what is looked at is no valid state; empty where nothing is known against it."""
        return self.told.invalid if self.told is not None else ""

    @property
    def near(self) -> int:
        """The axis that is looked at, or will be; the live one while the view is live."""
        if self.wanted is not None:
            return self.wanted
        return self.view if self.view is not None else self.live

    @property
    def time_in_view(self) -> float | None:
        """The simulation time that is looked at [s]; None: nothing is known of it."""
        told, status = self.told, self._scene.status
        if told is not None and told.view is not None:
            return told.view_time
        return status.time if status is not None else None

    @property
    def branch(self) -> Segment | None:
        """The branch that the scene is on; None on its first line."""
        for segment in reversed(self.segments):
            if segment.kind is SegmentKind.BRANCH:
                return segment
            if segment.kind is not SegmentKind.EDIT:
                return None
        return None

    def why_not_back(self) -> str:
        """Return why the past can't be looked at, empty: it can."""
        told = self.told
        if told is None:
            return "The engine of this scene keeps no history: there is no past to look at."
        if not told.rows:
            return (
                "No step was taken yet: there is nothing to go back to."
                if told.keeps
                else "Its history is switched off."
            )
        if self.near <= told.first:
            return "This is the oldest row that is kept."
        return ""

    def segment_at(self, axis: int) -> Segment | None:
        """Return the segment of a row, None where nothing is known."""
        at = bisect.bisect_right(self._begins, axis) - 1
        return self.segments[at] if at >= 0 else None

    def place(self, axis: int) -> RowPlace | None:
        """Return where a row is, its time as its segment's pace says; None where not known."""
        at = bisect.bisect_right(self._begins, axis) - 1
        if at < 0:
            return None
        segment = self.segments[at]
        steps = axis - segment.begin
        told = self.told
        if told is not None and told.view == axis:
            time = told.view_time
        else:
            time = segment.time + steps * self._pace(at)
        return RowPlace(segment.episode, segment.physics_step + steps, time, segment)

    def axis_at(self, time: float, *, episode: int) -> int | None:
        """Return the row of an episode that is in view at ``time`` [s], the nearest there is.

        ``episode``: the nearest one that is remembered. None where nothing is known.
        """
        if not self.has_rows or not self.segments:
            return None
        axis = self._axis_in(episode, time)
        if axis is None:
            episodes = {segment.episode for segment in self.segments}
            nearest = min(episodes, key=lambda number: (abs(number - episode), number))
            axis = self._axis_in(nearest, time)
        return None if axis is None else max(axis, self.first)

    def _axis_in(self, episode: int, time: float) -> int | None:
        """Return the row of one episode, of its newest segment that has begun at ``time`` [s]."""
        axis = None
        for at in reversed(range(len(self.segments))):
            segment = self.segments[at]
            if segment.episode != episode:
                continue
            pace = self._pace(at)
            # Sums of timesteps are a little off.
            steps = math.floor((time - segment.time) / pace + 0.01) if pace > 0.0 else 0
            is_last = at + 1 == len(self.segments)
            end = self.live if is_last else self._begins[at + 1] - 1
            axis = min(max(segment.begin + steps, segment.begin), max(end, segment.begin))
            if steps >= 0:
                break
        return axis

    @property
    def branch_text(self) -> str:
        """Where the branch that the scene is on has begun; empty on its first line."""
        branch = self.branch
        if branch is None:
            return ""
        axis = branch.parent_axis if branch.parent_axis >= 0 else branch.begin
        return step_words(branch.physics_step, axis, number=count_text)

    def step_text(self, axis: int) -> str:
        """Return where a row is: "step 120 (axis 340)"."""
        place = self.place(axis)
        return step_words(axis if place is None else place.step, axis, number=count_text)

    def pace_at(self, axis: int) -> float:
        """Return the simulation time of a physics step there [s]; 0: not known."""
        at = bisect.bisect_right(self._begins, axis) - 1
        if at >= 0:
            return self._pace(at)
        description = self._scene.description
        return description.timestep if description is not None else 0.0

    def _pace(self, at: int) -> float:
        """Return the simulation time of a physics step in a segment [s]."""
        segment, status = self.segments[at], self._scene.status
        if at + 1 < len(self.segments):
            following = self.segments[at + 1]
            if following.kind is SegmentKind.EDIT and following.begin > segment.begin:
                passed = following.time - segment.time
                if passed > 0.0:
                    return passed / (following.begin - segment.begin)
        elif status is not None and status.axis > segment.begin and status.time > segment.time:
            return (status.time - segment.time) / (status.axis - segment.begin)
        description = self._scene.description
        return description.timestep if description is not None else 0.0

    # --- what happened

    @property
    def marks(self) -> tuple[Mark, ...]:
        """Everything that is marked, by axis."""
        if self._marks is None:
            self._marks = tuple(sorted(self._collect(), key=lambda mark: mark.axis))
        return self._marks

    def _collect(self) -> list[Mark]:
        edits = self._scene.edits
        found = [Mark(stop.axis, MarkKind.STOP, stop_whose(stop)) for stop in self.stops]
        found += [
            Mark(each.axis, MarkKind.CHECKPOINT, f"checkpoint {each.name}")
            for each in edits.checkpoints
        ]
        edited = {entry.axis: entry.text for entry in edits.entries if not entry.reverted}
        for segment in self.segments:
            kind = _OF_SEGMENT.get(segment.kind)
            if kind is not None:
                text = edited.pop(segment.begin, "") if kind is MarkKind.EDIT else ""
                found.append(Mark(segment.begin, kind, text or segment.text or kind.value))
        found += [Mark(axis, MarkKind.EDIT, text) for axis, text in edited.items()]
        told = self.told
        recorded_to = told.recording_end if told is not None and told.recording else None
        return found + self.notes.marks(recorded_to=recorded_to) + self._modes

    def notable(self) -> list[Mark]:
        """Return what happened: without texts where a script logs all the time."""
        if self._notable is None:
            texts = sum(mark.kind is MarkKind.TEXT for mark in self.marks)
            passed = MODES if texts <= _MOST_TEXTS else {*MODES, MarkKind.TEXT}
            self._notable = [mark for mark in self.marks if mark.kind not in passed]
        return self._notable

    def events(self) -> list[int]:
        """Return the axes of what happened, and of where episodes begin, rising, each once."""
        if self._events is None:
            axes = {mark.axis for mark in self.notable()}
            axes.update(s.begin for s in self.segments if s.kind is SegmentKind.EPISODE)
            self._events = sorted(axes)
        begin = bisect.bisect_left(self._events, self.first)
        return self._events[begin : bisect.bisect_left(self._events, self.live)]

    def next_event(self, direction: int) -> int | None:
        """Return the event after (1) or before (-1) what is looked at; None: there is none."""
        events, near = self.events(), self.near
        if direction > 0:
            at = bisect.bisect_right(events, near)
            return events[at] if at < len(events) else None
        at = bisect.bisect_left(events, near) - 1
        return events[at] if at >= 0 else None

    # --- what arrives

    def hear(self, entry: LogEntry) -> None:
        """Take what was said about the scene."""
        if self.notes.hear(entry):
            self._on_marks()

    def receive(self, message: SceneHistory | SceneStops | SceneNotes) -> None:
        """Take one piece of news."""
        if isinstance(message, SceneNotes):
            self.notes.receive(message)
            self._on_marks()
            return
        if isinstance(message, SceneStops):
            self.stops = message.stops
            self._on_marks()
            return
        before = self.told
        self.told = message
        if not message.asks_play:
            self.asks_play = False
        elif before is None or not before.asks_play:
            self.asks_play = True
        if before is None or before.recording_end != message.recording_end:
            self._on_marks()  # what was heard of a recorded part is told by its file
        if (
            before is None
            or before.segments != message.segments
            or before.older_segments != message.older_segments
        ):
            self._merge(message)
        if self.wanted == message.view:
            self.wanted = None
        self.changed.emit()

    def _merge(self, message: SceneHistory) -> None:
        """Put the newest segments behind those that were told before and are still there."""
        told, known = message.segments, self.segments
        older: list[Segment] = []
        if message.older_segments and told:
            number = told[0].segment_id
            at = bisect.bisect_left(known, number, key=lambda segment: segment.segment_id)
            older = known[max(0, at - message.older_segments) : at]
        merged = [*older[-MOST_SEGMENTS:], *told]
        if merged != known:
            self.segments = merged
            self._begins = [segment.begin for segment in merged]
            self._on_marks()

    def set_lost(self, lost: tuple[LostFrames, ...]) -> None:
        """Say which rows of its file can't be read, oldest first."""
        if lost is not self.lost and lost != self.lost:
            self.lost = lost
            self.marks_changed.emit()

    def note_mode(self, mode: PlaybackMode, axis: int) -> None:
        """Note that the scene is in a mode from a physics step on."""
        before, self._mode = self._mode, mode
        if before is None or before is mode:
            return
        kind = _OF_MODE[mode]
        self._modes.append(Mark(axis, kind, kind.value))
        del self._modes[:-_KEPT_MODES]
        self._on_marks()

    def want(self, axis: int | None) -> None:
        """Say that an axis was asked for: the cursor goes there at once."""
        if axis != self.wanted:
            self.wanted = axis
            self.changed.emit()

    def set_playing(self, playing: bool) -> None:
        """Say whether the view moves forward by itself."""
        if playing != self.is_playing:
            self.is_playing = playing
            self.changed.emit()

    def close(self) -> None:
        """The scene is gone: nothing is moved any more."""
        self.wanted = None
        self.is_playing = False
        self.changed.emit()

    def _on_marks(self) -> None:
        self._marks = self._events = self._notable = None
        self.marks_changed.emit()
