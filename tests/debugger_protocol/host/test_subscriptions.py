import math
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from oscillator import Scene

from stroboscope.debugger_protocol.arrays import unpack_arrays
from stroboscope.debugger_protocol.backend import SignalSource
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.host import Host, HostListener
from stroboscope.debugger_protocol.host.scene_playback import Interest
from stroboscope.debugger_protocol.host.subscriptions import FramePacker, SceneSubscription
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.messages import Frame, LogEntry, PlaybackMode
from stroboscope.debugger_protocol.topics import Instant, Topic

EXECUTED = (Topic.POSE, Instant.EXECUTED)


@pytest.fixture
def host() -> Iterator[Host]:
    """A host that makes a frame of every step, whatever its steps and frames take here."""
    host = Host(limits=Limits(frames_share=math.inf))
    yield host
    host.close()


@pytest.fixture
def scene(host: Host) -> Scene:
    host.attach(PlaybackMode.FAST_FORWARD)
    scene = Scene(host)
    host.set_interest(scene.link, Interest(intervals={Topic.POSE: 0.0}))
    scene.step()
    return scene


def take(
    subscription: SceneSubscription, *, now: float = 0.0, standing: bool = False
) -> list[Frame]:
    return list(subscription.frames(FramePacker(), now=now, standing=standing))


def test_a_frame_is_sent_once(scene: Scene) -> None:
    subscription = SceneSubscription(scene.link)
    subscription.add([Topic.POSE], [], interval=0.0)
    scene.step()
    assert Instant.EXECUTED in {frame.instant for frame in take(subscription)}
    assert take(subscription) == []
    scene.step()
    assert [frame.dropped for frame in take(subscription)] == [0]


def test_frames_that_were_overwritten_are_counted(scene: Scene) -> None:
    subscription = SceneSubscription(scene.link)
    subscription.add([Topic.POSE], [], interval=0.0)
    take(subscription)
    for _ in range(5):
        scene.step()
    assert [frame.dropped for frame in take(subscription)] == [4]


def test_frames_above_the_asked_rate_are_not_missed(scene: Scene) -> None:
    subscription = SceneSubscription(scene.link)
    subscription.add([Topic.POSE], [], interval=1.0)
    take(subscription, now=0.0)
    sent = []
    for tenth in range(1, 30):
        scene.step()
        sent += take(subscription, now=tenth / 10)
    assert len(sent) == 3
    assert [frame.dropped for frame in sent] == [0, 0, 0]
    # When the scene stands, the newest one is sent whatever the rate.
    scene.step()
    assert take(subscription, now=2.91) == []
    assert len(take(subscription, now=2.91, standing=True)) == 1


def test_the_newest_instant_comes_last(scene: Scene) -> None:
    subscription = SceneSubscription(scene.link)
    subscription.add([Topic.POSE], [], interval=0.0)
    scene.step()
    scene.link.publisher.state_changed()
    scene.link.publish_now()
    instants = [frame.instant for frame in take(subscription)]
    assert instants == [Instant.EXECUTED, Instant.NOW]


def stand(scene: Scene) -> None:
    """Publish the state as the scene stands at it, as a parked owner does."""
    scene.link.has_stale_now()
    scene.link.publish_now()


def pose(frame: Frame) -> float:
    return float(unpack_arrays(frame.arrays, frame.blob)["xpos"].ravel().max())


@pytest.mark.parametrize("change", ["edited", "replaced", "options", "inputs"])
def test_a_new_subscriber_never_gets_what_an_edit_has_made_outdated(
    scene: Scene, change: str
) -> None:
    first = SceneSubscription(scene.link)
    first.add([Topic.POSE], [], interval=0.0)
    stand(scene)
    before = take(first, standing=True)[-1]
    scene.backend.q = 7.0
    match change:
        case "edited":
            scene.link.changes.state_edited("an edit", goes_on=True)
        case "replaced":
            scene.link.state_replaced("a reset")
        case "options":
            scene.link.changes.options_edited()
        case "inputs":
            scene.link.changes.inputs_edited()
    # At the same axis, nothing would tell a client that this is another state than that of before.
    second = SceneSubscription(scene.link)
    second.add([Topic.POSE], [], interval=0.0)
    assert [f for f in take(second, standing=True) if f.instant is Instant.NOW] == []
    stand(scene)
    (frame,) = (f for f in take(second, standing=True) if f.instant is Instant.NOW)
    assert frame.axis == before.axis
    assert pose(frame) == 7.0 != pose(before)
    # Who was there is told the same, and who comes now sees it at once.
    assert [pose(f) for f in take(first, standing=True) if f.instant is Instant.NOW] == [7.0]
    third = SceneSubscription(scene.link)
    third.add([Topic.POSE], [], interval=0.0)
    assert 7.0 in map(pose, take(third, standing=True))


