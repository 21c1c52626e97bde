"""Scenes of the real engine, and what the tables show of one of their instants."""

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

import stroboscope.engine as physics
from stroboscope.app.models.frames import FrameSet, SceneFrame
from stroboscope.debugger_protocol.backend import TopicFrames
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.debugger_protocol.topics import Instant, Topic
from stroboscope.engine.physics_options import describe_options

TOPICS = frozenset(Topic) - {Topic.SIGNALS, Topic.LOG}


@dataclasses.dataclass(frozen=True)
class EngineScene:
    """A scene, stepped on this thread, seen as a window sees it."""

    scene: physics.Scene

    @property
    def description(self) -> SceneDescription:
        """Its description, with the options that its frames carry."""
        described = self.scene.link.backend.describe(1, self.scene.name)
        world = self.scene.world
        options = describe_options(world.model, adapter=world.adapter)
        return msgspec.structs.replace(described, options=options)

    def executed(self) -> FrameSet:
        """Take one step and return everything that it computed."""
        backend = self.scene.link.backend
        clock = backend.clock()
        backend.begin_frame(TOPICS)
        self.scene.step()
        return _set_of(backend.end_frame(TOPICS), Instant.EXECUTED, clock.axis, clock.time)

    def now(self) -> FrameSet:
        """Return the state as it stands, forces predicted."""
        backend = self.scene.link.backend
        clock = backend.clock()
        return _set_of(backend.frame_now(TOPICS), Instant.NOW, clock.axis, clock.time)


def _set_of(frames: TopicFrames, instant: Instant, axis: int, time: float) -> FrameSet:
    made = {
        topic: SceneFrame(
            topic=topic,
            instant=instant,
            revision=0,
            axis=axis,
            step=axis,
            time=time,
            arrays=arrays,
            notes=frames.notes,
        )
        for topic, arrays in frames.arrays.items()
    }
    return FrameSet(instant=instant, axis=axis, step=axis, time=time, frames=made)


@pytest.fixture
def engine_scene() -> Iterator[Callable[[str | Path], EngineScene]]:
    """``engine_scene(model)``: a scene of that MJCF or file."""
    yield lambda model: EngineScene(physics.create_scene("Case", model))
    physics.shutdown()
