"""Poses, shapes, signals and events as the messages that Foxglove and PlotJuggler understand.

JSON with its schema, so that nothing has to be installed to write or read it. Frames hang from the
world directly, one per body; shapes are locked to them.
"""

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.scene_description import GeomInfo, GeomType
from stroboscope.engine.asset_arrays import mesh_arrays
from stroboscope.engine.describe.bodies import describe_geoms
from stroboscope.engine.describe.part import Part
from stroboscope.engine.element_names import ElementNames
from stroboscope.engine.files.frames import FileEvent, SceneRecord
from stroboscope.engine.files.low_rate import MessageSchema
from stroboscope.engine.mujoco_adapter import MujocoAdapter
from stroboscope.engine.rollouts.row_probe import RowProbe
from stroboscope.engine.row_layout import RowLayout

__all__ = [
    "LOG",
    "SCENE",
    "TRANSFORMS",
    "WORLD",
    "SceneMessages",
    "Shapes",
    "encoded",
    "frame_prefixes",
    "log_message",
    "schema_of",
]

Json = dict[str, Any]
Shapes = dict[int, dict[str, list[Json]]]
"""What the geoms of bodies are drawn as, by body and by kind of shape."""

WORLD: Final = "world"
# What MuJoCo's viewer shows of itself; the others are collision shapes.
_SHOWN_GROUPS = 3
# Half the size of a plane without edges [m].
_PLANE = 20.0
_LEVELS = {"stop": 4, "warning": 3}
# Decimals of poses that need not be exact: to a micrometre.
_DECIMALS = 6


