"""Moving a scene into its past: with its script, or with the inputs that were recorded."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.time_messages import Segment, SegmentKind
from stroboscope.engine.errors import EngineError, StateError
from stroboscope.engine.history.past import VERIFIED, Past
from stroboscope.engine.model_option_fields import FIELD_OPTION
from stroboscope.engine.physics_options import read_option

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene

__all__ = ["Branches"]

# Steps between two reports of progress.
_SLICE = 50
_MOST_NAMED = 3


class Branches:
    """Branches of one scene; owner thread only."""

    def __init__(self, scene: "Scene", past: Past) -> None:
        self._scene = scene
        self._past = past

    def continue_from(self, axis: int) -> Segment:
        """Put the scene, and what the script has registered, into a row; a branch.

        What becomes of the script's own state is in the segment's text. The last frame of a file,
        where the scene stands, is no row: it goes on from there as it is.
        """
        history = self._scene.history
        if axis == self._scene.counters.axis and history.is_at_recorded_end:
            text = f"from the last frame of {history.recording}"
            return history.begin(
                SegmentKind.BRANCH, text, parent_axis=axis, episode=history.episode
            )
        return self._put(axis, with_script=True)

    def _put(self, axis: int, *, with_script: bool) -> Segment:
        row, hidden, note = self._past.state(axis)
        counters = self._past.counters(axis)
        episode = self._past.stretch(axis).segment.episode
        scene = self._scene
        text = self._put_script(axis) if with_script else "what the script keeps stays as it is"
        scene.world.codec.put_row(row, hidden)
        scene.stepper.mend()
        scene.counters.set_state(counters)
        scene.stepper.note_time()
        scene.forget_drawing()
        model_text = self._model_text(axis)
        text = "; ".join(filter(None, ("" if note in ("", VERIFIED) else note, model_text, text)))
        segment = scene.history.begin(SegmentKind.BRANCH, text, parent_axis=axis, episode=episode)
        if with_script:
            scene.note_script(at_once=True)
        return segment

    def _model_text(self, axis: int) -> str:
        """Say which fields and options of the model were others at a row; they stay as they are."""
        world, past = self._scene.world, self._past
        then = past.options_of(past.stretch(axis))
        names = [
            name.removeprefix(FIELD_OPTION)
            for name, values in then.items()
            if read_option(world.model, name, adapter=world.adapter) != values
        ]
        history = self._scene.history
        now = self._scene.timestep_in_force
        if axis >= history.recording_end:  # of rows of a file it is not known what the model had
            whole, _ = history.own_timesteps.of(axis, history.ring.timestep(axis))
            if whole != now:
                names.insert(0, f"timestep ({whole:g} s, {now:g} s now)")
        if not names:
            return self._scene.history.lost_fields(axis)
        more = f" (+{len(names) - _MOST_NAMED} more)" if len(names) > _MOST_NAMED else ""
        return (
            f"the model stays as it is now: other values then of {', '.join(names[:_MOST_NAMED])}"
            f"{more}"
        )

    def _put_script(self, axis: int) -> str:
        """Put back what the script kept at a row; return what has become of it.

        Raises CommandError when a setter of the script raises; nothing has changed then.
        """
        scene, past = self._scene, self._past
        registered = ", ".join(map(repr, scene.states.script.registered))
        if not registered and axis < scene.history.recording_end:
            return f"from a frame of {scene.history.recording}"
        if not registered:
            return (
                "what the script itself keeps stays as it is: it has registered none of it, see "
                "scene.register_state"
            )
        noted = scene.history.script_rows.before(axis, since=past.stretch(axis).segment.begin)
        if noted is None:
            return (
                f"what the script has registered ({registered}) stays as it is: of this step "
                "nothing was kept of it"
            )
        at, packed = noted
        try:
            scene.states.put_script_of_row(packed)
        except StateError as error:
            raise CommandError(f"the scene can't continue from here: {error}") from error
        late = past.counters(axis).step_count - past.counters(at).step_count
        when = f" as it was {late} steps before" if late > 1 else " as it was a step before"
        return f"what the script has registered ({registered}) went back{when if late else ''}"

    def replay_from(self, axis: int) -> Iterator[float]:
        """Put the scene into a row and step it with the recorded inputs to where it stood.

        Yields progress, 0 to 1. Closed early, or when a step fails, the scene is where it was.
        """
        scene, past = self._scene, self._past
        history, world = scene.history, scene.world
        past.check(axis)
        past.settle(scene.counters.axis - 1, since=axis)  # the model may be another one since
        end = history.segments.end_of(past.stretch(axis), scene.counters.axis)
        if end != scene.counters.axis:
            raise CommandError(self._why_elsewhere(axis, end))
        ring = history.ring
        # First all of them: new rows may thin out the old ones.
        inputs = np.array([ring.inputs(each) for each in range(axis, end)])
        timesteps = [ring.timestep(each) for each in range(axis, end)]
        steps = [*(ring.step(each) for each in range(axis, end)), scene.counters.total_steps]
        own = world.codec.read_row()
        before = scene.counters.state()
        episode = history.episode
        self._put(axis, with_script=False)
        done = False
        try:
            for index in range(end - axis):
                scene.stepper.run_recorded(
                    inputs[index],
                    timestep=timesteps[index],
                    completes=steps[index + 1] > steps[index],
                )
                if index % _SLICE == _SLICE - 1:
                    yield (index + 1) / (end - axis)
            scene.stepper.write_inputs(own[0])
            done = True
        except EngineError as error:
            raise CommandError(f"the recorded inputs can't be run again: {error}") from error
        finally:
            if not done:
                world.codec.put_row(*own)
                scene.counters.set_state(before)
                scene.stepper.note_time()
                history.begin(
                    SegmentKind.RESTORE, "the re-simulation was given up", episode=episode
                )
        yield 1.0

    def _why_elsewhere(self, axis: int, end: int) -> str:
        """Return why recorded inputs do not lead from a row to where the scene stands."""
        past, live = self._past, self._scene.counters.axis
        following = self._scene.history.segments.of(end)
        segment = None if following is None else following.segment
        where = past.clock(end - 1)
        episode = past.stretch(axis).segment.episode
        match None if segment is None else segment.kind:
            case SegmentKind.EPISODE:
                what = f"the scene was reset then, and episode {episode} was over"
            case SegmentKind.RESTORE:
                what = "another state was restored then"
            case SegmentKind.BRANCH:
                what = "the scene was moved to another step of its past then"
            case SegmentKind.EDIT:
                what = "the state, or an option, was edited then"
            case _:
                what = "nobody followed the steps that came then"
        return (
            f"the recorded inputs lead from here to physics step {where.physics_step_count} of "
            f"episode {episode} ({where.time:.6g}\u2009s), and no further: {what}. To where the "
            f"scene stands (row {live}) they don't lead; run them again beside it (“Try from "
            "here”), or continue with the script"
        )
