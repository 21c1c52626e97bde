"""A MuJoCo scene as the debugger's host sees it."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stroboscope.debugger_protocol.backend import (
    Clock,
    SceneBackend,
    SignalSource,
    Stayed,
    TopicFrames,
)
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.messages import EditField, Finding, LogLevel, Perturb
from stroboscope.debugger_protocol.scene_description import OptionInfo, SceneDescription
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.engine.batch.batch_checkpoint import refuse_environments_of
from stroboscope.engine.callbacks import Event
from stroboscope.engine.checkpoint import Checkpoint, Counters
from stroboscope.engine.debug_draw import NOTHING_DRAWN
from stroboscope.engine.describe import describe_model
from stroboscope.engine.edit_labels import label
from stroboscope.engine.errors import SceneDestroyedError, StateError
from stroboscope.engine.expression_channels import ExpressionScope
from stroboscope.engine.history.past import VERIFIED
from stroboscope.engine.interventions import LARGEST_VALUE
from stroboscope.engine.lint import lint
from stroboscope.engine.model_changes import ModelChanges
from stroboscope.engine.physics_options import (
    check_option,
    option_info,
    read_option,
    write_option,
)
from stroboscope.engine.signal_channels import MujocoSignalSource
from stroboscope.engine.time_machine import MujocoTimeMachine
from stroboscope.engine.world import World

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene

__all__ = ["MujocoBackend"]

_TIMESTEP = "timestep"
_SLEEP = "enable.sleep"
_SHORTEST_QUATERNION = 1e-9


class MujocoBackend(SceneBackend):
    """Answers the host for one scene. ``describe`` and ``asset`` run on the server thread."""

    def __init__(self, scene: "Scene") -> None:
        self._scene = scene
        self._step_of_frame = 0
        self._machine: tuple[World, MujocoTimeMachine] | None = None
        self._kept_alive: Any = None

    def describe(self, scene_id: int, name: str) -> SceneDescription:
        """Return the description of the scene's model; reads nothing that a step writes."""
        world, revision = self._scene.world, self._scene.revision
        return describe_model(
            world.model,
            scene_id=scene_id,
            name=name,
            revision=revision,
            origin=world.source.origin,
            assets=world.assets,
            adapter=world.adapter,
        )

    def asset(self, digest: str) -> bytes | None:
        """Return a mesh, height field or texture of the present model."""
        return self._scene.world.assets.data(digest)

    def clock(self) -> Clock:
        """Return where the scene stands."""
        scene = self._scene
        return scene.counters.clock(float(scene.world.live().time))

    def begin_frame(self, topics: frozenset[Topic]) -> None:
        """Copy the inputs of the coming physics step."""
        self._step_of_frame = self._scene.counters.total_steps
        self._scene.world.frames.begin(topics)

    def end_frame(self, topics: frozenset[Topic]) -> TopicFrames:
        """Return the executed frame."""
        frames = self._scene.world.frames.executed(topics)
        return self._with_drawing(frames, topics, step=self._step_of_frame)

    def frame_last_executed(self, topics: frozenset[Topic]) -> tuple[Clock, TopicFrames] | None:
        """Return the executed frame of the last physics step, recomputed from its row."""
        scene, now = self._scene, self.clock()
        row = scene.stepper.last_row()
        if row is None:
            return None
        frames = scene.world.frames.executed_again(row, topics)
        if frames is not None and not scene.history.has_model_of_last_step():
            frames = self._frame_of_then(now.axis - 1, topics)
        if frames is None:
            return None
        # Between two physics steps of one application step, that one is not counted yet.
        completed = now.step_count - (0 if scene.stepper.is_inside else 1)
        total = now.total_steps - (now.step_count - completed)
        steps = now.physics_step_count - 1
        frames = self._with_drawing(frames, topics, step=total)
        return Clock(float(row[0]), completed, steps, total, now.axis - 1), frames

    def _frame_of_then(self, axis: int, topics: frozenset[Topic]) -> TopicFrames | None:
        """Return the frame of a step whose model was another one; None where it isn't exact."""
        try:
            past = self.time_machine().look_at(axis, topics - {Topic.TIMING, Topic.DRAWING})
        except CommandError:
            return None
        is_exact = past.clock.axis == axis and past.note in ("", VERIFIED)
        return past.frames if is_exact else None

    def frame_now(self, topics: frozenset[Topic]) -> TopicFrames:
        """Return the state as it stands, recomputed on scratch data."""
        frames = self._scene.world.frames.now(topics - {Topic.DRAWING})
        return self._with_drawing(frames, topics, step=None)

    def _with_drawing(
        self, frames: TopicFrames, topics: frozenset[Topic], *, step: int | None
    ) -> TopicFrames:
        """Add what the script has drawn: for the step that began after ``step``; None: now."""
        if Topic.DRAWING not in topics:
            return frames
        scene = self._scene
        drawing = scene.drawing
        if drawing is None:
            arrays = NOTHING_DRAWN
        elif step is None:
            arrays = drawing.now(step_begun=scene.link.is_step_open)
        else:
            arrays = drawing.at(step)
        return TopicFrames({**frames.arrays, Topic.DRAWING: arrays}, frames.notes)

    def signal_source(self, channels: Sequence[str]) -> SignalSource:
        """Return a writer for engine channels."""
        world = self._scene.world
        return MujocoSignalSource(
            channels,
            table=world.channels,
            model=world.model,
            live=world.live,
            frames=world.frames,
            adapter=world.adapter,
            scope=self._expression_scope,
        )

    def _expression_scope(self) -> ExpressionScope:
        world, link = self._scene.world, self._scene.link
        return ExpressionScope(
            world.model,
            channels=world.channels,
            user=link.user_channels,
            report=link.log_problem,
            adapter=world.adapter,
        )

    def capture_initial(self) -> bytes:
        """Return a checkpoint."""
        return self._scene.states.capture()

    def capture_checkpoint(self, name: str) -> bytes:
        """Return a checkpoint that says what was written into the model."""
        return self._scene.states.take(name).to_bytes()

    def checkpoint_kept(self, name: str, note: str) -> None:
        """Record it like one of the script's."""
        self._scene.recorders.kept(name, note)

    def stayed(self, state: bytes) -> tuple[Stayed, ...]:
        """Return what of the model is not as it was at a named checkpoint; of others nothing."""
        record = Checkpoint.from_bytes(state).record
        return ModelChanges(self._scene.world).stayed(record) if record.compared else ()

    def restore_initial(self, state: bytes) -> None:
        """Put a checkpoint back; CommandError with the reason when it no longer fits.

        What of a named one may not go on exactly as it did is logged, the model's part apart: see
        :meth:`stayed`.
        """
        scene = self._scene
        try:
            refuse_environments_of(state)
            checkpoint = Checkpoint.from_bytes(state)
            if not checkpoint.record.compared:
                scene.states.restore(state)
                return
            scene.states.restore_checkpoint(checkpoint)
        except StateError as error:
            raise CommandError(str(error)) from error
        reasons = "; ".join(filter(None, (checkpoint.exactness.reason, checkpoint.record.doubt)))
        if reasons:
            text = f"checkpoint {checkpoint.name!r} goes on only approximately: {reasons}"
            scene.link.log_text(LogLevel.WARNING, text)

    def exactness(self) -> str:
        """Return why a captured state may not continue bit for bit; empty when it does."""
        return self._scene.world.codec.inexact_reason

    # --- edits

    def edit_state(self, field: EditField, index: int, values: Sequence[float]) -> None:
        """Write values into a state array, all of them or none."""
        array = self._state_array(field, index, len(values))
        # User data belongs to the script: MuJoCo never looks at it.
        most = sys.float_info.max if field is EditField.USERDATA else LARGEST_VALUE
        wrong = next((value for value in values if not abs(value) <= most), None)
        if wrong is not None:
            raise CommandError(
                f"{field.value} takes finite numbers only, of at most {most:g}: MuJoCo takes a "
                f"state with more for a diverged one; {wrong:g} is none"
            )
        end = index + len(values)
        if field is EditField.EQ_ACTIVE and not all(value in (0.0, 1.0) for value in values):
            raise CommandError(f"eq_active is 0 (off) or 1 (on), not {[*map(float, values[:8])]}")
        if field is EditField.MOCAP_QUAT:
            _write_quaternions(array, index, values)
        else:
            array[index:end] = values

    def state_values(self, field: EditField, index: int, count: int) -> tuple[float, ...]:
        """Return part of a state array."""
        return tuple(map(float, self._state_array(field, index, count)[index : index + count]))

    def _state_array(self, field: EditField, index: int, count: int) -> Any:
        """Return a flat view of a state array that holds ``count`` values from ``index`` on."""
        data: Any = self._scene.world.live()
        array = getattr(data, field.value).reshape(-1)
        if not count or index < 0 or index + count > array.size:
            raise CommandError(
                f"{field.value} has {array.size} values; {count} from index {index} on do not fit"
            )
        return array

    def load_keyframe(self, index: int) -> None:
        """Reset the scene to a keyframe of its model."""
        scene = self._scene
        world, count = scene.world, int(scene.world.model.nkey)
        if not 0 <= index < count:
            raise CommandError(f"there is no keyframe {index}: this model has {count}, from 0 on")
        world.adapter.module.mj_resetDataKeyframe(world.model, world.live(), index)
        scene.stepper.mend()
        scene.counters.set_state(Counters(0, 0))
        scene.stepper.forget_time()
        scene.forget_drawing()

    def option_info(self, name: str) -> OptionInfo:
        """Return the description of a physics option."""
        return option_info(name, adapter=self._scene.world.adapter)

    def option(self, name: str) -> tuple[float, ...]:
        """Return the values of a physics option."""
        scene = self._scene
        if name == _TIMESTEP and scene.nominal_timestep is not None:
            return (scene.nominal_timestep,)
        return read_option(scene.world.model, name, adapter=scene.world.adapter)

    def edit_option(self, name: str, values: Sequence[float]) -> None:
        """Set a physics option; checkpoints of before still fit unless the state has changed."""
        scene = self._scene
        world = scene.world
        if name == _TIMESTEP:
            check_option(self.option_info(name), values)
            value, now = float(values[0]), self.option(name)[0]
            if scene.nominal_timestep is not None:
                # The step under way takes shorter ones of its own.
                scene.nominal_timestep = value
            else:
                world.model.opt.timestep = value
            own = world.unedited_timestep(now)
            world.timestep_edit = None if value == own else (own, value)
            scene.history.own_timesteps.edited(scene.counters.axis, world.timestep_edit)
            world.edits += 1
            scene.recorders.edited(name, before=(now,), values=(value,))
            return
        scene.history.look_at_model()  # what the script had written until now is not this edit
        before = self.option(name)
        known = world.unedited_options.get(name)
        if name == _SLEEP and not world.adapter.sleeps(world.model):
            world.adapter.prepare_sleep(world.model, world.live())
        write_option(world.model, name, values, known=known, adapter=world.adapter)
        failure = world.frames.step_failure()
        if failure:
            write_option(world.model, name, before, known=before, adapter=world.adapter)
            # What fails anyway does not fail because of this.
            if not world.frames.step_failure():
                raise CommandError(f"MuJoCo could not step with that: {failure}")
            write_option(world.model, name, values, known=known, adapter=world.adapter)
        world.unedited_options.setdefault(name, before)
        world.options_changed()
        scene.recorders.edited(name, before=before, values=values)
        scene.history.edited(f"{name} was edited")

    def time_machine(self) -> MujocoTimeMachine:
        """Return what remembers the past of the present world."""
        world = self._scene.world
        if self._machine is None or self._machine[0] is not world:
            self._machine = (world, MujocoTimeMachine(self._scene))
        return self._machine[1]

    def keep_alive(self, *, wanted: bool) -> None:
        """Keep the script's data as long as the scene, or let the script decide."""
        try:
            self._kept_alive = self._scene.world.live() if wanted else None
        except SceneDestroyedError:
            self._kept_alive = None  # too late

    def label(self, kind: str, index: int) -> tuple[str, str]:
        """Return what people call a value of a state array or an element, and its unit."""
        world = self._scene.world
        channel = world.channels.get(kind)
        if channel is not None:
            unit = channel.units[index] if channel.units else channel.unit
            return (channel.names[index] if channel.names else channel.name), unit
        return label(world.model, kind, index, adapter=world.adapter)

    # --- interventions

    def perturb(self, perturbation: Perturb | None) -> None:
        """Pull a body from the next physics step on, or let go of it (None)."""
        if perturbation is not None:
            self._check_steps_here("pulled")
        self._scene.world.interventions.perturb(perturbation)

    def override_control(self, index: int, value: float | None) -> None:
        """Use ``value`` for one control whatever the script writes; None gives it back."""
        if value is not None:
            self._check_steps_here("overridden")
        self._scene.world.interventions.override(index, value)

    def set_control_noise(self, std: float, rate: float) -> None:
        """Add noise to the controls."""
        if std > 0.0:
            self._check_steps_here("disturbed")
        self._scene.world.interventions.set_noise(std, rate)

    def release_interventions(self) -> None:
        """End perturbation, overrides and noise."""
        self._scene.world.interventions.release()

    def intervene(self) -> None:
        """Put them in place for the physics step that follows at once."""
        self._scene.world.interventions.apply()

    def _check_steps_here(self, what: str) -> None:
        stepper, name = self._scene.stepper, self._scene.name
        if stepper.synced_at == self._scene.counters.single > 0:
            raise CommandError(
                f"{name!r} can't be {what}: its script calls mj_step itself and only reports by "
                "sync(), so nothing can be put in just before its steps; let it call "
                "scene.step(), or start it with `stroboscope run`"
            )

    def findings(self) -> tuple[Finding, ...]:
        """Return what usually is a mistake in the model and the state as it stands."""
        world = self._scene.world
        return lint(world.model, world.live(), adapter=world.adapter)

    def on_mode(self, event: str) -> None:
        """Run the script's callbacks for ``play``, ``pause`` or ``restore``."""
        scene = self._scene
        events = [Event(event)]
        if event == Event.RESTORE and scene.stepper.pre_step_done:
            # The parked step has asked its controller already, about a state that is gone.
            events.append(Event.PRE_STEP)
        for each in events:
            if scene.callbacks.has(each):
                with scene.link.owner.signals.let_through():
                    scene.callbacks.run(each, scene)


def _write_quaternions(array: Any, index: int, values: Sequence[float]) -> None:
    """Write into (n, 4) quaternions seen flat, and make those written unit quaternions."""
    first, last = index // 4, (index + len(values) - 1) // 4 + 1
    wanted = array[4 * first : 4 * last].copy()
    wanted[index - 4 * first : index - 4 * first + len(values)] = values
    lengths = np.linalg.norm(wanted.reshape(-1, 4), axis=1, keepdims=True)
    if not (lengths > _SHORTEST_QUATERNION).all():
        raise CommandError("a quaternion of length 0 has no direction: mocap_quat needs w, x, y, z")
    array[4 * first : 4 * last] = (wanted.reshape(-1, 4) / lengths).reshape(-1)
