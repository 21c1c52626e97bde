"""What MuJoCo's data held when a recorded run ended comes back, every array, to the last bit."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray
from random_models import disturb, random_model
from rewritten_file import rewrite_file
from samples import few

import stroboscope.engine as physics
from stroboscope.engine.errors import EngineError, StateError
from stroboscope.engine.files.frames import FileEvent
from stroboscope.engine.mujoco_adapter import load_mujoco
from stroboscope.engine.recording.recorded_stops import signal_data
from stroboscope.engine.trajectory.last_frame import (
    DIFFERENT,
    EVALUATED,
    FAILED,
    SAME,
    UNKNOWN,
    arrays_of_data,
)
from stroboscope.engine.trajectory.lookup import NoSuchNameError

FALLING = """
<mujoco>
  <worldbody>
    <geom type="plane" size="2 2 .1"/>
    <body pos="0 0 .3"><freejoint/><geom type="box" size=".1 .1 .1"/><site name="s"/></body>
    <body pos="1 0 1"><joint name="hinge" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/></body>
  </worldbody>
  <actuator><motor joint="hinge"/></actuator>
  <sensor><accelerometer site="s"/><touch site="s"/></sensor>
</mujoco>
"""


def _differences(arrays: Any, live: dict[str, NDArray[Any]]) -> list[str]:
    assert set(arrays) == set(live)
    return [
        name
        for name, expected in live.items()
        if arrays[name].shape != expected.shape or arrays[name].tobytes() != expected.tobytes()
    ]


def _run(scene: physics.Scene, path: Path, steps: int, seed: int, mode: str) -> Path:
    scene.start_recording(physics.TrajectoryFile(path, mode=mode))
    for number in range(steps):
        disturb(scene.model, scene.data, np.random.default_rng([seed, number]), gently=True)
        scene.step()
    return scene.stop_recording()


@pytest.mark.parametrize("seed", few(range(30), 6))
def test_every_array_is_what_the_data_held_in_runs_of_models_of_all_kinds(
    seed: int, tmp_path: Path
) -> None:
    scene = physics.create_scene("Random", random_model(seed).xml)
    path = _run(scene, tmp_path / "run", 60, seed, "minimal" if seed % 3 == 0 else "exact")
    live = arrays_of_data(scene.model, scene.data, adapter=load_mujoco())
    with physics.load_trajectory(path) as trajectory:
        last = trajectory.last
        assert last.note == SAME
        assert not _differences(last, live)


def test_arrays_have_mujocos_names_and_shapes_and_others_are_refused(tmp_path: Path) -> None:
    scene = physics.create_scene("Falling", FALLING)
    path = _run(scene, tmp_path / "run", 300, 0, "exact")
    with physics.load_trajectory(path) as trajectory:
        last = trajectory.last
    assert last["contact.dist"].shape == (int(last["ncon"]),) == (4,)
    assert last.efc_force.shape == (int(last.nefc),)
    assert last.xpos.tolist() == scene.data.xpos.tolist()
    assert last["sensordata"].shape == (4,)
    with pytest.raises(NoSuchNameError, match="no array 'xpoz': it has"):
        last["xpoz"]
    with pytest.raises(AttributeError, match="no array 'xpoz': it has"):
        _ = last.xpoz


def test_what_mujoco_leaves_unwritten_in_lists_of_actuators_and_tendons_is_zero() -> None:
    scene = physics.create_scene("Random", random_model(4).xml)  # implicitfast, and gains
    scene.step(nstep=5)
    data = scene.data
    before = arrays_of_data(scene.model, data, adapter=load_mujoco())
    assert 0 < data.nefmA < len(data.efm_ak)
    for name in ("efm_aid", "efm_as", "efm_ak"):
        getattr(data, name)[data.nefmA :] = 7  # as whatever stood in that memory
    after = arrays_of_data(scene.model, data, adapter=load_mujoco())
    assert not _differences(after, before)
    assert after["efm_ak"][: data.nefmA].all()


def _diverge(scene: physics.Scene) -> None:
    scene.data.qvel[0] = 1e11


def _not_a_number(scene: physics.Scene) -> None:
    scene.data.ctrl[:] = np.nan
    scene.data.qfrc_applied[2] = np.nan


@pytest.mark.parametrize("wrong", [_diverge, _not_a_number])
@pytest.mark.parametrize("guarded", [True, False])
def test_after_a_step_that_failed_every_array_is_what_was_there_then(
    wrong: Callable[[physics.Scene], None], guarded: bool, tmp_path: Path
) -> None:
    scene = physics.create_scene("Falling", FALLING)
    if guarded:
        scene.raise_on_stop = True
    scene.start_recording(tmp_path / "run")
    for _ in range(50):
        scene.step()
    wrong(scene)
    with contextlib.suppress(EngineError):
        scene.step()
    path = scene.stop_recording()
    live = arrays_of_data(scene.model, scene.data, adapter=load_mujoco())
    with physics.load_trajectory(path) as trajectory:
        last = trajectory.last
        assert last.note == (FAILED if guarded else SAME), trajectory.events
        assert not _differences(last, live)


def _state_is_no_number(scene: physics.Scene) -> None:
    scene.data.qvel[3] = np.nan


def _input_is_no_number(scene: physics.Scene) -> None:
    scene.data.qpos[2] += 0.1  # what the script has moved is looked at before the step
    scene.data.ctrl[:] = np.nan


def _callback_raises(scene: physics.Scene) -> None:
    def raises(scene: object) -> None:
        raise ValueError("not today")

    scene.register_pre_step_callback(raises)


@pytest.mark.parametrize("wrong", [_state_is_no_number, _input_is_no_number, _callback_raises])
def test_after_a_stop_before_a_step_every_array_is_of_the_last_step_that_was_taken(
    wrong: Callable[[physics.Scene], None], tmp_path: Path
) -> None:
    scene = physics.create_scene("Falling", FALLING)
    scene.raise_on_stop = True
    scene.start_recording(tmp_path / "run")
    for _ in range(50):
        scene.step()
    wrong(scene)
    with pytest.raises((physics.SimulationStopped, ValueError)):
        scene.step()
    path = scene.stop_recording()
    live = arrays_of_data(scene.model, scene.data, adapter=load_mujoco())
    with physics.load_trajectory(path) as trajectory:
        last = trajectory.last
        assert last.note != FAILED, trajectory.events
        assert not _differences(last, live)


def _does_not_say(event: FileEvent) -> FileEvent:
    """Return an event as older files have it: a stop says nothing of its step."""
    data = {key: value for key, value in event.data.items() if key != "is_before_step"}
    return msgspec.structs.replace(event, data=data)


@pytest.mark.parametrize(
    ("wrong", "is_known"),
    [
        (_diverge, True),
        (_not_a_number, False),
        (_state_is_no_number, False),
        (_input_is_no_number, False),
    ],
)
def test_of_an_older_file_arrays_are_in_doubt_where_its_last_step_may_not_have_been_taken(
    wrong: Callable[[physics.Scene], None], is_known: bool, tmp_path: Path
) -> None:
    scene = physics.create_scene("Falling", FALLING)
    scene.raise_on_stop = True
    scene.start_recording(tmp_path / "run")
    for _ in range(50):
        scene.step()
    wrong(scene)
    with pytest.raises(physics.SimulationStopped):
        scene.step()
    path = scene.stop_recording()
    live = arrays_of_data(scene.model, scene.data, adapter=load_mujoco())
    older = rewrite_file(path, tmp_path / "older.mcap", event=_does_not_say)
    with physics.load_trajectory(older) as trajectory:
        last = trajectory.last
        differences = _differences(last, live)
        if is_known:
            assert (last.note, differences) == (FAILED, [])
        else:
            head, doubtful = last.note[: len(UNKNOWN)], last.note[len(UNKNOWN) :].split(", ")
            assert head == UNKNOWN
            assert set(differences) <= set(doubtful)
            assert "qacc" in doubtful
            assert "qpos" not in doubtful


@pytest.mark.parametrize("kept", ["recorded", "remembered"])
@pytest.mark.parametrize("replaces", ["reset", "restore"])
def test_after_a_reset_nothing_is_said_to_be_of_the_step_that_failed_before_it(
    replaces: str, kept: str, tmp_path: Path
) -> None:
    path = tmp_path / "run.mcap"
    scene = physics.create_scene("Falling", FALLING)
    scene.raise_on_stop = True
    begin = scene.checkpoint()
    if kept == "recorded":
        scene.start_recording(path)
    for _ in range(20):
        scene.step()
    scene.ctrl[:] = 1e30
    with pytest.raises(physics.SimulationStopped):
        scene.step()
    if replaces == "reset":
        scene.reset()
    else:
        scene.restore(begin)
    if kept == "recorded":
        scene.stop_recording()
    else:
        scene.save_history(path)
    with physics.load_trajectory(path) as trajectory:
        last = trajectory.last
        assert (float(last.time), last.note) == (0.0, EVALUATED), trajectory.events


@pytest.mark.parametrize("ends", ["by a signal", "by an exception"])
def test_how_the_script_ended_after_a_step_that_failed_makes_no_difference_to_the_arrays(
    ends: str, tmp_path: Path
) -> None:
    scene = physics.create_scene("Falling", FALLING)
    scene.raise_on_stop = True
    scene.start_recording(tmp_path / "run")
    for _ in range(50):
        scene.step()
    _diverge(scene)
    with contextlib.suppress(EngineError):
        scene.step()
    if ends == "by a signal":
        scene.recorders.script_ended("it was told to", signal_data("SIGTERM", "it was told to"))
    else:
        scene.recorders.failed(ValueError("something else"))
    path = scene.stop_recording()
    live = arrays_of_data(scene.model, scene.data, adapter=load_mujoco())
    with physics.load_trajectory(path) as trajectory:
        assert [e.axis for e in trajectory.events if e.kind == "stop"] == [50, 50]
        assert trajectory.last.note == FAILED
        assert not _differences(trajectory.last, live)


# More memory than there is as soon as one stone comes to lie on the other.
STONES = """
<mujoco>
  <option ccd_iterations="5000"/>
  <size memory="200K"/>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body pos="0 0 .2"><freejoint/><geom type="ellipsoid" size=".1 .12 .13"/></body>
    <body pos="0 0 .5"><freejoint/><geom type="ellipsoid" size=".1 .12 .13"/></body>
  </worldbody>
