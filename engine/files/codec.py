"""Columns of 64-bit numbers in few bytes, every bit of them: what changes slowly costs little.

Each column becomes the differences of neighbours, taken as 64-bit integers; small ones of either
sign become small unsigned numbers (zigzag); their bytes are sorted by significance, so that zstd
finds the zeros next to each other. Bit patterns of floats grow with their value, so that this
does for floats what it does for integers, NaN included. Columns that don't change are left out.
"""

import numpy as np
from numpy.typing import NDArray

__all__ = ["decode_columns", "encode_columns"]

_ONE = np.uint64(1)
Integers = NDArray[np.int64]


def encode_columns(columns: Integers) -> bytes:
    """Return the differences along ``columns`` (m, n), n ≥ 1, as 8·m·(n−1) bytes for zstd.

    Byte plane by byte plane, the least significant one first; in each column by column.
    """
    m, n = columns.shape
    differences = columns[:, 1:] - columns[:, :-1]
    zigzag = (differences << 1) ^ (differences >> 63)
    planes = zigzag.view(np.uint8).reshape(m, n - 1, 8).transpose(2, 0, 1)
    return np.ascontiguousarray(planes).tobytes()


def decode_columns(data: memoryview, first: Integers, count: int) -> Integers:
    """Return the columns, (m, count), that begin with ``first``, (m,)."""
    m = len(first)
    columns: Integers = np.empty((m, count), dtype=np.int64)
    columns[:, 0] = first
    if count > 1 and m:
        planes = np.frombuffer(data, dtype=np.uint8).reshape(8, m, count - 1)
        zigzag = planes[0].astype(np.uint64)
        for significance in range(1, 8):
            plane = planes[significance]
            if plane.any():
                zigzag |= plane.astype(np.uint64) << np.uint64(8 * significance)
        signs = (zigzag & _ONE).view(np.int64)
        differences = (zigzag >> _ONE).view(np.int64)
        np.bitwise_xor(differences, np.negative(signs, out=signs), out=columns[:, 1:])
        np.cumsum(columns, axis=1, out=columns)
    return columns
