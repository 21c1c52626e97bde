"""How a session lets go: clients that close, die, freeze, and processes that fork."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from oscillator import Scene, Stepper, parked
from samples import few

from stroboscope.debugger_protocol.client import CommandError, CommandTimeout, DebuggerClient, Frame
from stroboscope.debugger_protocol.exceptions import ConnectionLost
from stroboscope.debugger_protocol.host import hub
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.host.server import DebugServer, OnDisconnect
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.messages import (
    ControlChanged,
    LogLevel,
    OwnerActivity,
    PlaybackMode,
    SceneChannels,
    SceneRestored,
)
from stroboscope.debugger_protocol.scene_description import BodyInfo, SceneDescription
from stroboscope.debugger_protocol.topics import Instant, Topic

Wait = Callable[..., None]
FAST = PlaybackMode.FAST_FORWARD
MANY = few(range(20), 2)


@pytest.fixture
def host() -> Iterator[Host]:
    """A host that no silence ends: what goes on here does so because of what was done."""
    host = Host(limits=Limits(lease_timeout=1000.0))
    yield host
    host.close()


# --- release


@pytest.mark.parametrize("way", ["the client closes", "the server stops"])
@pytest.mark.parametrize("trial", MANY)
def test_a_parked_step_goes_on_when(host: Host, wait_until: Wait, way: str, trial: int) -> None:
    server = DebugServer(host)
    server.start()
    client = DebuggerClient.connect(server.connection_file)
    stepper = Stepper(host, "A")
    wait_until(lambda: stepper.scene.link.owner.parked_in is not None)
    if way == "the client closes":
        client.close()
        wait_until(lambda: stepper.scene.backend.axis > 0)
        wait_until(lambda: not server.has_connection())
        server.stop()
    else:
        server.stop()
        wait_until(lambda: stepper.scene.backend.axis > 0)
        with pytest.raises(ConnectionLost):
            client.pause()
        client.close()
    assert not stepper.scene.link.active
    stepper.join()


def test_a_reconnect_is_paused_again_and_keeps_the_initial_state(
    host: Host,
    connect: Callable[..., DebuggerClient],
    own: Callable[..., Stepper],
    wait_until: Wait,
) -> None:
    client = connect()
    stepper = own(host, "A")
    client.step(1, 5)
    client.close()
    wait_until(lambda: stepper.scene.backend.axis >= 50)
    again = connect()
    assert again.wait_until(parked, 60)
    again.restore_initial(1)
    assert stepper.scene.backend.q == 1.0


@pytest.fixture
def slow_news(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let news wait so long that a scene has moved and stopped again before they are sent."""
    monkeypatch.setattr(hub, "_FLUSH_INTERVAL", 0.2)
    monkeypatch.setattr(hub, "_STATUS_INTERVAL", 1.0)


@pytest.mark.usefixtures("slow_news")
def test_every_reconnect_is_told_where_the_scene_has_stopped(
    connect: Callable[..., DebuggerClient],
    host: Host,
    own: Callable[..., Stepper],
    wait_until: Wait,
) -> None:
    client = connect()
    stepper = own(host, "A")
    for _ in range(3):
        client.step(1, 5)
        axis = stepper.scene.backend.axis
        client.close()
        wait_until(lambda axis=axis: stepper.scene.backend.axis >= axis + 50)
        client = connect()
        assert client.wait_until(parked, 60)
        assert client.scenes()[0].axis == stepper.scene.backend.axis


def test_who_looks_at_a_script_that_nobody_has_joined_sees_it_move(
    connect: Callable[..., DebuggerClient],
    host: Host,
    own: Callable[..., Stepper],
    wait_until: Wait,
) -> None:
    stepper = own(host, "A")
    axis = stepper.scene.backend.axis
    with connect(passing=True) as client:
        assert client.scenes()[0].axis >= axis
        assert client.scenes()[0].activity is not OwnerActivity.PARKED
    wait_until(lambda: stepper.scene.backend.axis >= axis + 50)
    with connect(passing=True) as client:
        assert client.scenes()[0].axis >= axis + 50


