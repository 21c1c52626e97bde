"""Takes what one scene of one world does, row by row and event by event, for a recording."""

import contextlib
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from stroboscope.debugger_protocol.time_messages import SegmentKind
from stroboscope.engine.counted import counted
from stroboscope.engine.errors import SceneDestroyedError
from stroboscope.engine.files.frames import FileEvent, SceneRecord
from stroboscope.engine.history.block import Block
from stroboscope.engine.history.ring import RowRing
from stroboscope.engine.history.segments import Stretch
from stroboscope.engine.recording.feed import FinalRow, NewModel, SceneFeed, wall_ns
from stroboscope.engine.recording.rows_entry import RowsEntry
from stroboscope.engine.recording.synced_rows import SyncedRows
from stroboscope.engine.recording.told_models import ToldModels, fields_of, told_options

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene
    from stroboscope.engine.world import World

__all__ = ["SceneTap", "begin_event", "final_row", "model_event", "stretch_event"]

_log = logging.getLogger(__name__)

_SEEN = "the script steps by itself, and tells by sync()"


class SceneTap:
    """Hands the rows of a scene's history to a feed; by the scene's owner.

    ``on_model``: called when the scene has got another model; returns what to say of it.
    """

    def __init__(
        self, scene: "Scene", feed: SceneFeed, *, on_model: Callable[[], NewModel]
    ) -> None:
        self.scene = scene
        self.feed = self.listener = feed
        self.feeds = (feed,)
        self._on_model = on_model
        self._entry: RowsEntry | None = None
        self._models = ToldModels(scene.history.models.watch)
        self._begun: FileEvent | None = None
        """How the newest stretch has begun."""
        self._seen: SyncedRows | None = None
        """What sync() saw since the last step of ours."""
        self._has_said_so = False
        """Whether the file says that the script steps by itself since then."""
        self._standing: tuple[object, ...] | None = None
        """What was said of where the scene stands, while nothing has come of it."""
        self._first = -1
        """The axis of the first row that there is, or will be."""
        self._stepped_before = 0
        """How many steps MuJoCo itself had counted at that axis."""

    # --- beginning and end

    def begin(self) -> None:
        """Begin with the next row."""
        self.scene.stepper.settle()
        self._first = self.scene.counters.axis
        self._stepped_before = _steps_of(self.scene)
        self.scene.history.look_at_model()  # what was written before is in the file's model
        self._models = ToldModels(self.scene.history.models.watch)
        self._add(begin_event(self.scene, self.feed.record.index, "recording begins"))
        history = self.scene.history
        history.add_tap(self)
        history.sync_taps = (*history.sync_taps, self)
        self.scene._update_fast_path()
        if self.feed.hidden is not None:  # the history may have copied it some steps ago
            self.slept(self.scene.counters.axis, self.scene.world.codec.read_row()[1])

    def end(self, *, with_final: bool) -> None:
        """Take no more rows; ``with_final``: but the state that the scene stands in."""
        self.scene.stepper.settle()
        self.scene.history.look_at_model()
        final = final_row(self.scene, self.scene.world) if with_final else None
        self._seal_seen(None if final is None or final.row is None else final.axis)
        self.leave()
        if final is not None:
            self._tell_of_none(final)
            self._put_final(final)
        self.feed.is_over = True

    def leave(self) -> None:
        """Take no more rows, and let the scene step as if nobody had ever recorded it."""
        self._seal_seen(None)
        history = self.scene.history
        history.sync_taps = tuple(each for each in history.sync_taps if each is not self)
        history.remove_tap(self)
        self.scene._update_fast_path()
        self.feed.left()

    # --- what the history says

    def opened(self, ring: RowRing, block: Block, *, at: int) -> None:
        """Take the rows of ``block``."""
        self._seal_seen(block.begin + at)
        self._has_said_so = False
        self._entry = RowsEntry(
            block,
            ring.packing,
            ring=ring,
            at=at,
            watch=self.scene.history.models.watch,
            is_of_other_model=self._models.are_unknown,
        )
        self.feed.put(self._entry)

    def sealed(self, block: Block) -> None:
        """Take no more of it."""
        entry = self._entry
        if entry is not None and entry.is_of(block):
            entry.seal(block.count)
            self.feed.sealed()
        self._entry = None

    def began(self, stretch: Stretch) -> None:
        """Note that another segment begins."""
        self._seal_seen(stretch.segment.begin)  # whoever stood there before is somewhere else now
        self._add(stretch_event(stretch, self.feed.record.index))

    def slept(self, axis: int, hidden: bytes) -> None:
        """Keep what the next row does not hold."""
        if self.feed.hidden is not None:
            self.feed.hidden[axis] = hidden

    def synced(self) -> None:
        """Take the state that the script has come to by steps of its own."""
        scene, counters, seen = self.scene, self.scene.counters, self._seen
        if not self._has_said_so:
            self._has_said_so = True
            self._add(begin_event(scene, self.feed.record.index, _SEEN))
        if seen is not None and seen.is_full:
            self._seal_seen(None)
            seen = None
        if seen is None:
            seen = self._seen = SyncedRows(self.feed.record.width)
            self.feed.put(seen)
        axis = counters.axis
        row, hidden = scene.world.codec.read_row()
        seen.put(
            row,
            axis=axis,
            step=counters.total_steps,
            timestep=scene.timestep_in_force,
            wall=time.monotonic(),
        )
        if self.feed.hidden is not None:
            self.feed.hidden[axis] = hidden

    def _seal_seen(self, until: int | None) -> None:
        """Take no more of what sync() sees; the newest counts if it is before the axis."""
        seen, self._seen = self._seen, None
        if seen is not None:
            seen.seal(until=until)
            self.feed.sealed()

    def leaving(self, world: "World") -> None:
        """Take the last state of the old model."""
        final = final_row(self.scene, world)
        self._seal_seen(None if final.row is None else final.axis)
        self._put_final(final)

    def entered(self) -> None:
        """Go on with the new model."""
        change = self._on_model()
        self._first = self.scene.counters.axis
        self._stepped_before = _steps_of(self.scene)
        self._models = ToldModels(self.scene.history.models.watch)
        self._begun = None
        self.feed.hidden = {} if self.scene.world.codec.keeps_sleep else None
        self.feed.put(change)

    def _tell_of_none(self, final: FinalRow) -> None:
        """Say, here and in the file, that the script has stepped and nobody has seen it."""
        if final.row is None or final.axis != self._first:
            return
        steps = _steps_of(self.scene)
        steps -= self._stepped_before if steps >= self._stepped_before else 0  # reset meanwhile
        if not steps:
            return
        text = (
            f"no step of scene {self.scene.name!r} is recorded, yet MuJoCo has taken "
            f"{counted(steps, 'step')} of its data: nobody sees those that a script takes by "
            "itself. Let it call scene.step(), or scene.sync() behind its own"
        )
        _log.warning("%s", text)
        event = begin_event(self.scene, self.feed.record.index, text)
        self.feed.add_event(msgspec.structs.replace(event, kind="warning", data={}))

    def _put_final(self, final: FinalRow) -> None:
        begun = self._begun is not None and self._begun.axis == final.axis
        is_known = begun or final.follows or final.is_seen or self.scene.history.is_replaced
        if final.row is not None:
            time = float(final.row[0])
            if final.axis == self._first:  # no row came before it: it is how the recording begins
                event = begin_event(self.scene, self.feed.record.index, "")
                self._add(msgspec.structs.replace(event, time=time))
            elif not is_known:
                event = begin_event(self.scene, self.feed.record.index, "the state was changed")
                kind = str(SegmentKind.EDIT)
                self._add(msgspec.structs.replace(event, kind=kind, time=time))
        self.feed.put(final)

    def _add(self, event: FileEvent) -> None:
        event = self._models.tell(event)
        standing = (
            event.axis, event.episode, event.physics_step, event.step_count, event.time, event.data
        )  # fmt: skip
        is_known = event.kind == "begin" and not event.text and standing == self._standing
        self._standing = standing
        if not is_known:
            self._begun = event
            self.feed.add_event(event)


