"""Small typed signals for models that know nothing of Qt."""

from collections.abc import Callable
from typing import Generic, ParamSpec

__all__ = ["Signal"]

P = ParamSpec("P")


class Signal(Generic[P]):
    """Calls its subscribers in order, on the emitting thread (the GUI thread, for all models).

    ``Signal[[int, str]]()`` takes functions of an int and a str. Views connect in ``__init__``
    and disconnect in ``close()``.
    """

    __slots__ = ("_slots",)

    def __init__(self) -> None:
        self._slots: list[Callable[P, object]] = []

    def connect(self, slot: Callable[P, object]) -> None:
        """Call ``slot`` on every emit; connecting twice calls it twice."""
        self._slots.append(slot)

    def disconnect(self, slot: Callable[P, object]) -> None:
        """Forget ``slot``; raises ValueError when it is not connected."""
        self._slots.remove(slot)

    def emit(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Call every subscriber that is connected now."""
        for slot in tuple(self._slots):
            slot(*args, **kwargs)

    def __len__(self) -> int:
        """Return how many subscribers there are."""
        return len(self._slots)
