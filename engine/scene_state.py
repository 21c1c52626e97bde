"""States of a scene: as bytes, as handles kept by the scene, as a file for people."""

import itertools
import logging
import os
from typing import TYPE_CHECKING

from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.engine.checkpoint import StateBytes, split_script, with_script
from stroboscope.engine.errors import StateCorruptError, StateError, StateMismatchError
from stroboscope.engine.script_state import ScriptStates
from stroboscope.engine.state_file import write_state_file

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene

__all__ = ["SceneStates", "StateHandle"]

_log = logging.getLogger(__name__)


class StateHandle:
    """A state that a scene keeps for :meth:`Scene.restore_state`; made by ``capture_state``."""

    __slots__ = ("_number", "_scene_id")

    def __init__(self, scene_id: int, number: int) -> None:
        self._scene_id = scene_id
        self._number = number

    @property
    def scene_id(self) -> int:
        """The scene that keeps the state."""
        return self._scene_id

    @property
    def number(self) -> int:
        """Which of that scene's states it is, counted from 1."""
        return self._number

    def __repr__(self) -> str:
        """Say which state of which scene it is."""
        return f"StateHandle(scene_id={self._scene_id}, number={self._number})"


class SceneStates:
    """Captures and restores of one scene; owner thread only."""

    def __init__(self, scene: "Scene") -> None:
        self._scene = scene
        self._kept: dict[int, bytes] = {}
        self._numbers = itertools.count(1)
        self.script = ScriptStates(lambda: scene.name)

    def capture_to(self, buffer: bytearray) -> None:
        """Append the checkpoint to ``buffer``, all of it or nothing."""
        if not isinstance(buffer, bytearray):
            raise TypeError(
                f"buffer must be a DynamicArrayUint8 (or bytearray), not {type(buffer).__name__}"
            )
        try:
            buffer += self._captured()
        except BufferError as error:
            raise StateError(
                "the buffer can't grow while a memoryview of it is alive: release the view first"
            ) from error

    def capture(self) -> bytes:
        """Return the checkpoint as bytes of its own."""
        return bytes(self._captured())

    def _captured(self) -> bytes | bytearray:
        """Return the checkpoint, possibly in a buffer that the next capture reuses."""
        scene = self._scene
        # First, because a getter may capture something itself.
        script = self.script.capture() if self.script.registered else b""
        state = scene.world.codec.capture(scene.counters.state(), timestep=scene.timestep_of_state)
        return with_script(state, script) if script else state

    def restore(self, state: StateBytes) -> None:
        """Put a checkpoint back, all of it or nothing."""
        scene = self._scene
        codec, timestep = scene.world.codec, scene.timestep_of_state
        state = _as_bytes_like(state)
        if self.script.registered or len(state) != codec.total:
            state = self._restore_script(state)
        counters = codec.restore(state, timestep=timestep)
        scene.stepper.mend()
        scene.counters.set_state(counters)
        scene.stepper.forget_time()
        scene.forget_drawing()
        if codec.has_nonfinite_inputs:
            _log.warning(
                "scene %r: the restored checkpoint holds a control or force that is not finite",
                scene.name,
            )

    def _restore_script(self, state: StateBytes) -> StateBytes:
        """Put back what belongs to the script; return the checkpoint without it."""
        scene = self._scene
        state, packed = split_script(state)
        # Setters run only when nothing can be refused any more.
        scene.world.codec.check(state, timestep=scene.timestep_of_state)
        values = self.script.values_in(packed) if packed else {}
        missing = self.script.missing_in(values)
        self.script.put(values)
        if missing:
            text = (
                f"the restored checkpoint says nothing about {', '.join(map(repr, missing))}, "
                "registered after it was taken: that script state stays as it is"
            )
            _log.warning("scene %r: %s", scene.name, text)
            scene.link.log_text(LogLevel.WARNING, text)
        return state

    def keep(self) -> StateHandle:
        """Capture the state and keep it."""
        handle = StateHandle(self._scene.scene_id, next(self._numbers))
        self._kept[handle.number] = self.capture()
        return handle

    def kept(self, handle: StateHandle) -> bytes:
        """Return the state behind ``handle``; raises StateError when there is none."""
        if not isinstance(handle, StateHandle):
            raise TypeError(
                f"a StateHandle is needed (from capture_state), not {type(handle).__name__}"
            )
        if handle.scene_id != self._scene.scene_id:
            raise StateMismatchError(
                f"{handle} belongs to another scene, this is {self._scene.name!r} "
                f"(scene_id={self._scene.scene_id}); use capture_state_to_bytes between scenes"
            )
        state = self._kept.get(handle.number)
        if state is None:
            raise StateError(f"{handle} was released: capture the state again")
        return state

    def release(self, handle: StateHandle) -> None:
        """Forget one state; raises StateError when it was released before."""
        self.kept(handle)
        del self._kept[handle.number]

    def release_all(self) -> None:
        """Forget all states."""
        self._kept.clear()

    def write_file(self, path: str | os.PathLike[str]) -> None:
        """Write the state for people to read."""
        write_state_file(self._scene, path)


def _as_bytes_like(state: object) -> StateBytes:
    """Return ``state`` as flat bytes; TypeError for what is no buffer."""
    if isinstance(state, bytes | bytearray):
        return state
    try:
        view = memoryview(state)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(
            f"a checkpoint must be bytes, DynamicArrayUint8, memoryview or a uint8 array, "
            f"not {type(state).__name__}"
        ) from None
    if not view.contiguous:
        return bytes(view)
    try:
        return view.cast("B")
    except TypeError:
        raise StateCorruptError(
            f"a checkpoint must consist of bytes, not of items of format {view.format!r}"
        ) from None
