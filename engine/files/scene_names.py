"""What the scenes of a file are called, and how much was simulated of each."""

from typing import NamedTuple

import numpy as np

from stroboscope.engine.files.frames import FileEvent, SceneRecord
from stroboscope.engine.files.reader import TrajectoryReader

__all__ = ["SceneGroup", "group_of", "scene_groups", "scene_names", "simulated_seconds"]

_STRETCHES = frozenset({"begin", "episode", "restore", "branch", "edit"})


class SceneGroup(NamedTuple):
    """A scene of a file with all of its environments; of one world it is alone.

    ``name``: its own one, whatever others of the file are called. ``called``: what the file says,
    which others may be called, too. ``scenes``: their numbers.
    """

    name: str
    called: str
    scenes: tuple[int, ...]


def scene_groups(reader: TrajectoryReader) -> list[SceneGroup]:
    """Return the scenes that were recorded, environments of one together, in their order.

    Of several that the file calls the same, the second has the name "cart (2)", as it would have
    had beside the first in one process.
    """
    groups: list[list[SceneRecord]] = []
    newest: dict[str, list[SceneRecord]] = {}
    for index in reader.scenes:
        record = reader.scene(index)
        group = newest.get(record.name)
        if group is None or not _goes_on(group[-1], record):
            group = newest[record.name] = []
            groups.append(group)
        group.append(record)
    found, taken = [], set(newest)
    next_number: dict[str, int] = {}
    for group in groups:
        name = called = group[0].name
        number = next_number.get(called, 1)
        while number > 1 and (name := f"{called} ({number})") in taken:
            number += 1
        next_number[called] = number + 1
        taken.add(name)
        found.append(SceneGroup(name, called, tuple(record.index for record in group)))
    return found


def _goes_on(before: SceneRecord, record: SceneRecord) -> bool:
    """Return whether a record is of a further environment of the same scene: these rise."""
    return 0 <= before.env < record.env and before.n_envs == record.n_envs


def group_of(reader: TrajectoryReader, scene: int) -> SceneGroup:
    """Return the scene that one of a file belongs to, with its environments."""
    return next(each for each in scene_groups(reader) if scene in each.scenes)


def scene_names(reader: TrajectoryReader) -> dict[int, str]:
    """Return the names of all scenes by their numbers, each one's own; environments: "Arms[3]"."""
    found: dict[int, str] = {}
    taken: set[str] = set()
    for group in scene_groups(reader):
        for index in group.scenes:
            env = reader.scene(index).env
            own = name = group.name if env < 0 else f"{group.name}[{env}]"
            number = 2
            while name in taken:
                name, number = f"{own} ({number})", number + 1
            taken.add(name)
            found[index] = name
    return {index: found[index] for index in reader.scenes}


def simulated_seconds(reader: TrajectoryReader, scene: int) -> float:
    """Return how much a scene was simulated from its first frame to its last one [s].

    A reset, which sets time back, takes nothing away. Around one, all steps are taken to be as long
    as the model's own, for up to a block of rows: elsewhere the rows' own time says it.
    """
    index, timestep = reader.index(scene), reader.scene(scene).timestep
    if not len(index):
        return 0.0
    # All rows from one block to the next, and what lies in between, by turns.
    axes = np.stack((index.first_axis, index.last_axis), axis=1).ravel()
    times = np.stack((index.first_time, index.last_time), axis=1).ravel()
    begins = np.unique([each.axis for each in reader.events(scene) if _begins(each)])
    at = np.searchsorted(begins, axes, side="right")
    passed, steps = np.diff(times), np.maximum(np.diff(axes), 0)
    is_known = (np.diff(at) == 0) & np.isfinite(passed) & (passed >= 0.0)
    return float(np.where(is_known, passed, steps * timestep).sum())


def _begins(event: FileEvent) -> bool:
    return event.kind in _STRETCHES