def test_hold_waits_for_a_reconnect(host: Host, wait_until: Wait) -> None:
    server = DebugServer(host, on_disconnect=OnDisconnect.HOLD)
    server.start()
    stepper = Stepper(host, "A")
    with DebuggerClient.connect(server.connection_file) as client:
        client.step(1, 4) if client.wait_until(parked, 60) else pytest.fail("not parked")
        count = stepper.scene.backend.step_count
    wait_until(lambda: not server.has_connection())
    assert stepper.scene.link.active
    with DebuggerClient.connect(server.connection_file) as client:
        assert client.has_control
        assert client.session_status.mode is PlaybackMode.PAUSED
        assert stepper.scene.backend.step_count == count
        client.step(1)
        assert stepper.scene.backend.step_count == count + 1
    server.stop()
    wait_until(lambda: stepper.scene.backend.step_count > count + 10)
    stepper.join()


def test_release_all_ends_the_session_and_tells_why(
    host: Host, server: DebugServer, connect: Callable[..., DebuggerClient], wait_until: Wait
) -> None:
    client = connect()
    stepper = Stepper(host, "A")
    assert client.wait_until(parked, 60)
    host.release_all("SIGINT")
    wait_until(lambda: stepper.scene.backend.axis > 0)
    wait_until(lambda: "SIGINT" in client.closed_reason)
    wait_until(lambda: not server.has_connection() and not server.is_running())
    stepper.join()
    server.start()
    assert server.is_running()


def test_a_backend_that_fails_is_reported_once_and_never_hurts(
    host: Host,
    connect: Callable[..., DebuggerClient],
    own: Callable[..., Stepper],
    frames_until: Callable[..., list[Frame]],
) -> None:
    client = connect()
    stepper = own(host, "A")

    def broken(topics: frozenset[Topic]) -> None:
        if Topic.STATE in topics:
            raise ZeroDivisionError("no state")
        return original(topics)

    original = stepper.scene.backend.frame_now
    stepper.scene.backend.frame_now = broken  # type: ignore[method-assign, assignment]
    client.subscribe(1, [Topic.STATE, Topic.POSE])
    client.step(1, 50)
    client.step(1, 50)
    assert stepper.scene.backend.step_count == 100
    assert client.wait_until(lambda c: bool(c.log_entries()), 60)
    entries = [entry.text for entry in client.log_entries()]
    assert sum("no state" in text for text in entries) == 1
    frames = frames_until(
        client,
        lambda frames: frames and (frames[-1].instant, frames[-1].axis) == (Instant.NOW, 100),
    )
    assert {frame.topic for frame in frames} == {Topic.POSE}


# --- other processes


CLIENT = """
import sys, time
from stroboscope.debugger_protocol.client import DebuggerClient
client = DebuggerClient.connect(sys.argv[1])
print("connected", flush=True)
time.sleep(1000)
"""


READER = CLIENT.replace(
    'print("conn',
    """client.wait_until(lambda c: c.scenes(), 60)
client.subscribe(1, ["state"])
print("conn""",
)


@pytest.fixture
def client_process() -> Iterator[Callable[[Path], "subprocess.Popen[str]"]]:
    processes: list[subprocess.Popen[str]] = []

    def start(file: Path, code: str = CLIENT) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(file)], stdout=subprocess.PIPE, text=True
        )
        processes.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "connected\n"
        return process

    yield start
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.wait(60)
        assert process.stdout is not None
        process.stdout.close()


@pytest.mark.parametrize("trial", MANY)
def test_a_parked_step_goes_on_when_the_client_is_killed(
    host: Host,
    server: DebugServer,
    client_process: Callable[[Path], "subprocess.Popen[str]"],
    wait_until: Wait,
    trial: int,
) -> None:
    assert server.connection_file is not None
    process = client_process(server.connection_file)
    stepper = Stepper(host, "A")
    wait_until(lambda: stepper.scene.link.owner.parked_in is not None)
    os.kill(process.pid, signal.SIGKILL)
    wait_until(lambda: stepper.scene.backend.axis > 0)
    wait_until(lambda: not server.has_connection())
    stepper.join()


def test_a_frozen_client_loses_its_lease(
    client_process: Callable[[Path], "subprocess.Popen[str]"], wait_until: Wait
) -> None:
    host = Host(limits=Limits(lease_timeout=2.5))
    server = DebugServer(host)
    server.start()
    assert server.connection_file is not None
    process = client_process(server.connection_file)
    stepper = Stepper(host, "A")
    wait_until(lambda: stepper.scene.link.owner.parked_in is not None)
    os.kill(process.pid, signal.SIGSTOP)
    wait_until(lambda: stepper.scene.backend.axis > 100)
    assert not server.has_connection()
    os.kill(process.pid, signal.SIGCONT)
    server.stop()
    stepper.join()
    host.close()


