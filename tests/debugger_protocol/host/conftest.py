"""Fixtures of the host's tests; the engine they step is the module ``oscillator`` beside this."""

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.host.playback import Ticket
from stroboscope.debugger_protocol.host.server import DebugServer


def _load(name: str) -> None:
    # importlib mode puts no test folder on sys.path, and child processes load the same file.
    path = Path(__file__).with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


for _name in ("oscillator", "remembering"):
    if _name not in sys.modules:
        _load(_name)


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


@pytest.fixture
def server(host: Host) -> Iterator[DebugServer]:
    """A debug server that clients can join."""
    server = DebugServer(host, script="train.py")
    server.start()
    yield server
    server.stop()


@pytest.fixture
def clients() -> list[DebuggerClient]:
    """The clients that ``connect`` has made."""
    return []


@pytest.fixture
def connect(
    server: DebugServer, clients: list[DebuggerClient]
) -> Iterator[Callable[..., DebuggerClient]]:
    """``connect(observe=True)``: a client of ``server``, closed at the end."""

    def make(**options: bool) -> DebuggerClient:
        client = DebuggerClient.connect(server.connection_file, **options)
        clients.append(client)
        return client

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def own(clients: list[DebuggerClient]) -> Iterator[Callable[..., Any]]:
    """``own(host, "A")``: an owner thread whose scenes the clients know, joined at the end."""
    from oscillator import Stepper

    steppers: list[Stepper] = []

    def make(*args: object, **options: object) -> Stepper:
        stepper = Stepper(*args, **options)  # type: ignore[arg-type]
        steppers.append(stepper)
        names = {scene.link.name for scene in stepper.scenes}
        for client in clients:
            if not client.closed_reason:
                client.wait_until(lambda c: names <= {s.name for s in c.scenes()}, 60)
        return stepper

    yield make
    for stepper in steppers:
        stepper.scene.link._host.close()
        stepper.join()


@pytest.fixture
def remember(host: Host, clients: list[DebuggerClient]) -> Iterator[Callable[..., Any]]:
    """``remember("A")``: an owner thread of oscillators with a memory, joined at the end."""
    from remembering import GuardedStepper

    steppers: list[GuardedStepper] = []

    def make(*names: str, **options: Any) -> GuardedStepper:
        stepper = GuardedStepper(host, *names, **options)
        steppers.append(stepper)
        known = {scene.link.name for scene in stepper.scenes}
        for client in clients:
            if not client.closed_reason:
                client.wait_until(lambda c: known <= {s.name for s in c.scenes()}, 60)
        return stepper

    yield make
    host.close()
    for stepper in steppers:
        stepper.join()
