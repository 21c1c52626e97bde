"""The rays of range finders: where each begins and goes, and where its numbers stand."""

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.scene_description import (
    CameraInfo,
    SceneDescription,
    SensorInfo,
)

__all__ = ["MOST_RAYS", "RayFacts"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MOST_RAYS = 4000
# What a ray may tell, in the order in which it does, and how many numbers that is.
_WIDTHS = {"dist": 1, "dir": 3, "origin": 3, "point": 3, "normal": 3, "depth": 1}


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class RayFacts:
    """Rays (n,) of all range finders, at most MOST_RAYS; ``left_out`` are how many more there are.

    ``frame`` is a site, or behind them a camera, in which ``origin`` [m] and ``direction`` (n, 3)
    are. ``dist``, ``point`` and ``normal`` are addresses in sensordata, -1 where a ray does not
    tell that.
    """

    sensor: Ints
    frame: Ints
    origin: Floats
    direction: Floats
    dist: Ints
    point: Ints
    normal: Ints
    left_out: int

    @staticmethod
    def of(description: SceneDescription) -> "RayFacts":
        """Gather from ``description``; sensors that can't be are left out."""
        fans = [
            fan
            for index, sensor in enumerate(description.sensors)
            if sensor.kind == "rangefinder"
            and (fan := _fan(index, sensor, description)) is not None
        ]
        table = np.concatenate([np.zeros((0, 11)), *fans])
        count = len(table)
        if count > MOST_RAYS:
            table = table[np.linspace(0, count - 1, MOST_RAYS).astype(np.int64)]
        whole = table[:, :5].astype(np.int64)
        return RayFacts(
            sensor=whole[:, 0],
            frame=whole[:, 1],
            dist=whole[:, 2],
            point=whole[:, 3],
            normal=whole[:, 4],
            origin=table[:, 5:8],
            direction=table[:, 8:11],
            left_out=count - len(table),
        )


def _fan(index: int, sensor: SensorInfo, description: SceneDescription) -> Floats | None:
    """Return a row per ray of one sensor: as the fields of RayFacts stand there."""
    if not set(sensor.data) <= _WIDTHS.keys():
        return None
    fields = sensor.data or ("dist",)
    width = sum(_WIDTHS[field] for field in fields)
    if sensor.object_kind == "site" and 0 <= sensor.object_index < len(description.sites):
        frame, origin, direction = (
            sensor.object_index,
            np.zeros((1, 3)),
            np.array([[0.0, 0.0, 1.0]]),
        )
    elif sensor.object_kind == "camera" and 0 <= sensor.object_index < len(description.cameras):
        frame = len(description.sites) + sensor.object_index
        camera = description.cameras[sensor.object_index]
        if camera.resolution[0] * camera.resolution[1] * width != sensor.dim:
            return None
        origin, direction = _of_pixels(camera)
    else:
        return None
    count = len(origin)
    if count * width != sensor.dim or sensor.adr < 0:
        return None
    rows = np.empty((count, 11))
    rows[:, 0], rows[:, 1] = index, frame
    first = sensor.adr + width * np.arange(count)
    for column, field in ((2, "dist"), (3, "point"), (4, "normal")):
        before = (
            sum(_WIDTHS[each] for each in fields[: fields.index(field)]) if field in fields else 0
        )
        rows[:, column] = first + before if field in fields else -1
    rows[:, 5:8], rows[:, 8:11] = origin, direction
    return rows


def _of_pixels(camera: CameraInfo) -> tuple[Floats, Floats]:
    """Return where the ray through each pixel's middle begins and goes, (n, 3), row by row."""
    columns, rows = camera.resolution
    across, down = (np.arange(columns) + 0.5) / columns, (np.arange(rows) + 0.5) / rows
    if camera.sensorsize[0] > 0.0 and camera.sensorsize[1] > 0.0:
        # As the engine measures: its principal point counts from the sensor's corner.
        fx, fy, cx, cy = camera.intrinsic
        x = (across * camera.sensorsize[0] - cx) / max(fx, 1e-12)
        y = (cy - down * camera.sensorsize[1]) / max(fy, 1e-12)
    else:
        orthographic = camera.orthographic
        half = 0.5 * camera.fovy if orthographic else math.tan(math.radians(0.5 * camera.fovy))
        # Parallel rays start from a square, however many pixels there are each way.
        x = (2.0 * across - 1.0) * half * (1.0 if orthographic else columns / rows)
        y = (1.0 - 2.0 * down) * half
    grid_x, grid_y = (each.ravel() for each in np.meshgrid(x, y))
    count = len(grid_x)
    back = np.column_stack([np.zeros(count), np.zeros(count), -np.ones(count)])
    plane = np.column_stack([grid_x, grid_y, np.zeros(count)])
    if camera.orthographic:
        return plane, back
    direction = plane + back
    return np.zeros((count, 3)), direction / np.linalg.norm(direction, axis=1, keepdims=True)
