"""Steps of a batched scene: bare while nobody looks, else looked at around every physics step."""

from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.exceptions import SceneClosedError
from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.debugger_protocol.time_messages import SegmentKind, StopInfo, StopReason
from stroboscope.engine.batch.batch_conditions import BatchConditions
from stroboscope.engine.batch.failures import BatchWatch
from stroboscope.engine.callbacks import Event
from stroboscope.engine.errors import SimulationStopped, StepFailedError
from stroboscope.engine.stops.event import StopEvent
from stroboscope.engine.stops.script_errors import hold_for_error
from stroboscope.engine.stops.trouble import Trouble, plain_diagnosis

if TYPE_CHECKING:
    from stroboscope.engine.batch.batch_scene import BatchScene

__all__ = ["BatchStepper"]

Rows = NDArray[np.float64]

# Each stop is explained, which takes milliseconds: of so many in one step.
_MOST_STOPS = 8
_SHOWN = 8
_WENT_BACK = "the simulation time went back"


class BatchStepper:
    """Runs application steps of a batched scene; owner thread only."""

    def __init__(self, scene: "BatchScene") -> None:
        self._scene = scene
        self._envs = scene.environments
        self._counters = scene.environments.counters
        self._link = scene.link
        self._selected = scene.selected
        self._stops = scene.selected.stops
        self._history = scene.batch_history
        self.watch = BatchWatch(scene.environments)
        self.frame_begun = False
        """Whether a frame of the selected environment was begun in the gate."""
        self.put_in: slice | None = None
        """Which inputs of the selected environment are a client's for the step that comes."""
        self._own_inputs = np.empty(scene.environments.layout.size)
        self._were_reset: list[int] = []
        self._has_stopped = False
        """Whether the script is to be told of a stop, once the step is counted."""
        self._step_done: tuple[Rows, NDArray[np.intp], bool]
        """All rows before the last physics step, which environments have not taken it, and whether
        it has completed an application step."""

    def step(self, nstep: int) -> None:
        """Complete an application step of ``nstep`` physics steps."""
        if self._link.active:
            self._attached(nstep)
            return
        self._run_callbacks(Event.PRE_STEP)
        raised = self._guarded(nstep) if self._scene.guards_detached else self._unguarded(nstep)
        if raised is not None:
            raise raised
        self._run_callbacks(Event.POST_STEP)

    def _guarded(self, nstep: int) -> Exception | None:
        """Step all environments one by one; the first that raises ends the application step."""
        for left in reversed(range(nstep)):
            raised = self._physics(completes=not left)
            if raised is not None:
                return raised
            raised = self._look_at_conditions()
            if raised is not None:
                if left:
                    self._counters.shared.add_application_step()
                return raised
        return None

    def _unguarded(self, nstep: int) -> Exception | None:
        """Step all environments at once; return what is to be raised for those that failed."""
        envs, shared = self._envs, self._counters.shared
        axis = shared.axis
        envs.is_stepped = False
        try:
            broken = envs.step(nstep)
            shared.add_step(nstep)
        except BaseException:
            if envs.is_stepped and shared.axis == axis:
                shared.add_step(nstep)
            raise
        if not len(broken):
            return None
        self._counters.took_back(broken, steps=1, physics=nstep)
        return self._failure(broken)

    def _attached(self, nstep: int) -> None:
        link = self._link
        link.begin_step()
        try:
            self._run_callbacks(Event.PRE_STEP)
            for left in reversed(range(nstep)):
                self._selected.refresh()
                if not link.gate():
                    return
                self._physics(completes=not left)
                link.after_physics()
                self._look_at_conditions()
        except SceneClosedError as error:
            raise self._scene.closed_error(error) from None
        except BaseException:
            link.abandon_step()
            raise
        finally:
            self._take_back_inputs()
        link.end_step()
        self._run_callbacks(Event.POST_STEP)

    def _run_callbacks(self, event: Event) -> None:
        scene = self._scene
        try:
            scene.callbacks.run(event, scene)  # type: ignore[arg-type]
        except Exception as error:
            hold_for_error(self._selected, error, StopReason.CALLBACK)  # type: ignore[arg-type]
            raise

    # --- one physics step

    def _physics(self, *, completes: bool) -> Exception | None:
        """Step all environments and count it; put those back that went wrong, where rules say so.

        ``completes``: it is the last one of the application step. Returns what is to be raised for
        them, which ends the application step as well.
        """
        is_shown = self._link.active and (self._link.ring is not None or self.frame_begun)
        self.frame_begun = False
        before = self._history.capture(keeps=self._scene.keeps_history)
        self.watch.before()
        envs, axis = self._envs, self._counters.shared.axis
        envs.is_stepped = False
        try:
            broken = envs.step(1)
            if is_shown:
                self._step_selected()
            self._take_back_inputs()
            suspicious = self.watch.suspicious(before, broken)
            raised, taken_back = None, broken
            if len(suspicious):
                raised, taken_back = self._look_closer(suspicious, before, broken)
            completes = completes or raised is not None
            self._count(taken_back, completes=completes)
        except BaseException:
            if not envs.is_stepped:
                self._history.forget_last()
            elif self._counters.shared.axis == axis:
                self._count(np.flatnonzero(envs.time == before[:, 0]), completes=completes)
            raise
        if self._were_reset:
            self._tell_resets()
        self._step_done = before, taken_back, completes
        if self._has_stopped:
            self._has_stopped = False
            self._scene.callbacks.run(Event.STOP, self._scene)  # type: ignore[arg-type]
        return raised

    def _count(self, taken_back: NDArray[np.intp], *, completes: bool) -> None:
        """Count a physics step, which ``taken_back`` have not taken."""
        self._history.counted()
        shared = self._counters.shared
        if completes:
            shared.add_step(1)
        else:
            shared.add_physics(1)
        if len(taken_back):
            self._took_back(taken_back, steps=int(completes))

    def _look_at_conditions(self) -> Exception | None:
        """Let conditions look at the physics step that is complete and counted."""
        conditions = self._stops.conditions
        if isinstance(conditions, BatchConditions):
            before, absent, is_counted = self._step_done
            return conditions.look(before, absent, is_counted=is_counted)
        return None

    def _step_selected(self) -> None:
        """Do the same step with the copy that is looked at: the batch keeps no results."""
        selected, adapter = self._selected, self._envs.adapter
        world = selected.world
        try:
            adapter.mj_step(world.model, world.live())
        except adapter.module.FatalError:
            # What went wrong is told by the batch; the copy is filled anew for the next step.
            adapter.free_stack(world.live())

    def _take_back_inputs(self) -> None:
        """Give the script its own inputs back, which a client's had replaced for a step."""
        place, self.put_in = self.put_in, None
        if place is not None:
            self._selected.world.interventions.take_back()
            self._envs.state[self._selected.env, place] = self._own_inputs[place]

    def put_in_inputs(self) -> None:
        """Put a client's inputs into the selected environment for the step that follows."""
        selected, envs = self._selected, self._envs
        world, adapter, place = selected.world, envs.adapter, envs.layout.inputs
        row = envs.state[selected.env]
        self._own_inputs[place] = row[place]
        self.put_in = place
        world.interventions.apply()
        changed = np.empty_like(row)
        adapter.mj_getState(world.model, world.live(), changed, adapter.integration)
        row[place] = changed[place]

    # --- what went wrong

    def _look_closer(
        self, suspicious: NDArray[np.intp], before: Rows, broken: NDArray[np.intp]
    ) -> tuple[Exception | None, NDArray[np.intp]]:
        """Return what is to be raised, and which environments have not taken the step."""
        are_broken = set(broken.tolist())
        troubles: list[tuple[int, Trouble]] = []
        for env in suspicious.tolist():
            trouble = self.watch.trouble(env, before[env], is_broken=env in are_broken)
            if trouble is None:
                continue
            if self.watch.concerns(env, trouble, self._stops):
                troubles.append((env, trouble))
                continue
            if self._scene.recorders.wants and self.watch.is_new_warning(env, trouble):
                self._warn(env, trouble)
            self._let_through(env, trouble)
        if not troubles:
            return None, broken
        events, held = self._stop(troubles)
        raises = self._stops.raise_on_stop and not self._link.active
        if held or raises:
            for env, trouble in troubles:
                self.watch.put_back(env, trouble.row)
            are_broken |= {env for env, _ in troubles}
        else:
            for env, trouble in troubles:
                self._let_through(env, trouble)
        if held:
            self._scene.select_environment(troubles[0][0])
        self._has_stopped = True
        raised = self._stopped(events, len(troubles)) if raises else None
        return raised, np.array(sorted(are_broken), dtype=np.intp)

    def _warn(self, env: int, trouble: Trouble) -> None:
        """Tell whoever records of a trouble that nobody wants to stop for."""
        with self._selected.standing_for(env):
            self._selected.put(trouble.row)
            warning = plain_diagnosis(self._selected, trouble)  # type: ignore[arg-type]
        self._scene.recorders.warned(env, warning)

    def _let_through(self, env: int, trouble: Trouble) -> None:
        self.watch.let_through(env, trouble)
        if trouble.is_reset:
            self._were_reset.append(env)

    def _tell_resets(self) -> None:
        """Note which environments MuJoCo has reset in the step that is counted by now."""
        envs, self._were_reset = np.array(self._were_reset, dtype=np.intp), []
        self._history.replaced(
            SegmentKind.EPISODE, envs, before=self._history.counts(), text=_WENT_BACK
        )
        self._scene.note_self_resets(envs)

    def _stop(self, troubles: list[tuple[int, Trouble]]) -> tuple[list[StopEvent], bool]:
        """Say which environments went wrong in one step; return that, and whether that holds."""
        link, held = self._link, False
        stops: list[StopInfo] = []
        for env, trouble in troubles[:_MOST_STOPS]:
            with self._selected.standing_for(env):
                self._selected.put(trouble.row)
                stop = self._stops.diagnose(self._selected, trouble)  # type: ignore[arg-type]
            message = f"environment {env}: {stop.message}"
            stop = msgspec.structs.replace(stop, env=env, message=message)
            stops.append(stop)
            if link.active:
                held = link.past.stops.stop(stop, is_complete=True) or held
        more = len(troubles) - _MOST_STOPS
        if more > 0:
            named = ", ".join(str(env) for env, _ in troubles[_MOST_STOPS:][:_SHOWN])
            link.log_text(
                LogLevel.ERROR,
                f"{more} more environments went wrong in the same step ({named}"
                f"{', …' if more > _SHOWN else ''})",
            )
        self._scene.recorders.stopped_in(stops)
        events = [StopEvent.of(stop) for stop in stops]
        self._stops.last = events[0]
        for env, trouble in troubles:
            self.watch.stopped(env, trouble)
        return events, held

    def _took_back(self, envs: NDArray[np.intp], *, steps: int) -> None:
        """Note that these have not taken the physics step that was counted for all.

        ``steps``: how many application steps it has completed, in the middle of which these stand.
        """
        before = self._history.counts()
        self._counters.took_back(envs, steps=steps, physics=1)
        self._history.replaced(
            SegmentKind.RESTORE, envs, before=before, text="its step was taken back"
        )

    def _stopped(self, events: list[StopEvent], count: int) -> SimulationStopped:
        first, name = events[0], self._scene.name
        more = f" (and {count - 1} more environments)" if count > 1 else ""
        return SimulationStopped(
            f"scene {name!r} has stopped at t = {first.time:g} s: {first.message}{more}; its step "
            "was taken back, the other environments have taken it: look at the scene, reset it "
            f"with scene.reset(envs_idx={first.env}), or set scene.raise_on_stop = False",
            first,
        )

    def _failure(self, broken: NDArray[np.intp]) -> StepFailedError:
        named = ", ".join(map(str, broken[:_SHOWN].tolist()))
        named += f" and {len(broken) - _SHOWN} more" if len(broken) > _SHOWN else ""
        return StepFailedError(
            f"a step of scene {self._scene.name!r} failed in {len(broken)} of its "
            f"{self._envs.count} environments ({named}): {self._envs.failure(int(broken[0]))}; "
            "they are where they were, the others have taken the step: reset these before going on"
        )
