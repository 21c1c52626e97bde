"""Finding rows: by step, time and episode, and so many steps away from another one."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.engine.history.segments import Stretch

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene

__all__ = ["Navigation"]


class Navigation:
    """The axis of one scene; owner thread only. All answers lie within what is remembered."""

    def __init__(self, scene: "Scene") -> None:
        self._scene = scene
        self._history = scene.history

    @property
    def _live(self) -> int:
        return self._scene.counters.axis

    def axes(self, first: int, last: int) -> NDArray[np.int64]:
        """Return the remembered axes from ``first`` to ``last``, which counts."""
        return self._history.ring.axes(first, last)

    # --- by name

    def find(self, *, step: int | None, time: float | None, episode: int | None, near: int) -> int:
        """Return the axis that is meant by one of these, or by a step or time in an episode."""
        if step is not None and time is not None:
            raise CommandError("give a step or a time, not both")
        if step is None and time is None and episode is None:
            raise CommandError("where to go: give a step, a time, or an episode")
        if step is not None and episode is None:
            return self._remembered(step)
        if episode is None:
            here = self._history.segments.of(min(near, self._live - 1))
            episode = self._history.episode if here is None else here.segment.episode
        found = [s for s in self._history.segments.newest_first() if s.segment.episode == episode]
        if not found:
            raise CommandError(f"episode {episode} is not remembered{self._known_episodes()}")
        if step is not None:
            return self._step_in(found, step, episode, near)
        if time is not None:
            return self._time_in(found, time, episode)
        return self._remembered(max(found[-1].segment.begin, self._history.ring.first))

    def _known_episodes(self) -> str:
        known = [s.segment.episode for s in self._history.segments.newest_first()]
        return f": {min(known)} to {max(known)} are" if known else ""

    def _remembered(self, axis: int) -> int:
        """Return ``axis``, or the live one when it is beyond that."""
        ring, live = self._history.ring, self._live
        if axis >= live:
            return live
        if not ring.holds(axis):
            raise CommandError(
                f"physics step {axis} is not remembered: {ring.first} to {live - 1} are, as far "
                "as somebody followed them"
            )
        return axis

    def _end(self, stretch: Stretch) -> int:
        return self._history.segments.end_of(stretch, self._live)

    def _step_in(self, found: list[Stretch], step: int, episode: int, near: int) -> int:
        """Return the axis of a physics step of an episode, of the branch that ``near`` is in."""
        inside = []
        for stretch in found:
            begin, first = stretch.segment.begin, stretch.segment.physics_step
            axis = begin + step - first
            # The state after the last step of an episode that goes on is the live one.
            if begin <= axis < self._end(stretch) or axis == self._live == self._end(stretch):
                inside.append((stretch, axis))
        if not inside:
            steps = [
                (s.segment.physics_step, s.segment.physics_step + self._end(s) - s.segment.begin)
                for s in found
            ]
            raise CommandError(
                f"episode {episode} has no physics step {step}: it has {min(a for a, _ in steps)} "
                f"to {max(b for _, b in steps) - 1}"
            )
        for stretch, axis in inside:
            if stretch.segment.begin <= near < self._end(stretch):
                return self._remembered(axis)
        return self._remembered(inside[0][1])

    def _time_in(self, found: list[Stretch], time: float, episode: int) -> int:
        """Return the last row of an episode that is not later than ``time`` [s].

        Sums of timesteps are a little off: fifty steps of 0.002 s end after 0.1, and are meant by
        it. A hundredth of a timestep is far more than such sums can be off by.
        """
        ring, live = self._history.ring, self._live
        latest = time + 0.01 * float(self._scene.world.model.opt.timestep)
        for stretch in found:
            if self._end(stretch) == live and latest >= float(self._scene.world.live().time):
                return live
            # Nobody may have followed parts of it.
            axes = ring.axes(stretch.segment.begin, self._end(stretch) - 1)
            if len(axes) and ring.time(int(axes[0])) <= latest:
                return self._last_before(latest, axes)
        raise CommandError(f"nothing is remembered of episode {episode} at or before {time:g} s")

    def _last_before(self, time: float, axes: NDArray[np.int64]) -> int:
        """Return the last row of these that is not later; the first one isn't."""
        begin, end = 0, len(axes)
        while begin + 1 < end:
            middle = (begin + end) // 2
            if self._history.ring.time(int(axes[middle])) <= time:
                begin = middle
            else:
                end = middle
        return int(axes[begin])

    # --- by steps

    def steps_away(self, axis: int, count: int, *, physics: bool) -> int:
        """Return the axis so many steps after ``axis``; negative counts go back."""
        first, live = self._history.ring.first, self._live
        if first < 0:
            return live
        if physics:
            return self._from(axis, axis + count)
        begun = self._begin_of(axis)
        wanted = self._step(axis) + count
        if count < 0 and begun < axis:
            wanted += 1  # the first step back leads to where this one began
        if count < 0 and wanted == self._step(axis) and begun < axis:
            return self._from(axis, begun)  # the live one, too, may stand in the midst of its step
        total = self._scene.counters.total_steps
        # The live one stands in the midst of a step whose beginning is a row.
        is_inside = self._history.ring.holds(live - 1) and self._step(live - 1) == total
        if wanted > total or (wanted == total and not is_inside):
            return live
        # The first row of that step: steps never fall along the axis.
        low, high = self._around(axis, wanted, first, live)
        while low < high:
            middle = (low + high) // 2
            if self._step(middle) < wanted:
                low = middle + 1
            else:
                high = middle
        return self._from(axis, low)

    def _around(self, axis: int, wanted: int, first: int, live: int) -> tuple[int, int]:
        """Return between which two axes the step ``wanted`` begins.

        It is looked for near ``axis`` first: rows that are far away may have to be read from a
        file.
        """
        reach = 2
        if self._step(axis) < wanted:
            while axis + reach < live and self._step(axis + reach) < wanted:
                reach *= 4
            return axis, min(axis + reach, live)
        while axis - reach > first and self._step(axis - reach) >= wanted:
            reach *= 4
        return max(axis - reach, first), axis

    def recorded_at(self, axis: int) -> int:
        """Return ``axis``, or the row before it where nobody has recorded that step."""
        ring = self._history.ring
        if axis >= self._live or ring.holds(axis):
            return axis
        before = ring.last_remembered(axis)
        return before if before >= 0 else axis

    def steps_between(self, axis: int, live: int) -> int:
        """Return how many application steps lie between two axes."""
        return self._step(live) - self._step(axis)

    def _begin_of(self, axis: int) -> int:
        """Return where the application step began that ``axis`` lies in."""
        first = self._history.ring.first
        step = self._step(axis)
        holds = self._history.ring.holds
        while axis > first and holds(axis - 1) and self._step(axis - 1) == step:
            axis -= 1
        return axis

    def _step(self, axis: int) -> int:
        """Return how many application steps had ever been taken at ``axis``."""
        near = self._nearest(axis)
        if near >= self._live:
            return self._scene.counters.total_steps
        return self._history.ring.step(near)

    def _from(self, axis: int, wanted: int) -> int:
        """Return ``wanted``, or the nearest row on the way there that leads away from ``axis``.

        Steps that nobody has followed are passed over, in both directions.
        """
        near = self._nearest(wanted)
        if wanted >= axis or near < axis:
            return near
        before = self._history.ring.last_remembered(axis)
        return before if before >= 0 else near

    def _nearest(self, axis: int) -> int:
        """Return ``axis``, or the nearest one after it that is there."""
        ring, live = self._history.ring, self._live
        if axis >= live:
            return live
        return ring.next_remembered(axis, live)
