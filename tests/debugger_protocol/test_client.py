"""The blocking client against a real server on a real socket."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from stroboscope.debugger_protocol import messages as m
from stroboscope.debugger_protocol.arrays import asset_digest
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.exceptions import (
    CommandError,
    CommandTimeout,
    ConnectionLost,
    NoSessionError,
)
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.topics import Topic


def test_a_client_without_a_file_finds_the_only_session(small_server):
    with DebuggerClient.connect() as client:
        assert client.session.script == "small.py"
        [scene] = client.scenes()
        assert (scene.scene_id, scene.name, scene.step_count, scene.n_envs) == (1, "Arm", 0, 1)
        assert scene.mode is m.PlaybackMode.PAUSED
        assert scene.location == "train.py:7"
        assert client.has_control


def test_without_any_session_the_error_says_how_to_start_one():
    with pytest.raises(NoSessionError, match="stroboscope run"):
        DebuggerClient.connect()


def test_after_a_step_the_scenes_are_as_new_as_the_step(small_server):
    with DebuggerClient.connect(small_server.file.path) as client:
        for count in (1, 2, 5):
            client.step(1, count)
            assert client.scenes()[0].step_count == small_server.steps
        assert small_server.steps == 8


def test_every_command_arrives_as_what_it_was_called(small_server):
    with DebuggerClient.connect() as client:
        client.play()
        client.pause(scene_id=1)
        client.fast_forward(scene_id=1)
        client.set_speed(2)
        client.run_until(1, time=1.5)
        client.restore_initial(1)
        client.edit_state(1, "ctrl", 2, [0.5, 1])
        client.unsubscribe(1, ["pose"])
        client.request_control()
        client.release_control()
    kinds = [type(message).__name__ for message in small_server.received]
    assert kinds == [
        "Play",
        "Pause",
        "FastForward",
        "SetSpeed",
        "RunUntil",
        "RestoreInitial",
        "EditState",
        "Unsubscribe",
        "RequestControl",
        "ReleaseControl",
    ]
    assert small_server.received[6].values == (0.5, 1.0)
    assert small_server.received[6].field is m.EditField.CTRL


def test_a_refused_command_raises_the_servers_reason(small_server):
    with DebuggerClient.connect() as client, pytest.raises(CommandError, match="no scene 7"):
        client.step(7)


def test_a_value_that_is_no_number_is_refused_and_the_connection_lives_on(small_server):
    with DebuggerClient.connect() as client:
        with pytest.raises(CommandError, match="speed is nan"):
            client.set_speed(float("nan"))
        with pytest.raises(CommandError, match="count is 0"):
            client.step(1, 0)
        with pytest.raises(CommandError, match="1/64 to 64"):
            client.set_speed(1000)
        client.step(1)


def test_an_owner_that_is_busy_raises_command_timeout_with_its_place(small_server):
    with DebuggerClient.connect() as client, pytest.raises(CommandTimeout, match=r"train\.py:118"):
        client.physics_step(1)


def test_frames_arrive_with_arrays_and_none_after_the_timeout(small_server):
    with DebuggerClient.connect() as client:
        client.subscribe(1, [Topic.POSE])
        assert client.next_frame(timeout=0.0) is None
        client.step(1, 3)
        frame = client.next_frame(timeout=60)
        assert (frame.scene_id, frame.topic, frame.step, frame.axis) == (1, Topic.POSE, 3, 3)
        assert frame.time == pytest.approx(0.006)
        np.testing.assert_array_equal(frame.arrays["xpos"], np.full((3, 3), 3.0))
        assert not frame.arrays["xpos"].flags.writeable


def test_frames_nobody_fetched_are_replaced_and_counted(small_server, wait_until, frames_until):
    with DebuggerClient.connect() as client:
        for step in range(1, 51):
            small_server.broadcast([small_server.frame(step)])
        small_server.broadcast([m.LogEntry(level=m.LogLevel.INFO, text="end", wall_time=0.0)])
        wait_until(lambda: client.log_entries())
        frames = frames_until(client, lambda frames: frames and frames[-1].step == 50)
        assert len(frames) + sum(frame.dropped for frame in frames) == 50
        assert client.next_frame(timeout=0.0) is None


def test_the_description_is_fetched_once(small_server):
    with DebuggerClient.connect() as client:
        assert client.description(1).revision == 1
        client.description(1)
    assert [type(x) for x in small_server.received] == [m.Subscribe]
    assert small_server.received[0].topics == ()


def test_an_asset_comes_in_ranges_and_is_checked(small_server):
    with DebuggerClient.connect() as client:
        arrays = client.asset(asset_digest(small_server.asset))
        assert arrays["vertices"].shape == (900_000,)
        assert arrays["vertices"][-1] == 899_999
        with pytest.raises(CommandError, match="no such asset"):
            client.asset("0" * 64)
    assert sum(isinstance(x, m.AssetRequest) for x in small_server.received) == 5


def test_commands_from_several_threads_are_answered_each_once(small_server):
    errors = []
    with DebuggerClient.connect() as client:

        def work():
            try:
                for _ in range(20):
                    client.step(1)
            except BaseException as error:  # noqa: BLE001 - reported below
                errors.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not errors
    assert small_server.steps == 80


def test_a_command_in_flight_fails_when_the_server_stops(small_server, wait_until):
    small_server.unanswered.add(m.Play)
    with DebuggerClient.connect() as client:
        caught = []

        def play():
            with pytest.raises(ConnectionLost) as info:
                client.play()
            caught.append(str(info.value))

        thread = threading.Thread(target=play)
        thread.start()
        wait_until(lambda: small_server.received)
        small_server.stop("the script ended")
        thread.join()
        assert "the script ended" in caught[0]
        with pytest.raises(ConnectionLost, match="the script ended"):
            client.next_frame(timeout=60)


def test_closing_tells_the_server_and_twice_is_harmless(small_server, wait_until):
    client = DebuggerClient.connect()
    client.close()
    client.close()
    wait_until(lambda: small_server.left)
    assert small_server.left == [(1, "the client closed the connection")]
    with pytest.raises(ConnectionLost):
        client.scenes()


def test_a_message_sent_just_before_the_end_still_arrives(small_server, wait_until):
    with DebuggerClient.connect() as client:
        small_server.broadcast([m.SceneAdded(scene_id=2, name="Late")])
        small_server.stop("over")
        wait_until(lambda: client.closed_reason == "over")
        added = [e.name for e in client.events() if isinstance(e, m.SceneAdded)]
        assert added == ["Arm", "Late"]


def test_hundreds_of_scenes_at_the_start_do_not_overflow_anything(small_server):
    added = [m.SceneAdded(scene_id=i, name=f"Env {i}") for i in range(2, 700)]
    joined = small_server.client_joined
    small_server.client_joined = lambda client: (client.send_snapshot(added), joined(client))
    with DebuggerClient.connect() as client:
        assert len(client.scenes()) == 699


def test_log_entries_beyond_the_queue_are_counted_not_fatal(small_server, wait_until):
    with DebuggerClient.connect() as client:
        entries = [
            m.LogEntry(level=m.LogLevel.INFO, text=str(i), wall_time=0.0) for i in range(600)
        ]
        small_server.broadcast(entries)
        wait_until(lambda: client.log_entries() and client.log_entries()[-1].text == "599")
        texts = [entry.text for entry in client.log_entries()]
        assert any("were dropped" in text for text in texts)
        client.play()


CHILD = """
import sys, time
from stroboscope.debugger_protocol.client import DebuggerClient
client = DebuggerClient.connect()
client.subscribe(1, ["pose"])
print("ready", flush=True)
time.sleep(600)
"""


@pytest.fixture
def child_client(small_server, wait_until):
    process = subprocess.Popen([sys.executable, "-c", CHILD], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_killed_client_is_noticed_at_once(small_server, child_client, wait_until):
    child_client.kill()
    wait_until(lambda: small_server.left)
    assert "gone" in small_server.left[0][1] or "ended" in small_server.left[0][1]


class TestFrozenClient:
    """A SIGSTOPped client: it reads nothing, says nothing, and harms nobody."""

    @pytest.fixture
    def limits(self):
        return Limits(lease_timeout=1.5, heartbeat_interval=0.3)

    def test_it_loses_its_place_after_the_silence(self, small_server, child_client, wait_until):
        os.kill(child_client.pid, signal.SIGSTOP)
        wait_until(lambda: small_server.left)
        assert "silent for 1.5 s" in small_server.left[0][1]
        os.kill(child_client.pid, signal.SIGCONT)

    def test_frames_for_it_take_no_memory_and_others_get_theirs(
        self, small_server, child_client, wait_until
    ):
        os.kill(child_client.pid, signal.SIGSTOP)
        with DebuggerClient.connect() as other:
            [frozen] = [c for c in small_server.listener.clients.values() if c.client_id == 1]
            for step in range(1, 200):
                small_server.broadcast([small_server.frame(step, size=20_000)])
            assert len(frozen._lanes.frames) <= 1
            wait_until(lambda: (f := other.next_frame(1.0)) is not None and f.step == 199)
        os.kill(child_client.pid, signal.SIGCONT)


def test_a_client_that_stops_reading_is_disconnected_when_control_overflows(
    small_server, child_client, wait_until
):
    os.kill(child_client.pid, signal.SIGSTOP)
    described = "x" * 100_000
    many = [m.ControlChanged(controller=None, reason=described) for _ in range(400)]
    small_server.broadcast(many)
    wait_until(lambda: small_server.left)
    assert "control messages wait" in small_server.left[0][1]
    os.kill(child_client.pid, signal.SIGCONT)
