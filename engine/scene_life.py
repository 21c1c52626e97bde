"""The part of a scene that is about whose it is, how it ends, and what it tells and calls."""

import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from threading import get_ident
from typing import TYPE_CHECKING, cast

from stroboscope.debugger_protocol.exceptions import SceneClosedError
from stroboscope.engine.arguments import shown
from stroboscope.engine.callbacks import Event, SceneCallback, SceneCallbacks
from stroboscope.engine.debug_draw import DebugDraw
from stroboscope.engine.errors import EngineError, OwnerThreadError, SceneDestroyedError
from stroboscope.engine.pool_threads import carries_for_pool
from stroboscope.engine.rollouts.store import RolloutStore
from stroboscope.engine.scene_log import LoggedNames, check_values, log_values

if TYPE_CHECKING:
    from stroboscope.debugger_protocol.host.scene_link import SceneLink
    from stroboscope.engine.recording.scene_recorders import SceneRecorders
    from stroboscope.engine.runtime import Runtime
    from stroboscope.engine.scene import Scene
    from stroboscope.engine.stops.scene_stops import SceneStops

__all__ = ["SceneLife"]

# An owner that can't be any thread: every use goes the slow way and finds out why.
_NOBODY = -1


class SceneLife:
    """Methods of every scene, of one world or of many: owner thread only unless they say so."""

    callbacks: SceneCallbacks
    drawing: DebugDraw | None
    logged_names: LoggedNames
    link: "SceneLink"
    rollouts: RolloutStore
    _owner: threading.Thread
    _owner_ident: int
    _destroyed: str
    _runtime: "Runtime"
    _update_fast_path: Callable[[], None]
    _forget_history: Callable[[], None]
    _end_history: Callable[[], None]
    recorders: "SceneRecorders"
    stops: "SceneStops"
    call_soon: Callable[[Callable[[], None]], None]
    before_first_step: Callable[[], None] | None = None
    """What the owner calls once before it steps the scene for the first time; for the engine."""

    @property
    def name(self) -> str:
        """The scene's name, unique in this process; any thread."""
        return self.link.name

    @property
    def scene_id(self) -> int:
        """The scene's number, unique in this process; any thread."""
        return self.link.scene_id

    @property
    def runtime(self) -> "Runtime":
        """What it lives in; for the engine."""
        return self._runtime

    # --- callbacks; each returns a function that ends the registration

    def register_pre_step_callback(self, callback: SceneCallback) -> Callable[[], None]:
        """Call ``callback`` before the physics of every application step.

        It takes the scene, or nothing. What it raises reaches the caller of :meth:`step`.
        """
        return self._register(Event.PRE_STEP, callback)

    def register_post_step_callback(self, callback: SceneCallback) -> Callable[[], None]:
        """Call ``callback`` after every completed application step."""
        return self._register(Event.POST_STEP, callback)

    def on_restore(self, callback: SceneCallback) -> Callable[[], None]:
        """Call ``callback`` after the debugger restored a state, before a parked step proceeds."""
        return self._register(Event.RESTORE, callback)

    def on_pause(self, callback: SceneCallback) -> Callable[[], None]:
        """Call ``callback`` when the scene has been paused, before it parks."""
        return self._register(Event.PAUSE, callback)

    def on_play(self, callback: SceneCallback) -> Callable[[], None]:
        """Call ``callback`` when the scene goes on after a pause."""
        return self._register(Event.PLAY, callback)

    def on_stop(self, callback: SceneCallback) -> Callable[[], None]:
        """Call ``callback`` when the scene has stopped, see :attr:`last_stop`; attached or not.

        The scene stands before the step then where that was taken back, else behind it, and may be
        changed or reset: it goes on from there.
        """
        return self._register(Event.STOP, callback)

    def _register(self, event: Event, callback: SceneCallback) -> Callable[[], None]:
        self._guard()
        remove = self.callbacks.add(event, callback)
        self._update_fast_path()

        def end_registration() -> None:
            remove()
            self._update_fast_path()

        return end_registration

    # --- what the script tells the debugger

    def log(
        self,
        name: str | Mapping[str, object],
        value: object = None,
        *,
        names: Sequence[str] | None = None,
    ) -> None:
        """Record a number, a vector or a text at this instant, under a name of your own.

        ``log("reward", 1.5)``, ``log("obs", vector, names=[…])``, ``log({"a": 1, "b": 2})``,
        ``log("event", "the gripper closed")``. What has the name of an engine channel (``qpos``)
        is shown as ``qpos (script)``. Raises TypeError or ValueError for anything else.
        """
        self._guard()
        if isinstance(name, Mapping):
            if value is not None or names is not None:
                raise TypeError("log({...}) takes no value and no names besides the mapping")
            for key, each in name.items():
                check_values(key, each, names=None)  # all of them before any is logged
            for key, each in name.items():
                self._log(key, each, names=None)
        else:
            self._log(name, value, names=names)

    def _log(self, name: object, value: object, *, names: object) -> None:
        log_values(
            self.link,
            self.recorders,
            name,
            value,
            names=names,
            logged=self.logged_names,
            is_followed=self.stops.follows_logged,
        )

    @property
    def debug_draw(self) -> DebugDraw:
        """Draws arrows, lines, texts, points … into the 3D view, for a frame or to stay."""
        self._guard()
        if self.drawing is None:
            self.drawing = DebugDraw(cast("Scene", self))
        return self.drawing

    def forget_drawing(self) -> None:
        """Drop what was drawn for a state that is replaced; what is persistent stays."""
        if self.drawing is not None:
            self.drawing.forget_frame()

    def pause(self, reason: str = "") -> None:
        """Stop here until the debugger lets this scene go on; nothing when detached.

        The window shows ``reason`` and the file and line of the call.
        """
        self._guard()
        caller = sys._getframe(1)
        location = f"{os.path.basename(caller.f_code.co_filename)}:{caller.f_lineno}"
        self.pause_at(reason, location)

    def pause_at(self, reason: str, location: str) -> None:
        """Stop here; for functions that pause on behalf of their caller at ``location``."""
        self._guard()
        self._guarded(lambda: self.link.park(reason or "paused by the script", location))

    def call_before_first_step(self, action: Callable[[], None]) -> None:
        """Have ``action`` called before the first step, which obeys a session that it opens."""
        self.before_first_step = action
        self._update_fast_path()

    def _first_step(self) -> None:
        """Call what waits for the first step, if something does."""
        action, self.before_first_step = self.before_first_step, None
        if action is not None:
            self._update_fast_path()
            action()

    # --- ownership and life

    def transfer_to(self, thread: threading.Thread) -> None:
        """Hand the scene to another running thread, which is its owner from now on."""
        self._guard()
        if not isinstance(thread, threading.Thread):
            raise TypeError(
                f"transfer_to takes a threading.Thread that is running, not {shown(thread)}"
            )
        ident = thread.ident
        if ident is None or not thread.is_alive():
            raise ValueError(
                f"thread {thread.name!r} is not running: start it first, and let it wait until "
                "the scene was handed over"
            )
        self.link.transfer_to(thread)
        self._owner = thread
        self._owner_ident = ident

    def move_to_this_thread(self) -> None:
        """Become the calling thread's, whoever had the scene before; any thread.

        For data that a script steps on whichever thread it likes (a pool): its wrapped calls know
        no owner, and the previous one is not inside this scene then.
        """
        thread = threading.current_thread()
        try:
            self.link.transfer_to(thread)
        except SceneClosedError as error:
            raise self.closed_error(error) from None
        self._owner = thread
        self._owner_ident = get_ident()

    def _leave_pool_thread(self) -> None:
        """Go to the main thread where the result of a process pool was just built; owner only.

        The thread that builds it is the pool's, never that of whoever waits for the result.
        """
        if carries_for_pool(threading.current_thread()):
            self.transfer_to(threading.main_thread())

    @property
    def is_destroyed(self) -> bool:
        """Whether the scene can no longer be used; any thread."""
        return bool(self._destroyed)

    @property
    def owner(self) -> threading.Thread:
        """The thread that may use the scene; any thread."""
        return self._owner

    def destroy(self) -> None:
        """End the scene; on its owner thread, or on any when that has ended. Twice is harmless."""
        if self._destroyed:
            return
        if self._owner_ident != get_ident() and self._owner.is_alive():
            raise self._misuse()
        self.recorders.finish()
        self.end("it was destroyed")
        # What shall stay of it has been taken by whoever looks.
        self._forget_history()
        self.rollouts.clear()
        self._runtime.remove(self)

    def refuse(self, reason: str) -> None:
        """Make every further use raise SceneDestroyedError, and nothing else; any thread."""
        self._destroyed = self._destroyed or reason
        self._owner_ident = _NOBODY

    def lost_by_fork(self) -> str:
        """Return what of it is not there in this forked child; empty: nothing."""
        return ""

    def end(self, reason: str) -> None:
        """Make every further use raise SceneDestroyedError; any thread, never waits."""
        self.refuse(reason)
        self.link.close()
        self._end_history()

    def _guard(self) -> None:
        """Refuse other threads; whoever asks afterwards finds no step half counted."""
        self._check_owner()

    def _check_owner(self) -> None:
        if self._owner_ident != get_ident():
            raise self._misuse()

    def _guarded(self, action: Callable[[], None]) -> None:
        try:
            action()
        except SceneClosedError as error:
            raise self.closed_error(error) from None

    def closed_error(self, error: SceneClosedError) -> SceneDestroyedError:
        """Return the engine's word for a scene that was closed under its owner."""
        why = self._destroyed or str(error)
        return SceneDestroyedError(
            f"scene {self.name!r} can't be used any more: {why}; create a new scene"
        )

    def _misuse(self) -> EngineError:
        if self._destroyed:
            return SceneDestroyedError(
                f"scene {self.name!r} can't be used any more: {self._destroyed}; create a new scene"
            )
        thread = threading.current_thread()
        used = (
            f"scene {self.name!r} belongs to thread {self._owner.name!r} and was used from "
            f"{thread.name!r}"
        )
        if carries_for_pool(thread):
            return OwnerThreadError(
                f"{used}, which pickles what a process pool or a queue is given: give it "
                "pickle.dumps(scene) instead, have the function there begin with "
                "scene = pickle.loads(…), and use no scene in callbacks of the pool"
            )
        return OwnerThreadError(
            f"{used}: use it there, or hand it over with scene.transfer_to(thread)"
        )

    def __repr__(self) -> str:
        """Say its name and number; any thread."""
        ended = f", {self._destroyed}" if self._destroyed else ""
        return f"{type(self).__name__}({self.name!r}, scene_id={self.scene_id}{ended})"
