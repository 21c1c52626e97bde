"""A recorded run as a file that Foxglove, PlotJuggler and others show: transforms, scene, signals.

JSON with its schema throughout, so that nothing has to be installed to read it, and one clock: the
time of recording, because simulation time goes back with every reset.
"""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, Final

import msgspec
import numpy as np

from stroboscope.debugger_protocol.scene_description import GeomInfo, GeomType, SceneDescription
from stroboscope.engine.asset_arrays import mesh_arrays
from stroboscope.engine.files.atomic import replacing
from stroboscope.engine.files.compression import needed
from stroboscope.engine.files.frames import FileEvent
from stroboscope.engine.rollouts.row_probe import RowProbe
from stroboscope.engine.trajectory.trajectory import Trajectory

__all__ = ["write_foxglove"]

# Transforms are written this often at most [Hz]; signals of every step.
_TRANSFORMS_HZ: Final = 60.0
# What MuJoCo's viewer shows of itself; the others are collision shapes.
_SHOWN_GROUPS = 3
# Half the size of a plane without edges [m].
_PLANE = 20.0
_WORLD = "world"
_LEVELS = {"stop": 4, "warning": 3}

Progress = Callable[[float], None]
Json = dict[str, Any]


def _nobody(_done: float) -> None:
    """Report to nobody."""


def write_foxglove(
    trajectory: Trajectory, target: str | os.PathLike[str], *, progress: Progress = _nobody
) -> Path:
    """Write ``/tf``, ``/scene``, ``/signals``, ``/signals/NAME`` and ``/log``.

    ``/signals``: position and velocity of each joint and control of each actuator by name, of
    every frame. The file is there as a whole or not at all. Raises FileError and its kinds.
    """
    with replacing(target) as part, part.open("wb") as file:
        _Export(trajectory, file).run(progress)
    return Path(target)