class SceneMessages:
    """Makes the messages of one model; one thread at a time, which has data of its own.

    ``model`` is only read: edits are followed. ``is_exact``: numbers as they are, instead of poses
    to a micrometre and signals to seven digits. ``most_triangles``: of a mesh, and ten times as
    many of all; of larger ones the convex hull is shown, or the bounding box; None: no limit.
    """

    def __init__(
        self,
        model: Any,
        *,
        adapter: MujocoAdapter,
        is_exact: bool = True,
        most_triangles: int | None = None,
    ) -> None:
        self._model = model
        self._adapter = adapter
        self._probe = RowProbe(model, adapter=adapter)
        self._is_exact = is_exact
        self._most = most_triangles
        self._names: tuple[str, ...] = ()
        self._signals: tuple[tuple[slice, tuple[str, ...]], ...] = ()

    @property
    def size(self) -> int:
        """How many numbers its messages have, about."""
        model = self._model
        return 7 * int(model.nbody) + int(model.nq) + int(model.nv) + int(model.nu)

    def transforms(self, row: NDArray[np.float64], time_ns: int, *, prefix: str = "") -> Json:
        """Return where each body is in the state ``row``; those that are nowhere are left out."""
        pose, time = self._probe.pose(row), time_of(time_ns)
        numbers = np.concatenate([pose["xpos"], pose["xquat"]], axis=1)
        if not self._is_exact:
            numbers = numbers.round(_DECIMALS) + 0.0  # no negative zeros
        finite = np.isfinite(numbers).all(axis=1).tolist()
        transforms = []
        for index, (x, y, z, qw, qx, qy, qz) in enumerate(numbers.tolist()):
            if index and finite[index]:
                transforms.append(
                    {
                        "timestamp": time,
                        "parent_frame_id": WORLD,
                        "child_frame_id": prefix + self._frame(index),
                        "translation": {"x": x, "y": y, "z": z},
                        "rotation": {"x": qx, "y": qy, "z": qz, "w": qw},
                    }
                )
        return {"transforms": transforms}

    def signals(self, row: NDArray[np.float64]) -> Json:
        """Return time [s], position and velocity of each joint, and each control, by name."""
        content: Json = {"time": float(row[0]), "joint": {}, "actuator": {}}
        (q, q_names), (v, v_names), (ctrl, ctrl_names) = self._signal_places()
        joints: dict[str, Json] = content["joint"]
        for column, part, names in (("q", q, q_names), ("v", v, v_names)):
            for name, value in zip(names, self._numbers(row[part]), strict=True):
                joints.setdefault(name, {})[column] = value
        controls = zip(ctrl_names, self._numbers(row[ctrl]), strict=True)
        content["actuator"] = {name: {"ctrl": value} for name, value in controls}
        return content

    def _numbers(self, values: NDArray[np.float64]) -> list[float | None]:
        plain = values.tolist()
        if self._is_exact:
            return [value if math.isfinite(value) else None for value in plain]
        return [float(f"{value:.7g}") if math.isfinite(value) else None for value in plain]

    def _signal_places(self) -> tuple[tuple[slice, tuple[str, ...]], ...]:
        if not self._signals:
            names = ElementNames(self._model, adapter=self._adapter)
            parts = RowLayout(self._model, adapter=self._adapter).parts
            labels = (("qpos", names.qpos()), ("qvel", names.dofs()), ("ctrl", names.controls()))
            self._signals = tuple((parts.get(n, slice(0, 0)), tuple(words)) for n, words in labels)
        return self._signals

    def _frame(self, body: int) -> str:
        """Return what a body's frame is called; two bodies never share one."""
        if not self._names:
            names = ElementNames(self._model, adapter=self._adapter)
            found = [names.body(index) for index in range(self._model.nbody)]
            self._names = tuple(
                name if index and name and name != WORLD else f"body {index}"
                for index, name in enumerate(found)
            )
        return self._names[body] if body else WORLD

    # --- the scene

    def shapes(self) -> Shapes:
        """Return what the geoms of each body are drawn as, by body: as the model is now."""
        names = ElementNames(self._model, adapter=self._adapter)
        geoms: dict[int, list[tuple[int, GeomInfo]]] = {}
        part = Part(self._model, names=names, adapter=self._adapter)
        for index, geom in enumerate(describe_geoms(part)):
            if geom.group < _SHOWN_GROUPS and geom.rgba[3] > 0.0:
                geoms.setdefault(geom.body, []).append((index, geom))
        left = None if self._most is None else [10 * self._most]
        found: Shapes = {}
        for body, its in sorted(geoms.items()):
            shapes = found[body] = {
                name: [] for name in ("cubes", "spheres", "cylinders", "triangles", "metadata")
            }
            for index, geom in its:
                for kind, shape in self._shapes(index, geom, left):
                    shapes[kind].append(shape)
        return found

    def scene_update(self, time_ns: int, *, prefix: str = "", shapes: Shapes | None = None) -> Json:
        """Return the shapes of all bodies, each locked to its body's frame.

        ``shapes``: what :meth:`shapes` has returned; many environments of a model look alike.
        """
        found = self.shapes() if shapes is None else shapes
        entities = [
            self._entity(body, its, time_ns, prefix)
            for body, its in found.items()
            if any(its.values())
        ]
        return {"deletions": [], "entities": entities}

    def _entity(self, body: int, shapes: dict[str, list[Json]], time_ns: int, prefix: str) -> Json:
        nothing: Json = {key: [] for key in ("arrows", "lines", "texts", "models")}
        return {
            "timestamp": time_of(time_ns),
            # The world is one for all scenes: what is in it has a name of its own.
            "frame_id": prefix + self._frame(body) if body else WORLD,
            "id": prefix + self._frame(body),
            "lifetime": {"sec": 0, "nsec": 0},
            "frame_locked": True,
            **nothing,
            **shapes,
        }

    def _shapes(
        self, index: int, geom: GeomInfo, left: list[int] | None
    ) -> Iterator[tuple[str, Json]]:
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
                axis = _turned((0.0, 0.0, b), geom.quat)
                for sign in (1.0, -1.0):
                    end = np.asarray(geom.pos) + sign * axis
                    ball = {"pose": {"position": _vector(end), "orientation": _rotation(geom.quat)}}
                    yield "spheres", ball | {"size": _vector((2 * a,) * 3), "color": colour}
            case GeomType.PLANE:
                size = (2 * (a or _PLANE), 2 * (b or _PLANE), 1e-3)
                yield "cubes", flat | {"size": _vector(size)}
            case GeomType.MESH | GeomType.SDF if geom.mesh >= 0:
                yield from self._mesh(index, geom, flat, left)

    def _mesh(
        self, index: int, geom: GeomInfo, flat: Json, left: list[int] | None
    ) -> Iterator[tuple[str, Json]]:
        """Yield a mesh, its convex hull where it is too large, or its box; the last two say so."""
        arrays = mesh_arrays(self._model, geom.mesh)
        all_faces = arrays["faces"]
        for name, faces in (("", all_faces), ("convex hull", arrays.get("hull_faces"))):
            if faces is None or not self._fits(len(faces), left):
                continue
            used, corners = np.unique(faces, return_inverse=True)
            points = arrays["vertices"][used] if name else arrays["vertices"]
            if not self._is_exact:
                points = points.astype(np.float64).round(_DECIMALS)
            yield (
                "triangles",
                flat
                | {
                    "points": [_vector(point) for point in points.tolist()],
                    "colors": [],
                    "indices": (corners if name else faces).ravel().tolist(),
                },
            )
            break
        else:
            name = "bounding box"
            centre, half = np.asarray(self._model.geom_aabb[index], np.float64).reshape(2, 3)
            position = np.asarray(geom.pos) + _turned(centre, geom.quat)
            pose = {"position": _vector(position), "orientation": _rotation(geom.quat)}
            yield "cubes", flat | {"pose": pose, "size": _vector(2 * half)}
        if name:
            what = f"{name} of a mesh of {len(all_faces):,} triangles"
            yield "metadata", {"key": geom.name, "value": what}

    def _fits(self, triangles: int, left: list[int] | None) -> bool:
        """Return whether so many triangles may be written, and count them then."""
        if left is None or self._most is None:
            return True
        if triangles > min(self._most, left[0]):
            return False
        left[0] -= triangles
        return True


