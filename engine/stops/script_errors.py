"""Stopping for an exception of the script: held where it was raised, before it goes on."""

import contextlib
import time
from typing import TYPE_CHECKING

from stroboscope.debugger_protocol.host.script_end import describe_error, error_location
from stroboscope.debugger_protocol.signal_handlers import is_of_handler
from stroboscope.debugger_protocol.time_messages import StopInfo, StopReason
from stroboscope.engine.callbacks import Event
from stroboscope.engine.errors import EngineError

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene

__all__ = ["hold_for_error"]

_TOLD = "_stroboscope_has_stopped_for_this"


def hold_for_error(scene: "Scene", error: Exception, reason: StopReason) -> None:
    """Stop ``scene`` here for an exception of the script, once, and return to let that go on.

    ``CALLBACK``: raised by a callback around a step; ``SCRIPT_ERROR``: about to end the script.
    Returns when a client lets the scene go on, at once where none holds it, and on Ctrl+C when the
    script ends anyway.
    """
    if isinstance(error, EngineError) or getattr(error, _TOLD, False):
        return
    if reason is StopReason.CALLBACK and is_of_handler(error):
        return  # what a handler of a signal has raised is no error of what it came into
    with contextlib.suppress(AttributeError, TypeError):
        setattr(error, _TOLD, True)
    stops, link = scene.stops, scene.link
    if reason in stops.off or not link.active:
        return
    stop = _stop_for(scene, error, reason)
    stops.note(stop)
    scene.recorders.note_failure(error)
    scene.callbacks.run(Event.STOP, scene)
    try:
        with contextlib.suppress(EngineError):
            link.stop_here(stop, error_location(error))
    except KeyboardInterrupt:
        if reason is StopReason.CALLBACK:
            raise  # whoever catches the callback's exception would go on


def _stop_for(scene: "Scene", error: Exception, reason: StopReason) -> StopInfo:
    counters, where = scene.counters, error_location(error)
    place = f" ({where})" if where else ""
    if reason is StopReason.CALLBACK:
        message = f"a callback of the script raised {describe_error(error)}{place}"
        advice = "Play lets the exception go on to the caller of the step"
    else:
        message = f"the script is about to end with {describe_error(error)}{place}"
        advice = "The scene stays as the exception left it until Play lets the script end"
    return StopInfo(
        stop_id=0,
        reason=reason,
        axis=counters.axis,
        episode=scene.history.episode,
        step=counters.step_count,
        physics_step=counters.physics_step_count,
        time=float(scene.world.live().time),
        message=message,
        culprit=f"the script at {where}" if where else "the script",
        advice=advice,
        wall_time=time.time(),
        is_before_step=True,
    )
