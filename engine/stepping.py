"""Steps that are more than one bare ``mj_step``: several physics steps, callbacks, a debugger."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.exceptions import SceneClosedError
from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.engine.callbacks import Event
from stroboscope.engine.errors import StepFailedError

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene

__all__ = ["Stepper"]

_WENT_BACK = "the simulation time went back"


class Stepper:
    """Runs application steps of one scene in one world; owner thread only."""

    def __init__(self, scene: "Scene") -> None:
        world = scene.world
        adapter = world.adapter
        self._scene = scene
        self._link = scene.link
        self._monotonic = scene.link.monotonic
        self._counters = scene.counters
        self._callbacks = scene.callbacks
        self._model = world.model
        self._option = world.model.opt
        self._live = world.live
        self._interventions = world.interventions
        self._adapter = adapter
        self._mj_step = adapter.mj_step
        self._get_state = adapter.mj_getState
        self._mask = adapter.integration
        size = int(adapter.module.mj_stateSize(world.model, adapter.integration))
        self._row = np.full(size, np.nan)
        # MuJoCo's integration state begins with the time.
        self._row_time = self._row.data
        # The time after the last physics step, or that before it when a quiet step has run since.
        self._time_seen = self._time_before = -np.inf
        self._time_from = float(self._live().time)
        """The time when the state was replaced last, or this began: sync() counts from there."""
        self._last_slow_step = (0, 0.0)
        self.pre_step_done = False
        """Whether the pre-step callbacks of a step have run and its physics has not begun."""
        self.is_inside = False
        """Whether an application step has completed some of its physics steps and not all."""
        self.synced_at = -1
        """Which application step was the script's own, told by sync(), last."""
        self.has_failed = False
        """Whether the script's own data is as MuJoCo left it when a step failed."""

    def step(self, count: int, *, timestep: float | None) -> None:
        """Complete an application step of ``count`` physics steps of ``timestep`` [s].

        None: the model's own. Raises StepFailedError, SceneDestroyedError, and what the script's
        callbacks raise.
        """
        if timestep is None:
            self._run(count)
            return
        option = self._option
        own = float(option.timestep)
        self._scene.nominal_timestep = own
        option.timestep = timestep
        try:
            self._run(count)
        finally:
            # Somebody may have edited it meanwhile.
            option.timestep = self._scene.nominal_timestep
            self._scene.nominal_timestep = None

    def _run(self, count: int) -> None:
        if not self._link.active:
            self._detached(count)
        elif count == 1 and not self._callbacks.has_step_callbacks():
            self.step_once()
        else:
            self._attached(count)

    def step_once(self) -> None:
        """Complete an application step of one physics step that somebody follows.

        The same as :meth:`step` without its generality: this runs before every bare step while a
        debugger is attached, so it is written out, and while the link is quiet it calls nothing
        but MuJoCo, and what writes rows of signals.
        """
        link, data, row = self._link, self._live(), self._row
        link.in_step = True  # first said, then looked
        if self._monotonic() >= link.quiet_until:
            self._step_watched()
            return
        try:
            self._get_state(self._model, data, row, self._mask)
            before = self._row_time[0]  # reading data.time costs as much as capturing the row
            if before <= self._time_before or before < self._time_seen:
                self.notice_reset()
                self._get_state(self._model, data, row, self._mask)
                before = self._row_time[0]
            if link.ring is not None:
                link.row_before(axis=self._counters.axis, time=before)
            try:
                self._mj_step(self._model, data)
            except Exception as error:
                self.put_back(data)
                raise self.failure(error) from error
            self._counters.single += 1
            if link.ring is not None:
                link.row_after()
        except BaseException:
            link.abandon_step()
            raise
        self._time_before = before
        link.physics_ticks += 1
        link.in_step = False
        link.stamp = self._monotonic()
        if link.attention:
            link.end_step()

    def _step_watched(self) -> None:
        link, data, row = self._link, self._live(), self._row
        self.note_time_before(data)
        link.begin_step()
        try:
            if not link.gate():
                self._time_seen = data.time
                return
            self._get_state(self._model, data, row, self._mask)
            try:
                self._mj_step(self._model, data)
            except Exception as error:
                self.put_back(data)
                raise self.failure(error) from error
            self._counters.single += 1
            self._time_seen = data.time
            link.after_physics()
        except SceneClosedError as error:
            raise self._scene.closed_error(error) from None
        except BaseException:
            link.abandon_step()
            raise
        finally:
            self._interventions.take_back()
        link.end_step()

    def _detached(self, count: int, *, begins: bool = True, ends: bool = True) -> None:
        """Run ``count`` physics steps, with which the application step begins and ends or not."""
        followed = self._callbacks.has_step_callbacks()
        if followed and begins:
            self._callbacks.run(Event.PRE_STEP, self._scene)
        try:
            self._mj_step(self._model, self._live(), count)
        except Exception as error:
            raise self.failure(error) from error
        self._counters.add_physics(count)
        if ends:
            self._complete(count)
            if followed:
                self._callbacks.run(Event.POST_STEP, self._scene)

    def _attached(self, count: int, *, begins: bool = True, ends: bool = True) -> None:
        """The same, followed by a debugger."""
        link, data = self._link, self._live()
        if begins:
            self.note_time_before(data)
            link.begin_step()
        try:
            if begins:
                self._callbacks.run(Event.PRE_STEP, self._scene)
                self.pre_step_done = True
            completed = self._physics_steps(count, data)
        except SceneClosedError as error:
            raise self._scene.closed_error(error) from None
        except BaseException:
            link.abandon_step()
            raise
        finally:
            self.pre_step_done = False
        if completed and ends:
            self._complete(count)
            link.end_step()
            self._callbacks.run(Event.POST_STEP, self._scene)

    def _physics_steps(self, count: int, data: Any) -> bool:
        """Return False when the state was replaced on the way: the rest is abandoned."""
        try:
            return self._physics_steps_of(count, data)
        finally:
            self.is_inside = False
            self._interventions.take_back()

    def _physics_steps_of(self, count: int, data: Any) -> bool:
        link, counters = self._link, self._counters
        for index in range(count):
            self.is_inside = index > 0
            if not link.gate():
                self._time_seen = data.time
                return False
            self.pre_step_done = False
            self.capture_row(data)
            try:
                self._mj_step(self._model, data)
            except Exception as error:
                self.put_back(data)
                raise self.failure(error) from error
            counters.add_physics(1)
            link.after_physics()
            self._interventions.take_back()
        self._time_seen = data.time
        return True

    def _complete(self, count: int) -> None:
        self._counters.add_application_step()
        duration = count * self._option.timestep
        self._last_slow_step = (self._counters.single, duration)

    def last_time_step(self, timestep: float) -> float:
        """Return how long [s] the last step took; a bare one took ``timestep``."""
        step, duration = self._last_slow_step
        return duration if step == self._counters.single else timestep

    def sync(self) -> None:
        """Count what the script has stepped by itself since the last call, park and pace."""
        data = self._live()
        self.synced_at = self._counters.single + 1
        if self._time_before > -np.inf:
            self._time_seen = self._time_before + float(self._model.opt.timestep)
            self._time_before = -np.inf
        if data.time < self._time_seen:
            self._scene.episode_began(_WENT_BACK)
            # Keyframes say to what a reset has set the time; else it is 0.
            self._time_from = max((t for t in self._model.key_time if t <= data.time), default=0.0)
        begin = self._time_seen if self._time_seen > -np.inf else self._time_from
        count = max(0, round((data.time - begin) / float(self._model.opt.timestep)))
        self._counters.add_physics(count)
        self._time_seen = data.time
        self._complete(count)
        self._link.sync()

    # --- parts that a wrapped mj_step1 and mj_step2 need one by one

    def capture_row(self, data: Any) -> None:
        """Keep the state before the coming physics step: the evidence when it fails."""
        self._get_state(self._model, data, self._row, self._mask)

    def last_row(self) -> NDArray[np.float64] | None:
        """Return the row that the last physics step began with; None when it isn't known.

        The time tells: what was stepped without a row being taken, and what MuJoCo has reset,
        does not stand one timestep behind it.
        """
        row = self._row
        return row if row[0] + self._option.timestep == self._live().time else None

    def put_back(self, data: Any) -> None:
        """Write the state before the physics step that failed into the live data."""
        self._adapter.free_stack(data)
        self._adapter.mj_setState(self._model, data, self._row, self._mask)
        self._interventions.take_back()

    def note_time_before(self, data: Any) -> None:
        """Notice that the script has reset the data since its last step: an episode."""
        if data.time < self._time_seen or data.time <= self._time_before:
            self.notice_reset()
        self._time_seen, self._time_before = data.time, -np.inf

    def notice_reset(self) -> None:
        """Tell the debugger of a reset that was only found by looking at the time.

        Whose reset it was is not known: MuJoCo resets data that has diverged, too. The counters
        stay: nobody looks while nothing is attached, and a script must read the same numbers then.
        """
        self.forget_time()
        self._link.state_replaced(_WENT_BACK)

    def forget_time(self) -> None:
        """The state was replaced by somebody who says so."""
        self._time_seen = self._time_before = -np.inf
        self._time_from = float(self._live().time)
        self._row[0] = np.nan  # no step has led to this state

    def mend(self) -> None:
        """Make the data usable again after a step that failed: another state is written into it."""
        if self.has_failed:
            self.has_failed = False
            self._adapter.free_stack(self._live())

    def failure(self, error: Exception) -> StepFailedError:
        """Return the error for a physics step that raised, having told everybody."""
        scene = self._scene
        self.has_failed = True
        if not scene.is_adopted:
            self.mend()  # the script's own data stays as it would be without us, until a restore
        text = (
            f"a physics step of scene {scene.name!r} failed after {self._counters.axis} physics "
            f"steps: {error}; restore a checkpoint, or reset the data, before stepping on"
        )
        self._link.log_text(LogLevel.ERROR, text)
        failure = StepFailedError(text)
        failure.__cause__ = error
        self._callbacks.run(Event.STOP, scene)
        return failure