def test_what_was_edited_and_edited_back_comes_to_a_new_subscriber(scene: Scene) -> None:
    publisher = scene.link.publisher
    publisher.publish_now_if_changed(scene.link.monotonic() + 10.0)
    scene.link.changes.state_edited("an edit", goes_on=True)
    scene.link.changes.state_edited("and back", goes_on=True)
    subscription = SceneSubscription(scene.link)
    subscription.add([Topic.POSE], [], interval=0.0)
    publisher.publish_now_if_changed(scene.link.monotonic() + 20.0)
    assert Instant.NOW in {frame.instant for frame in take(subscription)}


def test_a_frame_is_packed_once_for_all_clients(scene: Scene) -> None:
    packer = FramePacker()
    frame = scene.link.publisher.slots[EXECUTED]
    assert packer.pack(1, frame)[1] is packer.pack(1, frame)[1]
    packer.forget(1)


def rows(frames: list[Frame], name: str) -> list[float]:
    arrays = [unpack_arrays(frame.arrays, frame.blob) for frame in frames]
    return np.concatenate([a[name].ravel() for a in arrays]).tolist() if arrays else []


def test_a_change_of_channels_loses_no_row(host: Host, scene: Scene) -> None:
    subscription = SceneSubscription(scene.link)
    subscription.add([Topic.SIGNALS], ["qpos"], interval=0.0)
    host.set_interest(scene.link, Interest(channels=("qpos",)))
    for _ in range(10):
        scene.step()
    # Nothing was read yet when another client's channel changes the ring.
    host.set_interest(scene.link, Interest(channels=("qpos", "qacc")))
    for _ in range(10):
        scene.step()
    frames = list(subscription.signals(lambda: True, now=0.0, standing=True))
    assert rows(frames, "axis") == list(range(1, 21))
    assert [frame.dropped for frame in frames] == [0] * len(frames)
    assert len(rows(frames, "qpos")) == 20
    assert all(entry.name != "qacc" for frame in frames for entry in frame.arrays)


def want(host: Host, scene: Scene, *channels: str) -> None:
    """Have these channels written in the next steps, as the hub would."""
    host.set_interest(scene.link, Interest(channels=channels))


def all_rows(subscription: SceneSubscription) -> list[Frame]:
    return list(subscription.signals(lambda: True, now=0.0, standing=True))


def test_a_client_that_adds_a_channel_gets_the_rows_of_before_too(host: Host, scene: Scene) -> None:
    subscription = SceneSubscription(scene.link)
    subscription.add([Topic.SIGNALS], ["qpos"], interval=0.0)
    want(host, scene, "qpos")
    for _ in range(3):
        scene.step()
    subscription.add([Topic.SIGNALS], ["qacc"], interval=0.0)
    want(host, scene, "qpos", "qacc")
    for _ in range(3):
        scene.step()
    frames = all_rows(subscription)
    assert rows(frames, "axis") == [1, 2, 3, 4, 5, 6]
    assert len(rows(frames, "qpos")) == 6
    assert len(rows(frames[1:], "qacc")) == 3


def test_rows_of_others_from_before_a_subscription_are_not_sent(host: Host, scene: Scene) -> None:
    first = SceneSubscription(scene.link)
    first.add([Topic.SIGNALS], ["qpos"], interval=0.0)
    want(host, scene, "qpos")
    for _ in range(3):
        scene.step()
    second = SceneSubscription(scene.link)
    second.add([Topic.SIGNALS], ["qacc", "qpos"], interval=0.0)
    scene.step()
    want(host, scene, "qpos", "qacc")
    scene.step()
    assert rows(all_rows(first), "axis") == [1, 2, 3, 4, 5]
    frames = all_rows(second)
    assert rows(frames, "axis") == [4, 5]
    assert len(rows(frames[1:], "qacc")) == 1


def test_rows_wait_for_their_reader_while_channels_come_and_go(host: Host, scene: Scene) -> None:
    subscription = SceneSubscription(scene.link)
    subscription.add([Topic.SIGNALS], ["qpos"], interval=0.0)
    for channels in (("qpos",), ("qacc", "qpos"), (), ("qpos",), ()):
        want(host, scene, *channels)
        scene.step()
        scene.step()
    frames = all_rows(subscription)
    assert rows(frames, "axis") == [1, 2, 3, 4, 7, 8]
    assert [frame.dropped for frame in frames] == [0, 0, 0]


def test_rows_of_a_ring_that_is_replaced_are_sent_at_once(host: Host, scene: Scene) -> None:
    subscription = SceneSubscription(scene.link)
    subscription.add([Topic.SIGNALS], ["qpos"], interval=10.0)
    want(host, scene, "qpos")
    scene.step()
    assert len(all_rows(subscription)) == 1
    want(host, scene, "qpos", "qacc")
    scene.step()
    frames = list(subscription.signals(lambda: True, now=0.1, standing=False))
    assert rows(frames, "axis") == [2]


