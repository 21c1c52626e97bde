"""The scene: one simulated world, owned by the thread that created it."""

import dataclasses
import logging
import threading
from collections.abc import Callable, Mapping
from threading import get_ident
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.debugger_protocol.signal_handlers import raised_by_handler
from stroboscope.debugger_protocol.time_messages import SegmentKind
from stroboscope.engine.articulation import Articulation
from stroboscope.engine.callbacks import Event, SceneCallbacks
from stroboscope.engine.checkpoint import Counters
from stroboscope.engine.condition_methods import ConditionMethods
from stroboscope.engine.debug_draw import DebugDraw
from stroboscope.engine.errors import EngineError
from stroboscope.engine.history.scene_history import SceneHistory
from stroboscope.engine.history_methods import HistoryMethods
from stroboscope.engine.live_data import HeldData, LiveData, check_pair
from stroboscope.engine.model_source import ModelSource
from stroboscope.engine.mujoco_adapter import load_mujoco
from stroboscope.engine.mujoco_backend import MujocoBackend
from stroboscope.engine.options import Playback, SceneOptions
from stroboscope.engine.recording.recording_methods import RecordingMethods
from stroboscope.engine.recording.scene_recorders import SceneRecorders
from stroboscope.engine.rollouts.store import RolloutStore
from stroboscope.engine.runtime import current_runtime
from stroboscope.engine.scene_copy import SceneCopy, built_world, check_copy, copy_of, fill
from stroboscope.engine.scene_counters import StepCounters
from stroboscope.engine.scene_file_methods import SceneFileMethods
from stroboscope.engine.scene_life import SceneLife
from stroboscope.engine.scene_log import LoggedNames
from stroboscope.engine.scene_state import SceneStates
from stroboscope.engine.state_methods import StateMethods
from stroboscope.engine.step_plan import checked_nstep, checked_time_step, plan_step
from stroboscope.engine.stepping import Stepper
from stroboscope.engine.stop_methods import StopMethods
from stroboscope.engine.stops.scene_stops import SceneStops
from stroboscope.engine.world import World

if TYPE_CHECKING:
    import numpy as np

    from stroboscope.engine.runtime import Runtime

__all__ = ["Scene"]

_log = logging.getLogger(__name__)