class _Export:
    """One export under way."""

    def __init__(self, trajectory: Trajectory, file: IO[bytes]) -> None:
        self._trajectory = trajectory
        scene = trajectory.scene
        self._model = scene.world.model
        self._probe = RowProbe(self._model, adapter=scene.world.adapter)
        self._description = scene.backend.describe(scene.scene_id, scene.name)
        self._layout = scene.world.state_layout
        manifest = trajectory.manifest
        self._origin = round(manifest.created * 1e9) - manifest.clock
        self._writer = needed("mcap.writer").Writer(file)
        self._channels: dict[str, int] = {}

    def run(self, progress: Progress) -> None:
        """Write everything."""
        self._writer.start(profile="", library="stroboscope")
        trajectory = self._trajectory
        first = trajectory.frame(0)
        self._send("/scene", "foxglove.SceneUpdate", first.wall, self._scene_update(first.wall))
        for event in trajectory.events:
            self._send("/log", "foxglove.Log", event.wall, self._log(event))
        due = float("-inf")
        for index in range(len(trajectory)):
            frame = trajectory.frame(index)
            if frame.wall * 1e-9 >= due or index == len(trajectory) - 1:
                due = frame.wall * 1e-9 + 1.0 / _TRANSFORMS_HZ
                poses = self._transforms(frame.row, frame.wall)
                self._send("/tf", "foxglove.FrameTransforms", frame.wall, poses)
            self._send("/signals", "stroboscope.Signals", frame.wall, self._signals(frame))
            if not index % 256:
                progress(index / len(trajectory))
        self._logged()
        self._writer.finish()
        progress(1.0)

    # --- messages

    def _send(self, topic: str, schema: str, wall: int, content: Json) -> None:
        channel = self._channels.get(topic)
        if channel is None:
            text = json.dumps(_schema_of(schema, content)).encode()
            number = self._writer.register_schema(schema, "jsonschema", text)
            channel = self._writer.register_channel(topic, "json", number)
            self._channels[topic] = channel
        time = max(self._origin + wall, 0)
        self._writer.add_message(channel, time, msgspec.json.encode(content), time)

    def _time(self, wall: int) -> Json:
        seconds, rest = divmod(max(self._origin + wall, 0), 1_000_000_000)
        return {"sec": seconds, "nsec": rest}

    def _transforms(self, row: Any, wall: int) -> Json:
        pose, time = self._probe.pose(row), self._time(wall)
        bodies = self._description.bodies
        return {
            "transforms": [
                {
                    "timestamp": time,
                    "parent_frame_id": _WORLD,
                    "child_frame_id": _frame_name(self._description, index),
                    "translation": _vector(pose["xpos"][index]),
                    "rotation": _rotation(pose["xquat"][index]),
                }
                for index in range(1, len(bodies))
            ]
        }

    def _signals(self, frame: Any) -> Json:
        content: Json = {"time": float(frame.time), "joint": {}, "actuator": {}}
        for name, column in (("qpos", "q"), ("qvel", "v")):
            for word, value in zip(self._layout.names[name], frame[name].tolist(), strict=True):
                content["joint"].setdefault(word, {})[column] = _number(value)
        if "ctrl" in frame:
            controls = zip(self._layout.names["ctrl"], frame["ctrl"].tolist(), strict=True)
            content["actuator"] = {word: {"ctrl": _number(value)} for word, value in controls}
        return content

    def _logged(self) -> None:
        """Write what the script has logged, each at the time of its step."""
        trajectory = self._trajectory
        axes = np.array([trajectory.axis(index) for index in range(len(trajectory))])
        for name, signal in trajectory.signals.items():
            parts = trajectory.signal_names(name)
            values = signal.values.reshape(len(signal.axes), -1)
            frames = np.clip(np.searchsorted(axes, signal.axes), 0, len(axes) - 1)
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

    def _log(self, event: FileEvent) -> Json:
        return {
            "timestamp": self._time(event.wall),
            "level": _LEVELS.get(event.kind, 2),
            "message": f"{event.kind}: {event.text}" if event.text else event.kind,
            "name": self._trajectory.name,
            "file": "",
            "line": event.axis,
        }

    # --- the scene

    def _scene_update(self, wall: int) -> Json:
        entities = []
        for index in range(len(self._description.bodies)):
            entity = self._entity(index, wall)
            if entity is not None:
                entities.append(entity)
        return {"deletions": [], "entities": entities}

    def _entity(self, body: int, wall: int) -> Json | None:
        shapes: dict[str, list[Json]] = {
            name: [] for name in ("cubes", "spheres", "cylinders", "triangles")
        }
        for geom in self._description.geoms:
            if geom.body == body and geom.group < _SHOWN_GROUPS and geom.rgba[3] > 0.0:
                for kind, shape in self._shapes(geom):
                    shapes[kind].append(shape)
        if not any(shapes.values()):
            return None
        name = _frame_name(self._description, body)
        nothing: Json = {key: [] for key in ("arrows", "lines", "texts", "models", "metadata")}
        return {
            "timestamp": self._time(wall),
            "frame_id": name,
            "id": name,
            "lifetime": {"sec": 0, "nsec": 0},
            "frame_locked": True,
            **nothing,
            **shapes,
        }

    def _shapes(self, geom: GeomInfo) -> Iterator[tuple[str, Json]]:
        """Yield what a geom is drawn as; a capsule is a cylinder with two spheres."""
        pose = {"position": _vector(geom.pos), "orientation": _rotation(geom.quat)}
        colour = dict(zip("rgba", geom.rgba, strict=True))
        a, b, c = geom.size
        flat = {"pose": pose, "color": colour}
        match geom.type:
            case GeomType.SPHERE:
                yield "spheres", flat | {"size": _vector((2 * a, 2 * a, 2 * a))}
            case GeomType.ELLIPSOID:
                yield "spheres", flat | {"size": _vector((2 * a, 2 * b, 2 * c))}
            case GeomType.BOX:
                yield "cubes", flat | {"size": _vector((2 * a, 2 * b, 2 * c))}
            case GeomType.CYLINDER:
                yield "cylinders", flat | _tube(a, b)
            case GeomType.CAPSULE:
                yield "cylinders", flat | _tube(a, b)
                axis = _z_axis(geom.quat)
                for sign in (1.0, -1.0):
                    end = np.asarray(geom.pos) + sign * b * axis
                    ball = {"pose": {"position": _vector(end), "orientation": _rotation(geom.quat)}}
                    yield "spheres", ball | {"size": _vector((2 * a,) * 3), "color": colour}
            case GeomType.PLANE:
                size = (2 * (a or _PLANE), 2 * (b or _PLANE), 1e-3)
                yield "cubes", flat | {"size": _vector(size)}
            case GeomType.MESH | GeomType.SDF if geom.mesh >= 0:
                arrays = mesh_arrays(self._model, geom.mesh)
                yield (
                    "triangles",
                    flat
                    | {
                        "points": [_vector(point) for point in arrays["vertices"].tolist()],
                        "colors": [],
                        "indices": arrays["faces"].ravel().tolist(),
                    },
                )


def _tube(radius: float, half_length: float) -> Json:
    size = (2 * radius, 2 * radius, 2 * half_length)
    return {"size": _vector(size), "bottom_scale": 1.0, "top_scale": 1.0}


def _z_axis(quat: Any) -> Any:
    w, x, y, z = quat
    return np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])


def _frame_name(description: SceneDescription, body: int) -> str:
    """Return what a body's frame is called; two bodies never share one."""
    if not body:
        return _WORLD
    name = description.bodies[body].name
    return name if name and name != _WORLD else f"body {body}"


def _vector(values: Any) -> Json:
    x, y, z = (float(value) for value in values)
    return {"x": x, "y": y, "z": z}


def _rotation(quat: Any) -> Json:
    w, x, y, z = (float(value) for value in quat)
    return {"x": x, "y": y, "z": z, "w": w}


def _number(value: float) -> float | None:
    """Return a number as JSON has it: none where it is not finite."""
    return value if np.isfinite(value) else None


def _schema_of(name: str, content: Any) -> Json:
    """Return the JSON schema of what a message looks like."""
    return {"title": name, **_type_of(content)}


def _type_of(value: Any) -> Json:
    if isinstance(value, dict):
        if set(value) == {"sec", "nsec"}:
            properties = {"sec": {"type": "integer"}, "nsec": {"type": "integer"}}
            return {"type": "object", "title": "time", "properties": properties}
        return {"type": "object", "properties": {k: _type_of(v) for k, v in value.items()}}
    if isinstance(value, list):
        return {"type": "array", "items": _type_of(value[0]) if value else {"type": "object"}}
    kinds: dict[type, str] = {bool: "boolean", int: "integer", str: "string"}
    return {"type": kinds.get(type(value), "number")}
