"""Takes what chosen environments of a batched scene do, for a recording."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.time_messages import SegmentKind
from stroboscope.engine.files.frames import FileEvent
from stroboscope.engine.recording.feed import FinalRow, SceneFeed, Value, wall_ns
from stroboscope.engine.recording.rows_entry import RowSource

if TYPE_CHECKING:
    from stroboscope.engine.batch.batch_scene import BatchScene

__all__ = ["BatchTap", "env_begin", "env_final"]

_BLOCK_BYTES = 4 << 20
_FEWEST_ROWS, _MOST_ROWS = 8, 256


class _Steps:
    """Rows of all chosen environments at up to ``capacity`` steps."""

    def __init__(self, capacity: int, count: int, width: int, begin: int) -> None:
        self.begin = begin
        self.rows = np.empty((capacity, count, width))
        self.steps = np.empty(capacity, dtype=np.int64)
        self.walls = np.empty(capacity)
        self.timesteps = np.empty((capacity, count))
        self.flags = np.zeros((capacity, count), dtype=np.uint8)
        self.capacity = capacity
        self.at = 0
        self.is_sealed = False


class _EnvRows(RowSource):
    """Those of one environment."""

    def __init__(self, steps: _Steps, place: int) -> None:
        self._steps, self._rows = steps, steps.rows[:, place]
        self.begin, self.axes = steps.begin, None
        self.times, self.steps = self._rows[:, 0], steps.steps
        self.timesteps, self.walls = steps.timesteps[:, place], steps.walls
        self.flags = steps.flags[:, place]
        self.taken = 0

    @property
    def is_sealed(self) -> bool:  # type: ignore[override]
        """Whether no row will follow."""
        return self._steps.is_sealed

    def counted(self) -> int:
        """Return how many rows there are by now."""
        return self._steps.at

    def read(self, places: slice, out: NDArray[np.float64]) -> None:
        """Write rows into ``out``."""
        out[:] = self._rows[places]

    def release(self) -> None:
        """Nothing: it goes with the last who has it."""


class BatchTap:
    """Hands rows of environments to feeds, one each; by the scene's owner."""

    def __init__(
        self, scene: "BatchScene", envs: NDArray[np.intp], feeds: Sequence[SceneFeed]
    ) -> None:
        self.scene = scene
        self.feeds = tuple(feeds)
        self._envs = envs
        self._places = {int(env): place for place, env in enumerate(envs)}
        self._width = scene.environments.layout.size
        room = _BLOCK_BYTES // (8 * self._width * len(envs))
        self._capacity = min(max(room, _FEWEST_ROWS), _MOST_ROWS)
        self._steps: _Steps | None = None
        self._flagged = np.ones(len(envs), dtype=np.uint8)
        """Which rows, of those that come next, don't follow from the ones before."""

    @property
    def listener(self) -> "BatchTap":
        """Who is told what happens besides rows."""
        return self

    # --- beginning and end

    def begin(self) -> None:
        """Begin with the next rows."""
        for place in range(len(self._envs)):
            self.feeds[place].add_event(self._event(place, "begin", "recording begins"))
        history = self.scene.batch_history
        history.taps = (*history.taps, self)
        self.scene._update_fast_path()

    def end(self, *, with_final: bool) -> None:
        """Take no more rows; ``with_final``: but the states that the environments stand in."""
        self.leave()
        self._seal()
        for place, (env, feed) in enumerate(zip(self._envs.tolist(), self.feeds, strict=True)):
            if with_final:
                follows = not self._flagged[place]
                feed.put(env_final(self.scene, env)._replace(follows=follows))
            feed.is_over = True

    def leave(self) -> None:
        """Take no more rows."""
        history = self.scene.batch_history
        history.taps = tuple(tap for tap in history.taps if tap is not self)
        self.scene._update_fast_path()
        for feed in self.feeds:
            feed.left()

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
        if steps is None or steps.at == steps.capacity or steps.begin + steps.at != axis:
            self._seal()
            steps = self._steps = _Steps(self._capacity, len(self._envs), self._width, axis)
            for place, feed in enumerate(self.feeds):
                feed.put(_EnvRows(steps, place))
        at = steps.at
        np.take(matrix, self._envs, axis=0, out=steps.rows[at], mode="clip")
        steps.steps[at], steps.walls[at] = step, wall
        own = timesteps if isinstance(timesteps, float) else timesteps[self._envs]
        steps.timesteps[at] = own
        steps.flags[at] = self._flagged

    def counted(self) -> None:
        """Count the rows that were taken last: their step is done."""
        if self._steps is not None:
            self._flagged[:] = 0
            self._steps.at += 1

    def replaced(
        self, kind: SegmentKind, envs: NDArray[np.intp], text: str, parent_axis: int
    ) -> None:
        """Note that states were replaced."""
        for env in envs.tolist():
            place = self._places.get(env)
            if place is not None:
                event = self._event(place, str(kind), text)
                event = msgspec.structs.replace(event, parent_axis=parent_axis)
                self.feeds[place].add_event(event)
                self._flagged[place] = 1

    def _seal(self) -> None:
        if self._steps is not None:
            self._steps.is_sealed = True
            self._steps = None
            self.feeds[0].sealed()

    def _event(self, place: int, kind: str, text: str) -> FileEvent:
        env, index = int(self._envs[place]), self.feeds[place].index
        return env_begin(self.scene, env, index=index, kind=kind, text=text)

    # --- what else happens

    @property
    def index(self) -> int:
        """The first of its scenes in the file."""
        return self.feeds[0].index

    def add_event(self, event: FileEvent) -> None:
        """Hand on what happened: to the environment that it is about, else to the first one."""
        env = event.data.get("env", -1)
        if isinstance(env, int) and env >= 0:
            if env in self._places:
                feed = self.feeds[self._places[env]]
                feed.add_event(msgspec.structs.replace(event, scene=feed.index))
            return
        self.feeds[0].add_event(event)

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
        hidden=b"",
    )
