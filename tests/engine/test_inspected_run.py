"""Runs that are looked at, stopped and stepped end exactly where undisturbed ones end."""

import contextlib
import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.typing import NDArray
from samples import few

import stroboscope.engine as physics
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.host import Host, HostListener
from stroboscope.debugger_protocol.host.playback import HoldKind
from stroboscope.debugger_protocol.host.scene_playback import Interest
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.debugger_protocol.topics import Instant, Topic
from stroboscope.engine.runtime import current_runtime

Scene = physics.Scene
Make = Callable[..., Scene]
Drive = Callable[..., NDArray[np.float64]]

STEPS = 400
EVERYTHING = {topic: 0.0 for topic in Topic if topic not in (Topic.SIGNALS, Topic.LOG)}


@pytest.fixture
def host() -> Iterator[Host]:
    """The engine's host; the test attaches."""
    physics.initialize()
    host = current_runtime().host
    host.listener = HostListener()
    yield host
    host.detach("the test is over")


def test_a_run_with_every_topic_and_channel_paused_and_stepped_ends_bit_identical(
    make_scene: Make, drive: Drive, host: Host, wait_until: Callable[..., None]
) -> None:
    undisturbed = drive(make_scene(), STEPS)
    host.attach(PlaybackMode.PAUSED)
    opened = threading.Event()
    scenes: list[Scene] = []

    def run() -> NDArray[np.float64]:
        scene = make_scene()
        scenes.append(scene)
        opened.set()
        return drive(scene, STEPS)

    with ThreadPoolExecutor(1) as executor:
        future = executor.submit(run)
        opened.wait(60)
        (scene,) = scenes
        link, axis = scene.link, lambda: scene.counters.axis
        everything = Interest(intervals=EVERYTHING, channels=tuple(scene.world.channels))
        host.set_interest(link, everything)
        host.step(link.scene_id, 3)
        wait_until(lambda: axis() == 3)
        # Seen while paused: the state as it stands, and the last executed step.
        wait_until(lambda: (Topic.CONTACTS, Instant.NOW) in link.publisher.slots)
        assert (Topic.CONTACTS, Instant.EXECUTED) in link.publisher.slots
        for target in (50, 130, 131, 200):
            host.run_until(link.scene_id, step_count=target)
            wait_until(lambda target=target: axis() == target)
            host.set_interest(link, Interest(intervals=dict(EVERYTHING)))
            host.set_interest(link, everything)
        host.fast_forward()
        positions = future.result(60)
    assert np.array_equal(undisturbed, positions)
    assert link.ring is not None
    assert link.ring.count > 0


def test_frames_say_the_instant_and_step_that_they_belong_to(
    make_scene: Make, host: Host, wait_until: Callable[..., None]
) -> None:
    host.attach(PlaybackMode.PAUSED)
    opened = threading.Event()
    scenes: list[Scene] = []

    def run() -> None:
        scenes.append(make_scene())
        opened.set()
        for _ in range(3):
            scenes[0].step()

    with ThreadPoolExecutor(1) as executor:
        future = executor.submit(run)
        opened.wait(60)
        link = scenes[0].link
        host.set_interest(link, Interest(intervals={Topic.STATE: 0.0, Topic.POSE: 0.0}))
        host.step(link.scene_id, 2)
        slots = link.publisher.slots
        wait_until(
            lambda: (
                (Topic.STATE, Instant.NOW) in slots
                and slots[Topic.STATE, Instant.NOW].clock.axis == 2
            )
        )
        executed, now = slots[Topic.STATE, Instant.EXECUTED], slots[Topic.STATE, Instant.NOW]
        assert (executed.clock.axis, executed.clock.time) == (1, 0.005)
        assert (now.clock.axis, now.clock.time) == (2, 0.01)
        assert not np.array_equal(executed.arrays["qpos"], now.arrays["qpos"])
        host.play()
        future.result(60)


