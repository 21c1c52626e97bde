"""Meshes, textures and other large parts of a model as assets, addressed by their content.

Digests are computed when a scene is first described, on the server thread; the bytes are made
again when a client asks, so that a large model is not kept twice in memory.
"""

import collections
import threading
from collections.abc import Callable
from typing import Any

from stroboscope.debugger_protocol.arrays import Arrays, asset_bytes, asset_digest
from stroboscope.engine.asset_arrays import (
    flex_arrays,
    hfield_arrays,
    mesh_arrays,
    skin_arrays,
    texture_arrays,
    tree_arrays,
)

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
        return self._digest(("mesh", index), lambda: mesh_arrays(self._model, index))

    def hfield(self, index: int) -> str:
        """Return the digest of a height field."""
        return self._digest(("hfield", index), lambda: hfield_arrays(self._model, index))

    def texture(self, index: int) -> str:
        """Return the digest of a texture."""
        return self._digest(("texture", index), lambda: texture_arrays(self._model, index))

    def skin(self, index: int) -> str:
        """Return the digest of a skin."""
        return self._digest(("skin", index), lambda: skin_arrays(self._model, index))

    def flex(self, index: int) -> str:
        """Return the digest of a flex."""
        return self._digest(("flex", index), lambda: flex_arrays(self._model, index))

    def trees(self) -> str:
        """Return the digest of all bounding volume hierarchies."""
        return self._digest(("trees", 0), lambda: tree_arrays(self._model))

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
