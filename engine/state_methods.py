"""The part of :class:`Scene` that is about states: capture, restore, reset, copy."""

import os
from collections.abc import Callable
from threading import get_ident
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from stroboscope.debugger_protocol.signal_handlers import is_of_handler
from stroboscope.engine.arguments import checked_path, flag, plain_text, shown
from stroboscope.engine.byte_array import DynamicArrayUint8
from stroboscope.engine.checkpoint import Checkpoint, Counters, Exactness, StateBytes
from stroboscope.engine.env_indices import refuse_environments
from stroboscope.engine.scene_state import SceneStates, StateHandle, checkpoint_of
from stroboscope.engine.script_state import Getter, Setter
from stroboscope.engine.sim_state import SimState, checked_counts, read_sim_state, write_sim_state

if TYPE_CHECKING:
    from stroboscope.debugger_protocol.host.scene_link import SceneLink
    from stroboscope.engine.errors import EngineError
    from stroboscope.engine.history.scene_history import SceneHistory
    from stroboscope.engine.recording.scene_recorders import SceneRecorders
    from stroboscope.engine.scene_counters import StepCounters
    from stroboscope.engine.stepping import Stepper
    from stroboscope.engine.world import World

__all__ = ["StateMethods", "checked_keyframe", "checked_label"]


def checked_label(name: str | None, note: str) -> tuple[str, str]:
    """Return name and note of a checkpoint; ValueError for no name, TypeError for no note."""
    note = plain_text(note, "a checkpoint's note")
    if name is None:
        return "", note
    if not isinstance(name, str) or not name.strip():
        raise ValueError(
            f"a checkpoint's name must be text that is not empty, not {shown(name)}: leave it out "
            "for one without a name"
        )
    return plain_text(name, "a checkpoint's name"), note


def checked_keyframe(keyframe: int | str, model: Any, *, module: Any, scene_name: str) -> int:
    """Return the number of a keyframe; TypeError for neither name nor number, ValueError else."""
    number, count = -1, int(model.nkey)
    if isinstance(keyframe, str):
        name = plain_text(keyframe, "keyframe")
        number = int(module.mj_name2id(model, int(module.mjtObj.mjOBJ_KEY), name))
    elif isinstance(keyframe, int | np.integer) and not isinstance(keyframe, bool):
        number = int(keyframe)
    else:
        raise TypeError(f"keyframe must be a number or a name, not {shown(keyframe)}")
    if not 0 <= number < count:
        raise ValueError(
            f"scene {scene_name!r} has {count} keyframes and none called {shown(keyframe)}: "
            "numbers count from 0"
        )
    return number


