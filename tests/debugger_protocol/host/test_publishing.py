import itertools
import math
import time

import pytest
from oscillator import Oscillator, Scene

from stroboscope.debugger_protocol.backend import TopicFrames
from stroboscope.debugger_protocol.host.events import HostListener
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.host.publishing import FramePublisher
from stroboscope.debugger_protocol.host.scene_playback import Interest
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.debugger_protocol.topics import Instant, Topic


def make(backend: Oscillator) -> tuple[FramePublisher, list[str]]:
    reports: list[str] = []
    return FramePublisher(backend, report=reports.append), reports


def test_frames_are_due_at_the_rate_that_was_asked_for() -> None:
    backend = Oscillator()
    publisher, _ = make(backend)
    publisher.interest = {Topic.POSE: 1 / 8, Topic.STATE: 1 / 2}
    begun = []
    for part in range(0, 640, 3):  # steps of 3/512 s, which meet few due times
        if publisher.begin(1.0 + part / 512, every_step=False):
            backend.physics()
            publisher.end()
            begun.append(part)
    assert begun == [-(-64 * frame // 3) * 3 for frame in range(10)]
    assert publisher.slots[Topic.POSE, Instant.EXECUTED].sequence == 10
    assert publisher.slots[Topic.STATE, Instant.EXECUTED].sequence == 3


class Laborious(Oscillator):
    """Frames of it take 4 ms of the thread's own time."""

    def end_frame(self, topics: frozenset[Topic]) -> TopicFrames:
        end = time.thread_time() + 0.004
        while time.thread_time() < end:
            pass
        return super().end_frame(topics)


def test_frames_that_take_long_come_less_often() -> None:
    backend = Laborious()
    publisher, _ = make(backend)
    publisher.interest = {Topic.POSE: 1 / 60}
    begun = []
    for millisecond in range(1000):
        if publisher.begin(1.0 + 1e-3 * millisecond, every_step=False):
            backend.physics()
            publisher.end()
            begun.append(millisecond)
    # 0.004 s are 8 % of 0.05 s; a few frames pass until that is known.
    assert 10 <= len(begun) <= 26
    assert min(after - before for before, after in itertools.pairwise(begun[5:])) >= 49


def test_topics_of_different_rates_have_instants_in_common() -> None:
    backend = Oscillator()
    publisher, _ = make(backend)
    publisher.interest = {Topic.POSE: 1 / 60}
    made: dict[Topic, set[int]] = {topic: set() for topic in Topic}
    for step in range(3000):
        now = 1.0 + step * 0.0011
        if step == 37:  # others join out of step with those that are there
            publisher.interest = {**publisher.interest, Topic.STATE: 1 / 60}
        if step == 51:
            publisher.interest = {**publisher.interest, Topic.CONTACTS: 1 / 9}
        if publisher.begin(now, every_step=False):
            for topic in publisher._begun:
                made[topic].add(step)
        backend.physics()
        publisher.end()
    slow = made[Topic.CONTACTS]
    assert 25 <= len(slow) <= 32
    assert slow - {51} <= made[Topic.POSE] & made[Topic.STATE]
    assert 185 <= len(made[Topic.POSE]) <= 200


def test_single_steps_publish_every_step() -> None:
    backend = Oscillator()
    publisher, _ = make(backend)
    publisher.interest = {Topic.POSE: 10.0}
    for _ in range(5):
        assert publisher.begin(0.0, every_step=True)
        publisher.end()
    assert publisher.slots[Topic.POSE, Instant.EXECUTED].sequence == 5


def test_an_executed_frame_carries_the_clock_of_before() -> None:
    backend = Oscillator()
    publisher, _ = make(backend)
    publisher.interest = {Topic.STATE: 0.1}
    for _ in range(7):
        backend.physics()
    publisher.begin(0.0, every_step=False)
    backend.physics()
    publisher.end()
    assert publisher.slots[Topic.STATE, Instant.EXECUTED].clock.axis == 7


def test_the_present_state_is_published_once_per_change() -> None:
    backend = Oscillator()
    publisher, _ = make(backend)
    publisher.interest = {Topic.POSE: 0.1}
    publisher.publish_now()
    assert not publisher.has_stale_now()
    publisher.interest = {Topic.POSE: 0.1, Topic.STATE: 0.1}
    assert publisher.has_stale_now()
    publisher.publish_now()
    assert not publisher.has_stale_now()
    assert publisher.slots[Topic.POSE, Instant.NOW].sequence == 1
    publisher.state_changed()
    assert publisher.has_stale_now()


def test_a_scene_that_is_only_served_is_published_when_it_has_moved() -> None:
    backend = Oscillator()
    publisher, _ = make(backend)
    publisher.interest = {Topic.POSE: 0.1}
    for tenth in range(10):
        publisher.publish_now_if_changed(tenth * 0.11)
    assert publisher.slots[Topic.POSE, Instant.NOW].sequence == 1
    backend.q = 5.0
    publisher.publish_now_if_changed(10.0)
    assert publisher.slots[Topic.POSE, Instant.NOW].sequence == 2


def test_what_was_executed_before_a_restore_is_not_shown_after_it() -> None:
    backend = Oscillator()
    publisher, _ = make(backend)
    publisher.interest = {Topic.POSE: 0.1}
    publisher.begin(0.0, every_step=True)
    publisher.end()
    publisher.state_replaced()
    assert (Topic.POSE, Instant.EXECUTED) not in publisher.slots
    publisher.begin(0.0, every_step=True)
    publisher.end()
    # A reader that knew the first one must see that this is another.
    assert publisher.slots[Topic.POSE, Instant.EXECUTED].sequence == 2


class Failing(Oscillator):
    """Fails wherever it is told to."""

    failing: str = ""

    def clock(self):  # type: ignore[no-untyped-def]
        if self.failing == "clock":
            raise RuntimeError("no clock")
        return super().clock()

    def begin_frame(self, topics: frozenset[Topic]) -> None:
        if self.failing == "begin":
            raise RuntimeError("no begin")
        super().begin_frame(topics)

    def end_frame(self, topics: frozenset[Topic]) -> TopicFrames:
        if self.failing == "end" and Topic.STATE in topics:
            raise RuntimeError("no end")
        return self.frame_now(topics)


def test_a_failing_topic_is_switched_off_and_the_others_go_on() -> None:
    backend = Failing()
    publisher, reports = make(backend)
    publisher.interest = {Topic.POSE: 0.1, Topic.STATE: 0.1}
    backend.failing = "end"
    for step in range(5):
        publisher.begin(step * 1.0, every_step=True)
        publisher.end()
    assert publisher.slots[Topic.POSE, Instant.EXECUTED].sequence == 5
    assert (Topic.STATE, Instant.EXECUTED) not in publisher.slots
    assert len(reports) == 1
    assert "state" in reports[0]
    assert "no end" in reports[0]


def test_whatever_fails_never_reaches_the_script() -> None:
    for failing in ("clock", "begin", "end"):
        backend = Failing()
        publisher, reports = make(backend)
        publisher.interest = {Topic.STATE: 0.1}
        backend.failing = failing
        for step in range(3):
            publisher.begin(step * 1.0, every_step=True)
            publisher.end()
        publisher.publish_now()
        assert len(reports) == 1, failing


def test_what_failed_is_tried_again_when_the_state_was_replaced() -> None:
    backend = Failing()
    publisher, reports = make(backend)
    publisher.interest = {Topic.STATE: 0.1}
    backend.failing = "end"
    publisher.begin(0.0, every_step=True)
    publisher.end()
    backend.failing = ""
    publisher.begin(1.0, every_step=True)
    publisher.end()
    assert (Topic.STATE, Instant.EXECUTED) not in publisher.slots
    publisher.state_replaced()
    publisher.begin(2.0, every_step=True)
    publisher.end()
    assert publisher.slots[Topic.STATE, Instant.EXECUTED].sequence == 1
    assert len(reports) == 1


@pytest.mark.parametrize(
    ("mode", "is_batch", "frames"),
    [
        (PlaybackMode.FAST_FORWARD, True, 2),  # what they take is known after the first
        (PlaybackMode.FAST_FORWARD, False, 12),
        (PlaybackMode.PLAYING, True, 12),
    ],
)
def test_at_full_speed_frames_hardly_hold_up_steps_that_take_all_cores(
    mode: PlaybackMode, is_batch: bool, frames: int
) -> None:
    host = Host(limits=Limits(frames_share=math.inf, batch_frames_share=1e-9))
    host.attach(mode)
    scene = Scene(host)
    scene.backend.steps_on_all_cores = is_batch
    host.set_interest(scene.link, Interest(intervals={Topic.POSE: 0.0}))
    for _ in range(12):  # in less than the longest interval there is
        scene.step()
    assert scene.link.publisher.slots[Topic.POSE, Instant.EXECUTED].sequence == frames
    host.close()


@pytest.mark.parametrize(
    ("mode", "is_batch", "woken_before"),
    [
        (PlaybackMode.FAST_FORWARD, True, False),
        (PlaybackMode.FAST_FORWARD, False, True),
        (PlaybackMode.PLAYING, True, True),
    ],
)
def test_the_server_thread_is_not_woken_into_a_step_that_takes_all_cores(
    mode: PlaybackMode, is_batch: bool, woken_before: bool
) -> None:
    class Listener(HostListener):
        def __init__(self) -> None:
            self.count = 0

        def wake(self) -> None:
            self.count += 1

    now = [0.0]
    host = Host(monotonic=lambda: now[0])
    host.attach(mode)
    scene = Scene(host)
    scene.backend.steps_on_all_cores = is_batch
    scene.step()  # what is due at first is told
    host.listener = listener = Listener()
    now[0] = 0.5
    scene.link.begin_step()
    assert scene.link.gate()
    assert (listener.count > 0) is woken_before
    scene.link.after_physics()
    scene.link.end_step()
    assert listener.count == 1
    host.close()
