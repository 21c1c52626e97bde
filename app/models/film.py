"""Which pictures a film is made of: formats, sizes, and the clock that chooses frames by time."""

import dataclasses
import enum
import math
from pathlib import Path

__all__ = [
    "FilmClock",
    "FilmFormat",
    "FilmSpec",
    "Shares",
    "TimeBase",
    "even_size",
    "format_of",
]


class FilmFormat(enum.StrEnum):
    """What is written; values are suffixes of files, "" for a folder of pictures."""

    MP4 = ".mp4"
    GIF = ".gif"
    PNG = ""


class TimeBase(enum.StrEnum):
    """What a second of a film is a second of."""

    SIMULATION = "simulation"
    WALL = "wall"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FilmSpec:
    """A film to be made: ``size`` (width, height) [px], ``fps`` of the film.

    ``speed`` is how many seconds of the time base pass in a second of the film: 0.1 is slow motion.
    """

    path: Path
    size: tuple[int, int]
    fps: float = 60.0
    base: TimeBase = TimeBase.SIMULATION
    speed: float = 1.0

    @property
    def format(self) -> FilmFormat:
        """What the path's suffix asks for."""
        return format_of(self.path)


def format_of(path: Path) -> FilmFormat:
    """Return what is written under that name; without a suffix that is known, pictures."""
    suffix = path.suffix.lower()
    return next((f for f in FilmFormat if f.value and f.value == suffix), FilmFormat.PNG)


def even_size(width: float, height: float) -> tuple[int, int]:
    """Return a size [px] that films can have: both numbers even, at least 16."""
    return max(2 * math.floor(width / 2), 16), max(2 * math.floor(height / 2), 16)


@dataclasses.dataclass(frozen=True, slots=True)
class Shares:
    """How many frames of the film show the picture of before, and how many the one of now."""

    before: int
    now: int


class FilmClock:
    """Chooses frames by the time of what they show.

    Frame k of the film belongs to the instant ``k · speed / fps`` after the first picture. Pictures
    come when they come, more of them than are needed or fewer: each frame shows whichever picture
    is nearest to its instant, so that what moves keeps its pace.
    """

    def __init__(self, *, fps: float, speed: float = 1.0) -> None:
        if not (fps > 0.0 and speed > 0.0 and math.isfinite(fps) and math.isfinite(speed)):
            raise ValueError(f"a film at {fps} frames per second and speed {speed}")
        self._interval = speed / fps
        self._start = 0.0
        self._last: float | None = None
        self.frames = 0

    def look(self, time: float) -> Shares:
        """Return which frames are due now that a picture of ``time`` [s] can be had.

        When time has gone back (another episode, a restored state) the film goes on from there.
        """
        if not math.isfinite(time):
            return Shares(0, 0)
        last = self._last
        if last is None or time < last:
            self._last = time
            self._start = time - self.frames * self._interval
            self.frames += 1
            return Shares(0, 1)
        # A little early is in time: steps add up to 0.0999999 where 0.1 is meant.
        due = math.floor((time - self._start) / self._interval + 1e-6) + 1 - self.frames
        if due <= 0:
            return Shares(0, 0)
        middle = 0.5 * (last + time)
        first = self._start + self.frames * self._interval
        before = math.ceil((middle - first) / self._interval - 1e-6)
        before = min(max(before, 0), due)
        if before == due:  # the newest frame is at most an interval old: it shows now
            before = due - 1
        self._last = time
        self.frames += due
        return Shares(before, due - before)

    def cut(self) -> None:
        """Begin again with the next picture: it is of another scene."""
        self._last = None
