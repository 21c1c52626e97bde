"""Recorded steps taken again, one by one, on data and with a model of one's own."""

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from stroboscope.engine.checkpoint_codec import CheckpointCodec
from stroboscope.engine.errors import StateError
from stroboscope.engine.history.segments import Options, Stretch
from stroboscope.engine.live_data import HeldData
from stroboscope.engine.physics_options import write_option
from stroboscope.engine.trajectory.recorded_rows import RecordedRows, Row

if TYPE_CHECKING:
    from stroboscope.engine.mujoco_adapter import MujocoAdapter
    from stroboscope.engine.trajectory.replayed_scene import ReplayedScene

__all__ = ["StepsAgain", "refuse_callbacks"]

# A step is timed so often; the median counts, as others take the processor now and then.
_TIMES = 7


def refuse_callbacks(model: Any, *, adapter: "MujocoAdapter") -> None:
    """Raise StateError where steps would call callbacks of the script, which may notice that."""
    callbacks = adapter.callbacks_of_steps(model)
    if callbacks:
        raise StateError(
            "the steps of a recorded run can't be taken again: that would call the script's "
            f"callbacks ({', '.join(callbacks)}); read the file in a process that has none"
        )


class StepsAgain:
    """Takes recorded steps again; owner thread only. The scene of the run is left alone.

    Raises StateError where that would call callbacks of the script, and what building the scene
    raises.
    """

    def __init__(self, replayed: "ReplayedScene", rows: RecordedRows) -> None:
        self._scene = scene = replayed.build()
        self._replayed, self._rows = replayed, rows
        self.adapter = adapter = scene.world.adapter
        refuse_callbacks(scene.world.model, adapter=adapter)
        self.model = copy.copy(scene.world.model)
        self.data = adapter.module.MjData(self.model)
        self._codec = CheckpointCodec(
            self.model, HeldData(self.data), digest=scene.world.codec.digest, adapter=adapter
        )

    def put(self, frame: int) -> None:
        """Stand at a frame, with the options that were in force."""
        row, hidden, _ = self._replayed.state(frame)
        self.put_options(frame)
        self._codec.put_row(row, hidden)

    def put_options(self, frame: int) -> None:
        """Have the options that were in force at a frame, the length of its step too."""
        stretch, _ = self._replayed.place(frame)
        self.put_options_of(stretch, timestep=self._rows.timestep(frame))

    def put_options_of(self, stretch: Stretch, *, timestep: float) -> None:
        """Have the options that were in force in a stretch, for a step of ``timestep`` [s]."""
        for name, values in self.options_of(stretch).items():
            write_option(self.model, name, values, known=values, adapter=self.adapter)
        self.model.opt.timestep = timestep

    def options_of(self, stretch: Stretch) -> Options:
        """Return the options, and fields of the model, that were in force in a stretch."""
        return {**self._scene.history.recorded_options, **stretch.options}

    def put_back(self, row: Row, hidden: bytes) -> None:
        """Take the last step back: ``row`` is where it began."""
        self._codec.put_row(row, hidden)

    def step(self) -> None:
        """Take a step, as far as it goes."""
        try:
            self.adapter.mj_step(self.model, self.data)
        except self.adapter.module.FatalError:
            self.adapter.free_stack(self.data)

    def evaluate(self) -> None:
        """Compute what follows from the state, as far as that goes."""
        try:
            self.adapter.mj_forward(self.model, self.data)
        except self.adapter.module.FatalError:
            self.adapter.free_stack(self.data)

    def row(self) -> Row:
        """Return the state as it stands."""
        return self._codec.read_row()[0]

    def write(self, row: Row) -> None:
        """Write a state; what was computed stays."""
        self.adapter.mj_setState(self.model, self.data, row, self.adapter.integration)

    def stage_times(self, frame: int) -> dict[str, float]:
        """Return how long each of MuJoCo's stages of the step that begins at a frame takes [s].

        By MuJoCo's own timers, on this machine, now. NaN where the installed MuJoCo has none.
        """
        stages = self.adapter.members("mjtTimer", "mjTIMER_")
        taken = np.full((_TIMES, len(stages)), np.nan)
        for each in range(_TIMES):
            self.put(frame)
            before = np.array(self.data.timer.duration, dtype=np.float64)
            self.step()
            taken[each] = np.array(self.data.timer.duration, dtype=np.float64) - before
        if not taken.any():  # it counts its stages without measuring them
            taken[:] = np.nan
        return dict(zip(stages, np.median(taken, axis=0).tolist(), strict=True))