def test_a_frozen_client_never_slows_a_stepping_scene(
    host: Host,
    server: DebugServer,
    client_process: Callable[[Path], "subprocess.Popen[str]"],
    connect: Callable[..., DebuggerClient],
    own: Callable[..., Stepper],
    wait_until: Wait,
) -> None:
    assert server.connection_file is not None
    process = client_process(server.connection_file)
    stepper = own(host, "A")
    client = connect()
    client.request_control()
    client.fast_forward()
    os.kill(process.pid, signal.SIGSTOP)
    for _ in range(20):
        axis = stepper.scene.backend.axis
        wait_until(lambda axis=axis: stepper.scene.backend.axis > axis + 1000)
    assert len(client.scenes()) == 1
    os.kill(process.pid, signal.SIGCONT)


def test_no_frame_is_made_for_a_client_that_has_stopped_reading(
    host: Host,
    server: DebugServer,
    client_process: Callable[..., "subprocess.Popen[str]"],
    connect: Callable[..., DebuggerClient],
    own: Callable[..., Stepper],
    wait_until: Wait,
) -> None:
    assert server.connection_file is not None
    stepper = own(host, "A")
    backend, publisher = stepper.scene.backend, stepper.scene.link.publisher
    # Large enough that what the kernel holds for a client is soon full.
    backend.ballast = 1 << 16
    process = client_process(server.connection_file, READER)
    client = connect()
    client.request_control()
    client.fast_forward()
    wait_until(lambda: publisher.interest)
    os.kill(process.pid, signal.SIGSTOP)

    def none_is_made() -> bool:
        made, axis = backend.frames_taken, backend.axis
        wait_until(lambda: backend.axis > axis + 20_000)
        return backend.frames_taken == made

    # Until all buffers on the way are full it still takes some, now and then: so many steps may
    # lie between two frames.
    wait_until(lambda: not publisher.interest and none_is_made())
    assert not publisher.interest
    assert not stepper.scene.link.applied_interest.intervals
    made = backend.frames_taken
    os.kill(process.pid, signal.SIGCONT)
    wait_until(lambda: backend.frames_taken > made + 3)


def test_a_forked_child_is_detached_and_leaves_the_parent_alone(
    host: Host, server: DebugServer, connect: Callable[..., DebuggerClient]
) -> None:
    client = connect()
    scene = Scene(host, "A")
    client.wait_until(lambda c: len(c.scenes()) == 1, 60)
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        result = b"failed"
        try:
            for _ in range(20):
                scene.step()
            assert not scene.link.active
            assert not server.is_running()
            assert not server.has_connection()
            server.start()
            with DebuggerClient.connect(server.connection_file) as other:
                assert other.session is not None
                assert other.session.pid == os.getpid()
                assert len(other.scenes()) == 1
            server.stop()
            result = b"passed"
        finally:
            os.write(write, result)
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        assert pipe.read() == b"passed"
    os.waitpid(pid, 0)
    assert server.has_connection()
    assert server.connection_file is not None
    assert server.connection_file.exists()
    client.set_speed(2.0)
    assert client.session_status.speed == 2.0


def test_a_step_whose_physics_fails_is_answered_at_once(
    host: Host, connect: Callable[..., DebuggerClient], own: Callable[..., Stepper]
) -> None:
    client = connect()
    stepper = own(host, "A")
    scene = stepper.scene

    def step() -> None:
        scene.link.begin_step()
        try:
            scene.link.gate()
            raise ZeroDivisionError("diverged")
        except ZeroDivisionError:
            scene.link.abandon_step()
            raise

    client.step(1)
    scene.step = step  # type: ignore[method-assign]

    def two_steps() -> None:
        # The first is a good one if it waits in its gate already.
        client.step(1)
        client.step(1)

    with pytest.raises(CommandError, match="did not complete") as raised:
        two_steps()
    assert not isinstance(raised.value, CommandTimeout)
    stepper.thread.join(60)
    assert isinstance(stepper.error, ZeroDivisionError)


