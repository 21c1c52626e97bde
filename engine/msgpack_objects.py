"""How many objects are in a MessagePack message, counted without making any of them."""

from collections.abc import Collection

__all__ = ["objects_in"]

# What comes behind the first byte of an object: bytes that say a length, bytes that are its content
# besides. Containers say how many objects follow: these are counted when they come.
_WITH_LENGTH = {
    0xC4: (1, 0), 0xC5: (2, 0), 0xC6: (4, 0), 0xC7: (1, 1), 0xC8: (2, 1), 0xC9: (4, 1),
    0xD9: (1, 0), 0xDA: (2, 0), 0xDB: (4, 0),
}  # fmt: skip
_FIXED = {
    0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8,
    0xD4: 2, 0xD5: 3, 0xD6: 5, 0xD7: 9, 0xD8: 17, 0xDC: 2, 0xDD: 4, 0xDE: 2, 0xDF: 4,
}  # fmt: skip
_EXTENSIONS = frozenset((0xC7, 0xC8, 0xC9, 0xD4, 0xD5, 0xD6, 0xD7, 0xD8))


def objects_in(packed: bytes, *, most: int, nested: Collection[int] = ()) -> int:
    """Return how many there are, ``most`` + 1 when there are more: what is behind is not read.

    ``nested``: types of extensions that hold messages themselves. Bytes that are no MessagePack
    have some number, too.
    """
    at, count, end = 0, 0, len(packed)
    while at < end and count <= most:
        count += 1
        kind = packed[at]
        at += 1
        if 0xA0 <= kind <= 0xBF:  # a short text
            at += kind & 0x1F
        elif kind in _WITH_LENGTH:
            width, more = _WITH_LENGTH[kind]
            length = int.from_bytes(packed[at : at + width], "big")
            at += width
            is_nested = kind in _EXTENSIONS and packed[at : at + 1] and packed[at] in nested
            at += more if is_nested else more + length
        elif kind in _EXTENSIONS:
            at += 1 if packed[at : at + 1] and packed[at] in nested else _FIXED[kind]
        else:
            at += _FIXED.get(kind, 0)
    return count
