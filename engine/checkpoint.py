"""Checkpoints as bytes: the complete dynamic state, and what is needed to know where it fits.

Layout, little-endian: a fixed header of :data:`HEADER` bytes, three texts (engine, its version,
why it is only approximate), the row (``mjSTATE_INTEGRATION``, float64), for models whose islands
may sleep every array of ``MjData`` outside its arena, and what the script has registered of its
own. The CRC covers all that follows it.
"""

import dataclasses
import enum
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.errors import StateCorruptError, StateMismatchError
from stroboscope.engine.live_data import LiveData
from stroboscope.engine.mujoco_adapter import MujocoAdapter
from stroboscope.engine.sleep_state import SleepState

__all__ = [
    "FORMAT_VERSION",
    "CheckpointCodec",
    "Counters",
    "Exactness",
    "StateBytes",
    "split_script",
    "with_script",
]

FORMAT_VERSION = 1
_MAGIC = b"STROBCKP"
_ENGINE = "mujoco"

# magic, crc, format, total bytes, text bytes, exactness, precision, n_envs, step_count,
# physics_step_count, time, timestep, state mask, row length, sleep bytes, script bytes, digest
_HEADER = struct.Struct("<8sIIQIIIIqqddQQQQ32s")
_CRC = struct.Struct("<I")
_CRC_AT = 8
_CHECKED_FROM = 12
_TOTAL = struct.Struct("<Q")
_TOTAL_AT = 16
_SCRIPT = struct.Struct("<Q")
_SCRIPT_AT = 96
_CLOCK = struct.Struct("<qqdd")
_CLOCK_AT = 40
_PRECISION = 8

StateBytes = bytes | bytearray | memoryview | NDArray[np.uint8]


class Exactness(enum.IntEnum):
    """How a restored scene continues, compared with the one that was captured."""

    EXACT = 0
    APPROXIMATE = 1


@dataclasses.dataclass(slots=True)
class Counters:
    """The counters that belong to a state: application and physics steps."""

    step_count: int
    physics_step_count: int


@dataclasses.dataclass(frozen=True, slots=True)
class _Header:
    """A parsed header; field order as in the bytes."""

    magic: bytes
    crc: int
    format_version: int
    total: int
    text_bytes: int
    exactness: int
    precision: int
    n_envs: int
    step_count: int
    physics_step_count: int
    time: float
    timestep: float
    state_mask: int
    row_length: int
    sleep_bytes: int
    script_bytes: int
    digest: bytes