def test_a_command_for_a_thread_that_ends_is_answered_at_once(
    host: Host, connect: Callable[..., DebuggerClient], own: Callable[..., Stepper]
) -> None:
    client = connect()
    own(host, "A", max_steps=3)
    with pytest.raises(CommandError, match="has ended") as raised:
        client.step(1, 100)
    assert not isinstance(raised.value, CommandTimeout)


def test_another_client_sees_that_a_frozen_one_has_lost_control(
    client_process: Callable[[Path], "subprocess.Popen[str]"],
) -> None:
    host = Host(limits=Limits(lease_timeout=2.5))
    server = DebugServer(host)
    server.start()
    assert server.connection_file is not None
    process = client_process(server.connection_file)
    stepper = Stepper(host, "A")
    with DebuggerClient.connect(server.connection_file) as watcher:
        assert watcher.wait_until(lambda c: bool(c.scenes()) and parked(c), 60)
        os.kill(process.pid, signal.SIGSTOP)
        assert watcher.wait_until(lambda c: c.session_status.controller is None, 60)
        assert watcher.wait_until(lambda c: c.session_status.mode is PlaybackMode.PLAYING, 60)
        changes = [e for e in watcher.events() if isinstance(e, ControlChanged)]
        assert "silent" in changes[-1].reason
    os.kill(process.pid, signal.SIGCONT)
    server.stop()
    stepper.join()
    host.close()


def test_sixty_four_owner_threads_are_all_stepped(
    host: Host, connect: Callable[..., DebuggerClient]
) -> None:
    client = connect()
    steppers = [Stepper(host, f"scene {i}") for i in range(64)]
    assert client.wait_until(lambda c: len(c.scenes()) == 64, 60)
    for stepper in steppers:
        client.subscribe(stepper.scene.link.scene_id, [Topic.POSE])
        client.step(stepper.scene.link.scene_id)
    assert [s.step_count for s in client.scenes()] == [1] * 64
    seen = set()
    while len(seen) < 64:
        frame = client.next_frame(60)
        assert frame is not None
        seen.add(frame.scene_id)
    host.close()
    for stepper in steppers:
        stepper.join()


def test_channels_and_restores_are_told_however_much_the_script_says(
    host: Host, connect: Callable[..., DebuggerClient], own: Callable[..., Stepper]
) -> None:
    client = connect()

    def talk() -> None:
        if not stepper.scene.link.user_channels:
            for k in range(3000):
                stepper.scene.link.log_text(LogLevel.INFO, "chatter")
                stepper.scene.link.log(f"channel {k}", float(k))
                stepper.scene.link.state_replaced("the script reset the scene")

    stepper = own(host, "A", between=talk)
    client.step(1, 3)

    def channels(client: DebuggerClient) -> int:
        events = [event for event in client.events() if isinstance(event, SceneChannels)]
        return len({channel.name for event in events for channel in event.channels})

    assert client.wait_until(lambda c: channels(c) == 3000, 60)
    restored = [event.count for event in client.events() if isinstance(event, SceneRestored)]
    assert sum(restored) == 3000


def test_a_scene_too_large_to_describe_is_refused_with_the_reason(
    host: Host, connect: Callable[..., DebuggerClient], own: Callable[..., Stepper]
) -> None:
    client = connect()
    stepper = own(host, "A")
    bodies = tuple(BodyInfo(name="x" * 1000, parent=0) for _ in range(17_000))
    asked: list[int] = []

    def describe(scene_id: int, name: str) -> SceneDescription:
        asked.append(scene_id)
        return SceneDescription(scene_id=scene_id, name=name, bodies=bodies)

    stepper.scene.backend.describe = describe
    for _ in range(3):
        with pytest.raises(CommandError, match=r"17000 bodies .* too large"):
            client.description(1)
    assert asked == [1]
    client.step(1)


def test_a_scene_name_is_cut_to_what_a_name_may_have(
    host: Host, connect: Callable[..., DebuggerClient], own: Callable[..., Stepper]
) -> None:
    own(host, "é" * 400)
    own(host, "é" * 400)
    own(host, "caf\udce9")
    names = [scene.name for scene in connect().scenes()]
    assert all(len(name.encode()) <= 256 for name in names)
    assert len(set(names)) == 3
    assert names[1].endswith("… (2)")
    assert names[2] == "caf\\udce9"
