"""One kind of checkpoint: the complete dynamic state of a scene at one instant, as a value."""

import dataclasses
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.host.checkpoints import Listing
from stroboscope.engine.arguments import shown
from stroboscope.engine.checkpoint_bytes import (
    CRC,
    CRC_AT,
    CRC_FROM,
    FORMAT_VERSION,
    Clock,
    Layout,
    StateBytes,
    damage,
    seal,
    sealed,
)
from stroboscope.engine.errors import StateCorruptError, StateError, StateMismatchError

__all__ = [
    "Checkpoint",
    "CheckpointRecord",
    "Counters",
    "Exactness",
    "SavedField",
    "StateBytes",
    "as_bytes",
    "split_tail",
    "with_tail",
]


@dataclasses.dataclass(frozen=True, slots=True)
class Exactness:
    """How a restored scene continues compared with the captured one: exact, or why not."""

    reason: str = ""
    """Why it is only approximate; empty when it is exact."""

    @property
    def is_exact(self) -> bool:
        """Whether every bit of what follows is the same."""
        return not self.reason

    def __str__(self) -> str:
        """Return "exact" or "approximate(reason)"."""
        return f"approximate({self.reason})" if self.reason else "exact"


@dataclasses.dataclass(slots=True)
class Counters:
    """The counters that belong to a state: application and physics steps."""

    step_count: int
    physics_step_count: int


class SavedField(msgspec.Struct, frozen=True, array_like=True):
    """A field of the model that had been written into: its values, and what was different."""

    field: str
    dtype: str
    shape: tuple[int, ...]
    content: bytes
    text: str

    @classmethod
    def of(cls, field: str, values: NDArray[Any], text: str) -> "SavedField":
        """Return the values as they are."""
        return cls(field, values.dtype.str, values.shape, values.tobytes(), text)

    def values(self, like: NDArray[Any]) -> NDArray[Any]:
        """Return the values; StateCorruptError when they are not shaped like those they replace."""
        if (self.dtype, self.shape) != (like.dtype.str, like.shape) or (
            len(self.content) != like.nbytes
        ):
            raise StateCorruptError(
                f"the checkpoint holds {self.field} as {self.dtype} {self.shape}, the model has "
                f"{like.dtype.str} {like.shape}"
            )
        return np.frombuffer(self.content, dtype=like.dtype).reshape(like.shape)


class CheckpointRecord(msgspec.Struct, frozen=True, array_like=True):
    """What is known of a checkpoint besides its state.

    ``changes``: what the model had been changed to since the scene was made, when ``compared``.
    ``doubt``: why it may have been another one; empty where that is known.
    """

    name: str = ""
    scene_name: str = ""
    note: str = ""
    compared: bool = False
    changes: tuple[SavedField, ...] = ()
    doubt: str = ""

    def packed(self) -> bytes:
        """Return it as bytes."""
        return msgspec.msgpack.encode(self)

    @classmethod
    def unpacked(cls, packed: bytes) -> "CheckpointRecord":
        """Return what :meth:`packed` made; StateCorruptError for anything else."""
        if not packed:
            return cls()
        try:
            return msgspec.msgpack.decode(packed, type=cls)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise StateCorruptError(
                f"the record in the checkpoint can't be read: {error}"
            ) from error


