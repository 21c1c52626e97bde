"""Numbers: what a client asks for, the frames of each topic that come of it, and assets."""

import msgspec

from stroboscope.debugger_protocol.message_base import Command, Message
from stroboscope.debugger_protocol.topics import Instant, Topic

__all__ = [
    "ArrayEntry",
    "AssetChunk",
    "AssetRequest",
    "Frame",
    "Subscribe",
    "Unsubscribe",
]


class Subscribe(Command, frozen=True, kw_only=True, tag="subscribe"):
    """Ask for topics of a scene; adds to what is subscribed. ``channels`` belong to SIGNALS."""

    scene_id: int
    topics: tuple[Topic, ...]
    channels: tuple[str, ...] = ()
    max_rate_hz: float = 60.0


class Unsubscribe(Command, frozen=True, kw_only=True, tag="unsubscribe"):
    """Stop topics, or single channels of SIGNALS when ``channels`` is not empty."""

    scene_id: int
    topics: tuple[Topic, ...]
    channels: tuple[str, ...] = ()


class ArrayEntry(msgspec.Struct, frozen=True, array_like=True):
    """Where one array stands in a blob. ``dtype`` is NumPy's, as in ``<f8``."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int


class Frame(Message, frozen=True, kw_only=True, tag="frame"):
    """Values of one topic at one instant; the arrays stand in ``blob``, 8-byte aligned.

    ``axis``, ``step``, ``time`` are those of the instant. ``dropped`` counts frames of this topic
    that this client missed since the last one it got; for signals, lost rows (an explicit gap
    before the first row). ``notes`` say what the numbers can't ("forces not computed: …").
    """

    scene_id: int
    topic: Topic
    instant: Instant
    revision: int
    axis: int
    step: int
    time: float
    dropped: int
    arrays: tuple[ArrayEntry, ...]
    blob: bytes
    notes: tuple[str, ...] = ()


class AssetRequest(Command, frozen=True, kw_only=True, tag="asset_request"):
    """Ask for a range of an asset by content hash; answered by AssetChunk, or Failed."""

    digest: str
    offset: int = 0


class AssetChunk(Message, frozen=True, kw_only=True, tag="asset_chunk"):
    """A range of an asset: a table of ArrayEntry (msgpack) and blob, hashed as a whole."""

    id: int
    digest: str
    offset: int
    total: int
    data: bytes
