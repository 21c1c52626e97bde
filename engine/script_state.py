"""What a script keeps in its own variables, as a part of a scene's checkpoints.

The values travel as MessagePack: None, booleans, integers of any size, floats, text, bytes, lists,
tuples, dicts with text for keys, NumPy arrays and scalars of numbers. Never pickle: a checkpoint
may come from somewhere else, and reading it must not run anything.
"""

import logging
import math
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import msgspec
import numpy as np

from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.signal_handlers import goes_to_script
from stroboscope.engine.arguments import plain_text, shown
from stroboscope.engine.errors import StateCorruptError, StateError, StateMismatchError
from stroboscope.engine.files.limits import LARGEST_SCRIPT_STATE, MOST_SCRIPT_OBJECTS
from stroboscope.engine.msgpack_objects import objects_in

__all__ = ["Getter", "ScriptStates", "Setter", "too_much_for_a_file", "unpacked"]

_log = logging.getLogger(__name__)

Getter = Callable[[], Any]
"""Returns the present value."""
Setter = Callable[[Any], object]
"""Takes a value that the getter returned once."""

_NAME_BYTES = Limits().name_bytes
# Kinds of NumPy dtypes that are plain numbers.
_NUMBERS = "biufc"
_DTYPE = re.compile(rf"[<>|][{_NUMBERS}]\d{{1,2}}")
# Extension types: what MessagePack has no word for.
_ARRAY, _TUPLE, _BIG_INTEGER = 1, 2, 3


class ScriptStates:
    """The registered script states of one scene; owner thread only."""

    def __init__(
        self,
        scene_name: Callable[[], str],
        *,
        let_through: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._scene_name = scene_name
        self._let_through = let_through
        """Lets signals that a client's command holds back reach what the script itself does."""
        self.registered: dict[str, tuple[Getter, Setter]] = {}
        """By name; empty for most scenes, which then pay nothing."""
        self.pending: dict[str, Any] = {}
        """Values that came with a copied scene, for states that are registered later."""

    def register(self, name: str, get: Getter, set_: Setter) -> Callable[[], None]:
        """Make ``name`` a part of checkpoints; returns a function that ends that."""
        if not isinstance(name, str) or not 0 < len(name.encode("utf-8", "replace")) <= _NAME_BYTES:
            raise ValueError(
                f"a script state needs a name of 1 to {_NAME_BYTES} bytes, not {shown(name)}"
            )
        name = plain_text(name, "the name of a script state")
        if not callable(get) or not callable(set_):
            raise TypeError(
                f"register_state({name!r}, get, set) needs two functions, not "
                f"{shown(get)} and {shown(set_)}"
            )
        if name in self.registered:
            raise ValueError(
                f"scene {self._scene_name()!r} has a script state {name!r} already: end that "
                "registration first, or use another name"
            )
        if name in self.pending:
            set_(self.pending[name])
            del self.pending[name]
        entry = (get, set_)
        self.registered[name] = entry

        def end_registration() -> None:
            if self.registered.get(name) is entry:
                del self.registered[name]

        return end_registration

    def capture(self) -> bytes:
        """Return all values as bytes; TypeError for one that can't be, what a getter raises."""
        with self._let_through():
            return self.note()

    def note(self) -> bytes:
        """Do the same where nothing may come between, as the state was just replaced."""
        return _encoded({name: self._value(name) for name in self.registered})

    def _value(self, name: str) -> Any:
        value = self.registered[name][0]()
        try:
            return msgspec.Raw(_encoded(_packable(value)))
        except (TypeError, ValueError, RecursionError) as error:
            raise TypeError(
                f"the script state {name!r} can't be part of a checkpoint: {error}; return "
                "numbers, text, bytes, NumPy arrays, or lists, tuples and dicts of these"
            ) from error

    def values_in(self, packed: bytes) -> dict[str, Any]:
        """Return the values in ``packed``, each one for a registered state.

        Raises StateCorruptError for other bytes, StateMismatchError for a state that this scene
        doesn't know.
        """
        values = self.unpacked(packed)
        if unknown := sorted(set(values) - set(self.registered)):
            raise StateMismatchError(
                f"the checkpoint holds script state that scene {self._scene_name()!r} has not "
                f"registered ({', '.join(map(repr, unknown))}): call register_state first"
            )
        return values

    def unpacked(self, packed: bytes) -> dict[str, Any]:
        """Return all values in ``packed``; StateCorruptError for other bytes."""
        return unpacked(packed)

    def missing_in(self, values: Mapping[str, Any]) -> list[str]:
        """Return the registered states that ``values`` says nothing about."""
        return sorted(set(self.registered) - set(values))

    def put(self, values: Mapping[str, Any]) -> None:
        """Hand each value to its setter; all or nothing.

        When a setter raises, those that ran are given their old values again, and a StateError
        says which one it was.
        """
        with self._let_through():
            before = _decoded(_encoded({name: self._value(name) for name in values}))
        tried: list[str] = []
        try:
            for name, value in values.items():
                tried.append(name)
                with self._let_through():
                    self.registered[name][1](value)
        except BaseException as error:
            stuck = [name for name in tried if not self._gives_back(name, before[name])]
            if goes_to_script(error):
                raise
            also = f"; {', '.join(map(repr, stuck))} could not be given its old value again either"
            raise StateError(
                f"the script state {tried[-1]!r} could not be restored, so nothing was: its "
                f"setter raised {error!r}{also if stuck else ''}"
            ) from error

    def restore(self, packed: bytes, *, report: Callable[[str], None]) -> None:
        """Put back what a checkpoint holds, all or nothing; ``report`` what it does not hold.

        Raises what :meth:`values_in` and :meth:`put` raise.
        """
        if not packed and not self.registered:
            return
        values = self.values_in(packed) if packed else {}
        missing = self.missing_in(values)
        self.put(values)
        if missing:
            report(
                f"the restored checkpoint says nothing about {', '.join(map(repr, missing))}, "
                "registered after it was taken: that script state stays as it is"
            )

    def _gives_back(self, name: str, value: Any) -> bool:
        """Hand a setter its old value; one that raises must not keep it from the others."""
        try:
            self.registered[name][1](value)
        except Exception:  # noqa: BLE001 - logged, and said in the error that is on its way
            _log.exception("scene %r: the setter of %r raised", self._scene_name(), name)
            return False
        return True


def too_much_for_a_file(packed: bytes) -> str:
    """Return what of script state a file may not hold, in words; empty where it may."""
    if len(packed) > LARGEST_SCRIPT_STATE:
        return f"{len(packed):,} bytes, allowed are {LARGEST_SCRIPT_STATE:,}"
    if objects_in(packed, most=MOST_SCRIPT_OBJECTS, nested=(_TUPLE,)) > MOST_SCRIPT_OBJECTS:
        return f"more than {MOST_SCRIPT_OBJECTS:,} numbers, texts and lists; an array counts as one"
    return ""


def unpacked(packed: bytes) -> dict[str, Any]:
    """Return the values that ``capture`` has packed, by name; StateCorruptError for other bytes.

    No bytes are no values.
    """
    return _decoded(packed) if packed else {}


def _packable(value: Any) -> Any:
    """Return ``value`` in MessagePack's words; TypeError for what has none."""
    if isinstance(value, np.ndarray | np.generic):
        return _packed_array(np.asarray(value))
    if isinstance(value, int) and not isinstance(value, bool):
        if -(2**63) <= value < 2**64:
            return int(value)
        size = value.bit_length() // 8 + 1
        return msgspec.msgpack.Ext(_BIG_INTEGER, value.to_bytes(size, "big", signed=True))
    if value is None or isinstance(value, bool | float | str | bytes):
        return value
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, list):
        return [_packable(each) for each in value]
    if isinstance(value, tuple):
        return msgspec.msgpack.Ext(_TUPLE, _encoded([_packable(each) for each in value]))
    if isinstance(value, dict):
        if other := [key for key in value if not isinstance(key, str)]:
            raise TypeError(f"the key {other[0]!r} of a dict is no text")
        return {key: _packable(each) for key, each in value.items()}
    raise TypeError(f"it holds a {type(value).__module__}.{type(value).__qualname__}")


