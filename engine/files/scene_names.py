"""What the scenes of a file are called, and how much was simulated of each."""

import numpy as np

from stroboscope.engine.files.frames import FileEvent
from stroboscope.engine.files.reader import TrajectoryReader

__all__ = ["scene_names", "simulated_seconds"]

_STRETCHES = frozenset({"begin", "episode", "restore", "branch", "edit"})


def scene_names(reader: TrajectoryReader) -> dict[int, str]:
    """Return the names of all scenes by their numbers, each one's own; environments: "Arms[3]"."""
    found: dict[str, int] = {}
    for index in reader.scenes:
        record = reader.scene(index)
        name = record.name if record.env < 0 else f"{record.name}[{record.env}]"
        while name in found:
            name = f"{name} ({index})"
        found[name] = index
    return {index: name for name, index in found.items()}


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