STACK = """
<mujoco><size memory="60K"/><worldbody><geom type="plane" size="2 2 .1"/>
  <replicate count="30" offset="0 0 0.21"><body pos="0 0 0.3"><freejoint/>
  <geom type="box" size=".1 .1 .1"/></body></replicate></worldbody></mujoco>
"""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("attached", [False, True])
def test_one_failing_scene_does_not_stop_or_change_the_others(
    make_scene: Make,
    drive: Drive,
    host: Host,
    wait_until: Callable[..., None],
    attached: bool,
) -> None:
    undisturbed = drive(make_scene(), 200)
    if attached:
        host.attach(PlaybackMode.FAST_FORWARD)

    def healthy() -> NDArray[np.float64]:
        return drive(make_scene(), 200)

    def failing() -> None:
        scene = physics.create_scene("Stack", STACK)
        for _ in range(500):
            scene.step()

    with ThreadPoolExecutor(4) as executor:
        runs = [executor.submit(healthy) for _ in range(3)]
        failed = executor.submit(failing)
        assert all(np.array_equal(run.result(60), undisturbed) for run in runs)
        if attached:
            # It is held before the step that fails; let go, it fails.
            wait_until(lambda: any(HoldKind.STOP in link.holds for link in host.links.values()))
            assert not failed.done()
            host.fast_forward()
        with pytest.raises(physics.StepFailedError, match="Stack"):
            failed.result(60)


def test_two_scenes_of_two_models_side_by_side_end_as_they_do_alone(
    make_scene: Make, drive: Drive
) -> None:
    alone = [drive(make_scene(model), 300) for model in ("humanoid", "arm")]
    with ThreadPoolExecutor(2) as executor:
        runs = [
            executor.submit(lambda model=model: drive(make_scene(model), 300))
            for model in ("humanoid", "arm")
        ]
        for expected, run in zip(alone, runs, strict=True):
            assert np.array_equal(expected, run.result(60))


def reference_of(scene: Scene, steps: int) -> NDArray[np.float64]:
    """Return qpos before each of the first ``steps`` physics steps, (steps, nq)."""
    positions = np.empty((steps, scene.model.nq))
    for k in range(steps):
        positions[k] = scene.data.qpos
        scene.step()
    return positions


def test_whatever_is_commanded_every_state_is_one_of_the_undisturbed_run(
    make_scene: Make, host: Host, wait_until: Callable[..., None]
) -> None:
    known = 1000
    reference = reference_of(make_scene(), known)
    host.attach(PlaybackMode.PAUSED)
    stop = threading.Event()
    ready = threading.Barrier(4)
    scenes: list[Scene] = []

    def run(count: int) -> int:
        mine = [make_scene() for _ in range(count)]
        scenes.extend(mine)
        ready.wait(60)
        checked = 0
        while not stop.is_set():
            for scene in mine:
                scene.step(nstep=2)
                step = scene.physics_step_count
                if step < known:
                    assert np.array_equal(scene.data.qpos, reference[step]), (scene.name, step)
                    checked += 1
                else:
                    scene.reset()
        return checked

    def fast_forward(_scene_id: int) -> None:
        host.fast_forward()

    def axes() -> int:
        return sum(scene.counters.axis for scene in scenes)

    rng = random.Random(7)
    commands: list[Callable[[int], object]] = [
        lambda _: host.play(),
        lambda _: host.pause(),
        fast_forward,
        lambda scene_id: host.play(scene_id),
        lambda scene_id: host.pause(scene_id),
        lambda scene_id: host.step(scene_id, rng.randint(1, 3)),
        lambda scene_id: host.physics_step(scene_id, rng.randint(1, 3)),
        lambda scene_id: host.restore_initial(scene_id),
        lambda _: host.set_speed(rng.choice([0.25, 1.0, 8.0])),
    ]
    with ThreadPoolExecutor(3) as executor:
        threads = [executor.submit(run, count) for count in (1, 1, 2)]
        ready.wait(60)
        for scene in scenes:
            host.set_interest(scene.link, Interest(intervals=EVERYTHING, channels=("qacc",)))
        for _ in range(1000):
            command = rng.choice(commands)
            with contextlib.suppress(CommandError):
                command(rng.choice(scenes).scene_id)
            if command is fast_forward:
                target = axes() + 20
                wait_until(lambda target=target: axes() >= target)
        host.fast_forward()
        stop.set()
        assert sum(thread.result(60) for thread in threads) > 500


# Of what only some models have, and what is told on change only, there may be no frame.
TOLD = frozenset(EVERYTHING) - {
    Topic.TIMING,
    Topic.GHOSTS,
    Topic.ENVIRONMENTS,
    Topic.LOOKS,
    Topic.PLUGINS,
}


@contextlib.contextmanager
def let_go(host: Host) -> Iterator[None]:
    """Let every parked thread go whatever happens, so that a failing test ends."""
    try:
        yield
    finally:
        host.detach("the test is over")


