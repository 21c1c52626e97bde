"""Callbacks around steps and on playback, on the owner thread, errors included."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import stroboscope.engine as physics
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.debugger_protocol.time_messages import StopReason
from stroboscope.engine.runtime import current_runtime

Scene = physics.Scene
Make = Callable[..., Scene]


@pytest.fixture
def host() -> Iterator[Host]:
    """The engine's host, with nobody attached yet."""
    physics.initialize()
    return current_runtime().host


def test_step_callbacks_run_once_per_application_step_in_order(make_scene: Make) -> None:
    scene = make_scene()
    calls: list[str] = []
    scene.register_pre_step_callback(lambda: calls.append("pre 1"))
    remove = scene.register_pre_step_callback(lambda: calls.append("pre 2"))
    scene.register_post_step_callback(lambda s: calls.append(f"post {s.physics_step_count}"))
    scene.step(nstep=4)
    assert calls == ["pre 1", "pre 2", "post 4"]
    remove()
    remove()
    calls.clear()
    scene.step(0.01)
    assert calls == ["pre 1", "post 6"]


def test_a_step_is_bare_again_when_the_last_step_callback_is_removed(make_scene: Make) -> None:
    scene = make_scene()
    remove = scene.register_pre_step_callback(lambda: None)
    remove()
    assert scene._bare


def test_what_a_callback_raises_reaches_step(make_scene: Make) -> None:
    scene = make_scene()

    def fail() -> None:
        raise LookupError("no target")

    remove = scene.register_pre_step_callback(fail)
    with pytest.raises(LookupError, match="no target"):
        scene.step()
    assert (scene.total_steps, scene.data.time) == (0, 0.0)
    remove()
    scene.register_post_step_callback(fail)
    with pytest.raises(LookupError, match="no target"):
        scene.step()
    assert scene.total_steps == 1