class CheckpointCodec:
    """Writes and reads checkpoints of one (model, data); owner thread only.

    A capture is one copy of the row into a prepared template, a CRC and one append: no objects
    are made per field, because scripts capture thousands of states per second.
    """

    def __init__(
        self, model: Any, live: LiveData, *, digest: bytes, adapter: MujocoAdapter
    ) -> None:
        self._model = model
        self._live = live
        self._option = model.opt
        self._adapter = adapter
        self._get_state = adapter.mj_getState
        self._set_state = adapter.mj_setState
        self._mask = adapter.integration
        self.digest = digest
        self.inexact_reason = adapter.hidden_state_reason(model)
        self._sleep = SleepState(live) if adapter.sleeps(model) else None
        self._row_length = int(adapter.module.mj_stateSize(model, self._mask))
        # The leading part of a row: time, qpos, qvel, act. It must be finite.
        self._physics_length = 1 + model.nq + model.nv + model.na
        self._text = _pack_texts(_ENGINE, adapter.version, self.inexact_reason)
        self._has_nonfinite_inputs = False
        self._prepare_buffers()

    def _prepare_buffers(self) -> None:
        sleep_bytes = self._sleep.nbytes if self._sleep is not None else 0
        self._row_at = _HEADER.size + len(self._text)
        self._sleep_at = self._row_at + 8 * self._row_length
        self.total = self._sleep_at + sleep_bytes
        exactness = Exactness.APPROXIMATE if self.inexact_reason else Exactness.EXACT
        self._template = bytearray(self.total)
        _HEADER.pack_into(
            self._template, 0, _MAGIC, 0, FORMAT_VERSION, self.total, len(self._text), exactness,
            _PRECISION, 1, 0, 0, 0.0, 0.0, self._mask, self._row_length, sleep_bytes, 0,
            self.digest,
        )  # fmt: skip
        self._template[_HEADER.size : self._row_at] = self._text
        view = memoryview(self._template)
        self._checked = view[_CHECKED_FROM:]
        self._row = np.frombuffer(view[self._row_at : self._sleep_at], dtype=np.float64)
        self._sleep_view = view[self._sleep_at :]
        # Restores are validated on a copy, so that the caller's bytes can't change meanwhile.
        self._incoming = bytearray(self.total)
        incoming = memoryview(self._incoming)
        self._incoming_view = incoming
        self._incoming_checked = incoming[_CHECKED_FROM:]
        self._incoming_row = np.frombuffer(
            incoming[self._row_at : self._sleep_at], dtype=np.float64
        )
        # Looking for a zero among bytes is much faster than NumPy's all().
        self._finite_bytes = bytearray(self._row_length)
        self._finite = np.frombuffer(self._finite_bytes, dtype=np.bool_)
        self._incoming_sleep = incoming[self._sleep_at :]
        # What must be equal in every checkpoint that fits: all but the CRC and the clock.
        self._fixed_head = bytes(view[_CHECKED_FROM:_CLOCK_AT])
        self._fixed_tail = bytes(view[_CLOCK_AT + _CLOCK.size : self._row_at])
        self._incoming_head = incoming[_CHECKED_FROM:_CLOCK_AT]
        self._incoming_tail = incoming[_CLOCK_AT + _CLOCK.size : self._row_at]

    def capture(self, counters: Counters, *, timestep: float) -> bytearray:
        """Return the checkpoint of the state as it stands, in a buffer that is reused.

        Copy it (``bytes``, ``+=``) before the next capture.
        """
        self._get_state(self._model, self._live(), self._row, self._mask)
        if self._sleep is not None:
            self._sleep.copy_to(self._sleep_view)
        template = self._template
        _CLOCK.pack_into(
            template,
            _CLOCK_AT,
            counters.step_count,
            counters.physics_step_count,
            self._row[0],
            timestep,
        )
        _CRC.pack_into(template, _CRC_AT, zlib.crc32(self._checked))
        return template

    def restore(self, state: StateBytes, *, timestep: float) -> Counters:
        """Put the state back, all of it or nothing, and return its counters.

        ``state`` has no script part (see :func:`split_script`). Raises StateCorruptError when the
        bytes are damaged, StateMismatchError when they belong elsewhere; the data is bit-identical
        then. The arrays derived from the state (``xpos``, contacts, forces) follow with the next
        step.
        """
        counters = self.check(state, timestep=timestep)
        self._set_state(self._model, self._live(), self._incoming_row, self._mask)
        if self._sleep is not None:
            self._sleep.copy_from(self._incoming_sleep)
        return counters

    def check(self, state: StateBytes, *, timestep: float) -> Counters:
        """Raise what :meth:`restore` would raise, and return the counters; nothing changes."""
        if len(state) != self.total:
            raise self._refusal(bytes(state))
        self._incoming_view[:] = state  # type: ignore[assignment]
        incoming = self._incoming
        if (
            self._incoming_head != self._fixed_head
            or self._incoming_tail != self._fixed_tail
            or zlib.crc32(self._incoming_checked) != _CRC.unpack_from(incoming, _CRC_AT)[0]
            or not incoming.startswith(_MAGIC)
        ):
            raise self._refusal(bytes(incoming))
        steps, physics_steps, time, captured_timestep = _CLOCK.unpack_from(incoming, _CLOCK_AT)
        if captured_timestep != timestep:
            raise StateMismatchError(
                f"the checkpoint was taken with a timestep of {captured_timestep} s, this scene's "
                f"model has {timestep} s: set model.opt.timestep to the same value first"
            )
        row = self._incoming_row
        self._has_nonfinite_inputs = False
        np.isfinite(row, out=self._finite)
        if time != row[0] or 0 in self._finite_bytes:
            self._check_finite()
        return Counters(steps, physics_steps)

    @property
    def keeps_sleep(self) -> bool:
        """Whether checkpoints hold which islands sleep."""
        return self._sleep is not None

    @property
    def has_nonfinite_inputs(self) -> bool:
        """Whether the state restored last has a control or force that is not finite."""
        return self._has_nonfinite_inputs

    def _check_finite(self) -> None:
        if not self._finite[: self._physics_length].all():
            raise StateCorruptError(
                "the checkpoint holds a position, velocity, activation or time that is not "
                "finite: it was captured after the simulation had diverged; use an earlier one"
            )
        # Inputs that are not finite are evidence of what went wrong: they come back as they were.
        self._has_nonfinite_inputs = 0 in self._finite_bytes

    def _refusal(self, state: bytes) -> StateCorruptError | StateMismatchError:
        """Return the error that says why ``state`` is not for this scene."""
        damage = _damage(state)
        if damage:
            return StateCorruptError(
                f"the checkpoint is damaged ({damage}): take it from its source again"
            )
        header = _Header(*_HEADER.unpack_from(state))
        engine, version, _ = _unpack_texts(state[_HEADER.size :][: header.text_bytes])
        difference = self._difference(header, engine, version)
        return StateMismatchError(
            f"the checkpoint does not fit this scene: {difference}; restore it into a scene of "
            "the same model, made with the same MuJoCo"
        )

    def _difference(self, header: _Header, engine: str, version: str) -> str:
        if header.format_version != FORMAT_VERSION:
            return f"its format version is {header.format_version}, this one reads {FORMAT_VERSION}"
        if engine != _ENGINE:
            return f"it is of the engine {engine!r}, this scene of {_ENGINE!r}"
        if version != self._adapter.version:
            return f"it was captured with MuJoCo {version}, this is {self._adapter.version}"
        if header.n_envs != 1 or header.precision != _PRECISION:
            return (
                f"it has {header.n_envs} environments in {8 * header.precision}-bit numbers, "
                f"this scene 1 in {8 * _PRECISION}-bit numbers"
            )
        if header.digest != self.digest:
            mine = f"{self._row_length} state values, timestep {self._option.timestep} s"
            its = f"{header.row_length} state values, timestep {header.timestep} s"
            return (
                f"it belongs to another model (digest {header.digest.hex()[:12]}…, {its}), "
                f"this scene's is {self.digest.hex()[:12]}… ({mine})"
            )
        if header.sleep_bytes != self.total - self._sleep_at:
            return "one of the two has sleeping of islands enabled and the other has not"
        return "its state layout differs"


