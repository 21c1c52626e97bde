"""The ways in which a script ends while its threads are parked: never a hang, same exit codes.

Every script here would wait for ever if nobody released its parked threads.
"""

import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

# Workers that step while a debugger is attached, and wait in their first step.
WORKERS = """
import os, signal, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
import stroboscope.engine as physics

def work(name):
    scene = physics.create_scene(name)
    while physics.debugger.is_attached():
        scene.step()
    return scene.step_count

if not physics.debugger.attach(30.0, launch=False):
    sys.exit("nobody came")
"""


def run(start_script: Callable[..., Any], wait_parked: Callable[..., bool], source: str) -> Any:
    """Start the script with a client attached and two workers parked; return (script, client)."""
    script = start_script(WORKERS + source)
    client = script.connect()
    assert wait_parked(client, 2)
    return script, client


def test_main_ends_with_parked_pool_threads(
    start_script: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    script, client = run(
        start_script,
        wait_parked,
        """
pool = ThreadPoolExecutor(2)
futures = [pool.submit(work, name) for name in ("a", "b")]
""",
    )
    with client:
        code, _, err = script.end()
    assert code == 0, err
    assert "Error" not in err


def test_an_exception_leaves_a_pool_with_parked_threads(
    start_script: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    script, client = run(
        start_script,
        wait_parked,
        """
with ThreadPoolExecutor(2) as pool:
    futures = [pool.submit(work, name) for name in ("a", "b")]
    sys.stdin.read()
    raise ValueError("the reward is NaN")
""",
    )
    with client:
        code, _, err = script.end()
    assert code == 1
    assert err.endswith("ValueError: the reward is NaN\n")


def test_sys_exit_inside_a_pool_keeps_its_code(
    start_script: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    script, client = run(
        start_script,
        wait_parked,
        """
with ThreadPoolExecutor(2) as pool:
    futures = [pool.submit(work, name) for name in ("a", "b")]
    sys.exit(7)
""",
    )
    with client:
        assert script.end()[0] == 7


def test_ctrl_c_inside_a_pool_with_parked_threads(
    start_script: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    script, client = run(
        start_script,
        wait_parked,
        """
with ThreadPoolExecutor(2) as pool:
    futures = [pool.submit(work, name) for name in ("a", "b")]
    for future in futures:
        future.result()
""",
    )
    with client:
        script.process.send_signal(signal.SIGINT)
        code, _, err = script.end()
    assert code == -signal.SIGINT
    assert err.endswith("KeyboardInterrupt\n")


def test_ctrl_c_that_the_script_takes_for_the_end(
    start_script: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    script, client = run(
        start_script,
        wait_parked,
        """
threads = [threading.Thread(target=work, args=(name,)) for name in ("a", "b")]
for thread in threads:
    thread.start()
try:
    threading.Event().wait()
except KeyboardInterrupt:
    print("saving")
for thread in threads:
    thread.join()
print("saved")
""",
    )
    with client:
        script.process.send_signal(signal.SIGINT)
        code, out, err = script.end()
    assert (code, out) == (0, "saving\nsaved\n"), err


def test_joining_on_the_way_out_of_an_interrupted_program(
    start_script: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    script, client = run(
        start_script,
        wait_parked,
        """
signal.set_wakeup_fd(-1)   # whatever took it: the signal is not seen
threads = [threading.Thread(target=work, args=(name,)) for name in ("a", "b")]
for thread in threads:
    thread.start()
try:
    sys.exit(3)
finally:
    for thread in threads:
        thread.join()
""",
    )
    with client:
        code, _, err = script.end()
    assert code == 3, err


def test_joining_parked_threads_after_an_error_tells_what_to_press(
    start_script: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    script, client = run(
        start_script,
        wait_parked,
        """
threads = [threading.Thread(target=work, args=(name,)) for name in ("a", "b")]
for thread in threads:
    thread.start()
try:
    sys.stdin.read()
    raise ValueError("the reward is NaN")
finally:
    for thread in threads:
        thread.join()
""",
    )
    # Whether the error ends the script can't be seen from outside: nothing is released unasked.
    # How many scenes are paused by then is for the machine to say.
    told = "the main thread waits for its threads after ValueError, and "
    with client:
        assert client.wait_until(lambda c: any(told in e.text for e in c.log_entries()), 60)
        assert wait_parked(client, 2)
        client.play()
    code, _, err = script.end()
    assert code == 1
    assert err.count(told) == 1
    assert err.endswith("ValueError: the reward is NaN\n")


def test_the_script_s_own_sigterm_handler(
    start_script: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    script, client = run(
        start_script,
        wait_parked,
        """
stop = threading.Event()
signal.signal(signal.SIGTERM, lambda number, frame: stop.set())
with ThreadPoolExecutor(2) as pool:
    futures = [pool.submit(work, name) for name in ("a", "b")]
    stop.wait()
print("stopped")
""",
    )
    with client:
        script.process.send_signal(signal.SIGTERM)
        code, out, err = script.end()
    assert (code, out) == (0, "stopped\n"), err


@pytest.mark.leaves_runtime_files
def test_sigterm_without_a_handler_kills_at_once(
    start_script: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    script, client = run(
        start_script,
        wait_parked,
        """
with ThreadPoolExecutor(2) as pool:
    futures = [pool.submit(work, name) for name in ("a", "b")]
""",
    )
    with client:
        script.process.send_signal(signal.SIGTERM)
        assert script.end()[0] == -signal.SIGTERM


def test_ctrl_c_in_a_main_thread_that_is_parked_itself(
    start_script: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    script = start_script(WORKERS + "work('main')\n")
    with script.connect() as client:
        assert wait_parked(client)
        script.process.send_signal(signal.SIGINT)
        code, _, err = script.end()
    assert code == -signal.SIGINT
    assert err.endswith("KeyboardInterrupt\n")


def test_shutdown_from_another_thread_releases_the_main_thread(
    start_script: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    script = start_script(
        WORKERS
        + """
scene = physics.create_scene("main")
def shut_down():
    sys.stdin.read()
    while scene.link.owner.parked_in is None:
        time.sleep(0.01)
    physics.shutdown()
    physics.shutdown()
threading.Thread(target=shut_down).start()
try:
    while True:
        scene.step()
except physics.SceneDestroyedError as error:
    print("destroyed")
physics.shutdown()
"""
    )
    with script.connect() as client:
        code, out, err = script.end()
        assert client.closed_reason
    assert (code, out) == (0, "destroyed\n"), err


def test_a_main_thread_that_handles_an_exception_keeps_its_parked_workers(
    start_script: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    script, client = run(
        start_script,
        wait_parked,
        """
try:
    import a_module_that_is_not_there
except ImportError:
    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(work, name) for name in ("a", "b")]
        print(futures[0].result())
""",
    )
    steps = 0
    with client:
        chosen = next(scene.scene_id for scene in client.scenes() if scene.name == "a")
        # Long after a main thread that really ends would have been noticed.
        end = time.monotonic() + 0.4
        while time.monotonic() < end:
            client.step(chosen)
            steps += 1
        assert script.process.poll() is None
    code, out, err = script.end()
    assert code == 0, err
    assert int(out) >= steps
