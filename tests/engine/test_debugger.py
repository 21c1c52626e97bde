"""``physics.debugger`` with a client without a window."""

import math
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stroboscope.engine as physics
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.connection_file import list_sessions
from stroboscope.debugger_protocol.exceptions import RuntimeDirectoryError
from stroboscope.debugger_protocol.messages import OwnerActivity


@pytest.fixture
def attached() -> Iterator[DebuggerClient]:
    """A client that controls this process's session, which begins paused."""
    server = physics.debugger.get_debug_server()
    server.start()
    with DebuggerClient.connect(server.connection_file) as client:
        yield client
        physics.debugger.detach()


def in_thread(work: Callable[[], Any]) -> "Any":
    pool = ThreadPoolExecutor(1)
    future = pool.submit(work)
    pool.shutdown(wait=False)
    return future


def test_attach_waits_for_any_client_and_says_how_to_connect(
    capsys: pytest.CaptureFixture[str], wait_until: Callable[..., None]
) -> None:
    future = in_thread(lambda: physics.debugger.attach(30.0, launch=False))
    wait_until(list_sessions)
    with DebuggerClient.connect() as client:
        assert future.result(60) is True
        assert client.session is not None
        assert client.session.pid == os.getpid()
        text = capsys.readouterr().err
        assert f"stroboscope --session {client.session.session_id}" in text
        assert "paused at the first step" in text
        physics.debugger.detach()


@pytest.mark.skipif(os.name != "posix", reason="links are POSIX's")
def test_where_no_session_can_be_opened_the_script_runs_alone(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "stroboscope").symlink_to(tmp_path)
    monkeypatch.setenv("STROBOSCOPE_RUNTIME_DIR", str(tmp_path / "stroboscope"))
    scene = physics.create_scene("alone")
    assert physics.debugger.attach(5.0, launch=False) is False
    assert "is a link" in caplog.text
    scene.step()
    with pytest.raises(RuntimeDirectoryError):
        physics.debugger.listen()


def test_nobody_comes(caplog: pytest.LogCaptureFixture) -> None:
    assert physics.debugger.attach(0.1, launch=False) is False
    assert "no debugger connected within 0.1 s" in caplog.text
    assert list_sessions() == []


def test_a_script_that_listens_goes_on_with_that_when_nobody_comes() -> None:
    physics.debugger.listen()
    server = physics.debugger.get_debug_server()
    port = server.get_port()
    assert physics.debugger.attach(0.0, launch=False) is False
    assert server.get_port() == port
    with DebuggerClient.connect(server.connection_file) as client:
        assert client.session_status.controller is None
    physics.debugger.detach()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mode": "fast"}, "mode must be one of 'paused', 'playing', 'fast_forward', not 'fast'"),
        ({"on_disconnect": "wait"}, "on_disconnect must be one of 'continue', 'hold'"),
        ({"timeout_seconds": -1.0}, "timeout_seconds must be 0 or more"),
        ({"timeout_seconds": math.nan}, "timeout_seconds must be 0 or more"),
    ],
)
def test_words_that_mean_nothing_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        physics.debugger.attach(**arguments)
    assert list_sessions() == []


def test_a_second_attach_changes_nothing(attached: DebuggerClient) -> None:
    assert attached.session is not None
    before = attached.session.session_id
    attached.play()
    assert physics.debugger.attach(mode="paused") is True
    assert attached.session_status.mode == "playing"
    assert [info.session_id for _, info in list_sessions()] == [before]


def test_after_detach_a_new_attach_is_a_new_session(wait_until: Callable[..., None]) -> None:
    seen = set()
    for _ in range(3):
        future = in_thread(lambda: physics.debugger.attach(30.0, launch=False))
        wait_until(list_sessions)
        with DebuggerClient.connect() as client:
            assert future.result(60) is True
            assert client.session is not None
            seen.add(client.session.session_id)
            physics.debugger.detach()
            assert not physics.debugger.is_attached()
            physics.debugger.detach()
    assert len(seen) == 3


def test_detaching_releases_a_parked_step(
    attached: DebuggerClient, wait_parked: Callable[..., bool]
) -> None:
    def work() -> int:
        scene = physics.create_scene("worker")
        while physics.debugger.is_attached():
            scene.step()
        return scene.step_count

    future = in_thread(work)
    assert wait_parked(attached)
    physics.debugger.detach()
    assert future.result(60) == 1


