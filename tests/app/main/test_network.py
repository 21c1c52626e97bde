"""The network thread against a real application: what waits for a GUI that does not poll."""

import threading
from pathlib import Path

import pytest

from stroboscope.app.models.network import Closed, Network, Opened, Received
from stroboscope.debugger_protocol.messages import (
    Done,
    Failed,
    FastForward,
    Frame,
    Play,
    SceneAdded,
    SceneDescribed,
    SceneStatus,
    SessionStatus,
    Step,
    Subscribe,
)
from stroboscope.debugger_protocol.topics import Topic


class Gui:
    """Polls when a test says so, and keeps what came."""

    def __init__(self):
        self.woken = threading.Event()
        self.network = Network(self.woken.set)
        self.events = []
        self.latest = []

    def poll(self):
        batch = self.network.poll()
        self.events += batch.events
        self.latest += batch.latest
        return batch

    def has(self, kind, message=None):
        self.poll()
        return any(
            isinstance(event, kind)
            and (message is None or isinstance(getattr(event, "message", None), message))
            for event in [*self.events, *self.latest]
        )


@pytest.fixture
def gui(qapp):
    gui = Gui()
    yield gui
    gui.network.close()


def test_opening_brings_welcome_scenes_and_status(gui, pendulums, wait_until):
    key = gui.network.open(pendulums("--scenes", "2").path)
    wait_until(lambda: gui.has(Received, SceneStatus) and gui.has(Received, SessionStatus))
    assert isinstance(gui.events[0], Opened)
    assert gui.events[0].key == key

    def added():
        gui.poll()
        messages = [getattr(event, "message", None) for event in gui.events]
        return [message.name for message in messages if isinstance(message, SceneAdded)]

    wait_until(lambda: added() == ["Pendulum", "Pendulum (2)"])
    assert gui.woken.is_set()


def test_frames_that_nobody_polls_are_replaced_and_counted(gui, pendulums, wait_until):
    application = pendulums()
    key = gui.network.open(application.path)
    wait_until(lambda: gui.has(Received, SceneStatus))
    scene_id = next(
        e.message.scene_id for e in gui.events if isinstance(getattr(e, "message", 0), SceneAdded)
    )
    gui.network.send(key, Subscribe(id=1, scene_id=scene_id, topics=(Topic.POSE,)))
    gui.network.send(key, Play(id=2))
    wait_until(lambda: gui.has(Received, SceneDescribed) and gui.has(Received, Done))
    gui.latest.clear()
    # Nobody polls while half a second passes in the simulation.
    status = [0.0]

    def half_a_second():
        with gui.network._inbox._lock:
            slots = list(gui.network._inbox._slots.values())
        for event in slots:
            if isinstance(event.message, Frame):
                status[0] = max(status[0], event.message.dropped)
        return status[0] >= 5

    wait_until(half_a_second)
    batch = gui.poll()
    frames = [e.message for e in batch.latest if isinstance(e.message, Frame)]
    assert len(frames) == len({(f.scene_id, f.topic, f.instant) for f in frames})
    assert max(f.dropped for f in frames) >= 5


def test_answers_carry_the_number_of_their_command(gui, pendulums, wait_until):
    key = gui.network.open(pendulums().path)
    wait_until(lambda: gui.has(Received, SceneStatus))
    gui.network.send(key, Step(id=71, scene_id=999))
    gui.network.send(key, FastForward(id=72))
    wait_until(lambda: gui.has(Received, Failed) and gui.has(Received, Done))
    answers = {
        e.message.id: type(e.message)
        for e in gui.events
        if isinstance(getattr(e, "message", 0), Done | Failed)
    }
    assert answers == {71: Failed, 72: Done}


def test_an_application_that_is_killed_closes_with_a_reason(gui, pendulums, wait_until):
    application = pendulums()
    gui.network.open(application.path)
    wait_until(lambda: gui.has(Received, SceneStatus))
    application.process.kill()
    wait_until(lambda: gui.has(Closed))
    closed = next(e for e in gui.events if isinstance(e, Closed))
    assert closed.reason


def test_a_file_that_is_not_there_closes_at_once(gui, wait_until):
    gui.network.open(Path("/nowhere/session-1.json"))
    wait_until(lambda: gui.has(Closed))
    assert "can't be opened" in gui.events[0].reason


def test_closing_the_network_releases_the_application_and_its_thread(gui, pendulums, wait_until):
    application = pendulums()
    gui.network.open(application.path)
    wait_until(lambda: gui.has(Received, SceneStatus))
    gui.network.close()
    gui.network.close()
    wait_until(application.has_ended)
    assert application.process.returncode == 0