def _packed_array(array: "np.ndarray[Any, Any]") -> msgspec.msgpack.Ext:
    if array.dtype.kind not in _NUMBERS:
        raise TypeError(f"it holds an array of {array.dtype}, which is not of numbers")
    return msgspec.msgpack.Ext(
        _ARRAY, _encoded([array.dtype.str, list(array.shape), array.tobytes()])
    )


def _encoded(value: Any) -> bytes:
    return msgspec.msgpack.encode(value)


def _decoded(packed: bytes) -> dict[str, Any]:
    try:
        return msgspec.msgpack.decode(packed, type=dict[str, Any], ext_hook=_unpacked)
    except (msgspec.MsgspecError, ValueError, TypeError, RecursionError) as error:
        raise StateCorruptError(
            f"the script state in the checkpoint can't be read: {error}"
        ) from error


def _unpacked(code: int, data: memoryview) -> Any:
    """Return what stands in an extension; ValueError for what none of ours holds."""
    if code == _BIG_INTEGER:
        return int.from_bytes(data, "big", signed=True)
    if code == _TUPLE:
        return tuple(msgspec.msgpack.decode(data, type=list[Any], ext_hook=_unpacked))
    if code != _ARRAY:
        raise ValueError(f"there is no extension type {code}")
    name, shape, content = msgspec.msgpack.decode(data, type=tuple[str, list[int], bytes])
    if not _DTYPE.fullmatch(name) or min(shape, default=0) < 0:
        raise ValueError(f"there is no array of {name!r} and shape {shape}")
    dtype = np.dtype(name)
    # Python's integers: a product of sizes that overflows must not come out right.
    if math.prod(shape) * dtype.itemsize != len(content):
        raise ValueError(f"{len(content)} bytes are no array of {name!r} and shape {shape}")
    # A copy: the script may write into it. A scalar comes back as one.
    array = np.frombuffer(content, dtype=dtype).reshape(shape).copy()
    return array[()] if array.ndim == 0 else array
