"""Scenes that the script has made of its own data, and does not step itself: wrapped calls do."""

import logging
import threading
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene

__all__ = ["OwnScenes"]

_log = logging.getLogger(__name__)


class OwnScenes:
    """Which of them ``mj_step`` may step; any thread.

    A script that has called ``watch(model, data)`` steps the scene itself, or calls ``sync()``
    behind steps of its own. Until it has done either it may be a loop that does neither: its steps
    are those of the scene then. What the script does itself is left to it from then on.
    """

    def __init__(self) -> None:
        self._steps: weakref.WeakKeyDictionary[Scene, int] = weakref.WeakKeyDictionary()
        """Application steps that wrapped calls have taken."""
        self._told: weakref.WeakSet[Scene] = weakref.WeakSet()

    def may_step(self, scene: "Scene") -> bool:
        """Return whether nobody but wrapped calls has stepped a scene yet, and this thread may."""
        is_ours = scene.counters.total_steps == self._steps.get(scene, 0)
        # Callbacks may be where we are called from, within a step of the script's.
        if scene.stepper.synced_at >= 0 or not is_ours or scene.callbacks.has_step_callbacks():
            return False
        if scene.owner is threading.current_thread():
            return True
        self._tell(scene)
        return False

    def stepped(self, scene: "Scene") -> None:
        """Note that a wrapped call has stepped a scene; by its owner."""
        self._steps[scene] = scene.counters.total_steps
        if not scene.is_destroyed:
            scene.stepper.counted_until = float(scene.world.live().time)

    def _tell(self, scene: "Scene") -> None:
        if scene in self._told:
            return
        self._told.add(scene)
        _log.warning(
            "scene %r: thread %r steps its data, and thread %r owns it: these steps are neither "
            "shown nor recorded. Call scene.transfer_to(thread), or make the scene in the thread "
            "that steps",
            scene.name,
            threading.current_thread().name,
            scene.owner.name,
        )
