"""One debug server over real sockets: playback, timeouts and control."""

import socket
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from oscillator import Scene, Stepper, parked

from stroboscope.debugger_protocol.client import CommandError, CommandTimeout, DebuggerClient, Frame
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.host.server import DebugServer, Patience
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.messages import (
    ControlChanged,
    OwnerActivity,
    PlaybackMode,
    SceneChannels,
    SceneRemoved,
    SceneRestored,
)
from stroboscope.debugger_protocol.topics import Instant, Topic

Wait = Callable[..., None]
FAST = PlaybackMode.FAST_FORWARD


# --- life


def test_start_and_stop_are_idempotent_from_any_thread(host: Host) -> None:
    server = DebugServer(host)
    assert not server.is_running()
    assert server.get_port() == 0
    for _ in range(3):
        server.start()
        server.start()
        port, file = server.get_port(), server.connection_file
        assert port > 0
        assert file is not None
        assert file.exists()
        thread = threading.Thread(target=server.stop)
        thread.start()
        thread.join()
        server.stop()
        assert not file.exists()
        assert server.get_port() == 0
        assert server.connection_file is None
        assert not server.has_connection()


def test_a_port_that_is_taken_raises(host: Host) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        server = DebugServer(host)
        with pytest.raises(OSError, match="in use"):
            server.start(taken.getsockname()[1])
        assert not server.is_running()
    server.start()
    server.stop()


def test_waiting_for_a_client_counts_silence(server: DebugServer) -> None:
    asked: list[int] = []

    def starting_up() -> Patience:
        asked.append(1)
        return Patience.EXTEND if len(asked) < 5 else Patience.GIVE_UP

    begun = time.monotonic()
    assert not server.wait_for_client(0.08, keep_waiting=starting_up)
    assert len(asked) == 5
    assert time.monotonic() - begun > 0.15
    assert not server.wait_for_client(0.01)


def test_a_client_that_comes_ends_the_wait(
    server: DebugServer, connect: Callable[[], DebuggerClient]
) -> None:
    waiting = threading.Thread(target=server.wait_for_client, args=(60,))
    waiting.start()
    connect()
    waiting.join(60)
    assert not waiting.is_alive()
    assert server.has_connection()


def test_a_client_that_came_and_went_before_anybody_looked_is_not_missed(
    server: DebugServer, connect: Callable[[], DebuggerClient]
) -> None:
    with connect() as client:
        client.wait_until(lambda _: server.has_connection(), 60)
    with server._changed:
        assert server._changed.wait_for(lambda: not server.has_connection(), 60)
    assert server.wait_for_client(0.0)
    assert not server.wait_for_client(0.0), "that one is known by now"


# --- playback over the wire


def test_one_step_of_three_scenes_over_the_wire(
    host: Host, connect: Callable[..., DebuggerClient], own: Callable[..., Stepper]
) -> None:
    client = connect()
    steppers = [own(host, name) for name in "ABC"]
    assert client.wait_until(lambda c: len(c.scenes()) == 3, 60)
    for expected in range(1, 11):
        client.step(2)
        assert [s.step_count for s in client.scenes()] == [0, expected, 0]
    assert [s.scene.backend.step_count for s in steppers] == [0, 10, 0]


def test_play_is_as_fast_as_wall_time_and_fast_forward_faster(
    host: Host,
    server: DebugServer,
    connect: Callable[..., DebuggerClient],
    own: Callable[..., Stepper],
) -> None:
    client = connect()
    own(host, "A")
    client.play()
    assert client.wait_until(lambda c: c.scenes()[0].throttled, 60)
    assert client.wait_until(lambda c: (c.scenes()[0].rtf or 0) > 0.8, 60)
    rtf = client.scenes()[0].rtf
    assert rtf is not None
    assert rtf < 1.2
    client.set_speed(4.0)
    assert client.wait_until(lambda c: (c.scenes()[0].rtf or 0) > 3.0, 60)
    assert client.session_status.speed == 4.0
    with pytest.raises(CommandError, match="1/64"):
        client.set_speed(1000.0)
    client.fast_forward()
    assert client.wait_until(lambda c: (c.scenes()[0].rtf or 0) > 5.0, 60)
    assert client.wait_until(lambda c: not c.scenes()[0].throttled, 60)


