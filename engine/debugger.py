"""Attach a debugger to this process; reached as ``physics.debugger``.

    if physics.debugger.attach():
        while physics.debugger.is_attached():
            scene.step()

Every function may be called from any thread.
"""

import enum
import functools
import os
import sys
import threading
from typing import Any, TypeVar

from stroboscope.debugger_protocol.host.server import OnDisconnect
from stroboscope.debugger_protocol.messages import LogLevel, PlaybackMode
from stroboscope.debugger_protocol.time_messages import StopReason
from stroboscope.engine.arguments import checked_port, flag, number, shown
from stroboscope.engine.creation import adopt_scene, checked_scene_name
from stroboscope.engine.debug_server import DebugServerHandle
from stroboscope.engine.debug_session import DebugSession
from stroboscope.engine.instrument.environments import simulation_of
from stroboscope.engine.instrument.model_files import scene_name
from stroboscope.engine.runtime import current_runtime, is_initialized
from stroboscope.engine.scene import Scene
from stroboscope.engine.stops.script_errors import hold_for_error

__all__ = [
    "DebugServerHandle",
    "attach",
    "breakpoint",
    "detach",
    "get_debug_server",
    "is_attached",
    "listen",
    "watch",
    "watch_all",
]


@functools.cache
def the_session() -> DebugSession:
    """Return this process's one debug session."""
    return DebugSession()


def attach(
    timeout_seconds: float = 5.0,
    *,
    launch: bool = True,
    mode: str = "paused",
    on_disconnect: str = "continue",
) -> bool:
    """Open the window beside this script, or reach the open one, and wait until it is connected.

    Returns True when a debugger is there: the next step of every scene then obeys it. Returns
    False as soon as that can't be (no display, no window installed, the window died), or after
    ``timeout_seconds`` in which nothing was heard of it (a window that is still loading is alive,
    up to a minute); the reason is logged, and the script runs as if it had not asked. While a
    debugger is attached, a second call returns True at once and changes nothing.

    ``launch=False`` opens no window and waits for any client. ``mode`` is how the session begins:
    ``"paused"``, ``"playing"`` or ``"fast_forward"``. ``on_disconnect``: ``"continue"`` lets
    paused scenes go on when the controlling client has gone, ``"hold"`` keeps them for a
    reconnect. Raises ValueError for other words or a timeout that is negative or NaN.
    """
    seconds = number(timeout_seconds, "timeout_seconds")
    if not seconds >= 0.0:
        raise ValueError(
            f"timeout_seconds must be 0 or more (math.inf: no limit), not {shown(timeout_seconds)}"
        )
    return the_session().attach(
        seconds,
        launch=flag(launch, "launch"),
        mode=_one_of(PlaybackMode, "mode", mode),
        on_disconnect=_one_of(OnDisconnect, "on_disconnect", on_disconnect),
    )


def is_attached() -> bool:
    """Return whether any debugger is connected."""
    return the_session().is_attached()


def detach() -> None:
    """Part from the debugger; every parked step returns. A new ``attach`` is a new session."""
    the_session().detach()


def listen(port: int = 0) -> None:
    """Let debuggers join at any time, without waiting for one.

    They come as observers and change nothing, until one asks for control. Harmless while a
    session is open. Raises OSError when ``port`` is taken (0: a free one).
    """
    the_session().listen(checked_port(port))


def get_debug_server() -> DebugServerHandle:
    """Return the debug server of this process, started or not."""
    return DebugServerHandle(the_session())


def breakpoint(reason: str = "") -> None:
    """Stop the calling thread here until the debugger lets it go on; nothing when detached.

    It stops in the scene that this thread has stepped last. The window shows ``reason`` and the
    file and line of the call.
    """
    if not is_attached() or not is_initialized():
        return
    caller = sys._getframe(1)
    location = f"{os.path.basename(caller.f_code.co_filename)}:{caller.f_lineno}"
    _stop(reason or "breakpoint", location)


def hold_at_exception(error: Exception) -> None:
    """Stop the calling thread in the scene that it stepped last: ``error`` ends the script.

    Returns when the debugger lets it go on, and on Ctrl+C.
    """
    scene = current_runtime().last_stepped() if is_attached() and is_initialized() else None
    if scene is not None:
        hold_for_error(scene, error, StopReason.SCRIPT_ERROR)


def hold_at_end() -> None:
    """Stop in the scene that this thread has stepped last, if clients want that: all is over.

    Returns when the debugger lets it go on or has gone, and on Ctrl+C.
    """
    the_session().hold_at_end()


def _stop(reason: str, location: str) -> None:
    host, scene = current_runtime().host, current_runtime().last_stepped()
    if scene is not None:
        scene.pause_at(reason, location)
    else:
        thread = threading.current_thread()
        text = f"a breakpoint did not stop: thread {thread.name!r} owns no scene ({reason})"
        host.log(LogLevel.WARNING, text, source=location)


def watch(env_or_model: Any, data: Any = None, name: str | None = None) -> Scene:
    """Make a scene of what the script steps itself, and return it.

    ``watch(model, data)`` is ``create_scene(name, model, data=data)``: step it with
    ``scene.step()``, or call ``mj_step`` and ``scene.sync()``; under ``stroboscope run`` and after
    :func:`watch_all`, ``mj_step`` alone does. ``watch(env)`` takes a Gymnasium
    or dm_control environment: ``env.step()`` then steps the scene by itself. The calling thread
    owns the scene. Raises TypeError when there is no MuJoCo simulation in what was given.
    """
    if name is not None:
        name = checked_scene_name(name)
    if data is not None:
        return adopt_scene(name or scene_name(env_or_model, file=None), env_or_model, data)
    model, data = simulation_of(env_or_model)
    instrumentation = the_session().instrumentation
    instrumentation.install(adopt_unknown=False)
    return instrumentation.watch(model, data, name=name)


def watch_all() -> None:
    """Make a scene of every MuJoCo simulation that this process steps from now on.

    Call it first thing: it wraps ``mujoco.mj_step`` and its relatives, also where modules have
    imported them by name already; references kept elsewhere, and native ``rollout`` and batch
    calls, run unseen. Raises MujocoUnavailableError without MuJoCo.
    """
    the_session().instrumentation.install(adopt_unknown=True)


_Word = TypeVar("_Word", bound=enum.StrEnum)


def _one_of(kind: type[_Word], argument: str, value: str) -> _Word:
    try:
        return kind(value)
    except ValueError:
        allowed = ", ".join(repr(each.value) for each in kind)
        raise ValueError(f"{argument} must be one of {allowed}, not {shown(value)}") from None
