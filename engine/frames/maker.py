"""Frames of one stated instant: the executed physics step, or the state as it stands (NOW).

After ``mj_step`` the data holds two instants: qpos, qvel and time are new, everything derived
(xpos, contacts, forces, sensors) belongs to the state before the step. An executed frame
therefore takes its inputs just before the step and the derived arrays just after it. NOW is
recomputed on scratch data; the live data is never written.
"""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.arrays import Arrays
from stroboscope.debugger_protocol.backend import TopicFrames
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.engine.contacts import body_velocities, contact_arrays
from stroboscope.engine.frames.constraint_rows import constraint_arrays, solver_arrays
from stroboscope.engine.frames.evaluation import evaluate
from stroboscope.engine.frames.stage_timer import StageTimer
from stroboscope.engine.live_data import LiveData
from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["FrameMaker"]

_INPUTS = ("qpos", "qvel", "act", "ctrl", "qfrc_applied")
_DERIVED = (
    "qacc",
    "qfrc_actuator",
    "qfrc_passive",
    "qfrc_constraint",
    "actuator_force",
    "actuator_length",
    "actuator_velocity",
)
_ENERGY_ORDER = ("potential", "kinetic")


@dataclasses.dataclass(slots=True)
class _Inputs:
    """What a physics step was about to read."""

    arrays: dict[str, NDArray[np.float64]]
    row: NDArray[np.float64] | None


