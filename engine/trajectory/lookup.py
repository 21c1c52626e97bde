"""Looking things of a recorded run up by name or number: what is not there is refused in words."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from stroboscope.engine.arguments import shown
from stroboscope.engine.errors import EngineError

__all__ = ["ByName", "NoSuchFrameError", "NoSuchNameError", "known_names", "no_such_name"]

T = TypeVar("T")

_MOST_NAMED = 40


class NoSuchNameError(EngineError, KeyError):
    """A recorded run has nothing of that name; the message says what it has."""

    def __str__(self) -> str:
        """Return the message; that of a KeyError would stand in quotes."""
        return str(self.args[0])


class NoSuchFrameError(EngineError, IndexError):
    """A recorded run has no frame of that number; the message says which it has."""


def known_names(names: Iterable[str]) -> str:
    """Return names as a message shows them: all, or how many more there are."""
    known = list(names)
    more = len(known) - _MOST_NAMED
    shortened = [*known[:_MOST_NAMED], *([f"and {more:,} more"] if more > 0 else [])]
    return ", ".join(shortened) or "none"


def no_such_name(name: object, what: str, names: Iterable[str]) -> Exception:
    """Return the error of a name that is not there; TypeError where it is no name at all.

    ``what`` has it not: "a frame of this file has no array".
    """
    has = known_names(names)
    if isinstance(name, str):
        return NoSuchNameError(f"{what} {name!r}: it has {has}")
    return TypeError(f"{what} {shown(name)}: names are text, it has {has}")


class ByName(dict[str, T]):
    """Things by name; ``what`` has none of another name."""

    __slots__ = ("_what",)

    def __init__(self, things: Mapping[str, T], *, what: str) -> None:
        super().__init__(things)
        self._what = what

    def __getitem__(self, name: str) -> T:
        """Return what has this name; NoSuchNameError says which names there are."""
        if not isinstance(name, str) or name not in self:
            raise no_such_name(name, self._what, self)
        return super().__getitem__(name)
