"""Descriptions of scenes, made when first asked for, and the assets they name.

Server thread only: a backend's ``describe`` and ``asset`` may be called nowhere else.
"""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

import msgspec

from stroboscope.debugger_protocol.codec import encode_message
from stroboscope.debugger_protocol.exceptions import CommandError, LimitExceeded
from stroboscope.debugger_protocol.expressions import (
    ExpressionError,
    compile_expression,
    expression_text,
    is_expression,
    table_of,
)
from stroboscope.debugger_protocol.host.scene_link import SceneLink, channel_info
from stroboscope.debugger_protocol.messages import AssetChunk, AssetRequest, SceneDescribed
from stroboscope.debugger_protocol.scene_description import SceneDescription

__all__ = ["Descriptions"]

# Assets that are being transferred stay here, so that a backend isn't asked for every chunk.
_KEPT_BYTES: Final = 64 << 20


class Descriptions:
    """Describes scenes once per revision and serves their assets in ranges."""

    def __init__(self, *, chunk_bytes: int, message_bytes: int) -> None:
        self._chunk_bytes = chunk_bytes
        self._message_bytes = message_bytes
        self._of: dict[int, tuple[int, SceneDescription | str]] = {}
        self._owners: dict[str, SceneLink] = {}
        self._assets: OrderedDict[str, bytes] = OrderedDict()

    def describe(self, link: SceneLink) -> SceneDescription:
        """Return the description of the scene as it is now; raises CommandError."""
        revision = link.revision
        known = self._of.get(link.scene_id)
        if known is None or known[0] != revision:
            known = self._of[link.scene_id] = (revision, self._describe(link, revision))
        if isinstance(known[1], str):
            # That took a second of work, and is asked for with every frame.
            raise CommandError(known[1])
        return known[1]

    def _describe(self, link: SceneLink, revision: int) -> SceneDescription | str:
        """Return the description, or why it can't be sent; raises CommandError when it failed."""
        try:
            description = link.backend.describe(link.scene_id, link.name)
        except Exception as error:  # told to the client that asked
            raise CommandError(
                f"{link.name!r} can't be described: {type(error).__name__}: {error}"
            ) from error
        if description.revision != revision:
            description = msgspec.structs.replace(description, revision=revision)
        try:
            encode_message(SceneDescribed(description=description), self._message_bytes)
        except LimitExceeded as error:
            return (
                f"{link.name!r} can't be shown: its description of {len(description.bodies)} "
                f"bodies and {len(description.geoms)} geoms is too large ({error})"
            )
        digests = [mesh.digest for mesh in description.meshes]
        digests += [hfield.digest for hfield in description.hfields]
        digests += [flex.digest for flex in description.flexes]
        digests += [skin.digest for skin in description.skins]
        digests += [texture.digest for texture in description.textures]
        if description.trees is not None:
            digests.append(description.trees.digest)
        self._owners.update(dict.fromkeys(digests, link))
        return description

    def channels(self, link: SceneLink) -> frozenset[str]:
        """Return the names of the engine's channels; raises CommandError."""
        return frozenset(channel.name for channel in self.describe(link).channels)

    def check_expressions(self, link: SceneLink, channels: Iterable[str]) -> None:
        """Raise CommandError, with the place in the text, if one of the channels is wrong."""
        texts = [expression_text(each) for each in channels if is_expression(each)]
        if not texts:
            return
        user = [channel_info(each) for each in tuple(link.user_channels.values())]
        table = table_of(self.describe(link), user)
        for text in texts:
            try:
                compile_expression(text, table)
            except ExpressionError as error:
                raise CommandError(str(error)) from error

    def chunk(self, request: AssetRequest) -> AssetChunk:
        """Return the range of an asset that was asked for; raises CommandError."""
        data = self._asset(request.digest)
        if not 0 <= request.offset < max(1, len(data)):
            raise CommandError(
                f"asset {request.digest[:12]}… has {len(data)} bytes; "
                f"nothing begins at {request.offset}"
            )
        end = request.offset + self._chunk_bytes
        return AssetChunk(
            id=request.id,
            digest=request.digest,
            offset=request.offset,
            total=len(data),
            data=data[request.offset : end],
        )

    def forget(self, link: SceneLink) -> None:
        """Drop everything about a scene that was closed."""
        self._of.pop(link.scene_id, None)
        for digest in [digest for digest, owner in self._owners.items() if owner is link]:
            del self._owners[digest]

    def _asset(self, digest: str) -> bytes:
        data = self._assets.get(digest)
        if data is not None:
            self._assets.move_to_end(digest)
            return data
        link = self._owners.get(digest)
        try:
            data = link.backend.asset(digest) if link is not None else None
        except Exception as error:
            raise CommandError(
                f"asset {digest[:12]}… can't be read: {type(error).__name__}: {error}"
            ) from error
        if data is None:
            raise CommandError(
                f"no described scene has an asset {digest[:12]}…: it was closed, or not described"
            )
        self._assets[digest] = data
        kept = sum(len(each) for each in self._assets.values())
        while kept > _KEPT_BYTES and len(self._assets) > 1:
            kept -= len(self._assets.popitem(last=False)[1])
        return data