class Checkpoint:
    """The complete dynamic state of a scene at one instant; made by :meth:`Scene.checkpoint`.

    It never changes, may be used on any thread, pickled, and restored into every scene of the same
    model. It lives as long as somebody keeps it, or until it is released.
    """

    __slots__ = (
        "__weakref__", "_exactness", "_hidden", "_number", "_released", "_row", "_scene_id",
        "_script", "counters", "edits", "head", "is_finite", "record", "timestep",
    )  # fmt: skip

    # `head`, `row`, `hidden`, `script`, `record`, `edits`, `is_finite` are for the engine.

    def __init__(
        self,
        head: bytes,
        row: NDArray[np.float64],
        *,
        counters: Counters,
        timestep: float,
        edits: int,
        hidden: bytes,
        script: bytes,
        record: CheckpointRecord,
        exactness: Exactness,
    ) -> None:
        self.head = head
        self._row = row
        self.counters = counters
        self.timestep = timestep
        self.edits = edits
        self._hidden = hidden
        self._script = script
        self.record = record
        self._exactness = exactness
        self._scene_id = self._number = 0
        self._released = False
        self.is_finite = False
        """Whether somebody has looked: all its numbers are finite."""

    # --- what it is

    @property
    def name(self) -> str:
        """The name it was given; empty when none."""
        return self.record.name

    @property
    def scene_name(self) -> str:
        """The name of the scene it was captured from."""
        return self.record.scene_name

    @property
    def note(self) -> str:
        """What whoever made it has noted."""
        return self.record.note

    @property
    def time(self) -> float:
        """The simulation time [s]."""
        return float(self.row[0])

    @property
    def step_count(self) -> int:
        """Application steps within the state."""
        return self.counters.step_count

    @property
    def physics_step_count(self) -> int:
        """Physics steps within the state."""
        return self.counters.physics_step_count

    @property
    def exactness(self) -> Exactness:
        """Whether a scene that takes it continues bit for bit, or why not."""
        return self._exactness

    @property
    def model_changes(self) -> tuple[str, ...]:
        """What the model's values were changed to between the scene's making and this.

        One sentence per field; only of named checkpoints, which compare.
        """
        return tuple(change.text for change in self.record.changes)

    @property
    def listing(self) -> Listing:
        """How it stands in a debugger's list."""
        return Listing(self.time, self.step_count, self.note)

    @property
    def nbytes(self) -> int:
        """How many bytes :meth:`to_bytes` returns."""
        fixed = len(self.head) + Clock.SIZE + 8 * len(self.row)
        return fixed + len(self.hidden) + len(self.script) + len(self.record.packed())

    @property
    def scene_id(self) -> int:
        """The scene that captured it; 0 when it came from bytes."""
        return self._scene_id

    @property
    def number(self) -> int:
        """Which of that scene's checkpoints it is, counted from 1; 0 when it came from bytes."""
        return self._number

    @property
    def is_released(self) -> bool:
        """Whether :meth:`release` has dropped its content."""
        return self._released

    # --- its content

    @property
    def row(self) -> NDArray[np.float64]:
        """MuJoCo's integration state, read-only."""
        if self._released:
            raise StateError(f"{self!r} was released: capture the state again")
        return self._row

    @property
    def hidden(self) -> bytes:
        """What no row holds; empty for most models."""
        return self._hidden

    @property
    def script(self) -> bytes:
        """The registered script state, packed."""
        return self._script

    def release(self) -> None:
        """Drop the content now; every use raises StateError from then on. Twice is harmless."""
        self._released = True
        self._row = np.empty(0)
        self._hidden = self._script = b""

    def belongs_to(self, scene_id: int, number: int) -> None:
        """Note which scene has captured it; for the engine."""
        self._scene_id, self._number = scene_id, number

    def is_equal(self, other: "Checkpoint") -> bool:
        """Return whether both hold the same state to the last bit, counters and time included.

        Names and notes may differ.
        """
        if not isinstance(other, Checkpoint):
            raise TypeError(f"a Checkpoint is compared with another, not {shown(other)}")
        return (
            self.row.tobytes() == other.row.tobytes()
            and self.head[CRC_FROM:] == other.head[CRC_FROM:]
            and (self.counters, self.timestep) == (other.counters, other.timestep)
            and (self.hidden, self.script) == (other.hidden, other.script)
        )

    def without_script(self) -> "Checkpoint":
        """Return the checkpoint without the script's own state."""
        return Checkpoint(
            self.head, self.row, counters=self.counters, timestep=self.timestep, edits=self.edits,
            hidden=self._hidden, script=b"", record=self.record, exactness=self._exactness,
        )  # fmt: skip

    # --- bytes

    def to_bytes(self) -> bytes:
        """Return the checkpoint as bytes that any scene of the same model takes."""
        row, record = self.row, self.record.packed()
        parts = len(self.head), Clock.SIZE, row.nbytes, len(self._hidden), len(self._script)
        clock = Clock(
            sum(parts) + len(record), len(self._script), len(record), self.counters.step_count,
            self.counters.physics_step_count, self.time, self.timestep, self.edits,
        )  # fmt: skip
        return sealed(
            self.head, clock.packed(), row, hidden=self._hidden, script=self._script, record=record
        )

    @classmethod
    def from_bytes(cls, state: StateBytes) -> "Checkpoint":
        """Return the checkpoint in ``state``: from :meth:`to_bytes` or a capture to bytes.

        Raises StateCorruptError for damaged bytes, StateMismatchError for another format version.
        """
        state = as_bytes(state)
        broken = damage(state)
        if broken:
            raise StateCorruptError(
                f"the checkpoint is damaged ({broken}): take it from its source again"
            )
        version = int.from_bytes(state[CRC_FROM : CRC_FROM + 4], "little")
        if version != FORMAT_VERSION:
            raise StateMismatchError(
                f"the checkpoint's format version is {version}, this one reads {FORMAT_VERSION}"
            )
        layout = Layout.of(state)
        clock = layout.clock
        head = bytearray(state[: layout.head.size])
        CRC.pack_into(head, CRC_AT, 0)
        row = np.frombuffer(state, np.float64, layout.head.row_length, layout.row.start)
        return cls(
            bytes(head),
            # Where it is nearly all, it stays where it is.
            row if 2 * row.nbytes > len(state) else np.frombuffer(row.tobytes()),
            counters=Counters(clock.step_count, clock.physics_step_count),
            timestep=clock.timestep,
            edits=clock.edits,
            hidden=state[layout.hidden],
            script=state[layout.script],
            record=CheckpointRecord.unpacked(state[layout.record]),
            exactness=Exactness(layout.head.texts(state)[2]),
        )

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        """Pickle and copy it as its bytes."""
        return _from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        """Say which checkpoint of which scene it is."""
        name = f"{self.name!r}, " if self.name else ""
        where = f"scene_id={self._scene_id}, number={self._number}, " if self._number else ""
        state = "released" if self._released else f"time={self._row[0]:g}, {self._exactness}"
        return f"Checkpoint({name}{where}{state})"


