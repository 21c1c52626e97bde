"""Applications that come and go: which scene the window shows, and what it says of the others."""

import pytest
from event_loop import trigger

from stroboscope.app.panels.tree_items import NODE_ROLE


@pytest.fixture
def end(wait_until):
    """``end(desktop, application)``: kill an application and wait until the window knows."""

    def kill(desktop, application):
        application.process.kill()
        application.process.wait()
        wait_until(
            lambda: all(
                not s.is_connected for s in desktop.sessions.sessions if s.path == application.path
            )
        )

    return kill


def _session_row(desktop, application):
    tree = desktop.window.tree
    for row in range(tree.view.model().rowCount()):
        index = tree.view.model().index(row, 0)
        if index.data(NODE_ROLE).session.path == application.path:
            return index
    raise AssertionError(f"no row for {application.path}")


def test_a_new_application_is_shown_when_the_shown_one_has_ended(
    desktop, attached, pendulums, end, wait_until
):
    dead = attached("--script", "/x/gy.py", "--scenes", "3")
    end(desktop, dead)
    new = pendulums("--script", "/x/crash.py")
    desktop.sessions.open(new.path)
    wait_until(lambda: desktop.sessions.shown.session.path == new.path)
    assert len(desktop.sessions.sessions) == 2  # what the dead one left can still be looked at
    wait_until(lambda: desktop.window.transport.badge.word == "PAUSED")
    tree = desktop.window.tree
    wait_until(lambda: not tree.view.isExpanded(_session_row(desktop, dead)))

    def shown_row_is_current_and_in_sight():
        current = tree.view.currentIndex()
        return (
            current.isValid()
            and current.data(NODE_ROLE).scene is desktop.sessions.shown
            and tree.view.viewport().rect().intersects(tree.view.visualRect(current))
        )

    wait_until(shown_row_is_current_and_in_sight)


def test_a_dead_application_is_removed_from_the_menu_of_its_rows(desktop, attached, end):
    dead = attached("--script", "/x/gy.py")
    end(desktop, dead)
    tree = desktop.window.tree
    row = _session_row(desktop, dead)
    for index in (row, row.model().index(0, 0, row)):
        menu = tree.menu_of(index.data(NODE_ROLE))
        assert "Remove from window" in [action.text() for action in menu.actions()]
        menu.deleteLater()
    trigger(desktop.window.actions_by_name["forget_ended"])
    assert desktop.sessions.sessions == []


def test_a_second_run_of_the_same_script_is_announced_too(desktop, attached, pendulums, wait_until):
    attached("--script", "/x/train.py")
    shown = desktop.sessions.shown
    new = pendulums("--script", "/x/train.py")
    desktop.sessions.open(new.path)
    wait_until(lambda: len(desktop.sessions.all_scenes()) == 2)
    wait_until(desktop.window.status.joined.isVisible)
    assert desktop.sessions.shown is shown


def test_a_live_scene_is_not_left_for_a_newcomer_but_the_newcomer_is_announced(
    desktop, attached, pendulums, click, wait_until
):
    attached("--script", "/x/first.py")
    shown = desktop.sessions.shown
    new = pendulums("--script", "/x/second.py")
    desktop.sessions.open(new.path)
    status = desktop.window.status
    wait_until(lambda: status.joined.isVisible())
    assert desktop.sessions.shown is shown
    says = "second.py has joined and waits, paused — show it"
    wait_until(lambda: status.joined.text() == says)

    def told():
        lines = [line.text for line in desktop.log.lines if line.source == "second.py"]
        # Whether it waits may be another thing a moment later: a row of the log stays.
        return any("has joined this window. Select" in line for line in lines)

    wait_until(told)
    wait_until(lambda: "new, paused" in _session_row(desktop, new).data())
    click(status.joined)
    wait_until(lambda: desktop.sessions.shown.session.path == new.path)
    wait_until(lambda: not status.joined.isVisible())
    wait_until(lambda: "new" not in _session_row(desktop, new).data())


def test_a_normal_end_is_called_ended_and_a_lost_connection_is_not(
    desktop, attached, end, wait_until
):
    ending = attached("--script", "/x/ends.py", "--steps", "5")
    badge = desktop.window.transport.badge
    desktop.sessions.play()
    wait_until(lambda: badge.word == "ENDED")
    wait_until(lambda: badge.property("level") == "")
    assert ending.process.wait(60) == 0
    killed = attached("--script", "/x/killed.py")
    end(desktop, killed)
    wait_until(lambda: badge.word == "DISCONNECTED")
    wait_until(lambda: badge.property("level") == "warn")


def test_a_dead_scene_that_was_never_shown_says_why_there_is_no_picture(
    desktop, attached, end, wait_until
):
    application = attached("--scenes", "2")
    wait_until(lambda: len(desktop.sessions.all_scenes()) == 2)
    first, second = desktop.sessions.all_scenes()
    wait_until(lambda: first.latest("pose") is not None)
    end(desktop, application)
    view = desktop.window.scene_view
    wait_until(lambda: not view.empty.isVisible())
    desktop.sessions.show(second)
    wait_until(view.empty.isVisible)
    assert "no picture was received" in view.empty.text().lower()
    desktop.sessions.show(first)
    wait_until(lambda: not view.empty.isVisible())
