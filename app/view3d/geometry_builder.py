"""Prepares meshes beside the GUI thread: corners, normals, levels of detail, merged buffers."""

import dataclasses
import logging
import threading
from collections.abc import Callable, Mapping

from stroboscope.app.view3d.items import Items
from stroboscope.app.view3d.mesh_detail import (
    DetailCache,
    MeshDetail,
    coarse_mesh,
    moving_mesh,
    worth_decimating,
)
from stroboscope.app.view3d.meshes import expand_mesh
from stroboscope.app.view3d.scene_geometry import AssetArrays, Buffers, build_buffers
from stroboscope.debugger_protocol.scene_description import SceneDescription

__all__ = ["BuildJob", "Built", "GeometryBuilder", "load_meshes"]

_log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class BuildJob:
    """Everything a build needs; none of it is changed by anybody.

    ``meshes`` are those that are ready, ``textured`` those whose texture coordinates count.
    """

    revision: int
    description: SceneDescription
    items: Items
    assets: Mapping[str, AssetArrays]
    meshes: Mapping[str, MeshDetail | None]
    textured: frozenset[str]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Built:
    """What became of a job: all meshes, and the buffers made of them."""

    revision: int
    meshes: dict[str, MeshDetail | None]
    buffers: Buffers


def load_meshes(
    description: SceneDescription,
    assets: Mapping[str, AssetArrays],
    ready: Mapping[str, MeshDetail | None],
) -> dict[str, MeshDetail | None]:
    """Return the meshes of ``description`` whose arrays are here; None where they are damaged."""
    meshes = dict(ready)
    for info in description.meshes:
        if info.digest in meshes or info.digest not in assets:
            continue
        try:
            meshes[info.digest] = MeshDetail(expand_mesh(assets[info.digest]))
        except (KeyError, ValueError, TypeError, IndexError) as error:
            _log.warning(
                "mesh %s… can't be drawn: its arrays are damaged (%r)", info.digest[:12], error
            )
            meshes[info.digest] = None
    return meshes


def undecimated(
    assets: Mapping[str, AssetArrays],
    meshes: Mapping[str, MeshDetail | None],
    textured: frozenset[str],
) -> list[str]:
    """Return the meshes that should have a coarse level and have none."""
    return [
        digest
        for digest, mesh in meshes.items()
        if mesh is not None
        and mesh.coarse is None
        and digest not in textured
        and digest in assets
        and worth_decimating(assets[digest])
    ]


class GeometryBuilder:
    """One job at a time on a thread that ends when there is nothing more to do.

    ``done`` is called on that thread whenever there is something to :meth:`take`.
    """

    def __init__(self, done: Callable[[], None], cache: DetailCache | None = None) -> None:
        self._done = done
        self._cache = cache
        self._lock = threading.Lock()
        self._idle = threading.Event()
        self._idle.set()
        self._waiting: BuildJob | None = None
        self._result: Built | None = None

    def request(self, job: BuildJob) -> None:
        """Build ``job``, after the present one; one that waited is forgotten."""
        with self._lock:
            self._waiting = job
            if not self._idle.is_set():
                return
            self._idle.clear()
        threading.Thread(target=self._run, name="stroboscope-meshes", daemon=True).start()

    def take(self) -> Built | None:
        """Return the newest result, once."""
        with self._lock:
            result, self._result = self._result, None
        return result

    @property
    def busy(self) -> bool:
        """Whether something is being built."""
        return not self._idle.is_set()

    def wait(self, timeout: float) -> bool:
        """Wait until nothing is being built; return False after ``timeout`` [s]."""
        return self._idle.wait(timeout)

    def cancel(self) -> None:
        """Forget the job that waits; the present one ends by itself."""
        with self._lock:
            self._waiting = None

    def _run(self) -> None:
        while True:
            with self._lock:
                job, self._waiting = self._waiting, None
                if job is None:
                    self._idle.set()
                    return
            try:
                self._build(job)
            except Exception:  # noqa: BLE001
                _log.exception("meshes can't be prepared")

    def _build(self, job: BuildJob) -> None:
        meshes = load_meshes(job.description, job.assets, job.meshes)
        self._publish(job, meshes)
        digests = undecimated(job.assets, meshes, job.textured)
        # With meshes still to come another job is, too, and what it has new is not to wait.
        expected = any(info.digest not in job.assets for info in job.description.meshes)
        if not digests or expected or self._superseded():
            return
        cache = self._cache or DetailCache()
        for digest in digests:
            full = meshes[digest]
            if full is None:
                continue
            coarse = coarse_mesh(digest, job.assets[digest], cache)
            # Itself where decimating fails: it is not tried again.
            moving = moving_mesh(digest, coarse, cache) if coarse is not None else None
            meshes[digest] = MeshDetail(full.full, coarse or full.full, moving)
            if self._superseded():
                break
        self._publish(job, meshes)

    def _superseded(self) -> bool:
        with self._lock:
            return self._waiting is not None

    def _publish(self, job: BuildJob, meshes: dict[str, MeshDetail | None]) -> None:
        buffers = build_buffers(job.description, job.items, job.assets, meshes)
        with self._lock:
            self._result = Built(job.revision, dict(meshes), buffers)
        self._done()
