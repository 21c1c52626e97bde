"""How many segments of a scene's past one message tells, and what becomes of those that wait.

Only the newest few of a long history are told again and again; clients remember the older ones,
which they are told once. So what is told once must not be lost on its way.
"""

import bisect
from typing import Final

import msgspec

from stroboscope.debugger_protocol.time_messages import SceneHistory, Segment

__all__ = ["MOST_SEGMENTS", "join_histories", "newest_segments"]

MOST_SEGMENTS: Final = 50_000
"""Segments of a scene that clients are told and remember: a training run resets many times."""

# Half of the largest message: there is more in it. A segment has its text beside its numbers.
_MOST_BYTES: Final = 8 << 20
_BYTES_OF_NUMBERS: Final = 160


def newest_segments(segments: tuple[Segment, ...]) -> tuple[Segment, ...]:
    """Return the newest segments that one message may hold: all of them, nearly always."""
    newest = segments[-MOST_SEGMENTS:]
    nbytes = 0
    for place in range(len(newest) - 1, -1, -1):
        nbytes += _BYTES_OF_NUMBERS + len(newest[place].text.encode())
        if nbytes > _MOST_BYTES:
            return newest[place + 1 :]
    return newest


def join_histories(waiting: SceneHistory, newer: SceneHistory) -> SceneHistory:
    """Return what to send instead of both: the newer one, with what only the other tells."""
    if not newer.older_segments or not newer.segments:
        return newer
    known = waiting.segments
    at = bisect.bisect_left(known, newer.segments[0].segment_id, key=lambda each: each.segment_id)
    older = known[max(0, at - newer.older_segments) : at]
    segments = newest_segments((*older, *newer.segments))
    left_out = newer.older_segments - (len(segments) - len(newer.segments))
    return msgspec.structs.replace(newer, segments=segments, older_segments=left_out)
