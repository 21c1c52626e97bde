"""Buffers of what is drawn: they grow up to the cap, and are used again for every frame."""

import struct
from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.arrays import Arrays
from stroboscope.debugger_protocol.topics import DrawKind

__all__ = [
    "KIND_NUMBERS",
    "MAX_ITEMS",
    "MAX_POINTS",
    "NOTHING_DRAWN",
    "DrawnFrame",
    "KeptDrawings",
    "packed_item",
]

MAX_ITEMS: Final = 10_000
"""How many arrows, lines, … one scene draws at a time."""
MAX_POINTS: Final = 400_000
"""How many points of clouds one scene draws at a time: more do not fit into one message."""

KIND_NUMBERS = {kind: number for number, kind in enumerate(DrawKind)}

_ROW = struct.Struct("<15f2i")
_ROW_TYPE = np.dtype(
    [
        ("pos", "<f4", 3),
        ("quat", "<f4", 4),
        ("size", "<f4", 3),
        ("rgba", "<f4", 4),
        ("width", "<f4"),
        ("kind", "<i4"),
        ("text_bytes", "<i4"),
    ]
)
# Per point: position, colour, size.
_POINT_WIDTH = 8
_FIRST_ITEMS = 64
_FIRST_POINTS = 1024

packed_item = _ROW.pack
"""``packed_item(*pos, *quat, *size, *rgba, width, kind, bytes of text)``"""

PointRows = NDArray[np.float32]


class DrawnFrame:
    """What was drawn between the ends of two steps."""

    def __init__(self) -> None:
        self.step = -1
        """How many application steps had been completed; -1: nothing was drawn."""
        self.left_out = 0
        self.items = 0
        self.n_points = 0
        self.made: Arrays | None = None
        """These drawings together with the persistent ones, until either changes."""
        self._rows = bytearray(_FIRST_ITEMS * _ROW.size)
        self._text = bytearray()
        self._points: PointRows = np.empty((0, _POINT_WIDTH), dtype=np.float32)

    def clear(self, *, step: int) -> None:
        """Begin anew, keeping the buffers."""
        self.step = step
        self.left_out = self.items = self.n_points = 0
        self.made = None
        self._text.clear()

    def add(self, row: bytes, text: bytes) -> None:
        """Append one item."""
        at = self.items * _ROW.size
        if at == len(self._rows):
            self._rows.extend(bytes(len(self._rows)))
        self._rows[at : at + _ROW.size] = row
        if text:
            self._text += text
        self.items += 1

    def add_points(self, count: int) -> PointRows:
        """Return the rows of ``count`` new points, to be filled."""
        begin, end = self.n_points, self.n_points + count
        if end > len(self._points):
            size = min(MAX_POINTS, max(_FIRST_POINTS, end, 2 * len(self._points)))
            grown = np.empty((size, _POINT_WIDTH), dtype=np.float32)
            grown[:begin] = self._points[:begin]
            self._points = grown
        self.n_points = end
        return self._points[begin:end]

    def rows(self, count: int) -> bytes:
        """Return the first ``count`` packed items."""
        return bytes(memoryview(self._rows)[: count * _ROW.size])

    def text(self) -> bytes:
        """Return the texts of the items, one after the other."""
        return bytes(self._text)

    def points(self, count: int) -> PointRows:
        """Return the first ``count`` points, (count, 8); overwritten by the next frame."""
        return self._points[:count]


class KeptDrawings:
    """What stays until it is removed, by number."""

    def __init__(self) -> None:
        self.left_out = 0
        self.n_points = 0
        self._items: dict[int, tuple[bytes, bytes]] = {}
        self._clouds: dict[int, PointRows] = {}
        self._next = 1

    @property
    def items(self) -> int:
        """How many items there are."""
        return len(self._items)

    def add(self, row: bytes, text: bytes) -> int:
        """Keep one item; return its number."""
        number = self._number()
        self._items[number] = (row, text)
        return number

    def add_points(self, count: int) -> tuple[int, PointRows]:
        """Keep a cloud; return its number and its rows, to be filled."""
        number, rows = self._number(), np.empty((count, _POINT_WIDTH), dtype=np.float32)
        self._clouds[number] = rows
        self.n_points += count
        return number, rows

    def remove(self, number: int) -> bool:
        """Forget one; return whether it was there."""
        cloud = self._clouds.pop(number, None)
        if cloud is not None:
            self.n_points -= len(cloud)
        return cloud is not None or self._items.pop(number, None) is not None

    def clear(self) -> None:
        """Forget all."""
        self._items.clear()
        self._clouds.clear()
        self.n_points = self.left_out = 0

    def together(self, frame: DrawnFrame | None) -> Arrays:
        """Return the topic's arrays: these, and those of ``frame``. Copies."""
        rows, texts = b"".join(r for r, _ in self._items.values()), self._texts()
        clouds: list[PointRows] = list(self._clouds.values())
        left_out = self.left_out
        if frame is not None:
            # What is persistent goes first where both together are more than the cap.
            items = min(frame.items, MAX_ITEMS - self.items)
            points = min(frame.n_points, MAX_POINTS - self.n_points)
            rows, texts = rows + frame.rows(items), texts + frame.text()
            clouds.append(frame.points(points))
            left_out += frame.left_out + frame.items - items + frame.n_points - points
        return _arrays(rows, texts, clouds, left_out=left_out)

    def _texts(self) -> bytes:
        return b"".join(text for _, text in self._items.values())

    def _number(self) -> int:
        self._next += 1
        return self._next


def _arrays(rows: bytes, text: bytes, clouds: Iterable[PointRows], *, left_out: int) -> Arrays:
    items = np.frombuffer(rows, dtype=_ROW_TYPE)
    text_end = np.cumsum(items["text_bytes"], dtype=np.int32)
    used = int(text_end[-1]) if len(text_end) else 0
    empty: PointRows = np.empty((0, _POINT_WIDTH), dtype=np.float32)
    points = np.concatenate([empty, *clouds])
    return {
        **{name: np.array(items[name]) for name in ("pos", "quat", "size", "rgba", "width")},
        "kind": np.array(items["kind"], dtype=np.int32),
        "text": np.frombuffer(text, dtype=np.uint8, count=used),
        "text_end": text_end,
        "point_pos": np.array(points[:, :3]),
        "point_rgba": np.array(points[:, 3:7]),
        "point_size": np.array(points[:, 7]),
        "left_out": np.array([left_out], dtype=np.int32),
    }


NOTHING_DRAWN: Final = _arrays(b"", b"", (), left_out=0)
"""The topic's arrays of a scene that draws nothing."""
