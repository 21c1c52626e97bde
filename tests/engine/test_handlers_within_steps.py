"""Handlers of signals that do something to a scene within its step: it comes before or behind it.

Python runs them as soon as MuJoCo has returned, when nobody has counted the step yet.
"""

import itertools
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from hinge_model import HINGE, TIMESTEP
from interrupting import interrupted_after
from samples import few

import stroboscope.engine as physics

OURS = (str(Path(physics.__file__ or "").parent),)
MOST = 100_000
"""More calls than any step is made of."""

FOLLOWED = {
    "alone": lambda scene, path: None,
    "kept": lambda scene, path: scene.keep_history(True),
    "guarded": lambda scene, path: setattr(scene, "raise_on_stop", True),
    "callbacks": lambda scene, path: scene.register_post_step_callback(lambda: None),
    "recorded": lambda scene, path: scene.start_recording(path),
}


def made(**more: Any) -> physics.Scene:
    """Return a scene that has moved on a bit."""
    scene = physics.create_scene("hinge", HINGE, **more)
    scene.qvel[:] = 1.0
    for _ in range(3):
        scene.step()
    return scene


def steps_of(scene: physics.Scene) -> int:
    """Return how many steps the data has taken since the last reset."""
    return round(scene.data.time / TIMESTEP)


def calls_of_a_step(follow: Callable[[physics.Scene, Path], object], folder: Path) -> int:
    """Return how many places there are in a step that a signal can come at."""
    scene = made()
    follow(scene, folder / "calls.mcap")
    scene.step()
    with interrupted_after(MOST, within=OURS) as interruption:
        scene.step()
    scene.destroy()
    return MOST - interruption.left


def check_file(path: Path, *, until: int) -> None:
    """Look whether a file has consecutive steps, ends after ``until``, and accuses nobody."""
    with physics.load_trajectory(path) as run:
        times = [run.time(frame) for frame in range(len(run))]
        np.testing.assert_allclose(np.diff(times), TIMESTEP, atol=1e-9)
        assert run.axis(-1) == until
        assert times[-1] == pytest.approx(until * TIMESTEP)
        assert {event.kind for event in run.events} <= {"begin"}
        verified = run.verify(jobs=1)
        assert verified.exit_code == 0
        assert not verified.changes


@pytest.mark.parametrize("followed", few(FOLLOWED, 2))
def test_a_recording_that_a_handler_ends_within_a_step_has_that_step_or_ends_before_it(
    followed: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    ours = tmp_path / "run.mcap"

    def follow(scene: physics.Scene, path: Path) -> physics.Recording:
        FOLLOWED[followed](scene, path)
        return scene.start_recording(ours)

    calls = calls_of_a_step(follow, tmp_path)
    for at in range(calls):
        scene = made()
        recording = follow(scene, tmp_path / "other.mcap")
        ended = []

        def end(scene=scene, recording=recording, ended=ended) -> None:  # type: ignore[no-untyped-def]
            recording.stop()
            ended.append(scene.physics_step_count)

        scene.step()
        with interrupted_after(at, within=OURS, act=end):
            scene.step()
        for _ in range(3):
            scene.step()
        assert (scene.step_count, scene.physics_step_count, steps_of(scene)) == (8, 8, 8), at
        check_file(ours, until=ended[0])
        assert ended[0] in (4, 5), at
        if followed == "recorded":
            scene.stop_recording()
            check_file(tmp_path / "other.mcap", until=8)
        scene.destroy()
    assert not caplog.records


@pytest.mark.parametrize("followed", few(FOLLOWED, 2))
def test_a_recording_that_a_handler_begins_within_a_step_has_all_that_come(
    followed: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    for at in range(calls_of_a_step(FOLLOWED[followed], tmp_path)):
        scene = made()
        FOLLOWED[followed](scene, tmp_path / "other.mcap")
        scene.step()

        def begin(scene=scene) -> None:  # type: ignore[no-untyped-def]
            scene.start_recording(tmp_path / "run.mcap")

        with interrupted_after(at, within=OURS, act=begin):
            scene.step()
        for _ in range(3):
            scene.step()
        assert (scene.step_count, scene.physics_step_count, steps_of(scene)) == (8, 8, 8), at
        scene.stop_recording()
        check_file(tmp_path / "run.mcap", until=8)
        with physics.load_trajectory(tmp_path / "run.mcap") as run:
            assert run.axis(0) <= 5, at
        if followed == "recorded":
            scene.stop_recording()
            check_file(tmp_path / "other.mcap", until=8)
        scene.destroy()
    assert not caplog.records


ACTS = {
    "reset": lambda scene: scene.reset(),
    "restore": lambda scene: scene.restore(scene.capture_state()),
    "step": lambda scene: scene.step(),
    "keep": lambda scene: scene.keep_history(True),
    "keep no more": lambda scene: scene.keep_history(False),
    "model": lambda scene: scene.model_changed(),
}


@pytest.mark.parametrize(
    ("followed", "act"), few(itertools.starmap(pytest.param, itertools.product(FOLLOWED, ACTS)), 3)
)
def test_what_else_a_handler_does_within_a_step_comes_before_or_behind_it(
    followed: str, act: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    for at in range(calls_of_a_step(FOLLOWED[followed], tmp_path)):
        scene = made()
        FOLLOWED[followed](scene, tmp_path / "run.mcap")
        scene.step()
        with interrupted_after(at, within=OURS, act=lambda scene=scene: ACTS[act](scene)):
            scene.step()
        for _ in range(3):
            scene.step()
        # Where nobody looks nothing is stored by which a step is known to go on.
        if followed not in ("alone", "callbacks"):
            assert scene.step_count == scene.physics_step_count == steps_of(scene), at
        assert scene.total_steps == 8 + (act == "step"), at
        assert scene.last_stop is None, at
        if followed == "recorded":
            scene.stop_recording()
            with physics.load_trajectory(tmp_path / "run.mcap") as run:
                assert run.verify(jobs=1).exit_code == 0, at
                assert not run.verify(jobs=1).changes, at
        scene.destroy()
    assert not caplog.records


@pytest.mark.parametrize("integrator", ["Euler", "RK4"])
def test_a_recording_that_a_control_callback_ends_has_the_steps_before_it(
    integrator: str, tmp_path: Path
) -> None:
    scene = made()
    scene.model.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
    recording = scene.start_recording(tmp_path / "run.mcap")
    calls = 0

    def control(model: Any, data: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 8:
            recording.stop()

    mujoco.set_mjcb_control(control)
    try:
        for _ in range(12):
            scene.step()
    finally:
        mujoco.set_mjcb_control(None)
    assert (scene.step_count, steps_of(scene)) == (15, 15)
    with physics.load_trajectory(tmp_path / "run.mcap") as run:
        assert run.time(-1) == pytest.approx(run.axis(-1) * TIMESTEP)
        assert {event.kind for event in run.events} <= {"begin"}


def test_a_recording_that_a_handler_ends_while_a_block_of_rows_begins_ends_well(
    tmp_path: Path,
) -> None:
    at, came = 0, True
    while came:
        scene = made()
        recording = scene.start_recording(tmp_path / "run.mcap")
        with interrupted_after(at, within=(f"{OURS[0]}/history/",), act=recording.stop) as signal:
            scene.step()
        for _ in range(2):
            scene.step()
        recording.stop()
        assert (scene.step_count, steps_of(scene)) == (6, 6), at
        with physics.load_trajectory(tmp_path / "run.mcap") as run:
            assert {event.kind for event in run.events} <= {"begin"}
        scene.destroy()
        at, came = at + 3, signal.came
