"""Meshes, height fields and textures of a model as assets, addressed by their content.

Digests are computed when a scene is first described, on the server thread; the bytes are made
again when a client asks, so that a large model is not kept twice in memory.
"""

import collections
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.arrays import Arrays, asset_bytes, asset_digest

__all__ = ["SceneAssets"]

_KEPT_BYTES = 32 << 20


class SceneAssets:
    """The assets of one compiled model; any thread. Reads only what a run does not change."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._lock = threading.Lock()
        self._makers: dict[str, Callable[[], Arrays]] = {}
        self._digests: dict[tuple[str, int], str] = {}
        # The ranges of one asset are asked for one after the other: keep what was used last.
        self._recent: collections.OrderedDict[str, bytes] = collections.OrderedDict()

    def mesh(self, index: int) -> str:
        """Return the digest of a mesh, in the compiled frame that geom poses refer to."""
        return self._digest(("mesh", index), lambda: self._mesh_arrays(index))

    def hfield(self, index: int) -> str:
        """Return the digest of a height field."""
        return self._digest(("hfield", index), lambda: self._hfield_arrays(index))

    def texture(self, index: int) -> str:
        """Return the digest of a texture."""
        return self._digest(("texture", index), lambda: self._texture_arrays(index))

    def data(self, digest: str) -> bytes | None:
        """Return the bytes of an asset that was described, or None."""
        with self._lock:
            recent = self._recent.get(digest)
            if recent is not None:
                self._recent.move_to_end(digest)
                return recent
            maker = self._makers.get(digest)
        if maker is None:
            return None
        data = asset_bytes(maker())
        self._remember(digest, data)
        return data

    def _digest(self, key: tuple[str, int], maker: Callable[[], Arrays]) -> str:
        with self._lock:
            known = self._digests.get(key)
        if known is not None:
            return known
        data = asset_bytes(maker())
        digest = asset_digest(data)
        with self._lock:
            self._digests[key] = digest
            self._makers.setdefault(digest, maker)
        self._remember(digest, data)
        return digest

    def _remember(self, digest: str, data: bytes) -> None:
        with self._lock:
            self._recent[digest] = data
            self._recent.move_to_end(digest)
            while sum(map(len, self._recent.values())) > _KEPT_BYTES and len(self._recent) > 1:
                self._recent.popitem(last=False)

    def _mesh_arrays(self, index: int) -> Arrays:
        model = self._model
        vertices = _rows(model.mesh_vert, model.mesh_vertadr, model.mesh_vertnum, index)
        faces = _rows(model.mesh_face, model.mesh_faceadr, model.mesh_facenum, index)
        arrays: dict[str, NDArray[np.generic]] = {
            "vertices": vertices.astype(np.float32),
            "faces": faces.astype(np.int32),
        }
        if int(model.mesh_normalnum[index]):
            normals = _rows(model.mesh_normal, model.mesh_normaladr, model.mesh_normalnum, index)
            corners = _rows(model.mesh_facenormal, model.mesh_faceadr, model.mesh_facenum, index)
            arrays["normals"] = normals.astype(np.float32)
            arrays["face_normals"] = corners.astype(np.int32)
        if int(model.mesh_texcoordnum[index]) and int(model.mesh_texcoordadr[index]) >= 0:
            coordinates = _rows(
                model.mesh_texcoord, model.mesh_texcoordadr, model.mesh_texcoordnum, index
            )
            corners = _rows(model.mesh_facetexcoord, model.mesh_faceadr, model.mesh_facenum, index)
            arrays["texcoords"] = coordinates.astype(np.float32)
            arrays["face_texcoords"] = corners.astype(np.int32)
        return arrays

    def _hfield_arrays(self, index: int) -> Arrays:
        model = self._model
        rows, columns = int(model.hfield_nrow[index]), int(model.hfield_ncol[index])
        begin = int(model.hfield_adr[index])
        values = np.asarray(model.hfield_data[begin : begin + rows * columns])
        return {"data": values.reshape(rows, columns).astype(np.float32)}

    def _texture_arrays(self, index: int) -> Arrays:
        model = self._model
        height, width = int(model.tex_height[index]), int(model.tex_width[index])
        channels = int(model.tex_nchannel[index])
        begin = int(model.tex_adr[index])
        values = np.asarray(model.tex_data[begin : begin + height * width * channels])
        return {"data": values.reshape(height, width, channels).astype(np.uint8)}


def _rows(values: Any, addresses: Any, counts: Any, index: int) -> NDArray[Any]:
    begin = int(addresses[index])
    return np.asarray(values[begin : begin + int(counts[index])])
