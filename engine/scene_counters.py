"""Counters of a scene: those that belong to its state, and those that never fall."""

from stroboscope.debugger_protocol.backend import Clock
from stroboscope.engine.checkpoint import Counters

__all__ = ["StepCounters"]


class StepCounters:
    """Application and physics steps, ever taken and within the state.

    ``single`` counts application steps, and one physics step with each: one addition on the fast
    path, everything else is worked out when somebody asks. ``more_physics``: those beyond that.
    """

    __slots__ = ("_physics_origin", "_step_origin", "more_physics", "single")

    def __init__(self) -> None:
        self.single = 0
        self.more_physics = 0
        self._step_origin = 0
        self._physics_origin = 0

    def add_physics(self, count: int) -> None:
        """Count physics steps."""
        self.more_physics += count

    def add_application_step(self) -> None:
        """Count one application step whose physics steps were counted already."""
        self.single += 1
        self.more_physics -= 1

    def add_step(self, physics: int) -> None:
        """Count one application step of so many physics steps, at once for handlers of signals."""
        self.more_physics += physics - 1
        self.single += 1

    @property
    def total_steps(self) -> int:
        """Application steps ever taken; never falls."""
        return self.single

    @property
    def axis(self) -> int:
        """Physics steps ever taken; never falls."""
        return self.single + self.more_physics

    @property
    def step_count(self) -> int:
        """Application steps within the state."""
        return self.single - self._step_origin

    @property
    def physics_step_count(self) -> int:
        """Physics steps within the state."""
        return self.axis - self._physics_origin

    def clock(self, time: float) -> Clock:
        """Return where the scene stands at ``time`` [s]; once per step while signals are read."""
        single = self.single
        axis = single + self.more_physics
        return Clock(time, single - self._step_origin, axis - self._physics_origin, single, axis)

    def stand_at(self, *, total_steps: int, axis: int, counters: Counters) -> None:
        """Go on counting where a recorded run has ended."""
        self.single = total_steps
        self.more_physics = axis - total_steps
        self.set_state(counters)

    def state(self) -> Counters:
        """Return the counters that belong to the state."""
        return Counters(self.step_count, self.physics_step_count)

    def set_state(self, counters: Counters) -> None:
        """Put the state's counters back; the others stay."""
        self._step_origin = self.single - counters.step_count
        self._physics_origin = self.axis - counters.physics_step_count
