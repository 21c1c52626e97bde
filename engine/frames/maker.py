"""Frames of one stated instant: the executed physics step, or the state as it stands (NOW).

After ``mj_step`` the data holds two instants: qpos, qvel and time are new, everything derived
(xpos, contacts, forces, sensors) belongs to the state before the step. An executed frame
therefore takes its inputs just before the step and the derived arrays just after it. NOW is
recomputed on scratch data; the live data is never written.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.arrays import Arrays
from stroboscope.debugger_protocol.backend import TopicFrames
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.engine.contacts import contact_arrays
from stroboscope.engine.frames.acceleration import acceleration_arrays
from stroboscope.engine.frames.bodies import body_arrays, energy_arrays
from stroboscope.engine.frames.constraint_rows import constraint_arrays, solver_arrays
from stroboscope.engine.frames.evaluation import evaluate
from stroboscope.engine.frames.looks import Looks
from stroboscope.engine.frames.moment import Moment
from stroboscope.engine.frames.plugin_drawings import PluginDrawings
from stroboscope.engine.frames.shapes import flex_positions, tendon_arrays, tendon_path
from stroboscope.engine.frames.stage_timer import StageTimer
from stroboscope.engine.frames.state import state_arrays, state_inputs, unknown_state_arrays
from stroboscope.engine.live_data import LiveData
from stroboscope.engine.mujoco_adapter import MujocoAdapter
from stroboscope.engine.physics_options import option_values

__all__ = ["FrameMaker"]

_NEEDS_WHOLE = frozenset({Topic.ENERGY, Topic.BODIES, Topic.ACCELERATION, Topic.PLUGINS})
"""Topics for which MuJoCo computes further, on scratch data of that very instant."""

_OF_KINEMATICS = frozenset({Topic.POSE, Topic.TIMING, Topic.DEFORMABLE, Topic.LOOKS})
"""Topics for which positions are enough."""


@dataclasses.dataclass(slots=True)
class _Begun:
    """What a physics step was about to read."""

    inputs: Arrays
    row: NDArray[np.float64] | None
    time: float
    resets: int


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
        self._begun: _Begun | None = None
        self._stages = StageTimer(data)
        self._looks = Looks(model)
        self._plugins = PluginDrawings(model, adapter=adapter)
        self.predict: Callable[[Any], None] | None = None
        """Adds to a copy of the live data what clients do to the next step beside the script."""

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
        if topics & _NEEDS_WHOLE or self._adapter.is_runge_kutta(self._model):
            row = np.empty(self._row_length)
            self._adapter.mj_getState(self._model, data, row, self._adapter.integration)
        inputs = state_inputs(data) if Topic.STATE in topics else {}
        self._begun = _Begun(
            inputs, row, float(data.time), self._adapter.self_resets(self._model, data)
        )

    def executed(self, topics: frozenset[Topic]) -> TopicFrames:
        """Return the frame of the physics step since :meth:`begin`."""
        begun = self._begun
        if begun is None:
            return self.now(topics)
        self._begun = None
        notes: list[str] = []
        live = self._live()
        if Topic.STATE in topics and self._adapter.has_control_callback():
            # The callback writes ctrl inside the step: what it wrote is what the step has used.
            begun.inputs = {**begun.inputs, "ctrl": np.array(live.ctrl)}
        if live.time <= begun.time or self._adapter.self_resets(self._model, live) > begun.resets:
            notes.append(
                "MuJoCo has reset the data within this step, as its state had diverged: poses, "
                "contacts and forces are of the state after that; bodies, energies and "
                "accelerations are left out"
            )
            moment = Moment(live, begun.inputs, lambda: None)
        elif self._adapter.is_runge_kutta(self._model):
            moment = self._moment_of_row(begun, notes)
        else:
            moment = Moment(live, begun.inputs, lambda: self._completed_copy(live, begun.row))
        return TopicFrames(self._frames(topics, moment), tuple(notes))

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
        return TopicFrames(self._frames(topics - {Topic.TIMING}, self._moment_of_scratch()))

    def now(self, topics: frozenset[Topic]) -> TopicFrames:
        """Return the frame of the state as it stands; forces are what a step would compute."""
        live = self._live()
        self._adapter.copy_data(self._model, live, self.scratch)
        if self.predict is not None:
            self.predict(self.scratch)
        notes: list[str] = []
        return self._frames_of_scratch(topics, live, notes)

    def past(self, source: Any, topics: frozenset[Topic]) -> TopicFrames:
        """Return the frame of the step that began where ``source``, data of our own, stands.

        How long that step took is not known any more, and neither is what a control callback of
        the script has written inside it.
        """
        self._adapter.copy_data(self._model, source, self.scratch)
        notes: list[str] = []
        if self._adapter.has_control_callback():
            notes.append(
                "the script's control callback writes controls inside a step: controls and forces "
                "are those of before it"
            )
        return self._frames_of_scratch(topics - {Topic.TIMING}, source, notes)

    def _frames_of_scratch(
        self, topics: frozenset[Topic], source: Any, notes: list[str]
    ) -> TopicFrames:
        """Return the frame of the scratch data, a copy of ``source`` that is evaluated here."""
        known = self._evaluate_or_kinematics(topics, source, notes)
        moment = self._moment_of_scratch()
        frames = self._frames(known, moment)
        if Topic.STATE in topics and Topic.STATE not in known:
            unknown = unknown_state_arrays(self._model, source)
            frames[Topic.STATE] = {**moment.inputs, **unknown}
        if Topic.TENDONS in topics and Topic.TENDONS not in known:
            frames[Topic.TENDONS] = tendon_path(self._model, moment.data, adapter=self._adapter)
        return TopicFrames(frames, tuple(notes))

    def _frames(self, topics: frozenset[Topic], moment: Moment) -> dict[Topic, Arrays]:
        return {
            topic: arrays for topic in topics if (arrays := self._arrays(topic, moment)) is not None
        }

    def _moment_of_scratch(self) -> Moment:
        scratch = self.scratch
        return Moment(scratch, state_inputs(scratch), lambda: scratch)

    def _completed_copy(self, live: Any, row: NDArray[np.float64] | None) -> Any | None:
        """Return scratch data with what a step computed and the state that it computed it from."""
        if row is None or live.pstack:
            return None
        ctrl = np.array(live.ctrl) if self._adapter.has_control_callback() else None
        scratch = self._adapter.copy_results(self._model, live, self.scratch)
        self._adapter.mj_setState(self._model, scratch, row, self._adapter.integration)
        if ctrl is not None:
            scratch.ctrl[:] = ctrl
        return scratch

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

    def step_failure(self) -> str:
        """Return why MuJoCo would fail on the state as it stands.

        Empty when it would not, and when that can't be found out without the script's callbacks.
        """
        if self._adapter.callbacks_in_the_way(self._model):
            return ""
        self._adapter.copy_data(self._model, self._live(), self.scratch)
        return self._failure_of_scratch()

    def _evaluate_scratch(self) -> str:
        """Evaluate the scratch data; return why that can't be, empty when it was done."""
        callbacks = self._adapter.callbacks_in_the_way(self._model)
        if callbacks:
            return f"it would call the script's callbacks ({', '.join(callbacks)})"
        failure = self._failure_of_scratch()
        return f"MuJoCo fails on it: {failure}" if failure else ""

    def _failure_of_scratch(self) -> str:
        try:
            evaluate(self._model, self.scratch, adapter=self._adapter)
        except self._adapter.module.FatalError as error:
            # The state is to blame: its contacts need more memory than there is. What was under
            # way in the data's arena never ends, so it is of no use any more.
            self._scratch = None
            return str(error)
        return ""

    def _moment_of_row(self, begun: _Begun, notes: list[str]) -> Moment:
        live = self._live()
        row = begun.row
        if row is None:
            return Moment(live, begun.inputs, lambda: None)
        self._adapter.mj_setState(self._model, self.scratch, row, self._adapter.integration)
        reason = self._evaluate_scratch()
        if not reason:
            scratch = self.scratch
            return Moment(scratch, begun.inputs, lambda: scratch)
        notes.append(
            "poses, contacts and forces are of the last RK4 stage, not of the step's start, "
            f"which is not recomputed: {reason}; bodies, energies and accelerations are left out"
        )
        return Moment(live, begun.inputs, lambda: None)

    def _evaluate_or_kinematics(
        self, topics: frozenset[Topic], source: Any, notes: list[str]
    ) -> frozenset[Topic]:
        """Evaluate the scratch data, a copy of ``source``; return the topics that it can tell."""
        if topics <= _OF_KINEMATICS:
            self._kinematics(topics)
            return topics
        reason = self._evaluate_scratch()
        if not reason:
            return topics
        self._adapter.copy_data(self._model, source, self.scratch)
        self._kinematics(topics)
        notes.append(
            f"forces, contacts and sensors are not computed for this instant: {reason}; "
            "see the last executed step"
        )
        return topics & _OF_KINEMATICS

    def _kinematics(self, topics: frozenset[Topic]) -> None:
        """Compute poses, and flexes where they are wanted; calls nothing of the script's."""
        module = self._adapter.module
        module.mj_kinematics(self._model, self.scratch)
        if Topic.DEFORMABLE in topics and self._model.nflex:
            module.mj_comPos(self._model, self.scratch)
            module.mj_flex(self._model, self.scratch)

    def _arrays(self, topic: Topic, moment: Moment) -> Arrays | None:
        model, adapter, data = self._model, self._adapter, moment.data
        match topic:
            case Topic.POSE:
                return {"xpos": np.array(data.xpos), "xquat": np.array(data.xquat)}
            case Topic.STATE:
                return {**moment.inputs, **state_arrays(model, data, adapter=adapter)}
            case Topic.CONTACTS:
                return contact_arrays(model, data, adapter=adapter)
            case Topic.SENSORS:
                return {"sensordata": np.array(data.sensordata)}
            case Topic.CONSTRAINTS:
                return constraint_arrays(model, data, adapter=adapter)
            case Topic.SOLVER:
                return solver_arrays(data)
            case Topic.OPTIONS:
                return {"values": option_values(self._model, adapter=self._adapter)}
            case Topic.TENDONS:
                return tendon_arrays(model, data, adapter=adapter)
            case Topic.DEFORMABLE:
                return flex_positions(data)
            case Topic.VOLUMES:
                return {"active": np.array(data.bvh_active, dtype=np.uint8)}
            case Topic.LOOKS:
                return self._looks.arrays(model)
            case Topic.TIMING:
                return self._stages.read(self._live())
            case Topic.BODIES | Topic.ENERGY | Topic.ACCELERATION | Topic.PLUGINS:
                return self._arrays_of_whole(topic, moment)
            case _:
                return None

    def _arrays_of_whole(self, topic: Topic, moment: Moment) -> Arrays | None:
        whole = moment.whole()
        if whole is None:
            return None
        if topic is Topic.PLUGINS:
            return self._plugins.arrays(whole)
        make = {
            Topic.BODIES: body_arrays,
            Topic.ENERGY: energy_arrays,
            Topic.ACCELERATION: acceleration_arrays,
        }[topic]
        return make(self._model, whole, adapter=self._adapter)
