"""The exit watch, in processes of its own: what is parked here waits for a plain event."""

import asyncio
import signal
import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable

import pytest

from stroboscope.engine.process_exit import ExitWatch, main_thread_is_leaving

DEADLINE_S = 20.0

# `parked` stands for a thread in a paused step(); every script starts with this.
PRELUDE = """
import os, signal, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
from stroboscope.engine.process_exit import ExitWatch

parked = threading.Event()
released = threading.Event()

def release(reason):
    print("released:", reason, flush=True)
    released.set()

def park():
    parked.set()
    released.wait()

watch = ExitWatch(release=release, is_parked=parked.is_set)
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


def test_the_end_of_the_main_thread_releases_a_parked_pool_thread() -> None:
    done = run(
        """
        pool = ThreadPoolExecutor()
        pool.submit(park)
        parked.wait()
        """
    )
    assert done.stdout == "released: the main thread has ended\n"
    assert done.returncode == 0, done.stderr


def test_an_exception_that_leaves_a_pool_releases_its_parked_thread() -> None:
    done = run(
        """
        with ThreadPoolExecutor() as pool:
            pool.submit(park)
            parked.wait()
            raise ValueError("the reward is NaN")
        """
    )
    assert done.stdout == "released: the main thread is leaving a `with` block on ValueError\n"
    assert done.returncode == 1
    assert done.stderr.endswith("ValueError: the reward is NaN\n")


def test_sys_exit_inside_a_pool_keeps_its_exit_code() -> None:
    done = run(
        """
        with ThreadPoolExecutor() as pool:
            pool.submit(park)
            parked.wait()
            sys.exit(7)
        """
    )
    assert done.stdout == "released: the main thread is leaving a `with` block on SystemExit\n"
    assert (done.returncode, done.stderr) == (7, "")


def test_ctrl_c_while_waiting_for_a_pool_ends_as_it_does_without_us() -> None:
    done = run(
        """
        with ThreadPoolExecutor() as pool:
            future = pool.submit(park)
            parked.wait()
            signal.raise_signal(signal.SIGINT)
        """
    )
    assert done.stdout == "released: the process received SIGINT\n"
    assert done.returncode == -signal.SIGINT
    assert done.stderr.endswith("KeyboardInterrupt\n")


def test_joining_in_finally_after_ctrl_c_is_released_without_seeing_the_signal() -> None:
    done = run(
        """
        signal.set_wakeup_fd(-1)
        worker = threading.Thread(target=park)
        worker.start()
        parked.wait()
        try:
            raise KeyboardInterrupt
        finally:
            worker.join()
        """
    )
    assert done.stdout == "released: the main thread is ending on KeyboardInterrupt\n"
    assert done.returncode == -signal.SIGINT


def test_the_script_s_own_handler_runs_and_its_workers_are_released() -> None:
    done = run(
        """
        stop = threading.Event()
        def handler(number, frame):
            print("handler", number, flush=True)
            stop.set()
        signal.signal(signal.SIGTERM, handler)
        with ThreadPoolExecutor() as pool:
            pool.submit(park)
            parked.wait()
            os.kill(os.getpid(), signal.SIGTERM)
            stop.wait()
        """
    )
    assert sorted(done.stdout.splitlines()) == [
        "handler 15",
        "released: the process received SIGTERM",
    ]
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


def test_a_main_thread_that_handles_an_exception_and_waits_is_not_leaving() -> None:
    done = run(
        """
        def play():
            for _ in range(40):
                if released.wait(0.02):
                    return
            released.set()
        worker = threading.Thread(target=park)
        worker.start()
        try:
            import a_module_that_is_not_there
        except ImportError:
            threading.Thread(target=play).start()
            worker.join()
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_main_thread_that_waits_for_its_workers_is_not_leaving() -> None:
    seen = []
    thread = threading.Thread(target=lambda: seen.append(main_thread_is_leaving()))
    thread.start()
    thread.join()
    assert seen == [None]


def test_signal_handlers_stay_as_they_are(wait_until: Callable[..., None]) -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    reasons: list[str] = []
    watch = ExitWatch(release=reasons.append, is_parked=lambda: False)
    watch.start()
    try:
        assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        wait_until(lambda: reasons)
    finally:
        watch.stop()
    assert reasons == ["the process received SIGINT"]


def test_the_wakeup_descriptor_goes_back_to_its_owner_who_still_gets_his_signals(
    wait_until: Callable[..., None],
) -> None:
    theirs, pythons = socket.socketpair()
    with theirs, pythons:
        pythons.setblocking(False)
        theirs.settimeout(5.0)
        before = signal.set_wakeup_fd(pythons.fileno())
        try:
            watch = ExitWatch(release=lambda reason: None, is_parked=lambda: False)
            watch.start()
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
            assert theirs.recv(8) == bytes([signal.SIGINT])
            watch.stop()
            watch.stop()
        finally:
            assert signal.set_wakeup_fd(before) == pythons.fileno()


def test_asyncio_keeps_its_own_signal_handling_while_we_watch() -> None:
    async def main() -> None:
        got = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, got.set)
        signal.raise_signal(signal.SIGTERM)
        await asyncio.wait_for(got.wait(), 5.0)
        loop.remove_signal_handler(signal.SIGTERM)

    watch = ExitWatch(release=lambda reason: None, is_parked=lambda: False)
    watch.start()
    try:
        asyncio.run(main())
    finally:
        watch.stop()


def test_a_watch_that_another_thread_stopped_can_be_started_again() -> None:
    watch = ExitWatch(release=lambda reason: None, is_parked=lambda: False)
    watch.start()
    stopper = threading.Thread(target=watch.stop)
    stopper.start()
    stopper.join()
    watch.start()
    assert watch.watches_signals
    watch.stop()
    assert not watch.watches_signals
    assert signal.set_wakeup_fd(-1) == -1
