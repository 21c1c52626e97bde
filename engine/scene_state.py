"""States of a scene: as checkpoints, as bytes, as a file for people."""

import itertools
import logging
import os
import weakref
from typing import TYPE_CHECKING, NoReturn

from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.engine.arguments import shown, whole_number
from stroboscope.engine.batch.batch_checkpoint import refuse_environments_of
from stroboscope.engine.checkpoint import (
    Checkpoint,
    CheckpointRecord,
    Exactness,
    StateBytes,
    split_tail,
    with_tail,
)
from stroboscope.engine.errors import StateCorruptError, StateError, StateMismatchError
from stroboscope.engine.model_changes import ModelChanges
from stroboscope.engine.script_state import ScriptStates
from stroboscope.engine.sim_state import SimState
from stroboscope.engine.state_file import write_state_file

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene

__all__ = ["SceneStates", "StateHandle"]

_log = logging.getLogger(__name__)

_TIDY_AT = 1000
# How many names of checkpoints are told where one is wrong, and how much of that one.
_NAMES_TOLD = 10
_NAME_SHOWN = 60

StateHandle = Checkpoint
"""What ``capture_state`` returned before there was one kind of checkpoint."""


class SceneStates:
    """Captures and restores of one scene; owner thread only."""

    def __init__(self, scene: "Scene") -> None:
        self._scene = scene
        # The script keeps its checkpoints alive; these are found again to release them all.
        self._kept: list[weakref.ref[Checkpoint]] = []
        self._tidy_at = _TIDY_AT
        self._numbers = itertools.count(1)
        self.script = ScriptStates(
            lambda: scene.name, let_through=lambda: scene.link.owner.signals.let_through()
        )
        self.initial: SimState | None = None
        """What the script has made its initial state; None: the model's own."""

    # --- bytes

    def capture_to(self, buffer: bytearray, *, at: int | None = None) -> None:
        """Append the checkpoint to ``buffer``, or write it from ``at`` on: all of it or nothing."""
        if not isinstance(buffer, bytearray):
            raise TypeError(
                f"buffer must be a DynamicArrayUint8 (or bytearray), not {shown(buffer)}"
            )
        try:
            if at is None:
                buffer += self._captured()
            else:
                self._capture_over(buffer, whole_number(at, "at", least=0, most=len(buffer)))
        except BufferError as error:
            raise StateError(
                "the buffer can't grow while a memoryview of it is alive: release the view first"
            ) from error

    def _capture_over(self, buffer: bytearray, at: int) -> None:
        scene = self._scene
        if self.script.registered:
            state = self._captured()
            buffer[at : at + len(state)] = state
            return
        world = scene.world
        world.codec.capture_over(
            buffer, at, scene.counters.state(),
            timestep=scene.timestep_of_state, edits=world.edits,
        )  # fmt: skip

    def capture(self) -> bytes:
        """Return the checkpoint as bytes of its own."""
        return bytes(self._captured())

    def _captured(self) -> bytes | bytearray:
        """Return the checkpoint, possibly in a buffer that the next capture reuses."""
        scene = self._scene
        world = scene.world
        # First, because a getter may capture something itself.
        script = self.script.capture() if self.script.registered else b""
        state = world.codec.capture(
            scene.counters.state(), timestep=scene.timestep_of_state, edits=world.edits
        )
        return with_tail(state, script=script) if script else state

    def restore(self, state: StateBytes) -> None:
        """Put a checkpoint back, all of it or nothing."""
        scene = self._scene
        codec, timestep = scene.world.codec, scene.timestep_of_state
        state = _as_bytes_like(state)
        if self.script.registered or len(state) != codec.total:
            state, packed = split_tail(state)
            # Setters run only when nothing can be refused any more.
            codec.check(state, timestep=timestep)
            self._put_script(packed)
        counters = codec.restore(state, timestep=timestep)
        scene.counters.set_state(counters)
        self._replaced()

    # --- checkpoints

    def checkpoint(self, name: str, *, note: str = "") -> Checkpoint:
        """Return the state as it stands; a named one compares the model with the scene's making."""
        made = self.take(name, note=note)
        made.belongs_to(self._scene.link.scene_id, next(self._numbers))
        self._kept.append(weakref.ref(made))
        if len(self._kept) > self._tidy_at:
            self._tidy_up()
        return made

    def take(self, name: str, *, note: str = "") -> Checkpoint:
        """Return the same for somebody else than the script, whose own are counted."""
        scene = self._scene
        world = scene.world
        script = self.script.capture() if self.script.registered else b""
        changes = ModelChanges(world).saved() if name else ()
        return world.codec.take(
            scene.counters.state(),
            timestep=scene.timestep_of_state,
            edits=world.edits,
            script=script,
            record=CheckpointRecord(name, scene.name, note, bool(name), changes),
        )

    def _tidy_up(self) -> None:
        """Forget the checkpoints that nobody has any more; seldom enough to cost nothing."""
        self._kept = [kept for kept in self._kept if kept() is not None]
        self._tidy_at = max(_TIDY_AT, 2 * len(self._kept))

    def refuse_name(self, name: str) -> NoReturn:
        """Raise TypeError for a name in the place of a checkpoint: scripts keep them as objects."""
        kept = (each() for each in self._kept)
        there = [each for each in kept if each is not None and not each.is_released]
        names = [each.name for each in there if each.name]
        known = ", ".join(map(repr, names[-_NAMES_TOLD:])) or "none with a name"
        name = name[:_NAME_SHOWN]
        raise TypeError(
            f"{name!r} is a name: restore takes what checkpoint() has returned, or its bytes, as "
            f"in made = scene.checkpoint({name!r}), scene.restore(made); this scene has {known}"
        )

    def restore_checkpoint(self, checkpoint: Checkpoint, *, with_model: bool = False) -> Exactness:
        """Put a checkpoint back, all of it or nothing; return how the scene continues."""
        scene = self._scene
        world = scene.world
        changes = ModelChanges(world)
        if with_model and self._scene.history.ring.advance:
            self._scene.history.look_at_model()  # steps were taken with what is put back now
        undo = changes.put_back(checkpoint.record) if with_model else None
        try:
            world.codec.check_object(checkpoint, timestep=scene.timestep_of_state)
            difference = changes.difference(checkpoint)  # refuses values of another shape
            self._put_script(checkpoint.script)
        except BaseException:
            if undo is not None:
                undo()
            raise
        world.codec.put_row(checkpoint.row, checkpoint.hidden)
        scene.counters.set_state(checkpoint.counters)
        self._replaced()
        if self.script.registered:  # its setters may have written into the model
            difference = changes.difference(checkpoint)
        if not difference:
            return checkpoint.exactness
        reasons = [checkpoint.exactness.reason, difference]
        return Exactness("; ".join(reason for reason in reasons if reason))

    def _put_script(self, packed: bytes) -> None:
        """Put back what belongs to the script."""
        self.script.restore(packed, report=self._warn)

    def _warn(self, text: str) -> None:
        _log.warning("scene %r: %s", self._scene.name, text)
        self._scene.link.log_text(LogLevel.WARNING, text)

    def put_script_of_row(self, packed: bytes) -> None:
        """Put back what the script kept at a step of the history, as far as it is registered."""
        registered = self.script.registered
        values = self.script.unpacked(packed)
        self.script.put({name: value for name, value in values.items() if name in registered})

    def _replaced(self) -> None:
        """Everything that is remembered of the state before is of no use now."""
        scene = self._scene
        scene.stepper.mend()
        scene.stepper.forget_time()
        scene.forget_drawing()
        if self.script.registered:
            scene.note_script(at_once=True)
        if scene.world.codec.has_nonfinite_inputs:
            _log.warning(
                "scene %r: the restored checkpoint holds a control or force that is not finite",
                scene.name,
            )

    # --- checkpoints of this scene

    def own(self, checkpoint: Checkpoint) -> Checkpoint:
        """Return ``checkpoint`` when it is one of this scene's and can still be used."""
        if not isinstance(checkpoint, Checkpoint):
            raise TypeError(
                f"a Checkpoint (StateHandle) is needed, from capture_state or checkpoint, not "
                f"{shown(checkpoint)}"
            )
        if checkpoint.scene_id != self._scene.scene_id:
            raise StateMismatchError(
                f"{checkpoint!r} belongs to another scene, this is {self._scene.name!r} "
                f"(scene_id={self._scene.scene_id}): use restore(), or capture_state_to_bytes, "
                "between scenes"
            )
        if checkpoint.is_released:
            raise StateError(f"{checkpoint!r} was released: capture the state again")
        return checkpoint

    def release(self, checkpoint: Checkpoint) -> None:
        """Drop the content of one; raises StateError when it was released before."""
        self.own(checkpoint).release()

    def release_all(self) -> None:
        """Drop the content of all."""
        for kept in self._kept:
            checkpoint = kept()
            if checkpoint is not None:
                checkpoint.release()
        self._kept.clear()

    def write_file(self, path: str | os.PathLike[str]) -> None:
        """Write the state for people to read."""
        write_state_file(self._scene, path)


def checkpoint_of(state: object) -> Checkpoint:
    """Return a checkpoint as it is, or the one in any bytes-like object."""
    if isinstance(state, Checkpoint):
        return state
    refuse_environments_of(state)
    return Checkpoint.from_bytes(bytes(_as_bytes_like(state)))


def _as_bytes_like(state: object) -> StateBytes:
    """Return ``state`` as flat bytes; TypeError for what is no buffer."""
    if isinstance(state, bytes | bytearray):
        return state
    try:
        view = memoryview(state)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(
            f"a checkpoint must be bytes, DynamicArrayUint8, memoryview or a uint8 array, "
            f"not {shown(state)}"
        ) from None
    if not view.contiguous:
        return bytes(view)
    try:
        return view.cast("B")
    except TypeError:
        raise StateCorruptError(
            f"a checkpoint must consist of bytes, not of items of format {view.format!r}: "
            f"{shown(state)}"
        ) from None
