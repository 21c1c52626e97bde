"""Rows around single physics steps: written before, kept and counted after, and put back."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.debugger_protocol.signal_handlers import handler_came_into
from stroboscope.debugger_protocol.time_messages import SegmentKind
from stroboscope.engine.data_views import DataViews
from stroboscope.engine.errors import StepFailedError
from stroboscope.engine.row_layout import RowLayout
from stroboscope.engine.stops.detector import FAST, StepWatch

if TYPE_CHECKING:
    import numpy as np

    from stroboscope.engine.scene import Scene

__all__ = ["WENT_BACK", "StepRows"]

WENT_BACK = "the simulation time went back"

# What steps are made of: here handlers of signals come into them.
_OURS = str(Path(__file__).parent)


class StepRows:
    """What a stepper knows of the steps of one scene in one world; owner thread only."""

    def __init__(self, scene: "Scene") -> None:
        world = scene.world
        adapter = world.adapter
        self._scene = scene
        self._link = scene.link
        self._counters = scene.counters
        self._history = scene.history
        self._stops = scene.stops
        self._model = world.model
        self._live = world.live
        self._interventions = world.interventions
        self._adapter = adapter
        layout = RowLayout(world.model, adapter=adapter)
        self._inputs, self._inputs_mask = layout.inputs, layout.inputs_mask
        self._views = views = DataViews(world.model, world.live, adapter=adapter)
        self._time, self._timestep, self._motion = views.time, views.timestep, views.motion
        self._watch = StepWatch(views, world.model, adapter=adapter)
        self._watch.earlier = self._earlier_rows
        self._fine_mocap = b""
        """Where mocap bodies were last, all of it numbers: a place that is none shows nowhere."""
        self._mocap, self._mocap_parts = views.mocap, views.mocap_parts
        self._time_from = float(self._live().time)
        """The time when the state was replaced last, or this began: sync() counts from there."""
        self.has_failed = False
        """Whether the script's own data is as MuJoCo left it when a step failed."""
        self._under_way: float | None = None
        """The time that the physics step has begun at which is neither counted nor given up."""
        self._is_part = False
        """Whether that one does not complete an application step."""

    # --- the row of a step

    def _next_row(self, data: Any) -> "NDArray[np.float64]":
        """Write the state and the inputs of the coming step into the next row of the history."""
        history = self._history
        ring, time = history.ring, self._time[0]
        if (
            ring.at >= ring.size
            or time != history.time_after
            or ring.next_axis != self._counters.axis
            or self._motion.tobytes() != history.after
            or history.senses
        ):
            history.arrive(time=time, motion=self._motion)
        while True:
            head = ring.head
            row = ring.capture(time)
            if ring.head is head:  # else a handler of a signal has ended a recording meanwhile
                return row

    def _keep_row(self, *, completes: bool) -> None:
        """Keep the row of the step that was just done, and count it; an application step or not.

        Harmless when it is counted. What a handler of a signal has done meanwhile stays: where
        nobody keeps the row any more, the step counts all the same.
        """
        history, counters = self._history, self._counters
        ring, after = history.ring, self._motion.tobytes()
        is_there = not ring.advance or ring.next_axis == counters.axis
        begun, time_after = self._under_way, self._time[0]
        # Nothing but stores, which no handler of a signal comes between.
        if begun is None:
            return
        if is_there:
            ring.steps[ring.at], ring.timesteps[ring.at] = counters.single, self._timestep[0]
            ring.at += ring.advance
        if completes:
            counters.single += 1
        else:
            counters.more_physics += 1
        if history.time_after == begun:  # else the state was replaced, or nobody keeps track
            history.time_after, history.after = time_after, after
        self._under_way = None

    def _is_done_uncounted(self) -> bool:
        """Return whether the step that has begun is done, but nobody has said so.

        Handlers of signals run as soon as MuJoCo has returned, and most of them raise.
        """
        begun = self._under_way
        return begun is not None and self._time[0] == begun + self._timestep[0]

    def settle(self) -> None:
        """Count the physics step that a handler of a signal has come into, where it is done.

        By whoever tells or changes where the scene stands, or who keeps its rows: that comes before
        the step, or behind it. Nothing else may come within.
        """
        if self._is_done_uncounted() and handler_came_into(_OURS):
            self._keep_row(completes=not self._is_part)

    @property
    def is_within_step(self) -> bool:
        """Whether a callback of MuJoCo's is running, somewhere within a physics step."""
        if self._under_way is None or self._is_done_uncounted():
            return False
        return not handler_came_into(_OURS)

    def row_begun(self) -> "NDArray[np.float64] | None":
        """Return the row of the step that has begun and is not done; None: none has.

        In a callback of MuJoCo's the data stands somewhere within the step.
        """
        ring = self._history.ring
        if self._under_way is None or ring.times[ring.at] != self._under_way:
            return None
        return ring.written(ring.at).copy()

    def _newest_row(self) -> int:
        """Return where in its block the row of the last step is; below 0: nowhere."""
        ring = self._history.ring
        at: int = ring.at - ring.advance
        return at if at < 0 or not math.isnan(ring.times[at]) else -1

    def _is_mocap_odd(self) -> bool:
        """Return whether places of mocap bodies, which are others now, have to be looked at."""
        norm, (pos, quat) = self._adapter.module.mju_norm, self._mocap_parts
        if not norm(pos) < FAST or not norm(quat) < FAST:
            return True
        self._fine_mocap = b"" if self._mocap is None else self._mocap.tobytes()
        return False

    # --- recorded inputs

    def run_recorded(
        self, inputs: "NDArray[np.float64]", *, timestep: float, completes: bool
    ) -> None:
        """Run a physics step with recorded inputs, which may complete an application step.

        Raises StepFailedError when it goes wrong, for whatever reason; it is taken back then.
        """
        data, option, watch = self._live(), self._model.opt, self._watch
        own = float(option.timestep)
        self._adapter.mj_setState(self._model, data, inputs, self._inputs_mask)
        option.timestep = timestep
        try:
            row = self._next_row(data)
            trouble = watch.before(row)
            self._under_way = float(row[0])
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
            self._keep_row(completes=completes)
        finally:
            option.timestep = own

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
        if row is None or row[0] + self._model.opt.timestep != self._live().time:
            return None
        return row

    def _earlier_rows(self, row: "NDArray[np.float64]") -> Iterator["NDArray[np.float64]"]:
        """Go back from the row of the step that runs through those that led to it."""
        ring, axis = self._history.ring, self._counters.axis
        while ring.advance and ring.is_stored(axis - 1):
            earlier = ring.row(axis - 1)
            if earlier is None or earlier[0] + ring.timestep(axis - 1) != row[0]:
                return
            yield earlier
            row, axis = earlier, axis - 1

    def put_back(self, row: "NDArray[np.float64]", data: Any) -> None:
        """Write the state before the physics step that failed into the live data."""
        self._under_way = None
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
        self._history.begin(SegmentKind.EPISODE, WENT_BACK, ahead=int(in_step))
        self._time_from = float(self._live().time)
        self._link.state_replaced(WENT_BACK)

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
