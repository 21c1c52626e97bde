"""How pictures and films are wanted, as people chose it last: plain data for the settings."""

import dataclasses
import enum
import math
import re
from collections.abc import Mapping
from typing import Self

from stroboscope.app.models.film import TimeBase

__all__ = ["SIZES", "FilmChoice", "PictureChoice", "PictureOf", "Size", "file_stem"]

LARGEST, SMALLEST = 8192, 16  # pixels a side
_MOST_LETTERS = 80


class PictureOf(enum.StrEnum):
    """What is in a picture."""

    VIEW = "view"
    WINDOW = "window"


class Size(enum.StrEnum):
    """How large a picture or film is."""

    SHOWN = "as shown"
    TWICE = "twice"
    HD = "1280 × 720"
    FULL_HD = "1920 × 1080"
    UHD = "3840 × 2160"
    CUSTOM = "custom"


SIZES = {Size.HD: (1280, 720), Size.FULL_HD: (1920, 1080), Size.UHD: (3840, 2160)}
"""Sizes that are not the view's, (width, height) [px]."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Choice:
    """What pictures and films have in common."""

    size: Size = Size.SHOWN
    width: int = 1920
    height: int = 1080
    overlays: bool = True
    labels: bool = True
    legend: bool = True
    folder: str = ""

    def pixels(self, shown: tuple[int, int]) -> tuple[int, int]:
        """Return the size (width, height) [px] where the view has ``shown``."""
        match self.size:
            case Size.SHOWN:
                return shown
            case Size.TWICE:
                return 2 * shown[0], 2 * shown[1]
            case Size.CUSTOM:
                return self.width, self.height
        return SIZES[self.size]

    def to_dict(self) -> dict[str, object]:
        """Return plain data for the settings."""
        return {
            name: str(value) if isinstance(value, enum.StrEnum) else value
            for name, value in dataclasses.asdict(self).items()
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Self:
        """Return what ``data`` describes; what is unknown or of no use is left as usual."""
        plain = cls()
        changes = {}
        for field in dataclasses.fields(cls):
            usual = getattr(plain, field.name)
            value = _usable(data.get(field.name), usual)
            if value is not None:
                changes[field.name] = value
        return dataclasses.replace(plain, **changes)  # type: ignore[arg-type]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PictureChoice(_Choice):
    """How a picture is wanted."""

    of: PictureOf = PictureOf.VIEW
    transparent: bool = False


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FilmChoice(_Choice):
    """How a film is wanted; ``speed`` seconds of ``base`` pass in a second of it."""

    fps: float = 60.0
    base: TimeBase = TimeBase.SIMULATION
    speed: float = 1.0
    suffix: str = ".mp4"


def file_stem(scene: str, time: float | None) -> str:
    """Return a name for a file: the scene's and its time, without what file systems refuse."""
    name = re.sub(r"[^\w.=+-]+", "_", scene).strip("._")[:_MOST_LETTERS] or "stroboscope"
    return name if time is None or not math.isfinite(time) else f"{name}_{time:.3f}s"


def _usable(value: object, usual: object) -> object | None:
    match usual:
        case bool():
            return value if isinstance(value, bool) else None
        case enum.StrEnum():
            return next((each for each in type(usual) if each == value), None)
        case int():
            if isinstance(value, int) and not isinstance(value, bool):
                return min(max(value, SMALLEST), LARGEST)
            return None
        case float():
            if isinstance(value, int | float) and not isinstance(value, bool):
                return float(value) if math.isfinite(value) and value > 0.0 else None
            return None
        case _:
            return value if isinstance(value, str) else None
