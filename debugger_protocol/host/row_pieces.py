"""Rows of the past on their way to a client: in bounded pieces, packed on the server thread."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from stroboscope.debugger_protocol.arrays import Arrays
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.time_messages import ReadRows, Rows

if TYPE_CHECKING:
    from stroboscope.debugger_protocol.host.playback import Ticket

__all__ = ["rows_of"]

# What all rows of one ReadRows may have.
_MAX_BYTES: Final = 16 << 20

# More of the narrowest rows would have more bytes than may be read at once.
_MAX_ROWS: Final = _MAX_BYTES // 32

# So many may wait for a client in its lane.
_PIECE_BYTES: Final = 256 << 10


class _Read(Protocol):
    """What reads rows of one scene, of a rollout, or of a scene that has ended."""

    def __call__(
        self, channels: tuple[str, ...], /, *, first: int, last: int, max_rows: int
    ) -> Iterator[Arrays]: ...


def rows_of(read: _Read, ticket: "Ticket", command: ReadRows, *, last: int) -> Iterator[float]:
    """Tell ``ticket`` the rows that an engine reads, a piece per step; yields how far that is.

    ``last`` is the last one unless ``command`` names another. Raises CommandError at once where
    nothing can be read; more than 16 MiB are one later: they can't be thinned any more.
    """
    if not command.channels:
        raise CommandError("reading rows needs channels: name those to read")
    pieces = read(
        command.channels,
        first=command.first,
        last=last if command.last is None else command.last,
        max_rows=max(1, min(command.max_rows, _MAX_ROWS)),
    )
    return _told(pieces, ticket, command)


def _told(pieces: Iterator[Arrays], ticket: "Ticket", command: ReadRows) -> Iterator[float]:
    sent = 0
    for piece in pieces:
        widths = _widths(piece, command.channels)
        count = len(piece["axis"])
        sent += count * 8 * (2 + sum(widths))
        if sent > _MAX_BYTES:
            raise CommandError(
                f"these rows have more than {_MAX_BYTES:,} bytes: ask for fewer rows or channels"
            )
        step = max(1, _PIECE_BYTES // (8 * (2 + sum(widths))))
        for begin in range(0, count, step):
            part = {name: piece[name][begin : begin + step] for name in ("axis", "time", "values")}
            ticket.tell(_Pack(command, part, widths))
            yield min(0.99, sent / _MAX_BYTES)


class _Pack:
    """Packs one piece on the server thread, for the command with the client's ``id``."""

    def __init__(self, command: ReadRows, part: Arrays, widths: tuple[int, ...]) -> None:
        self._command = command
        self._part = part
        self._widths = widths

    def __call__(self, id: int) -> Iterator[Rows]:
        command, part = self._command, self._part
        blob = b"".join(
            (
                np.ascontiguousarray(part["axis"], dtype="<i8").tobytes(),
                np.ascontiguousarray(part["time"], dtype="<f8").tobytes(),
                np.ascontiguousarray(part["values"], dtype="<f8").tobytes(),
            )
        )
        yield Rows(
            id=id,
            scene_id=command.scene_id,
            rollout_id=command.rollout_id,
            channels=command.channels,
            widths=self._widths,
            count=len(part["axis"]),
            blob=blob,
        )


def _widths(piece: Arrays, channels: tuple[str, ...]) -> tuple[int, ...]:
    """Return how many columns each channel has."""
    if "widths" in piece:
        return tuple(int(width) for width in piece["widths"])
    total = piece["values"].shape[1]
    if total % len(channels):
        raise CommandError(f"{total} columns for {len(channels)} channels: whose are they?")
    return (total // len(channels),) * len(channels)
