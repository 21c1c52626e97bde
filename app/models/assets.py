"""Meshes, height fields and textures, fetched in chunks and kept by content. GUI thread only."""

import collections
import dataclasses
from collections.abc import Iterable

from stroboscope.app.models.session import SessionModel
from stroboscope.app.models.signal import Signal
from stroboscope.debugger_protocol.arrays import Arrays, parse_asset
from stroboscope.debugger_protocol.exceptions import InvalidMessage
from stroboscope.debugger_protocol.messages import AssetChunk, AssetRequest, Failed
from stroboscope.debugger_protocol.scene_description import SceneDescription

__all__ = ["AssetLibrary", "asset_digests", "tree_digests"]

_MAX_ASSET_BYTES = 1 << 30
_MAX_CACHE_BYTES = 1 << 30
_IN_FLIGHT = 4


def asset_digests(description: SceneDescription) -> tuple[str, ...]:
    """Return what a scene needs, meshes first, each once."""
    digests = [mesh.digest for mesh in description.meshes]
    digests += [hfield.digest for hfield in description.hfields]
    digests += [skin.digest for skin in description.skins]
    digests += [flex.digest for flex in description.flexes]
    digests += [texture.digest for texture in description.textures]
    return tuple(dict.fromkeys(digest for digest in digests if digest))


def tree_digests(description: SceneDescription) -> tuple[str, ...]:
    """Return what only pictures of trees need: as large as meshes, and rarely asked for."""
    return () if description.trees is None else (description.trees.digest,)


@dataclasses.dataclass(slots=True)
class _Download:
    digest: str
    parts: list[bytes] = dataclasses.field(default_factory=list)
    received: int = 0


class AssetLibrary:
    """Fetches assets by digest from the session that has them; each is fetched once.

    ``arrived`` carries digest and arrays, ``failed`` digest and reason.
    """

    def __init__(self) -> None:
        self.arrived: Signal[[str, Arrays]] = Signal()
        self.failed: Signal[[str, str]] = Signal()
        self._cache: collections.OrderedDict[str, tuple[int, Arrays]] = collections.OrderedDict()
        self._queue: collections.deque[tuple[SessionModel, str]] = collections.deque()
        self._open: dict[tuple[int, int], _Download] = {}

    @property
    def waiting(self) -> int:
        """How many assets are still to come."""
        return len(self._queue) + len(self._open)

    def coming(self, digests: Iterable[str]) -> int:
        """Return how many of ``digests`` are on their way; none that was refused."""
        return len(self._expected() & set(digests))

    def get(self, digest: str) -> Arrays | None:
        """Return an asset that is here, or None."""
        entry = self._cache.get(digest)
        if entry is None:
            return None
        self._cache.move_to_end(digest)
        return entry[1]

    def fetch(self, session: SessionModel, digests: Iterable[str]) -> None:
        """Ask ``session`` for those that are neither here nor on their way."""
        coming = self._expected()
        for digest in digests:
            if digest not in self._cache and digest not in coming:
                self._queue.append((session, digest))
                coming.add(digest)
        self._pump()

    def forget(self, session: SessionModel) -> None:
        """Drop what was expected from a session that is gone."""
        self._queue = collections.deque(item for item in self._queue if item[0] is not session)
        self._open = {key: d for key, d in self._open.items() if key[0] != session.key}
        self._pump()

    def receive(self, session: SessionModel, chunk: AssetChunk) -> None:
        """Take a chunk; a chunk nobody asked for is ignored."""
        download = self._open.pop((session.key, chunk.id), None)
        session.pending.pop(chunk.id, None)
        if download is None:
            return
        problem = _check(download, chunk)
        if problem:
            self.failed.emit(download.digest, problem)
        else:
            download.parts.append(chunk.data)
            download.received += len(chunk.data)
            if download.received < chunk.total:
                self._request(session, download)
            else:
                self._finish(download)
        self._pump()

    def refuse(self, session: SessionModel, failed: Failed) -> None:
        """The session has no such asset."""
        download = self._open.pop((session.key, failed.id), None)
        if download is not None:
            self.failed.emit(download.digest, failed.reason)
            self._pump()

    def _expected(self) -> set[str]:
        return {digest for _, digest in self._queue} | {d.digest for d in self._open.values()}

    def _pump(self) -> None:
        while self._queue and len(self._open) < _IN_FLIGHT:
            session, digest = self._queue.popleft()
            self._request(session, _Download(digest))

    def _request(self, session: SessionModel, download: _Download) -> None:
        command = session.send(
            lambda i: AssetRequest(id=i, digest=download.digest, offset=download.received)
        )
        if command is not None:
            self._open[(session.key, command)] = download

    def _finish(self, download: _Download) -> None:
        try:
            arrays = parse_asset(b"".join(download.parts), download.digest)
        except InvalidMessage as error:
            self.failed.emit(download.digest, str(error))
            return
        self._cache[download.digest] = (download.received, arrays)
        total = sum(size for size, _ in self._cache.values())
        while total > _MAX_CACHE_BYTES and len(self._cache) > 1:
            total -= self._cache.popitem(last=False)[1][0]
        self.arrived.emit(download.digest, arrays)


def _check(download: _Download, chunk: AssetChunk) -> str:
    if chunk.digest != download.digest or chunk.offset != download.received:
        return "the application sent another part than the one asked for"
    if not chunk.data or chunk.total > _MAX_ASSET_BYTES:
        return f"the application announced {chunk.total} bytes; at most {_MAX_ASSET_BYTES} are read"
    if download.received + len(chunk.data) > chunk.total:
        return "the application sent more bytes than it announced"
    return ""
