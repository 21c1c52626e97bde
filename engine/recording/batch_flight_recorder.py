"""The newest minutes of chosen environments in memory, and in a file when one goes wrong."""

import logging
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.engine.files.disk import Disk
from stroboscope.engine.files.frames import FileEvent
from stroboscope.engine.recording.batch_tap import EnvTap
from stroboscope.engine.recording.env_rows import EnvRows, EnvSteps
from stroboscope.engine.recording.feed import Attachments, FinalRow, SceneFeed, Value
from stroboscope.engine.recording.flight_recorder import MOST_VALUES, FlightRecorder, rows_of
from stroboscope.engine.recording.saved_causes import SavedCauses
from stroboscope.engine.recording.saving import Saving
from stroboscope.engine.recording.scene_records import records_of
from stroboscope.engine.recording.trajectory_file import TrajectoryFile

if TYPE_CHECKING:
    from stroboscope.engine.batch.batch_scene import BatchScene

__all__ = ["BatchFlightRecorder"]

_STRETCHES = frozenset({"begin", "episode", "restore", "branch", "edit"})
# About 500 bytes each.
_MOST_EVENTS: Final = 200_000
_log = logging.getLogger(__name__)


class BatchFlightRecorder(FlightRecorder):
    """Keeps what environments did in the last ``keep_last`` seconds; by the scene's owner.

    A stop of another environment than these is not worth a file: nothing of it is kept. Raises what
    ``records_of`` does for ``wanted.envs``.
    """

    _scene: "BatchScene"

    def __init__(
        self,
        wanted: TrajectoryFile,
        scene: "BatchScene",
        *,
        causes: SavedCauses | None = None,
        disk: Disk | None = None,
    ) -> None:
        super().__init__(wanted, scene, causes=causes, disk=disk)
        # What takes long of it is kept with the scene's model: a stop should not have to wait.
        records = records_of(scene, wanted, first=0, attachments=Attachments())
        envs = np.array([record.env for record in records], dtype=np.intp)
        timesteps = scene.environments.timesteps()
        shortest = timesteps if isinstance(timesteps, float) else float(timesteps[envs].min())
        row_bytes = 8 * scene.environments.layout.size * len(envs)
        rows = rows_of(self.keep_last, shortest, row_bytes=row_bytes)
        self._tap = _EnvsInMemory(scene, envs, rows=rows + 1)

    @property
    def nbytes(self) -> int:
        """How many bytes of memory the rows take."""
        return self._tap.nbytes

    def _keep(self) -> None:
        self._tap.begin()

    def _keep_no_more(self) -> None:
        self._tap.leave()

    # --- what happens

    def add_event(self, event: FileEvent) -> None:
        """Keep what happened to one of the environments, or to all."""
        place = self._tap.place_of(event)
        if place >= 0:
            self._tap.keep(place, event)

    def add_value(self, value: Value) -> None:
        """Keep a value of a channel of the script."""
        self._tap.values.append(value)

    def stopped(self, final: FinalRow | None, stops: Sequence[FileEvent]) -> None:
        """Write a file of what led to a stop of one of these environments, if that is wanted."""
        mine = [stop for stop in stops if self._tap.place_of(stop) >= 0]
        if mine:
            super().stopped(final, mine)

    def _saving(self, path: Path, final: FinalRow | None, *, knows: bool) -> Saving:
        scene, wanted = self._scene, self._wanted
        attachments = Attachments()
        return Saving(
            wanted,
            scene,
            path=path,
            records=records_of(scene, wanted, first=0, attachments=attachments),
            attachments=attachments,
            fill=lambda feeds: self._tap.fill(feeds, seconds=self.keep_last, knows=knows),
            disk=self._disk,
        )


