"""Decoded frames of one scene, kept so that one table never mixes two instants."""

import dataclasses
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.arrays import unpack_arrays
from stroboscope.debugger_protocol.messages import Frame
from stroboscope.debugger_protocol.topics import Instant, Topic

__all__ = ["FrameHistory", "FrameSet", "SceneFrame"]

# Frames of several topics arrive one by one; this many are kept to find a matching set.
_KEPT = 4


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SceneFrame:
    """The values of one topic at one instant; arrays are read-only, shapes as in ``topics``."""

    topic: Topic
    instant: Instant
    revision: int
    axis: int
    step: int
    time: float
    arrays: Mapping[str, NDArray[np.generic]]
    notes: tuple[str, ...] = ()

    @classmethod
    def decode(cls, frame: Frame) -> "SceneFrame":
        """Decode a message; raises InvalidMessage when its table is not true."""
        return cls(
            topic=frame.topic,
            instant=frame.instant,
            revision=frame.revision,
            axis=frame.axis,
            step=frame.step,
            time=frame.time,
            arrays=unpack_arrays(frame.arrays, frame.blob),
            notes=frame.notes,
        )

    @property
    def key(self) -> tuple[int, int, int, float]:
        """What two frames of the same instant have in common."""
        return (self.revision, self.axis, self.step, self.time)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FrameSet:
    """Frames of several topics, all of one instant."""

    instant: Instant
    axis: int
    step: int
    time: float
    frames: Mapping[Topic, SceneFrame]

    def array(self, topic: Topic, name: str) -> NDArray[np.float64] | None:
        """Return one array as float64, or None when it did not come."""
        frame = self.frames.get(topic)
        if frame is None or name not in frame.arrays:
            return None
        return np.asarray(frame.arrays[name], dtype=np.float64)

    @property
    def notes(self) -> tuple[str, ...]:
        """Everything the engine says about these values, without repetition."""
        seen = dict.fromkeys(n for frame in self.frames.values() for n in frame.notes)
        return tuple(seen)


class FrameHistory:
    """The last few frames per topic of one instant kind."""

    def __init__(self, instant: Instant) -> None:
        self._instant = instant
        self._frames: dict[Topic, list[SceneFrame]] = {}

    def add(self, frame: SceneFrame) -> None:
        """Keep ``frame``, newest last."""
        kept = self._frames.setdefault(frame.topic, [])
        kept.append(frame)
        del kept[:-_KEPT]

    def latest(self, topic: Topic) -> SceneFrame | None:
        """Return the newest frame of a topic."""
        kept = self._frames.get(topic)
        return kept[-1] if kept else None

    def clear(self) -> None:
        """Forget everything, because the model changed or the state was replaced."""
        self._frames.clear()

    def keep_only(self, axis: int) -> None:
        """Forget the frames of other instants than that one."""
        kept = {
            topic: [frame for frame in frames if frame.axis == axis]
            for topic, frames in self._frames.items()
        }
        self._frames = {topic: frames for topic, frames in kept.items() if frames}

    def forget(self, topic: Topic) -> None:
        """Forget a topic that is no longer subscribed."""
        self._frames.pop(topic, None)

    def newest_set(self, topics: Iterable[Topic]) -> FrameSet | None:
        """Return the newest instant at which *all* ``topics`` are known, or None."""
        wanted = tuple(topics)
        if not wanted:
            return None
        by_key = [{frame.key: frame for frame in self._frames.get(topic, ())} for topic in wanted]
        for frame in reversed(self._frames.get(wanted[0], ())):
            if all(frame.key in known for known in by_key):
                return FrameSet(
                    instant=self._instant,
                    axis=frame.axis,
                    step=frame.step,
                    time=frame.time,
                    frames={
                        topic: known[frame.key] for topic, known in zip(wanted, by_key, strict=True)
                    },
                )
        return None
