"""A recorded run as a file that Foxglove, PlotJuggler and others show: transforms, scene, signals.

JSON with its schema throughout, so that nothing has to be installed to read it, and one clock: the
time of recording, because simulation time goes back with every reset.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

from stroboscope.engine.files.atomic import replacing
from stroboscope.engine.files.compression import needed
from stroboscope.engine.files.low_rate import MessageSchema
from stroboscope.engine.foxglove_messages import (
    LOG,
    SCENE,
    TRANSFORMS,
    SceneMessages,
    encoded,
    log_message,
    schema_of,
)
from stroboscope.engine.trajectory.part import axes_meant
from stroboscope.engine.trajectory.trajectory import Trajectory
from stroboscope.engine.trajectory.unknown_frames import UnknownFrames

__all__ = ["write_foxglove"]

# Transforms are written this often at most [Hz]; signals of every step.
_TRANSFORMS_HZ: Final = 60.0
Progress = Callable[[float], None]
Json = dict[str, Any]


def _nobody(_done: float) -> None:
    """Report to nobody."""


def write_foxglove(
    trajectory: Trajectory,
    target: str | os.PathLike[str],
    *,
    frames: range | None = None,
    progress: Progress = _nobody,
) -> Path:
    """Write ``/tf``, ``/scene``, ``/signals``, ``/signals/NAME`` and ``/log``.

    ``/signals``: position and velocity of each joint and control of each actuator by name, of
    every frame, or of ``frames`` with what happened meanwhile. The file is there as a whole or not
    at all. Raises FileError and its kinds.
    """
    frames = range(len(trajectory)) if frames is None else frames
    with replacing(target) as part, part.open("wb") as file:
        _Export(trajectory, frames, file).run(progress)
    return Path(target)


class _Export:
    """One export under way."""

    def __init__(self, trajectory: Trajectory, frames: range, file: IO[bytes]) -> None:
        self._trajectory = trajectory
        self._frames = frames
        world = trajectory.scene.world
        self._messages = SceneMessages(world.model, adapter=world.adapter)
        manifest = trajectory.manifest
        self._origin = round(manifest.created * 1e9) - manifest.clock
        self._writer = needed("mcap.writer").Writer(file)
        self._channels: dict[str, int] = {}

    def run(self, progress: Progress) -> None:
        """Write everything."""
        self._writer.start(profile="", library="stroboscope")
        trajectory, messages, frames = self._trajectory, self._messages, self._frames
        first = trajectory.wall(frames[0])
        first_axis, last_axis = axes_meant(trajectory, frames)
        self._send("/scene", SCENE, first, messages.scene_update(self._time(first)))
        for event in trajectory.events:
            if not first_axis <= event.axis <= last_axis:
                continue
            time = self._time(event.wall)
            self._send("/log", LOG, event.wall, log_message(event, time, name=trajectory.name))
        due = float("-inf")
        unknown = UnknownFrames(trajectory, instead="they are left out")
        for done, index in enumerate(frames):
            if not done % 256:
                progress(done / len(frames))
            frame = trajectory.frame(index)
            if unknown.has(index, frame.note):
                continue
            if frame.wall * 1e-9 >= due or index == frames[-1]:
                due = frame.wall * 1e-9 + 1.0 / _TRANSFORMS_HZ
                poses = messages.transforms(frame.row, self._time(frame.wall))
                self._send("/tf", TRANSFORMS, frame.wall, poses)
            self._send("/signals", "stroboscope.Signals", frame.wall, messages.signals(frame.row))
        unknown.tell()
        self._logged()
        self._writer.finish()
        progress(1.0)

    def _send(self, topic: str, schema: MessageSchema | str, wall: int, content: Json) -> None:
        """Write a message; a schema that is only named is made of the topic's first one."""
        channel = self._channels.get(topic)
        if channel is None:
            name, encoding, text = schema_of(schema, content) if isinstance(schema, str) else schema
            number = self._writer.register_schema(name, encoding, text)
            channel = self._writer.register_channel(topic, "json", number)
            self._channels[topic] = channel
        time = self._time(wall)
        self._writer.add_message(channel, time, encoded(content), time)

    def _time(self, wall: int) -> int:
        return max(self._origin + wall, 0)

    def _logged(self) -> None:
        """Write what the script has logged, each at the time of its step."""
        trajectory = self._trajectory
        first, last = axes_meant(trajectory, self._frames)
        axes = np.array([trajectory.axis(index) for index in self._frames])
        for name, signal in trajectory.signals.items():
            parts = trajectory.signal_names(name)
            part = (signal.axes >= first) & (signal.axes <= last)
            values = signal.values.reshape(len(signal.axes), -1)[part]
            places = np.clip(np.searchsorted(axes, signal.axes[part]), 0, len(axes) - 1)
            frames = self._frames.start + places
            for frame, row in zip(frames.tolist(), values.tolist(), strict=True):
                words = parts or tuple(map(str, range(len(row))))
                content: Json = (
                    {"value": _number(row[0])}
                    if len(row) == 1
                    else {word: _number(value) for word, value in zip(words, row, strict=True)}
                )
                self._send(
                    f"/signals/{name}", f"stroboscope.{name}", trajectory.wall(frame), content
                )


def _number(value: float) -> float | None:
    """Return a number as JSON has it: none where it is not finite."""
    return value if np.isfinite(value) else None
