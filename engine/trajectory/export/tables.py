"""A recorded run as a table with a name over each column, or as arrays by name."""

import csv
import os
from collections.abc import Callable, Container, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from stroboscope.debugger_protocol.column_names import column_names, typed_unit
from stroboscope.engine.files.atomic import replacing
from stroboscope.engine.trajectory.frame import Frame
from stroboscope.engine.trajectory.part import axes_meant
from stroboscope.engine.trajectory.trajectory import Trajectory
from stroboscope.engine.trajectory.unknown_frames import UnknownFrames

__all__ = ["write_arrays", "write_table"]

# What every frame says besides its arrays, with units.
_PLACE = (
    ("frame", ""), ("time", "s"), ("episode", ""), ("step", ""), ("physics_step", ""),
    ("axis", ""), ("timestep", "s"),
)  # fmt: skip
_NAN = "their values are NaN"
# Frames between two reports of progress.
_SLICE = 256

Progress = Callable[[float], None]


def _nobody(_done: float) -> None:
    """Report to nobody."""


def write_table(
    trajectory: Trajectory,
    target: str | os.PathLike[str],
    *,
    units: bool = False,
    frames: range | None = None,
    progress: Progress = _nobody,
) -> Path:
    """Write a line per frame: where it is in the run, its arrays, and what the script had logged.

    ``frames``: of these only.
    The first line has names that can be typed, see :func:`column_names`; with ``units`` a second
    one says the unit of each, which may be empty. Numbers are written so that they come back to the
    last bit; those of a frame that can't be had again are NaN, and a warning tells of them. Of a
    logged value, the newest one up to the frame stands in its line. The file is there as a whole or
    not at all. Raises FileError and its kinds.
    """
    names = _column_names(trajectory)
    signals = [(name, _Held(trajectory, name)) for name in trajectory.signals]
    with replacing(target) as part, part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        titles = [*_PLACE, *names, *((title, "") for _, held in signals for title in held.titles)]
        writer.writerow(column_names(title for title, _ in titles))
        if units:
            writer.writerow(typed_unit(unit) for _, unit in titles)
        unknown = UnknownFrames(trajectory, instead=_NAN)
        for frame in _frames(trajectory, frames, progress):
            logged = [value for _, held in signals for value in held.at(frame.axis)]
            known = frame.row[1:]
            if unknown.has(frame.index, frame.note):
                known = np.full_like(known, np.nan)
            writer.writerow([*_place(frame), *map(repr, known.tolist()), *logged])
    unknown.tell()
    return Path(target)


def write_arrays(
    trajectory: Trajectory,
    target: str | os.PathLike[str],
    *,
    frames: range | None = None,
    progress: Progress = _nobody,
) -> Path:
    """Write NumPy arrays, (frames, …) each by MuJoCo's names, without pickle: ``numpy.load``.

    ``signal/NAME``, ``signal/NAME/axis`` and ``/time`` are what the script has logged. ``frames``:
    of these only, and what was logged meanwhile. The file is there as a whole or not at all. Raises
    FileError and its kinds.
    """
    frames = range(len(trajectory)) if frames is None else frames
    count = len(frames)
    first, last = axes_meant(trajectory, frames)
    arrays: dict[str, Any] = {}
    places = np.empty((count, len(_PLACE)))
    unknown = UnknownFrames(trajectory, instead=_NAN)
    for index, frame in enumerate(_frames(trajectory, frames, progress)):
        is_unknown = unknown.has(frame.index, frame.note)
        for name in frame:
            values = frame[name]
            if is_unknown and name != "time":
                values = np.full_like(values, np.nan)
            if not index:
                shape = () if name == "time" else values.shape
                arrays[name] = np.empty((count, *shape))
            arrays[name][index] = values[0] if name == "time" else values
        places[index] = _place(frame)
    for at, (name, _) in enumerate(_PLACE):
        if name not in arrays:
            whole = name != "timestep"
            arrays[name] = places[:, at].astype(np.int64) if whole else places[:, at].copy()
    for name, signal in trajectory.signals.items():
        own = _free_name(f"signal/{name}", arrays)
        part = (signal.axes >= first) & (signal.axes <= last)
        arrays[own] = signal.values[part]
        arrays[f"{own}/axis"], arrays[f"{own}/time"] = signal.axes[part], signal.times[part]
    with replacing(target) as new, new.open("wb") as file:
        np.savez_compressed(file, **arrays)
    unknown.tell()
    return Path(target)


def _free_name(name: str, taken: Container[str]) -> str:
    """Return a name for an array and what belongs to it, which no other has.

    The archive would cut a name off at a NUL; and a channel may be called ``reward/time``.
    """
    plain = name.replace("\0", "\\0")
    found, number = plain, 2
    while any(f"{found}{end}" in taken for end in ("", "/axis", "/time")):
        found, number = f"{plain} ({number})", number + 1
    return found


def _frames(trajectory: Trajectory, frames: range | None, progress: Progress) -> Iterator[Frame]:
    frames = range(len(trajectory)) if frames is None else frames
    for done, index in enumerate(frames):
        if not done % _SLICE:
            progress(done / len(frames))
        yield trajectory.frame(index)
    progress(1.0)


def _place(frame: Frame) -> tuple[float, ...]:
    return (
        frame.index,
        frame.time,
        frame.episode,
        frame.step_count,
        frame.physics_step,
        frame.axis,
        frame.timestep,
    )


def _column_names(trajectory: Trajectory) -> list[tuple[str, str]]:
    """Return what each column behind the time is called, and its unit: by joint and actuator."""
    layout = trajectory.scene.world.state_layout if trajectory.carries_model else None
    names = []
    for column in trajectory.frame(0).columns:
        if column.name == "time":
            continue
        if layout is not None and column.name in layout.names:
            words = zip(layout.names[column.name], layout.units[column.name], strict=True)
            names += [(f"{column.name}[{name}]", unit) for name, unit in words]
        else:
            names += [(f"{column.name}[{index}]", "") for index in range(column.count)]
    return names


class _Held:
    """A logged value that stays until the next one."""

    def __init__(self, trajectory: Trajectory, name: str) -> None:
        signal = trajectory.signals[name]
        self._axes = signal.axes
        self._values = signal.values.reshape(len(signal.axes), -1)
        parts = trajectory.signal_names(name)
        width = self._values.shape[1]
        self.titles = (
            [name] if width == 1 else [f"{name}[{parts[i] if parts else i}]" for i in range(width)]
        )
        self._none = [""] * width

    def at(self, axis: int) -> list[str]:
        """Return the newest values up to an axis; empty before the first."""
        place = int(np.searchsorted(self._axes, axis, side="right")) - 1
        return self._none if place < 0 else [repr(v) for v in self._values[place].tolist()]
