"""A MuJoCo scene as the debugger's host sees it."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from stroboscope.debugger_protocol.backend import Clock, SceneBackend, SignalSource, TopicFrames
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.messages import EditField
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.engine.callbacks import Event
from stroboscope.engine.describe import describe_model
from stroboscope.engine.errors import StateError
from stroboscope.engine.expression_channels import ExpressionScope
from stroboscope.engine.signal_channels import MujocoSignalSource

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene

__all__ = ["MujocoBackend"]


class MujocoBackend(SceneBackend):
    """Answers the host for one scene. ``describe`` and ``asset`` run on the server thread."""

    def __init__(self, scene: "Scene") -> None:
        self._scene = scene

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
        counters = scene.counters
        return Clock(
            float(scene.world.live().time),
            counters.step_count,
            counters.physics_step_count,
            counters.total_steps,
            counters.axis,
        )

    def begin_frame(self, topics: frozenset[Topic]) -> None:
        """Copy the inputs of the coming physics step."""
        self._scene.world.frames.begin(topics)

    def end_frame(self, topics: frozenset[Topic]) -> TopicFrames:
        """Return the executed frame."""
        return self._scene.world.frames.executed(topics)

    def frame_last_executed(self, topics: frozenset[Topic]) -> tuple[Clock, TopicFrames] | None:
        """Return the executed frame of the last physics step, recomputed from its row."""
        scene = self._scene
        row = scene.stepper.last_row()
        frames = None if row is None else scene.world.frames.executed_again(row, topics)
        if row is None or frames is None:
            return None
        now = self.clock()
        # Between two physics steps of one application step, that one is not counted yet.
        completed = now.step_count - (0 if scene.stepper.is_inside else 1)
        total = now.total_steps - (now.step_count - completed)
        steps = now.physics_step_count - 1
        return Clock(float(row[0]), completed, steps, total, now.axis - 1), frames

    def frame_now(self, topics: frozenset[Topic]) -> TopicFrames:
        """Return the state as it stands, recomputed on scratch data."""
        return self._scene.world.frames.now(topics)

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

    def restore_initial(self, state: bytes) -> None:
        """Put a checkpoint back; CommandError with the reason when it no longer fits."""
        try:
            self._scene.states.restore(state)
        except StateError as error:
            raise CommandError(str(error)) from error

    def edit_state(self, field: EditField, index: int, values: Sequence[float]) -> None:
        """Write values into a state array, all of them or none."""
        data: Any = self._scene.world.live()
        array = getattr(data, field.value)
        end = index + len(values)
        if not values or index < 0 or end > array.size:
            raise CommandError(
                f"{field.value} has {array.size} values; {len(values)} from index {index} on "
                "do not fit"
            )
        if not all(math.isfinite(value) for value in values):
            raise CommandError(
                f"{field.value} takes finite numbers only, not {[*map(float, values)]}"
            )
        array[index:end] = values
        self._scene.link.state_replaced(f"{field.value}[{index}:{end}] was edited")

    def on_mode(self, event: str) -> None:
        """Run the script's callbacks for ``play``, ``pause`` or ``restore``."""
        scene = self._scene
        if event == Event.RESTORE:
            scene.callbacks.run(Event.RESTORE, scene)
            if scene.stepper.pre_step_done:
                # The parked step has asked its controller already, about a state that is gone.
                scene.callbacks.run(Event.PRE_STEP, scene)
        elif event in (Event.PLAY, Event.PAUSE):
            scene.callbacks.run(Event(event), scene)
