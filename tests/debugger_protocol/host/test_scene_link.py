import contextlib
import threading
from collections.abc import Callable

import pytest
from oscillator import Scene, Stepper

from stroboscope.debugger_protocol.exceptions import CommandError, SceneClosedError
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.messages import EditField, EditState, PlaybackMode

PAUSED, PLAYING, FAST = PlaybackMode.PAUSED, PlaybackMode.PLAYING, PlaybackMode.FAST_FORWARD
Wait = Callable[..., None]
Run = Callable[..., object]


def is_parked(stepper: Stepper) -> bool:
    return stepper.scene.link.owner.parked_in is not None


def test_a_scene_runs_free_while_nothing_is_attached(host: Host) -> None:
    stepper = Stepper(host, "A", max_steps=50)
    stepper.thread.join(60)
    assert stepper.scene.backend.step_count == 50
    assert not stepper.scene.link.active


def test_a_new_scene_parks_at_its_first_step_while_paused(host: Host, wait_until: Wait) -> None:
    host.attach(PAUSED)
    stepper = Stepper(host, "A")
    wait_until(lambda: is_parked(stepper))
    assert stepper.scene.backend.axis == 0
    host.close()
    stepper.join()


def test_a_free_scene_does_not_park(host: Host, wait_until: Wait) -> None:
    host.attach(PAUSED)
    stepper = Stepper(host, "A", follow=False)
    wait_until(lambda: stepper.scene.backend.step_count > 100)
    with pytest.raises(CommandError, match="runs free"):
        host.step(stepper.scene.link.scene_id)
    host.close()
    stepper.join()


def test_one_step_moves_the_selected_scene_by_one_and_the_others_by_none(
    host: Host, wait_until: Wait, run: Run
) -> None:
    host.attach(PAUSED)
    steppers = [Stepper(host, name, nstep=3) for name in "ABC"]
    for stepper in steppers:
        wait_until(lambda stepper=stepper: is_parked(stepper))
    selected = steppers[1].scene
    for expected in range(1, 21):
        run(host.step, selected.link.scene_id)
        assert selected.backend.step_count == expected
        assert selected.backend.physics_step_count == 3 * expected
    assert [s.scene.backend.axis for s in steppers] == [0, 60, 0]
    host.close()
    for stepper in steppers:
        stepper.join()


def test_a_step_while_playing_pauses_all(host: Host, wait_until: Wait, run: Run) -> None:
    host.attach(FAST)
    a, b = Stepper(host, "A"), Stepper(host, "B")
    wait_until(lambda: a.scene.backend.axis > 10 and b.scene.backend.axis > 10)
    run(host.step, a.scene.link.scene_id)
    wait_until(lambda: is_parked(a) and is_parked(b))
    assert host.playback.mode is PAUSED
    count = a.scene.backend.step_count, b.scene.backend.step_count
    run(host.step, a.scene.link.scene_id, 5)
    assert (a.scene.backend.step_count, b.scene.backend.step_count) == (count[0] + 5, count[1])
    host.close()
    a.join()
    b.join()


def test_physics_steps_stop_inside_a_step_and_the_rest_counts_as_one(
    host: Host, wait_until: Wait, run: Run
) -> None:
    host.attach(PAUSED)
    stepper = Stepper(host, "A", nstep=5)
    scene, scene_id = stepper.scene, stepper.scene.link.scene_id
    run(host.physics_step, scene_id, 2)
    assert (scene.backend.axis, scene.backend.step_count) == (2, 0)
    run(host.step, scene_id)
    assert (scene.backend.axis, scene.backend.step_count) == (5, 1)
    run(host.physics_step, scene_id, 12)
    assert (scene.backend.axis, scene.backend.step_count) == (17, 3)
    host.close()
    stepper.join()


def test_steps_that_are_asked_for_quickly_are_all_made(
    host: Host, wait_until: Wait, answer: Callable[[], Callable[..., None]]
) -> None:
    host.attach(PAUSED)
    stepper = Stepper(host, "A")
    replies = [answer() for _ in range(20)]
    for reply in replies:
        host.step(stepper.scene.link.scene_id, reply=reply)
    for reply in replies:
        reply.done()
    assert stepper.scene.backend.step_count == 20
    host.close()
    stepper.join()


