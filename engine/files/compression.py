"""zstd with sizes that are checked before anything is allocated."""

import importlib
from collections.abc import Sequence
from typing import Any

from stroboscope.engine.files.errors import FilesUnavailableError

__all__ = ["CompressedError", "Compressor", "Decompressor", "needed"]

# Above level 1 states gain 1.4 % at most.
_LEVEL = 1
# For a number now and then among zeros: most of what it takes is where it stands. A search that
# remembers only what was just there finds the zeros before; one that knows more finds other ways to
# say the same each time. It takes no longer.
_SPARSE = {
    "strategy": 4,
    "min_match": 6,
    "search_log": 3,
    "window_log": 17,
    "hash_log": 6,
    "chain_log": 6,
}


class CompressedError(ValueError):
    """Bytes are no zstd frame of the size expected; the caller knows which file it is about."""


def needed(module: str) -> Any:
    """Import a package that only files need; raises FilesUnavailableError where it is missing."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise FilesUnavailableError(
            f"files need the package {module!r}, which can't be imported ({error}): "
            'pip install "stroboscope[files]"'
        ) from error


class Compressor:
    """Compresses bytes into frames that say their size; one thread at a time."""

    def __init__(self, level: int = _LEVEL) -> None:
        self._compress = needed("zstandard").ZstdCompressor(level=level).compress
        self._sparse: Any = None

    def __call__(self, data: bytes | memoryview) -> bytes:
        """Return ``data`` as one frame."""
        compressed: bytes = self._compress(data)
        return compressed

    def sparse(self, parts: Sequence[bytes | memoryview]) -> bytes:
        """Return data that is mostly zeros as one frame.

        ``parts`` are unlike each other: each is coded with tables of its own.
        """
        zstd = needed("zstandard")
        if self._sparse is None:
            self._sparse = zstd.ZstdCompressor(
                compression_params=zstd.ZstdCompressionParameters(**_SPARSE)
            )
        stream = self._sparse.compressobj(size=sum(map(len, parts)))
        made = []
        for part in parts[:-1]:
            made += [stream.compress(part), stream.flush(zstd.COMPRESSOBJ_FLUSH_BLOCK)]
        return b"".join((*made, stream.compress(parts[-1]), stream.flush()))


class Decompressor:
    """Decompresses frames whose size is known or bounded; one thread at a time."""

    def __init__(self) -> None:
        self._zstd = needed("zstandard")
        self._decompressor = self._zstd.ZstdDecompressor()

    def __call__(self, data: bytes | memoryview, *, limit: int, exact: bool = False) -> bytes:
        """Return the content of the frame ``data``, at most (``exact``: just) ``limit`` bytes.

        Raises CompressedError, before anything is allocated when the frame declares too much.
        """
        try:
            size = self._zstd.get_frame_parameters(data).content_size
            if size in (self._zstd.CONTENTSIZE_UNKNOWN, self._zstd.CONTENTSIZE_ERROR):
                raise CompressedError("a compressed part does not say how large it is")
            if size > limit or (exact and size != limit):
                what = "has" if exact else "may have at most"
                raise CompressedError(
                    f"a compressed part declares {size:,} bytes and {what} to be {limit:,}"
                    if exact
                    else f"a compressed part declares {size:,} bytes and {what} {limit:,}"
                )
            content: bytes = self._decompressor.decompress(data) if size else b""
        except self._zstd.ZstdError as error:
            raise CompressedError(f"a compressed part is damaged ({error})") from error
        if len(content) != size:
            raise CompressedError(
                f"a compressed part has {len(content):,} bytes and declares {size:,}"
            )
        return content