def test_a_listening_session_changes_nothing_until_control_is_asked_for(
    wait_parked: Callable[..., bool], wait_until: Callable[..., None]
) -> None:
    physics.debugger.listen()
    physics.debugger.listen()
    stop = threading.Event()

    def work() -> int:
        scene = physics.create_scene("worker")
        while not stop.is_set():
            scene.step()
        return scene.step_count

    future = in_thread(work)
    with DebuggerClient.connect() as client:
        assert not client.has_control
        assert client.wait_until(lambda c: bool(c.scenes() and c.scenes()[0].step_count > 5), 60)
        client.request_control()
        client.pause()
        assert wait_parked(client)
    wait_until(lambda: not physics.debugger.is_attached())
    stop.set()
    assert future.result(60) > 5
    physics.debugger.detach()


def test_the_debug_server_can_be_started_asked_and_stopped() -> None:
    server = physics.debugger.get_debug_server()
    assert (server.get_port(), server.connection_file, server.has_connection()) == (0, None, False)
    server.start()
    server.start()
    path = server.connection_file
    assert path is not None
    assert path.exists()
    assert server.get_port() > 0
    server.stop()
    server.stop()
    assert not path.exists()
    assert server.get_port() == 0


def test_the_debug_server_takes_a_port_that_is_asked_for() -> None:
    server = physics.debugger.get_debug_server()
    server.start()
    port = server.get_port()
    server.stop()
    server.start(port)
    assert server.get_port() == port
    server.stop()


def test_shutdown_ends_the_session_and_a_new_engine_can_attach(attached: DebuggerClient) -> None:
    physics.create_scene("one")
    physics.shutdown()
    assert not physics.debugger.is_attached()
    physics.create_scene("two")
    server = physics.debugger.get_debug_server()
    server.start()
    with DebuggerClient.connect(server.connection_file) as client:
        assert [scene.name for scene in client.scenes()] == ["two"]
    server.stop()


def test_a_breakpoint_stops_where_it_stands_and_says_why(
    attached: DebuggerClient, wait_parked: Callable[..., bool]
) -> None:
    attached.play()

    def work() -> int:
        scene = physics.create_scene("worker")
        for _ in range(5):
            scene.step()
        physics.debugger.breakpoint("the reward fell")
        return scene.step_count

    future = in_thread(work)
    # Held is told before parked: until then the counts are those of some step before.
    assert attached.wait_until(
        lambda c: bool(c.scenes()) and c.scenes()[0].activity is OwnerActivity.PARKED, 60
    )
    (scene,) = attached.scenes()
    assert scene.held
    assert scene.hold_reason == "the reward fell"
    assert scene.location.startswith("test_debugger.py:")
    assert scene.step_count == 5
    assert not future.done()
    attached.play()
    assert future.result(60) == 5


def test_a_breakpoint_of_a_thread_without_scenes_says_that_it_did_not_stop(
    attached: DebuggerClient,
) -> None:
    physics.debugger.breakpoint("never")
    assert attached.wait_until(
        lambda c: any("owns no scene (never)" in entry.text for entry in c.log_entries()), 60
    )


def test_detached_breakpoints_are_nothing() -> None:
    physics.debugger.breakpoint("never")
    scene = physics.create_scene("alone")
    scene.step()
    physics.debugger.breakpoint("never")
    assert scene.step_count == 1


def test_a_model_that_is_watched_is_an_adopted_scene() -> None:
    source = physics.create_scene("source")
    scene = physics.debugger.watch(source.model, source.data, "mine")
    assert (scene.name, scene.is_adopted, scene.data is source.data) == ("mine", True, True)
    scene.step()
    assert source.data.time == scene.get_total_simulation_time() > 0.0


@pytest.mark.parametrize("kind", ["thread", "pool"])
def test_attach_works_on_any_thread(kind: str, wait_until: Callable[..., None]) -> None:
    future = in_thread(lambda: physics.debugger.attach(30.0, launch=False, mode="fast_forward"))
    wait_until(list_sessions)
    with DebuggerClient.connect() as client:
        assert future.result(60) is True
        assert client.session_status.mode == "fast_forward"
        in_thread(physics.debugger.detach).result(60)
    # Another thread has stopped the session; the main one still gets its descriptor back.
    physics.debugger.detach()


