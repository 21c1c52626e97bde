"""Starting and ending the engine, from any thread, at any moment."""

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest
from interrupting import Late, interrupted_after

import stroboscope.engine as physics
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.host import scene_link
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.engine.runtime import current_runtime

Make = Callable[..., physics.Scene]


def test_initialize_is_optional_and_both_calls_may_be_doubled(make_scene: Make) -> None:
    assert not physics.is_initialized()
    physics.shutdown()
    physics.initialize()
    physics.initialize(4)
    assert physics.is_initialized()
    physics.shutdown()
    physics.shutdown()
    assert not physics.is_initialized()
    make_scene().step()
    assert physics.is_initialized()


def test_worker_threads_are_counted_or_as_many_as_cores() -> None:
    physics.initialize(-1)
    assert current_runtime().num_worker_threads == os.cpu_count()
    physics.shutdown()
    physics.initialize(3)
    assert current_runtime().num_worker_threads == 3
    with pytest.raises(ValueError, match="-1"):
        physics.initialize(-2)


def test_shutdown_ends_every_scene_and_a_new_one_can_be_made(make_scene: Make) -> None:
    scene = make_scene()
    physics.shutdown()
    with pytest.raises(physics.SceneDestroyedError, match="shut down"):
        scene.step()
    physics.destroy_scene(scene)
    fresh = make_scene()
    fresh.step()
    assert fresh.name == "humanoid"


def test_shutdown_from_another_thread_ends_a_stepping_loop_with_an_exception(
    make_scene: Make, wait_until: Callable[..., None]
) -> None:
    errors: list[BaseException] = []
    steps = [0]

    def loop() -> None:
        scene = make_scene()
        try:
            while True:
                scene.step()
                steps[0] += 1
        except physics.SceneDestroyedError as error:
            errors.append(error)

    thread = threading.Thread(target=loop)
    thread.start()
    wait_until(lambda: steps[0] > 50)
    physics.shutdown()
    thread.join(60)
    assert not thread.is_alive()
    assert "shut down" in str(errors[0])


def test_shutdown_releases_a_thread_that_is_parked_in_step(
    make_scene: Make, wait_until: Callable[..., None]
) -> None:
    physics.initialize()
    host = current_runtime().host
    host.attach(PlaybackMode.PAUSED)
    errors: list[BaseException] = []

    def loop() -> None:
        scene = make_scene()
        try:
            scene.step()
        except physics.SceneDestroyedError as error:
            errors.append(error)

    thread = threading.Thread(target=loop)
    thread.start()
    wait_until(lambda: any(link.owner.parked_in for link in host.links.values()))
    physics.shutdown()
    thread.join(60)
    assert not thread.is_alive()
    assert "shut down" in str(errors[0])


@pytest.mark.parametrize("trial", range(5))
def test_a_step_that_is_parked_for_a_client_never_completes_after_shutdown(
    make_scene: Make, wait_until: Callable[..., None], trial: int
) -> None:
    server = physics.debugger.get_debug_server()
    server.start()
    outcome: list[object] = []

    def loop() -> None:
        scene = make_scene()
        try:
            scene.step()
            outcome.append("it completed")
        except physics.SceneDestroyedError as error:
            outcome.append(error)

    with DebuggerClient.connect(server.connection_file) as client:
        thread = threading.Thread(target=loop)
        thread.start()
        host = current_runtime().host
        wait_until(lambda: any(link.owner.parked_in for link in host.links.values()))
        physics.shutdown()
        thread.join(60)
        wait_until(lambda: client.closed_reason)
    assert "shut down" in str(outcome[0])
    assert "shut down" in client.closed_reason


def test_an_action_that_fails_before_shutdown_does_not_keep_the_others_from_running(
    make_scene: Make,
) -> None:
    scene = make_scene()
    done: list[int] = []
    runtime = current_runtime()
    runtime.before_shutdown(lambda: done.append(1 // 0))
    runtime.before_shutdown(lambda: done.append(1))
    physics.shutdown()
    assert done == [1]
    assert scene.is_destroyed


def test_importing_the_engine_imports_neither_mujoco_nor_qt() -> None:
    code = (
        "import sys, stroboscope.engine; "
        "bad = {'mujoco', 'PySide6', 'vispy', 'pyqtgraph'} & set(sys.modules); "
        "sys.exit(str(bad) if bad else 0)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_an_interpreter_that_exits_with_scenes_alive_exits_cleanly() -> None:
    code = (
        "import stroboscope.engine as p; s = p.create_scene('a'); s.step(); t = p.create_scene('b')"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")


def test_threads_are_let_go_where_a_signal_comes_while_the_last_states_are_shown(
    host: Host,
) -> None:
    host.attach(PlaybackMode.FAST_FORWARD)
    physics.create_scene("last").step()
    within = (str(scene_link.__file__),)
    with interrupted_after(0, within=within) as one, contextlib.suppress(Late):
        physics.shutdown()
    assert one.came
    assert host.playback.closed == "the engine was shut down"
