"""How the engine reaches a scene's MjData: held, or only watched."""

import weakref
from typing import Any, Protocol

from stroboscope.engine.errors import SceneDestroyedError

__all__ = ["HeldData", "LiveData", "WatchedData"]


class LiveData(Protocol):
    """Returns the data when called; ``keeps_alive`` says whether the scene holds it."""

    keeps_alive: bool

    def __call__(self) -> Any:
        """Return the data; raises SceneDestroyedError when the script has dropped it."""


class HeldData:
    """Keeps the data alive as long as the scene."""

    keeps_alive = True
    __slots__ = ("_data",)

    def __init__(self, data: Any) -> None:
        self._data = data

    def __call__(self) -> Any:
        """Return the data."""
        return self._data


class WatchedData:
    """Lets the script decide when the data dies."""

    keeps_alive = False
    __slots__ = ("_reference",)

    def __init__(self, data: Any) -> None:
        self._reference = weakref.ref(data)

    def __call__(self) -> Any:
        """Return the data, as long as the script keeps it."""
        data = self._reference()
        if data is None:
            raise SceneDestroyedError(
                "the script has dropped the MjData of this scene, so the scene has ended"
            )
        return data
