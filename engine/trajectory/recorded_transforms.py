"""What a recording tells other tools of one scene, read back: shapes, and poses now and then.

For files whose model can't be built here. Nothing in it needs MuJoCo.
"""

from collections.abc import Iterator
from typing import TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.arrays import Arrays, asset_bytes, asset_digest
from stroboscope.debugger_protocol.scene_description import (
    BodyInfo,
    GeomInfo,
    GeomType,
    MeshInfo,
    SceneDescription,
    Vec3,
    Vec4,
)
from stroboscope.engine.files.chunk_index import ChunkKind
from stroboscope.engine.files.errors import FileFormatError
from stroboscope.engine.files.frames import SceneRecord
from stroboscope.engine.files.low_rate_chunks import Message
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.foxglove_messages import WORLD, frame_prefixes

__all__ = ["RecordedTransforms"]

# Larger shapes, and places further away, are a mistake or a trap [m].
_FARTHEST = 1e9

_T = TypeVar("_T")


class _Vector(msgspec.Struct):
    x: float = 0.0
    y: float = 0.0
    z: float = 0.0

    @property
    def tuple(self) -> Vec3:
        return self.x, self.y, self.z


class _Rotation(_Vector):
    w: float = 1.0

    @property
    def quat(self) -> Vec4:
        return self.w, self.x, self.y, self.z


class _Transform(msgspec.Struct):
    child_frame_id: str
    translation: _Vector
    rotation: _Rotation


class _Transforms(msgspec.Struct):
    transforms: list[_Transform]


class _Pose(msgspec.Struct):
    position: _Vector
    orientation: _Rotation


class _Colour(msgspec.Struct):
    r: float
    g: float
    b: float
    a: float


class _Shape(msgspec.Struct):
    pose: _Pose
    color: _Colour
    size: _Vector


class _Triangles(msgspec.Struct):
    pose: _Pose
    color: _Colour
    points: list[_Vector]
    indices: list[int]


class _Entity(msgspec.Struct):
    id: str
    frame_id: str
    cubes: list[_Shape] = []
    spheres: list[_Shape] = []
    cylinders: list[_Shape] = []
    triangles: list[_Triangles] = []


class _Update(msgspec.Struct):
    entities: list[_Entity] = []


class _Signals(msgspec.Struct):
    time: float | None = None


