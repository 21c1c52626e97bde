"""Levels of detail of meshes: decimated once, kept on disk by what the mesh is.

Software OpenGL pays for every face, and a quarter of them is nearly indistinguishable; at a tenth
small parts break. Moving pictures of which not every pixel is drawn make do with less than that:
what breaks is smaller than their pixels, and back as soon as things stand.
"""

import contextlib
import dataclasses
import logging
import math
import os
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import platformdirs
from fast_simplification import simplify
from numpy.typing import NDArray

from stroboscope.app.view3d.meshes import expand_mesh
from stroboscope.app.view3d.shapes import Mesh

__all__ = [
    "DetailCache",
    "MeshDetail",
    "coarse_mesh",
    "kept_faces",
    "moving_mesh",
    "worth_decimating",
]

_log = logging.getLogger(__name__)
KEPT = 0.25
# Of large meshes less: they have more faces because they are finer, not because more is to be seen.
KEPT_PER_ROOT = 20.0
SMALLEST = 1500  # faces; smaller meshes stay as they are
KEPT_MOVING = 0.4  # of the coarse level's faces
SMALLEST_MOVING = 150  # faces
# A mesh that loses more than this by it gets more faces, or keeps all: thin limbs of many loose
# triangles would be gone. Of its surface, of its size, and how much of it lies how far away.
_LEAST_AREA = 0.8
_MOST_SHRUNK = 0.02
_MOST_AWAY, _AWAY = 0.01, 0.04
_SAMPLES, _SAMPLES_OF_COARSE = 600, 6000
_TRIED = (1.0, 1.5, 2.0, 3.0)  # times the faces
_CACHE_BYTES = 256 << 20
_VERSION = 4
Arrays = Mapping[str, NDArray[np.generic]]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class MeshDetail:
    """A mesh in full, and with fewer faces where that is worth it (None: not, or not yet).

    ``moving`` has still fewer than ``coarse``, for pictures drawn at a lower resolution.
    """

    full: Mesh
    coarse: Mesh | None = None
    moving: Mesh | None = None


def worth_decimating(arrays: Arrays) -> bool:
    """Return whether the mesh asset ``arrays`` has so many faces that fewer would do."""
    return len(np.reshape(arrays["faces"], (-1, 3))) > SMALLEST


class DetailCache:
    """Decimated meshes in a folder, least recently used out first. Works on any thread.

    Nothing in it is needed: what can't be read or written is computed again.
    """

    def __init__(self, folder: Path | None = None, *, limit: int = _CACHE_BYTES) -> None:
        if folder is None:
            cache = Path(platformdirs.user_cache_dir("stroboscope", appauthor=False))
            folder = cache / "meshes"
        self._folder = folder
        self._limit = limit

    def get(self, digest: str) -> tuple[NDArray[np.float32], NDArray[np.int64]] | None:
        """Return vertices (n, 3) and faces (m, 3) kept for ``digest``, None for none."""
        path = self._path(digest)
        try:
            # Opened here: NumPy does not close what it can't read.
            with path.open("rb") as file, np.load(file, allow_pickle=False) as data:
                vertices = np.asarray(data["vertices"], dtype=np.float32)
                faces = np.asarray(data["faces"], dtype=np.int64)
            os.utime(path)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            _log.info("a cached mesh is computed again: %s is damaged (%r)", path, error)
            return None
        sound = vertices.ndim == faces.ndim == 2 and vertices.shape[1] == faces.shape[1] == 3
        if not sound or not len(faces) or faces.min() < 0 or faces.max() >= len(vertices):
            return None
        return (vertices, faces) if np.isfinite(vertices).all() else None

    def put(self, digest: str, vertices: NDArray[np.float32], faces: NDArray[np.int64]) -> None:
        """Keep a mesh, atomically: another window may read or write the same one."""
        part = ""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            descriptor, part = tempfile.mkstemp(dir=self._folder, suffix=".part")
            with os.fdopen(descriptor, "wb") as file:
                np.savez(file, vertices=vertices, faces=faces.astype(np.int32))
            Path(part).replace(self._path(digest))
            self._trim()
        except OSError as error:
            _log.info("a decimated mesh is not kept: %s", error)
            with contextlib.suppress(OSError):
                Path(part).unlink()

    def _path(self, digest: str) -> Path:
        name = "".join(c for c in digest if c.isalnum())[:88]
        return self._folder / f"{name}-{round(100 * KEPT)}-v{_VERSION}.npz"

    def _trim(self) -> None:
        entries = []
        for path in self._folder.iterdir():
            with contextlib.suppress(OSError):
                status = path.stat()
                entries.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries, key=lambda entry: entry[0]):
            if total <= self._limit:
                return
            with contextlib.suppress(OSError):
                path.unlink()
            total -= size


