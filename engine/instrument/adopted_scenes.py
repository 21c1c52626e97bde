"""What wrapped MuJoCo calls do while a debugger may look: every stepped data becomes a scene.

A scene belongs to the thread that steps it. Data that nobody else holds any more ends its scene;
beyond the limit of living scenes the rest run free and are counted.
"""

import logging
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stroboscope.debugger_protocol.host.scene_link import SceneLink
from stroboscope.debugger_protocol.signal_handlers import is_of_handler
from stroboscope.engine.callbacks import SceneCallbacks
from stroboscope.engine.errors import SceneDestroyedError, StepFailedError
from stroboscope.engine.instrument.environments import physics_steps_of_call
from stroboscope.engine.instrument.half_steps import HalfStepper
from stroboscope.engine.instrument.own_scenes import OwnScenes
from stroboscope.engine.instrument.wrapping import Gate
from stroboscope.engine.mujoco_adapter import MujocoAdapter
from stroboscope.engine.runtime import current_runtime
from stroboscope.engine.scene_counters import StepCounters
from stroboscope.engine.stops.scene_stops import SceneStops

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene

__all__ = ["MAX_SCENES", "AdoptedScenes"]

_log = logging.getLogger(__name__)

MAX_SCENES = 256
"""How many adopted scenes may live at once."""

MakeScene = Callable[[Any, Any], "Scene"]


class _Entry:
    """One MjData that was seen. ``scene`` None: it runs free.

    ``busy``: a wrapped call on this data is under way, and what MuJoCo or the script's callbacks
    call inside it is part of it. ``bare``: what a step has to look at, gathered for the case that
    nobody is attached. ``own_scene``: the scene that the script has made of it by itself.
    """

    __slots__ = ("bare", "busy", "half_stepper", "own_scene", "reference", "scene")

    def __init__(self, reference: "weakref.ref[Any]", scene: "Scene | None") -> None:
        self.reference = reference
        self.scene = scene
        self.busy = False
        self.half_stepper: HalfStepper | None = None
        self.own_scene: weakref.ref[Scene] | None = None
        self.bare: tuple[Any, SceneLink, StepCounters, SceneCallbacks, SceneStops] | None = None


