"""How a run is to be recorded: which file, how much of each frame, and what happens when."""

import dataclasses
import enum
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from stroboscope.engine.arguments import (
    checked_path,
    finite_number,
    flag,
    plain_text,
    shown,
    whole_number,
)
from stroboscope.engine.files.limits import MOST_ROWS

__all__ = ["RecordAs", "SlowDisk", "TrajectoryFile", "trajectory_file"]

_T = TypeVar("_T")

_SUFFIX = ".mcap"
_LARGEST = 1 << 62
_LEAST_SIZE = 64 << 10
_MOST_EVERY = 1 << 31


class RecordAs(enum.StrEnum):
    """How much of each frame is recorded."""

    EXACT = "exact"
    """Every bit of every state: the same on every computer."""
    MINIMAL = "minimal"
    """Inputs, and digests of the states that they lead to: a fraction of the size.

    Reproduced by simulating again, bit for bit on the same kind of processor; elsewhere the file
    says from which step on it differs.
    """
    AUTO = "auto"
    """``MINIMAL`` where a state is all that a step needs and each is recorded, else ``EXACT``."""


class SlowDisk(enum.StrEnum):
    """What happens when frames come faster than the disk takes them."""

    WAIT = "wait"
    """The step waits until there is room; nothing is lost."""
    DROP = "drop"
    """The step goes on, and the file says which frames it does not have."""


