"""Named arrays as one typed blob with an offset table, and assets addressed by their content."""

import hashlib
from collections.abc import Iterable, Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.codec import check_structure
from stroboscope.debugger_protocol.exceptions import InvalidMessage
from stroboscope.debugger_protocol.messages import ArrayEntry

__all__ = ["Arrays", "asset_bytes", "asset_digest", "pack_arrays", "parse_asset", "unpack_arrays"]

Arrays = Mapping[str, NDArray[np.generic]]

# What may travel: plain little-endian numbers. Anything else (objects, strings) is refused.
_DTYPES = frozenset({"<f8", "<f4", "<i8", "<i4", "<u8", "<u4", "<i2", "<u2", "|u1", "|i1", "|b1"})
_ALIGNMENT = 8
_MAX_DIMENSIONS = 8
_ASSET_NESTING = 4


def pack_arrays(arrays: Arrays) -> tuple[tuple[ArrayEntry, ...], bytes]:
    """Return the offset table and the blob that holds ``arrays``, each 8-byte aligned.

    Raises TypeError for dtypes that are not plain numbers.
    """
    entries = []
    parts: list[bytes] = []
    offset = 0
    for name, array in arrays.items():
        little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        if little.dtype.str not in _DTYPES:
            raise TypeError(f"array {name!r} has dtype {array.dtype}, which can't be sent")
        entries.append(ArrayEntry(name, little.dtype.str, array.shape, offset))
        data = little.tobytes()
        padding = -len(data) % _ALIGNMENT
        parts.append(data)
        parts.append(b"\0" * padding)
        offset += len(data) + padding
    return tuple(entries), b"".join(parts)


def unpack_arrays(entries: Iterable[ArrayEntry], blob: bytes) -> dict[str, NDArray[np.generic]]:
    """Return read-only views into ``blob``; raises InvalidMessage when the table is not true."""
    arrays: dict[str, NDArray[np.generic]] = {}
    for entry in entries:
        if entry.dtype not in _DTYPES:
            raise InvalidMessage(f"array {entry.name!r} has dtype {entry.dtype!r}, not allowed")
        if len(entry.shape) > _MAX_DIMENSIONS or any(n < 0 for n in entry.shape):
            raise InvalidMessage(f"array {entry.name!r} has the impossible shape {entry.shape}")
        count = 1
        for n in entry.shape:
            count *= n
        dtype = np.dtype(entry.dtype)
        end = entry.offset + count * dtype.itemsize
        if entry.offset < 0 or entry.offset % _ALIGNMENT or end > len(blob):
            raise InvalidMessage(
                f"array {entry.name!r} claims bytes {entry.offset}…{end} of a {len(blob)}-byte blob"
            )
        if entry.name in arrays:
            raise InvalidMessage(f"array {entry.name!r} appears twice")
        flat = np.frombuffer(blob, dtype=dtype, count=count, offset=entry.offset)
        try:
            arrays[entry.name] = flat.reshape(entry.shape)
        except ValueError:
            # Empty, but with other dimensions beyond what an address can hold.
            raise InvalidMessage(
                f"array {entry.name!r} has the impossible shape {entry.shape}"
            ) from None
    return arrays


class _Asset(msgspec.Struct, frozen=True, array_like=True):
    entries: tuple[ArrayEntry, ...]
    blob: bytes


def asset_bytes(arrays: Arrays) -> bytes:
    """Return the bytes that an asset with these arrays is transferred as and hashed over."""
    return msgspec.msgpack.encode(_Asset(*pack_arrays(arrays)))


def asset_digest(data: bytes) -> str:
    """Return the content address of an asset: the sha256 of its bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def parse_asset(data: bytes, digest: str) -> dict[str, NDArray[np.generic]]:
    """Return an asset's arrays; raises InvalidMessage when its bytes are not what was asked for."""
    seen = asset_digest(data)
    if seen != digest:
        raise InvalidMessage(f"asset {digest[:12]}… arrived as {seen[:12]}…: discarded")
    check_structure(data, nesting=_ASSET_NESTING)
    try:
        asset = msgspec.msgpack.decode(data, type=_Asset)
    except msgspec.MsgspecError as error:
        raise InvalidMessage(f"asset {digest[:12]}… can't be decoded: {error}") from error
    return unpack_arrays(asset.entries, asset.blob)
