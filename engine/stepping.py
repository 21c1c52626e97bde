"""Steps that are more than one bare ``mj_step``: several physics steps, callbacks, a debugger."""

import math
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from stroboscope.debugger_protocol.exceptions import SceneClosedError
from stroboscope.debugger_protocol.host.scene_signals import TIMED_ROWS
from stroboscope.debugger_protocol.signal_handlers import is_of_handler, raised_by_handler
from stroboscope.debugger_protocol.time_messages import StopReason
from stroboscope.engine.callbacks import Event
from stroboscope.engine.step_rows import WENT_BACK, StepRows
from stroboscope.engine.stops.detector import FAST
from stroboscope.engine.stops.script_errors import hold_for_error

if TYPE_CHECKING:
    import numpy as np

    from stroboscope.engine.scene import Scene
    from stroboscope.engine.stops.trouble import Trouble

__all__ = ["Stepper"]


class Stepper(StepRows):
    """Runs application steps of one scene in one world; owner thread only."""

    def __init__(self, scene: "Scene") -> None:
        super().__init__(scene)
        adapter, views = self._adapter, self._views
        self._callbacks = scene.callbacks
        self._option = self._model.opt
        self._mj_step = adapter.mj_step
        self._is_by_handler = raised_by_handler
        """Tells what a handler of a signal has raised when ``_mj_step`` was about to return."""
        self._get_state = adapter.mj_getState
        self._mask = adapter.integration
        # Where sensors are the script's, nothing is usual: see SceneHistory.senses.
        memory = None if scene.history.senses else scene.history.packing.memory
        self._at_hand = (
            self._live, scene.link, scene.history, scene.history.ring, scene.counters,
            scene.link.monotonic, views.time, views.timestep, views.motion, views.warnings,
            self._watch.seen, memory, adapter.module.mju_norm, views.qvel,
            views.mocap,
        )  # fmt: skip
        self._last_slow_step = (0, 0.0)
        self.pre_step_done = False
        """Whether the pre-step callbacks of a step have run and its physics has not begun."""
        self.is_inside = False
        """Whether an application step has completed some of its physics steps and not all."""
        self.synced_at = -1
        """Which application step was the script's own, told by sync(), last; below 0: none was."""
        self.counted_until = math.nan
        """To which time [s] steps were followed and counted that sync() may tell of; NaN: none."""
        self._has_stopped = False
        """Whether the script is to be told of a stop for the step that is being counted."""

    def use_ring(self) -> None:
        """Write rows into the ring that the history has now, which is another one."""
        at_hand = list(self._at_hand)
        at_hand[3] = self._history.ring
        self._at_hand = tuple(at_hand)

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
        self._history.own_timesteps.cut(self._counters.axis, timestep, own=own)
        self._scene.nominal_timestep = own
        option.timestep = timestep
        try:
            self._run(count)
        finally:
            # Somebody may have edited it meanwhile.
            option.timestep = self._scene.nominal_timestep
            self._scene.nominal_timestep = None

    def _run(self, count: int) -> None:
        self.settle()
        active = self._link.active
        is_followed = active or self._stops.guards_detached
        if count == 1 and is_followed and not self._callbacks.has_step_callbacks():
            self.step_once()
        elif active:
            self._attached(count)
        else:
            self._detached(count)

    def step_once(self) -> None:
        """Complete an application step of one physics step that somebody follows, or that is kept.

        The same as :meth:`_step_watched` (or :meth:`_detached`) for the case that nothing is
        unusual: this runs instead of every bare step while a debugger is attached or rows are kept
        or recorded, so it is written out, and while the link is quiet it calls nothing but MuJoCo,
        and what writes rows of signals.
        """
        # One attribute instead of a dozen: after a step none of them is in the processor's cache.
        live, link, history, ring, counters, monotonic, clock, length, motion, warnings, seen, \
            memory, norm, speeds, mocap = self._at_hand  # fmt: skip
        link.in_step = True  # first said, then looked
        data, before, now = live(), clock[0], monotonic()
        if (
            (now >= link.quiet_until and link.active)
            or before != history.time_after
            or not before
            or memory is None
            or motion.tobytes() != history.after
            or warnings != seen
            or (mocap is not None and mocap.tobytes() != self._fine_mocap and self._is_mocap_odd())
            or (ring.at >= ring.size and not self._turns())
            or before != history.time_after  # a handler of a signal may have come between
        ):
            self._step_slowly()
            return
        at, width, has_stopped = ring.at, ring.width, False
        begin = at * width
        ring.head[begin : begin + width] = memory
        ring.times[at], ring.walls[at] = before, now
        signals = link.ring
        # An input that is no number shows in the warnings, or in what becomes of the speeds.
        try:
            if signals is not None:
                is_timed = not signals.count % TIMED_ROWS
                if not is_timed:
                    try:
                        signals.before(counters.axis, before)
                    except Exception as error:  # the simulation goes on
                        if is_of_handler(error):
                            raise
                        link.signals_failed(error)
                        signals = None
                else:
                    link.row_before(axis=counters.axis, time=before)
                if before != history.time_after:
                    self._step_slowly()
                    return
            self._under_way = before
            try:
                self._mj_step(self._model, data)
            except Exception as error:
                if self._is_by_handler(error):
                    raise
                self._under_way, row = None, ring.written(at)
                if self._stops_for_error(error, row, data):
                    self._step_slowly()
                    return
                raise self.failure(error) from error
            after, timestep = clock[0], length[0]
            is_odd = after != before + timestep or not norm(speeds) < FAST or warnings != seen
            if is_odd and history.time_after == before:
                trouble = self._watch.after(ring.written(at))
                if trouble is not None and self._stops_for(trouble, data):
                    self._step_slowly()
                    return
                self._watch.end()
                has_stopped = self._has_stopped
            moved = motion.tobytes()  # here the step is counted as a whole or not at all
            if before == history.time_after:
                ring.steps[at], ring.timesteps[at] = counters.single, timestep
                ring.at = at + ring.advance
                counters.single += 1
                history.time_after, history.after, self._under_way = after, moved, None
            else:  # it was reset, or a handler of a signal has done something meanwhile
                self._keep_row(completes=True)
                at = self._newest_row()
            if signals is not None:
                if not is_timed:
                    try:
                        signals.after()
                    except Exception as error:  # the simulation goes on
                        if is_of_handler(error):
                            raise
                        link.signals_failed(error)
                else:
                    link.row_after()
            if has_stopped:
                self._tell_stop()
            if self._stops.conditions is not None and at >= 0:
                self._stops.conditions.after(history.ring, at, data)
        except BaseException:
            if self._is_done_uncounted():
                self._keep_row(completes=True)
            self._under_way = None
            link.abandon_step()
            raise
        link.physics_ticks += 1
        link.in_step = False
        link.stamp = now
        if link.attention:
            link.end_step()

    def _turns(self) -> bool:
        """Begin another block of rows, if that is all there is to do before the coming step."""
        history = self._history
        if history.is_called or not history.keeps:
            return False
        try:
            history.arrive(time=self._time[0], motion=self._motion)
        except BaseException:
            self._link.abandon_step()
            raise
        return True

    def _step_slowly(self) -> None:
        self.settle()  # this may be the step of a handler
        if self._link.active:
            self._step_watched()
        else:
            self._link.in_step = False
            self._detached(1)

    def _step_watched(self) -> None:
        link, data = self._link, self._live()
        self.note_time_before(data)
        link.begin_step()
        try:
            while True:
                if not link.gate():
                    return
                if self._physics(data, completes=True):
                    break
            link.after_physics()
            self._look_at_conditions(data, is_counted=True)
        except SceneClosedError as error:
            raise self._scene.closed_error(error) from None
        except BaseException:
            link.abandon_step()
            raise
        finally:
            self._interventions.take_back()
        link.end_step()

    # --- one guarded physics step

    def _physics(self, data: Any, *, completes: bool) -> bool:
        """Run a physics step and count it, also where a handler of a signal raises when it is done.

        ``completes``: an application step. False: it went wrong and was taken back, the scene is
        held; pass the gate again.
        """
        link, watch = self._link, self._watch
        unguarded = link.unguarded and link.take_unguarded()
        row = self._next_row(data)
        trouble = watch.before(row)
        if trouble is not None:
            if self._stops_for(trouble, data, unguarded=unguarded):
                return False
            row = self._next_row(data)  # what has heard of it may have written to the data
        self._is_part = not completes
        try:
            if not self._is_stepped(row, data, unguarded=unguarded):
                return False
            self._keep_row(completes=completes)
        except BaseException:
            if self._is_done_uncounted():
                self._keep_row(completes=completes)
            raise
        finally:
            self._under_way, self._is_part = None, False
        return True

    def _is_stepped(self, row: "NDArray[np.float64]", data: Any, *, unguarded: bool) -> bool:
        """Step from ``row``; False: it went wrong and was taken back."""
        watch, history, before = self._watch, self._history, float(row[0])
        if history.time_after != before:  # a handler of a signal has put it elsewhere
            row = self._next_row(data)
            before = float(row[0])
        self._under_way = before
        try:
            self._mj_step(self._model, data)
        except Exception as error:
            if self._is_by_handler(error):
                raise
            self._under_way = None
            if self._stops_for_error(error, row, data, unguarded=unguarded):
                return False
            raise self.failure(error) from error
        if history.time_after == before:
            trouble = watch.after(row)
            if trouble is not None and self._stops_for(trouble, data, unguarded=unguarded):
                return False
        watch.end()
        return True

    def _look_at_conditions(self, data: Any, *, is_counted: bool = False) -> None:
        """Let conditions look at the physics step that is complete and counted."""
        if self._has_stopped:
            self._tell_stop()
        conditions = self._stops.conditions
        at = self._newest_row()
        if conditions is not None and at >= 0:
            conditions.after(self._history.ring, at, data, is_counted=is_counted)

    def _stops_for(self, trouble: "Trouble", data: Any, *, unguarded: bool = False) -> bool:
        """Return whether a step in trouble is to be taken anew; False: it counts, or has raised.

        One that has raised was taken back. The script is told of a stop when the scene stands
        where it will stand: it may put it elsewhere.
        """
        stops, has_raised = self._stops, trouble.error is not None
        if not unguarded and stops.concerns(trouble):
            with self._link.owner.signals as signals:
                is_new = not stops.is_told(trouble)
                held = (is_new or self._link.active) and stops.holds(trouble)
                raised = None if held else stops.raised()
                is_taken_back = held or raised is not None or has_raised
                if is_taken_back:
                    self.put_back(trouble.row, data)
                if is_new and (is_taken_back or trouble.is_before_step):
                    with signals.let_through():
                        self._callbacks.run(Event.STOP, self._scene)
                else:
                    self._has_stopped = is_new
            if raised is not None:
                raise raised
            if held:
                return True
        elif has_raised:
            self.put_back(trouble.row, data)
        stops.let_through(trouble)
        if trouble.is_reset:
            self.notice_reset(in_step=True)
        return False

    def _tell_stop(self) -> None:
        """Tell the script of a stop for a step that counts all the same, and is counted by now."""
        self._has_stopped = False
        self._callbacks.run(Event.STOP, self._scene)

    def _stops_for_error(
        self, error: Exception, row: "NDArray[np.float64]", data: Any, *, unguarded: bool = False
    ) -> bool:
        fatal = isinstance(error, self._adapter.module.FatalError)
        trouble = self._watch.raised(row, error, fatal=fatal)
        return self._stops_for(trouble, data, unguarded=unguarded)

    def _detached(self, count: int, *, begins: bool = True, ends: bool = True) -> None:
        """Run ``count`` physics steps, with which the application step begins and ends or not."""
        followed = self._callbacks.has_step_callbacks()
        if followed and begins:
            self._callbacks.run(Event.PRE_STEP, self._scene)
        if self._stops.guards_detached:
            self._guarded_detached(count, ends=ends)
        else:
            self._run_bare(count, completes=ends)
        if ends:
            self._note_duration(count)
            if self._stops.guards_detached:
                self._look_at_conditions(self._live(), is_counted=True)
            if followed:
                self._callbacks.run(Event.POST_STEP, self._scene)

    def _run_bare(self, count: int, *, completes: bool) -> None:
        """Run and count physics steps that nobody looks at."""
        data, counters = self._live(), self._counters
        more = count - completes
        try:
            self._mj_step(self._model, data, count)
            counters.single += completes
            counters.more_physics += more
        except BaseException as error:
            if self._is_by_handler(error):  # they are done
                counters.single += completes
                counters.more_physics += more
                raise
            if not isinstance(error, Exception):
                raise
            raise self.failure(error) from error

    def _guarded_detached(self, count: int, *, ends: bool) -> None:
        data = self._live()
        self.note_time_before(data)
        for index in range(count):
            completes = ends and index + 1 == count
            while not self._physics(data, completes=completes):
                self._link.gate()  # somebody has attached meanwhile
            if not completes:
                self._look_at_conditions(data)

    def _attached(self, count: int, *, begins: bool = True, ends: bool = True) -> None:
        """The same, followed by a debugger."""
        link, data = self._link, self._live()
        if begins:
            self.note_time_before(data)
            link.begin_step()
        try:
            if begins:
                self._call_back(Event.PRE_STEP)
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
            self._call_back(Event.POST_STEP)

    def _call_back(self, event: Event) -> None:
        """Run the script's callbacks; hold the scene where one raises, before that goes on."""
        try:
            self._callbacks.run(event, self._scene)
        except Exception as error:
            hold_for_error(self._scene, error, StopReason.CALLBACK)
            raise

    def _physics_steps(self, count: int, data: Any) -> bool:
        """Return False when the state was replaced on the way: the rest is abandoned."""
        try:
            return self._physics_steps_of(count, data)
        finally:
            self.is_inside = False
            self._interventions.take_back()

    def _physics_steps_of(self, count: int, data: Any) -> bool:
        link = self._link
        for index in range(count):
            self.is_inside = index > 0
            while True:
                if not link.gate():
                    return False
                self.pre_step_done = False
                if self._physics(data, completes=False):
                    break
            link.after_physics()
            self._interventions.take_back()
            self._look_at_conditions(data)
        return True

    def _complete(self, count: int) -> None:
        self._counters.add_application_step()
        self._note_duration(count)

    def _note_duration(self, count: int) -> None:
        duration = count * self._option.timestep
        self._last_slow_step = (self._counters.single, duration)

    def last_time_step(self, timestep: float) -> float:
        """Return how long [s] the last step took; a bare one took ``timestep``."""
        step, duration = self._last_slow_step
        return duration if step == self._counters.single else timestep

    def sync(self) -> None:
        """Count what the script has stepped by itself since the last call, park and pace."""
        self.settle()
        data = self._live()
        self.synced_at = self._counters.single + 1
        seen = self._history.time_after
        if data.time < seen:
            self._scene.episode_began(WENT_BACK)
            # Keyframes say to what a reset has set the time; else it is 0.
            self._time_from = max((t for t in self._model.key_time if t <= data.time), default=0.0)
        seen = self._history.time_after
        begin = self._time_from if math.isnan(seen) else seen
        was_counted, self.counted_until = self.counted_until, math.nan
        begin = begin if math.isnan(was_counted) else was_counted
        count = max(0, round((data.time - begin) / float(self._model.opt.timestep)))
        if count or math.isnan(was_counted):
            self._counters.add_physics(count)
            self._complete(count)
        else:
            self.synced_at = 0
        history = self._history
        history.synced(data.time)
        if len(history.sync_taps) < len(history.taps):
            self._scene.recorders.synced()
        self._link.sync()