def test_a_pause_interrupts_steps_and_says_so(
    host: Host, wait_until: Wait, run: Run, answer: Callable[[], Callable[..., None]]
) -> None:
    host.attach(PAUSED)
    stepper = Stepper(host, "A")
    reply = answer()
    host.step(stepper.scene.link.scene_id, 1_000_000, reply=reply)
    wait_until(lambda: stepper.scene.backend.axis > 3)
    run(host.pause)
    assert "interrupted" in str(reply.error())
    count = stepper.scene.backend.axis
    run(host.step, stepper.scene.link.scene_id)
    assert stepper.scene.backend.axis == count + 1
    host.close()
    stepper.join()


def test_pause_is_done_when_nothing_is_in_a_step(host: Host, wait_until: Wait, run: Run) -> None:
    host.attach(FAST)
    stepper = Stepper(host, "A", nstep=4)
    for _ in range(200):
        run(host.pause)
        axis = stepper.scene.backend.axis
        wait_until(lambda: is_parked(stepper))
        assert stepper.scene.backend.axis == axis
        run(host.fast_forward)
    host.close()
    stepper.join()


def test_run_until_stops_exactly_at_its_target(host: Host, run: Run) -> None:
    host.attach(PAUSED)
    stepper = Stepper(host, "A", nstep=5)
    scene_id = stepper.scene.link.scene_id
    run(host.run_until, scene_id, time=0.05)
    assert stepper.scene.backend.axis == 25
    run(host.run_until, scene_id, step_count=8)
    assert stepper.scene.backend.step_count == 8
    assert stepper.scene.backend.axis == 40
    with pytest.raises(CommandError, match="later"):
        host.run_until(scene_id, time=0.05)
    host.close()
    stepper.join()


def test_restore_brings_back_the_state_before_the_first_step(host: Host, run: Run) -> None:
    host.attach(PAUSED)
    stepper = Stepper(host, "A")
    backend = stepper.scene.backend
    run(host.step, stepper.scene.link.scene_id, 30)
    moved = backend.q, backend.v
    assert moved[0] != 1.0
    run(host.restore_initial, stepper.scene.link.scene_id)
    assert (backend.q, backend.v, backend.time, backend.step_count) == (1.0, 0.0, 0.0, 0)
    assert backend.axis == 30
    assert host.playback.mode is PAUSED
    run(host.step, stepper.scene.link.scene_id, 30)
    assert (backend.q, backend.v) == moved
    host.close()
    stepper.join()


def test_restore_inside_a_step_abandons_the_rest(host: Host, run: Run, wait_until: Wait) -> None:
    host.attach(PAUSED)
    stepper = Stepper(host, "A", nstep=5)
    scene = stepper.scene
    run(host.physics_step, scene.link.scene_id, 3)
    run(host.restore_initial, scene.link.scene_id)
    wait_until(lambda: scene.abandoned == 1 and is_parked(stepper))
    assert scene.backend.axis == 3
    run(host.step, scene.link.scene_id)
    assert (scene.backend.axis, scene.backend.step_count) == (8, 1)
    # At the beginning of a step there is no rest to abandon.
    run(host.restore_initial, scene.link.scene_id)
    run(host.step, scene.link.scene_id)
    assert (scene.abandoned, scene.backend.step_count) == (1, 1)
    host.close()
    stepper.join()


def test_a_callback_on_restore_may_set_controls_before_the_step(host: Host, run: Run) -> None:
    host.attach(PAUSED)
    stepper = Stepper(host, "A")
    backend = stepper.scene.backend
    threads = []

    def on_event(event: str) -> None:
        threads.append(threading.current_thread())
        if event == "restore":
            backend.ctrl = 3.0

    backend.on_event = on_event
    run(host.step, stepper.scene.link.scene_id, 2)
    run(host.restore_initial, stepper.scene.link.scene_id)
    assert backend.ctrl == 3.0
    assert set(threads) == {stepper.thread}
    host.close()
    stepper.join()


def test_pause_and_play_callbacks_run_once_per_change(
    host: Host, run: Run, wait_until: Wait
) -> None:
    host.attach(FAST)
    stepper = Stepper(host, "A")
    backend = stepper.scene.backend
    run(host.pause)
    wait_until(lambda: backend.events == ["pause"])
    run(host.step, stepper.scene.link.scene_id, 3)
    assert backend.events == ["pause"]
    run(host.fast_forward)
    wait_until(lambda: backend.events == ["pause", "play"])
    host.close()
    stepper.join()