class AdoptedScenes:
    """The scenes of data that the script made itself, found by identity; any thread.

    ``adopt_unknown`` False: only data that was handed over with :meth:`add` is watched.
    ``before_first`` is called once, before the first step of any scene; other threads that step
    wait for it.
    """

    def __init__(self, make_scene: MakeScene, *, gate: Gate, adapter: MujocoAdapter) -> None:
        self.adopt_unknown = False
        self.before_first: Callable[[], None] | None = None
        self._make_scene = make_scene
        self._gate = gate
        self._adapter = adapter
        self._entries: dict[int, _Entry] = {}
        self._dead: deque[tuple[int, _Entry]] = deque()
        self._own = OwnScenes()
        self._lock = threading.Lock()
        self._first_lock = threading.RLock()

    def add(self, data: Any, scene: "Scene") -> None:
        """Let wrapped calls on ``data`` step ``scene``."""
        with self._lock:
            self._bury()
            self._enter(data, scene)

    def end(self, data: Any, *, reason: str) -> None:
        """End the scene of ``data``, if it has one; data that is stepped again gets a new one."""
        with self._lock:
            entry = self._known(data)
            if entry is not None:
                self._entries.pop(id(data))
                if entry.scene is not None:
                    _end(entry.scene, reason)

    def scene_of(self, data: Any) -> "Scene | None":
        """Return the living scene of ``data``, or None."""
        entry = self._known(data)
        scene = entry.scene if entry is not None else None
        return None if scene is None or scene.is_destroyed else scene

    def forget_parent(self) -> None:
        """In a forked child: begin anew; what is stepped here becomes a scene of the child's."""
        self._lock = threading.Lock()
        self._first_lock = threading.RLock()
        self.before_first = None
        self._dead.clear()
        entries, self._entries = self._entries, {}
        for entry in entries.values():
            if entry.scene is not None:
                _close(entry.scene, "it belongs to the parent process")

    # --- wrapped calls

    def step(self, m: Any, d: Any, nstep: Any) -> None:
        """Run ``mj_step`` as one application step of ``nstep`` physics steps."""
        entry = self._entries.get(id(d))
        bare = entry.bare if entry is not None and nstep == 1 else None
        if bare is not None and entry is not None and entry.reference() is d:
            model, link, counters, callbacks, stops = bare
            watched = stops.guards_detached or callbacks.has_step_callbacks()
            if model is m and not link.active and not watched:
                # As in Scene.step(): a session is open and nobody has joined it.
                self._adapter.mj_step(m, d)
                counters.single += 1
                return
        entry = self._stepped(m, d)
        scene = self._scene_to_step(entry, m, d)
        if entry is None or scene is None:
            self._adapter.mj_step(m, d, nstep)
            return
        try:
            count = int(nstep)
        except (TypeError, ValueError):
            count = 0
        if count < 1:
            self._adapter.mj_step(m, d, nstep)  # MuJoCo says what it thinks of that
            return
        if entry.scene is not None:
            entry.bare = (m, scene.link, scene.counters, scene.callbacks, scene.stops)
        begun = _open_step(entry)
        before = scene.counters.axis
        entry.busy = True
        try:
            if begun is not None:
                begun.go_on(count)
            else:
                scene.step(nstep=count)
        except StepFailedError as error:
            raise _mujoco_error(error) from None
        except SceneDestroyedError:
            # The engine was shut down around us; the script's own loop has nothing to do with it.
            rest = count - (scene.counters.axis - before)
            if rest > 0:
                self._adapter.mj_step(m, d, rest)
        finally:
            entry.busy = False
            if entry.scene is None:
                self._own.stepped(scene)

    def step1(self, m: Any, d: Any) -> None:
        """Run ``mj_step1``, the first half of a physics step.

        The scene stops in :meth:`step2`, with the controls of the step in place. A stop here would
        hold a thread that may be at the end of its step: dm_control ends each with this call.
        """
        self._own_idle_scene(d)
        self._adapter.mj_step1(m, d)

    def step2(self, m: Any, d: Any) -> None:
        """Run ``mj_step2``, the second half, as one application step of one physics step.

        When the caller is known to run more physics steps with ``mj_step`` at once, all of them
        together are one application step, as they are for whoever called it.
        """
        entry = self._stepped(m, d)
        scene = self._scene_to_step(entry, m, d)
        if entry is None or scene is None:
            self._adapter.mj_step2(m, d)
            return
        half_stepper = entry.half_stepper
        if half_stepper is None or half_stepper.world is not scene.world:
            half_stepper = entry.half_stepper = HalfStepper(scene)
        entry.busy = True
        try:
            if half_stepper.is_open:
                half_stepper.close()
            # The caller of the wrapped function that has called us.
            if entry.scene is not None and physics_steps_of_call(sys._getframe(2)) > 1:
                entry.bare = None
                half_stepper.begin()
            else:
                half_stepper.complete()
        except StepFailedError as error:
            raise _mujoco_error(error) from None
        except SceneDestroyedError:
            self._adapter.mj_step2(m, d)
        finally:
            entry.busy = False
            if entry.scene is None:
                self._own.stepped(scene)

    def forward(self, m: Any, d: Any) -> None:
        """Run ``mj_forward``, which refreshes a known scene and never makes one."""
        self._adapter.mj_forward(m, d)
        scene = self._own_idle_scene(d)
        if scene is not None:
            try:
                scene.update_debugger()
            except SceneDestroyedError:
                return  # ended in between: nothing to refresh

    def reset(self, original: Callable[..., None], m: Any, d: Any, *rest: Any) -> None:
        """Run one of the resets; in a known scene an episode begins."""
        original(m, d, *rest)
        scene = self._own_idle_scene(d)
        if scene is not None:
            scene.episode_began("the script reset the data")

    # --- inside

    def _scene_to_step(self, entry: _Entry | None, model: Any, data: Any) -> "Scene | None":
        """Return the scene that a wrapped call on ``data`` steps; None: MuJoCo alone does."""
        if entry is None or entry.busy:
            return None
        own = entry.own_scene() if entry.scene is None and entry.own_scene is not None else None
        if own is None or _data_of(own) is not data or own.world.model is not model:
            return entry.scene
        return own if self._own.may_step(own) else None

    def _known(self, data: Any) -> _Entry | None:
        entry = self._entries.get(id(data))
        return entry if entry is not None and entry.reference() is data else None

    def _own_idle_scene(self, data: Any) -> "Scene | None":
        """Return the scene of ``data`` when this thread owns it and no call is under way.

        An application step that waited for more physics is complete now: something else came.
        """
        entry = self._known(data)
        if entry is None or entry.busy or entry.scene is None or entry.scene.is_destroyed:
            return None
        if entry.scene.owner is not threading.current_thread():
            return None
        begun = _open_step(entry)
        if begun is not None:
            begun.close()
        return entry.scene

    def _stepped(self, model: Any, data: Any) -> _Entry | None:
        """Return the entry of data that is about to be stepped; None: it is none of our business.

        Its scene belongs to this thread and to ``model`` afterwards.
        """
        entry = self._entries.get(id(data))
        if entry is None or entry.reference() is not data:
            return self._meet(model, data)
        scene = entry.scene
        if entry.busy:
            return entry
        if self.before_first is not None:
            self.open_first()  # of what is watched by hand: no step has made that scene
        if scene is None:
            # There may be room by now, or the script has ended the scene that it had made.
            may_get_one = self._dead if entry.own_scene is None else not _is_shown(entry)
            return self._meet(model, data) if may_get_one else entry
        if not _fits(scene, model):
            return self._meet(model, data)
        if scene.owner is not threading.current_thread():
            try:
                scene.move_to_this_thread()
            except SceneDestroyedError:
                return None
        return entry

    def _meet(self, model: Any, data: Any) -> _Entry | None:
        """Make a scene of data that is stepped for the first time, or with another model."""
        known = self._known(data) or self._rebound(data)
        if known is None and not self.adopt_unknown:
            return None
        if known is not None and _fits(known.scene, model):
            return known
        module = self._adapter.module
        if not isinstance(model, module.MjModel) or not isinstance(data, module.MjData):
            return None  # MuJoCo says what is wrong with them
        self.open_first()
        if self._gate.idle:
            return None
        with self._lock:
            self._bury()
            if known is not None and known.scene is not None:
                _end(known.scene, "its data was stepped with another model")
            living = sum(entry.scene is not None for entry in self._entries.values())
            entry = self._enter(data, None)
            own = next((s for s in current_runtime().scenes if _data_of(s) is data), None)
            if own is not None:
                # A second scene would stop it twice.
                entry.own_scene = weakref.ref(own)
            elif living < MAX_SCENES:
                try:
                    entry.scene = self._make_scene(model, data)
                except Exception as error:  # the script must run on whatever we can't do
                    if is_of_handler(error):
                        raise
                    _log.warning("a simulation can't be shown and runs free", exc_info=True)
            self._count_unseen()
        return entry

    def _rebound(self, data: Any) -> _Entry | None:
        """Return a new entry of data that a known scene was rebound to by the script."""
        with self._lock:
            self._bury()
            for key, entry in self._entries.items():
                scene = entry.scene
                if scene is not None and _data_of(scene) is data:
                    if key != id(data):
                        del self._entries[key]
                        entry.scene = None
                        entry = self._enter(data, scene)
                    return entry
        return None

    def open_first(self) -> None:
        """Do what comes before the first step, if it was not done yet."""
        if self.before_first is None:
            return
        with self._first_lock:
            action = self.before_first
            if action is not None:
                try:
                    action()
                finally:
                    self.before_first = None

    def _enter(self, data: Any, scene: "Scene | None") -> _Entry:
        """Note data and its scene. Lock held."""
        key = id(data)

        def died(_: object) -> None:
            # Runs wherever the collector happens to run, maybe under a lock: only leave a note.
            self._dead.append((key, entry))
            if entry.scene is not None and _data_of(entry.scene) is None:
                entry.scene.link.close_soon()

        entry = _Entry(weakref.ref(data, died), scene)
        self._entries[key] = entry
        return entry

    def _count_unseen(self) -> None:
        """Tell the host how many living data were stepped and have no scene. Lock held."""
        host = current_runtime().host
        host.unseen_scenes = sum(
            entry.scene is None and not _is_shown(entry) for entry in self._entries.values()
        )
        host.wake()

    def _bury(self) -> None:
        """Forget the data that has died. Lock held."""
        while self._dead:
            key, entry = self._dead.popleft()
            if self._entries.get(key) is entry:
                del self._entries[key]
            if entry.scene is None:
                continue
            successor = _data_of(entry.scene)
            if successor is None:
                _end(entry.scene, "the script dropped its data")
            else:
                self._enter(successor, entry.scene)  # the script has rebound the scene