class RecordedTransforms:
    """Poses and shapes of one scene of a file; raises FileFormatError when there are none.

    ``times`` (n,) [s]: simulation time of each pose. ``bodies``: their names, the world first.
    What is not as it was written is passed over: the file may be anybody's.
    """

    def __init__(self, reader: TrajectoryReader, record: SceneRecord) -> None:
        self._record = record
        records = reader.manifest.scenes
        prefixes = dict(zip((r.index for r in records), frame_prefixes(records), strict=True))
        self._prefix = prefixes[record.index]
        self._others = tuple(other for other in prefixes.values() if len(other) > len(self._prefix))
        self._signals = f"/signals/{self._prefix[:-1]}" if self._prefix else "/signals"
        self._numbers: dict[str, int] = {WORLD: 0}
        self._poses: list[tuple[NDArray[np.int64], NDArray[np.float64]]] = []
        self._log_times: list[int] = []
        self._time_at: dict[int, float] = {}
        self._entities: dict[str, _Entity] = {}
        for message in reader.messages(ChunkKind.MESSAGES):
            self._take(message)
        if not self._poses:
            raise FileFormatError(
                reader.path,
                f"it has no transforms of {record.name!r}",
                "record with transforms_hz, or open it with the MuJoCo that recorded it",
            )
        self.bodies = tuple(self._numbers)
        first = self._log_times[0]
        self.times = np.array(
            [self._time_at.get(t, 1e-9 * (t - first)) for t in self._log_times], dtype=np.float64
        )
        self._assets: dict[str, bytes] = {}
        self._meshes: list[MeshInfo] = []
        self._geoms = tuple(self._make_geoms())

    def __len__(self) -> int:
        return len(self._poses)

    def pose(self, number: int) -> Arrays:
        """Return ``xpos`` (nbody, 3) [m] and ``xquat`` (nbody, 4) wxyz; NaN where none was told."""
        places, values = self._poses[number]
        numbers = np.full((len(self.bodies), 7), np.nan)
        numbers[0] = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
        numbers[places] = values
        return {"xpos": numbers[:, :3].copy(), "xquat": numbers[:, 3:].copy()}

    def asset(self, digest: str) -> bytes | None:
        """Return a mesh of the description by content, or None; any thread."""
        return self._assets.get(digest)

    def describe(self, scene_id: int, name: str, *, source: str, note: str) -> SceneDescription:
        """Return what there is to see; ``note``: what must be told. Any thread."""
        points = self.pose(0)["xpos"]
        points = points[np.isfinite(points).all(axis=1)]
        low, high = points.min(axis=0), points.max(axis=0)
        x, y, z = ((low + high) / 2.0).tolist()
        return SceneDescription(
            scene_id=scene_id,
            name=name,
            engine="recorded transforms",
            source=source,
            timestep=float(self._record.timestep),
            center=(x, y, z),
            extent=max(float((high - low).max()), 1.0),
            bodies=tuple(BodyInfo(name=body, parent=0) for body in self.bodies),
            geoms=self._geoms,
            meshes=tuple(self._meshes),
            notes=(note,),
        )

    # --- reading

    def _take(self, message: Message) -> None:
        topic = message.channel.topic
        if topic == "/tf":
            self._take_transforms(message)
        elif topic == self._signals:
            signals = _decoded(message, _Signals)
            if signals is not None and signals.time is not None:
                self._time_at[message.log_time] = signals.time
        elif topic == "/scene":
            update = _decoded(message, _Update)
            for entity in update.entities if update is not None else ():
                if self._is_mine(entity.id):
                    self._entities[entity.id] = entity
                    self._number(entity.frame_id)

    def _take_transforms(self, message: Message) -> None:
        told = _decoded(message, _Transforms)
        transforms = told.transforms if told is not None else []
        mine = [each for each in transforms if self._is_mine(each.child_frame_id)]
        if not mine:
            return
        values = np.array([(*t.translation.tuple, *t.rotation.quat) for t in mine])
        values[~(np.abs(values) < _FARTHEST).all(axis=1)] = np.nan
        places = np.array([self._number(each.child_frame_id) for each in mine])
        self._poses.append((places, values))
        self._log_times.append(message.log_time)

    def _is_mine(self, frame: str) -> bool:
        return frame.startswith(self._prefix) and not frame.startswith(self._others)

    def _number(self, frame: str) -> int:
        name = frame.removeprefix(self._prefix)
        return self._numbers.setdefault(name, len(self._numbers))

    # --- shapes

    def _make_geoms(self) -> Iterator[GeomInfo]:
        for entity in self._entities.values():
            body = self._numbers[entity.frame_id.removeprefix(self._prefix)]
            for kind, shapes in (
                (GeomType.BOX, entity.cubes),
                (GeomType.ELLIPSOID, entity.spheres),
                (GeomType.CYLINDER, entity.cylinders),
            ):
                for shape in shapes:
                    x, y, z = (0.5 * size for size in shape.size.tuple)
                    if 0.0 <= min(x, y, z) <= max(x, y, z) < _FARTHEST:
                        size = (x, z, 0.0) if kind is GeomType.CYLINDER else (x, y, z)
                        yield _geom(body, kind, shape, size=size)
            for triangles in entity.triangles:
                mesh = self._mesh(triangles)
                if mesh >= 0:
                    yield _geom(body, GeomType.MESH, triangles, mesh=mesh)

    def _mesh(self, triangles: _Triangles) -> int:
        """Return the number of a mesh of these triangles; -1 where they are none."""
        points = np.array([point.tuple for point in triangles.points], dtype=np.float32)
        try:
            faces = np.array(triangles.indices, dtype=np.int32).reshape(-1, 3)
        except (OverflowError, ValueError):
            return -1
        if not len(faces) or faces.min() < 0 or faces.max() >= len(points):
            return -1
        if not (np.abs(points) < _FARTHEST).all():
            return -1
        data = asset_bytes({"vertices": points, "faces": faces})
        digest = asset_digest(data)
        self._assets[digest] = data
        number = len(self._meshes)
        self._meshes.append(
            MeshInfo(name=f"mesh {number}", digest=digest, nvert=len(points), nface=len(faces))
        )
        return number


def _geom(
    body: int,
    kind: GeomType,
    shape: _Shape | _Triangles,
    *,
    size: Vec3 = (0.0, 0.0, 0.0),
    mesh: int = -1,
) -> GeomInfo:
    colour, pose = shape.color, shape.pose
    return GeomInfo(
        name="",
        body=body,
        type=kind,
        size=size,
        pos=pose.position.tuple,
        quat=pose.orientation.quat,
        rgba=(colour.r, colour.g, colour.b, colour.a),
        mesh=mesh,
        collides=False,
    )


def _decoded(message: Message, kind: type[_T]) -> _T | None:
    """Return what a message says; None for what is none of ours."""
    if message.channel.encoding != "json":
        return None
    try:
        return msgspec.json.decode(message.data, type=kind)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return None
