"""JSON that any reader understands, of values that JSON has no words for."""

import math
from typing import Any

import msgspec
import numpy as np

from stroboscope.engine.files.frames import FileEvent

__all__ = ["decode_event", "encode_json", "number_of", "word_of"]

# The words that protobuf's JSON has for numbers that are not finite, too.
_INFINITE = {math.inf: "Infinity", -math.inf: "-Infinity"}
_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_LEAST, _MOST = -(1 << 63), (1 << 64) - 1


def word_of(number: float) -> float | str:
    """Return a number, or a word where it is not finite."""
    return number if math.isfinite(number) else _INFINITE.get(number, "NaN")


def number_of(value: float | str) -> float:
    """Return the number of a number or a word; raises ValueError for other words."""
    if isinstance(value, str):
        if value not in _NUMBERS:
            raise ValueError(f"{value[:20]!r} is no number")
        return _NUMBERS[value]
    return float(value)


def encode_json(value: object) -> bytes:
    """Return ``value`` as JSON; raises TypeError for what JSON can't say.

    Numbers that are not finite become words; arrays and numbers of NumPy, lists and numbers;
    numbers beyond 64 bits, and what of a text is no Unicode, are spelled out.
    """
    plain = msgspec.to_builtins(value, enc_hook=_of_numpy, str_keys=True)
    return msgspec.json.encode(_sayable(plain))


def _of_numpy(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"a value of type {type(value).__name__} can't be written to a file")


def _sayable(value: Any) -> Any:
    if isinstance(value, float):
        return word_of(value)
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_sayable(key): _sayable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_sayable(each) for each in value]
    if isinstance(value, int) and not _LEAST <= value <= _MOST:
        return str(value)
    return value


_event_decoder = msgspec.json.Decoder(FileEvent)


def decode_event(data: bytes | memoryview) -> FileEvent:
    """Return an event; raises ValueError when it is none.

    Its time may be a word; words within ``data`` stay as they are.
    """
    try:
        try:
            return _event_decoder.decode(data)
        except msgspec.ValidationError:
            fields = msgspec.json.decode(data)
            if not isinstance(fields, dict) or not isinstance(fields.get("time"), str):
                raise
            return msgspec.convert(fields | {"time": number_of(fields["time"])}, FileEvent)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise ValueError(f"an event is none ({error})") from error