def test_a_pause_says_at_once_where_everything_stands(
    host: Host, connect: Callable[..., DebuggerClient], own: Callable[..., Stepper]
) -> None:
    client = connect()
    stepper = own(host, "A", nstep=3)
    for _ in range(30):
        client.fast_forward()
        client.pause()
        told = client.scenes()[0].step_count
        assert client.wait_until(parked, 60)
        assert client.scenes()[0].step_count == told == stepper.scene.backend.step_count


def test_restore_is_announced_and_the_scene_is_shown_as_it_stands(
    host: Host,
    connect: Callable[..., DebuggerClient],
    own: Callable[..., Stepper],
    frames_until: Callable[..., list[Frame]],
) -> None:
    client = connect()
    own(host, "A")
    client.subscribe(1, [Topic.POSE])
    client.step(1, 40)
    client.restore_initial(1)
    assert any(isinstance(event, SceneRestored) for event in client.events())
    assert client.scenes()[0].step_count == 0
    assert client.scenes()[0].axis == 40
    newest = frames_until(
        client,
        lambda frames: (
            frames
            and (frames[-1].instant, frames[-1].axis, frames[-1].step) == (Instant.NOW, 40, 0)
        ),
    )[-1]
    assert newest.arrays["xpos"][1, 2] == 1.0


def test_a_new_window_sees_a_standing_scene_at_once(
    host: Host, connect: Callable[..., DebuggerClient], own: Callable[..., Stepper]
) -> None:
    first = connect()
    stepper = own(host, "A")
    first.step(1, 7)
    assert first.wait_until(parked, 60)
    taken = stepper.scene.backend.frames_taken
    second = connect(observe=True)
    second.subscribe(1, [Topic.POSE, Topic.STATE])
    topics = set()
    for _ in range(2):
        frame = second.next_frame(60)
        assert frame is not None
        assert frame.axis == 7
        topics.add(frame.topic)
    assert topics == {Topic.POSE, Topic.STATE}
    assert second.next_frame(0.2) is None
    # Once per change, not again and again.
    assert stepper.scene.backend.frames_taken == taken + 1


def test_executed_frames_hold_the_state_before_their_step(
    host: Host,
    connect: Callable[..., DebuggerClient],
    own: Callable[..., Stepper],
    frames_until: Callable[..., list[Frame]],
) -> None:
    client = connect()
    own(host, "A")
    client.subscribe(1, [Topic.STATE])
    client.step(1)
    frames = {}

    def both(seen: list[Frame]) -> bool:
        frames.update({(frame.instant, frame.axis): frame for frame in seen[-1:]})
        return {(Instant.EXECUTED, 0), (Instant.NOW, 1)} <= set(frames)

    frames_until(client, both)
    executed, now = frames[Instant.EXECUTED, 0], frames[Instant.NOW, 1]
    assert (executed.axis, executed.step, executed.time) == (0, 0, 0.0)
    assert executed.arrays["qpos"].tolist() == [1.0]
    assert (now.axis, now.step, now.time) == (1, 1, pytest.approx(0.002))
    assert now.arrays["qpos"][0] < 1.0


def test_every_physics_step_of_a_plotted_channel_arrives(
    host: Host, connect: Callable[..., DebuggerClient], own: Callable[..., Stepper]
) -> None:
    client = connect()
    own(host, "A", nstep=3)
    client.subscribe(1, [Topic.SIGNALS], ["qpos", "qacc"])
    client.step(1, 100)
    axes: list[int] = []
    while len(axes) < 300:
        frame = client.next_frame(60)
        assert frame is not None
        assert frame.dropped == 0
        axes += frame.arrays["axis"].tolist()
        assert frame.arrays["qpos"].shape == (len(frame.arrays["axis"]), 1)
    assert axes == list(range(300))