def test_a_callback_must_be_callable_and_take_at_most_the_scene(make_scene: Make) -> None:
    scene = make_scene()
    with pytest.raises(TypeError, match="callable"):
        scene.on_play(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the scene or nothing"):
        scene.on_play(lambda a, b: None)


def in_a_thread(work: Callable[[], None]) -> tuple[threading.Thread, list[BaseException]]:
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - looked at by the test
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, errors


def test_attached_steps_are_bit_identical_and_call_the_same_callbacks(
    make_scene: Make, host: Host
) -> None:
    alone, followed = make_scene(), make_scene()
    calls: list[str] = []
    followed.register_pre_step_callback(lambda: calls.append("pre"))
    followed.register_post_step_callback(lambda: calls.append("post"))
    for _ in range(20):
        alone.step()
        alone.step(0.0123)
    host.attach(PlaybackMode.FAST_FORWARD)
    for _ in range(20):
        followed.step()
        followed.step(0.0123)
    host.detach("enough")
    assert (alone.data.qpos == followed.data.qpos).all()
    assert alone.data.time == followed.data.time
    assert (followed.total_steps, followed.physics_step_count) == (40, 80)
    assert calls == ["pre", "post"] * 40


def test_pause_play_and_restore_are_told_on_the_owner_thread(
    make_scene: Make, host: Host, wait_until: Callable[..., None]
) -> None:
    host.attach(PlaybackMode.PAUSED)
    calls: list[str] = []
    scenes: list[Scene] = []

    def loop() -> None:
        me = threading.current_thread()

        def note(what: str) -> Callable[[Scene], None]:
            def callback(scene: Scene) -> None:
                assert threading.current_thread() is me
                calls.append(f"{what} {scene.step_count}")

            return callback

        scene = make_scene()
        scenes.append(scene)
        scene.on_pause(note("pause"))
        scene.on_play(note("play"))
        scene.on_restore(note("restore"))
        scene.register_pre_step_callback(note("pre"))
        for _ in range(3):
            scene.step()

    thread, errors = in_a_thread(loop)
    wait_until(lambda: "pause 0" in calls)
    scene_id = scenes[0].scene_id
    host.step(scene_id)
    wait_until(lambda: "pre 1" in calls)
    host.restore_initial(scene_id)
    wait_until(lambda: "restore 0" in calls)
    # The parked step had asked its controller about a state that is gone: it asks again.
    wait_until(lambda: calls[-1] == "pre 0")
    host.play()
    thread.join(60)
    host.detach("enough")
    assert errors == []
    assert "play 0" in calls
    assert scenes[0].counters.total_steps == 3
    assert scenes[0].counters.step_count == 2


def test_on_restore_may_set_controls_that_the_parked_step_uses(
    make_scene: Make, host: Host, wait_until: Callable[..., None]
) -> None:
    host.attach(PlaybackMode.PAUSED)
    scenes: list[Scene] = []
    seen: list[float] = []

    def loop() -> None:
        scene = make_scene("arm")
        scenes.append(scene)

        def set_control() -> None:
            scene.ctrl[0] = 0.5

        scene.on_restore(set_control)
        scene.step()
        seen.append(float(scene.ctrl[0]))

    thread, errors = in_a_thread(loop)
    wait_until(lambda: scenes and scenes[0].link.owner.parked_in is not None)
    host.restore_initial(scenes[0].scene_id)
    host.step(scenes[0].scene_id)
    thread.join(60)
    host.detach("enough")
    assert errors == []
    assert seen == [0.5]


def test_an_error_in_on_restore_reaches_the_parked_step(
    make_scene: Make, host: Host, wait_until: Callable[..., None]
) -> None:
    host.attach(PlaybackMode.PAUSED)
    scenes: list[Scene] = []

    def loop() -> None:
        scene = make_scene()
        scenes.append(scene)

        def fail() -> None:
            raise LookupError("no controller")

        scene.on_restore(fail)
        scene.step()

    thread, errors = in_a_thread(loop)
    wait_until(lambda: scenes and scenes[0].link.owner.parked_in is not None)
    host.restore_initial(scenes[0].scene_id)
    thread.join(60)
    host.detach("enough")
    assert [str(error) for error in errors] == ["no controller"]


def test_a_restore_inside_a_step_of_several_abandons_the_rest(
    make_scene: Make, host: Host, wait_until: Callable[..., None]
) -> None:
    host.attach(PlaybackMode.PAUSED)
    scenes: list[Scene] = []
    counts: list[tuple[int, int, int]] = []

    def loop() -> None:
        scene = make_scene()
        scenes.append(scene)
        scene.step(nstep=10)
        counts.append((scene.step_count, scene.physics_step_count, scene.total_steps))
        scene.step(0.0123)
        counts.append((scene.step_count, scene.physics_step_count, scene.total_steps))

    thread, errors = in_a_thread(loop)
    wait_until(lambda: scenes and scenes[0].link.owner.parked_in is not None)
    host.physics_step(scenes[0].scene_id, 3)
    wait_until(lambda: scenes[0].counters.axis == 3)
    host.restore_initial(scenes[0].scene_id)
    host.play()
    thread.join(60)
    host.detach("enough")
    assert errors == []
    assert counts == [(0, 0, 0), (1, 3, 1)]
    assert scenes[0].counters.axis == 6


STACK = """
<mujoco><size memory="60K"/><worldbody><geom type="plane" size="2 2 .1"/>
  <replicate count="30" offset="0 0 0.21"><body pos="0 0 0.3"><freejoint/>
  <geom type="box" size=".1 .1 .1"/></body></replicate></worldbody></mujoco>
"""


def step_often(scene: Scene) -> None:
    for _ in range(500):
        scene.step()


@pytest.mark.filterwarnings("ignore")
def test_a_failing_step_that_nobody_stops_for_leaves_the_state_before_it_as_evidence(
    host: Host,
) -> None:
    host.attach(PlaybackMode.FAST_FORWARD)
    scene = physics.create_scene("Stack", STACK)
    scene.stops.switch_off([StopReason.ARENA, StopReason.FATAL])
    with pytest.raises(physics.StepFailedError):
        step_often(scene)
    steps, time, state = scene.physics_step_count, scene.data.time, scene.data.qpos.copy()
    assert time == pytest.approx(0.002 * steps)
    other = physics.create_scene("Other", STACK.replace("60K", "2M"))
    other.step()
    host.detach("enough")
    # The same steps alone end where the evidence stands: nothing of the failed step is left.
    again = physics.create_scene("Again", STACK)
    again.step(nstep=steps)
    assert (again.data.qpos == state).all()


@pytest.mark.parametrize("attached", [True, False])
@pytest.mark.parametrize("nstep", [1, 3])
def test_a_script_that_resets_its_data_reads_the_same_counters_attached_or_not(
    make_scene: Make, host: Host, attached: bool, nstep: int
) -> None:
    import mujoco

    if attached:
        host.attach(PlaybackMode.FAST_FORWARD)
    scene = make_scene()
    for _ in range(5):
        scene.step(nstep=nstep)
    mujoco.mj_resetData(scene.model, scene.data)
    scene.step(nstep=nstep)
    assert (scene.step_count, scene.physics_step_count) == (6, 6 * nstep)
    assert (scene.total_steps, scene.counters.axis) == (6, 6 * nstep)
    # For the debugger it is an episode, seen with the first step after it.
    assert scene.link.replacements == int(attached)
    scene.reset()
    assert (scene.step_count, scene.physics_step_count) == (0, 0)
    if attached:
        host.detach("enough")


def test_every_reset_is_seen_also_after_a_single_quiet_step(make_scene: Make, host: Host) -> None:
    import mujoco

    host.attach(PlaybackMode.FAST_FORWARD)
    scene = make_scene()
    scene.step()
    for resets in range(1, 6):
        mujoco.mj_resetData(scene.model, scene.data)
        scene.step()
        assert scene.link.replacements == resets
        assert scene.link.quiet_until > 0.0  # so the next step is a quiet one
    host.detach("enough")


def test_a_quiet_step_stops_at_the_next_pause_and_counts(
    make_scene: Make, host: Host, wait_until: Callable[..., None]
) -> None:
    host.attach(PlaybackMode.FAST_FORWARD)
    scenes: list[Scene] = []
    enough = threading.Event()

    def run() -> None:
        scenes.append(make_scene())
        while not enough.is_set():
            scenes[0].step()

    with ThreadPoolExecutor(1) as executor:
        future = executor.submit(run)
        wait_until(lambda: scenes and scenes[0].link.quiet_until > 0.0)
        link = scenes[0].link
        for _ in range(10):
            host.pause()
            wait_until(lambda: link.owner.parked_in is link)
            assert link.physics_ticks == scenes[0].counters.axis
            assert not link.in_step
            ticks = link.physics_ticks
            host.fast_forward()
            wait_until(lambda ticks=ticks: link.physics_ticks > ticks)
        enough.set()
        future.result(60)
    host.detach("enough")


def test_a_free_scene_neither_parks_nor_is_paced(make_scene: Make, host: Host) -> None:
    host.attach(PlaybackMode.PAUSED)
    scene = make_scene(playback="free")
    for _ in range(100):
        scene.step()
    assert scene.total_steps == 100
    host.detach("enough")


def test_sync_counts_what_the_script_stepped_itself(make_scene: Make, host: Host) -> None:
    import mujoco

    scene = make_scene()
    data = scene.data
    mujoco.mj_step(scene.model, data)
    scene.sync()
    mujoco.mj_step(scene.model, data, 4)
    scene.sync()
    assert (scene.total_steps, scene.physics_step_count) == (2, 5)
    assert scene.get_last_time_step() == pytest.approx(4 * scene.model.opt.timestep)
    mujoco.mj_resetData(scene.model, data)
    mujoco.mj_step(scene.model, data, 2)
    host.attach(PlaybackMode.FAST_FORWARD)
    scene.sync()
    host.detach("enough")
    assert scene.total_steps == 3
    assert (scene.step_count, scene.physics_step_count, scene.counters.axis) == (1, 2, 7)


def test_sync_counts_from_where_the_state_was_adopted_or_restored() -> None:
    import mujoco

    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody>"
        "<keyframe><key time='3'/></keyframe></mujoco>"
    )
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 7)
    scene = physics.create_scene("adopted", model, data=data)
    mujoco.mj_step(model, data, 4)
    scene.sync()
    assert scene.physics_step_count == 4
    state = scene.capture_state()
    mujoco.mj_step(model, data, 3)
    scene.sync()
    scene.restore_state(state)
    mujoco.mj_step(model, data, 5)
    scene.sync()
    assert scene.physics_step_count == 9
    mujoco.mj_step(model, data, 2000)
    scene.sync()
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_step(model, data, 2)
    scene.sync()
    assert (scene.step_count, scene.physics_step_count) == (1, 2)