def log_message(event: FileEvent, time_ns: int, *, name: str) -> Json:
    """Return an event of the scene ``name`` as a line of a log."""
    return {
        "timestamp": time_of(time_ns),
        "level": _LEVELS.get(event.kind, 2),
        "message": f"{event.kind}: {event.text}" if event.text else event.kind,
        "name": name,
        "file": "",
        "line": max(event.axis, 0),
    }


def frame_prefixes(records: Sequence[SceneRecord]) -> list[str]:
    """Return what stands before the names of frames: nothing, or which of several scenes it is."""
    if len(records) == 1:
        return [""]
    names = [r.name if r.env < 0 else f"{r.name}/env {r.env}" for r in records]
    return [
        f"{name}/" if names.count(name) == 1 else f"{name} ({record.index})/"
        for name, record in zip(names, records, strict=True)
    ]


def encoded(content: Json) -> bytes:
    """Return a message as JSON; what is not finite in it is null."""
    return msgspec.json.encode(content)


def time_of(time_ns: int) -> Json:
    """Return a time as messages have it."""
    seconds, rest = divmod(time_ns, 1_000_000_000)
    return {"sec": seconds, "nsec": rest}


def _tube(radius: float, half_length: float) -> Json:
    size = (2 * radius, 2 * radius, 2 * half_length)
    return {"size": _vector(size), "bottom_scale": 1.0, "top_scale": 1.0}


def _turned(vector: Any, quat: Any) -> NDArray[np.float64]:
    """Return a vector turned by a quaternion (wxyz) of length 1."""
    w, axis, vector = quat[0], np.asarray(quat[1:]), np.asarray(vector, dtype=np.float64)
    across = 2.0 * np.cross(axis, vector)
    turned: NDArray[np.float64] = vector + w * across + np.cross(axis, across)
    return turned


def _vector(values: Any) -> Json:
    x, y, z = (float(value) for value in values)
    return {"x": x, "y": y, "z": z}


def _rotation(quat: Any) -> Json:
    w, x, y, z = (float(value) for value in quat)
    return {"x": x, "y": y, "z": z, "w": w}


# --- schemas


def schema_of(name: str, content: Json) -> MessageSchema:
    """Return the schema of messages that all look like ``content``."""
    text = json.dumps({"title": name, **_type_of(content)})
    return MessageSchema(name, "jsonschema", text.encode())


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


_TIME, _SPOT = time_of(0), _vector((0.0, 0.0, 0.0))
_TURN = _rotation((1.0, 0.0, 0.0, 0.0))
_SHAPE = {
    "pose": {"position": _SPOT, "orientation": _TURN},
    "color": dict.fromkeys("rgba", 1.0),
}  # fmt: skip

# Of messages with one of everything, as a topic has one schema whatever its scenes are made of.
TRANSFORMS: Final = schema_of(
    "foxglove.FrameTransforms",
    {
        "transforms": [
            {
                "timestamp": _TIME,
                "parent_frame_id": "",
                "child_frame_id": "",
                "translation": _SPOT,
                "rotation": _TURN,
            }
        ]
    },
)
SCENE: Final = schema_of(
    "foxglove.SceneUpdate",
    {
        "deletions": [{"timestamp": _TIME, "type": 0, "id": ""}],
        "entities": [
            {
                "timestamp": _TIME,
                "frame_id": "",
                "id": "",
                "lifetime": _TIME,
                "frame_locked": True,
                "metadata": [{"key": "", "value": ""}],
                **{key: [] for key in ("arrows", "lines", "texts", "models")},
                "cubes": [_SHAPE | {"size": _SPOT}],
                "spheres": [_SHAPE | {"size": _SPOT}],
                "cylinders": [_SHAPE | _tube(1.0, 1.0)],
                "triangles": [
                    _SHAPE
                    | {"points": [_SPOT], "colors": [dict.fromkeys("rgba", 1.0)], "indices": [0]}
                ],
            }
        ],
    },
)
LOG: Final = schema_of("foxglove.Log", log_message(FileEvent(kind="", axis=0), 0, name=""))
