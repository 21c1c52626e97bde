"""A scene of many environments: one model, stepped on native threads, one of them looked at."""

import dataclasses
import functools
import os
import sys
import threading
import weakref
from collections.abc import Callable
from threading import get_ident
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.time_messages import SegmentKind
from stroboscope.engine.arguments import flag, shown, whole_number
from stroboscope.engine.batch.batch_backend import BatchBackend
from stroboscope.engine.batch.batch_checkpoint import BatchCheckpoint
from stroboscope.engine.batch.batch_condition_methods import BatchConditionMethods
from stroboscope.engine.batch.batch_copy import BatchCopy, copy_of_batch, fill_batch, source_of
from stroboscope.engine.batch.batch_history import BatchHistory
from stroboscope.engine.batch.batch_states import BatchStates
from stroboscope.engine.batch.batch_stepper import BatchStepper
from stroboscope.engine.batch.deep_rows import MOST_DEEP
from stroboscope.engine.batch.environments import Environments
from stroboscope.engine.batch.selected import SelectedEnvironment
from stroboscope.engine.callbacks import Event, SceneCallbacks
from stroboscope.engine.checkpoint import Checkpoint, Exactness, StateBytes
from stroboscope.engine.debug_draw import DebugDraw
from stroboscope.engine.env_indices import env_indices
from stroboscope.engine.errors import EngineError
from stroboscope.engine.model_source import ModelSource
from stroboscope.engine.mujoco_adapter import load_mujoco
from stroboscope.engine.options import Playback, SceneOptions
from stroboscope.engine.recording.batch_recorders import BatchRecorders
from stroboscope.engine.recording.recording_methods import RecordingMethods
from stroboscope.engine.rollouts.store import RolloutStore
from stroboscope.engine.runtime import current_runtime
from stroboscope.engine.scene_copy import check_copy
from stroboscope.engine.scene_file_methods import SceneFileMethods
from stroboscope.engine.scene_life import SceneLife
from stroboscope.engine.scene_log import LoggedNames
from stroboscope.engine.script_state import Getter, Setter
from stroboscope.engine.sim_state import SimState
from stroboscope.engine.state_methods import checked_keyframe, checked_label
from stroboscope.engine.step_plan import checked_nstep
from stroboscope.engine.stop_methods import StopMethods

if TYPE_CHECKING:
    from stroboscope.engine.runtime import Runtime
    from stroboscope.engine.world import World

__all__ = ["BatchScene"]

Array = NDArray[np.float64]

MOST_SHOWN = 64
"""So many environments are drawn side by side at most."""


