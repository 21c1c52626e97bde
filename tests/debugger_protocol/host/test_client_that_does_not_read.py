"""A client that reads nothing for a while: it stays, and then knows what holds."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from oscillator import Stepper, parked

from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.host import hub
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.host.server import DebugServer
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.messages import EditField, EditState

EDITS = 250
# Long enough for that many to fill every buffer on the way.
LONG = "a spring that is called " + 400 * "very " + "soft"
LAST = f"{0.001 * (EDITS - 1):.3f} m"
OBSERVER = """
import sys
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.exceptions import ConnectionLost

with DebuggerClient.connect(observe=True) as client:
    client.wait_until(lambda c: c.scenes(), 60)
    print("ready", flush=True)
    last = sys.stdin.readline().strip()
    ends = lambda c: [edit.text for edit in c.edits(1)[-1:] if edit.text.endswith(last)]
    told = client.wait_until(ends, 60)
    print(bool(told), len(client.edits(1)), client.closed_reason or "connected", flush=True)
    try:
        client.wait_until(lambda c: False)
    except ConnectionLost:
        print(client.closed_reason, flush=True)
"""


@pytest.fixture
def host() -> Iterator[Host]:
    """A host that takes no client for gone that is silent for as long as the edits take."""
    host = Host(limits=Limits(lease_timeout=1000.0))
    yield host
    host.close()


@pytest.fixture
def observer(connect: Callable[..., DebuggerClient]) -> Iterator[Callable[[], Any]]:
    """``observer()``: a client in a process of its own, which can be stopped."""
    processes: list[Any] = []

    def start() -> Any:
        process = subprocess.Popen(
            [sys.executable, "-c", OBSERVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def test_an_observer_that_reads_nothing_for_hundreds_of_edits_knows_the_last_ones_then(
    host: Host,
    connect: Callable[..., DebuggerClient],
    own: Callable[..., Stepper],
    observer: Callable[[], Any],
    answer: Callable[[], Any],
) -> None:
    client = connect()
    stepper = own(host, "A")
    stepper.scene.backend.label = lambda kind, index: (LONG, "m")  # type: ignore[method-assign]
    assert client.wait_until(parked, 60)
    frozen = observer()
    os.kill(frozen.pid, signal.SIGSTOP)
    for turn in range(EDITS):
        # Two clients in turn: what one of them goes on with would be one edit.
        edit = EditState(id=0, scene_id=1, field=EditField.QPOS, index=0, values=(0.001 * turn,))
        reply = answer()
        host.edit(edit, client=2 + turn % 2, reply=reply)
        reply.done()
    assert client.wait_until(lambda c: c.edits(1)[-1].text.endswith(LAST), 60)
    os.kill(frozen.pid, signal.SIGCONT)
    frozen.stdin.write(LAST + "\n")
    frozen.stdin.flush()
    assert frozen.stdout.readline() == "True 200 connected\n"


@pytest.mark.slow
def test_an_observer_that_is_slow_when_the_session_ends_is_still_told_the_last_and_why(
    host: Host,
    server: DebugServer,
    connect: Callable[..., DebuggerClient],
    own: Callable[..., Stepper],
    observer: Callable[[], Any],
    answer: Callable[[], Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hub, "_PATIENCE", 60.0)  # it is slow, and counts as reading
    client = connect()
    stepper = own(host, "A")
    stepper.scene.backend.label = lambda kind, index: (LONG, "m")  # type: ignore[method-assign]
    assert client.wait_until(parked, 60)
    slow = observer()
    slow.stdin.write(LAST + "\n")
    slow.stdin.flush()
    os.kill(slow.pid, signal.SIGSTOP)
    for turn in range(EDITS):
        edit = EditState(id=0, scene_id=1, field=EditField.QPOS, index=0, values=(0.001 * turn,))
        reply = answer()
        host.edit(edit, client=2 + turn % 2, reply=reply)
        reply.done()
    ending = threading.Thread(target=server.stop, args=("enough for today",))
    ending.start()
    # As long as a busy machine may keep it from running.
    ending.join(2.0)
    os.kill(slow.pid, signal.SIGCONT)
    assert slow.stdout.readline().startswith("True 200 ")
    assert slow.stdout.readline() == "enough for today\n"
    ending.join(60)
    assert not ending.is_alive()