def test_an_exception_in_a_callback_reaches_the_script(host: Host, wait_until: Wait) -> None:
    host.attach(FAST)
    stepper = Stepper(host, "A")

    def fail(event: str) -> None:
        raise ZeroDivisionError(event)

    stepper.scene.backend.on_event = fail
    host.pause()
    stepper.thread.join(60)
    assert isinstance(stepper.error, ZeroDivisionError)


def test_two_scenes_on_one_thread_are_both_served(host: Host, run: Run, wait_until: Wait) -> None:
    host.attach(PAUSED)
    stepper = Stepper(host, "A", "B")
    a, b = stepper.scenes
    wait_until(lambda: a.link.owner.parked_in is a.link)
    b.backend.q = 5.0
    run(host.restore_initial, b.link.scene_id)
    assert b.backend.q == 1.0
    # B's turn comes after A's step: B alone can't move.
    reply: list[object] = []
    ticket = host.step(b.link.scene_id, reply=reply.append)
    assert host.cancel(ticket)
    assert not reply
    run(host.step, a.link.scene_id)
    wait_until(lambda: a.link.owner.parked_in is b.link)
    run(host.step, b.link.scene_id)
    assert (a.backend.step_count, b.backend.step_count) == (1, 1)
    run(host.step, b.link.scene_id, 3, with_dependents=True)
    assert (a.backend.step_count, b.backend.step_count) == (4, 4)
    host.close()
    stepper.join()


def test_a_cancelled_step_has_no_right_left(host: Host, run: Run, wait_until: Wait) -> None:
    host.attach(PAUSED)
    gate = threading.Event()
    stepper = Stepper(host, "A", between=lambda: gate.wait(60) and None)
    scene = stepper.scene
    run(host.step, scene.link.scene_id)
    ticket = host.step(scene.link.scene_id, 3)  # the script's code doesn't return
    assert host.cancel(ticket)
    assert not host.cancel(ticket)
    gate.set()
    wait_until(lambda: is_parked(stepper))
    assert scene.backend.step_count == 1
    host.close()
    stepper.join()


def test_play_of_one_scene_leaves_the_others_where_they_are(
    host: Host, run: Run, wait_until: Wait
) -> None:
    host.attach(PAUSED)
    a, b = Stepper(host, "A"), Stepper(host, "B")
    wait_until(lambda: is_parked(a) and is_parked(b))
    run(host.fast_forward, a.scene.link.scene_id)
    wait_until(lambda: a.scene.backend.axis > 100)
    assert b.scene.backend.axis == 0
    assert b.scene.link.holds
    run(host.pause, a.scene.link.scene_id)
    wait_until(lambda: is_parked(a))
    run(host.fast_forward)
    wait_until(lambda: b.scene.backend.axis > 100 and not a.scene.link.holds)
    run(host.pause, b.scene.link.scene_id)
    axis = b.scene.backend.axis
    before = a.scene.backend.axis
    wait_until(lambda: a.scene.backend.axis > before + 100)
    assert b.scene.backend.axis == axis
    host.close()
    a.join()
    b.join()


def test_a_script_that_pauses_itself_stays_until_it_is_released(
    host: Host, run: Run, wait_until: Wait
) -> None:
    host.attach(FAST)
    started = threading.Event()
    passed = []

    def between() -> None:
        started.wait(60)
        scene = stepper.scene
        if not passed:
            scene.link.park("reward is NaN", "train.py:118")
            passed.append(scene.backend.step_count)

    stepper = Stepper(host, "A", between=between)
    started.set()
    wait_until(lambda: is_parked(stepper))
    assert "reward is NaN" in stepper.scene.link.holds.values()
    assert stepper.scene.link.hold_location == "train.py:118"
    assert stepper.scene.backend.step_count == 1
    run(host.step, stepper.scene.link.scene_id)
    assert stepper.scene.backend.step_count == 2
    run(host.fast_forward)
    wait_until(lambda: stepper.scene.backend.step_count > 200)
    assert passed == [1]
    host.close()
    stepper.join()