class Scene(
    SceneLife,
    StateMethods,
    HistoryMethods,
    StopMethods,
    RecordingMethods,
    ConditionMethods,
    SceneFileMethods,
):
    """A MuJoCo model and its data that a debugger can stop, look at and put back.

    Made by :func:`~stroboscope.engine.create_scene`. Every method and attribute may only be used
    on the owner thread (OwnerThreadError) and before the scene is destroyed
    (SceneDestroyedError), unless it says otherwise.
    """

    # `world`, `link`, `stepper`, `states`, `counters`, `callbacks`, `drawing`, `rollouts` are for
    # the engine's modules, which run on the owner thread or read what never changes; scripts need
    # none of them.

    def __init__(
        self,
        name: str,
        source: ModelSource,
        live: LiveData,
        *,
        runtime: "Runtime",
        adopted: bool,
        playback: Playback,
        adapter: Any,
    ) -> None:
        self._owner_ident = get_ident()
        self._owner = threading.current_thread()
        self._destroyed = ""
        self._runtime = runtime
        self._adopted = adopted
        self._adapter = adapter
        self.playback = playback
        """Whether it follows the debugger's playback."""
        self.counters = StepCounters()
        self.callbacks = SceneCallbacks()
        self.recorders = SceneRecorders(self)
        self.logged_names: LoggedNames = {}
        self.stops = SceneStops(self)
        self.history = SceneHistory(self, runtime.history_budget)
        self.drawing: DebugDraw | None = None
        self.rollouts = RolloutStore(budget=runtime.history_budget)
        self.nominal_timestep: float | None = None
        self.revision = 0
        self._mj_step = adapter.mj_step
        self.world = World(source, live, adapter=adapter)
        self.states = SceneStates(self)
        self.backend = MujocoBackend(self)
        self.link = runtime.host.open_scene(name, self.backend, follow=playback is Playback.FOLLOW)
        self._enter_world(self.world)

    def _enter_world(self, world: World) -> None:
        self.world = world
        self._model = world.model
        self._option = world.model.opt
        # Data that the script may drop at any time is looked up for every use instead.
        self._data = world.live() if world.live.keeps_alive else None
        self.history.enter_world(world)
        self.stepper = Stepper(self)
        self._update_fast_path()

    def _forget_history(self) -> None:
        self.history.forget()

    def call_soon(self, call: Callable[[], None]) -> None:
        """Have the owner call ``call`` before its next step is kept; any thread; for the engine."""
        self.history.call_soon(call)
        self._update_fast_path()

    def _end_history(self) -> None:
        self.history.end()

    def _update_fast_path(self) -> None:
        """Decide whether a step may be one bare ``mj_step``."""
        callbacks, stops = self.callbacks, self.stops
        stops.guards_detached = (
            stops.raise_on_stop
            or self.history.wanted
            or bool(self.history.taps)
            or self.history.is_called
            or callbacks.has(Event.STOP)
        )
        self._single = (
            self._data is not None
            and not callbacks.has_step_callbacks()
            and self.before_first_step is None
        )
        self._bare = self._single and not stops.guards_detached

    # --- stepping

    def step(self, time_step: float | None = None, *, nstep: int = 1) -> None:
        """Complete one application step.

        Without ``time_step``: ``nstep`` physics steps of the model's timestep. With it: exactly
        that many seconds, in equal physics steps no longer than the model's timestep; a multiple
        of it uses it bit for bit. With a debugger attached this is where the scene is paused,
        paced and stepped; it returns when the step is done, or when a restore replaced the state
        in the middle of it.

        Raises ValueError for a ``time_step`` that is NaN, not positive or above 1 s, or for
        ``nstep`` below 1 (nothing has moved); StepFailedError when MuJoCo fails; what callbacks
        raise.
        """
        if self._owner_ident != get_ident():
            raise self._misuse()
        if time_step is None and self._single and type(nstep) is int and nstep == 1:
            if self.link.active or not self._bare:
                if self._notes_script:
                    self.note_script()
                self.stepper.step_once()
                return
            try:
                self._mj_step(self._model, self._data)
            except BaseException as error:
                if raised_by_handler(error):
                    self.counters.single += 1
                    raise
                if not isinstance(error, Exception):
                    raise
                raise self.stepper.failure(error) from error
            self.counters.single += 1
            return
        self._step_slowly(time_step, nstep)

    def _step_slowly(self, time_step: float | None, nstep: int) -> None:
        if self._notes_script:
            self.note_script()
        count, timestep = checked_nstep(nstep), None
        if time_step is not None:
            if count != 1:
                raise ValueError("give time_step or nstep, not both")
            # Scripts ask for the same step again and again.
            request = (checked_time_step(time_step), self._option.timestep)
            if request != self._planned_request:
                self._planned = self._plan(request[0], own=request[1])
                self._planned_request = request
            count, timestep = self._planned
        if self.before_first_step is not None:
            self._first_step()
        self.stepper.step(count, timestep=timestep)

    _planned: tuple[int, float | None] = (1, None)
    _planned_request: tuple[float, float] | None = None

    def _plan(self, time_step: float, *, own: float) -> tuple[int, float | None]:
        plan = plan_step(time_step, timestep=own)
        if plan.timestep is not None and self._adopted:
            raise ValueError(
                f"scene {self.name!r} is the script's own, so its timestep is not changed: "
                f"time_step must be a multiple of {own} s, not {time_step}"
            )
        if plan.timestep is not None and plan.timestep != self._told_timestep:
            self._told_timestep = plan.timestep
            text = (
                f"{time_step} s is no multiple of the model's timestep {own} s: "
                f"stepping {plan.count} × {plan.timestep} s"
            )
            _log.info("scene %r: %s", self.name, text)
            self.link.log_text(LogLevel.INFO, text)
        return plan.count, plan.timestep

    _told_timestep = 0.0

    def sync(self) -> None:
        """Say that the script's own loop has called ``mj_step``; parks and paces like a step.

        Values published here come after the step: no evidence of what happened inside it.
        """
        self._guard()
        self._first_step()
        self._guarded(self.stepper.sync)

    def update_debugger(self) -> None:
        """Serve a scene that isn't stepped: answer the debugger and publish; never parks."""
        self._guard()
        self._guarded(self.link.serve)
        if self.drawing is not None:
            self.drawing.served()

    # --- what it is

    @property
    def model(self) -> Any:
        """The ``mujoco.MjModel``. After writing into it, call :meth:`model_changed`."""
        self._check_owner()
        return self._model

    @property
    def data(self) -> Any:
        """The ``mujoco.MjData``."""
        self._check_owner()
        return self.world.live()

    @property
    def qpos(self) -> "NDArray[np.float64]":
        """The positions, (nq,): a writable view of ``data.qpos``."""
        self._check_owner()
        qpos: NDArray[np.float64] = self.world.live().qpos
        return qpos

    @property
    def qvel(self) -> "NDArray[np.float64]":
        """The velocities, (nv,): a writable view of ``data.qvel``."""
        self._check_owner()
        qvel: NDArray[np.float64] = self.world.live().qvel
        return qvel

    @property
    def ctrl(self) -> "NDArray[np.float64]":
        """The controls, (nu,): a writable view of ``data.ctrl``."""
        self._check_owner()
        ctrl: NDArray[np.float64] = self.world.live().ctrl
        return ctrl

    @property
    def step_count(self) -> int:
        """Application steps within the state: goes back when a state is restored or :meth:`reset`.

        A bare ``mj_resetData`` on :attr:`data` does not change it.
        """
        self._guard()
        return self.counters.step_count

    @property
    def physics_step_count(self) -> int:
        """Physics steps within the state."""
        self._guard()
        return self.counters.physics_step_count

    @property
    def total_steps(self) -> int:
        """Application steps ever taken; never falls."""
        self._guard()
        return self.counters.total_steps

    @property
    def options(self) -> SceneOptions:
        """All options that the scene was made with; another may be made with the same."""
        self._guard()
        return dataclasses.replace(self.world.options, playback=self.playback)

    @property
    def timings(self) -> Mapping[str, float]:
        """Mean wall time [s] per physics step of each of MuJoCo's stages, since the last reset."""
        self._guard()
        timer = self.world.live().timer
        steps = max(1, int(timer.number[0]))
        stages = self._adapter.members("mjtTimer", "mjTIMER_")
        return {stage: float(timer.duration[i]) / steps for i, stage in enumerate(stages)}

    def get_total_simulation_time(self) -> float:
        """Return the simulation time [s]; it is part of the state."""
        self._guard()
        return float(self.world.live().time)

    def get_last_time_step(self) -> float:
        """Return how much time [s] the last completed application step took; 0 before any."""
        self._guard()
        if self.counters.single == 0:
            return 0.0
        return self.stepper.last_time_step(self.timestep_in_force)

    def _guard(self) -> None:
        self._check_owner()
        self.stepper.settle()

    # --- copies

    def __getstate__(self) -> SceneCopy:
        """Return the whole scene as a value: model, options, state; for pickle and deepcopy.

        What can't travel: callbacks, drawings, the functions of :meth:`register_state` (their
        values do), the source that :meth:`Articulation` needs to add a controller, and that the
        model and data were the script's own: the copy has its own.
        """
        self._guard()
        return copy_of(self)

    def __setstate__(self, copy: SceneCopy) -> None:
        """Become the twin of a copied scene; a scene that is built already is put back to it.

        A new twin is owned by the calling thread, by the main one where a process pool returns it,
        and does what the first scene does, bit for bit. A built scene must be of the same model
        (StateMismatchError).
        """
        is_new = "_owner_ident" not in self.__dict__
        check_copy(copy, SceneCopy)
        if is_new:
            adapter = load_mujoco()
            source, live = built_world(copy, adapter=adapter)
            runtime = current_runtime()
            Scene.__init__(
                self, copy.name, source, live, runtime=runtime, adopted=False,
                playback=Playback(copy.playback), adapter=adapter,
            )  # fmt: skip
            runtime.add(self)
        self._guard()
        fill(self, copy, is_new=is_new)
        if self.link.active:
            self.link.state_replaced("the script restored a copy of the scene")
        if is_new:
            self._leave_pool_thread()

    # --- articulations

    def get_articulation(self, name: str) -> Articulation:
        """Return the kinematic tree under the body ``name``; EngineError when there is none."""
        self._guard()
        return Articulation(self, name)

    def episode_began(self, reason: str) -> None:
        """Note that the script has reset the data: counters of the state begin anew."""
        self._guard()
        self.counters.set_state(Counters(0, 0))
        self.stepper.note_time()
        self.history.begin(SegmentKind.EPISODE, reason)
        self.link.state_replaced(reason)

    def model_changed(self) -> None:
        """Note that the script has written into :attr:`model`: identity and view are made anew.

        Checkpoints taken before no longer fit, because the same state would continue otherwise.
        """
        self._guard()
        self.replace_world(self.world.source, self.world.live)

    # --- its world

    def rebind(self, model: Any, data: Any) -> None:
        """Follow a script that has made itself another model and data; adopted scenes only.

        Checkpoints of before no longer fit, the debugger describes the scene anew.
        """
        self._guard()
        check_pair(model, data, adapter=self._adapter)
        if not self._adopted:
            raise EngineError(
                f"scene {self.name!r} has its own copy of a model; only a scene made with "
                "create_scene(..., data=...) or watch() can be rebound"
            )
        source = ModelSource(model, None, self.world.source.origin, self.world.source.spec_missing)
        self.replace_world(source, HeldData(data))
        self.counters.set_state(Counters(0, 0))

    def replace_world(self, source: ModelSource, live: LiveData) -> None:
        """Give the scene another model and data, and tell the debugger."""
        self.states.initial = None
        self._enter_world(World(source, live, adapter=self._adapter))
        self.revision += 1
        self.forget_drawing()
        self.link.model_replaced()

    @property
    def timestep_of_state(self) -> float:
        """The model's own timestep [s], also while a step uses a smaller one.

        What somebody edits in the debugger does not change it: the script's checkpoints still fit.
        """
        own = self.timestep_in_force
        return own if self.world.timestep_edit is None else self.world.unedited_timestep(own)

    @property
    def timestep_in_force(self) -> float:
        """How long the next step will take [s], also where somebody edits that in the debugger."""
        return self.nominal_timestep or float(self._option.timestep)

    @property
    def is_adopted(self) -> bool:
        """Whether model and data are the script's own; any thread."""
        return self._adopted
