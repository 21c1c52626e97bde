"""Events and signals as JSON messages that other tools read, and back."""

import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.files.json_values import number_of, word_of

__all__ = [
    "EVENT_SCHEMA",
    "MessageSchema",
    "SampleList",
    "Signal",
    "encode_samples",
    "events_topic",
    "signal_schema",
    "signal_topic",
    "state_topic",
]


class MessageSchema(NamedTuple):
    """What messages of a channel are made of: ``encoding`` is "jsonschema", "protobuf", …"""

    name: str
    encoding: str
    data: bytes


class Signal(NamedTuple):
    """Samples of one signal: ``axes`` (n,) physics steps ever taken, ``times`` (n,) simulation
    time [s], ``values`` (n,) or (n, k)."""

    axes: NDArray[np.int64]
    times: NDArray[np.float64]
    values: NDArray[np.float64]


def state_topic(scene: int) -> str:
    """Return the topic of a scene's blocks."""
    return f"/stroboscope/scene/{scene}/state"


def events_topic(scene: int) -> str:
    """Return the topic of a scene's events."""
    return f"/stroboscope/scene/{scene}/events"


def signal_topic(scene: int, name: str) -> str:
    """Return the topic of a signal."""
    return f"/stroboscope/scene/{scene}/signals/{name}"


def _schema(name: str, properties: Mapping[str, object]) -> MessageSchema:
    text = json.dumps({"title": name, "type": "object", "properties": properties})
    return MessageSchema(name, "jsonschema", text.encode())


_INTEGER, _NUMBER, _STRING = {"type": "integer"}, {"type": "number"}, {"type": "string"}

EVENT_SCHEMA = _schema(
    "stroboscope.Event",
    {
        "kind": _STRING,
        "axis": _INTEGER,
        "scene": _INTEGER,
        "time": _NUMBER,
        "wall": _INTEGER,
        "text": _STRING,
        "episode": _INTEGER,
        "parent_axis": _INTEGER,
        "physics_step": _INTEGER,
        "step_count": _INTEGER,
        "total_steps": _INTEGER,
        "data": {"type": "object"},
    },
)


def signal_schema(width: int | None, names: Sequence[str]) -> MessageSchema:
    """Return the schema of samples of one number (``width`` None), or of so many."""
    value: dict[str, object] = {"type": "array", "items": _NUMBER}
    if width is None:
        value = dict(_NUMBER)
    elif names:
        value = {"type": "object", "properties": {name: _NUMBER for name in names}}
    return _schema("stroboscope.Sample", {"axis": _INTEGER, "time": _NUMBER, "value": value})


_Number = float | str


class _Sample(msgspec.Struct):
    axis: int
    time: _Number
    value: float | str | list[_Number] | dict[str, _Number]


_samples_decoder = msgspec.json.Decoder(list[_Sample])


def encode_samples(
    axes: NDArray[np.int64],
    times: NDArray[np.float64],
    values: NDArray[np.float64],
    names: Sequence[str],
) -> Iterator[bytes]:
    """Yield the message of each sample."""
    for axis, time, value in zip(axes.tolist(), times.tolist(), values.tolist(), strict=True):
        if not isinstance(value, list):
            content: object = word_of(value)
        elif names:
            content = dict(zip(names, map(word_of, value), strict=True))
        else:
            content = list(map(word_of, value))
        yield msgspec.json.encode({"axis": axis, "time": word_of(time), "value": content})


class SampleList:
    """Samples of one signal as they come; the first one says how many values each has."""

    def __init__(self) -> None:
        self._axes, self._times, self._values = array("q"), array("d"), array("d")
        self._shape: tuple[int, ...] | None = None
        self._signal: Signal | None = None

    def add(self, messages: Sequence[bytes]) -> list[ValueError]:
        """Take messages; return what is wrong with those that are no samples of this shape."""
        try:
            self._add(messages)
        except ValueError:
            errors = []
            for message in messages:  # one by one, to leave out those that are wrong
                try:
                    self._add([message])
                except ValueError as error:
                    errors.append(error)
            return errors
        return []

    def _add(self, messages: Sequence[bytes]) -> None:
        """Take all messages, or raise ValueError and take none."""
        try:
            samples = _samples_decoder.decode(b"[" + b",".join(messages) + b"]")
        except (msgspec.MsgspecError, RecursionError) as error:
            raise ValueError(f"it is no sample ({error})") from error
        if len(samples) != len(messages):
            raise ValueError("it is no sample, but several")
        axes, times, values = array("q"), array("d"), array("d")
        shape = self._shape
        for sample in samples:
            if not -(1 << 63) <= sample.axis < 1 << 63:
                raise ValueError(f"it is of axis {sample.axis}")
            axes.append(sample.axis)
            times.append(number_of(sample.time))
            value = sample.value
            if isinstance(value, float | str):
                its_shape: tuple[int, ...] = ()
                values.append(number_of(value))
            else:
                numbers = value if isinstance(value, list) else value.values()
                its_shape = (len(value),)
                values.extend(map(number_of, numbers))
            if shape is None:
                shape = its_shape
            if its_shape != shape:
                raise ValueError(f"it has values of shape {its_shape}, those before {shape}")
        self._shape, self._signal = shape, None
        self._axes += axes
        self._times += times
        self._values += values

    def signal(self) -> Signal:
        """Return all samples."""
        if self._signal is None:
            values = np.array(self._values, dtype=np.float64)
            self._signal = Signal(
                np.array(self._axes, dtype=np.int64),
                np.array(self._times, dtype=np.float64),
                values.reshape(len(self._axes), *(self._shape or ())),
            )
            for each in self._signal:
                each.setflags(write=False)
        return self._signal
