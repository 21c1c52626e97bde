"""Fixtures of the host's tests; the engine they step is the module ``oscillator`` beside this."""

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.host.playback import Ticket


def _load(name: str) -> None:
    # importlib mode puts no test folder on sys.path, and child processes load the same file.
    path = Path(__file__).with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


if "oscillator" not in sys.modules:
    _load("oscillator")


class Answer:
    """Takes a command's answer: ``Answer()`` is a reply."""

    def __init__(self, wait_until: Callable[..., None]) -> None:
        self._answers: list[CommandError | None] = []
        self._wait_until = wait_until

    def __call__(self, error: CommandError | None) -> None:
        self._answers.append(error)

    @property
    def arrived(self) -> bool:
        assert len(self._answers) <= 1, "a command was answered twice"
        return bool(self._answers)

    def error(self) -> CommandError | None:
        """Wait for the answer and return it."""
        self._wait_until(lambda: self.arrived)
        return self._answers[0]

    def done(self) -> None:
        """Wait until the command is done."""
        error = self.error()
        assert error is None, error


@pytest.fixture
def answer(wait_until: Callable[..., None]) -> Callable[[], Answer]:
    """``answer()``: a reply that can be waited for."""
    return lambda: Answer(wait_until)


@pytest.fixture
def run(answer: Callable[[], Answer]) -> Callable[..., Ticket]:
    """``run(host.step, scene_id, 3)``: give a command and wait until it is done."""

    def give(command: Callable[..., Ticket], *args: object, **options: object) -> Ticket:
        reply = answer()
        ticket = command(*args, reply=reply, **options)
        reply.done()
        return ticket

    return give


@pytest.fixture
def host() -> Iterator[Host]:
    """A host without a server, closed at the end."""
    host = Host()
    yield host
    host.close()
