"""How the engine reaches a scene's MjData: held, or only watched."""

import weakref
from typing import Any, Protocol

from stroboscope.engine.arguments import shown
from stroboscope.engine.errors import SceneDestroyedError

__all__ = ["HeldData", "LiveData", "WatchedData", "check_pair"]


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


def check_pair(model: Any, data: Any, *, adapter: Any) -> None:
    """Raise TypeError or ValueError when ``model`` and ``data`` are no pair."""
    module = adapter.module
    if not isinstance(model, module.MjModel) or not isinstance(data, module.MjData):
        raise TypeError(
            "an adopted scene needs a mujoco.MjModel and its mujoco.MjData, not "
            f"{shown(model)} and {shown(data)}"
        )
    if data.qpos.shape != (model.nq,) or data.qvel.shape != (model.nv,):
        raise ValueError(
            f"the data belongs to another model: it has {data.qpos.size} positions and "
            f"{data.qvel.size} velocities, the model {model.nq} and {model.nv}"
        )
