"""Having something done by the thread that owns a scene."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stroboscope.engine.scene_life import SceneLife

__all__ = ["OwnersTask"]


__all__ = ["PATIENCE_S", "SHORT_PATIENCE_S", "OwnersTask", "is_mine", "wait_for"]

PATIENCE_S = 2.0
"""How long owners that are other threads may take to say where their scenes stand [s]."""
SHORT_PATIENCE_S = 0.5
"""Where the process is ending, and they may never step again."""


class OwnersTask:
    """``action`` is called once: by the owner, or here when that has ended or does not step now.

    It is told whether it may touch the scene, which else may be moving: the owner calls ``late``
    when it steps again.
    """

    def __init__(
        self,
        scene: "SceneLife",
        action: Callable[[bool], None],
        *,
        late: Callable[[], None] | None = None,
    ) -> None:
        self._action, self._late = action, late
        self._lock = threading.Lock()
        self._done = threading.Event()
        if is_mine(scene):
            self._run(True)
        else:
            scene.call_soon(self._answered)

    def wait(self, deadline: float) -> None:
        """Wait for the owner until ``deadline``, monotonic [s]; then it is done here."""
        if not self._done.wait(max(deadline - time.monotonic(), 0.0)):
            self._run(False)  # an owner that has begun is waited for

    def _answered(self) -> None:
        if not self._run(True) and self._late is not None:
            self._late()

    def _run(self, stands_still: bool) -> bool:
        """Return whether it was not done before."""
        with self._lock:
            if self._done.is_set():
                return False
            try:
                self._action(stands_still)
            finally:
                self._done.set()  # not before: whoever waits goes on with what was done
            return True


def is_mine(scene: "SceneLife") -> bool:
    """Return whether the calling thread may use a scene: it owns it, or nobody does any more."""
    owner = scene.owner
    return owner is threading.current_thread() or not owner.is_alive() or scene.is_destroyed


def wait_for(tasks: "Sequence[OwnersTask]", *, patience: float) -> None:
    """Wait until all are done, ``patience`` [s] together at most."""
    deadline = time.monotonic() + patience
    for task in tasks:
        task.wait(deadline)
