"""One rollout that is kept for people to look at: rows, and what is known of them."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.time_messages import RolloutInfo
from stroboscope.engine.rollouts.events import ENDED
from stroboscope.engine.rollouts.placing import Placing, placing_of

__all__ = ["StoredRollout"]


@dataclasses.dataclass(eq=False, slots=True, kw_only=True)
class StoredRollout:
    """``rows`` (steps + 1, row), read-only: the state before each step, and after the last one.

    ``make_model`` returns what it ran with, which nobody writes into; ``digest`` identifies the
    scene's model, before any edit.
    """

    name: str
    rows: NDArray[np.float64]
    timestep: float
    make_model: Callable[[], Any]
    digest: bytes
    rollout_id: int = 0
    from_axis: int = -1
    outcome: str = ENDED
    event_step: int = -1
    group: str = ""
    edits: tuple[str, ...] = ()
    numbers: dict[str, float] = dataclasses.field(default_factory=dict)
    reproducible: str = ""
    env: int = -1
    timesteps: NDArray[np.float64] | None = None
    """How long the physics step of each row took [s]; None: as long as ``model`` says."""
    steps_of_script: int = 0
    """So many of the first steps are the script's own, and tell whether ``model`` is their model:
    nobody can be sure of what a script has written into its own."""
    unsure: frozenset[int] = frozenset()
    """Steps of which it is known that their model is not."""
    is_model_as_it_was: Callable[[], bool] | None = None
    """Where ``model`` is the script's own, for its size: tells whether it is still the same."""
    extra_bytes: int = 0
    """What it keeps beside its rows: a model of its own."""
    _placing: Placing | None = None

    @property
    def model(self) -> Any:
        """What it ran with; the same one as long as nobody has asked for another rollout's."""
        return self.make_model()

    @property
    def placing(self) -> Placing:
        """What of its model decides where bodies stand: a ghost needs no more of it."""
        if self._placing is None:
            self._placing = placing_of(self.model)
        return self._placing

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        return int(self.rows.nbytes) + self.extra_bytes

    @property
    def steps(self) -> int:
        """How many steps it has."""
        return len(self.rows) - 1

    def step_at(self, time: float) -> int:
        """Return the row that stands at ``time`` [s] or just before it; the first, when none."""
        times = self.rows[:, 0]
        # Times are sums of timesteps: those that mean the same instant differ in their last bits.
        at = int(np.searchsorted(times, time + 1e-6 * self.timestep, side="right")) - 1
        return max(0, at)

    def info(self) -> RolloutInfo:
        """Return what clients are told of it."""
        return RolloutInfo(
            rollout_id=self.rollout_id,
            name=self.name,
            steps=self.steps,
            timestep=self.timestep,
            time=float(self.rows[-1, 0]),
            from_axis=self.from_axis,
            outcome=self.outcome,
            event_step=self.event_step,
            group=self.group,
            edits=self.edits,
            numbers=tuple(self.numbers.items()),
            reproducible=self.reproducible,
            env=self.env,
        )
