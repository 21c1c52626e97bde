"""How a plotted signal or a number of a table is written in an expression."""

from stroboscope.app.models.derived_signals import sources_of
from stroboscope.debugger_protocol.expressions import (
    channel_reference,
    expression_text,
    is_expression,
)
from stroboscope.debugger_protocol.scene_description import ChannelInfo

__all__ = ["signal_reference"]


def signal_reference(channel: str, info: ChannelInfo | None, component: int) -> str:
    """Return the expression of one component of a channel; "" where there is none.

    Signals that are made in the window (derivatives, filters) can't be written.
    """
    if is_expression(channel):
        width = info.width if info is not None else 1
        text = expression_text(channel)
        return f"({text})[{component}]" if width > 1 else f"({text})"
    if info is None or len(sources_of(channel)) > 1:
        return ""
    return channel_reference(info, component)