def executed_of_reference(scene: Scene, steps: int) -> dict[Topic, dict[str, NDArray[np.generic]]]:
    """Drive ``scene`` for ``steps`` steps; return the executed frame of the last one."""
    controls = np.random.default_rng(0).uniform(-1, 1, (STEPS, scene.model.nu))
    for k in range(steps):
        scene.ctrl[:] = controls[k]
        if k == steps - 1:
            scene.link.backend.begin_frame(TOLD)
        scene.step()
    return dict(scene.link.backend.end_frame(TOLD).arrays)


@pytest.mark.parametrize("integrator", few(["RK4", "Euler"], 1))
def test_a_scene_that_comes_to_a_stop_shows_the_step_that_was_executed_last(
    make_scene: Make,
    drive: Drive,
    host: Host,
    wait_until: Callable[..., None],
    integrator: str,
) -> None:
    options = physics.SceneOptions(integrator=physics.Integrator[integrator.upper()])
    reference = make_scene(options=options, playback="free")
    undisturbed = drive(make_scene(options=options), STEPS)
    host.attach(PlaybackMode.PAUSED)
    opened = threading.Event()
    scenes: list[Scene] = []

    def run() -> NDArray[np.float64]:
        scenes.append(make_scene(options=options))
        opened.set()
        return drive(scenes[0], STEPS)

    with ThreadPoolExecutor(1) as executor, let_go(host):
        future = executor.submit(run)
        opened.wait(60)
        (scene,) = scenes
        link, slots = scene.link, scene.link.publisher.slots
        # A frame at the start, and none before a thousand seconds have passed.
        host.set_interest(link, Interest(intervals=dict.fromkeys(TOLD, 1000.0)))
        host.set_speed(0.25)
        host.play()
        wait_until(lambda: scene.counters.axis > 120)
        host.pause()
        wait_until(lambda: link.owner.parked_in is link)
        stands = scene.counters.axis
        wait_until(lambda: slots[Topic.STATE, Instant.NOW].clock.axis == stands)
        expected = executed_of_reference(reference, stands)
        for topic in TOLD:
            slot = slots[topic, Instant.EXECUTED]
            assert (slot.clock.axis, slot.clock.step_count) == (stands - 1, stands - 1), topic
            assert slot.clock.time == slots[Topic.STATE, Instant.EXECUTED].clock.time
            for name, values in expected[topic].items():
                np.testing.assert_array_equal(slot.arrays[name], values, f"{topic}.{name}")
        # A restore leaves no executed step behind.
        host.restore_initial(link.scene_id)
        wait_until(lambda: slots[Topic.STATE, Instant.NOW].clock.step_count == 0)
        assert (Topic.STATE, Instant.EXECUTED) not in slots
        host.fast_forward()
        positions = future.result(60)
    assert len(positions) == len(undisturbed)


def test_what_is_asked_for_inside_a_step_belongs_to_that_step(
    make_scene: Make, host: Host, wait_until: Callable[..., None]
) -> None:
    host.attach(PlaybackMode.PAUSED)
    opened = threading.Event()
    scenes: list[Scene] = []

    def run() -> None:
        scenes.append(make_scene())
        opened.set()
        scenes[0].step()
        scenes[0].step(nstep=5)

    with ThreadPoolExecutor(1) as executor, let_go(host):
        future = executor.submit(run)
        opened.wait(60)
        link, slots = scenes[0].link, scenes[0].link.publisher.slots
        for count, axis, steps in ((1, 0, 0), (3, 3, 1)):
            host.physics_step(link.scene_id, count)
            wait_until(lambda axis=axis: scenes[0].counters.axis == axis + 1)
            wait_until(lambda: link.owner.parked_in is link)
            host.set_interest(link, Interest(intervals={Topic.STATE: 0.0}))
            wait_until(
                lambda axis=axis: (
                    (Topic.STATE, Instant.EXECUTED) in slots
                    and slots[Topic.STATE, Instant.EXECUTED].clock.axis == axis
                )
            )
            clock = slots[Topic.STATE, Instant.EXECUTED].clock
            assert (clock.step_count, clock.physics_step_count, clock.total_steps) == (
                steps, axis, steps,
            )  # fmt: skip
            host.set_interest(link, Interest(intervals={}))
        host.play()
        future.result(60)
