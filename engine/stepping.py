"""Steps that are more than one bare ``mj_step``: several physics steps, callbacks, a debugger."""

import math
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from stroboscope.debugger_protocol.exceptions import CommandError, SceneClosedError
from stroboscope.debugger_protocol.host.scene_signals import TIMED_ROWS
from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.debugger_protocol.signal_handlers import raised_by_handler
from stroboscope.debugger_protocol.time_messages import SegmentKind, StopReason
from stroboscope.engine.callbacks import Event
from stroboscope.engine.data_views import DataViews
from stroboscope.engine.errors import StepFailedError
from stroboscope.engine.row_layout import RowLayout
from stroboscope.engine.stops.detector import FAST, StepWatch
from stroboscope.engine.stops.script_errors import hold_for_error

if TYPE_CHECKING:
    import numpy as np

    from stroboscope.engine.scene import Scene
    from stroboscope.engine.stops.trouble import Trouble

__all__ = ["Stepper"]

_WENT_BACK = "the simulation time went back"


class Stepper:
    """Runs application steps of one scene in one world; owner thread only."""

    def __init__(self, scene: "Scene") -> None:
        world = scene.world
        adapter = world.adapter
        self._scene = scene
        self._link = scene.link
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
        layout = RowLayout(world.model, adapter=adapter)
        self._inputs, self._inputs_mask = layout.inputs, layout.inputs_mask
        self._history = scene.history
        self._stops = scene.stops
        views = DataViews(world.model, world.live, adapter=adapter)
        self._time, self._timestep, self._motion = views.time, views.timestep, views.motion
        self._watch = StepWatch(views, world.model, adapter=adapter)
        self._fine_mocap = b""
        """Where mocap bodies were last, all of it numbers: a place that is none shows nowhere."""
        self._mocap, self._mocap_parts = views.mocap, views.mocap_parts
        self._at_hand = (
            world.live, scene.link, scene.history, scene.history.ring, scene.counters,
            scene.link.monotonic, views.time, views.timestep, views.motion, views.warnings,
            self._watch.seen, scene.history.packing.memory, adapter.module.mju_norm, views.qvel,
            views.mocap,
        )  # fmt: skip
        self._time_from = float(self._live().time)
        """The time when the state was replaced last, or this began: sync() counts from there."""
        self._last_slow_step = (0, 0.0)
        self.pre_step_done = False
        """Whether the pre-step callbacks of a step have run and its physics has not begun."""
        self.is_inside = False
        """Whether an application step has completed some of its physics steps and not all."""
        self.synced_at = -1
        """Which application step was the script's own, told by sync(), last."""
        self._has_stopped = False
        """Whether the script is to be told of a stop for the step that is being counted."""
        self.has_failed = False
        """Whether the script's own data is as MuJoCo left it when a step failed."""

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
        self._scene.nominal_timestep = own
        option.timestep = timestep
        try:
            self._run(count)
        finally:
            # Somebody may have edited it meanwhile.
            option.timestep = self._scene.nominal_timestep
            self._scene.nominal_timestep = None

    def _run(self, count: int) -> None:
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
        at, before, now = ring.at, clock[0], monotonic()
        if (
            (now >= link.quiet_until and link.active)
            or before != history.time_after
            or not before
            or memory is None
            or motion.tobytes() != history.after
            or warnings != seen
            or (mocap is not None and mocap.tobytes() != self._fine_mocap and self._is_mocap_odd())
            or (at >= ring.size and not self._turns())
        ):
            self._step_slowly()
            return
        at, has_stopped = ring.at, False
        data, width = live(), ring.width
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
                    except Exception as error:  # noqa: BLE001 - the simulation goes on
                        link.signals_failed(error)
                        signals = None
                else:
                    link.row_before(axis=counters.axis, time=before)
            try:
                self._mj_step(self._model, data)
            except Exception as error:
                if raised_by_handler(error):
                    raise
                row = ring.written(at)
                if self._stops_for_error(error, row, data):
                    self._step_slowly()
                    return
                raise self.failure(error) from error
            after, timestep = clock[0], length[0]
            if after != before + timestep or not norm(speeds) < FAST or warnings != seen:
                trouble = self._watch.after(ring.written(at))
                if trouble is not None and self._stops_for(trouble, data):
                    self._step_slowly()
                    return
                self._watch.end()
                after = math.nan if history.is_replaced else after
                has_stopped = self._has_stopped
            moved = motion.tobytes()  # here the step is counted as a whole or not at all
            ring.steps[at], ring.timesteps[at] = counters.single, timestep
            ring.at = at + ring.advance
            counters.single += 1
            history.time_after, history.after = after, moved
            if signals is not None:
                if not is_timed:
                    try:
                        signals.after()
                    except Exception as error:  # noqa: BLE001 - the simulation goes on
                        link.signals_failed(error)
                else:
                    link.row_after()
            if has_stopped:
                self._tell_stop()
            if self._stops.conditions is not None:
                self._stops.conditions.after(ring, at, data)
        except BaseException:
            if self._is_done_uncounted(before):
                self._keep_row()
                counters.single += 1
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

    def _is_mocap_odd(self) -> bool:
        """Return whether places of mocap bodies, which are others now, have to be looked at."""
        norm, (pos, quat) = self._adapter.module.mju_norm, self._mocap_parts
        if not norm(pos) < FAST or not norm(quat) < FAST:
            return True
        self._fine_mocap = b"" if self._mocap is None else self._mocap.tobytes()
        return False

    def _step_slowly(self) -> None:
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
                if self._physics(data):
                    break
            self._counters.single += 1
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

    def _physics(self, data: Any) -> bool:
        """Run a physics step, which the caller counts at once when it is done.

        False: it went wrong and was taken back, the scene is held; pass the gate again.
        """
        link, watch = self._link, self._watch
        unguarded = link.unguarded and link.take_unguarded()
        row = self._next_row(data)
        trouble = watch.before(row)
        if trouble is not None:
            if self._stops_for(trouble, data, unguarded=unguarded):
                return False
            row = self._next_row(data)  # what has heard of it may have written to the data
        try:
            self._mj_step(self._model, data)
        except BaseException as error:
            if raised_by_handler(error):
                if self._is_done_uncounted(row[0]):
                    self._keep_row()
                    self._counters.add_physics(1)
                raise
            if not isinstance(error, Exception):
                raise
            if self._stops_for_error(error, row, data, unguarded=unguarded):
                return False
            raise self.failure(error) from error
        trouble = watch.after(row)
        if trouble is not None and self._stops_for(trouble, data, unguarded=unguarded):
            return False
        watch.end()
        self._keep_row()
        return True

    def _is_done_uncounted(self, before: float) -> bool:
        """Return whether a step that began at the time ``before`` is done, but nobody has said so.

        Handlers of signals run as soon as MuJoCo has returned, and most of them raise.
        """
        after = self._time[0]
        return self._history.time_after == before and after == before + self._timestep[0]

    def _look_at_conditions(self, data: Any, *, is_counted: bool = False) -> None:
        """Let conditions look at the physics step that is complete and counted."""
        if self._has_stopped:
            self._tell_stop()
        conditions = self._stops.conditions
        if conditions is not None:
            ring = self._history.ring
            conditions.after(ring, ring.at - ring.advance, data, is_counted=is_counted)

    def _next_row(self, data: Any) -> "NDArray[np.float64]":
        """Write the state and the inputs of the coming step into the next row of the history."""
        history = self._history
        ring, time = history.ring, self._time[0]
        if (
            ring.at >= ring.size
            or time != history.time_after
            or ring.next_axis != self._counters.axis
            or self._motion.tobytes() != history.after
        ):
            history.arrive(time=time, motion=self._motion)
        ring.capture(time)
        return ring.written(ring.at)

    def _keep_row(self) -> None:
        """Keep the row of the step that was just done."""
        history = self._history
        ring, after = history.ring, self._motion.tobytes()
        time_after = math.nan if history.is_replaced else self._time[0]
        ring.steps[ring.at], ring.timesteps[ring.at] = self._counters.single, self._timestep[0]
        ring.at += ring.advance
        history.time_after, history.after = time_after, after

    def _stops_for(self, trouble: "Trouble", data: Any, *, unguarded: bool = False) -> bool:
        """Return whether a step in trouble is to be taken anew; False: it counts, or has raised.

        One that has raised was taken back. The script is told of a stop when the scene stands
        where it will stand: it may put it elsewhere.
        """
        stops, has_raised = self._stops, trouble.error is not None
        if not unguarded and stops.concerns(trouble):
            is_new = not stops.is_told(trouble)
            held = (is_new or self._link.active) and stops.holds(trouble)
            raised = None if held else stops.raised()
            is_taken_back = held or raised is not None or has_raised
            if is_taken_back:
                self.put_back(trouble.row, data)
            if is_new and (is_taken_back or trouble.is_before_step):
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
            try:
                self._mj_step(self._model, self._live(), count)
            except BaseException as error:
                if raised_by_handler(error):
                    self._counters.add_physics(count)
                    raise
                if not isinstance(error, Exception):
                    raise
                raise self.failure(error) from error
            self._counters.add_physics(count)
        if ends:
            self._complete(count)
            if self._stops.guards_detached:
                self._look_at_conditions(self._live(), is_counted=True)
            if followed:
                self._callbacks.run(Event.POST_STEP, self._scene)

    def _guarded_detached(self, count: int, *, ends: bool) -> None:
        data = self._live()
        self.note_time_before(data)
        for index in range(count):
            while not self._physics(data):
                self._link.gate()  # somebody has attached meanwhile
            self._counters.add_physics(1)
            if index + 1 < count or not ends:
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
        link, counters = self._link, self._counters
        for index in range(count):
            self.is_inside = index > 0
            while True:
                if not link.gate():
                    return False
                self.pre_step_done = False
                if self._physics(data):
                    break
            counters.add_physics(1)
            link.after_physics()
            self._interventions.take_back()
            self._look_at_conditions(data)
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
        seen = self._history.time_after
        if data.time < seen:
            self._scene.episode_began(_WENT_BACK)
            # Keyframes say to what a reset has set the time; else it is 0.
            self._time_from = max((t for t in self._model.key_time if t <= data.time), default=0.0)
        seen = self._history.time_after
        begin = self._time_from if math.isnan(seen) else seen
        count = max(0, round((data.time - begin) / float(self._model.opt.timestep)))
        self._counters.add_physics(count)
        self._complete(count)
        history = self._history
        history.synced(data.time)
        if len(history.sync_taps) < len(history.taps):
            self._scene.recorders.synced()
        self._link.sync()

    # --- recorded inputs

    def run_recorded(
        self, inputs: "NDArray[np.float64]", *, timestep: float, completes: bool
    ) -> None:
        """Run a physics step with recorded inputs, which may complete an application step.

        Raises StepFailedError when it goes wrong, for whatever reason; it is taken back then.
        """
        data, option, watch = self._live(), self._option, self._watch
        own = float(option.timestep)
        self._adapter.mj_setState(self._model, data, inputs, self._inputs_mask)
        option.timestep = timestep
        try:
            row = self._next_row(data)
            trouble = watch.before(row)
            try:
                self._adapter.mj_step(self._model, data)
            except Exception as error:
                self.put_back(row, data)
                raise self.failure(error) from error
            trouble = watch.after(row) or trouble
            if trouble is not None:
                self.put_back(row, data)
                raise StepFailedError(f"a step went wrong ({trouble.reason.value})")
            watch.end()
            self._keep_row()
        finally:
            option.timestep = own
        self._counters.add_physics(1)
        if completes:
            self._counters.add_application_step()

    def write_inputs(self, row: "NDArray[np.float64]") -> None:
        """Write the inputs that stand in ``row``."""
        inputs = row[self._inputs]
        self._adapter.mj_setState(self._model, self._live(), inputs, self._inputs_mask)

    # --- parts that a wrapped mj_step1 and mj_step2 need one by one

    def last_row(self) -> "NDArray[np.float64] | None":
        """Return the row that the last physics step began with; None when it isn't known.

        The time tells: what was stepped without a row being taken, and what MuJoCo has reset,
        does not stand one timestep behind it.
        """
        row = self._history.last_row()
        if row is None or row[0] + self._option.timestep != self._live().time:
            return None
        return row

    def put_back(self, row: "NDArray[np.float64]", data: Any) -> None:
        """Write the state before the physics step that failed into the live data."""
        self._adapter.free_stack(data)
        codec = self._scene.world.codec
        codec.put_row(row, self._hidden_before() if codec.keeps_sleep else b"")
        self._watch.put_back()
        self._interventions.take_back()

    def _hidden_before(self) -> bytes:
        """Return what slept before the step; empty where nobody knows: all of it wakes up then."""
        history = self._history
        known = history.keyframes.at(self._counters.axis)
        if known is not None:
            return known
        try:
            return self._scene.backend.time_machine().hidden_state()
        except CommandError:
            return b""

    def note_time_before(self, data: Any) -> None:
        """Notice that the script has reset the data since its last step: an episode."""
        if data.time < self._history.time_after:
            self.notice_reset()

    def notice_reset(self, *, in_step: bool = False) -> None:
        """Tell the debugger of a reset that was only found by looking at the time.

        ``in_step``: in a physics step that is not counted yet.

        Whose reset it was is not known: MuJoCo resets data that has diverged, too. The counters
        stay: nobody looks while nothing is attached, and a script must read the same numbers then.
        """
        self._history.begin(SegmentKind.EPISODE, _WENT_BACK, ahead=int(in_step))
        self._time_from = float(self._live().time)
        self._link.state_replaced(_WENT_BACK)

    @property
    def is_where_it_was_left(self) -> bool:
        """Whether the state is the one that the last step that was kept has led to."""
        history = self._history
        return (
            not history.is_replaced
            and history.ring.coming_follows
            and self._time[0] == history.time_after
            and self._motion.tobytes() == history.after
        )

    def forget_time(self) -> None:
        """The state was replaced by somebody who says so."""
        self._history.restored()
        self.note_time()

    def note_time(self) -> None:
        """The state was replaced by somebody who tells the history what it is."""
        self._time_from = self._time[0]

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
        return failure
