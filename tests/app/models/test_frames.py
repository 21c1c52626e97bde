"""One table never mixes two instants."""

import numpy as np

from stroboscope.app.models.frames import FrameHistory
from stroboscope.debugger_protocol.topics import Instant, Topic


def test_a_set_is_only_made_of_frames_of_one_instant(make_frame):
    history = FrameHistory(Instant.EXECUTED)
    history.add(make_frame(Topic.POSE, Instant.EXECUTED, axis=1))
    history.add(make_frame(Topic.STATE, Instant.EXECUTED, axis=1))
    history.add(make_frame(Topic.POSE, Instant.EXECUTED, axis=2))
    both = history.newest_set((Topic.POSE, Topic.STATE))
    assert both is not None
    assert both.axis == 1
    alone = history.newest_set((Topic.POSE,))
    assert alone is not None
    assert alone.axis == 2


def test_there_is_no_set_while_a_topic_is_missing(make_frame):
    history = FrameHistory(Instant.NOW)
    history.add(make_frame(Topic.POSE, Instant.NOW, axis=1))
    assert history.newest_set((Topic.POSE, Topic.STATE)) is None
    assert history.newest_set(()) is None


def test_an_array_is_float64_and_none_when_it_did_not_come(make_frame):
    history = FrameHistory(Instant.NOW)
    history.add(make_frame(Topic.STATE, Instant.NOW, qpos=[1, 2]))
    frames = history.newest_set((Topic.STATE,))
    assert frames is not None
    array = frames.array(Topic.STATE, "qpos")
    assert array is not None
    assert array.dtype == np.float64
    assert frames.array(Topic.STATE, "qvel") is None
    assert frames.array(Topic.POSE, "xpos") is None


def test_old_frames_are_forgotten(make_frame):
    history = FrameHistory(Instant.NOW)
    for axis in range(10):
        history.add(make_frame(Topic.POSE, Instant.NOW, axis=axis))
    history.add(make_frame(Topic.STATE, Instant.NOW, axis=0))
    assert history.newest_set((Topic.POSE, Topic.STATE)) is None
    history.clear()
    assert history.latest(Topic.POSE) is None
