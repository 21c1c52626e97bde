"""What a chunk held that can't be read: the index of its messages behind it says how many."""

import re
import struct
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from stroboscope.engine.counted import counted
from stroboscope.engine.files.container import Opcode
from stroboscope.engine.files.source import ByteSource

__all__ = [
    "LostMessages",
    "content_of_topic",
    "how_many",
    "indexed_messages",
    "lost_in_words",
    "messages_in_words",
]

# Opcode, length, channel, bytes of the places that follow: a log time and a place each.
_HEAD: Final = struct.Struct("<BQHI")
_PLACE_BYTES: Final = 16
_OPCODE_AND_LENGTH: Final = 9
_MOST_CHANNELS: Final = 0xFFFF
_OWN: Final = re.compile(
    r"/stroboscope/scene/(\d{1,10})/(?:events|signals/(.*))", re.ASCII | re.DOTALL
)


class LostMessages(NamedTuple):
    """So many messages of a topic, logged from ``first`` to ``last`` [ns].

    The topic is empty where what declares it is lost, too.
    """

    topic: str
    number: int
    first: int
    last: int


def indexed_messages(source: ByteSource, behind: int) -> dict[int, tuple[int, int, int]]:
    """Return by channel how many messages a chunk has that ends at ``behind``, and their times.

    Nothing of it is protected by a checksum: it is believed as far as it makes sense.
    """
    found: dict[int, tuple[int, int, int]] = {}
    while behind + _HEAD.size <= source.size and len(found) < _MOST_CHANNELS:
        opcode, length, channel, nbytes = _HEAD.unpack(source.read(behind, _HEAD.size))
        end = behind + _OPCODE_AND_LENGTH + length
        is_whole = length == nbytes + _HEAD.size - _OPCODE_AND_LENGTH and end <= source.size
        if opcode != Opcode.MESSAGE_INDEX or not is_whole or nbytes % _PLACE_BYTES:
            break
        if nbytes:
            first = source.read(behind + _HEAD.size, 8)
            last = source.read(end - _PLACE_BYTES, 8)
            times = (int.from_bytes(first, "little"), int.from_bytes(last, "little"))
            found[channel] = (nbytes // _PLACE_BYTES, *times)
        behind = end
    return found


def content_of_topic(topic: str) -> tuple[int, str]:
    """Return which scene messages of a topic are of, and which signal; "": they are events.

    -1: of none: they are for other tools.
    """
    own = _OWN.fullmatch(topic)
    return (-1, "") if own is None else (int(own[1]), own[2] or "")


def messages_in_words(counts: Mapping[str, int], of: Mapping[str, int]) -> list[str]:
    """Return what messages of topics are: "3 of 4 events", "all 9 values of 'reward'".

    ``of``: how many there were.
    """
    others = others_there = 0
    words = []
    for topic in sorted(of, key=content_of_topic):
        scene, signal = content_of_topic(topic)
        count, there = counts.get(topic, 0), of[topic]
        if scene < 0:
            others, others_there = others + count, others_there + there
        else:
            words.append(how_many(count, there, _what(signal)))
    if others_there:
        words.append(how_many(others, others_there, _FOR_OTHERS))
    return words


def lost_in_words(lost: Iterable[LostMessages], names: Mapping[int, str]) -> str:
    """Return what is lost, of which scenes: by their ``names``, else by their numbers."""
    by_scene: dict[int, list[str]] = {}
    others = unknown = 0
    total: Counter[str] = Counter()
    for each in lost:
        total[each.topic] += each.number
    for topic in sorted(total, key=content_of_topic):
        scene, signal = content_of_topic(topic)
        if not topic:
            unknown += total[topic]
        elif scene < 0:
            others += total[topic]
        else:
            by_scene.setdefault(scene, []).append(_counted(total[topic], _what(signal)))
    words = [
        f"{', '.join(told)} of {names.get(scene, f'scene {scene}')}"
        for scene, told in by_scene.items()
    ]
    words += [_counted(others, _FOR_OTHERS)] if others else []
    words += [_counted(unknown, _UNKNOWN)] if unknown else []
    return "; ".join(words)


_FOR_OTHERS: Final = "message for other tools"
_UNKNOWN: Final = "message of which nothing else is known"


def _what(signal: str) -> str:
    return f"value of {signal!r}" if signal else "event"


def _counted(count: int, what: str) -> str:
    noun, space, rest = what.partition(" ")
    return f"{counted(count, noun)}{space}{rest}"


def how_many(count: int, there: int, what: str) -> str:
    """Return "3 of 4 events", "all 4 events", "1 event"."""
    if count == there:
        return f"{'all ' if there > 1 else ''}{_counted(there, what)}"
    return f"{count:,} of {_counted(there, what)}"