def as_bytes(state: object) -> bytes:
    """Return the bytes of a checkpoint in any buffer; TypeError for what is none."""
    if type(state) is bytes:
        return state
    # bytes() would take a number for so many zeros, and a list of numbers as well.
    try:
        return bytes(memoryview(state))  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(
            f"a checkpoint must be bytes, DynamicArrayUint8, memoryview or a uint8 array, not "
            f"{shown(state)}"
        ) from None


def _from_bytes(state: bytes) -> Checkpoint:
    return Checkpoint.from_bytes(state)


def with_tail(state: bytes | bytearray, *, script: bytes = b"", record: bytes = b"") -> bytes:
    """Return ``state``, which has neither, with a script part and a record."""
    layout = Layout.of(bytes(state))
    made = bytearray(state)
    made += script + record
    dataclasses.replace(
        layout.clock, total=len(made), script_bytes=len(script), record_bytes=len(record)
    ).pack_into(made, layout.head.size)
    seal(made)
    return bytes(made)


def split_tail(state: StateBytes) -> tuple[bytes, bytes]:
    """Return a checkpoint without script part and record, and the script part.

    What is damaged, or of another format, comes back as it is, for the codec to refuse.
    """
    copy = bytes(state)
    if damage(copy) or copy[CRC_FROM : CRC_FROM + 4] != FORMAT_VERSION.to_bytes(4, "little"):
        return copy, b""
    layout = Layout.of(copy)
    if layout.script.start == layout.clock.total:
        return copy, b""
    return with_tail(copy[: layout.script.start]), copy[layout.script]