@dataclasses.dataclass(frozen=True, slots=True)
class TrajectoryFile:
    """A file to record into, and how.

    ``filename``: ``.mcap`` is appended when it has no suffix; a file that is there is replaced.
    ``mode``: "exact", "minimal" or "auto", see :class:`RecordAs`. ``every``: of so many physics
    steps one frame; or ``hz``: about so many frames per second of simulation time. What begins with
    a reset, a restore or an edit is always there. ``chunk_size``: frames per block, None: what
    reads fast, and of what was kept in memory a quarter of a second. ``max_size`` [bytes]: the file
    is closed then as an intact one, and the next step raises RecordingFullError, or ``stop()``
    where none follows; with ``rotate`` it goes on in another file instead (``run-2.mcap``). What
    was kept in memory is as large as it is.

    ``keep_last`` [s of simulation time] makes it a flight recorder: nothing is written while the
    scene runs, that much of it is kept in memory. It is written when recording stops or the script
    ends; with ``save_on_stop`` when the simulation stops by itself, or an exception or a signal
    (SIGTERM) ends the script, and by ``stop_recording()``, but not when the script or the scene
    just ends. Further stops go into files of their own (``run-2.mcap``, …), up to
    ten, of which no cause gets more than three.

    ``transforms_hz``: how often per second of wall time the file says, at most, in a form that
    Foxglove and PlotJuggler show, where each body is and what joints and controls are (topics
    ``/tf`` and ``/signals``, beside ``/scene`` and ``/log``); None: not at all.

    ``signals``: names of the script's own channels to record, None: all of them. ``envs``:
    environments of a batched scene, in the forms of ``envs_idx``, None: all. ``raise_on_error``:
    whether the next step raises RecordingError where the disk fails; in any case it is logged once,
    and :meth:`Scene.stop_recording` raises it. ``slow_disk``: "wait" or "drop".

    Raises TypeError and ValueError for values that make no sense.
    """

    filename: str | os.PathLike[str]
    _: dataclasses.KW_ONLY
    mode: str = RecordAs.EXACT
    every: int = 1
    hz: float | None = None
    chunk_size: int | None = None
    max_size: int = 2 << 30
    rotate: bool = False
    keep_last: float | None = None
    save_on_stop: bool = False
    signals: Sequence[str] | None = None
    envs: object = None
    raise_on_error: bool = False
    slow_disk: str = SlowDisk.WAIT
    transforms_hz: float | None = 30.0

    def __post_init__(self) -> None:
        """Refuse values that make no sense; keep the others as what they are meant to be."""
        path = Path(checked_path(self.filename, "filename"))
        if path.name in ("", ".."):
            raise ValueError(f"filename must name a file, not {shown(self.filename)}")
        rows, size = self.chunk_size, self.max_size
        values = {
            "filename": path if path.suffix else path.with_name(path.name + _SUFFIX),
            "mode": _one_of(RecordAs, self.mode, "mode"),
            "every": whole_number(self.every, "every (physics steps)", least=1, most=_MOST_EVERY),
            "hz": _optional(_positive, self.hz, "hz (frames per simulated second)"),
            "chunk_size": _optional(_rows, rows, "chunk_size (frames per block)"),
            "max_size": whole_number(size, "max_size [bytes]", least=_LEAST_SIZE, most=_LARGEST),
            "rotate": flag(self.rotate, "rotate"),
            "keep_last": _optional(_positive, self.keep_last, "keep_last [s]"),
            "save_on_stop": flag(self.save_on_stop, "save_on_stop"),
            "signals": _optional(_names, self.signals, "signals"),
            "raise_on_error": flag(self.raise_on_error, "raise_on_error"),
            "slow_disk": _one_of(SlowDisk, self.slow_disk, "slow_disk"),
            "transforms_hz": _optional(_positive, self.transforms_hz, "transforms_hz [Hz]"),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        if self.hz is not None and self.every != 1:
            raise ValueError(f"give every or hz, not both: every={self.every}, hz={self.hz:g}")
        if self.save_on_stop and self.keep_last is None:
            raise ValueError(
                "save_on_stop needs keep_last=SECONDS: how much of what led there is written"
            )
        thinned = self.hz is not None or self.every != 1
        if thinned and self.mode is RecordAs.MINIMAL:
            raise ValueError(
                f"mode={str(self.mode)!r} needs the inputs of every step: leave every and hz out, "
                "or record with mode='exact' or 'auto'"
            )

    @property
    def path(self) -> Path:
        """The file."""
        return Path(self.filename)

    @property
    def is_flight_recorder(self) -> bool:
        """Whether it is kept in memory until something happens."""
        return self.keep_last is not None

    def every_at(self, timestep: float) -> int:
        """Return of how many physics steps of ``timestep`` [s] one is recorded."""
        if self.hz is None:
            return self.every
        steps = 1.0 / (self.hz * timestep) if timestep > 0.0 else 1.0
        return min(max(round(steps), 1), _MOST_EVERY)

    def wants(self, channel: str) -> bool:
        """Return whether a channel of the script is recorded."""
        return self.signals is None or channel in self.signals

    def part(self, number: int) -> Path:
        """Return the name of the first, second, … file: ``run.mcap``, ``run-2.mcap``, …."""
        path = self.path
        return path if number == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")


def trajectory_file(given: "str | os.PathLike[str] | TrajectoryFile") -> TrajectoryFile:
    """Return what to record into, wherever the script goes meanwhile: its path is absolute.

    Raises TypeError for neither a path nor a TrajectoryFile.
    """
    if isinstance(given, str | os.PathLike):
        given = TrajectoryFile(given)
    if isinstance(given, TrajectoryFile):
        return dataclasses.replace(given, filename=given.path.absolute())
    raise TypeError(f"a path or a TrajectoryFile is needed to record into, not {shown(given)}")


def _positive(value: object, what: str) -> float:
    number = finite_number(value, what)
    if not number > 0.0 or math.isinf(1.0 / number):
        raise ValueError(f"{what} must be above 0, not {shown(value)}")
    return number


def _one_of(kind: type[enum.StrEnum], value: object, what: str) -> enum.StrEnum:
    try:
        return kind(value)  # type: ignore[arg-type]
    except ValueError:
        allowed = ", ".join(repr(each.value) for each in kind)
        raise ValueError(f"{what} must be one of {allowed}, not {shown(value)}") from None


def _rows(value: object, what: str) -> int:
    return whole_number(value, what, least=1, most=MOST_ROWS)


def _names(signals: object, what: str) -> tuple[str, ...]:
    if isinstance(signals, str) or not isinstance(signals, Sequence | set | frozenset):
        raise TypeError(f"{what} must be a list of channel names, not {shown(signals)}")
    return tuple(plain_text(name, f"a name in {what}") for name in signals)


def _optional(check: Callable[[object, str], _T], value: object, what: str) -> _T | None:
    return None if value is None else check(value, what)