class StateMethods:
    """Methods of a scene that read or replace its whole state; owner thread only."""

    states: SceneStates
    world: "World"
    counters: "StepCounters"
    stepper: "Stepper"
    link: "SceneLink"
    recorders: "SceneRecorders"
    history: "SceneHistory"
    _owner_ident: int
    _guard: Callable[[], None]
    _misuse: Callable[[], "EngineError"]
    episode_began: Callable[[str], None]
    forget_drawing: Callable[[], None]

    # --- plain arrays

    def get_state(self) -> SimState:
        """Return the state as plain named arrays that belong to nobody else."""
        self._guard()
        counters = self.counters
        return read_sim_state(
            self.world,
            step_count=counters.step_count,
            physics_step_count=counters.physics_step_count,
        )

    def reset(
        self,
        state: SimState | None = None,
        *,
        keyframe: int | str | None = None,
        envs_idx: object = None,
        as_initial: bool = False,
        zero_time: bool = False,
    ) -> None:
        """Begin a new episode: at the initial state, at ``state``, or at a keyframe.

        The initial state is the model's own, or the ``state`` or keyframe that was given together
        with ``as_initial=True`` last. Time and step counts are those of ``state``;
        ``zero_time=True`` begins at 0. Raises StateMismatchError, saying what differs, for a state
        of another model, count or precision, StateCorruptError for one that is not finite, and
        ValueError for arguments that exclude each other, for a keyframe that there isn't, and for
        ``envs_idx`` on a scene without environments. Nothing has changed then.
        """
        self._guard()
        as_initial, zero_time = flag(as_initial, "as_initial"), flag(zero_time, "zero_time")
        if envs_idx is not None:
            refuse_environments(envs_idx, scene_name=self.link.name)
        if state is not None and keyframe is not None:
            raise ValueError("give state or keyframe, not both")
        if as_initial and state is None and keyframe is None:
            raise ValueError(
                "as_initial=True needs a state or a keyframe to begin with from now on"
            )
        if state is not None and not isinstance(state, SimState):
            raise TypeError(
                f"reset takes a SimState (from get_state), not {shown(state)}; "
                "checkpoints go back with restore"
            )
        if keyframe is not None:
            self._reset_to_keyframe(keyframe)
        elif state is not None:
            self._reset_to(state, zero_time=zero_time)
        elif self.states.initial is not None:
            self._reset_to(self.states.initial, zero_time=zero_time)
        else:
            adapter = self.world.adapter
            adapter.mj_resetData(self.world.model, self.world.live())
            self.stepper.mend()
            self.episode_began("reset")
        self.forget_drawing()
        if as_initial:
            self.states.initial = self.get_state()

    def _reset_to(self, state: SimState, *, zero_time: bool) -> None:
        write_sim_state(self.world, state, zero_time=zero_time)
        self.stepper.mend()
        self.episode_began("reset")
        if not zero_time:
            self.counters.set_state(Counters(*checked_counts(state)))

    def _reset_to_keyframe(self, keyframe: int | str) -> None:
        module, model = self.world.adapter.module, self.world.model
        number = checked_keyframe(keyframe, model, module=module, scene_name=self.link.name)
        module.mj_resetDataKeyframe(model, self.world.live(), number)
        self.stepper.mend()
        self.episode_began("reset")

    # --- checkpoints

    def checkpoint(
        self, name: str | None = None, *, envs_idx: object = None, note: str = ""
    ) -> Checkpoint:
        """Return the complete dynamic state: script state, what sleeps, delays and all.

        One with a name also compares the model and its options with what they were when the scene
        was made, and keeps what was written into them (the first time this takes a millisecond).
        It is listed for debuggers, too, which may go back to it.
        """
        self._guard()
        if envs_idx is not None:
            refuse_environments(envs_idx, scene_name=self.link.name)
        name, note = checked_label(name, note)
        made = self.states.checkpoint(name, note=note)
        if name:
            self.link.checkpoint_made(made, approximate=made.exactness.reason)
            self.recorders.kept(name, note)
        return made

    def restore(
        self,
        checkpoint: "Checkpoint | StateBytes",
        *,
        envs_idx: object = None,
        with_model: bool = False,
    ) -> Exactness:
        """Put a checkpoint, or the bytes of one, back: all of it or nothing.

        Returns how the scene continues: ``exact``, or ``approximate`` and why: for a named
        checkpoint also when the model or its options have other values than at the checkpoint.
        ``with_model=True`` puts those back as well. The checkpoint may come from any scene of the
        same model. Arrays derived from the state (``data.xpos``, contacts) follow with the next
        step. Raises StateCorruptError for damaged bytes, StateMismatchError when they belong to
        another model, version or layout, StateError when it was released or a setter of script
        state raised; the scene is bit-identical then.
        """
        self._guard()
        with_model = flag(with_model, "with_model")
        if envs_idx is not None:
            refuse_environments(envs_idx, scene_name=self.link.name)
        if isinstance(checkpoint, str):
            self.states.refuse_name(checkpoint)
        exactness = self.states.restore_checkpoint(checkpoint_of(checkpoint), with_model=with_model)
        if self.link.active:
            self.link.state_replaced("the script restored a checkpoint")
        return exactness

    def fork(self, src_env: object, dst_envs: object) -> NoReturn:
        """Raise ValueError: only scenes made with ``n_envs`` have environments to copy."""
        self._guard()
        raise ValueError(
            f"scene {self.link.name!r} has no environments to copy ({shown(src_env)} to "
            f"{shown(dst_envs)}): make it with n_envs, or hand its state to another scene with "
            "other.restore(scene.checkpoint())"
        )

    # --- bytes

    def capture_state_to_bytes(self, buffer: DynamicArrayUint8, *, at: int | None = None) -> None:
        """Append a checkpoint to ``buffer``; when it fails, the buffer stays as it was.

        It holds all that the next step reads, the counters, and what is needed to know where it
        may be restored; any scene of the same model made with the same MuJoCo takes it.

        With ``at`` it is written over what stands there, from that byte on, and the buffer grows
        if it must: the memory of states that nobody needs any more is used again. Raises
        ValueError for an ``at`` beyond the end.
        """
        if self._owner_ident != get_ident():
            raise self._misuse()
        self.states.capture_to(buffer, at=at)

    def restore_state_from_bytes(self, state: StateBytes) -> None:
        """Put a checkpoint back, all of it or nothing; the next steps are bit-identical.

        ``state``: any bytes-like object that holds exactly one checkpoint. The same as
        :meth:`restore`, without its answer and faster. Raises StateCorruptError for damaged bytes,
        StateMismatchError when they belong to another model, version or layout; the scene is
        bit-identical then.
        """
        if self._owner_ident != get_ident():
            raise self._misuse()
        self.states.restore(state)
        if self.link.active:
            self.link.state_replaced("the script restored a checkpoint")

    # --- checkpoints by their former name

    def capture_state(self) -> Checkpoint:
        """Return a checkpoint without a name."""
        self._guard()
        return self.states.checkpoint("")

    def restore_state(self, handle: StateHandle, *, release_immediately: bool = False) -> None:
        """Put a state of this scene back; raises StateError when it was released."""
        self._guard()
        release_immediately = flag(release_immediately, "release_immediately")
        self.states.restore_checkpoint(self.states.own(handle))
        if release_immediately:
            handle.release()
        if self.link.active:
            self.link.state_replaced("the script restored a state")

    def release_state(self, handle: StateHandle) -> None:
        """Drop the content of a checkpoint of this scene."""
        self._guard()
        self.states.release(handle)

    def release_all_states(self) -> None:
        """Drop the content of all checkpoints of this scene."""
        self._guard()
        self.states.release_all()

    def is_equal_state(self, a: StateHandle, b: StateHandle) -> bool:
        """Return whether two checkpoints are equal to the last bit, counters and time included."""
        self._guard()
        return self.states.own(a).is_equal(self.states.own(b))

    def capture_state_to_file(self, path: str | os.PathLike[str]) -> None:
        """Write the state as JSON for people: joints and actuators by name, with units."""
        self._guard()
        self.states.write_file(checked_path(path, "path"))

    def register_state(self, name: str, get: Getter, set: Setter) -> Callable[[], None]:
        """Make what the script keeps itself a part of this scene's checkpoints.

        ``get()`` returns it: numbers, text, bytes, NumPy arrays, or lists, tuples and dicts of
        these. ``set(value)`` puts a value back that ``get`` returned once; it runs on the owner
        thread, just before the scene's own state is written. When it raises, nothing is restored
        (StateError). Another scene takes the checkpoint when it has registered the same name; in
        a copied scene ``set`` is called at once, with the value that was copied. Returns a
        function that ends the registration. Raises ValueError for a name in use.
        """
        self._guard()
        end = self.states.script.register(name, get, set)
        self._notes_script = True
        return end

    _notes_script = False
    """Whether what the script keeps may have to be looked at before a step."""

    def note_script(self, *, at_once: bool = False) -> None:
        """Have the history remember what the script has registered, before the coming step."""
        script, history = self.states.script, self.history
        if not script.registered or not history.keeps:
            return
        try:
            history.script_rows.note(self.counters.axis, script.note, at_once=at_once)
        except Exception as error:  # the script's getter; its run goes on
            if is_of_handler(error):
                raise
            self.link.log_problem(f"what the script has registered can't be remembered: {error!r}")
