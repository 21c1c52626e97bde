"""A checkpoint of several environments: a matrix of rows, and what all of them have in common."""

import zlib
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.host.checkpoints import Listing
from stroboscope.engine.arguments import shown, whole_number
from stroboscope.engine.checkpoint import (
    Checkpoint,
    Counters,
    Exactness,
    SavedField,
    StateBytes,
    as_bytes,
)
from stroboscope.engine.errors import StateCorruptError, StateMismatchError

__all__ = ["BatchCheckpoint", "either_text", "is_batch_checkpoint", "refuse_environments_of"]

_MAGIC = b"STROBENV"
_VERSION = 1
_HEAD = len(_MAGIC) + 8
_MOST_ENVS = 2**31 - 1
_SHOWN_NUMBERS = 8


class _Packed(msgspec.Struct, frozen=True, array_like=True):
    """Everything but the magic, the format version and the checksum."""

    first: bytes
    envs: bytes
    rows: bytes
    steps: bytes
    physics: bytes
    row_length: int
    fields: dict[str, tuple[str, tuple[int, ...], bytes]]


class BatchCheckpoint:
    """The complete dynamic state of some environments at one instant; read-only.

    ``envs`` (n,) are their numbers, ``rows`` (n, row) MuJoCo's integration states, ``step_counts``
    and ``physics_step_counts`` (n,). ``fields`` holds what each had of its own of the model's
    fields, (n, …) by name. May be used on any thread, pickled, and restored into every batched
    scene of the same model.
    """

    def __init__(
        self,
        first: Checkpoint,
        *,
        envs: NDArray[np.intp],
        rows: NDArray[np.float64],
        step_counts: NDArray[np.int64],
        physics_step_counts: NDArray[np.int64],
        fields: Mapping[str, NDArray[Any]],
    ) -> None:
        self.first = first
        """The first of them as a checkpoint of one world."""
        self.envs = envs
        self.rows = rows
        self.step_counts = step_counts
        self.physics_step_counts = physics_step_counts
        self.fields = dict(fields)
        self.is_of_all = False
        """Whether the scene had no other environments; known only where it was taken."""
        for array in (envs, rows, step_counts, physics_step_counts, *self.fields.values()):
            array.flags.writeable = False

    def __len__(self) -> int:
        """Return how many environments it holds."""
        return len(self.envs)

    @property
    def n_envs(self) -> int:
        """How many environments it holds."""
        return len(self.envs)

    @property
    def name(self) -> str:
        """The name it was given; empty when none."""
        return self.first.name

    @property
    def note(self) -> str:
        """What whoever made it has noted."""
        return self.first.note

    @property
    def time(self) -> NDArray[np.float64]:
        """The simulation time [s] of each, (n,)."""
        time: NDArray[np.float64] = self.rows[:, 0]
        return time

    @property
    def exactness(self) -> Exactness:
        """Whether environments that take it continue bit for bit, or why not."""
        return self.first.exactness

    @property
    def listing(self) -> Listing:
        """How it stands in a debugger's list: with time and steps of the first of them."""
        count = len(self)
        if self.envs.tolist() == list(range(count)):
            held = f"all {count} environments"
            held = held if self.is_of_all else f"the first {count} environments"
        else:
            held = f"environment{'s' if count > 1 else ''} {_numbers_text(self.envs.tolist())}"
        note = " · ".join(text for text in (self.note, held) if text)
        return Listing(self.first.time, int(self.step_counts[0]), note)

    @property
    def nbytes(self) -> int:
        """About how many bytes :meth:`to_bytes` returns, without making them."""
        arrays = (self.envs, self.rows, self.step_counts, self.physics_step_counts)
        parts = (*arrays, *self.fields.values())
        return _HEAD + self.first.nbytes + sum(each.nbytes for each in parts)

    @property
    def is_released(self) -> bool:
        """Whether its content is gone: never, as it lives as long as somebody keeps it."""
        return False

    def env(self, number: int) -> Checkpoint:
        """Return one environment's state as a checkpoint of one world; KeyError for none of it.

        A scene of the same model, made without ``n_envs``, takes it, and so does ``rollout``. What
        the environment has of its own of the model's fields counts as written into that model.
        The script's own state stays behind: it is of all environments together.
        """
        wanted = whole_number(number, "the number of an environment", least=-1, most=_MOST_ENVS)
        places = np.flatnonzero(self.envs == wanted)
        if not len(places):
            raise KeyError(
                f"environment {wanted} is none of this checkpoint's, which has "
                f"{shown(self.envs.tolist())}"
            )
        at, first = int(places[0]), self.first
        steps = Counters(int(self.step_counts[at]), int(self.physics_step_counts[at]))
        return Checkpoint(
            first.head, self.rows[at], counters=steps, timestep=self._timestep(at),
            edits=first.edits, hidden=first.hidden if at == 0 else b"", script=b"",
            record=msgspec.structs.replace(first.record, compared=True, changes=self._own(at)),
            exactness=first.exactness,
        )  # fmt: skip

    def _own(self, at: int) -> tuple[SavedField, ...]:
        """Return the fields of the model that an environment has values of its own of."""
        made = []
        for name, values in self.fields.items():
            # A single whole number of a model's options is read as Python's.
            is_count = name.startswith("opt.") and values.dtype.kind == "i"
            value = np.asarray(values[at], dtype=np.int64 if is_count else values.dtype)
            text = f"{name} is environment {int(self.envs[at])}'s own"
            made.append(SavedField.of(name, value, text))
        return tuple(made)

    def _timestep(self, at: int) -> float:
        own = self.fields.get("opt.timestep")
        return self.first.timestep if own is None else float(own[at])

    def without_script(self) -> "BatchCheckpoint":
        """Return it without the script's own state."""
        return BatchCheckpoint(
            self.first.without_script(),
            envs=self.envs,
            rows=self.rows,
            step_counts=self.step_counts,
            physics_step_counts=self.physics_step_counts,
            fields=self.fields,
        )

    def to_bytes(self) -> bytes:
        """Return it as bytes that any batched scene of the same model takes."""
        packed = _Packed(
            self.first.to_bytes(), self.envs.astype(np.int64).tobytes(), self.rows.tobytes(),
            self.step_counts.tobytes(), self.physics_step_counts.tobytes(), self.rows.shape[1],
            {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in self.fields.items()},
        )  # fmt: skip
        content = msgspec.msgpack.encode(packed)
        head = _MAGIC + _VERSION.to_bytes(4, "little") + zlib.crc32(content).to_bytes(4, "little")
        return head + content

    @classmethod
    def from_bytes(cls, state: StateBytes) -> "BatchCheckpoint":
        """Return what :meth:`to_bytes` made.

        Raises StateCorruptError for damaged bytes, StateMismatchError for another format version.
        """
        state = as_bytes(state)
        if not is_batch_checkpoint(state):
            raise StateCorruptError(
                f"these bytes do not begin like a checkpoint of environments: {shown(state)}"
            )
        version = int.from_bytes(state[8:12], "little")
        if version != _VERSION:
            raise StateMismatchError(
                f"the checkpoint's format version is {version}, this one reads {_VERSION}"
            )
        content = state[_HEAD:]
        if zlib.crc32(content) != int.from_bytes(state[12:16], "little"):
            raise StateCorruptError(
                "the checkpoint is damaged (its checksum is wrong): take it from its source again"
            )
        try:
            return cls._unpacked(msgspec.msgpack.decode(content, type=_Packed))
        except (msgspec.MsgspecError, ValueError, TypeError) as error:
            raise StateCorruptError(f"the checkpoint can't be read: {error}") from error

    @classmethod
    def _unpacked(cls, packed: _Packed) -> "BatchCheckpoint":
        rows = np.frombuffer(packed.rows).reshape(-1, packed.row_length)
        counts = [np.frombuffer(each, np.int64) for each in (packed.steps, packed.physics)]
        envs = np.frombuffer(packed.envs, np.int64).astype(np.intp)
        fields = {
            name: np.frombuffer(content, np.dtype(dtype)).reshape(shape)
            for name, (dtype, shape, content) in packed.fields.items()
        }
        lengths = {len(each) for each in (envs, rows, *counts, *fields.values())}
        if lengths != {len(np.unique(envs))} or not len(envs) or int(envs.min()) < 0:
            raise ValueError("its parts are of other numbers of environments")
        return cls(
            Checkpoint.from_bytes(packed.first),
            envs=envs,
            rows=rows,
            step_counts=counts[0],
            physics_step_counts=counts[1],
            fields=fields,
        )

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        """Pickle and copy it as its bytes."""
        return BatchCheckpoint.from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        """Say what it holds."""
        name = f"{self.name!r}, " if self.name else ""
        return f"BatchCheckpoint({name}{len(self)} environments, {self.exactness})"


