"""The environments of a batched scene: their rows, their counters, and their native threads."""

import copy
import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.backend import Clock
from stroboscope.debugger_protocol.signal_handlers import is_of_handler
from stroboscope.engine.arguments import plain_text
from stroboscope.engine.batch.env_flags import EnvFlags, is_flag
from stroboscope.engine.checkpoint import Counters
from stroboscope.engine.errors import EngineError, MujocoUnavailableError
from stroboscope.engine.hidden_state import needs_hidden_state
from stroboscope.engine.mujoco_adapter import MujocoAdapter
from stroboscope.engine.row_layout import RowLayout
from stroboscope.engine.scene_counters import StepCounters

__all__ = ["EnvCounters", "Environments", "OneEnvCounters", "refuse_callbacks"]

_OPTION = "opt."
# So many environments are looked at to see whether a batch has stepped: it steps all or none.
_SAMPLE = 32


class Environments:
    """``state`` (n_envs, row) is what the next step reads: a live, writable view.

    ``warning`` (n_envs, kinds, 2): last info and number of MuJoCo's warnings of each. Owner thread
    only. ``persistent``: MuJoCo keeps one MjData per environment, because the row is not all that a
    step reads (sleep, ipc, plugins).
    """

    def __init__(self, model: Any, count: int, *, threads: int, adapter: MujocoAdapter) -> None:
        # First of all: MuJoCo's batch compiles a model when it is imported, which they break.
        refuse_callbacks(adapter)
        module = adapter.batch_module()
        if module is None:
            raise MujocoUnavailableError(
                f"n_envs needs MuJoCo's batch, which MuJoCo {adapter.version} does not have: "
                'install 3.17 or newer (`pip install "stroboscope[mujoco]"`), or create one scene '
                "per environment"
            )
        self.adapter = adapter
        self.model = model
        self.count = count
        self.layout = RowLayout(model, adapter=adapter)
        self.is_inexact = needs_hidden_state(model, adapter=adapter)
        self.persistent = self.is_inexact or bool(model.nplugin)
        self._module = module
        try:
            self.batch = module.Batch(model, count, threads, persistent=self.persistent)
        except (MemoryError, ValueError) as error:
            raise EngineError(
                f"a batch of {count:,} environments can't be made ({error}); a row of this model "
                f"has {8 * self.layout.size:,} bytes, so that they need "
                f"{8 * self.layout.size * count / 2**30:,.1f} GiB at least: make fewer"
            ) from error
        self.state: NDArray[np.float64] = self.batch.state
        self.warning: NDArray[np.int32] = self.batch.warning
        self.qpos: NDArray[np.float64] = self.batch.bind("qpos")
        self.qvel: NDArray[np.float64] = self.batch.bind("qvel")
        self.ctrl: NDArray[np.float64] = self.batch.bind("ctrl")
        self.qacc: NDArray[np.float64] = self.batch.bind(
            "qacc" if adapter.is_runge_kutta(model) else "qacc_warmstart"
        )
        """The accelerations of the last step: where the solver begins, but for RK4's stages."""
        self.time: NDArray[np.float64] = self.state[:, 0]
        self._timestep = float(model.opt.timestep)  # what the script writes there has no effect
        self.counters = EnvCounters(count)
        self._some_times = self.time[:: max(1, count // _SAMPLE)]
        self.is_stepped = False
        """Set by :meth:`step` once MuJoCo has stepped, also where it raises then: what a handler
        of a signal has raised."""
        self.expanded: dict[str, NDArray[Any]] = {}
        """Fields of the model that each environment has values of its own of, by name."""
        self.flags = EnvFlags(self)

    # --- stepping

    def step(self, nstep: int) -> NDArray[np.intp]:
        """Step all of them; return those that MuJoCo failed on, which are where they were."""
        before = self._some_times.copy()
        try:
            self.batch.step(nstep=nstep)
        except self.simulation_error as error:
            self.is_stepped = True
            return np.asarray(error.ids, dtype=np.intp)
        except BaseException as error:
            # A handler of a signal runs in frames of the batch, before or after the step.
            self.is_stepped = bool((self._some_times != before).any())
            if isinstance(error, ValueError) and not is_of_handler(error):
                raise EngineError(f"a batched scene can't be stepped: {error}") from error
            raise
        self.is_stepped = True
        return np.empty(0, dtype=np.intp)

    def failure(self, env: int) -> str:
        """Return what MuJoCo said of an environment that it failed on."""
        return str(self.batch.error(env))

    def lost_by_fork(self) -> str:
        """Return what is not there in this forked child; empty where one thread does it all.

        The batch waits for its threads when it is deleted, and they are the parent's: it stays.
        """
        if self.batch.nthread == 1:
            return ""
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.batch))
        return "its native threads"

    # --- model fields

    def bind(self, name: str) -> NDArray[Any]:
        """Return an array of MjData for all of them, (n_envs, …)."""
        try:
            return np.asarray(self.batch.bind(plain_text(name, "the name of an array of MjData")))
        except (ValueError, KeyError, AttributeError) as error:
            raise ValueError(f"bind({name!r}): {error}") from error

    def expand(self, name: str) -> NDArray[Any]:
        """Give a field of the model values per environment; return them, (n_envs, …)."""
        name = plain_text(name, "the name of a field of the model")
        if is_flag(name):
            raise ValueError(
                f"expand({name!r}): it can't be written: set_const() finds it of what was written "
                "into other fields"
            )
        found = self.expanded.get(name)
        if found is None:
            try:
                found = self.expanded[name] = self.batch.expand(name)
            except (ValueError, KeyError, AttributeError) as error:
                raise ValueError(f"expand({name!r}): {error}") from error
        return found

    def own(self, name: str) -> NDArray[Any]:
        """Return the same also of what ``mj_setConst`` finds, see :meth:`EnvFlags.settle`."""
        return self.flags.own(name) if is_flag(name) else self.expand(name)

    @property
    def simulation_error(self) -> Any:
        """What MuJoCo raises where it fails on some of them."""
        return self._module.SimulationError

    def set_const(self, chosen: NDArray[np.intp]) -> None:
        """Call ``mj_setConst`` for these, in ascending order, and note what it has written.

        Where it fails on some, the others are done.
        """
        try:
            self.batch.set_const(chosen)
        finally:
            self._note_derived()
            self.flags.note(chosen)

    def _note_derived(self) -> None:
        """Note which fields ``mj_setConst`` has given values per environment."""
        batch = self.batch
        # MuJoCo 3 has it without saying so.
        is_public = hasattr(type(batch), "expanded")
        values_of = batch.expanded if is_public else batch._expanded_values
        for name in self._module.MODEL_FIELDS:
            if name not in self.expanded and values_of(name) is not None:
                self.expand(name)

    def fill_model(self, env: int, model: Any) -> None:
        """Write the values that one environment steps with into a copy of the model."""
        if self.expanded:
            self.flags.fill(env, model)

    def model_of(self, env: int) -> Any:
        """Return a copy of the model with the values that one environment steps with."""
        model = copy.copy(self.model)
        self.flags.fill(env, model)
        return model

    def fill_data(self, env: int, data: Any, *, model: Any) -> None:
        """Put the state of one environment into ``data``, what sleeps included."""
        if self.persistent:
            self.batch.get_data(env, data)
        adapter = self.adapter
        adapter.mj_setState(model, data, self.state[env], adapter.integration)

    def timesteps(self) -> NDArray[np.float64] | float:
        """Return the timestep [s] of all of them, or of each, (n_envs,)."""
        own = self.expanded.get(_OPTION + "timestep")
        return self._timestep if own is None else own.reshape(self.count)

    def timestep(self, env: int) -> float:
        """Return the timestep [s] of one of them."""
        timesteps = self.timesteps()
        return timesteps if isinstance(timesteps, float) else float(timesteps[env])

    def bindable(self) -> frozenset[str]:
        """Return the arrays of MjData that every environment's step may be asked to copy out."""
        return frozenset(self._module.DATA_FIELDS)

    def option_fields(self) -> tuple[str, ...]:
        """Return the physics options that environments may have values of their own of."""
        names = sorted(self._module.MODEL_FIELDS)
        return tuple(name for name in names if name.startswith(_OPTION))


