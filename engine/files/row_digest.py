"""The digest by which a file knows a row that it does not hold."""

import functools
from collections.abc import Callable

from stroboscope.engine.files.compression import needed

__all__ = ["digest_of_row"]


@functools.cache
def digest_of_row() -> Callable[[bytes], int]:
    """Return what computes it, of a row's bytes; raises FilesUnavailableError without xxhash."""
    digest: Callable[[bytes], int] = needed("xxhash").xxh3_64_intdigest
    return digest