def edit(scene_id: int, field: EditField) -> EditState:
    return EditState(id=0, scene_id=scene_id, field=field, index=0, values=(2.0,))


def test_edits_need_a_scene_that_stands_still(host: Host, run: Run, answer: Run) -> None:
    host.attach(FAST)
    stepper = Stepper(host, "A")
    scene_id = stepper.scene.link.scene_id
    with pytest.raises(CommandError, match="pause it"):
        host.edit(edit(scene_id, EditField.QPOS))
    run(host.pause)
    run(host.edit, edit(scene_id, EditField.QPOS))
    assert stepper.scene.backend.q == 2.0
    reply = answer()
    host.edit(edit(scene_id, EditField.QVEL), reply=reply)
    assert "only qpos" in str(reply.error())
    host.close()
    stepper.join()


def test_a_stationary_scene_is_restored_when_it_is_served(host: Host, run: Run) -> None:
    host.attach(PAUSED)
    scene = Scene(host, "source")
    scene.link.serve()
    scene.backend.q = 9.0
    ticket = host.restore_initial(scene.link.scene_id)
    assert not ticket.settled
    scene.link.serve()
    assert ticket.settled
    assert scene.backend.q == 1.0


def test_detaching_releases_everybody(host: Host, wait_until: Wait) -> None:
    host.attach(PAUSED)
    steppers = [Stepper(host, name) for name in "AB"]
    wait_until(lambda: all(is_parked(s) for s in steppers))
    host.detach("the window was closed")
    wait_until(lambda: all(s.scene.backend.axis > 100 for s in steppers))
    assert not any(s.scene.link.active for s in steppers)
    for stepper in steppers:
        stepper.join()


def test_a_parked_step_raises_after_close(host: Host, wait_until: Wait) -> None:
    host.attach(PAUSED)
    stepper = Stepper(host, "A")
    wait_until(lambda: is_parked(stepper))
    host.close("shut down")
    stepper.thread.join(60)
    assert isinstance(stepper.error, SceneClosedError)
    assert "shut down" in str(stepper.error)


def test_a_running_step_raises_after_close_even_when_detached(host: Host) -> None:
    stepper = Stepper(host, "A")
    host.close()
    stepper.thread.join(60)
    assert isinstance(stepper.error, SceneClosedError)


def test_closing_a_scene_from_another_thread_ends_its_parked_step(
    host: Host, wait_until: Wait
) -> None:
    host.attach(PAUSED)
    stepper = Stepper(host, "A")
    wait_until(lambda: is_parked(stepper))
    stepper.scene.link.close()
    stepper.thread.join(60)
    assert isinstance(stepper.error, SceneClosedError)
    assert not host.links


def test_names_that_are_taken_get_a_number(host: Host) -> None:
    names = [Scene(host, "Arm").link.name for _ in range(3)]
    assert names == ["Arm", "Arm (2)", "Arm (3)"]


def test_a_scene_can_be_handed_to_another_thread(host: Host, wait_until: Wait, run: Run) -> None:
    host.attach(PAUSED)
    scene = Scene(host, "A")

    def work() -> None:
        with contextlib.suppress(SceneClosedError):
            while True:
                scene.step()

    thread = threading.Thread(target=work)
    scene.link.transfer_to(thread)
    thread.start()
    run(host.step, scene.link.scene_id, 3)
    assert scene.backend.step_count == 3
    host.close()
    thread.join(60)


def test_a_loop_that_steps_itself_is_paced_and_stepped_by_sync(
    host: Host, run: Run, wait_until: Wait
) -> None:
    host.attach(PAUSED)
    scenes: list[Scene] = []

    def work() -> None:
        scene = Scene(host, "A")
        scenes.append(scene)
        with contextlib.suppress(SceneClosedError):
            while True:
                scene.backend.physics()
                scene.backend.step_count += 1
                scene.link.sync()

    thread = threading.Thread(target=work)
    thread.start()
    wait_until(lambda: scenes and scenes[0].link.owner.parked_in)
    scene = scenes[0]
    assert scene.backend.axis == 1
    run(host.step, scene.link.scene_id)
    assert scene.backend.axis == 2
    run(host.step, scene.link.scene_id, 4)
    assert scene.backend.axis == 6
    host.close()
    thread.join(60)


