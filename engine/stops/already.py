"""Conditions that are true where a scene stands: what comes of them as soon as it steps.

That is seldom what somebody has meant who waits for something, so that they are told.
"""

import math
from typing import TYPE_CHECKING

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.expressions import expression_channel
from stroboscope.debugger_protocol.time_messages import ConditionInfo, StopReason
from stroboscope.engine.channel_readers import READ_BEFORE
from stroboscope.engine.expression_channels import ExpressionChannel
from stroboscope.engine.stops.watched import Watcher

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene

__all__ = ["already_text", "is_true_now"]


def is_true_now(scene: "Scene", text: str, watcher: Watcher) -> bool:
    """Return whether a condition holds where the scene stands, recomputed on scratch data.

    False where that can't be known: of what speaks of earlier steps, and where it would call the
    script's callbacks.
    """
    world = scene.world
    try:
        channel = ExpressionChannel(
            expression_channel(text),
            scope=watcher.scope,
            inputs=frozenset(READ_BEFORE),
            make_reader=watcher.readers.reader,
        )
    except CommandError:
        return False
    row, _ = world.codec.read_row()
    source = world.frames.recompute(row) if channel.reads_after else world.live()
    if source is None:
        return False
    watcher.readers.row = row
    channel.before(source)
    value = float(channel.after(source)[0])
    return value != 0.0 and not math.isnan(value)


def already_text(
    scene: "Scene", info: ConditionInfo, *, guards_detached: bool, where: str = ""
) -> str:
    """Return what is told of a condition that is true already: what will come of that.

    ``guards_detached``: whether the scene's steps are looked at although nothing is attached.
    """
    true = f"is true already{where}"
    link, stops = scene.link, scene.stops
    if not link.active and not guards_detached:
        return (
            f"{true}, but nothing looks at it now: a debugger that is attached does, and a script "
            "that asks for raise_on_stop, on_stop() or keep_history()"
        )
    if StopReason.CONDITION in stops.off:
        return f"{true}: that will only be counted, as the rule “condition” is off"
    times = info.hit_count + 1
    if times < info.hits:
        count = "as its first time" if times == 1 else f"as time {times} of {info.hits}"
        return f"{true}: that will count {count} at the next step"
    if info.log_only:
        return f"{true}: it will be told at the next step"
    goes_on = link.past.stops.why_it_goes_on()
    if not goes_on:
        return f"{true}: the scene will stop at its next step"
    if stops.raise_on_stop and not link.active:
        return f"{true}: the next step will raise SimulationStopped"
    return f"{true}: it will be marked at the next step; nothing holds the scene: {goes_on}"
