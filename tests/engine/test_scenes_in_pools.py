"""Scenes and process pools: what goes there as it is, what as bytes, and what comes back."""

import multiprocessing
import pickle
import queue
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing.pool import ThreadPool
from typing import Any

import numpy as np
import pytest

import stroboscope.engine as physics
from stroboscope.engine.errors import OwnerThreadError

MODEL = "<mujoco><worldbody><body><joint axis='0 1 0'/><geom size='.1' pos='.3 0 0'/></body>\
</worldbody></mujoco>"
# Forked workers start in no time; what is pickled where is the same for all.
CONTEXT = multiprocessing.get_context("fork")
SPAWNED = """
import pickle
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import stroboscope.engine as physics


def step(content):
    scene = pickle.loads(content)
    scene.step()
    return scene


if __name__ == "__main__":
    context = get_context(sys.argv[1])
    scene = physics.create_scene("One", sys.argv[2])
    with ProcessPoolExecutor(1, mp_context=context) as executor, context.Pool(1) as pool:
        for twin in (executor.submit(step, pickle.dumps(scene)).result(),
                     pool.apply(step, (pickle.dumps(scene),))):
            twin.step()
            print(twin.step_count)
        for hand_over in (lambda: executor.submit(step, scene).result(),
                          lambda: pool.apply(step, (scene,))):
            try:
                hand_over()
            except physics.OwnerThreadError as error:
                print("pickle.dumps(scene)" in str(error))
"""


def taken(scene: Any) -> Any:
    """Take three steps, and return where that leads."""
    scene.step(nstep=3)
    return scene.data.qpos[0] if isinstance(scene, physics.Scene) else scene.qpos[:, 0].tolist()


def taken_from_bytes(content: bytes) -> Any:
    """Do the same with the bytes of a scene."""
    scene = pickle.loads(content)  # noqa: S301 - our own
    try:
        return taken(scene)
    finally:
        scene.destroy()


def returned(n_envs: int | None) -> Any:
    """Return a scene that has taken two steps."""
    scene = physics.create_scene("Returned", MODEL, n_envs=n_envs) if n_envs else _one("Returned")
    scene.step(nstep=2)
    return scene


def sent(scene: Any, pipe: Any) -> None:
    """Send where three steps lead."""
    pipe.send(taken(scene))


def _one(name: str) -> Any:
    return physics.create_scene(name, MODEL)


@pytest.fixture
def scenes() -> Iterator[list[Any]]:
    """A scene of one world and one of three."""
    made = [_one("One"), physics.create_scene("Many", MODEL, n_envs=3)]
    yield made
    for each in made:
        each.destroy()


def test_a_pool_takes_bytes_and_refuses_scenes_with_what_to_do(scenes: list[Any]) -> None:
    contents = [pickle.dumps(scene) for scene in scenes]
    advice = r"One' belongs to .* give it pickle\.dumps\(scene\) instead"
    with CONTEXT.Pool(1) as pool:
        found = pool.map(taken_from_bytes, contents)
        with pytest.raises(OwnerThreadError, match=advice):
            pool.map(taken, scenes)
    with ProcessPoolExecutor(1, mp_context=CONTEXT) as executor:
        assert list(executor.map(taken_from_bytes, contents)) == found
        with pytest.raises(OwnerThreadError, match=advice):
            executor.submit(taken, scenes[0]).result(60)
    assert [taken(scene) for scene in scenes] == found


def test_a_scene_that_a_pool_returns_is_the_main_thread_s() -> None:
    with CONTEXT.Pool(1) as pool:
        found = pool.map(returned, [None, 3])
    with ProcessPoolExecutor(1, mp_context=CONTEXT) as executor:
        found += executor.map(returned, [None, 3])
    for scene in found:
        assert scene.owner is threading.main_thread()
        assert np.unique(scene.step_count).tolist() == [1]
        scene.step()
        scene.destroy()


def test_arguments_of_a_process_and_what_goes_through_a_pipe_are_scenes(
    scenes: list[Any],
) -> None:
    here, there = CONTEXT.Pipe()
    # Of many environments it would be inherited, and their native threads are not.
    process = CONTEXT.Process(target=sent, args=(scenes[0], there))
    process.start()
    assert here.poll(60)
    found = here.recv()
    process.join(60)
    process.close()
    for scene in scenes:
        here.send(scene)
        twin = there.recv()
        assert taken(twin) == taken(scene)
        twin.destroy()
    assert found == scenes[0].data.qpos[0]
    here.close()
    there.close()


def test_a_pool_of_threads_builds_scenes_that_stay_its_threads(scenes: list[Any]) -> None:
    content, others = pickle.dumps(scenes[0]), queue.SimpleQueue[Any]()

    def build(_: int) -> threading.Thread:
        others.put(pickle.loads(content))  # noqa: S301 - our own
        return threading.current_thread()

    with ThreadPool(1) as pool, ThreadPoolExecutor(1) as executor:
        for (thread,) in (pool.map(build, [0]), executor.map(build, [0])):
            scene = others.get(timeout=60)
            assert scene.owner is thread
            with pytest.raises(OwnerThreadError, match=r"hand it over with scene\.transfer_to"):
                scene.step()


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_processes_that_begin_anew_are_no_different(method: str, start_script: Any) -> None:
    code, output, errors = start_script(SPAWNED, method, MODEL).end()
    assert code == 0, errors
    assert output.split() == ["2", "2", "True", "True"]