def _steps_of(scene: "Scene") -> int:
    return int(scene.world.live().timer.number[0])


def stretch_event(stretch: Stretch, index: int) -> FileEvent:
    """Return the event that says how a stretch of the axis began."""
    segment, data = stretch.segment, told_options(stretch.options)
    if stretch.model_since >= 0:
        data |= {"model_since": stretch.model_since, "model": stretch.model_text}
        if stretch.fields_before is not None:
            data["fields_before"] = fields_of(stretch.fields_before)
    if stretch.left:
        data["left"] = stretch.left.hex()
    return FileEvent(
        kind=str(segment.kind),
        scene=index,
        axis=segment.begin,
        time=segment.time,
        wall=wall_ns(),
        text=segment.text,
        episode=segment.episode,
        parent_axis=segment.parent_axis,
        physics_step=segment.physics_step,
        step_count=segment.step_count,
        total_steps=stretch.total_steps,
        data=data,
    )


def begin_event(scene: "Scene", index: int, text: str) -> FileEvent:
    """Return the event of a recording that begins where a scene stands."""
    counters, world = scene.counters, scene.world
    return FileEvent(
        kind="begin",
        scene=index,
        axis=counters.axis,
        time=float(world.live().time),
        wall=wall_ns(),
        text=text,
        episode=scene.history.episode,
        physics_step=counters.physics_step_count,
        step_count=counters.step_count,
        total_steps=counters.total_steps,
        data=told_options(scene.history.options_in_force()),
    )


def final_row(scene: "Scene", world: "World", *, knows: bool = True) -> FinalRow:
    """Return the state that a scene stands in, with its inputs; without a row if nobody knows."""
    scene.stepper.settle()
    counters, history = scene.counters, scene.history
    row, hidden = scene.stepper.row_begun() if knows else None, b""
    is_within_step = row is not None
    if is_within_step:
        hidden = history.keyframes.at(counters.axis) or b""
    elif knows:
        with contextlib.suppress(SceneDestroyedError):  # the script has dropped its data
            row, hidden = world.codec.read_row()
    return FinalRow(
        row=row,
        axis=counters.axis,
        step=counters.total_steps,
        timestep=scene.timestep_in_force,
        wall=wall_ns(),
        hidden=hidden,
        follows=(
            history.ring.coming_follows
            if is_within_step
            else row is None or scene.stepper.is_where_it_was_left
        ),
        is_seen=row is not None and history.is_synced and float(row[0]) == history.time_after,
    )


def model_event(scene: "Scene", record: SceneRecord) -> FileEvent:
    """Return the event of a scene that has got another model."""
    counters = scene.counters
    return FileEvent(
        kind="model",
        scene=record.index,
        axis=counters.axis,
        time=float(scene.world.live().time),
        wall=wall_ns(),
        text="the model was changed: what follows is in the next file",
        total_steps=counters.total_steps,
        data={"model_digest": record.model_digest},
    )