class Rows:
    """The rows of signals that a client has got."""

    def __init__(self, client: DebuggerClient) -> None:
        self._client = client
        self.axis: dict[str, list[int]] = {}

    def take(self, channel: str, count: int) -> list[int]:
        """Take frames until ``channel`` has ``count`` rows; return where those are."""
        while len(self.axis.get(channel, ())) < count:
            frame = self._client.next_frame(60)
            assert frame is not None, f"{channel} has {self.axis.get(channel)}"
            assert frame.dropped == 0
            for name in frame.arrays.keys() - {"axis", "time"}:
                self.axis.setdefault(name, []).extend(frame.arrays["axis"].tolist())
        return self.axis[channel]


def test_rows_that_wait_for_their_rate_are_sent_when_channels_are_added_and_dropped(
    host: Host, connect: Callable[..., DebuggerClient], own: Callable[..., Stepper]
) -> None:
    client = connect()
    own(host, "A")
    rows = Rows(client)
    # A second is a long time: nothing but the change brings these rows.
    client.subscribe(1, [Topic.SIGNALS], ["qpos"], max_rate_hz=1.0)
    client.step(1, 3)
    client.subscribe(1, [Topic.SIGNALS], ["qacc"], max_rate_hz=1.0)
    client.step(1, 4)
    client.unsubscribe(1, [Topic.SIGNALS], ["qpos"])
    client.step(1, 5)
    client.unsubscribe(1, [Topic.SIGNALS])
    client.step(1, 6)
    client.subscribe(1, [Topic.SIGNALS], ["qpos"], max_rate_hz=1.0)
    client.step(1, 1)
    assert rows.take("qpos", 8) == [*range(7), 18]
    assert rows.take("qacc", 9) == list(range(3, 12))


def test_what_one_client_plots_costs_the_other_no_row(
    host: Host, connect: Callable[..., DebuggerClient], own: Callable[..., Stepper]
) -> None:
    first, second = connect(), connect(observe=True)
    stepper = own(host, "A", between=lambda: stepper.scene.link.log("reward", 1.0))
    first.subscribe(1, [Topic.SIGNALS], ["qpos"])
    first.play()
    mine, others = Rows(first), Rows(second)
    for turn in range(10):
        second.subscribe(1, [Topic.SIGNALS], ["qacc", "reward"], max_rate_hz=10.0)
        before = len(others.axis.get("qacc", ()))
        others.take("qacc", before + 50)
        second.unsubscribe(1, [Topic.SIGNALS], [] if turn % 2 else ["qacc"])
        mine.take("qpos", len(mine.axis.get("qpos", ())) + 50)
    first.pause()
    assert first.wait_until(lambda c: c.scenes()[0].activity is OwnerActivity.PARKED, 60)
    steps = first.scenes()[0].physics_step_count
    begin = mine.axis["qpos"][0]
    assert mine.take("qpos", steps - begin) == list(range(begin, steps))


def test_a_thread_that_parks_tells_where_all_its_scenes_stand(
    host: Host, connect: Callable[..., DebuggerClient], own: Callable[..., Stepper]
) -> None:
    client = connect()
    own(host, "A", "B", nstep=3)
    client.step(1, 1)
    client.step(2, 1)
    for _ in range(5):
        begin = client.scenes()[1].step_count
        client.fast_forward()
        assert client.wait_until(lambda c, b=begin: c.scenes()[1].step_count > b + 50, 60)
        client.pause(scene_id=2)
        assert client.wait_until(lambda c: c.scenes()[0].activity is OwnerActivity.PARKED, 60)
        # They take turns, and the thread stands before a step of B.
        assert client.wait_until(
            lambda c: c.scenes()[0].total_steps == c.scenes()[1].total_steps + 1, 60
        )