def test_rings_that_a_client_leaves_unread_are_given_up_and_told(host: Host, scene: Scene) -> None:
    subscription = SceneSubscription(scene.link, kept_bytes=10_000)
    subscription.add([Topic.SIGNALS], ["qpos"], interval=0.0)
    turns, length = 12, 100
    for turn in range(turns):
        want(host, scene, *("qpos", "qacc")[: 1 + turn % 2])
        for _ in range(length if turn < turns - 1 else 3):
            scene.step()
    frames = all_rows(subscription)
    told = rows(frames, "axis")
    lost = sum(frame.dropped for frame in frames)
    assert length <= lost == told[0] - 1 <= (turns - 2) * length
    assert told == list(range(1 + lost, (turns - 1) * length + 4))


def test_rows_are_sent_as_often_as_was_asked_for_and_before_they_are_overwritten(
    host: Host, scene: Scene
) -> None:
    subscription = SceneSubscription(scene.link)
    subscription.add([Topic.SIGNALS], ["qpos"], interval=0.125)
    host.set_interest(scene.link, Interest(channels=("qpos",)))

    def sent(now: float, *, standing: bool = False) -> int:
        scene.step()
        frames = list(subscription.signals(lambda: True, now=now, standing=standing))
        return len(rows(frames, "axis"))

    assert sent(1.0) == 1
    assert sent(1.05) == 0
    assert sent(1.12) == 2
    assert sent(1.13) == 0
    assert sent(1.14, standing=True) == 2  # a scene that stands keeps nothing back
    ring = scene.link.ring
    assert ring is not None
    for _ in range(ring.capacity // 4):
        scene.step()
    assert sent(1.15) == ring.capacity // 4 + 1


def test_rows_stay_in_the_ring_until_the_client_takes_them_and_a_gap_is_told(
    host: Host, scene: Scene
) -> None:
    subscription = SceneSubscription(scene.link)
    subscription.add([Topic.SIGNALS], ["qpos"], interval=0.0)
    host.set_interest(scene.link, Interest(channels=("qpos",)))
    scene.step()
    assert list(subscription.signals(lambda: False, now=0.0, standing=True)) == []
    ring = scene.link.ring
    assert ring is not None
    for _ in range(ring.capacity + 50):
        scene.step()
    frames = list(subscription.signals(lambda: True, now=0.0, standing=True))
    told = rows(frames, "axis")
    lost = sum(frame.dropped for frame in frames)
    assert lost == 52
    assert told == list(range(1 + lost, 1 + ring.count))


def test_channels_that_a_new_model_has_not_leave_the_others_and_old_rows_their_revision(
    host: Host, scene: Scene
) -> None:
    host.listener = HostListener()
    subscription = SceneSubscription(scene.link)
    subscription.add([Topic.SIGNALS], ["qpos", "qacc"], interval=0.0)
    host.set_interest(scene.link, Interest(channels=("qpos", "qacc")))
    for _ in range(3):
        scene.step()
    whole = scene.backend.signal_source

    def without_qacc(channels: Sequence[str]) -> SignalSource:
        if "qacc" in channels:
            raise CommandError("this model has no qacc")
        return whole(channels)

    scene.backend.signal_source = without_qacc  # type: ignore[method-assign]
    scene.link.model_replaced()
    for _ in range(3):
        scene.step()
    frames = list(subscription.signals(lambda: True, now=0.0, standing=True))
    assert [frame.revision for frame in frames] == [0, 1]
    assert rows(frames, "axis") == [1, 2, 3, 4, 5, 6]
    assert [entry.name for entry in frames[1].arrays] == ["axis", "time", "qpos"]
    texts = [event.text for event in host.take_events() if isinstance(event, LogEntry)]
    assert sum("qacc can't be read" in text for text in texts) == 1


def test_values_logged_before_anybody_asked_are_not_lost(host: Host, scene: Scene) -> None:
    for value in range(10_000):
        scene.link.log("reward", value)
    channel = scene.link.user_channels["reward"]
    subscription = SceneSubscription(scene.link)
    subscription.add([Topic.SIGNALS], ["reward"], interval=0.0)
    frames = list(subscription.signals(lambda: True, now=0.0, standing=True))
    assert [frame.dropped for frame in frames] == [0] * len(frames)
    assert rows(frames, "reward")[-1] == 9_999
    assert len(rows(frames, "reward")) == channel.capacity - 1


def test_a_clock_that_fails_ends_signals_and_not_the_run(host: Host, scene: Scene) -> None:
    host.listener = HostListener()
    want(host, scene, "qpos")
    scene.step()
    clock = scene.backend.clock
    scene.backend.clock = lambda: clock() if scene.link.ring is None else 1 / 0  # type: ignore
    scene.step()
    scene.step()
    assert scene.link.ring is None
    assert scene.backend.axis == 4
    texts = [event.text for event in host.take_events() if isinstance(event, LogEntry)]
    assert sum("reading signals failed" in text for text in texts) == 1