</mujoco>
"""


def _step(scene: physics.Scene, steps: int) -> None:
    for _ in range(steps):
        scene.step()


@pytest.mark.parametrize("guarded", [True, False])
def test_after_a_fatal_error_every_array_is_what_was_there_then(
    guarded: bool, tmp_path: Path
) -> None:
    scene = physics.create_scene("Stones", STONES)
    if guarded:
        scene.raise_on_stop = True
    scene.start_recording(tmp_path / "run")
    with pytest.raises(EngineError, match=r"memory|stack|arena"):
        _step(scene, 400)
    path = scene.stop_recording()
    live = arrays_of_data(scene.model, scene.data, adapter=load_mujoco())
    with physics.load_trajectory(path) as trajectory:
        assert len(trajectory) > 10
        last = trajectory.last
        assert last.note == FAILED, trajectory.events
        assert not _differences(last, live)


def test_a_last_step_that_leads_elsewhere_here_is_said(tmp_path: Path) -> None:
    scene = physics.create_scene("Falling", FALLING)
    mujoco.set_mjcb_control(lambda model, data: data.xfrc_applied.__setitem__((2, 4), data.time))
    try:
        path = _run(scene, tmp_path / "run", 20, 0, "exact")
    finally:
        mujoco.set_mjcb_control(None)
    with physics.load_trajectory(path) as trajectory:
        trajectory.seek(-1)
        before = trajectory.scene.data.qpos.copy()
        options = trajectory.scene.model.opt.timestep
        assert trajectory.last.note == DIFFERENT
        assert trajectory.scene.data.qpos.tolist() == before.tolist()
        assert trajectory.scene.model.opt.timestep == options
        mujoco.set_mjcb_control(lambda model, data: None)
        try:
            with pytest.raises(StateError, match=r"script's callbacks \(control\)"):
                _ = trajectory.last
        finally:
            mujoco.set_mjcb_control(None)


@pytest.mark.parametrize("how", ["one frame", "every tenth"])
def test_a_state_that_no_recorded_step_leads_to_is_evaluated(how: str, tmp_path: Path) -> None:
    scene = physics.create_scene("Falling", FALLING)
    for _ in range(200):
        scene.step()
    if how == "one frame":
        path = scene.save_checkpoint(tmp_path / "there")
    else:
        scene.start_recording(physics.TrajectoryFile(tmp_path / "run", every=10))
        for _ in range(25):
            scene.step()
        path = scene.stop_recording()
    with physics.load_trajectory(path) as trajectory:
        last = trajectory.last
        assert last.note == EVALUATED
        assert last.qpos.tolist() == scene.data.qpos.tolist()
        fresh = mujoco.MjData(scene.model)
        mujoco.mj_setState(
            scene.model, fresh, trajectory.frame(-1).row, mujoco.mjtState.mjSTATE_INTEGRATION
        )
        mujoco.mj_forward(scene.model, fresh)
        assert last.xpos.tolist() == fresh.xpos.tolist()
        assert int(last.ncon) == fresh.ncon
