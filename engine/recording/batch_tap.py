"""Takes what chosen environments of a batched scene do, for a recording."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.time_messages import SegmentKind
from stroboscope.engine.batch.batch_history import EDITED_TEXT, written_text
from stroboscope.engine.files.frames import FileEvent
from stroboscope.engine.recording.env_changes import EnvChanges, lost_fields, own_fields
from stroboscope.engine.recording.env_rows import EnvRows, EnvSteps
from stroboscope.engine.recording.feed import FinalRow, SceneFeed, Value, wall_ns

if TYPE_CHECKING:
    from stroboscope.engine.batch.batch_scene import BatchScene

__all__ = [
    "BatchTap",
    "EnvTap",
    "env_begin",
    "env_final",
    "hidden_of",
    "steps_per_block",
    "with_own_fields",
]

_BLOCK_BYTES = 4 << 20
_FEWEST_ROWS, _MOST_ROWS = 8, 256


def steps_per_block(width: int, count: int) -> int:
    """Return how many steps of ``count`` environments, whose rows have ``width``, make a block."""
    room = _BLOCK_BYTES // (8 * width * count)
    return min(max(room, _FEWEST_ROWS), _MOST_ROWS)


class EnvTap:
    """Copies the rows of environments step by step, and finds what does not follow.

    ``envs``: which ones, each once. By the scene's owner.
    """

    def __init__(self, scene: "BatchScene", envs: NDArray[np.intp]) -> None:
        self.scene = scene
        self._envs = envs
        self._places = {int(env): place for place, env in enumerate(envs)}
        self._width = scene.environments.layout.size
        self._capacity = steps_per_block(self._width, len(envs))
        self._steps: EnvSteps | None = None
        self._is_in_step = False
        """Whether rows were taken of a step that has not been counted."""
        self._flagged = np.ones(len(envs), dtype=np.uint8)
        """Which rows, of those that come next, don't follow from the ones before."""
        self._changes = EnvChanges(scene.environments, envs, base=scene.world.codec.fields)
        self._edits: dict[int, int] = {}
        """Before which physics step a state was edited last, by place, since it was replaced."""
        self._pending: dict[int, FileEvent] = {}
        """How a stretch begins with the next rows, by place: what a script does until then is its
        beginning, too."""

    # --- for whoever takes them

    def _next_steps(self, axis: int) -> EnvSteps:
        """Return where rows from ``axis`` on go: there is room for one at least."""
        raise NotImplementedError

    def _sealed(self) -> None:
        """Hear that nothing more goes to where rows have gone."""

    def _add(self, place: int, event: FileEvent) -> None:
        """Take what has happened to an environment."""
        raise NotImplementedError

    def _keep_hidden(self, place: int, axis: int, hidden: bytes) -> None:
        """Keep what the row of ``axis``, which comes next, does not hold."""
        raise NotImplementedError

    # --- beginning and end

    def begin(self) -> None:
        """Begin with the next rows."""
        for place in range(len(self._envs)):
            self._pending[place] = self._event(place, "begin", "recording begins")
        self._changes.other_fields()
        history = self.scene.batch_history
        history.taps = (*history.taps, self)
        self.scene._update_fast_path()

    def leave(self) -> None:
        """Take no more rows."""
        history = self.scene.batch_history
        history.taps = tuple(tap for tap in history.taps if tap is not self)
        self.scene._update_fast_path()

    # --- what the history says

    def capture(
        self,
        matrix: NDArray[np.float64],
        *,
        axis: int,
        step: int,
        wall: float,
        timesteps: float | NDArray[np.float64],
    ) -> None:
        """Take the rows of the coming step, which counts when :meth:`counted` is called."""
        steps = self._steps
        is_new = steps is None or steps.at == steps.capacity or steps.begin + steps.at != axis
        if steps is None or is_new:
            if steps is not None and steps.begin + steps.at != axis:
                self._changes.forget()
            self._seal()
            steps = self._steps = self._next_steps(axis)
        at = steps.at
        rows = steps.rows[at]
        np.take(matrix, self._envs, axis=0, out=rows, mode="clip")
        self._find_changes(rows, axis)
        self._add_pending()
        steps.steps[at], steps.walls[at] = step, wall
        own = timesteps if isinstance(timesteps, float) else timesteps[self._envs]
        steps.timesteps[at] = own
        steps.flags[at] = self._flagged
        self._is_in_step = True
        if self.scene.environments.is_inexact:
            places = range(len(self._envs)) if is_new else np.flatnonzero(self._flagged).tolist()
            for place in places:
                hidden = hidden_of(self.scene, int(self._envs[place]))
                self._keep_hidden(place, axis, hidden)

    def counted(self) -> None:
        """Count the rows that were taken last: their step is done."""
        if self._steps is not None and self._is_in_step:
            self._flagged[:] = 0
            self._changes.note()
            # Last, with nothing between: a handler of a signal may raise, and this comes again.
            self._steps.at += 1
        self._is_in_step = False

    def forgot(self) -> None:
        """Hear that nobody has taken the step whose rows were taken last."""
        self._is_in_step = False

    def replaced(
        self, kind: SegmentKind, envs: NDArray[np.intp], text: str, parent_axis: int
    ) -> None:
        """Note that states were replaced."""
        for env in envs.tolist():
            place = self._places.get(env)
            if place is not None:
                self._edits.pop(place, None)
                event = self._event(place, str(kind), text)
                self._pend(place, msgspec.structs.replace(event, parent_axis=parent_axis))

    def _find_changes(self, rows: NDArray[np.float64], axis: int) -> None:
        """Note what the script has written into states and fields since the last step."""
        for place in self._changes.edited(rows).tolist():
            if place in self._pending:
                continue
            before, self._edits[place] = self._edits.get(place), axis
            if before is not None and axis - 1 <= before:
                self._flagged[place] = 1  # one of many in a row: a script that sets every state
            else:
                self._pend(place, self._event(place, str(SegmentKind.EDIT), EDITED_TEXT))
        for place, names in self._changes.other_fields().items():
            if place not in self._pending:
                text = written_text(names)
                self._pend(place, self._event(place, str(SegmentKind.EDIT), text))

    def _pend(self, place: int, event: FileEvent) -> None:
        self._pending[place] = event
        self._flagged[place] = 1

    def _add_pending(self) -> None:
        """Say how stretches begin, where the environments stand now."""
        if not self._pending:
            return
        envs = self.scene.environments
        for place, event in self._pending.items():
            env = int(self._envs[place])
            event = msgspec.structs.replace(event, time=float(envs.time[env]))
            self._add(place, with_own_fields(event, self.scene, env))
        self._pending.clear()

    def _seal(self) -> None:
        if self._steps is not None:
            self._steps.is_sealed = True
            self._steps = None
            self._sealed()

    def _event(self, place: int, kind: str, text: str) -> FileEvent:
        return env_begin(self.scene, int(self._envs[place]), index=place, kind=kind, text=text)

    def _finals(self) -> list[FinalRow]:
        """Return where the environments stand; within a step, where it has begun."""
        steps = self._steps
        if self._is_in_step and steps is not None:
            return [self._row_in_step(steps, place) for place in range(len(self._envs))]
        state = np.take(self.scene.environments.state, self._envs, axis=0)
        self._find_changes(state, self.scene.counters.axis)
        self._add_pending()
        finals = []
        for place, env in enumerate(self._envs.tolist()):
            follows = not self._flagged[place]
            finals.append(env_final(self.scene, env)._replace(follows=follows))
        return finals

    @staticmethod
    def _row_in_step(steps: EnvSteps, place: int) -> FinalRow:
        at = steps.at
        return FinalRow(
            row=steps.rows[at, place].copy(),
            axis=steps.begin + at,
            step=int(steps.steps[at]),
            timestep=float(steps.timesteps[at, place]),
            wall=wall_ns(),
            hidden=b"",
            follows=not steps.flags[at, place],
        )

    # --- what else happens

    def place_of(self, event: FileEvent) -> int:
        """Return which environment an event is about: where it stands here; -1: none of these.

        What is about the scene as a whole is told of the first.
        """
        env = event.data.get("env", -1)
        if isinstance(env, int) and env >= 0:
            return self._places.get(env, -1)
        return 0


