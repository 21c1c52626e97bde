"""A frame of many environments: one instant, at which each of them has a frame of its own."""

from typing import TYPE_CHECKING

import numpy as np

from stroboscope.engine.counted import counted
from stroboscope.engine.files.errors import FileDamagedError
from stroboscope.engine.trajectory.lookup import NoSuchFrameError, known_names

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from numpy.typing import NDArray

    from stroboscope.engine.trajectory.trajectory import Trajectory

    _Found = TypeVar("_Found")

__all__ = ["at_instant", "each_at", "environments_in", "times_of"]


def environments_in(trajectory: "Trajectory") -> "list[Trajectory]":
    """Return all environments of the scene in its file, by number; empty for one world."""
    if trajectory.record.env < 0:
        return []
    mine = frozenset(trajectory.group.scenes)
    found = [each for each in trajectory.others().values() if each.record.index in mine]
    return sorted(found, key=lambda each: each.record.env)


def at_instant(given: "list[Trajectory]", index: int) -> list[int]:
    """Return which frame of each belongs to frame ``index`` of all of them.

    Negative numbers count from the last instant that all have: a file that was cut may hold more
    of some. Raises NoSuchFrameError, which says of which environments there is none.
    """
    longest = max(given, key=len)
    number = index
    if index < 0:
        count = longest.rows.frame_before(min(each.axes[1] for each in given)) + 1
        number = count + index
        if number < 0:
            raise NoSuchFrameError(
                f"there is no frame {index:,}: {longest.path.name} has {count:,} that end where "
                "all of its environments have one"
            )
    axis = longest.axis(number)
    found = [each.rows.frame_at(axis) for each in given]
    missing = [each for each, frame in zip(given, found, strict=True) if frame < 0]
    if missing:
        first = missing[0]
        has = f"{first.name!r} has {counted(len(first), 'frame')}, of physics steps "
        has += f"{first.axes[0]:,} to {first.axes[1]:,}"
        raise NoSuchFrameError(
            f"frame {number:,} of {longest.path.name}, physics step {axis:,}, is not there of "
            f"{known_names(repr(each.name) for each in missing)}: {has}; take another frame, or "
            "with envs_idx environments that have it"
        )
    return found


def each_at(
    given: "list[Trajectory]", frames: list[int], get: "Callable[[Trajectory, int], _Found]"
) -> "list[_Found]":
    """Return something of a frame of each; FileDamagedError names all of which it is lost."""
    found: list[_Found] = []
    lost: list[Trajectory] = []
    why = ""
    for each, frame in zip(given, frames, strict=True):
        try:
            found.append(get(each, frame))
        except FileDamagedError as error:
            if len(given) == 1:
                raise
            why = why or error.wrong
            lost.append(each)
    if lost:
        raise FileDamagedError(
            given[0].path,
            f"has lost this frame of {known_names(repr(each.name) for each in lost)}: {why}",
            "take another frame, or with envs_idx the other environments",
        )
    return found


def times_of(trajectory: "Trajectory", index: int) -> "NDArray[np.float64]":
    """Return the simulation time [s] of each environment of the scene in a frame, by number."""
    given = environments_in(trajectory) or [trajectory]
    return np.array(each_at(given, at_instant(given, index), lambda each, at: each.time(at)))
