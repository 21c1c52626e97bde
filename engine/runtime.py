"""The one engine runtime of a process: the debugger's host and every scene that is alive.

``initialize`` makes it, ``shutdown`` ends it; ``create_scene`` makes it when there is none.
"""

import atexit
import logging
import os
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, cast

from stroboscope.debugger_protocol.host.host import Host
from stroboscope.engine.arguments import MOST_THREADS, whole_number
from stroboscope.engine.errors import EngineError
from stroboscope.engine.history.budget import HistoryBudget
from stroboscope.engine.recording.registry import RecordingRegistry

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene
    from stroboscope.engine.scene_life import SceneLife

__all__ = [
    "Runtime",
    "current_runtime",
    "forget_scenes",
    "initialize",
    "is_initialized",
    "shutdown",
    "watch_scenes",
]

_log = logging.getLogger(__name__)


class Runtime:
    """What lives between ``initialize()`` and ``shutdown()``.

    ``host`` is the debugger's side that scenes talk to; ``num_worker_threads`` is how many
    native threads batches and rollouts may use. Methods may be called from any thread.
    """

    def __init__(self, *, num_worker_threads: int = 0) -> None:
        self.host = Host()
        self.history_budget = HistoryBudget()
        self.recordings = RecordingRegistry()
        self.num_worker_threads = num_worker_threads
        self.process_id = os.getpid()
        self._lock = threading.Lock()
        self._scenes: dict[int, Scene] = {}
        self._before_end: list[Callable[[], None]] = []
        self._before_shutdown: list[Callable[[], None]] = []
        self._closed = False

    @property
    def scenes(self) -> tuple["Scene", ...]:
        """The scenes that are alive, in the order of their creation."""
        with self._lock:
            return tuple(self._scenes.values())

    def last_stepped(self) -> "Scene | None":
        """Return the scene that the calling thread has stepped last; None when it owns none."""
        thread = threading.current_thread()
        mine = [each for each in self.scenes if each.owner is thread and not each.is_destroyed]
        return max(mine, key=lambda scene: scene.link.stamp) if mine else None

    def add(self, scene: "SceneLife") -> None:
        """Keep ``scene`` until it is destroyed; raises EngineError after shutdown."""
        with self._lock:
            is_closed = self._closed
            if not is_closed:
                # One of many environments has a world, a link and counters, too: of the selected.
                self._scenes[scene.scene_id] = cast("Scene", scene)
        if is_closed:
            raise EngineError(
                "the engine was shut down while the scene was made; initialize() again"
            )
        for action in _current.on_scene:
            action(scene)

    def remove(self, scene: "SceneLife") -> None:
        """Forget a scene that is being destroyed."""
        with self._lock:
            # Numbers begin anew with every runtime: the scene may be of an earlier one.
            if self._scenes.get(scene.scene_id) is scene:
                del self._scenes[scene.scene_id]

    def before_end(self, action: Callable[[], None]) -> None:
        """Run ``action`` where somebody calls ``shutdown()``, before anything else is done."""
        with self._lock:
            self._before_end.append(action)

    def ending(self) -> None:
        """Run what has to come before the end."""
        with self._lock:
            actions = tuple(self._before_end)
        _run_all(actions)

    def before_shutdown(self, action: Callable[[], None]) -> None:
        """Run ``action`` first on shutdown (the debugger stops its server there)."""
        with self._lock:
            self._before_shutdown.append(action)

    def forget_parent(self) -> None:
        """In a forked child: make it this process's own."""
        self.process_id = os.getpid()
        self._lock = threading.Lock()
        self.host.forget_parent()
        self.history_budget.forget_parent()
        survivor = threading.current_thread()
        for scene in tuple(self._scenes.values()):
            lost = scene.lost_by_fork()
            if scene.owner is not survivor or lost:
                self._scenes.pop(scene.scene_id, None)
                scene.end(f"{lost or 'its thread'} did not survive a fork")

    def close(self) -> None:
        """Stop the server, release parked threads and destroy all scenes; never waits for them."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            scenes = tuple(self._scenes.values())
            self._scenes.clear()
            actions = tuple(self._before_shutdown)
        if os.getpid() == self.process_id:
            try:
                self.host.publish_last()
            finally:  # whatever a handler of a signal raises
                # First: a server that stops lets parked threads complete their steps.
                self.host.close("the engine was shut down")
                _run_all(actions)
                _run_all([self.recordings.finish])
        for scene in scenes:
            scene.end("the engine was shut down")


def _run_all(actions: Iterable[Callable[[], None]]) -> None:
    for action in actions:
        try:
            action()
        except Exception:  # noqa: BLE001
            # One part that fails to stop must not keep the others, and parked threads, alive.
            _log.exception("an action before shutdown failed")


class _Current:
    """The process's runtime, behind a lock; one object because modules hold no mutable state."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.runtime: Runtime | None = None
        self.exit_registered = False
        self.on_scene: tuple[Callable[[SceneLife], None], ...] = ()


_current = _Current()


def watch_scenes(action: "Callable[[SceneLife], None]") -> None:
    """Have ``action`` called with each scene that is made, by its owner; not in forked children."""
    with _current.lock:
        _current.on_scene = (*_current.on_scene, action)


def forget_scenes(action: "Callable[[SceneLife], None]") -> None:
    """Have ``action`` called no more; harmless when it is not."""
    with _current.lock:
        _current.on_scene = tuple(each for each in _current.on_scene if each != action)


def initialize(num_worker_threads: int = 0) -> None:
    """Start the engine; any thread. Optional: ``create_scene`` does it when needed.

    ``num_worker_threads``: native threads for batches and rollouts, 0 for none, -1 for one per
    core. A second call changes nothing. Raises ValueError below -1.
    """
    num_worker_threads = whole_number(
        num_worker_threads,
        "num_worker_threads (-1: all cores, 0: none)",
        least=-1,
        most=MOST_THREADS,
    )
    threads = (os.cpu_count() or 1) if num_worker_threads == -1 else num_worker_threads
    with _current.lock:
        if _current.runtime is None:
            _current.runtime = Runtime(num_worker_threads=threads)
            if not _current.exit_registered:
                _current.exit_registered = True
                atexit.register(shutdown)


def is_initialized() -> bool:
    """Return whether the engine runs; any thread."""
    return _current.runtime is not None


def current_runtime() -> Runtime:
    """Return the runtime, making one when there is none; any thread."""
    with _current.lock:
        initialize()
        runtime = _current.runtime
    if runtime is None:  # pragma: no cover - initialize() has just made it under the same lock
        raise EngineError("the engine is not running: call initialize()")
    return runtime


def shutdown() -> None:
    """Stop the debug server, release parked threads, destroy all scenes; any thread, never hangs.

    On the main thread this is the script's end: where a debugger wants to hold its last scene then,
    it does so until that lets it go on. A thread that is parked in ``step()`` gets
    SceneDestroyedError. Calling it twice, or at
    interpreter exit, is harmless; ``initialize()`` starts anew.
    """
    if _current.runtime is not None:
        _current.runtime.ending()
    with _current.lock:
        runtime, _current.runtime = _current.runtime, None
    if runtime is not None:
        runtime.close()


def forget_parent() -> None:
    """In a forked child: keep the scenes of the thread that forked, detached, and end the others.

    The parent's sockets and files are not touched.
    """
    _current.lock = threading.RLock()
    _current.on_scene = ()
    if _current.runtime is not None:
        _current.runtime.forget_parent()