class BatchScene(SceneLife, StopMethods, RecordingMethods, BatchConditionMethods, SceneFileMethods):
    """``n_envs`` environments of one MuJoCo model, on native threads.

    Made by :func:`~stroboscope.engine.create_scene` with ``n_envs``. Each environment is, bit for
    bit, what a scene of its own would be, whatever the number of threads. Arrays have a leading
    dimension, also for one environment: ``qpos`` is (n_envs, nq). Every method and attribute may
    only be used on the owner thread (OwnerThreadError) and before the scene is destroyed
    (SceneDestroyedError), unless it says otherwise.
    """

    # `environments`, `selected`, `batch_history`, `stepper`, `states`, `world`, `counters`,
    # `history`, `stops` are for the engine's modules.

    nominal_timestep: float | None = None
    """A batch step takes no shorter timesteps than its own."""

    def __init__(
        self,
        name: str,
        source: ModelSource,
        n_envs: int,
        *,
        runtime: "Runtime",
        playback: Playback,
        adapter: Any,
    ) -> None:
        self._owner_ident = get_ident()
        self._owner = threading.current_thread()
        self._destroyed = ""
        self._runtime = runtime
        self.playback = playback
        """Whether it follows the debugger's playback."""
        self.callbacks = SceneCallbacks()
        self.drawing: DebugDraw | None = None
        self.rollouts = RolloutStore(budget=runtime.history_budget)
        self.guards_detached = False
        self.environments = Environments(
            source.model, n_envs, threads=runtime.num_worker_threads, adapter=adapter
        )
        self.batch_history = BatchHistory(
            self.environments, runtime.history_budget, base=lambda: self.world.codec.fields
        )
        self.selected = SelectedEnvironment(self, source)
        self.world: World = self.selected.world
        self.counters = self.selected.counters
        self.history = self.selected.history
        self.stops = self.selected.stops
        self.recorders: BatchRecorders = BatchRecorders(self)
        self.logged_names: LoggedNames = {}
        self.batch_history.on_forget = self.recorders.notes.forget_before
        self.states = BatchStates(self)
        self.backend = BatchBackend(self)
        self.link = runtime.host.open_scene(name, self.backend, follow=playback is Playback.FOLLOW)
        self.stepper = BatchStepper(self)
        os.register_at_fork(after_in_child=functools.partial(_forked, weakref.ref(self)))

    def forget_parent(self) -> None:
        """In a forked child: refuse every further use, where threads are missing."""
        lost = self.lost_by_fork()
        if lost:
            self.refuse(f"{lost} did not survive a fork")

    def _update_fast_path(self) -> None:
        """Decide whether steps are looked at although nothing is attached."""
        self.guards_detached = (
            self.stops.raise_on_stop
            or self.batch_history.wanted
            or bool(self.batch_history.taps)
            or self.batch_history.is_called
            or self.callbacks.has(Event.STOP)
        )

    def call_soon(self, call: Callable[[], None]) -> None:
        """Have the owner call ``call`` before its next step; any thread; for the engine."""
        self.batch_history.call_soon(call)
        self._update_fast_path()

    def _forget_history(self) -> None:
        self.batch_history.forget()

    def _end_history(self) -> None:
        self.batch_history.end()

    def lost_by_fork(self) -> str:
        """Return what of it is not there in this forked child; empty: nothing."""
        return self.environments.lost_by_fork()

    # --- stepping

    def step(self, *, nstep: int = 1) -> None:
        """Complete one application step of ``nstep`` physics steps in every environment.

        With a debugger attached this is where the scene is paused, paced and stepped. Where MuJoCo
        fails on an environment (its memory is exhausted), that one stays where it was, the others
        take the step, and StepFailedError names it. Raises ValueError for ``nstep`` below 1,
        EngineError while Python callbacks are installed in MuJoCo, and what callbacks raise.
        """
        if self._owner_ident != get_ident():
            raise self._misuse()
        count = checked_nstep(nstep)
        if self.before_first_step is not None:
            self._first_step()
        self.stepper.step(count)

    def update_debugger(self) -> None:
        """Serve a scene that isn't stepped: answer the debugger and publish; never parks."""
        self._guard()
        self._guarded(self.link.serve)

    # --- what it is

    @property
    def n_envs(self) -> int:
        """How many environments there are; any thread."""
        return self.environments.count

    @property
    def model(self) -> Any:
        """The ``mujoco.MjModel`` that all environments share: for names and sizes.

        The batch has a copy: what is written here has no effect. Use :meth:`expand`.
        """
        self._guard()
        return self.environments.model

    @property
    def data(self) -> Any:
        """Raises EngineError: there is no MjData of many environments."""
        self._guard()
        raise EngineError(
            f"scene {self.name!r} has {self.n_envs} environments and no single MjData: use its "
            "arrays (scene.qpos, scene.qvel, scene.ctrl, scene.bind('xpos')), or copy one "
            "environment out with scene.get_data(env)"
        )

    @property
    def qpos(self) -> Array:
        """The positions, (n_envs, nq): a writable view of the state."""
        self._guard()
        return self.environments.qpos

    @property
    def qvel(self) -> Array:
        """The velocities, (n_envs, nv): a writable view of the state."""
        self._guard()
        return self.environments.qvel

    @property
    def ctrl(self) -> Array:
        """The controls, (n_envs, nu): a writable view of the state."""
        self._guard()
        return self.environments.ctrl

    @property
    def time(self) -> Array:
        """The simulation times [s], (n_envs,): a writable view of the state."""
        self._guard()
        return self.environments.time

    def bind(self, name: str) -> NDArray[Any]:
        """Return an array of MjData for all environments, (n_envs, …), as MuJoCo's batch has it.

        Parts of the state (``act``, ``mocap_pos``, ``xfrc_applied``, …) are writable views.
        Computed ones (``xpos``, ``sensordata``, …) are copied out by every step from then on, and
        read-only. Raises ValueError for what can't be bound.
        """
        self._guard()
        return self.environments.bind(name)

    def expand(self, name: str) -> NDArray[Any]:
        """Give a field of the model a value per environment; return them, (n_envs, …), writable.

        ``expand("body_mass")``, ``expand("opt.gravity")``. What follows from masses and inertias
        is only computed by :meth:`set_const`. Raises ValueError for what all have to share.
        """
        self._guard()
        return self.environments.expand(name)

    def set_const(self, *, envs_idx: object = None) -> None:
        """Compute what follows from fields written with :meth:`expand`, as ``mj_setConst``.

        Raises ``mujoco.batch.SimulationError`` for environments that MuJoCo refuses; the others
        are done then.
        """
        self._guard()
        self.environments.set_const(np.sort(self._chosen(envs_idx)))

    def get_data(self, env: int) -> Any:
        """Return the state of one environment in a ``mujoco.MjData`` of its own.

        What follows from the state is there after ``mj_forward`` with ``get_model(env)``.
        """
        self._guard()
        number = self._one(env)
        data = self.environments.adapter.module.MjData(self.environments.model)
        self.environments.fill_data(number, data, model=self.environments.model)
        return data

    def get_model(self, env: int) -> Any:
        """Return a copy of the model with one environment's own values."""
        self._guard()
        return self.environments.model_of(self._one(env))

    @property
    def step_count(self) -> NDArray[np.int64]:
        """Application steps within each state, (n_envs,): 0 after a reset."""
        self._guard()
        return self.environments.counters.step_counts()

    @property
    def physics_step_count(self) -> NDArray[np.int64]:
        """Physics steps within each state, (n_envs,)."""
        self._guard()
        return self.environments.counters.physics_counts()

    @property
    def total_steps(self) -> int:
        """Application steps ever taken; never falls."""
        self._guard()
        return self.environments.counters.shared.total_steps

    @property
    def options(self) -> SceneOptions:
        """All options that the scene was made with."""
        self._guard()
        return dataclasses.replace(self.world.options, playback=self.playback)

    @property
    def timestep_of_state(self) -> float:
        """The timestep [s] of the environment that is looked at; for the engine."""
        return self.selected.timestep_of_state

    def _chosen(self, envs_idx: object) -> NDArray[np.intp]:
        return env_indices(envs_idx, n_envs=self.n_envs)

    def _one(self, env: int) -> int:
        if env is None:
            raise TypeError(f"one environment is needed, not {shown(env)}")
        chosen = self._chosen(env)
        if len(chosen) != 1:
            raise ValueError(f"one environment is needed, not {len(chosen)}: {shown(env)}")
        return int(chosen[0])

    # --- states

    def get_state(self) -> SimState:
        """Return the states of all environments as named arrays, (n_envs, …), that are copies."""
        self._guard()
        return self.states.read()

    def reset(
        self,
        state: SimState | None = None,
        *,
        keyframe: int | str | None = None,
        envs_idx: object = None,
        as_initial: bool = False,
        zero_time: bool = False,
    ) -> None:
        """Begin a new episode in some environments (all unless ``envs_idx``); the others stay.

        At the initial state, at ``state`` or at a keyframe. A ``state`` of a scene of one world
        goes to each; one of as many environments as this scene has gives each its own; else it has
        to be of as many as are chosen. ``as_initial`` needs a state of all, or of one.

        ``envs_idx``: one integer, a slice, a boolean mask, or a sequence, NumPy array or torch
        tensor of these. Raises IndexError, ValueError and TypeError for what is no choice of
        environments, StateMismatchError and StateCorruptError for a state that does not fit;
        nothing has changed then.
        """
        self._guard()
        as_initial, zero_time = flag(as_initial, "as_initial"), flag(zero_time, "zero_time")
        chosen = self._chosen(envs_idx)
        if state is not None and keyframe is not None:
            raise ValueError("give state or keyframe, not both")
        if as_initial and state is None and keyframe is None:
            raise ValueError(
                "as_initial=True needs a state or a keyframe to begin with from now on"
            )
        if as_initial and envs_idx is not None:
            raise ValueError("as_initial=True is about all environments: leave envs_idx out")
        if state is not None and not isinstance(state, SimState):
            raise TypeError(
                f"reset takes a SimState (from get_state), not {shown(state)}; "
                "checkpoints go back with restore"
            )
        number = None if keyframe is None else self._keyframe(keyframe)
        self.states.reset(state, chosen, keyframe=number, zero_time=zero_time)
        if self.selected.env in chosen:
            self.told_replaced("reset")
        if as_initial:
            self.states.initial = self.get_state()

    def _keyframe(self, keyframe: int | str) -> int:
        envs = self.environments
        return checked_keyframe(
            keyframe, envs.model, module=envs.adapter.module, scene_name=self.name
        )

    def checkpoint(
        self, name: str | None = None, *, envs_idx: object = None, note: str = ""
    ) -> BatchCheckpoint:
        """Return the complete dynamic state of some environments (all unless ``envs_idx``).

        One with a name is listed for debuggers, too, which may go back to it: one of some
        environments moves only these. Values of model fields that :meth:`expand` has given them
        are kept with it. Where a state is more than MuJoCo's batch tells (sleep, ipc), its
        ``exactness`` says so.
        """
        self._guard()
        name, note = checked_label(name, note)
        chosen = self._chosen(envs_idx)
        if not len(chosen):
            raise ValueError("envs_idx chooses no environment: a checkpoint needs one at least")
        made = self.states.checkpoint(chosen, name=name, note=note)
        if name:
            self.recorders.kept(name, note)
            self.link.checkpoint_made(made, approximate=made.exactness.reason)
        return made

    def restore(
        self,
        checkpoint: "BatchCheckpoint | Checkpoint | StateBytes",
        *,
        envs_idx: object = None,
        with_model: bool = False,
    ) -> Exactness:
        """Put states back, all of it or nothing; environments that are not meant stay as they are.

        A checkpoint of several environments goes back to those it was taken of; with ``envs_idx``
        to those of the same numbers, or, when it holds as many as are chosen, to these in that
        order. A checkpoint of one (also one of a scene of one world) goes to each chosen one, or to
        all. Returns how they continue. Raises StateMismatchError and StateCorruptError.
        """
        self._guard()
        with_model = flag(with_model, "with_model")
        chosen = None if envs_idx is None else self._chosen(envs_idx)
        exactness = self.states.restore(checkpoint, chosen, with_model=with_model)
        self.told_replaced("the script restored a checkpoint")
        return exactness

    def load_checkpoint(
        self,
        path: str | os.PathLike[str],
        *,
        frame: int = -1,
        envs_idx: object = None,
        with_model: bool = False,
    ) -> Exactness:
        """Put the states in a checkpoint file back, all of it or nothing.

        Which environments get which: as in :meth:`restore`; a file holds them in the order of
        their numbers. ``frame``: of a recorded run, the last unless said; one instant for all.
        ``with_model=True``: also the fields of the model that each had of its own then. Raises
        FileError and its kinds, NoSuchFrameError, which says which environments lack the frame,
        and StateMismatchError, which says what differs.
        """
        return self._load_checkpoint(path, frame=frame, envs_idx=envs_idx, with_model=with_model)

    def fork(self, src_env: int, dst_envs: object) -> Exactness:
        """Copy the state of one environment, and its own model fields, to others.

        Returns how they continue: exact, except that what sleeps wakes up in the copies.
        """
        self._guard()
        source, targets = self._one(src_env), self._chosen(dst_envs)
        exactness = self.states.fork(source, targets)
        self.told_replaced(f"environment {source} was copied to {len(targets)} others")
        return exactness

    def register_state(self, name: str, get: Getter, set: Setter) -> Callable[[], None]:
        """Make what the script keeps itself a part of checkpoints of all environments.

        As in a scene of one world, and once for all of them: ``get()`` may return arrays with a
        value per environment. A checkpoint of some environments, or one that goes back to some,
        leaves it alone and says so in its exactness; what belongs to one environment is the
        script's to put back then. Returns a function that ends the registration.
        """
        self._guard()
        return self.states.script.register(name, get, set)

    def __getstate__(self) -> BatchCopy:
        """Return the whole scene as a value: model, states, own fields; for pickle and deepcopy.

        What can't travel: callbacks, conditions, drawings, the history, and the functions of
        :meth:`register_state` (their values do).
        """
        self._guard()
        return copy_of_batch(self)

    def __setstate__(self, copy: BatchCopy) -> None:
        """Become the twin of a copied scene; a scene that is built already is put back to it.

        A new twin is owned by the calling thread, by the main one where a process pool returns it,
        and does what the first scene does, bit for bit, except that what sleeps wakes up in it
        (which is logged). A built scene must be of the same model and of as many environments
        (StateMismatchError).
        """
        is_new = "_owner_ident" not in self.__dict__
        check_copy(copy, BatchCopy)
        if is_new:
            adapter, runtime = load_mujoco(), current_runtime()
            BatchScene.__init__(
                self, copy.name, source_of(copy, adapter=adapter), len(copy.checkpoint),
                runtime=runtime, playback=Playback(copy.playback), adapter=adapter,
            )  # fmt: skip
            runtime.add(self)
        self._guard()
        fill_batch(self, copy, is_new=is_new)
        self.told_replaced("the script restored a copy of the scene")
        if is_new:
            self._leave_pool_thread()

    def replaced(
        self,
        kind: SegmentKind,
        envs: NDArray[np.intp],
        *,
        before: tuple[NDArray[np.int64], NDArray[np.int64]],
        text: str,
        parent_axis: int = -1,
        episodes: NDArray[np.int64] | None = None,
    ) -> None:
        """Note that the states of some environments are others now; for the engine."""
        self.stepper.watch.begin_anew(envs)
        self.selected.conditions.begin_anew(envs)
        self.batch_history.replaced(
            kind, envs, before=before, text=text, parent_axis=parent_axis, episodes=episodes
        )
        self.selected.refresh()

    def told_replaced(self, reason: str) -> None:
        """Tell the debugger that the script has replaced states."""
        if self.link.active:
            self.link.state_replaced(reason)

    # --- looking at one

    @property
    def selected_env(self) -> int:
        """The environment that the debugger looks at."""
        self._guard()
        return self.selected.env

    def select_environment(self, env: int, shown: object = None) -> None:
        """Have the debugger look at an environment, and show ``shown`` in a grid.

        ``shown``: 1 to 64 environments, in the forms of ``envs_idx``. Raises what those do, and
        ValueError for another number of them; nothing has changed then.
        """
        self._guard()
        number = self._one(env)
        grid = None if shown is None else self._chosen(shown).tolist()
        if grid is not None and not 1 <= len(grid) <= MOST_SHOWN:
            raise ValueError(f"shown must be 1 to {MOST_SHOWN} environments, not {len(grid)}")
        self.selected.select(number)
        if grid is not None:
            self.selected.shown = tuple(grid)
        elif number not in self.selected.shown:
            self.selected.shown = (number,)
        self.link.selection_changed()

    @property
    def failed_environments(self) -> tuple[int, ...]:
        """Those that have stopped since their last reset, the newest last."""
        self._guard()
        return tuple(self.stepper.watch.failed)

    # --- history and stops

    @property
    def keeps_history(self) -> bool:
        """Whether rows are kept; for the engine."""
        history = self.batch_history
        return (self.link.active or history.wanted) and not history.switched_off

    def keep_history(
        self, keep: bool = True, *, max_bytes: int | None = None, envs_idx: object = None
    ) -> None:
        """Keep the rows of every physics step, also while nothing is attached; or no longer.

        In at most ``max_bytes`` (64 MiB unless set): a quarter of it goes to rows of the
        environment that is looked at and of those chosen by ``envs_idx``, 64 at most, which reach
        further back than those of all. Either stays as it is where it isn't given; ``[]``: of none.
        """
        self._guard()
        keep = flag(keep, "keep")
        deep = None if envs_idx is None else self._chosen(envs_idx)
        if deep is not None and len(deep) > MOST_DEEP:
            raise ValueError(
                f"rows of {MOST_DEEP} environments at most are kept longer than those of all, "
                f"not of {len(deep)}: choose fewer, or give all of them more with max_bytes"
            )
        if max_bytes is not None:
            self.batch_history.max_bytes = whole_number(
                max_bytes, "max_bytes", least=1, most=sys.maxsize
            )
        if deep is not None:
            self.batch_history.choose_deep(deep.tolist())
        self.batch_history.wanted = keep
        self.batch_history.switched_off = False
        self._update_fast_path()

    def note_self_resets(self, envs: NDArray[np.intp]) -> None:
        """Note that MuJoCo has reset environments by itself; for the engine."""
        self.stops.resets += len(envs)
        self.selected.conditions.begin_anew(envs)
        self.link.past.stops.note_resets(self.stops.resets)


def _forked(scene: "weakref.ref[BatchScene]") -> None:
    """In a forked child, whether somebody has opened the debugger before or not."""
    found = scene()
    if found is not None:
        found.forget_parent()
