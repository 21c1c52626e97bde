"""Counters of a scene: those that belong to its state, and those that never fall."""

from stroboscope.debugger_protocol.backend import Clock
from stroboscope.engine.checkpoint import Counters

__all__ = ["StepCounters"]


class StepCounters:
    """Application and physics steps, ever taken and within the state.

    ``single`` counts the steps of the fast path, which are one of each: one addition there,
    everything else is worked out when somebody asks.
    """

    __slots__ = ("_more_physics", "_physics_origin", "_step_origin", "single")

    def __init__(self) -> None:
        self.single = 0
        self._more_physics = 0
        self._step_origin = 0
        self._physics_origin = 0

    def add_physics(self, count: int) -> None:
        """Count physics steps."""
        self._more_physics += count

    def add_application_step(self) -> None:
        """Count one application step whose physics steps were counted already."""
        self.single += 1
        self._more_physics -= 1

    def add_step(self, physics: int) -> None:
        """Count one application step of so many physics steps, at once for handlers of signals."""
        self._more_physics += physics - 1
        self.single += 1

    @property
    def total_steps(self) -> int:
        """Application steps ever taken; never falls."""
        return self.single

    @property
    def axis(self) -> int:
        """Physics steps ever taken; never falls."""
        return self.single + self._more_physics

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
        axis = single + self._more_physics
        return Clock(time, single - self._step_origin, axis - self._physics_origin, single, axis)

    def stand_at(self, *, total_steps: int, axis: int, counters: Counters) -> None:
        """Go on counting where a recorded run has ended."""
        self.single = total_steps
        self._more_physics = axis - total_steps
        self.set_state(counters)

    def state(self) -> Counters:
        """Return the counters that belong to the state."""
        return Counters(self.step_count, self.physics_step_count)

    def set_state(self, counters: Counters) -> None:
        """Put the state's counters back; the others stay."""
        self._step_origin = self.single - counters.step_count
        self._physics_origin = self.axis - counters.physics_step_count
