"""Conditions that are true where a scene stands: it will stop as soon as it steps.

That is seldom what somebody has meant who waits for something, so that they are told.
"""

import math
from typing import TYPE_CHECKING

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.expressions import expression_channel
from stroboscope.debugger_protocol.time_messages import ConditionInfo
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


def already_text(info: ConditionInfo, *, where: str = "") -> str:
    """Return what is told of a condition that is true already."""
    if info.hits > info.hit_count + 1:
        return f"is true already{where}: that will count as its first time at the next step"
    if info.log_only:
        return f"is true already{where}: it will be marked at the next step"
    return f"is true already{where}: the scene will stop at its next step"
