"""What the debugger costs a scene's own thread is measured, and only while somebody wants that."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import stroboscope.engine as physics
from stroboscope.debugger_protocol.host.host import HostListener
from stroboscope.debugger_protocol.host.scene_playback import Interest
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.debugger_protocol.topics import Instant, Topic
from stroboscope.engine.runtime import current_runtime


def test_the_owners_time_for_frames_and_rows_is_told_per_physics_step(
    make_scene: Callable[..., physics.Scene], wait_until: Callable[..., None]
) -> None:
    physics.initialize()
    host = current_runtime().host
    host.listener = HostListener()
    host.attach(PlaybackMode.PAUSED)
    stop, opened = threading.Event(), threading.Event()
    scenes: list[physics.Scene] = []

    def run() -> None:
        scenes.append(make_scene())
        opened.set()
        while not stop.is_set():
            scenes[0].step()

    with ThreadPoolExecutor(1) as executor:
        future = executor.submit(run)
        try:
            opened.wait(60)
            link = scenes[0].link
            topics = dict.fromkeys((Topic.TIMING, Topic.BODIES, Topic.ACCELERATION), 0.0)
            host.set_interest(link, Interest(intervals=topics, channels=("qacc", "timing.step")))
            begin = time.perf_counter()
            host.step(link.scene_id, 50)
            wait_until(lambda: scenes[0].counters.axis == 50)
            wait_until(lambda: (Topic.TIMING, Instant.EXECUTED) in link.publisher.slots)
            told = link.publisher.slots[Topic.TIMING, Instant.EXECUTED].arrays["publish"]
            assert told.shape == (1,)
            assert told.dtype == np.float64
            # Frames and rows of 49 steps, or of the last one.
            assert 10e-6 < told[0] < time.perf_counter() - begin
            host.set_interest(link, Interest(intervals={Topic.POSE: 0.0}))
            wait_until(lambda: (Topic.POSE, Instant.NOW) in link.publisher.slots)
            host.step(link.scene_id, 2)
            wait_until(lambda: scenes[0].counters.axis == 52)
            assert link.publisher.time is None
        finally:
            stop.set()
            host.detach("the test is over")
        future.result(60)
