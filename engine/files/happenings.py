"""Events and signals of a file, read once and gone on with while the file grows."""

import re
from collections.abc import Callable

import msgspec
import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.files.chunk_index import ChunkKind
from stroboscope.engine.files.frames import FileEvent
from stroboscope.engine.files.json_values import decode_event
from stroboscope.engine.files.limits import MOST_EVENTS, MOST_SAMPLES
from stroboscope.engine.files.low_rate import SampleList, Signal
from stroboscope.engine.files.low_rate_chunks import LowRateChunks, Message

__all__ = ["FileEvents", "FileSignals"]

_EVENTS = re.compile(r"/stroboscope/scene/(\d+)/events", re.ASCII)
_SIGNAL = re.compile(r"/stroboscope/scene/(\d+)/signals/(.*)", re.ASCII | re.DOTALL)

Note = Callable[[str, object], None]
"""Is told of a topic whose message can't be read, and why."""


class FileEvents:
    """The events of all scenes, in the order of the file."""

    def __init__(self, chunks: LowRateChunks, note: Note) -> None:
        self._chunks, self._note = chunks, note
        self._seen = self._count = 0
        self._by_scene: dict[int, list[FileEvent]] = {}

    def go_on(self, entries: NDArray[np.void]) -> None:
        """Read the chunks of ``entries`` that were not read yet."""
        new, self._seen = entries[self._seen :], len(entries)
        for messages in self._chunks.read(new, ChunkKind.EVENTS):
            for message in messages:
                self._take(message)

    def _take(self, message: Message) -> None:
        topic = _EVENTS.fullmatch(message.channel.topic)
        if topic is None:
            return
        self._count += 1
        if self._count > MOST_EVENTS:
            self._note(topic[0], f"there are more than {MOST_EVENTS:,} events")
            return
        try:
            event = decode_event(message.data)
        except ValueError as error:
            self._note(topic[0], error)
        else:
            self._by_scene.setdefault(int(topic[1]), []).append(event)

    def of(self, scene: int) -> tuple[FileEvent, ...]:
        """Return the events of a scene."""
        return tuple(self._by_scene.get(scene, ()))


class FileSignals:
    """The signals of all scenes by (scene, name), in the order in which they come up."""

    def __init__(self, chunks: LowRateChunks, note: Note) -> None:
        self._chunks, self._note = chunks, note
        self._seen = self._count = 0
        self._lists: dict[tuple[int, str], SampleList] = {}
        self._value_names: dict[tuple[int, str], tuple[str, ...]] = {}

    def go_on(self, entries: NDArray[np.void]) -> None:
        """Read the chunks of ``entries`` that were not read yet."""
        new, self._seen = entries[self._seen :], len(entries)
        for messages in self._chunks.read(new, ChunkKind.SIGNALS):
            self._take(messages)

    def _take(self, messages: list[Message]) -> None:
        by_topic: dict[str, list[Message]] = {}
        for message in messages:
            by_topic.setdefault(message.channel.topic, []).append(message)
        for topic, of_topic in by_topic.items():
            key = self._key_of(topic)
            if key is None:
                continue
            self._count += len(of_topic)
            if self._count > MOST_SAMPLES:
                self._note(topic, f"there are more than {MOST_SAMPLES:,} samples")
                return
            samples = self._lists.get(key)
            if samples is None:
                samples = self._lists[key] = SampleList()
                schema = of_topic[0].channel.schema
                self._value_names[key] = _value_names(schema[2]) if schema else ()
            for error in samples.add([message.data for message in of_topic]):
                self._note(topic, error)

    @staticmethod
    def _key_of(topic: str) -> tuple[int, str] | None:
        match = _SIGNAL.fullmatch(topic)
        return None if match is None else (int(match[1]), match[2])

    def names(self, scene: int) -> tuple[str, ...]:
        """Return the names of a scene's signals."""
        return tuple(name for of_scene, name in self._lists if of_scene == scene)

    def signal(self, scene: int, name: str) -> Signal:
        """Return the samples of a signal that is there."""
        return self._lists[scene, name].signal()

    def value_names(self, scene: int, name: str) -> tuple[str, ...]:
        """Return what its values are called; empty where they have no names."""
        return self._value_names[scene, name]


class _Value(msgspec.Struct):
    properties: dict[str, msgspec.Raw] = {}


class _Properties(msgspec.Struct):
    value: _Value


class _Schema(msgspec.Struct):
    properties: _Properties


def _value_names(schema: bytes) -> tuple[str, ...]:
    """Return the names of a signal's values, as its schema says; empty where it says none."""
    try:
        return tuple(msgspec.json.decode(schema, type=_Schema).properties.value.properties)
    except (msgspec.MsgspecError, RecursionError):
        return ()