def test_a_scene_may_be_served_from_its_own_callback(host: Host, run: Run) -> None:
    host.attach(PAUSED)
    stepper = Stepper(host, "A")
    scene = stepper.scene
    scene.backend.on_event = lambda event: scene.link.serve()
    run(host.restore_initial, scene.link.scene_id)
    run(host.step, scene.link.scene_id)
    assert scene.backend.step_count == 1
    host.close()
    stepper.join()


def test_a_free_scene_can_not_be_paused(host: Host) -> None:
    host.attach(FAST)
    scene = Scene(host, "planner", follow=False)
    with pytest.raises(CommandError, match="runs free"):
        host.pause(scene.link.scene_id)


def test_what_a_thread_that_has_ended_can_not_do_is_refused_at_once(host: Host, run: Run) -> None:
    host.attach(FAST)
    stepper = Stepper(host, "A", max_steps=5)
    stepper.thread.join(60)
    scene_id = stepper.scene.link.scene_id
    with pytest.raises(CommandError, match="has ended"):
        host.restore_initial(scene_id)
    with pytest.raises(CommandError, match="has ended"):
        host.step(scene_id)
    # It died inside a step: nobody can wait for it to come out.
    stepper.scene.link.in_step = True
    run(host.pause)


def test_a_restore_that_is_interrupted_is_answered(host: Host, answer: Run) -> None:
    host.attach(PAUSED)
    scene = Scene(host, "A")
    scene.link.serve()

    def interrupted(state: bytes) -> None:
        raise KeyboardInterrupt

    scene.backend.restore_initial = interrupted  # type: ignore[method-assign]
    reply = answer()
    host.restore_initial(scene.link.scene_id, reply=reply)
    with pytest.raises(KeyboardInterrupt):
        scene.link.serve()
    assert "KeyboardInterrupt" in str(reply.error())
    assert not scene.link.owner.serving


def test_an_edit_does_not_void_the_rest_of_a_step(host: Host, run: Run) -> None:
    host.attach(PAUSED)
    stepper = Stepper(host, "A", nstep=4)
    scene = stepper.scene
    run(host.physics_step, scene.link.scene_id, 2)
    run(host.edit, edit(scene.link.scene_id, EditField.QPOS))
    run(host.step, scene.link.scene_id)
    assert (scene.backend.axis, scene.backend.step_count, scene.abandoned) == (4, 1, 0)
    host.close()
    stepper.join()


def test_nothing_is_served_or_stopped_from_inside_a_physics_step(
    host: Host, run: Run, wait_until: Wait
) -> None:
    host.attach(FAST)
    stepper = Stepper(host, "A")
    scene = stepper.scene
    physics = scene.backend.physics
    seen: list[float] = []

    def with_callback() -> None:
        if not seen:
            host.restore_initial(scene.link.scene_id)
            time = scene.backend.time
            scene.link.serve()
            scene.link.park("from a control callback", "here.py:1")
            seen.extend((time, scene.backend.time))
        physics()

    scene.backend.physics = with_callback  # type: ignore[method-assign]
    wait_until(lambda: seen and is_parked(stepper))
    assert seen[0] == seen[1] > 0.0
    assert scene.backend.time == 0.0
    host.close()
    stepper.join()


def test_a_new_model_is_described_and_captured_anew(host: Host, run: Run) -> None:
    host.attach(PAUSED)
    stepper = Stepper(host, "A")
    scene = stepper.scene
    run(host.step, scene.link.scene_id, 3)
    done = threading.Event()

    def replace(event: str) -> None:
        if event == "restore":
            scene.backend.q = 7.0
            scene.link.model_replaced()
            done.set()

    scene.backend.on_event = replace
    run(host.restore_initial, scene.link.scene_id)
    assert done.wait(60)
    assert scene.link.revision == 1
    run(host.step, scene.link.scene_id, 3)
    scene.backend.on_event = lambda event: None
    run(host.restore_initial, scene.link.scene_id)
    assert scene.backend.q == 7.0
    host.close()
    stepper.join()


def test_a_scene_closed_by_a_finalizer_goes_away_without_a_lock(host: Host) -> None:
    scene = Scene(host, "A")
    with host.playback.lock:
        scene.link.close_soon()
    Scene(host, "B")
    assert [link.name for link in host.links.values()] == ["B"]