class _EnvsInMemory(EnvTap):
    """The newest ``rows`` rows of environments at least, and what happened to them since."""

    def __init__(self, scene: "BatchScene", envs: NDArray[np.intp], *, rows: int) -> None:
        super().__init__(scene, envs)
        self._rows = rows
        self._capacity = min(self._capacity, rows)
        self._blocks: deque[EnvSteps] = deque()
        self._events: list[deque[FileEvent]] = [deque() for _ in envs]
        self._hidden: list[dict[int, bytes]] = [{} for _ in envs]
        self._hidden_bytes = 0
        self._many = 0
        """How many events there are."""
        self._most_events = _MOST_EVENTS
        self._is_told = False
        self.values: deque[Value] = deque(maxlen=MOST_VALUES)

    @property
    def nbytes(self) -> int:
        """Bytes of all rows."""
        return sum(block.nbytes for block in tuple(self._blocks))

    def keep(self, place: int, event: FileEvent) -> None:
        """Keep what has happened to an environment, in the order of the axis."""
        self._events[place].append(event)
        self._many += 1
        if self._many > self._most_events:
            self._make_room()

    def _make_room(self) -> None:
        """Let go of the oldest rows, and of what happened to them: more has than is kept."""
        if len(self._blocks) > 1:
            self._blocks.popleft()
            self._forget_events(self._first)
            if not self._is_told:
                self._is_told = True
                text = (
                    f"so much happens to its environments (more than {_MOST_EVENTS:,} resets, "
                    "edits and texts) that the flight recorder keeps less than keep_last"
                )
                _log.warning("scene %r: %s", self.scene.name, text)
                self.scene.link.log_text(LogLevel.WARNING, text)
        # Not for every single one, where that has not helped.
        self._most_events = max(_MOST_EVENTS, 2 * self._many)

    def _add(self, place: int, event: FileEvent) -> None:
        self.keep(place, event)

    def _keep_hidden(self, place: int, axis: int, hidden: bytes) -> None:
        # A script that resets them again and again must not take all memory with it.
        if axis == self._blocks[-1].begin or self._hidden_bytes < self.nbytes:
            self._hidden[place][axis] = hidden
            self._hidden_bytes += len(hidden)

    @property
    def _first(self) -> int:
        return self._blocks[0].begin if self._blocks else 0

    def _next_steps(self, axis: int) -> EnvSteps:
        if self._blocks and self._blocks[-1].begin + self._blocks[-1].at != axis:
            self._blocks.clear()  # steps in between were not followed
        kept = sum(block.at for block in self._blocks)
        while self._blocks and kept - self._blocks[0].at >= self._rows:
            kept -= self._blocks.popleft().at
        steps = EnvSteps(self._capacity, len(self._envs), self._width, begin=axis)
        self._blocks.append(steps)
        self._forget_events(self._first)
        return steps

    def _forget_events(self, first: int) -> None:
        """Let go of what belongs to rows before ``first``, but how their stretch began."""
        while self.values and self.values[0].axis < first:
            self.values.popleft()
        for hidden in self._hidden:
            for old in [axis for axis in hidden if axis < first]:
                self._hidden_bytes -= len(hidden.pop(old))
        self._many = 0
        for place, events in enumerate(self._events):
            if len(events) > 1 and events[0].axis < first:
                self._events[place] = events = _events_from(events, first)
            self._many += len(events)

    # --- into a file

    def fill(self, feeds: Sequence[SceneFeed], *, seconds: float, knows: bool) -> None:
        """Put what is kept of the last ``seconds`` into ``feeds``; they are over then.

        ``knows``: whether anybody knows how the scene stands.
        """
        blocks = [(block, block.at) for block in tuple(self._blocks)]
        finals = self._finals() if knows else [None] * len(feeds)
        for place, (feed, final) in enumerate(zip(feeds, finals, strict=True)):
            self._fill(place, feed, blocks, seconds=seconds)
            if final is not None:
                feed.items.append(final)
            feed.is_over = True

    def _fill(
        self, place: int, feed: SceneFeed, blocks: list[tuple[EnvSteps, int]], *, seconds: float
    ) -> None:
        items: list[EnvRows] = []
        left, first = seconds, -1
        for block, count in reversed(blocks):
            back = np.cumsum(block.timesteps[:count, place][::-1])
            # One more than fits: the last state is that long after the first.
            wanted = min(int(np.searchsorted(back, left * (1.0 - 1e-12))) + 1, count)
            if not wanted:
                continue
            wanted = count - self._known_before(place, block, count - wanted)
            items.append(EnvRows(block, place, first=count - wanted, count=count))
            first = block.begin + count - wanted
            left -= float(back[-1])
            if left <= 0.0 or wanted < count:
                break
        feed.items.extend(reversed(items))
        feed.events.extend(
            msgspec.structs.replace(event, scene=feed.index)
            for event in self._events_of(place, first, items)
        )
        if self.scene.environments.is_inexact:
            feed.hidden = dict(self._hidden[place])
        if place == 0:
            feed.values.extend(value for value in tuple(self.values) if value.axis >= first)

    def _known_before(self, place: int, block: EnvSteps, at: int) -> int:
        """Return the last row up to ``at`` of which all is known that a step needs."""
        if not self.scene.environments.is_inexact:
            return at
        known = self._hidden[place]
        return next((each for each in range(at, 0, -1) if block.begin + each in known), 0)

    def _events_of(self, place: int, first: int, items: Sequence[EnvRows]) -> list[FileEvent]:
        """Return what happened from the row at ``first`` on; -1: there is none."""
        events = tuple(self._events[place])
        if not items:
            return list(events)
        found = [event for event in events if event.axis >= first]
        if any(event.axis == first and event.kind in _STRETCHES for event in found):
            return found
        before = [each for each in events if each.axis < first and each.kind in _STRETCHES]
        if not before:
            return found
        begin, oldest = before[-1], items[-1]
        single = int(oldest.steps[oldest.taken])
        begun = msgspec.structs.replace(
            begin,
            kind="begin",
            axis=first,
            parent_axis=-1,
            time=float(oldest.times[oldest.taken]),
            physics_step=begin.physics_step + first - begin.axis,
            step_count=begin.step_count + single - begin.total_steps,
            total_steps=single,
        )
        return [begun, *found]


def _events_from(events: deque[FileEvent], first: int) -> deque[FileEvent]:
    """Return those from ``first`` on, and the last one before that began a stretch."""
    before = [each for each in events if each.axis < first and each.kind in _STRETCHES]
    return deque([*before[-1:], *(each for each in events if each.axis >= first)])