def test_a_forked_child_starts_detached_and_leaves_the_parent_alone(
    start_script: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    script = start_script(
        """
        import os, sys
        import stroboscope.engine as physics
        from stroboscope.debugger_protocol.client import DebuggerClient

        scene = physics.create_scene("parent")
        if not physics.debugger.attach(30.0, launch=False, mode="playing"):
            sys.exit("nobody came")
        scene.step()
        child = os.fork()
        if child == 0:
            assert not physics.debugger.is_attached()
            for _ in range(10):
                scene.step()           # the same scene, detached and undisturbed
            assert scene.step_count == 11, scene.step_count
            server = physics.debugger.get_debug_server()
            assert server.connection_file is None
            server.start()
            with DebuggerClient.connect(server.connection_file, observe=True) as client:
                assert physics.debugger.is_attached()
                assert client.session.pid == os.getpid()
                assert [s.name for s in client.scenes()] == ["parent"]
                scene.step()
            physics.shutdown()
            sys.exit(23)
        _, status = os.waitpid(child, 0)
        assert physics.debugger.is_attached()
        assert physics.debugger.get_debug_server().connection_file.exists()
        print(os.waitstatus_to_exitcode(status), flush=True)
        while physics.debugger.is_attached():
            scene.step()
        """
    )
    with script.connect() as client:
        assert script.process.stdout.readline() == "23\n", script.process.communicate()
        client.pause()
        assert wait_parked(client)
        before = client.scenes()[0].step_count
        client.step(client.scenes()[0].scene_id)
        assert client.scenes()[0].step_count == before + 1
    code, _, err = script.end()
    assert code == 0, err


def test_spawned_and_forked_workers_run_detached_and_the_same(
    start_script: Callable[..., Any],
) -> None:
    script = start_script(
        """
        import multiprocessing, sys
        import stroboscope.engine as physics

        def roll(steps):
            scene = physics.create_scene("rollout", MJCF)
            for _ in range(steps):
                scene.step()
            return physics.debugger.is_attached(), scene.data.qpos.tobytes()

        MJCF = (
            "<mujoco><worldbody><body><joint/><geom size='.1' pos='.1 0 0'/></body>"
            "</worldbody></mujoco>"
        )

        if __name__ == "__main__":
            if not physics.debugger.attach(30.0, launch=False, mode="fast_forward"):
                sys.exit("nobody came")
            results = set()
            for method in ("fork", "spawn", "forkserver"):
                with multiprocessing.get_context(method).Pool(1) as pool:
                    results |= set(pool.map(roll, [100]))
            attached, positions = roll(100)
            print({r[0] for r in results}, {r[1] for r in results} == {positions}, attached)
        """
    )
    with script.connect():
        code, out, err = script.end()
    assert (code, out) == (0, "{False} True True\n"), err


def test_ctrl_c_works_while_attach_waits(start_script: Callable[..., Any]) -> None:
    import signal

    script = start_script(
        """
        import stroboscope.engine as physics
        try:
            physics.debugger.attach(300.0, launch=False)
        except KeyboardInterrupt:
            print("interrupted", physics.debugger.is_attached())
            physics.create_scene("after").step()
            print("goes on")
        """
    )
    script.session()
    script.process.send_signal(signal.SIGINT)
    code, out, err = script.end()
    assert (code, out) == (0, "interrupted False\ngoes on\n"), err


def test_attached_runs_are_bit_identical_to_detached_ones(attached: DebuggerClient) -> None:
    def run(scene: physics.Scene) -> bytes:
        rows = []
        for k in range(200):
            scene.data.qvel[:] += 1e-3 * math.sin(k)
            scene.step()
            rows.append(np.concatenate([scene.data.qpos, scene.data.qvel]))
        return np.array(rows).tobytes()

    mjcf = (
        "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 .2'><freejoint/>"
        "<geom size='.1'/></body></worldbody></mujoco>"
    )
    attached.fast_forward()
    seen = run(physics.create_scene("seen", mjcf))
    physics.debugger.detach()
    assert run(physics.create_scene("unseen", mjcf)) == seen
