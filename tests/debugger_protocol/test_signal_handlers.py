"""Handlers of signals that have to wait, and what is known of what they raise."""

import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from stroboscope.debugger_protocol import signal_handlers
from stroboscope.debugger_protocol.signal_handlers import HeldSignals, is_of_handler

Install = Callable[..., None]


class Late(Exception):
    """What a handler raises."""


def raise_late(number: int, frame: Any) -> None:
    raise Late(signal.Signals(number).name)


@pytest.fixture
def install() -> Iterator[Install]:
    """``install(handler=raise_late, number=SIGUSR1)``: for this test."""
    before: list[tuple[int, Any]] = []

    def do(handler: Any = raise_late, number: int = signal.SIGUSR1) -> None:
        before.append((number, signal.signal(number, handler)))

    yield do
    for number, handler in reversed(before):
        signal.signal(number, handler)


def test_what_a_handler_raises_waits_for_the_end_and_comes_then(install: Install) -> None:
    install()
    done = []

    def do() -> None:
        with HeldSignals():
            signal.raise_signal(signal.SIGUSR1)
            done.append("the rest")

    with pytest.raises(Late):
        do()
    assert done == ["the rest"]
    assert signal.getsignal(signal.SIGUSR1) is raise_late


def test_each_that_has_come_is_called_once(install: Install) -> None:
    called: list[int] = []
    for number in (signal.SIGUSR1, signal.SIGUSR2):
        install(lambda number, frame: called.append(number), number)
    with HeldSignals():
        for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGUSR1):
            signal.raise_signal(number)
        assert called == []
    assert sorted(called) == [signal.SIGUSR1, signal.SIGUSR2]


def test_none_is_lost_where_several_raise(install: Install) -> None:
    install(raise_late, signal.SIGUSR1)
    install(raise_late, signal.SIGUSR2)

    def do() -> None:
        with HeldSignals():
            signal.raise_signal(signal.SIGUSR1)
            signal.raise_signal(signal.SIGUSR2)

    with pytest.raises(Late) as caught:
        do()
    assert {str(caught.value), str(caught.value.__context__)} == {"SIGUSR1", "SIGUSR2"}


def test_code_of_the_script_is_interrupted_at_once_and_what_surrounds_it_is_not(
    install: Install,
) -> None:
    install()
    with HeldSignals() as held:
        with held.let_through():
            assert signal.getsignal(signal.SIGUSR1) is raise_late
        with pytest.raises(Late), held.let_through():
            signal.raise_signal(signal.SIGUSR1)
        assert signal.getsignal(signal.SIGUSR1) is not raise_late
    assert signal.getsignal(signal.SIGUSR1) is raise_late


def test_what_a_script_installs_meanwhile_stays_installed(install: Install) -> None:
    install(signal.SIG_IGN)
    with HeldSignals() as held, held.let_through():
        signal.signal(signal.SIGUSR1, raise_late)
    assert signal.getsignal(signal.SIGUSR1) is raise_late


def test_what_is_within_another_ends_with_that(install: Install) -> None:
    install()
    done = []
    held = HeldSignals()

    def do() -> None:
        with held:
            with held:
                signal.raise_signal(signal.SIGUSR1)
            done.append("the rest")

    with pytest.raises(Late):
        do()
    assert done == ["the rest"]


def test_what_takes_long_asks_whether_one_waits(install: Install) -> None:
    install()
    with HeldSignals() as held:
        held.pass_on()
        signal.raise_signal(signal.SIGUSR1)
        with pytest.raises(Late):
            held.pass_on()
        held.pass_on()


def test_what_hangs_is_interrupted_after_a_while(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signal_handlers, "_PATIENCE_S", 0.0)
    install()
    with HeldSignals(), pytest.raises(Late):
        signal.raise_signal(signal.SIGUSR1)


def test_other_threads_leave_handlers_alone(install: Install) -> None:
    install()
    seen: list[Any] = []

    def look() -> None:
        with HeldSignals() as held:
            seen.append(signal.getsignal(signal.SIGUSR1))
            with held.let_through():
                held.pass_on()

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [raise_late]


def test_an_exception_of_what_is_done_comes_out_beside_that_of_a_handler(install: Install) -> None:
    install()

    def do() -> None:
        with HeldSignals():
            signal.raise_signal(signal.SIGUSR1)
            raise ValueError("no such row")

    with pytest.raises(Late) as caught:
        do()
    assert isinstance(caught.value.__context__, ValueError)


class Waits:
    """A handler that is an object, with methods."""

    def __call__(self, number: int, frame: Any) -> None:
        raise Late

    def method(self, number: int, frame: Any) -> None:
        raise Late


@pytest.mark.parametrize("handler", [raise_late, Waits(), Waits().method])
def test_what_a_handler_has_raised_is_known_as_such_while_it_is_held_too(
    install: Install, handler: Any
) -> None:
    install(handler)
    with pytest.raises(Late) as caught:
        signal.raise_signal(signal.SIGUSR1)
    assert is_of_handler(caught.value)
    with pytest.raises(Late) as caught, HeldSignals():
        signal.raise_signal(signal.SIGUSR1)
    assert is_of_handler(caught.value)
    with HeldSignals() as held:
        with pytest.raises(Late) as caught, held.let_through():
            signal.raise_signal(signal.SIGUSR1)
        assert is_of_handler(caught.value)
    assert not is_of_handler(Late())
