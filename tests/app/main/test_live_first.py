"""An edit while the past is looked at: the view goes live first, and the window says so."""

import pytest
from event_loop import trigger
from PySide6.QtCore import Qt

from stroboscope.debugger_protocol.messages import Done, EditField, RestoreCheckpoint
from stroboscope.debugger_protocol.time_messages import SceneHistory

Key = Qt.Key


@pytest.mark.slow
def test_an_edit_after_a_step_forward_within_the_past_says_it_too(travel, wait_until):
    t = travel()
    t.play_on(40)
    session, status = t.scene.session, t.window.status
    receive = session.receive
    for news_first in (True, False):
        for _ in range(3):
            t.press(Key.Key_Left)
        wait_until(lambda: t.history.told.view_back == 3)
        t.settle()
        held = []
        first = Done if news_first else SceneHistory

        def later(message, held=held, first=first):
            (held.append if isinstance(message, first) else receive)(message)

        session.receive = later
        t.press(Key.Key_Right)
        wait_until(lambda held=held: held)
        if news_first:
            wait_until(lambda: t.history.told.view_back == 2)
        session.receive = receive
        for message in held:
            receive(message)
        wait_until(lambda: t.history.told.view_back == 2)
        status.clearMessage()
        t.scene.edits.set_state(EditField.QPOS, 0, (0.5 + 0.1 * news_first,))
        wait_until(lambda: t.history.view is None)
        wait_until(lambda: "went live first" in status.currentMessage())
        t.settle()


def test_a_restore_from_the_past_is_no_edit(travel, wait_until):
    t = travel()
    t.play_on(40)
    said = []
    t.window.status.messageChanged.connect(said.append)
    trigger(t.window.actions_by_name["checkpoint"])
    wait_until(lambda: t.scene.edits.checkpoints)
    t.press(Key.Key_Left)
    wait_until(lambda: t.history.is_away)
    t.settle()
    number = t.scene.edits.checkpoints[0].checkpoint_id
    t.scene.session.send(
        lambda i: RestoreCheckpoint(id=i, scene_id=t.scene.scene_id, checkpoint_id=number)
    )
    wait_until(lambda: t.history.view is None)
    t.settle()
    assert not any("went live first" in text for text in said)
