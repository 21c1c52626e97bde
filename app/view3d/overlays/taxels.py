"""Tactile sensors: the mesh of each in the frame of its geom, coloured by the pressure it feels."""

import dataclasses
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.overlay_words import Role
from stroboscope.app.models.selection import ElementKind
from stroboscope.app.view3d.overlays.glyphs import Glyphs, Layer, Shape, solids
from stroboscope.app.view3d.overlays.subject import Subject
from stroboscope.debugger_protocol.scene_description import SensorInfo
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["Taxels", "largest_pressure", "taxel_glyphs", "taxels"]

Floats = NDArray[np.float64]
# How much is seen of a face that feels nothing, as in MuJoCo's viewer.
_UNTOUCHED = 0.1


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Taxels:
    """One sensor's faces: ``corners`` (n, 3, 3) [m] in the world and their ``pressure`` (n,)."""

    sensor: int
    corners: Floats
    pressure: Floats


def taxels(subject: Subject) -> tuple[Taxels, ...]:
    """Return the faces of all tactile sensors; of those that feel nothing, none, as in MuJoCo.

    What its mesh or geom is missing for is left out.
    """
    data = subject.value(Topic.SENSORS, "sensordata", -1)
    if not subject.options.taxels or data is None:
        return ()
    found = []
    for index, sensor in enumerate(subject.facts.description.sensors):
        if sensor.kind == "tactile":
            faces = _faces(subject, index, sensor, data)
            if faces is not None:
                found.append(faces)
    return tuple(found)


def _faces(subject: Subject, index: int, sensor: SensorInfo, data: Floats) -> Taxels | None:
    scene, meshes = subject.scene, subject.facts.description.meshes
    geom = sensor.reference_index
    if sensor.reference_kind != "geom" or not 0 <= geom < scene.items.n_geoms:
        return None
    if sensor.object_kind != "mesh" or not 0 <= sensor.object_index < len(meshes):
        return None
    arrays = scene.asset(meshes[sensor.object_index].digest)
    mesh = _mesh(arrays) if arrays is not None else None
    if mesh is None:
        return None
    vertices, faces = mesh
    # The first of its channels is the pressure at each vertex, the others are how fast it slips.
    # Engines before 4.0 have it below zero.
    pressure = np.abs(data[max(sensor.adr, 0) : sensor.adr + len(vertices)])
    if len(pressure) != len(vertices) or not data[sensor.adr : sensor.adr + sensor.dim].any():
        return None
    world = scene.item_pos[geom] + vertices @ scene.item_mat[geom].T
    return Taxels(index, world[faces], np.nan_to_num(pressure)[faces].mean(axis=1))


def _mesh(
    arrays: Mapping[str, NDArray[np.generic]],
) -> tuple[Floats, NDArray[np.int64]] | None:
    """Return vertices (n, 3) and faces (m, 3) of an asset, None where it is damaged."""
    if "vertices" not in arrays or "faces" not in arrays:
        return None
    vertices = np.asarray(arrays["vertices"], dtype=np.float64).reshape(-1, 3)
    faces = np.asarray(arrays["faces"], dtype=np.int64).reshape(-1, 3)
    inside = not len(faces) or (faces.min() >= 0 and faces.max() < len(vertices))
    return (vertices, faces) if inside else None


def largest_pressure(sensors: tuple[Taxels, ...]) -> float:
    """Return the largest pressure of a face; 0 where nothing is felt."""
    return max((float(each.pressure.max(initial=0.0)) for each in sensors), default=0.0)


def taxel_glyphs(subject: Subject) -> Iterator[Glyphs]:
    """Yield the faces, from a pale colour to that of the largest pressure of all sensors."""
    sensors = taxels(subject)
    most = largest_pressure(sensors)
    for each in sensors:
        part = np.clip(each.pressure / most, 0.0, 1.0) if most > 0.0 else 0.0 * each.pressure
        low, high = np.array(Role.TAXEL.value), np.array(Role.TAXEL_PRESSED.value)
        colors = low + part[:, None] * (high - low)
        colors[:, 3] = np.where(part > 0.0, 1.0, _UNTOUCHED)
        roles = (Role.TAXEL, Role.TAXEL_PRESSED) if most > 0.0 else (Role.TAXEL,)
        pos, mat = _places(each.corners)
        good = np.isfinite(mat).all(axis=(1, 2))
        yield solids(
            Shape.TRIANGLE,
            pos=pos[good],
            mat=mat[good],
            size=1.0,
            color=colors[good],
            layer=Layer.SURFACE,
            roles=roles,
        ).of_elements(ElementKind.SENSOR, np.full(int(good.sum()), each.sensor))


def _places(corners: Floats) -> tuple[Floats, Floats]:
    """Return centroids (n, 3) and the matrices (n, 3, 3) that turn the unit triangle into each."""
    one, other = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    across = np.cross(one, other)
    # As long as the sides are: what is near to a triangle is known by its longest axis.
    across /= np.sqrt(np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-30))
    return corners.mean(axis=1), np.stack([one, other, across], axis=2)
