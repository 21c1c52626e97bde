"""Bytes to messages and back, with every limit checked before anything is built from the bytes.

The order matters: size, then the structure of the MessagePack (depth, completeness, lengths of
strings), then types, then values. The structural pass means that a header which promises four
thousand million elements, or nests a hundred thousand deep, never reaches the decoder.
"""

import math
import typing
from typing import Any, Final, Generic, TypeVar

import msgspec

from stroboscope.debugger_protocol.exceptions import InvalidMessage, LimitExceeded
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.messages import (
    ClientMessage,
    Goodbye,
    PhysicsStep,
    ServerMessage,
    SetSpeed,
    Step,
    Subscribe,
)

__all__ = [
    "MAX_SPEED",
    "MIN_SPEED",
    "MessageCodec",
    "UnknownMessage",
    "check_client_values",
    "check_structure",
    "client_codec",
    "encode_message",
    "server_codec",
    "trim_text",
    "trimmed_goodbye",
    "with_encodable_text",
]

MessageT = TypeVar("MessageT")

MIN_SPEED: Final = 1.0 / 64.0
MAX_SPEED: Final = 64.0

_MAX_INT: Final = 2**63 - 1
_ENCODER: Final = msgspec.msgpack.Encoder()

# What follows the first byte of each MessagePack element: for scalars and short strings the number
# of bytes to skip, for the others a code that _check_complex understands.
_CONTAINER: Final = -1
_SIZED: Final = -2
_NEVER: Final = -3


def _skip_table() -> tuple[int, ...]:
    table = [0] * 256
    for byte in range(0xA0, 0xC0):
        table[byte] = byte - 0xA0
    for byte in (*range(0x80, 0xA0), 0xDC, 0xDD, 0xDE, 0xDF):
        table[byte] = _CONTAINER
    for byte in (0xC4, 0xC5, 0xC6, 0xC7, 0xC8, 0xC9, 0xD9, 0xDA, 0xDB):
        table[byte] = _SIZED
    scalars = {0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8}
    scalars |= {0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8}
    extensions = {0xD4: 2, 0xD5: 3, 0xD6: 5, 0xD7: 9, 0xD8: 17}
    for byte, skip in (scalars | extensions).items():
        table[byte] = skip
    table[0xC1] = _NEVER
    return tuple(table)


_SKIP: Final = _skip_table()
# First byte: (width of the length field, bytes beyond the length that belong to the element).
_SIZED_LAYOUT: Final = {
    **{0xC4: (1, 0), 0xC5: (2, 0), 0xC6: (4, 0)},
    **{0xC7: (1, 1), 0xC8: (2, 1), 0xC9: (4, 1)},
    **{0xD9: (1, 0), 0xDA: (2, 0), 0xDB: (4, 0)},
}
_STRINGS: Final = frozenset({0xD9, 0xDA, 0xDB})


class UnknownMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A well-formed message of a type that this version does not know: a newer minor version's.

    Clients ignore it; a server answers it with Failed when it carries a command's ``id``.
    """

    type: str
    id: int | None = None


class _Envelope(msgspec.Struct):
    type: str
    id: int | None = None


def encode_message(message: msgspec.Struct, limit: int) -> bytes:
    """Return the bytes of one message; raises LimitExceeded when they are more than ``limit``.

    Text that is no Unicode (undecodable bytes of a file name or an argument, which Python keeps as
    lone surrogates) travels escaped: a script's odd name must not cost it the connection.
    """
    try:
        data = _ENCODER.encode(message)
    except UnicodeEncodeError:
        data = _ENCODER.encode(with_encodable_text(message))
    if len(data) > limit:
        kind = message.__struct_config__.tag
        raise LimitExceeded(f"a {kind} message has {len(data)} bytes; at most {limit} may be sent")
    return data


def with_encodable_text(value: Any) -> Any:
    """Return ``value`` as plain containers in which lone surrogates are written as escapes."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, msgspec.Struct):
        value = msgspec.to_builtins(value, builtin_types=(bytes, bytearray, memoryview))
    if isinstance(value, dict):
        return {with_encodable_text(k): with_encodable_text(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [with_encodable_text(each) for each in value]
    return value


def trim_text(text: str, limit: int) -> str:
    """Return ``text`` cut to at most ``limit`` bytes of UTF-8, with an ellipsis where cut."""
    data = text.encode("utf-8", "backslashreplace")
    if len(data) <= limit:
        return data.decode("utf-8")
    return data[: max(0, limit - 3)].decode("utf-8", "ignore") + "…"


class MessageCodec(Generic[MessageT]):
    """Decodes one direction of one dialect; immutable and usable from any thread.

    ``string_bytes`` bounds every string in a message (names are 256 bytes at most); None where
    the peer has proven who it is and may describe scenes at length.
    """

    def __init__(
        self, union: Any, *, max_bytes: int, nesting: int, string_bytes: int | None
    ) -> None:
        self.max_bytes = max_bytes
        self._nesting = nesting
        self._string_bytes = string_bytes
        self._check_values = string_bytes is not None
        self._decoder: msgspec.msgpack.Decoder[MessageT] = msgspec.msgpack.Decoder(union)
        self._envelope = msgspec.msgpack.Decoder(_Envelope)
        members = typing.get_args(union) or (union,)
        self._tags = frozenset(member.__struct_config__.tag for member in members)

    def encode(self, message: msgspec.Struct) -> bytes:
        """Return the bytes of ``message``; raises LimitExceeded when it is too large to send."""
        return encode_message(message, self.max_bytes)

    def encode_readable(self, message: msgspec.Struct) -> bytes:
        """Return the bytes of ``message``, which the other end will read.

        Raises InvalidMessage, and LimitExceeded for size: what it could not read would end the
        connection, and let go of everything that is held.
        """
        kind, limit = message.__struct_config__.tag, self._string_bytes
        for name in message.__struct_fields__:
            text = getattr(message, name)
            size = len(text.encode("utf-8", "backslashreplace")) if isinstance(text, str) else 0
            if limit is not None and size > limit:
                raise InvalidMessage(
                    f"{kind}: {name} is {size} bytes long; at most {limit} may be sent"
                )
        try:
            data = self.encode(message)
        except OverflowError as error:
            raise InvalidMessage(f"{kind}: a number is too large: {error}") from None
        check_structure(data, nesting=self._nesting, string_bytes=limit)
        return data

    def decode(self, data: bytes, max_bytes: int | None = None) -> MessageT | UnknownMessage:
        """Return the message in ``data``.

        Raises LimitExceeded for size and InvalidMessage for everything else that is wrong. When
        the message names a command, the exception's ``id`` says which.
        """
        limit = self.max_bytes if max_bytes is None else min(max_bytes, self.max_bytes)
        if len(data) > limit:
            raise LimitExceeded(f"a message of {len(data)} bytes arrived; at most {limit} may")
        check_structure(data, nesting=self._nesting, string_bytes=self._string_bytes)
        try:
            message = self._decoder.decode(data)
        except msgspec.MsgspecError as error:
            return self._unknown_or_raise(data, error)
        if self._check_values:
            check_client_values(message)
        return message

    def _unknown_or_raise(self, data: bytes, error: Exception) -> UnknownMessage:
        try:
            envelope = self._envelope.decode(data)
        except msgspec.MsgspecError:
            raise InvalidMessage(f"not a message of this protocol: {error}") from None
        id = envelope.id if envelope.id is not None and 0 <= envelope.id <= _MAX_INT else None
        if envelope.type in self._tags:
            raise InvalidMessage(f"a {envelope.type} message is wrong: {error}", id=id) from None
        return UnknownMessage(type=trim_text(envelope.type, 64), id=id)


def client_codec(limits: Limits) -> MessageCodec[ClientMessage]:
    """Return the codec of what clients send."""
    return MessageCodec(
        ClientMessage,
        max_bytes=limits.client_message_bytes,
        nesting=limits.nesting,
        string_bytes=limits.name_bytes,
    )


def server_codec(limits: Limits) -> MessageCodec[ServerMessage]:
    """Return the codec of what servers send."""
    return MessageCodec(
        ServerMessage,
        max_bytes=limits.server_message_bytes,
        nesting=limits.nesting,
        string_bytes=None,
    )


def check_structure(data: bytes, *, nesting: int, string_bytes: int | None = None) -> None:
    """Raise InvalidMessage unless ``data`` is exactly one MessagePack element within the limits.

    Walks the bytes with an explicit stack, so that no depth of nesting can exhaust Python's.
    """
    end = len(data)
    position = 0
    remaining = 1
    outer: list[int] = []
    while True:
        while remaining == 0:
            if not outer:
                if position != end:
                    raise InvalidMessage(f"a message of {position} bytes came as {end} bytes")
                return
            remaining = outer.pop()
        if position >= end:
            raise InvalidMessage(f"a message is cut off after {end} bytes")
        remaining -= 1
        byte = data[position]
        skip = _SKIP[byte]
        position += 1
        if skip >= 0:
            position += skip
        elif skip == _SIZED:
            width, extra = _SIZED_LAYOUT[byte]
            length = int.from_bytes(data[position : position + width], "big")
            if string_bytes is not None and length > string_bytes and byte in _STRINGS:
                raise InvalidMessage(
                    f"a string of {length} bytes arrived; at most {string_bytes} bytes may"
                )
            position += width + extra + length
        elif skip == _CONTAINER:
            if len(outer) >= nesting:
                raise InvalidMessage(f"a message is nested deeper than {nesting} levels")
            outer.append(remaining)
            remaining, position = _container(data, byte, position)
        else:
            raise InvalidMessage("the byte 0xc1 is no MessagePack")


def _container(data: bytes, byte: int, position: int) -> tuple[int, int]:
    """Return how many elements a container holds (keys and values apart) and where they begin."""
    if byte < 0x90:
        return 2 * (byte - 0x80), position
    if byte < 0xA0:
        return byte - 0x90, position
    width = 2 if byte in (0xDC, 0xDE) else 4
    count = int.from_bytes(data[position : position + width], "big")
    return (2 * count if byte in (0xDE, 0xDF) else count), position + width


def check_client_values(message: Any) -> None:
    """Raise InvalidMessage when a well-typed client message holds an impossible value."""
    id = getattr(message, "id", None)
    kind = message.__struct_config__.tag
    for name in message.__struct_fields__:
        value = getattr(message, name)
        if isinstance(value, float):
            good = math.isfinite(value)
        elif isinstance(value, int) and not isinstance(value, bool):
            good = 0 <= value <= _MAX_INT
        elif isinstance(value, tuple):
            good = all(math.isfinite(x) for x in value if isinstance(x, float))
        else:
            continue
        if not good:
            wanted = "a whole number from 0 to 2**63 - 1" if isinstance(value, int) else "finite"
            shown = "not finite" if isinstance(value, tuple) else value
            usable = id if name != "id" else None
            raise InvalidMessage(f"{kind}: {name} is {shown}; it must be {wanted}", id=usable)
    problem = _out_of_range(message) or _held_out_of_range(message)
    if problem:
        raise InvalidMessage(f"{kind}: {problem}", id=id)


def _out_of_range(message: Any) -> str:
    if isinstance(message, Step | PhysicsStep) and message.count < 1:
        return f"count is {message.count}; at least 1 step can be asked for"
    if isinstance(message, SetSpeed) and not MIN_SPEED <= message.speed <= MAX_SPEED:
        return f"speed is {message.speed:g}; allowed are 1/64 to 64 times real time"
    if isinstance(message, Subscribe) and not 0.0 < message.max_rate_hz <= 1000.0:
        return f"max_rate_hz is {message.max_rate_hz:g}; allowed are more than 0, up to 1000"
    return ""


def _held_out_of_range(message: Any) -> str:
    """Return what is wrong with the numbers in the structs that a message holds."""
    for name in message.__struct_fields__:
        held = getattr(message, name)
        for each in held if isinstance(held, tuple) else (held,):
            for field in getattr(each, "__struct_fields__", ()):
                value = getattr(each, field)
                values = value if isinstance(value, tuple) else (value,)
                if any(isinstance(x, float) and not math.isfinite(x) for x in values):
                    return f"{field} in {name} is not finite"
                if any(type(x) is int and not 0 <= x <= _MAX_INT for x in values):
                    return f"{field} in {name} is {value}; it must be a whole number from 0 on"
    return ""


def trimmed_goodbye(reason: str, limits: Limits) -> Goodbye:
    """Return a Goodbye whose reason fits the limit on strings."""
    return Goodbye(reason=trim_text(reason, limits.name_bytes))
