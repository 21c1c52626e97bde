"""How the main thread is watched: seldom, and never without a second look."""

import threading
from collections.abc import Callable

import pytest
from oscillator import Stepper

from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.host.main_thread import Ending, Likelihood, MainThreadWatch

LEAVES = Ending("it leaves a with block", Likelihood.LIKELY, (1, 2))
ENDED = Ending("it has ended", Likelihood.CERTAIN)


class Main:
    """What a watch sees: CPU time [s], and how the stack looks."""

    def __init__(self) -> None:
        self.cpu: float | None = 1.0
        self.ending: Ending | None = None
        self.looks = 0
        self.watch = MainThreadWatch(cpu_time=lambda: self.cpu, why=self.why)

    def why(self) -> Ending | None:
        self.looks += 1
        return self.ending


def test_the_stack_of_a_thread_that_has_not_moved_is_not_looked_at() -> None:
    main = Main()
    assert [main.watch.look() for _ in range(5)] == [None] * 5
    assert main.looks == 1
    main.cpu = 2.0
    main.watch.look()
    assert main.looks == 2


def test_without_a_clock_every_look_is_one_at_the_stack() -> None:
    main = Main()
    main.cpu = None
    assert [main.watch.look() for _ in range(3)] == [None] * 3
    assert main.looks == 3


def test_a_likely_end_is_believed_at_the_second_look() -> None:
    main = Main()
    main.ending = LEAVES
    assert main.watch.look() is None
    assert main.watch.suspects
    assert main.watch.look() == LEAVES  # it stands there still


def test_a_thread_that_only_passed_is_not_believed_to_end() -> None:
    main = Main()
    main.ending = LEAVES
    assert main.watch.look() is None
    main.cpu, main.ending = 2.0, None
    assert main.watch.look() is None
    assert not main.watch.suspects


def test_a_certain_end_is_believed_at_once() -> None:
    main = Main()
    main.ending = ENDED
    assert main.watch.look() == ENDED


def test_the_main_thread_is_watched_only_while_another_one_is_parked(
    host: Host,
    connect: Callable[..., DebuggerClient],
    own: Callable[..., Stepper],
    wait_until: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[threading.Thread] = []
    look = MainThreadWatch.look

    def count(watch: MainThreadWatch) -> Ending | None:
        looks.append(threading.current_thread())
        return look(watch)

    monkeypatch.setattr(MainThreadWatch, "look", count)
    client = connect()
    own(host, "A")
    wait_until(lambda: len(looks) > 3)
    client.play()
    wait_until(lambda: host.links[1].clock is not None and host.links[1].clock.axis > 100)
    before, axis = len(looks), host.links[1].clock.axis
    wait_until(lambda: host.links[1].clock.axis > axis + 200)
    assert len(looks) <= before + 1
