"""Captures and restores the state of one (model, data): as bytes, or as a :class:`Checkpoint`."""

from math import isfinite
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.checkpoint import Checkpoint, CheckpointRecord, Counters, Exactness
from stroboscope.engine.checkpoint_bytes import (
    CRC,
    CRC_AT,
    CRC_FROM,
    FORMAT_VERSION,
    MAGIC,
    Clock,
    Head,
    InPlaceChecksum,
    StateBytes,
    checksum_of,
    damage,
    pack_head,
)
from stroboscope.engine.errors import StateCorruptError, StateError, StateMismatchError
from stroboscope.engine.hidden_state import HiddenState, inexact_reason, needs_hidden_state
from stroboscope.engine.live_data import LiveData
from stroboscope.engine.model_fields import FieldTable, ModelFields, known_models
from stroboscope.engine.model_memory import ComparedModel
from stroboscope.engine.mujoco_adapter import MujocoAdapter
from stroboscope.engine.row_indices import RowIndices
from stroboscope.engine.row_layout import RowLayout

__all__ = ["CheckpointCodec"]

_ENGINE = "mujoco"
_PRECISION = 8

# Looked up once: scripts capture and restore thousands of times per second.
_pack_clock, _unpack_clock = Clock.STRUCT.pack_into, Clock.STRUCT.unpack_from
_pack_crc, _unpack_crc = CRC.pack_into, CRC.unpack_from


