"""Commands that something comes between, even their answer: whoever asked is told in the end."""

import pytest
from oscillator import Scene

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