class BatchTap(EnvTap):
    """Hands rows of environments to feeds, one each; by the scene's owner."""

    def __init__(
        self, scene: "BatchScene", envs: NDArray[np.intp], feeds: Sequence[SceneFeed]
    ) -> None:
        super().__init__(scene, envs)
        self.feeds = tuple(feeds)
        for feed in feeds if scene.environments.is_inexact else ():
            feed.hidden = {}

    @property
    def listener(self) -> "BatchTap":
        """Who is told what happens besides rows."""
        return self

    def end(self, *, with_final: bool) -> None:
        """Take no more rows; ``with_final``: but the states that the environments stand in."""
        finals = self._finals() if with_final else []
        self.leave()
        self._seal()
        for feed, final in zip(self.feeds, finals, strict=False):
            feed.put(final)
        for feed in self.feeds:
            feed.is_over = True

    def leave(self) -> None:
        """Take no more rows."""
        super().leave()
        for feed in self.feeds:
            feed.left()

    def _next_steps(self, axis: int) -> EnvSteps:
        steps = EnvSteps(self._capacity, len(self._envs), self._width, begin=axis)
        for place, feed in enumerate(self.feeds):
            feed.put(EnvRows(steps, place))
        return steps

    def _sealed(self) -> None:
        self.feeds[0].sealed()

    def _add(self, place: int, event: FileEvent) -> None:
        feed = self.feeds[place]
        feed.add_event(msgspec.structs.replace(event, scene=feed.index))

    def _keep_hidden(self, place: int, axis: int, hidden: bytes) -> None:
        known = self.feeds[place].hidden
        if known is not None:
            known[axis] = hidden

    @property
    def index(self) -> int:
        """The first of its scenes in the file."""
        return self.feeds[0].index

    def add_event(self, event: FileEvent) -> None:
        """Hand on what happened: to the environment that it is about, else to the first one."""
        place = self.place_of(event)
        if place >= 0:
            self._add(place, event)

    def add_value(self, value: Value) -> None:
        """Hand on a value of a channel of the script: it belongs to the scene as a whole."""
        self.feeds[0].add_value(value)


