"""Rows of a scene's past as clients get them, for tests of several kinds of scenes."""

import numpy as np

import stroboscope.engine as physics
from stroboscope.debugger_protocol.backend import TopicFrames
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.engine.time_machine import MujocoTimeMachine

__all__ = ["DERIVED", "machine", "same"]

DERIVED = frozenset(
    {Topic.POSE, Topic.STATE, Topic.CONTACTS, Topic.SENSORS, Topic.CONSTRAINTS, Topic.ENERGY}
)


def machine(scene: physics.Scene) -> MujocoTimeMachine:
    """Return what clients ask."""
    made = scene.link.backend.time_machine()
    assert isinstance(made, MujocoTimeMachine)
    return made


def same(one: TopicFrames, other: TopicFrames) -> None:
    """Fail where two rows have other values, to the bit."""
    assert one.arrays.keys() == other.arrays.keys()
    for topic, arrays in one.arrays.items():
        for name, values in arrays.items():
            assert np.array_equal(values, other.arrays[topic][name], equal_nan=True), (topic, name)
