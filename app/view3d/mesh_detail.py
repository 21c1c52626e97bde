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
_CACHE_BYTES = 256 << 20
_VERSION = 3
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
    """Return the mesh ``arrays`` with at most a quarter of its faces, None when that fails.

    Its normals are new: smooth, except across edges of more than 40°.
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
    points, triangles = simplify(
        np.ascontiguousarray(unit, dtype=np.float32),
        np.ascontiguousarray(faces, dtype=np.int32),
        target_count=target,
    )[:2]
    corners = points[triangles]
    area = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    triangles = triangles[np.abs(area).max(axis=1) > 1e-12]
    if not len(triangles):
        return None
    found = np.asarray(points, dtype=np.float32) * np.float32(size) + low
    return found.astype(np.float32), np.asarray(triangles, dtype=np.int64)
