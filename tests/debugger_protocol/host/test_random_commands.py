"""Random commands from a client against owner threads: no deadlock, and exact counts."""

import random
import threading
from collections.abc import Iterator
from functools import partial

import pytest
from oscillator import Stepper

from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.host.server import DebugServer
from stroboscope.debugger_protocol.messages import PlaybackMode


@pytest.fixture
def client(host: Host) -> Iterator[DebuggerClient]:
    server = DebugServer(host)
    server.start()
    with DebuggerClient.connect(server.connection_file) as client:
        yield client
    server.stop()


class Counted:
    """What a scene must have counted, kept by the test from the commands it gave."""

    def __init__(self, client: DebuggerClient, scene_id: int) -> None:
        self.client = client
        self.scene_id = scene_id
        self.total = 0

    def told(self) -> int:
        return next(s for s in self.client.scenes() if s.scene_id == self.scene_id).total_steps


def give_commands(client: DebuggerClient, scenes: list[Counted], *, count: int, seed: int) -> None:
    """Give random commands; whenever the session is paused, every count must be exact."""
    chance = random.Random(seed)
    client.pause()
    for scene in scenes:
        scene.total = scene.told()
    for _ in range(count):
        scene = chance.choice(scenes)
        match chance.choices(("run", "pause", "step", "restore", "speed"), (2, 3, 8, 3, 1))[0]:
            case "run":
                chance.choice((client.play, client.fast_forward))()
                client.pause()
                for each in scenes:
                    each.total = each.told()
            case "pause":
                client.pause()
            case "step":
                steps = chance.choice((1, 1, 1, 2, 7))
                client.step(scene.scene_id, steps)
                scene.total += steps
            case "restore":
                client.restore_initial(scene.scene_id)
            case "speed":
                client.set_speed(chance.choice((0.25, 1.0, 8.0)))
        assert client.session_status.mode is PlaybackMode.PAUSED
        assert [each.told() for each in scenes] == [each.total for each in scenes]


@pytest.mark.parametrize("nstep", [1, 3])
def test_two_stepping_threads_count_exactly(host: Host, client: DebuggerClient, nstep: int) -> None:
    steppers = [Stepper(host, name, nstep=nstep) for name in "AB"]
    assert client.wait_until(lambda c: len(c.scenes()) == 2, 60)
    scenes = [Counted(client, stepper.scene.link.scene_id) for stepper in steppers]
    give_commands(client, scenes, count=150, seed=nstep)
    for stepper, scene in zip(steppers, scenes, strict=True):
        assert stepper.scene.backend.total_steps == scene.total
        loose = stepper.scene.loose_physics  # a restore in mid-step leaves some
        assert stepper.scene.backend.axis == scene.total * nstep + loose
    host.close()
    for stepper in steppers:
        stepper.join()


def test_two_scenes_on_one_thread_count_exactly(host: Host, client: DebuggerClient) -> None:
    stepper = Stepper(host, "A", "B")
    a, b = stepper.scenes
    assert client.wait_until(lambda c: len(c.scenes()) == 2, 60)
    chance = random.Random(3)
    client.pause()
    for _ in range(100):
        scene = chance.choice((a, b))
        before = (a.backend.total_steps, b.backend.total_steps)
        match chance.choice(("run", "step", "restore")):
            case "run":
                client.fast_forward()
                client.pause()
                continue
            case "step":
                client.step(scene.link.scene_id, 2, with_dependents=True)
                moved = scene.backend.total_steps - before[scene is b]
                other = a if scene is b else b
                assert moved == 2
                assert other.backend.total_steps - before[scene is a] in (1, 2)
            case "restore":
                client.restore_initial(scene.link.scene_id)
                assert scene.backend.time == 0.0
                assert (a.backend.total_steps, b.backend.total_steps) == before
    host.close()
    stepper.join()


def test_commands_from_several_threads_at_once_end_without_a_deadlock(host: Host) -> None:
    host.attach(PlaybackMode.PAUSED)
    steppers = [Stepper(host, "A"), Stepper(host, "B", "C", nstep=2)]
    ids = list(host.links)
    answered = threading.Semaphore(0)

    def command(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(400):
            one = chance.choice(ids)
            give = chance.choice(
                (
                    host.play,
                    host.pause,
                    partial(host.fast_forward, one),
                    partial(host.pause, one),
                    partial(host.step, one, with_dependents=True),
                    partial(host.physics_step, one, 3),
                    partial(host.restore_initial, one),
                )
            )
            ticket = give(reply=lambda error: answered.release())
            if chance.random() < 0.2 and host.cancel(ticket):
                answered.release()

    threads = [threading.Thread(target=command, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    host.fast_forward()
    # Every command is answered exactly once: done, interrupted or withdrawn.
    for number in range(1600):
        assert answered.acquire(timeout=60), f"only {number} of 1600 were answered"
    assert not answered.acquire(blocking=False)
    host.close()
    for stepper in steppers:
        stepper.join()