def test_channels_of_the_script_are_announced_and_plotted_from_their_start(
    host: Host, connect: Callable[..., DebuggerClient], own: Callable[..., Stepper]
) -> None:
    client = connect()
    stepper = own(
        host, "A", between=lambda: stepper.scene.link.log("reward", [1.5, 2.5], names=["a", "b"])
    )
    client.step(1, 5)
    assert client.wait_until(
        lambda c: any(isinstance(event, SceneChannels) for event in c.events()), 60
    )
    client.subscribe(1, [Topic.SIGNALS], ["reward"])
    frame = client.next_frame(60)
    assert frame is not None
    assert frame.arrays["reward"].tolist() == [[1.5, 2.5]] * len(frame.arrays["axis"])
    assert frame.arrays["axis"][0] == 1
    with pytest.raises(CommandError, match="channels"):
        client.subscribe(1, [Topic.SIGNALS])


def test_unsubscribed_topics_cost_nothing(
    host: Host, connect: Callable[..., DebuggerClient], own: Callable[..., Stepper]
) -> None:
    client = connect()
    stepper = own(host, "A")
    client.subscribe(1, [Topic.POSE])
    client.subscribe(1, [Topic.SIGNALS], ["qpos"])
    client.step(1)
    client.unsubscribe(1, [Topic.POSE, Topic.SIGNALS])
    client.step(1)
    taken = stepper.scene.backend.frames_taken
    client.step(1, 50)
    assert stepper.scene.backend.frames_taken == taken
    assert stepper.scene.link.ring is None


def test_assets_arrive_in_ranges(
    host: Host, connect: Callable[..., DebuggerClient], own: Callable[..., Stepper]
) -> None:
    from oscillator import MESH, Oscillator

    client = connect()
    backend = Oscillator(mesh=True)
    host.open_scene("mesh", backend)
    assert client.wait_until(lambda c: bool(c.scenes()), 60)
    description = client.description(1)
    arrays = client.asset(description.meshes[0].digest)
    assert np.array_equal(arrays["vertices"], MESH["vertices"])
    with pytest.raises(CommandError, match="no described scene"):
        client.asset("0" * 64)


def test_a_closed_scene_disappears(host: Host, connect: Callable[..., DebuggerClient]) -> None:
    client = connect()
    scene = Scene(host, "A")
    assert client.wait_until(lambda c: len(c.scenes()) == 1, 60)
    scene.link.close()
    assert client.wait_until(lambda c: not c.scenes(), 60)
    assert any(isinstance(event, SceneRemoved) for event in client.events())
    with pytest.raises(CommandError, match="no scene"):
        client.step(1)


# --- timeouts


@pytest.fixture
def quick() -> Iterator[tuple[Host, DebuggerClient]]:
    """A host whose commands time out quickly, and a client that controls it."""
    host = Host(limits=Limits(command_timeout=0.4))
    server = DebugServer(host)
    server.start()
    with DebuggerClient.connect(server.connection_file) as client:
        yield host, client
    server.stop()
    host.close()


def test_a_step_that_the_owner_does_not_get_to_says_where_it_is(
    quick: tuple[Host, DebuggerClient], clients: list[DebuggerClient], own: Callable[..., Stepper]
) -> None:
    host, client = quick
    clients.append(client)
    gate = threading.Event()
    stepper = own(host, "A", between=lambda: gate.wait(60) and None)
    client.step(1)
    with pytest.raises(CommandTimeout, match=r"busy in your code for .* s, test_server.py:\d+"):
        client.step(1)
    assert client.wait_until(lambda c: c.scenes()[0].activity is OwnerActivity.USER_CODE, 60)
    gate.set()
    assert client.wait_until(parked, 60)
    # The right to move was withdrawn with the answer.
    assert stepper.scene.backend.step_count == 1


def test_a_long_run_does_not_time_out_while_it_gets_on(
    quick: tuple[Host, DebuggerClient], own: Callable[..., Stepper]
) -> None:
    host, client = quick
    pause = threading.Event()
    stepper = own(host, "A", between=lambda: pause.wait(0.01) and None)
    client.step(1, 80)
    assert stepper.scene.backend.step_count == 80


