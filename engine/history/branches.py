"""Moving a scene into its past: with its script, or with the inputs that were recorded."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.time_messages import Segment, SegmentKind
from stroboscope.engine.errors import EngineError
from stroboscope.engine.history.past import VERIFIED, Past

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene

__all__ = ["Branches"]

# Steps between two reports of progress.
_SLICE = 50


class Branches:
    """Branches of one scene; owner thread only."""

    def __init__(self, scene: "Scene", past: Past) -> None:
        self._scene = scene
        self._past = past

    def continue_from(self, axis: int) -> Segment:
        """Put the scene into a row; what it says of itself is in the segment's text."""
        row, hidden, note = self._past.state(axis)
        counters = self._past.counters(axis)
        episode = self._past.stretch(axis).segment.episode
        scene = self._scene
        scene.world.codec.put_row(row, hidden)
        scene.stepper.mend()
        scene.counters.set_state(counters)
        scene.stepper.forget_time()
        scene.forget_drawing()
        return scene.history.begin(
            SegmentKind.BRANCH, self._text(note), parent_axis=axis, episode=episode
        )

    def _text(self, note: str) -> str:
        registered = self._scene.states.script.registered
        what = ", ".join(map(repr, registered)) or "it has registered none"
        text = f"what the script itself keeps stays as it is ({what}): rows don't hold that"
        return text if note in ("", VERIFIED) else f"{note}; {text}"

    def replay_from(self, axis: int) -> Iterator[float]:
        """Put the scene into a row and step it with the recorded inputs to where it stood.

        Yields progress, 0 to 1. Closed early, or when a step fails, the scene is where it was.
        """
        scene, past = self._scene, self._past
        history, world = scene.history, scene.world
        past.check(axis)
        end = history.segments.end_of(past.stretch(axis), scene.counters.axis)
        if end != scene.counters.axis:
            raise CommandError(
                f"the recorded inputs lead from row {axis} to row {end - 1}, where the scene was "
                "reset, restored or edited: continue with the script, or re-simulate beside it"
            )
        ring = history.ring
        # First all of them: new rows may thin out the old ones.
        inputs = np.array([ring.inputs(each) for each in range(axis, end)])
        timesteps = [ring.timestep(each) for each in range(axis, end)]
        steps = [*(ring.step(each) for each in range(axis, end)), scene.counters.total_steps]
        own = world.codec.read_row()
        before = scene.counters.state()
        episode = history.episode
        self.continue_from(axis)
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
                scene.stepper.forget_time()
                history.begin(
                    SegmentKind.RESTORE, "the re-simulation was given up", episode=episode
                )
        yield 1.0
