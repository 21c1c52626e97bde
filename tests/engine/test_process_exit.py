"""The signal watch, partly in processes of its own: what is parked here waits for an event."""

import asyncio
import signal
import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from types import FrameType

import pytest

from stroboscope.engine.process_exit import SignalWatch

DEADLINE_S = 60.0

# `park` stands for a paused step(); every script starts with this.
PRELUDE = """
import asyncio, os, signal, sys, threading
from concurrent.futures import ThreadPoolExecutor
from stroboscope.engine.process_exit import SignalWatch

parked = threading.Event()
released = threading.Event()

def release(reason):
    print("released:", reason, flush=True)
    released.set()

def park():
    parked.set()
    released.wait()

watch = SignalWatch(release=release)
watch.start()
"""


def run(script: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )


@pytest.fixture
def reasons() -> list[str]:
    return []


@pytest.fixture
def watch(reasons: list[str]) -> Iterator[SignalWatch]:
    watch = SignalWatch(release=reasons.append)
    watch.start()
    yield watch
    watch.stop()


def test_ctrl_c_while_joining_a_pool_ends_as_it_does_without_us() -> None:
    done = run(
        """
        with ThreadPoolExecutor() as pool:
            pool.submit(park)
            parked.wait()
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                interrupted = True
        raise KeyboardInterrupt
        """
    )
    assert done.stdout == "released: the process received SIGINT\n"
    assert done.returncode == -signal.SIGINT
    assert done.stderr.endswith("KeyboardInterrupt\n")


def test_the_script_s_own_handler_runs_and_its_workers_are_released() -> None:
    done = run(
        """
        stop = threading.Event()
        def handler(number, frame):
            os.write(1, b"handler\\n")
            stop.set()
        signal.signal(signal.SIGTERM, handler)
        with ThreadPoolExecutor() as pool:
            pool.submit(park)
            parked.wait()
            os.kill(os.getpid(), signal.SIGTERM)
            stop.wait()
        """
    )
    lines = sorted(done.stdout.splitlines())
    assert lines == ["handler", "released: the process received SIGTERM"]
    assert (done.returncode, done.stderr) == (0, "")


def test_sigterm_without_a_handler_kills_at_once_as_ever() -> None:
    done = run(
        """
        threading.Thread(target=park).start()
        parked.wait()
        os.kill(os.getpid(), signal.SIGTERM)
        """
    )
    assert (done.returncode, done.stdout) == (-signal.SIGTERM, "")


def test_asyncio_cancels_its_main_task_on_ctrl_c_as_ever() -> None:
    done = run(
        """
        async def main():
            try:
                signal.raise_signal(signal.SIGINT)
                await asyncio.sleep(10)
            except asyncio.CancelledError:
                print("cancelled", flush=True)
                raise
        asyncio.run(main())
        """
    )
    # Another thread prints too, perhaps between the word and the end of its line.
    assert "cancelled" in done.stdout
    assert done.returncode == -signal.SIGINT


def test_a_forked_child_s_signals_do_not_reach_the_parent() -> None:
    done = run(
        """
        import warnings
        warnings.simplefilter("ignore", DeprecationWarning)  # 3.12 on: fork with threads
        os.register_at_fork(after_in_child=watch.forget_parent)
        signal.signal(signal.SIGTERM, lambda number, frame: os._exit(0))
        child = os.fork()
        if child == 0:
            signal.raise_signal(signal.SIGTERM)
            os._exit(1)
        _, status = os.waitpid(child, 0)
        print("child", os.waitstatus_to_exitcode(status), released.wait(0.3))
        """
    )
    assert (done.stdout, done.stderr) == ("child 0 False\n", "")


def test_signal_handlers_stay_as_they_are(
    watch: SignalWatch, reasons: list[str], wait_until: Callable[..., None]
) -> None:
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    wait_until(lambda: reasons)
    assert reasons == ["the process received SIGINT"]


def test_ctrl_c_while_the_watch_starts_its_thread_is_no_obstacle_to_another_start(
    reasons: list[str], wait_until: Callable[..., None]
) -> None:
    def interrupt(frame: FrameType, event: str, _: object) -> None:
        if frame.f_code is threading.Thread.start.__code__:
            sys.setprofile(None)
            raise KeyboardInterrupt

    watch = SignalWatch(release=reasons.append)
    for _ in range(2):
        sys.setprofile(interrupt)
        with pytest.raises(KeyboardInterrupt):
            watch.start()
        watch.stop()
    sys.setprofile(interrupt)
    with pytest.raises(KeyboardInterrupt):
        watch.start()
    watch.start()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    wait_until(lambda: reasons)
    watch.stop()
    assert reasons == ["the process received SIGINT"]


def test_other_signals_are_none_of_our_business(
    watch: SignalWatch, reasons: list[str], wait_until: Callable[..., None]
) -> None:
    before = signal.signal(signal.SIGUSR1, lambda number, frame: None)
    try:
        signal.raise_signal(signal.SIGUSR1)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGUSR1, before)
    wait_until(lambda: reasons)
    assert reasons == ["the process received SIGINT"]


def test_a_signal_from_before_is_not_taken_for_a_new_one(
    watch: SignalWatch, reasons: list[str], wait_until: Callable[..., None]
) -> None:
    stopper = threading.Thread(target=watch.stop)  # not the main thread: can't give it back
    stopper.start()
    stopper.join()
    assert watch.has_descriptor
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    watch.start()
    assert reasons == []
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    wait_until(lambda: len(reasons) == 1)


def test_the_descriptor_goes_back_to_its_owner_who_still_gets_his_signals() -> None:
    theirs, pythons = socket.socketpair()
    with theirs, pythons:
        pythons.setblocking(False)
        theirs.settimeout(5.0)
        before = signal.set_wakeup_fd(pythons.fileno())
        watch = SignalWatch(release=lambda reason: None)
        try:
            watch.start()
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
            assert theirs.recv(8) == bytes([signal.SIGINT])
            # Stopped by another thread it can't give the descriptor back, and goes on forwarding.
            stopper = threading.Thread(target=watch.stop)
            stopper.start()
            stopper.join()
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
            assert theirs.recv(8) == bytes([signal.SIGINT])
            watch.stop()
        finally:
            assert signal.set_wakeup_fd(before) == pythons.fileno()


def test_asyncio_may_take_the_descriptor_while_we_watch(watch: SignalWatch) -> None:
    async def main() -> None:
        got = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, got.set)
        signal.raise_signal(signal.SIGTERM)
        await asyncio.wait_for(got.wait(), 60)
        loop.remove_signal_handler(signal.SIGTERM)

    asyncio.run(main())


def test_stopping_twice_is_harmless_and_leaves_nothing(watch: SignalWatch) -> None:
    watch.stop()
    watch.stop()
    assert not watch.has_descriptor
    assert signal.set_wakeup_fd(-1) == -1