def test_a_scene_that_waits_for_a_parked_one_says_so_and_steps_with_dependents(
    quick: tuple[Host, DebuggerClient], own: Callable[..., Stepper]
) -> None:
    host, client = quick
    turn = threading.Semaphore(0)
    leader = own(host, "leader", between=turn.release)
    follower = own(host, "follower", between=lambda: turn.acquire(timeout=60) and None)
    client.step(2)  # the first step waits for nobody
    with pytest.raises(CommandTimeout, match="waiting for leader"):
        client.step(2)
    client.step(2, with_dependents=True)
    assert follower.scene.backend.step_count == 2
    assert leader.scene.backend.step_count >= 1
    turn.release(1000)


def test_a_stepped_scene_behind_a_parked_one_of_its_thread_names_it(
    quick: tuple[Host, DebuggerClient], own: Callable[..., Stepper]
) -> None:
    host, client = quick
    stepper = own(host, "A", "B")
    with pytest.raises(CommandTimeout, match="waiting for A"):
        client.step(2)
    client.step(2, with_dependents=True)
    assert [s.backend.step_count for s in stepper.scenes] == [1, 1]


# --- control


def test_the_first_client_controls_and_others_are_told_how_to(
    host: Host, connect: Callable[..., DebuggerClient], own: Callable[..., Stepper]
) -> None:
    first, second = connect(), connect()
    own(host, "A")
    assert first.has_control
    assert not second.has_control
    with pytest.raises(CommandError, match=r"request_control\(\)"):
        second.step(1)
    second.request_control()
    assert first.wait_until(lambda c: not c.has_control, 60)
    assert any(isinstance(event, ControlChanged) for event in first.events())
    second.step(1)
    with pytest.raises(CommandError, match="observe"):
        first.play()


def test_two_clients_do_not_disturb_each_other_when_one_leaves(
    host: Host, connect: Callable[..., DebuggerClient], own: Callable[..., Stepper]
) -> None:
    first, second = connect(), connect()
    stepper = own(host, "A")
    first.step(1, 3)
    second.close()
    first.step(1, 3)
    third = connect()
    assert first.session_status.mode is PlaybackMode.PAUSED
    assert stepper.scene.backend.step_count == 6
    # The controlling client's going sets the others' scenes free.
    first.close()
    assert third.wait_until(lambda c: c.session_status.mode is PlaybackMode.PLAYING, 60)
    assert third.wait_until(lambda c: c.session_status.controller is None, 60)
    assert third.wait_until(lambda c: c.scenes()[0].step_count > 6, 60)
    fourth = connect()
    assert fourth.has_control
    assert fourth.session_status.mode is PlaybackMode.PLAYING


def test_a_released_control_lets_the_scenes_go(
    host: Host, connect: Callable[..., DebuggerClient], own: Callable[..., Stepper]
) -> None:
    client = connect()
    own(host, "A")
    assert client.wait_until(parked, 60)
    client.release_control()
    assert client.wait_until(lambda c: c.scenes()[0].step_count > 3, 60)


def test_listening_changes_nothing_until_control_is_asked_for(
    host: Host, own: Callable[..., Stepper], wait_until: Callable[..., None]
) -> None:
    server = DebugServer(host)
    server.start(control=False)
    stepper = own(host, "A")
    with DebuggerClient.connect(server.connection_file) as client:
        assert not client.has_control
        assert client.session_status.mode is FAST
        assert client.wait_until(lambda c: (c.scenes()[0].rtf or 0) > 5, 60)
        with pytest.raises(CommandError, match="nobody controls"):
            client.pause()
        client.request_control()
        assert client.session_status.mode is FAST
        client.pause()
        assert client.wait_until(parked, 60)
    axis = stepper.scene.backend.axis
    wait_until(lambda: stepper.scene.backend.axis > axis + 10)
    server.stop()


def test_an_observer_alone_holds_nobody(
    host: Host, connect: Callable[..., DebuggerClient], own: Callable[..., Stepper]
) -> None:
    watcher = connect(observe=True)
    own(host, "A")
    assert watcher.wait_until(lambda c: bool(c.scenes()) and c.scenes()[0].step_count > 100, 60)
    controller = connect()
    assert controller.has_control
    assert controller.session_status.mode is PlaybackMode.PAUSED
