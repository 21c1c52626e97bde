"""Channels that a script logs: how they are opened, checked and announced."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.host.signals import UserChannel
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.scene_description import ChannelInfo, ChannelKind

__all__ = ["channel_info", "check_channel_name", "open_channel"]


def open_channel(
    channel: str,
    row: NDArray[np.float64],
    names: Sequence[str] | None,
    *,
    number: int,
    limits: Limits,
) -> UserChannel:
    """Return a scene's channel ``number`` for rows like ``row``, (width,); ValueError if it can't.

    ``names`` label the columns.
    """
    check_channel_name(channel, limit=limits.name_bytes)
    for label in names or ():
        check_channel_name(label, limit=limits.name_bytes)
    if names is not None and len(names) != row.size:
        raise ValueError(f"channel {channel!r}: {len(names)} names for {row.size} values")
    if not 1 <= row.size <= limits.channel_width:
        raise ValueError(
            f"channel {channel!r}: a vector has 1…{limits.channel_width} values, "
            f"this one has {row.size}"
        )
    if number >= limits.channels:
        raise ValueError(
            f"a scene logs at most {limits.channels} channels: log vectors, or fewer names; "
            f"{channel!r} is one too many"
        )
    return UserChannel(channel, width=row.size, names=names or (), number=number)


def check_channel_name(name: str, *, limit: int) -> None:
    """Raise ValueError unless ``name`` can be subscribed: Unicode of 1 to ``limit`` bytes."""
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        raise ValueError(f"a channel's name must be Unicode text, not {name!a}") from None
    if not 1 <= size <= limit:
        raise ValueError(
            f"a channel's name has 1…{limit} bytes of UTF-8, {name[:40]!r}… has {size}"
        )


def channel_info(channel: UserChannel) -> ChannelInfo:
    """Return how a user channel is announced."""
    return ChannelInfo(
        name=channel.name, width=channel.width, names=channel.names, kind=ChannelKind.USER
    )
