"""A growing array of bytes that checkpoints are appended to."""

from typing import SupportsIndex

from stroboscope.engine.arguments import machine_bytes, whole_number

__all__ = ["DynamicArrayUint8"]


class DynamicArrayUint8(bytearray):
    """A mutable array of bytes: append, extend, clear, resize, index, buffer protocol.

    Make it empty, from bytes, from an iterable of 0…255, or as that many zeros from an int.
    ``bytes(array)`` is an immutable copy that may cross threads; the array itself belongs to
    one thread at a time. While a ``memoryview`` of it is alive its length can't change
    (BufferError).
    """

    # A bytearray underneath: before Python 3.12 only C types can offer the buffer protocol.

    __slots__ = ()

    def resize(self, length: SupportsIndex, value: int = 0) -> None:
        """Cut to ``length`` bytes, or pad with ``value``; ValueError when either is impossible."""
        size = whole_number(length, "the length", least=0, most=machine_bytes())
        value = whole_number(value, "the fill value", least=0, most=255)
        if size < len(self):
            del self[size:]
        else:
            self += bytes((value,)) * (size - len(self))

    def __repr__(self) -> str:
        """Say how long it is and how it begins."""
        head = bytes(self[:8]).hex(" ")
        dots = " …" if len(self) > 8 else ""
        return f"DynamicArrayUint8({len(self)} bytes{': ' if head else ''}{head}{dots})"

    __str__ = __repr__
