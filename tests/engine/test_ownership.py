"""Who may use a scene: its owner thread, until it is destroyed. Everybody else gets an error."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

import stroboscope.engine as physics

Scene = physics.Scene
Make = Callable[..., Scene]


def uses(scene: Scene) -> dict[str, Callable[[], object]]:
    """Return every public use of a scene that is bound to its owner."""
    handle = scene.capture_state()
    buffer = physics.DynamicArrayUint8()
    scene.capture_state_to_bytes(buffer)
    checkpoint = bytes(buffer)
    return {
        "step": scene.step,
        "step seconds": lambda: scene.step(0.01),
        "sync": scene.sync,
        "update_debugger": scene.update_debugger,
        "reset": scene.reset,
        "model": lambda: scene.model,
        "data": lambda: scene.data,
        "ctrl": lambda: scene.ctrl,
        "step_count": lambda: scene.step_count,
        "physics_step_count": lambda: scene.physics_step_count,
        "total_steps": lambda: scene.total_steps,
        "options": lambda: scene.options,
        "timings": lambda: scene.timings,
        "time": scene.get_total_simulation_time,
        "last": scene.get_last_time_step,
        "capture bytes": lambda: scene.capture_state_to_bytes(buffer),
        "restore bytes": lambda: scene.restore_state_from_bytes(checkpoint),
        "capture": scene.capture_state,
        "restore": lambda: scene.restore_state(handle),
        "release": lambda: scene.release_state(handle),
        "release all": scene.release_all_states,
        "equal": lambda: scene.is_equal_state(handle, handle),
        "file": lambda: scene.capture_state_to_file("state.json"),
        "articulation": lambda: scene.get_articulation("torso"),
        "pre": lambda: scene.register_pre_step_callback(print),
        "post": lambda: scene.register_post_step_callback(print),
        "on_restore": lambda: scene.on_restore(print),
        "on_pause": lambda: scene.on_pause(print),
        "on_play": lambda: scene.on_play(print),
        "on_stop": lambda: scene.on_stop(print),
        "log": lambda: scene.log("x", 1.0),
        "pause": scene.pause,
        "register_state": lambda: scene.register_state("x", dict, print),
        "model_changed": scene.model_changed,
        "rebind": lambda: scene.rebind(None, None),
        "transfer": lambda: scene.transfer_to(threading.current_thread()),
    }


def misuses(
    all_uses: dict[str, Callable[[], object]], error: type[Exception], texts: tuple[str, ...]
) -> list[str]:
    """Return what did not raise ``error`` with all ``texts`` in it."""
    wrong = []
    for name, use in all_uses.items():
        try:
            use()
        except error as caught:
            wrong += [f"{name}: {caught}" for text in texts if text not in str(caught)]
        except Exception as other:  # noqa: BLE001 - it is what the test is about
            wrong.append(f"{name} raised {other!r}")
        else:
            wrong.append(f"{name} raised nothing")
    return wrong


def test_every_use_from_another_thread_names_the_scene_and_both_threads(make_scene: Make) -> None:
    scene = make_scene()
    all_uses = uses(scene)
    owner = threading.current_thread().name

    def intrude() -> list[str]:
        me = threading.current_thread().name
        return misuses(all_uses, physics.OwnerThreadError, ("humanoid", owner, me))

    with ThreadPoolExecutor(1, thread_name_prefix="intruder") as executor:
        assert executor.submit(intrude).result() == []
        with pytest.raises(physics.OwnerThreadError):
            executor.submit(physics.destroy_scene, scene).result()
    scene.step()
    assert scene.total_steps == 1


def test_every_use_after_destroy_says_that_it_was_destroyed(make_scene: Make) -> None:
    scene = make_scene()
    all_uses = uses(scene)
    physics.destroy_scene(scene)
    physics.destroy_scene(scene)
    assert misuses(all_uses, physics.SceneDestroyedError, ("humanoid", "destroyed")) == []
    assert scene.name == "humanoid"
    assert "destroyed" in repr(scene)


def test_three_threads_that_misuse_a_stepping_scene_only_get_errors(make_scene: Make) -> None:
    scene = make_scene()
    stop = threading.Event()

    def misuse() -> int:
        errors = 0
        while not stop.is_set():
            for use in (scene.step, scene.capture_state, lambda: scene.data, scene.update_debugger):
                with pytest.raises(physics.OwnerThreadError):
                    use()
                errors += 1
        return errors

    with ThreadPoolExecutor(3) as executor:
        workers = [executor.submit(misuse) for _ in range(3)]
        for _ in range(300):
            scene.step()
        stop.set()
        assert all(worker.result() > 0 for worker in workers)
    assert scene.total_steps == 300


def test_a_scene_can_be_handed_to_a_running_thread_and_belongs_to_it_then(
    make_scene: Make,
) -> None:
    scene = make_scene()
    handed, done = threading.Event(), threading.Event()
    seen: list[object] = []

    def work() -> None:
        handed.wait(60)
        scene.step()
        seen.append(scene.total_steps)
        done.wait(60)

    thread = threading.Thread(target=work, name="heir")
    with pytest.raises(ValueError, match="start it first"):
        scene.transfer_to(thread)
    thread.start()
    scene.transfer_to(thread)
    assert scene.owner is thread
    with pytest.raises(physics.OwnerThreadError, match="heir"):
        scene.step()
    handed.set()
    done.set()
    thread.join(60)
    assert seen == [1]
    # Its owner is gone, so anybody may clean up.
    physics.destroy_scene(scene)


def test_two_scenes_on_one_thread_are_independent(make_scene: Make) -> None:
    first, second = make_scene(), make_scene()
    for _ in range(10):
        first.step()
        second.step(nstep=2)
    assert (first.physics_step_count, second.physics_step_count) == (10, 20)
    physics.destroy_scene(first)
    second.step()
    assert second.total_steps == 11


def test_names_are_made_unique_and_may_be_taken_again(make_scene: Make) -> None:
    scenes = [make_scene() for _ in range(3)]
    assert [scene.name for scene in scenes] == ["humanoid", "humanoid (2)", "humanoid (3)"]
    physics.destroy_scene(scenes[1])
    assert make_scene().name == "humanoid (2)"
    with pytest.raises(ValueError, match="name"):
        physics.create_scene("")
    with pytest.raises(ValueError, match="playback"):
        make_scene(playback="sometimes")