def _is_shown(entry: _Entry) -> bool:
    """Return whether the script itself has made a scene of this data, which lives."""
    own = entry.own_scene() if entry.own_scene is not None else None
    return own is not None and _data_of(own) is not None


def _open_step(entry: _Entry) -> HalfStepper | None:
    """Return the stepper of an application step of ``entry`` that has begun and not ended."""
    half_stepper, scene = entry.half_stepper, entry.scene
    if half_stepper is None or not half_stepper.is_open or scene is None:
        return None
    return half_stepper if half_stepper.world is scene.world else None


def _fits(scene: "Scene | None", model: Any) -> bool:
    return scene is not None and not scene.is_destroyed and scene.world.model is model


def _data_of(scene: "Scene") -> Any:
    """Return the data that a scene stands on; None when it has ended or its data has died."""
    try:
        return None if scene.is_destroyed else scene.world.live()
    except SceneDestroyedError:
        return None


def _end(scene: "Scene", reason: str) -> None:
    """End a scene that nobody steps any more, whoever owned it, and what records it."""
    scene.refuse(reason)
    scene.recorders.finish()
    _close(scene, reason)


def _close(scene: "Scene", reason: str) -> None:
    scene.end(reason)
    current_runtime().remove(scene)


def _mujoco_error(error: StepFailedError) -> BaseException:
    """Return the error that MuJoCo raised: the script knows nothing of ours."""
    return error.__cause__ or error