def env_begin(scene: "BatchScene", env: int, *, index: int, kind: str, text: str) -> FileEvent:
    """Return the event that says where an environment stands, and how it came there."""
    envs = scene.environments
    counters = envs.counters
    return FileEvent(
        kind=kind,
        scene=index,
        axis=counters.shared.axis,
        time=float(envs.time[env]),
        wall=wall_ns(),
        text=text,
        episode=int(scene.batch_history.episodes[env]),
        physics_step=counters.physics_count(env),
        step_count=counters.step_count(env),
        total_steps=counters.shared.single,
    )


def env_final(scene: "BatchScene", env: int) -> FinalRow:
    """Return the state that an environment stands in, with its inputs."""
    envs, shared = scene.environments, scene.environments.counters.shared
    return FinalRow(
        row=envs.state[env].copy(),
        axis=shared.axis,
        step=shared.single,
        timestep=envs.timestep(env),
        wall=wall_ns(),
        hidden=hidden_of(scene, env) if envs.is_inexact else b"",
    )


def hidden_of(scene: "BatchScene", env: int) -> bytes:
    """Return what the row of an environment does not hold: what sleeps."""
    with scene.selected.standing_for(env):
        return scene.world.codec.read_row()[1]


def with_own_fields(event: FileEvent, scene: "BatchScene", env: int) -> FileEvent:
    """Return how a stretch begins with the fields of the model that are the environment's own."""
    envs, base = scene.environments, scene.world.codec.fields
    told = {
        "fields": own_fields(envs, env, base=base),
        "lost": lost_fields(envs, env, base=base),
    }
    own = {key: value for key, value in told.items() if value}
    return msgspec.structs.replace(event, data={**event.data, **own}) if own else event
