"""What a batched scene remembers of its environments, as a file."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.files.frames import FileEvent
from stroboscope.engine.history.segments import LOST_FIELDS
from stroboscope.engine.recording.batch_tap import env_begin, env_final, with_own_fields
from stroboscope.engine.recording.doubts import doubt_event, lost_in_words
from stroboscope.engine.recording.env_changes import base_fields
from stroboscope.engine.recording.feed import Attachments, SceneFeed
from stroboscope.engine.recording.rows_entry import RowSource
from stroboscope.engine.recording.saving import Saving
from stroboscope.engine.recording.scene_records import chosen_environments, records_of
from stroboscope.engine.recording.scene_tap import stretch_event
from stroboscope.engine.recording.told_models import with_fields
from stroboscope.engine.recording.trajectory_file import TrajectoryFile

if TYPE_CHECKING:
    from stroboscope.engine.batch.batch_history import BatchHistory
    from stroboscope.engine.batch.batch_scene import BatchScene
    from stroboscope.engine.history.segments import Stretch

__all__ = ["saving_of_batch"]

_NOT_REMEMBERED: Final = "a batch does not remember which of its bodies slept"
# Of more environments nothing is written that other tools show: it takes longer than all states.
_MOST_FOR_TOOLS: Final = 64


def saving_of_batch(scene: "BatchScene", wanted: TrajectoryFile) -> Saving:
    """Begin to write what is remembered of the environments that ``wanted`` names, or of all.

    By the scene's owner, who has to wait for it before the next step: the rows stay where they are.
    """
    envs = chosen_environments(wanted.envs, n_envs=scene.n_envs)
    if len(envs) > _MOST_FOR_TOOLS:
        wanted = dataclasses.replace(wanted, transforms_hz=None)
    attachments = Attachments()
    records = records_of(scene, wanted, first=0, attachments=attachments, envs=envs)
    if scene.environments.is_inexact:
        records = [
            msgspec.structs.replace(each, exactness=each.exactness or _NOT_REMEMBERED)
            for each in records
        ]
    return Saving(
        wanted,
        scene,
        path=wanted.path,
        records=records,
        attachments=attachments,
        fill=lambda feeds: _fill(feeds, scene, envs),
    )


def _fill(feeds: Sequence[SceneFeed], scene: "BatchScene", envs: NDArray[np.intp]) -> None:
    notes, history = scene.recorders.notes, scene.batch_history
    history.look()
    own = base_fields(scene.environments, base=scene.world.codec.fields)
    of_env: dict[int, list[FileEvent]] = {}
    for event in notes.events:
        env = event.data.get("env", -1)
        of_env.setdefault(env if isinstance(env, int) else -1, []).append(event)
    for place, (env, feed) in enumerate(zip(envs.tolist(), feeds, strict=True)):
        first = history.first_of(env)
        if first < 0:
            first = scene.counters.axis
            text = "nothing is remembered of what was before"
            begun = env_begin(scene, env, index=feed.index, kind="begin", text=text)
            begins = [with_own_fields(begun, scene, env)]
        else:
            told = [_told(each, feed.index) for each in _stretches(history, env)]
            begins = with_fields(told, own=own, first=own)
            known = min(history.fields_from, history.end_axis())
            if first < known:
                doubt = first, known, lost_in_words(first, known, LOST_FIELDS)
                time = _time_at(history, env, first)
                feed.events.append(doubt_event(doubt, index=feed.index, time=time))
            feed.items.append(_PastRows(history, env))
        about = of_env.get(env, []) + (of_env.get(-1, []) if place == 0 else [])
        feed.events.extend(begins)
        feed.events.extend(
            msgspec.structs.replace(each, scene=feed.index)
            for each in sorted(about, key=_axis_of)
            if each.axis >= first
        )
        if place == 0:
            feed.values.extend(value for value in notes.values if value.axis >= first)
        follows = not (begins and begins[-1].axis == scene.counters.axis)
        feed.items.append(env_final(scene, env)._replace(follows=follows))
        feed.is_over = True


def _told(stretch: "Stretch", index: int) -> FileEvent:
    event = stretch_event(stretch, index)
    if not stretch.lost:
        return event
    return msgspec.structs.replace(event, data=event.data | {"lost": sorted(stretch.lost)})


def _stretches(history: "BatchHistory", env: int) -> "list[Stretch]":
    return list(history.segments_of(env).newest_first())[::-1]


def _time_at(history: "BatchHistory", env: int, axis: int) -> float:
    row = history.row(env, axis)
    return 0.0 if row is None else float(row[0])


def _axis_of(event: FileEvent) -> int:
    return event.axis


class _PastRows(RowSource):
    """The rows that are remembered of one environment; read while the scene stands still."""

    def __init__(self, history: "BatchHistory", env: int) -> None:
        self._history, self._env = history, env
        first, end = history.first_of(env), history.end_axis()
        axes = range(first, end)
        self.begin, self.axes, self.taken, self.is_sealed = first, None, 0, True
        self._count = len(axes)
        self.steps = np.array([history.step_at(axis) for axis in axes], dtype=np.int64)
        self.timesteps = np.array([history.timestep_at(env, axis) for axis in axes])
        self.walls = np.array([history.wall_at(axis) for axis in axes])
        self.flags = np.zeros(self._count, dtype=np.uint8)
        for stretch in _stretches(history, env):
            if first <= stretch.segment.begin < end:
                self.flags[stretch.segment.begin - first] = 1
        for axis in history.edited_axes(env):
            if first <= axis < end:
                self.flags[axis - first] = 1
        self.times = np.empty(0)

    def counted(self) -> int:
        """Return how many rows there are."""
        return self._count

    def read(self, places: slice, out: NDArray[np.float64]) -> None:
        """Write rows into ``out``."""
        chosen = range(self._count)[places]
        for row, place in zip(out, chosen, strict=True):
            row[:] = self._history.row(self._env, self.begin + place)

    def release(self) -> None:
        """Nothing: the history keeps them."""