def kept_faces(count: int) -> int:
    """Return how many of ``count`` faces the coarse level has."""
    return max(round(min(KEPT * count, KEPT_PER_ROOT * math.sqrt(count))), SMALLEST // 4)


def coarse_mesh(digest: str, arrays: Arrays, cache: DetailCache) -> Mesh | None:
    """Return the mesh ``arrays`` with a quarter of its faces or less, None when that fails.

    With more, or all, where it would not look like itself. Its normals are new: smooth, except
    across edges of more than 40°.
    """
    return _kept_mesh(digest, arrays, cache, target=kept_faces)


def moving_mesh(digest: str, coarse: Mesh, cache: DetailCache) -> Mesh | None:
    """Return ``coarse``, the coarse level of mesh ``digest``, with fewer faces still; or None."""
    arrays = {"vertices": coarse.vertices, "faces": coarse.faces}
    return _kept_mesh(f"{digest}moving", arrays, cache, target=_moving_faces)


def _moving_faces(count: int) -> int:
    return max(round(KEPT_MOVING * count), SMALLEST_MOVING)


def _kept_mesh(
    name: str, arrays: Arrays, cache: DetailCache, *, target: Callable[[int], int]
) -> Mesh | None:
    kept = cache.get(name)
    if kept is None:
        kept = _decimated(arrays, target)
        if kept is None:
            return None
        cache.put(name, *kept)
    return expand_mesh({"vertices": kept[0], "faces": kept[1]})


def _decimated(
    arrays: Arrays, target_of: Callable[[int], int]
) -> tuple[NDArray[np.float32], NDArray[np.int64]] | None:
    vertices = np.asarray(arrays["vertices"], dtype=np.float32).reshape(-1, 3)
    faces = np.asarray(arrays["faces"], dtype=np.int64).reshape(-1, 3)
    # Welded first: along a seam between two copies of a vertex the surface would tear open.
    vertices, same = np.unique(vertices, axis=0, return_inverse=True)
    faces = same.reshape(-1)[faces]
    distinct = (faces != np.roll(faces, 1, axis=1)).all(axis=1)
    faces = faces[distinct]
    target = target_of(len(faces))
    if len(faces) <= target or not np.isfinite(vertices).all():
        return None
    # Distances in it are absolute: a hand in metres would lose its fingers.
    low = vertices.min(axis=0)
    size = float((vertices.max(axis=0) - low).max()) or 1.0
    unit = (vertices - low) / np.float32(size)
    for times in _TRIED:
        if times * target >= len(faces):
            break
        found = _simplified(unit, faces, round(times * target))
        if _is_alike(unit, faces, *found):
            points, triangles = found
            return (points * np.float32(size) + low).astype(np.float32), triangles
    return vertices, faces  # kept as well: nobody has to try again


def _simplified(
    points: NDArray[np.float32], faces: NDArray[np.int64], target: int
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    found, triangles = simplify(
        np.ascontiguousarray(points, dtype=np.float32),
        np.ascontiguousarray(faces, dtype=np.int32),
        target_count=target,
    )[:2]
    found = np.asarray(found, dtype=np.float32)
    triangles = np.asarray(triangles, dtype=np.int64)
    return found, triangles[_areas(found, triangles) > 1e-12]


def _areas(points: NDArray[np.float32], faces: NDArray[np.int64]) -> NDArray[np.float32]:
    corners = points[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    areas: NDArray[np.float32] = 0.5 * np.linalg.norm(normals, axis=1)
    return areas


def _is_alike(
    points: NDArray[np.float32],
    faces: NDArray[np.int64],
    coarse_points: NDArray[np.float32],
    coarse_faces: NDArray[np.int64],
) -> bool:
    """Return whether a simplified mesh of size 1 still covers the one that it is of."""
    if not len(coarse_faces):
        return False
    areas, coarse_areas = _areas(points, faces), _areas(coarse_points, coarse_faces)
    if coarse_areas.sum() < _LEAST_AREA * areas.sum():
        return False
    used, coarse_used = points[faces].reshape(-1, 3), coarse_points[coarse_faces].reshape(-1, 3)
    shrunk = np.abs(used.min(axis=0) - coarse_used.min(axis=0)).max()
    grown = np.abs(used.max(axis=0) - coarse_used.max(axis=0)).max()
    if max(shrunk, grown) > _MOST_SHRUNK:
        return False
    wanted = _samples(points, faces, areas, _SAMPLES)
    there = _samples(coarse_points, coarse_faces, coarse_areas, _SAMPLES_OF_COARSE)
    # |a - b|² without all the differences: hundreds times thousands of them.
    squares = (wanted**2).sum(axis=1)[:, None] + (there**2).sum(axis=1) - 2.0 * wanted @ there.T
    away = squares.min(axis=1) > _AWAY**2
    return bool(away.mean() <= _MOST_AWAY)


def _samples(
    points: NDArray[np.float32], faces: NDArray[np.int64], areas: NDArray[np.float32], count: int
) -> NDArray[np.float32]:
    """Return points (count, 3) spread over a surface, the same ones each time."""
    random = np.random.default_rng(0)
    ends = np.cumsum(areas, dtype=np.float64)
    chosen = faces[
        np.searchsorted(ends, random.uniform(0.0, ends[-1], count)).clip(0, len(faces) - 1)
    ]
    first, second = np.sqrt(random.uniform(size=count)), random.uniform(size=count)
    weights = np.stack((1 - first, first * (1 - second), first * second), axis=1)
    samples: NDArray[np.float32] = np.einsum("nk,nkd->nd", weights, points[chosen])
    return samples
