"""Recording a scene into a file: what is in it is what happened, bit for bit."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import stroboscope.engine as physics
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.messages import PlaybackMode

Make = Callable[..., physics.Scene]
OracleOf = Callable[..., Any]
Read = Callable[..., Any]


@pytest.mark.parametrize("model", ["humanoid", "arm", "cart_with_double_pendulum"])
def test_every_row_is_recorded_to_the_bit(
    make_scene: Make, oracle_of: OracleOf, read: Read, tmp_path: Path, model: str
) -> None:
    scene = make_scene(model)
    oracle = oracle_of(scene)
    scene.start_recording(tmp_path / "run.mcap")
    oracle.step(600)
    path = scene.stop_recording()
    recorded = read(path)
    assert recorded.complete
    assert recorded.rows.tobytes() == oracle.array().tobytes()
    assert recorded.axes == list(range(601))
    assert recorded.steps == list(range(601))
    assert recorded.has_final


def test_recording_begins_and_ends_at_any_moment_and_a_scene_can_be_recorded_again(
    make_scene: Make, oracle_of: OracleOf, read: Read, tmp_path: Path
) -> None:
    scene = make_scene()
    oracle = oracle_of(scene)
    oracle.step(7)
    for name in ("first", "second"):
        begin = len(oracle.rows)
        with scene.start_recording(tmp_path / name) as recording:
            oracle.step(20)
        recorded = read(recording.path)
        assert recording.path == tmp_path / f"{name}.mcap"
        assert recorded.rows.tobytes() == oracle.array()[begin:].tobytes()
        assert recorded.axes == list(range(begin, begin + 21))
        assert recorded.events[0].kind == "begin"
        assert (recorded.events[0].axis, recorded.events[0].physics_step) == (begin, begin)
        oracle.step(5)
    assert scene._bare


def test_a_scene_that_is_looked_at_is_recorded_from_the_next_row_on(
    make_scene: Make, oracle_of: OracleOf, read: Read, tmp_path: Path, host: Host
) -> None:
    host.attach(PlaybackMode.FAST_FORWARD)
    scene = make_scene()
    oracle = oracle_of(scene)
    oracle.step(100)
    scene.start_recording(tmp_path / "run.mcap")
    oracle.step(100)
    host.detach("enough")
    oracle.step(100)
    recorded = read(scene.stop_recording())
    assert recorded.rows.tobytes() == oracle.array()[100:].tobytes()


def test_several_physics_steps_per_step_are_rows_of_their_own(
    make_scene: Make, oracle_of: OracleOf, read: Read, tmp_path: Path
) -> None:
    scene = make_scene()
    oracle = oracle_of(scene)
    with scene.start_recording(tmp_path / "run.mcap") as recording:
        oracle.step(50, nstep=4)
        scene.step(0.0025)
    recorded = read(recording.path)
    assert recorded.axes == list(range(202))
    assert recorded.steps[:8] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert recorded.rows[:200:4].tobytes() == oracle.array(final=False).tobytes()
    assert recorded.blocks[-2].timesteps[-1] == 0.0025


def test_resets_restores_edits_and_branches_are_marked(
    make_scene: Make, oracle_of: OracleOf, read: Read, tmp_path: Path
) -> None:
    scene = make_scene()
    oracle = oracle_of(scene)
    scene.start_recording(tmp_path / "run.mcap")
    oracle.step(30)
    checkpoint = scene.checkpoint()
    oracle.step(30)
    scene.reset()
    oracle.step(30)
    scene.restore(checkpoint)
    oracle.step(30)
    scene.data.qpos[2] += 0.1
    oracle.step(30)
    scene.link.backend.time_machine().continue_from(20)
    oracle.step(30)
    recorded = read(scene.stop_recording())
    assert recorded.rows.tobytes() == oracle.array().tobytes()
    marks = [(event.kind, event.axis, event.physics_step) for event in recorded.events]
    assert marks == [
        ("begin", 0, 0),
        ("episode", 60, 0),
        ("restore", 90, 30),
        ("edit", 120, 60),
        ("branch", 150, 20),
    ]
    assert recorded.flagged == [0, 60, 90, 120, 150]
    assert recorded.events[1].episode == 1
    assert recorded.events[-1].parent_axis == 20


def test_what_the_script_logs_is_in_the_file_though_nobody_is_attached(
    make_scene: Make, oracle_of: OracleOf, tmp_path: Path
) -> None:
    scene = make_scene()
    oracle = oracle_of(scene)
    with scene.start_recording(tmp_path / "run.mcap") as recording:
        for index in range(40):
            scene.log("reward", index)
            scene.log({"obs": [index, 2.0], "qpos": 1.5})
            oracle.step()
        scene.log("said", "the gripper closed")
        scene.log("pose", (1, 2), names=["x", "y"])
    from stroboscope.engine.files.reader import TrajectoryReader

    with TrajectoryReader(recording.path) as reader:
        axes, times, values = reader.signal(0, "reward")
        assert axes.tolist() == list(range(40))
        assert values.tolist() == list(range(40))
        assert times.tolist() == [row[0] for row in oracle.rows]
        assert reader.signal(0, "obs").values[3].tolist() == [3.0, 2.0]
        assert set(reader.signals(0)) == {"reward", "obs", "qpos (script)", "pose"}
        assert reader.signal_names(0, "pose") == ("x", "y")
        said = [event for event in reader.events(0) if event.kind == "log"]
        assert [(event.text, event.axis) for event in said] == [("the gripper closed", 40)]


def test_stopping_what_is_not_recorded_is_refused(make_scene: Make) -> None:
    scene = make_scene()
    with pytest.raises(physics.RecordingError, match="is not recorded: call"):
        scene.stop_recording()


def test_a_reset_by_mujoco_itself_begins_an_episode_behind_the_step_that_it_happened_in(
    make_scene: Make, oracle_of: OracleOf, read: Read, tmp_path: Path
) -> None:
    scene = make_scene()
    oracle = oracle_of(scene)
    with scene.start_recording(tmp_path / "run") as recording:
        oracle.step(20)
        scene.data.qvel[:] = 1e9
        oracle.step(10)
    recorded = read(recording.path)
    assert recorded.rows.tobytes() == oracle.array().tobytes()
    assert recorded.flagged == [0, 20, 21]
    marks = [(event.kind, event.axis) for event in recorded.events]
    assert marks == [("begin", 0), ("edit", 20), ("stop", 20), ("episode", 21)]


def test_wrapped_calls_of_a_script_that_does_not_know_us_are_recorded(
    model_path: Callable[[str], Path], read: Read, tmp_path: Path
) -> None:
    model = mujoco.MjModel.from_xml_path(str(model_path("humanoid")))
    data = mujoco.MjData(model)
    instrumentation = physics.debugger.the_session().instrumentation
    instrumentation.install(adopt_unknown=False)
    try:
        scene = instrumentation.watch(model, data, name="wrapped")
        full = mujoco.mjtState.mjSTATE_INTEGRATION
        rows = np.empty((121, mujoco.mj_stateSize(model, full)))

        def note(k: int) -> None:
            mujoco.mj_getState(model, data, rows[k], full)

        with scene.start_recording(tmp_path / "run") as recording:
            for k in range(120):
                if k == 60:
                    mujoco.mj_resetData(model, data)
                data.ctrl[:] = 0.1 * np.sin(k)
                note(k)
                mujoco.mj_step(model, data)
            note(120)
        recorded = read(recording.path)
        assert recorded.rows.tobytes() == rows.tobytes()
        assert recorded.kinds() == ["begin", "episode"]
    finally:
        instrumentation.remove()


def test_a_file_that_is_being_recorded_into_is_not_replaced(
    make_scene: Make, oracle_of: OracleOf, read: Read, tmp_path: Path
) -> None:
    scene = make_scene("arm")
    oracle = oracle_of(scene)
    with scene.start_recording(tmp_path / "run"):
        oracle.step(10)
        for again in (tmp_path / "run.mcap", physics.TrajectoryFile(tmp_path / "run", keep_last=1)):
            with pytest.raises(physics.RecordingError, match="is being recorded into"):
                scene.start_recording(again)
        with pytest.raises(physics.RecordingError, match="is being recorded into"):
            scene.save_history(tmp_path / "run")
        oracle.step(10)
    assert read(tmp_path / "run.mcap").rows.tobytes() == oracle.array().tobytes()
    with scene.start_recording(tmp_path / "run"):
        oracle.step(5)
    assert read(tmp_path / "run.mcap").axes == list(range(20, 26))


@pytest.mark.parametrize("before", [0, 7])
def test_a_recording_that_ends_before_its_first_step_has_one_frame_and_says_of_no_change(
    make_scene: Make, read: Read, tmp_path: Path, before: int
) -> None:
    scene = make_scene()
    for _ in range(before):
        scene.step()
    with scene.start_recording(tmp_path / "run.mcap") as recording:
        pass
    recorded = read(recording.path)
    assert recorded.axes == [before]
    assert recorded.kinds() == ["begin"]


def test_what_is_written_before_the_first_step_that_never_comes_is_how_the_recording_begins(
    make_scene: Make, read: Read, tmp_path: Path
) -> None:
    scene = make_scene()
    with scene.start_recording(tmp_path / "run.mcap") as recording:
        scene.reset()
        scene.data.time = 0.25
        scene.data.qpos[0] = 0.125
    recorded = read(recording.path)
    assert recorded.axes == [0]
    assert recorded.kinds() == ["begin", "begin"]
    assert (recorded.events[-1].time, recorded.events[-1].episode) == (0.25, 1)


def test_the_file_of_a_new_model_that_has_not_been_stepped_says_of_no_change(
    make_scene: Make, oracle_of: OracleOf, read: Read, tmp_path: Path
) -> None:
    scene = make_scene("arm")
    with scene.start_recording(tmp_path / "run") as recording:
        oracle_of(scene).step(5)
        scene.model.opt.gravity[2] = -1.6
        scene.model_changed()
    after = read(recording.paths[1])
    assert after.axes == [5]
    assert [(event.kind, event.text) for event in after.events] == [("begin", "")]


def test_a_change_of_the_state_before_a_step_that_is_stopped_is_told_once(
    make_scene: Make, oracle_of: OracleOf, read: Read, tmp_path: Path
) -> None:
    scene = make_scene()
    scene.raise_on_stop = True
    with scene.start_recording(tmp_path / "run.mcap") as recording:
        oracle_of(scene).step(5)
        scene.data.qvel[0] = 1e11
        with pytest.raises(physics.SimulationStopped):
            scene.step()
    recorded = read(recording.path)
    assert recorded.axes[-1] == 5
    assert recorded.kinds() == ["begin", "edit", "stop"]
    assert recorded.blocks[-1].rows[-1].tobytes() == oracle_of(scene).array().tobytes()