def refuse_callbacks(adapter: MujocoAdapter) -> None:
    """Raise EngineError where the script has Python callbacks installed in MuJoCo."""
    names = [name for name in adapter.installed_callbacks() if name != "mjcb_time"]
    if names:
        raise EngineError(
            f"a batched scene can't be made while Python callbacks are installed "
            f"({', '.join(names)}): its environments are stepped on native threads, which can't "
            "call Python; write controls between steps, or create one scene per environment"
        )


class EnvCounters:
    """Steps ever taken, which all environments share, and those within each one's state."""

    def __init__(self, count: int) -> None:
        self.shared = StepCounters()
        self._steps = np.zeros(count, dtype=np.int64)
        self._physics = np.zeros(count, dtype=np.int64)

    def step_counts(self) -> NDArray[np.int64]:
        """Return the application steps within each state, (n_envs,)."""
        return self.shared.single - self._steps

    def physics_counts(self) -> NDArray[np.int64]:
        """Return the physics steps within each state, (n_envs,)."""
        return self.shared.axis - self._physics

    def step_count(self, env: int) -> int:
        """Return the application steps within one state."""
        return self.shared.single - int(self._steps[env])

    def physics_count(self, env: int) -> int:
        """Return the physics steps within one state."""
        return self.shared.axis - int(self._physics[env])

    def put(
        self,
        envs: NDArray[np.intp],
        steps: "NDArray[np.int64] | int",
        physics: "NDArray[np.int64] | int",
    ) -> None:
        """Put the counters of some states back."""
        self._steps[envs] = self.shared.single - steps
        self._physics[envs] = self.shared.axis - physics

    def took_back(self, envs: NDArray[np.intp], *, steps: int, physics: int) -> None:
        """Note that these have not taken the steps that were counted for all."""
        self._steps[envs] += steps
        self._physics[envs] += physics


class OneEnvCounters:
    """The counters of one environment, as those of a scene; ``env`` may be set to another."""

    def __init__(self, counters: EnvCounters) -> None:
        self._counters = counters
        self.env = 0

    @property
    def single(self) -> int:
        """Application steps ever taken."""
        return self._counters.shared.single

    @property
    def total_steps(self) -> int:
        """Application steps ever taken."""
        return self._counters.shared.single

    @property
    def axis(self) -> int:
        """Physics steps ever taken."""
        return self._counters.shared.axis

    @property
    def step_count(self) -> int:
        """Application steps within the state."""
        return self._counters.step_count(self.env)

    @property
    def physics_step_count(self) -> int:
        """Physics steps within the state."""
        return self._counters.physics_count(self.env)

    def state(self) -> Counters:
        """Return the counters that belong to the state."""
        return Counters(self.step_count, self.physics_step_count)

    def clock(self, time: float) -> Clock:
        """Return where the environment stands at ``time`` [s]."""
        return Clock(time, self.step_count, self.physics_step_count, self.total_steps, self.axis)

    def set_state(self, counters: Counters) -> None:
        """Put the state's counters back."""
        self._counters.put(np.array([self.env]), counters.step_count, counters.physics_step_count)
