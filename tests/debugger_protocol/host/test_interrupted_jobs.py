"""Commands that something comes between, even their answer: whoever asked is told in the end."""

import contextlib
import sys
import threading
import time
from collections.abc import Callable

import pytest
from oscillator import Scene

from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.messages import PlaybackMode


def test_an_answer_for_which_no_stack_was_left_is_given_at_the_next_occasion(host: Host) -> None:
    host.attach(PlaybackMode.PAUSED)
    scene = Scene(host, "A")
    scene.link.serve()
    answers: list[CommandError | None] = []
    failures = [RecursionError("no stack for the answer"), RecursionError("nor for this one")]

    def restore(state: bytes) -> None:
        raise RecursionError("no stack")

    def reply(error: CommandError | None) -> None:
        if failures:
            raise failures.pop()
        answers.append(error)

    scene.backend.restore_initial = restore  # type: ignore[method-assign]
    host.restore_initial(scene.link.scene_id, reply=reply)
    with pytest.raises(RecursionError):
        scene.link.serve()
    assert not scene.link.owner.serving
    while failures:
        with pytest.raises(RecursionError):
            scene.link.serve()
    assert answers == []
    scene.link.serve()
    scene.link.serve()
    assert len(answers) == 1
    assert "restore" in str(answers[0])
    assert "RecursionError" in str(answers[0])


def _with_stack_left(free: int, function: Callable[[], None]) -> None:
    """Call ``function`` where only about so many more calls may be nested."""
    frame, depth = sys._getframe(), 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1  # type: ignore[assignment]

    def deeper(left: int) -> None:
        if left > 0:
            deeper(left - 1)
        else:
            function()

    deeper(sys.getrecursionlimit() - depth - free)


def test_commands_are_answered_however_little_stack_the_script_has_left(
    host: Host, connect: Callable[..., DebuggerClient]
) -> None:
    scene = Scene(host, "A")
    client = connect()
    scene.link.serve()
    unanswered: list[int] = []
    for free in range(4, 60):
        answered = threading.Event()

        def ask(answered: threading.Event = answered) -> None:
            with contextlib.suppress(CommandError):
                client.restore_initial(scene.link.scene_id)
            answered.set()

        asking = threading.Thread(target=ask)
        asking.start()
        while not scene.link.owner.mailbox:
            time.sleep(0)
        with contextlib.suppress(RecursionError):
            _with_stack_left(free, scene.link.serve)
        end = time.monotonic() + 60.0
        while not answered.is_set() and time.monotonic() < end:
            scene.link.serve()
            answered.wait(0.001)
        if not answered.is_set():
            unanswered.append(free)
            break
    assert unanswered == []