def _numbers_text(numbers: list[int]) -> str:
    """Return some numbers for people: "4, 1, +3 more"."""
    more = len(numbers) - _SHOWN_NUMBERS
    text = ", ".join(map(str, numbers[:_SHOWN_NUMBERS]))
    return f"{text}, +{more} more" if more > 0 else text


def either_text(numbers: list[int]) -> str:
    """Return some numbers to choose from: "4 or 1"."""
    if 1 < len(numbers) <= _SHOWN_NUMBERS:
        return f"{_numbers_text(numbers[:-1])} or {numbers[-1]}"
    return _numbers_text(numbers)


def is_batch_checkpoint(state: bytes) -> bool:
    """Return whether bytes begin like a checkpoint of environments."""
    return state[: len(_MAGIC)] == _MAGIC


def refuse_environments_of(value: object) -> None:
    """Raise StateMismatchError for a checkpoint of environments, where one world is needed."""
    if isinstance(value, bytes | bytearray) and is_batch_checkpoint(bytes(value[: len(_MAGIC)])):
        value = BatchCheckpoint.from_bytes(value)
    if isinstance(value, BatchCheckpoint):
        raise StateMismatchError(
            f"this is a checkpoint of {len(value)} environments, and one world is needed here: "
            f"choose one of them, as in checkpoint.env({int(value.envs[0])})"
        )