class FrameMaker:
    """Makes frames of one (model, data); owner thread only.

    ``scratch`` data is made on first use: it reserves an arena as large as the model's.
    """

    def __init__(self, model: Any, live: LiveData, *, adapter: MujocoAdapter) -> None:
        self._model = model
        self._live = live
        self._adapter = adapter
        self._scratch: Any = None
        data = live()
        self._row_length = int(adapter.module.mj_stateSize(model, adapter.integration))
        self._inputs: _Inputs | None = None
        self._stages = StageTimer(data)

    @property
    def scratch(self) -> Any:
        """Data of our own, never seen by the script."""
        if self._scratch is None:
            self._scratch = self._adapter.module.MjData(self._model)
        return self._scratch

    def begin(self, topics: frozenset[Topic]) -> None:
        """Copy the inputs of the coming physics step."""
        data = self._live()
        row = None
        if Topic.ENERGY in topics or self._adapter.is_runge_kutta(self._model):
            row = np.empty(self._row_length)
            self._adapter.mj_getState(self._model, data, row, self._adapter.integration)
        arrays = {name: np.array(getattr(data, name)) for name in _INPUTS}
        self._inputs = _Inputs(arrays, row)

    def executed(self, topics: frozenset[Topic]) -> TopicFrames:
        """Return the frame of the physics step since :meth:`begin`."""
        inputs = self._inputs
        if inputs is None:
            return self.now(topics)
        self._inputs = None
        notes: list[str] = []
        source = self._live()
        if self._adapter.has_control_callback():
            # The callback writes ctrl inside the step: what it wrote is what the step has used.
            inputs.arrays["ctrl"] = np.array(source.ctrl)
        if self._adapter.is_runge_kutta(self._model):
            source = self._recomputed_row(inputs, notes)
        frames = {
            topic: arrays
            for topic in topics
            if (arrays := self._arrays(topic, source, inputs)) is not None
        }
        return TopicFrames(frames, tuple(notes))

    def executed_again(
        self, row: NDArray[np.float64], topics: frozenset[Topic]
    ) -> TopicFrames | None:
        """Return the executed frame of the step that began with ``row``; None if it isn't exact.

        A row doesn't hold which islands slept, what the script's callbacks did, or how long the
        step took.
        """
        adapter, model = self._adapter, self._model
        if (
            adapter.has_control_callback()
            or adapter.sleeps(model)
            or adapter.hidden_state_reason(model)
            or self.recompute(row) is None
        ):
            return None
        source = self.scratch
        inputs = _Inputs({name: np.array(getattr(source, name)) for name in _INPUTS}, None)
        frames = {
            topic: arrays
            for topic in topics - {Topic.TIMING}
            if (arrays := self._arrays(topic, source, inputs)) is not None
        }
        return TopicFrames(frames)

    def now(self, topics: frozenset[Topic]) -> TopicFrames:
        """Return the frame of the state as it stands; forces are what a step would compute."""
        scratch = self.scratch
        self._adapter.copy_data(self._model, self._live(), scratch)
        notes: list[str] = []
        known = self._evaluate_or_kinematics(topics, notes)
        inputs = _Inputs({name: np.array(getattr(scratch, name)) for name in _INPUTS}, None)
        frames = {
            topic: arrays
            for topic in known
            if (arrays := self._arrays(topic, scratch, inputs)) is not None
        }
        if Topic.STATE in topics and Topic.STATE not in known:
            frames[Topic.STATE] = self._inputs_alone(inputs)
        return TopicFrames(frames, tuple(notes))

    def energy(self, source: Any, row: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """Return potential and kinetic energy [J], of scratch data or of the state in ``row``.

        ``source``: the scratch data when it was evaluated; else the live data, whose state before
        the step is ``row``.
        """
        adapter, scratch = self._adapter, self.scratch
        module = adapter.module
        if source is not scratch and row is not None:
            adapter.mj_setState(self._model, scratch, row, adapter.integration)
            adapter.prepare_energy(self._model, scratch)
        adapter.forget_lazy_results(scratch)
        module.mj_energyPos(self._model, scratch)
        module.mj_energyVel(self._model, scratch)
        return np.array(scratch.energy, dtype=np.float64)

    def recompute(self, row: NDArray[np.float64]) -> Any | None:
        """Return scratch data evaluated at ``row``; None when it can't be."""
        self._adapter.mj_setState(self._model, self.scratch, row, self._adapter.integration)
        return None if self._evaluate_scratch() else self.scratch

    def _evaluate_scratch(self) -> str:
        """Evaluate the scratch data; return why that can't be, empty when it was done."""
        callbacks = self._adapter.callbacks_in_the_way(self._model)
        if callbacks:
            return f"it would call the script's callbacks ({', '.join(callbacks)})"
        try:
            evaluate(self._model, self.scratch, adapter=self._adapter)
        except self._adapter.module.FatalError as error:
            # The state is to blame: its contacts need more memory than there is. What was under
            # way in the data's arena never ends, so it is of no use any more.
            self._scratch = None
            return f"MuJoCo fails on it: {error}"
        return ""

    def _recomputed_row(self, inputs: _Inputs, notes: list[str]) -> Any:
        row = inputs.row
        if row is None:
            return self._live()
        self._adapter.mj_setState(self._model, self.scratch, row, self._adapter.integration)
        reason = self._evaluate_scratch()
        if not reason:
            return self.scratch
        notes.append(
            "poses, contacts and forces are of the last RK4 stage, not of the step's start, "
            f"which is not recomputed: {reason}"
        )
        return self._live()

    def _evaluate_or_kinematics(
        self, topics: frozenset[Topic], notes: list[str]
    ) -> frozenset[Topic]:
        """Evaluate the scratch data; return the topics that it holds the truth of."""
        if topics <= {Topic.POSE, Topic.TIMING}:
            self._adapter.module.mj_kinematics(self._model, self.scratch)
            return topics
        reason = self._evaluate_scratch()
        if not reason:
            return topics
        self._adapter.copy_data(self._model, self._live(), self.scratch)
        self._adapter.module.mj_kinematics(self._model, self.scratch)
        notes.append(
            f"forces, contacts and sensors are not computed for this instant: {reason}; "
            "see the last executed step"
        )
        return topics & {Topic.POSE, Topic.TIMING}

    def _arrays(self, topic: Topic, source: Any, inputs: _Inputs) -> Arrays | None:
        match topic:
            case Topic.POSE:
                return {"xpos": np.array(source.xpos), "xquat": np.array(source.xquat)}
            case Topic.STATE:
                derived = {name: np.array(getattr(source, name)) for name in _DERIVED}
                velocity = body_velocities(self._model, source)
                return {**inputs.arrays, **derived, "body_velocity": velocity}
            case Topic.CONTACTS:
                return contact_arrays(self._model, source, adapter=self._adapter)
            case Topic.SENSORS:
                return {"sensordata": np.array(source.sensordata)}
            case Topic.CONSTRAINTS:
                return constraint_arrays(source)
            case Topic.ENERGY:
                energy = self.energy(source, inputs.row)
                return {name: energy[i : i + 1] for i, name in enumerate(_ENERGY_ORDER)}
            case Topic.SOLVER:
                return solver_arrays(source)
            case Topic.TIMING:
                return self._stages.read(self._live())
            case _:
                return None

    def _inputs_alone(self, inputs: _Inputs) -> Arrays:
        """Return STATE with NaN for what is not known at this instant."""
        unknown = {name: np.full(getattr(self._live(), name).shape, np.nan) for name in _DERIVED}
        velocity = np.full((self._model.nbody, 6), np.nan)
        return {**inputs.arrays, **unknown, "body_velocity": velocity}
