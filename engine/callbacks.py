"""Functions of the script that a scene calls: around steps, and when playback changes."""

import enum
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING

from stroboscope.engine.arguments import shown

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene

__all__ = ["Event", "SceneCallback", "SceneCallbacks"]

SceneCallback = Callable[..., object]
"""Takes the scene, or nothing."""


class Event(enum.StrEnum):
    """When a callback runs, always on the scene's owner thread."""

    PRE_STEP = "pre_step"
    POST_STEP = "post_step"
    RESTORE = "restore"
    PAUSE = "pause"
    PLAY = "play"
    STOP = "stop"


class SceneCallbacks:
    """The callbacks of one scene, in the order of registration; owner thread only."""

    def __init__(self) -> None:
        self._by_event: dict[Event, list[tuple[SceneCallback, bool]]] = {}

    def add(self, event: Event, callback: SceneCallback) -> Callable[[], None]:
        """Call ``callback`` on ``event`` from now on; returns a function that ends that.

        Raises TypeError when it is not callable, or needs more than the scene.
        """
        entry = (callback, _wants_scene(callback))
        self._by_event.setdefault(event, []).append(entry)

        def remove() -> None:
            entries = self._by_event.get(event, [])
            if entry in entries:
                entries.remove(entry)

        return remove

    def has_step_callbacks(self) -> bool:
        """Return whether a step has to call anything."""
        return bool(self._by_event.get(Event.PRE_STEP) or self._by_event.get(Event.POST_STEP))

    def has(self, event: Event) -> bool:
        """Return whether anything is called on ``event``."""
        return bool(self._by_event.get(event))

    def run(self, event: Event, scene: "Scene") -> None:
        """Call everything registered for ``event``; what one raises reaches the caller."""
        for callback, wants_scene in tuple(self._by_event.get(event, ())):
            if wants_scene:
                callback(scene)
            else:
                callback()


def _wants_scene(callback: SceneCallback) -> bool:
    if not callable(callback):
        raise TypeError(f"a callback must be callable, not {shown(callback)}")
    try:
        signature = inspect.signature(callback)
    except (TypeError, ValueError):  # some built-in functions hide their signature
        return False
    try:
        signature.bind()
    except TypeError:
        pass
    else:
        return False
    try:
        signature.bind(None)
    except TypeError as error:
        raise TypeError(f"a callback takes the scene or nothing: {error}") from None
    return True