class CheckpointCodec:
    """Writes and reads checkpoints of one (model, data); owner thread only.

    A capture to bytes is one copy of the row into a prepared template, a CRC and one append: no
    objects are made per field, because scripts capture thousands of states per second.
    """

    def __init__(
        self, model: Any, live: LiveData, *, digest: bytes, adapter: MujocoAdapter
    ) -> None:
        self._model = model
        self._live = live
        self._adapter = adapter
        self._get_state = adapter.mj_getState
        self._set_state = adapter.mj_setState
        self._norm = adapter.module.mju_norm
        self._mask = adapter.integration
        self.digest = digest
        self.fields: ModelFields = known_models().fields_of(model, digest)
        """The model as it was when the scene got it."""
        self._compared: ComparedModel | None = None
        self.inexact_reason = inexact_reason(model, adapter=adapter)
        self._exactness = Exactness(self.inexact_reason)
        self._hidden = HiddenState(live) if needs_hidden_state(model, adapter=adapter) else None
        self._row_length = int(adapter.module.mj_stateSize(model, self._mask))
        self.indices = RowIndices(model, RowLayout(model, adapter=adapter).parts)
        """What of a row MuJoCo uses as indices."""
        # The leading part of a row: time, qpos, qvel, act. It must be finite.
        self._physics_length = 1 + model.nq + model.nv + model.na
        self._has_nonfinite_inputs = False
        # The bytes that were checked last, and what was found.
        self._checked_state: bytes | None = None
        self._checked_counters = Counters(0, 0)
        self._checked_timestep = 0.0
        self._checked_nonfinite = False
        self._head = pack_head(
            texts=(_ENGINE, adapter.version, self.inexact_reason),
            table=self.fields.table.packed(),
            precision=_PRECISION,
            state_mask=self._mask,
            row_length=self._row_length,
            hidden_bytes=self._hidden.nbytes if self._hidden is not None else 0,
            digest=digest,
        )
        self._prepare_buffers()

    def _prepare_buffers(self) -> None:
        self._clock_at = len(self._head)
        row_at = self._clock_at + Clock.SIZE
        hidden_at = row_at + 8 * self._row_length
        self.total = hidden_at + (self._hidden.nbytes if self._hidden is not None else 0)
        # The head never changes, so its part of the CRC is computed once.
        self._fixed = self._head[CRC_FROM:]
        self._fixed_crc = crc32(self._fixed)
        self._template = bytearray(self.total)
        self._template[: self._clock_at] = self._head
        view = memoryview(self._template)
        self._checksum = checksum_of(view[self._clock_at :], body_at=Clock.SIZE)
        self._row = np.frombuffer(view[row_at:hidden_at], dtype=np.float64)
        self._hidden_view = view[hidden_at:]
        # Restores are validated on a copy, so that the caller's bytes can't change meanwhile.
        self._incoming = bytearray(self.total)
        incoming = memoryview(self._incoming)
        self._incoming_view = incoming
        self._incoming_checksum = checksum_of(incoming[self._clock_at :], body_at=Clock.SIZE)
        self._incoming_row = np.frombuffer(incoming[row_at:hidden_at], dtype=np.float64)
        self._incoming_hidden = incoming[hidden_at:]
        # Large ones that can't change are validated where they are.
        self._row_at, self._hidden_at = row_at, hidden_at
        self._checksum_in_place = InPlaceChecksum(
            begin=self._clock_at, body_at=row_at, body_bytes=self.total - row_at
        )
        # What is to be written when the check was passed.
        self._checked_row, self._checked_hidden = self._incoming_row, self._incoming_hidden

    @property
    def compared(self) -> ComparedModel:
        """What finds what was written into the model since, made on first use."""
        if self._compared is None:
            self._compared = ComparedModel(self._model, self.fields, module=self._adapter.module)
        return self._compared

    # --- capture

    def capture(self, counters: Counters, *, timestep: float, edits: int = 0) -> bytearray:
        """Return the checkpoint of the state as it stands, in a buffer that is reused.

        Copy it (``bytes``, ``+=``) before the next capture.
        """
        self._get_state(self._model, self._live(), self._row, self._mask)
        if self._hidden is not None:
            self._hidden.copy_to(self._hidden_view)
        template = self._template
        _pack_clock(
            template, self._clock_at, self.total, 0, 0, counters.step_count,
            counters.physics_step_count, self._row[0], timestep, edits,
        )  # fmt: skip
        _pack_crc(template, CRC_AT, self._checksum(self._fixed_crc))
        return template

    def capture_over(
        self, buffer: bytearray, at: int, counters: Counters, *, timestep: float, edits: int = 0
    ) -> None:
        """Write the checkpoint over what stands in ``buffer`` from ``at`` on.

        Large rows are written and summed where they are to stay.
        """
        row = self._row_within(buffer, at)
        if row is None:
            state = self.capture(counters, timestep=timestep, edits=edits)
            buffer[at : at + self.total] = state
            return
        self._get_state(self._model, self._live(), row, self._mask)
        buffer[at : at + self._clock_at] = self._head
        _pack_clock(
            buffer, at + self._clock_at, self.total, 0, 0, counters.step_count,
            counters.physics_step_count, row[0], timestep, edits,
        )  # fmt: skip
        crc = self._checksum_in_place(buffer, self._fixed_crc, at=at)
        _pack_crc(buffer, at + CRC_AT, crc)

    def _row_within(self, buffer: bytearray, at: int) -> NDArray[np.float64] | None:
        """Return the row of a checkpoint in ``buffer``; None where it is better copied there."""
        if (
            not self._checksum_in_place.is_worth_while
            or self._hidden is not None
            or at + self.total > len(buffer)
        ):
            return None
        row = np.frombuffer(buffer, np.float64, self._row_length, at + self._row_at)
        return row if row.flags.aligned else None

    def take(
        self,
        counters: Counters,
        *,
        timestep: float,
        edits: int,
        script: bytes,
        record: CheckpointRecord,
    ) -> Checkpoint:
        """Return the checkpoint of the state as it stands, as an object."""
        row, hidden = self.read_row()
        row.setflags(write=False)
        made = Checkpoint(
            self._head,
            row,
            counters=counters,
            timestep=timestep,
            edits=edits,
            hidden=hidden,
            script=script,
            record=record,
            exactness=self._exactness,
        )
        # Now the row is in the cache; a restore that had to look would have to fetch it.
        made.is_finite = isfinite(self._norm(row))
        return made

    @property
    def head(self) -> bytes:
        """What all checkpoints of this model begin with."""
        return self._head

    # --- restore

    def restore(self, state: StateBytes, *, timestep: float) -> Counters:
        """Put the state back, all of it or nothing, and return its counters.

        ``state`` has neither script part nor record. Raises StateCorruptError when the bytes are
        damaged, StateMismatchError when they belong elsewhere; the data is bit-identical then. The
        arrays derived from the state (``xpos``, contacts, forces) follow with the next step.
        """
        counters = self.check(state, timestep=timestep)
        if self._hidden is not None:
            self._hidden.copy_from(self._checked_hidden)
        self._set_state(self._model, self._live(), self._checked_row, self._mask)
        return counters

    def check(self, state: StateBytes, *, timestep: float) -> Counters:
        """Raise what :meth:`restore` would raise, and return the counters; nothing changes."""
        if state is self._checked_state:
            # The very object of last time, which can't have changed: scripts often go back to one.
            if self._checked_timestep != timestep:
                raise self._timestep_refusal(self._checked_timestep, timestep)
            self._has_nonfinite_inputs = self._checked_nonfinite
            return self._checked_counters
        if len(state) != self.total:
            raise self.refusal(bytes(state))
        self._checked_state = None
        incoming: bytes | bytearray
        if self._checksum_in_place.is_worth_while and type(state) is bytes:
            incoming = state
            row = np.frombuffer(state, np.float64, self._row_length, self._row_at)
            if self._hidden is not None:
                self._checked_hidden = memoryview(state)[self._hidden_at :]
            # Before the sums: of both it fetches memory that is not in the cache faster.
            norm = self._norm(row)
            checksum = self._checksum_in_place(state, self._fixed_crc)
        else:
            incoming, row = self._incoming, self._incoming_row
            self._incoming_view[:] = state  # type: ignore[assignment]
            self._checked_hidden = self._incoming_hidden
            norm = self._norm(row)
            checksum = self._incoming_checksum(self._fixed_crc)
        self._checked_row = row
        (
            total, script, record, steps, physics_steps, time, captured_timestep, _,
        ) = _unpack_clock(incoming, self._clock_at)  # fmt: skip
        if (
            # memcmp; comparing views looks at each byte by itself.
            not incoming.startswith(self._fixed, CRC_FROM)
            or checksum != _unpack_crc(incoming, CRC_AT)[0]
            or total != self.total
            or script
            or record
            or not incoming.startswith(MAGIC)
        ):
            raise self.refusal(bytes(incoming))
        if captured_timestep != timestep:
            raise self._timestep_refusal(captured_timestep, timestep)
        if self._hidden is not None:
            self._hidden.check(bytes(self._checked_hidden))
        if self.indices:
            self.indices.check(row)
        # The norm of a row that is not finite is not; neither is that of huge numbers.
        if isfinite(norm) and time == row[0]:
            self._has_nonfinite_inputs = False
        else:
            self.check_row(row)
        counters = Counters(steps, physics_steps)
        if type(state) is bytes:
            self._checked_state, self._checked_counters = state, counters
            self._checked_timestep = timestep
            self._checked_nonfinite = self._has_nonfinite_inputs
        return counters

    def put_row(self, row: NDArray[np.float64], hidden: bytes) -> None:
        """Write a state that was checked; ``hidden`` empty: whatever sleeps wakes up."""
        data = self._live()
        if self._hidden is not None and not hidden:
            self._adapter.mj_resetData(self._model, data)
        elif self._hidden is not None:
            self._hidden.copy_from(memoryview(hidden))
        self._set_state(self._model, data, row, self._mask)

    def read_row(self) -> tuple[NDArray[np.float64], bytes]:
        """Return the state as it stands: a row of its own, and what no row holds."""
        row = np.empty(self._row_length)
        self._get_state(self._model, self._live(), row, self._mask)
        if self._hidden is None:
            return row, b""
        self._hidden.copy_to(self._hidden_view)
        return row, bytes(self._hidden_view)

    def check_hidden(self, hidden: bytes) -> None:
        """Raise StateCorruptError where ``hidden``, which may come from anybody, is of no state."""
        if self._hidden is not None and hidden:
            self._hidden.check(hidden)

    def check_row(self, row: NDArray[np.float64]) -> None:
        """Raise StateCorruptError for a position, velocity, activation or time not finite.

        And for what MuJoCo would use as an index of nothing.
        """
        self.indices.check(row)
        finite = np.isfinite(row)
        if not finite[: self._physics_length].all():
            raise StateCorruptError(
                "the checkpoint holds a position, velocity, activation or time that is not "
                "finite: it was captured after the simulation had diverged; use an earlier one"
            )
        # Inputs that are not finite are evidence of what went wrong: they come back as they were.
        self._has_nonfinite_inputs = not finite.all()

    def check_object(self, checkpoint: Checkpoint, *, timestep: float) -> None:
        """Raise what keeps a checkpoint from being restored here; nothing changes."""
        head = checkpoint.head
        if head is not self._head and head[CRC_FROM:] != self._fixed:
            raise self.refusal(checkpoint.to_bytes())
        if checkpoint.timestep != timestep:
            raise self._timestep_refusal(checkpoint.timestep, timestep)
        row = checkpoint.row
        if checkpoint.is_finite:
            self._has_nonfinite_inputs = False
            return
        self.check_hidden(checkpoint.hidden)
        self.check_row(row)
        # It never changes, so that it need not be looked through again.
        checkpoint.is_finite = not self._has_nonfinite_inputs

    @property
    def keeps_sleep(self) -> bool:
        """Whether checkpoints hold which islands sleep, and what else no row holds."""
        return self._hidden is not None

    @property
    def has_nonfinite_inputs(self) -> bool:
        """Whether the state restored last has a control or force that is not finite."""
        return self._has_nonfinite_inputs

    # --- refusals

    def _timestep_refusal(self, captured: float, timestep: float) -> StateMismatchError:
        return StateMismatchError(
            f"the checkpoint was taken with a timestep of {captured} s, this scene's model has "
            f"{timestep} s: set model.opt.timestep to the same value first, or restore it with "
            "with_model=True"
        )

    def refusal(self, state: bytes) -> StateError:
        """Return the error that says why ``state`` is not for this scene."""
        broken = damage(state)
        if broken:
            return StateCorruptError(
                f"the checkpoint is damaged ({broken}): take it from its source again"
            )
        return StateMismatchError(
            f"the checkpoint does not fit this scene: {self.difference(state)}; restore it into "
            "a scene of the same model, made with the same MuJoCo"
        )

    def difference(self, state: bytes) -> str:
        """Return why an intact checkpoint, or what begins with its head, is not for this scene."""
        version = int.from_bytes(state[CRC_FROM : CRC_FROM + 4], "little")
        if version != FORMAT_VERSION:
            return f"its format version is {version}, this one reads {FORMAT_VERSION}"
        head = Head.of(state)
        engine, engine_version, _ = head.texts(state)
        if engine != _ENGINE:
            return f"it is of the engine {engine!r}, this scene of {_ENGINE!r}"
        if engine_version != self._adapter.version:
            return f"it was captured with MuJoCo {engine_version}, this is {self._adapter.version}"
        if head.n_envs != 1:
            return f"it has {head.n_envs} environments, this scene 1"
        if head.precision != _PRECISION:
            return f"its numbers have {8 * head.precision} bits, this scene's {8 * _PRECISION} bits"
        if head.digest != self.digest:
            return f"it belongs to another model: {self._model_difference(head, state)}"
        mine = self._hidden.nbytes if self._hidden is not None else 0
        if head.hidden_bytes != mine:
            then, now = ("on", "off") if head.hidden_bytes else ("off", "on")
            return f"enable.sleep (or enable.ipc) was {then} when it was captured and is {now} here"
        return "its state layout differs"

    def _model_difference(self, head: Head, state: bytes) -> str:
        other = known_models().find(head.digest)
        table = other or FieldTable.unpacked(head.table(state), self._model)
        digests = f"digest {self.digest.hex()[:12]}… here, {head.digest.hex()[:12]}… there"
        named = self.fields.differences(table) if table is not None else ""
        return f"{named} ({digests})" if named else digests