def with_script(state: bytearray, script: bytes) -> bytes:
    """Return the checkpoint ``state``, which has no script part, with ``script`` as that part."""
    return _resized(state, total=len(state) + len(script), script_bytes=len(script), tail=script)


def split_script(state: StateBytes) -> tuple[StateBytes, bytes]:
    """Return a checkpoint without its script part, and that part.

    What is damaged comes back as it is, for the codec to refuse.
    """
    if len(state) < _HEADER.size or not any(state[_SCRIPT_AT : _SCRIPT_AT + _SCRIPT.size]):
        return state, b""
    copy = bytes(state)
    script_bytes = _Header(*_HEADER.unpack_from(copy)).script_bytes
    if _damage(copy):
        return copy, b""
    end = len(copy) - script_bytes
    return _resized(copy[:end], total=end, script_bytes=0), copy[end:]


def _resized(
    state: bytes | bytearray, *, total: int, script_bytes: int, tail: bytes = b""
) -> bytes:
    """Return ``state`` and ``tail`` with these sizes in the header, and a CRC that fits."""
    made = bytearray(state)
    made += tail
    _TOTAL.pack_into(made, _TOTAL_AT, total)
    _SCRIPT.pack_into(made, _SCRIPT_AT, script_bytes)
    _CRC.pack_into(made, _CRC_AT, zlib.crc32(memoryview(made)[_CHECKED_FROM:]))
    return bytes(made)


def _damage(state: bytes) -> str:
    """Return what is broken in ``state``; empty when it is intact."""
    if len(state) < _HEADER.size:
        return f"{len(state)} bytes, a header alone has {_HEADER.size}"
    header = _Header(*_HEADER.unpack_from(state))
    if header.magic != _MAGIC:
        return "it does not begin like a checkpoint"
    if header.total != len(state):
        return f"it should have {header.total} bytes and has {len(state)}"
    if zlib.crc32(memoryview(state)[_CHECKED_FROM:]) != header.crc:
        return "its checksum is wrong"
    expected = _HEADER.size + header.text_bytes + 8 * header.row_length + header.sleep_bytes
    expected += header.script_bytes
    if expected != header.total:
        return "the sizes of its parts do not add up"
    return ""


def _pack_texts(*texts: str) -> bytes:
    parts = [text.encode("utf-8") for text in texts]
    packed = b"".join(struct.pack("<H", len(part)) + part for part in parts)
    # The row that follows must be aligned for its numbers.
    return packed + b"\0" * (-(len(packed) + _HEADER.size) % 8)


def _unpack_texts(packed: bytes) -> tuple[str, str, str]:
    texts = []
    at = 0
    for _ in range(3):
        length = int.from_bytes(packed[at : at + 2], "little")
        texts.append(packed[at + 2 : at + 2 + length].decode("utf-8", "replace"))
        at += 2 + length
    return texts[0], texts[1], texts[2]
