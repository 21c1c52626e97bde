"""Frames come back as they were, and the scene goes on from any of them, bit for bit."""

import itertools
import math
from pathlib import Path
from typing import Any

import msgspec
import mujoco
import numpy as np
import pytest
from plain_recording import PlainRun, record_plain, state_of

import stroboscope.engine as physics
from stroboscope.engine.files.copying import intact_attachments, whole_trajectory
from stroboscope.engine.files.errors import FileError
from stroboscope.engine.files.frames import RecordMode
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.trajectory.trajectory import load_trajectory
from stroboscope.engine.trajectory.verify import Outcome

ARM = """
<mujoco>
  <option timestep="0.004"/>
  <worldbody>
    <geom name="floor" type="plane" size="2 2 .1"/>
    <body name="upper" pos="0 0 .6">
      <joint name="shoulder" axis="0 1 0" damping=".05"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
      <body name="lower" pos=".3 0 0">
        <joint name="elbow" axis="0 1 0" damping=".02"/>
        <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
      </body>
    </body>
    <body name="ball" pos=".4 .05 .2"><freejoint/><geom size=".06"/></body>
  </worldbody>
  <actuator><position joint="shoulder" kp="8"/><motor joint="elbow" gear="2"/></actuator>
</mujoco>
"""


def _control(step: int, data: Any) -> None:
    data.ctrl[:] = math.sin(0.05 * step), 0.3 * math.cos(0.11 * step)


@pytest.fixture(params=list(RecordMode))
def run(request: pytest.FixtureRequest, tmp_path: Path) -> PlainRun:
    """120 steps with two resets, in either mode."""
    return record_plain(
        tmp_path / "run.mcap",
        mujoco.MjModel.from_xml_string(ARM),
        steps=120,
        control=_control,
        mode=request.param,
        resets=(50, 51),
        first_axis=1000,
    )


def test_every_frame_is_what_plain_mujoco_had_to_the_last_bit(run: PlainRun) -> None:
    with load_trajectory(run.path) as trajectory:
        assert len(trajectory) == 121
        for index, row in enumerate(run.rows):
            frame = trajectory.frame(index)
            assert frame.row.tobytes() == row.tobytes(), index
            assert frame.note in ("", "verified")
            assert frame.axis == 1000 + index


def test_a_frame_names_its_arrays_in_the_shapes_of_mujoco(run: PlainRun) -> None:
    with load_trajectory(run.path) as trajectory:
        frame = trajectory.frame(70)
        assert frame["xfrc_applied"].shape == (run.model.nbody, 6)
        assert frame.ctrl.tolist() == [math.sin(3.5), 0.3 * math.cos(7.7)]
        assert (frame.episode, frame.physics_step, frame.step_count) == (2, 19, 19)
        with pytest.raises(AttributeError, match="has no 'qpoz': it has time, qpos"):
            _ = frame.qpoz


def test_negative_numbers_count_from_the_end_and_others_are_refused(run: PlainRun) -> None:
    with load_trajectory(run.path) as trajectory:
        assert trajectory.frame(-1).is_last
        assert trajectory.frame(-121).index == 0
        for wrong in (121, -122):
            with pytest.raises(IndexError, match=r"run\.mcap has 121"):
                trajectory.frame(wrong)


def test_a_scene_sought_to_any_frame_goes_on_bit_for_bit(run: PlainRun) -> None:
    with load_trajectory(run.path) as trajectory:
        for index in (0, 49, 50, 51, 99, 120, 3):
            trajectory.seek(index)
            scene = trajectory.scene
            for _ in range(25):
                scene.step()
            expected = run.after(index, 25)
            assert state_of(run.model, scene.data).tobytes() == expected.tobytes(), index


def test_the_scene_has_the_counters_of_the_frame(run: PlainRun) -> None:
    with load_trajectory(run.path) as trajectory:
        scene = trajectory.scene
        trajectory.seek(70)
        assert (scene.physics_step_count, scene.step_count) == (19, 19)
        assert scene.get_total_simulation_time() == run.rows[70, 0]


def test_a_time_is_sought_within_the_episode_in_view_or_the_one_that_is_named(
    run: PlainRun,
) -> None:
    with load_trajectory(run.path) as trajectory:
        assert trajectory.seek(time=0.1).index == 25
        assert trajectory.seek(time=0.1, episode=2).index == 51 + 25
        assert trajectory.seek(time=0.11).index == 51 + 27  # where one is now
        assert trajectory.find(time=1e9, episode=1) == 50
        with pytest.raises(ValueError, match="episode 9"):
            trajectory.find(time=0.0, episode=9)


def test_all_steps_taken_again_reproduce_it(run: PlainRun) -> None:
    with load_trajectory(run.path) as trajectory:
        found = trajectory.verify(jobs=2)
    assert found.outcome is Outcome.SAME
    assert found.exit_code == 0
    # Nothing leads to the first frame, nor to one after a reset.
    assert found.checked == 120 - 2


def test_the_first_number_that_does_not_follow_is_named(tmp_path: Path) -> None:
    model = mujoco.MjModel.from_xml_string(ARM)

    def tamper(rows: Any) -> None:
        rows[60, 1 + model.nq + 1] += 1e-12

    path = tmp_path / "run.mcap"
    record_plain(path, model, steps=100, control=_control, tamper=tamper)
    with load_trajectory(path) as trajectory:
        found = trajectory.verify(jobs=1)
    assert found.outcome is Outcome.DIFFERS
    assert found.exit_code == 1
    assert found.first is not None
    assert (found.first.frame, found.first.array, found.first.index) == (60, "qvel", 1)
    assert found.first.recorded - found.first.computed == pytest.approx(1e-12, rel=1e-2)
    assert "differs from step 60" in str(found)
    assert found.differing == 2  # the row itself, and the one that follows from what was


def test_a_file_cut_off_ends_in_its_last_whole_row_and_goes_on_from_there(tmp_path: Path) -> None:
    model = mujoco.MjModel.from_xml_string(ARM)
    path = tmp_path / "run.mcap"
    run = record_plain(path, model, steps=100, control=_control, close=False)
    path.write_bytes(path.read_bytes()[:-900])
    with load_trajectory(path) as trajectory:
        assert not trajectory.complete
        last = len(trajectory) - 1
        assert last < 100
        assert trajectory.frame(-1).row.tobytes() == run.rows[last].tobytes()
        scene = trajectory.scene
        trajectory.seek(-1)
        scene.step()
        assert state_of(model, scene.data).tobytes() == run.after(last, 1).tobytes()


def test_a_trajectory_that_was_cut_off_is_repaired_into_a_file_beside_it(tmp_path: Path) -> None:
    model = mujoco.MjModel.from_xml_string(ARM)
    path = tmp_path / "run.mcap"
    told: list[float] = []
    record_plain(path, model, steps=100, control=_control, close=False)
    path.write_bytes(path.read_bytes()[:-900])
    content = path.read_bytes()
    with load_trajectory(path) as trajectory:
        beside = trajectory.repair()
        named = trajectory.repair(tmp_path / "whole", progress=told.append)
        with pytest.raises(FileError, match="is the file that is read"):
            trajectory.repair(path)
        with pytest.raises(TypeError, match="path"):
            trajectory.repair(3)  # type: ignore[arg-type]
        rows = [frame.row.tobytes() for frame in trajectory]
    assert path.read_bytes() == content
    assert (beside.path.name, named.path.name) == ("run.repaired.mcap", "whole.mcap")
    assert told[-1] == 1.0
    assert "nobody knows how much that is" in str(beside)
    for each in (beside, named):
        with load_trajectory(each.path) as repaired:
            assert repaired.complete
            assert [frame.row.tobytes() for frame in repaired] == rows


def test_rows_and_time_are_read_without_building_the_scene(run: PlainRun) -> None:
    with load_trajectory(run.path) as trajectory:
        assert trajectory.time(51) == 0.0
        assert trajectory.timings(60)["step"] == pytest.approx(0.002, abs=1e-4)
        assert trajectory.timings(0) == {}
        assert np.isfinite(trajectory.time(-1))
        assert [each.kind for each in trajectory.events] == ["begin", "episode", "episode"]


def test_frames_are_chosen_by_the_time_that_was_simulated_until_there(run: PlainRun) -> None:
    with load_trajectory(run.path) as trajectory:
        assert trajectory.frames_at(0.004).tolist() == list(range(121))
        assert trajectory.frames_at(0.04).tolist() == list(range(0, 121, 10))
        twice = trajectory.frames_at(0.002).tolist()
        assert (twice[0], twice[-1], len(twice)) == (0, 120, 241)
        assert all(0 <= later - earlier <= 1 for earlier, later in itertools.pairwise(twice))
        with pytest.raises(ValueError, match="interval must be above 0 s, not -1"):
            trajectory.frames_at(-1.0)


def test_stages_of_a_step_are_measured_again_and_say_so(run: PlainRun) -> None:
    with load_trajectory(run.path) as trajectory:
        recorded = trajectory.timings(60)
        assert list(recorded) == ["step"]
        trajectory.seek(10)
        before = state_of(run.model, trajectory.scene.data).tobytes()
        measured = trajectory.timings(60, again=True)
        assert measured["step"] == recorded["step"]
        stages = {name for name in measured if name.startswith("again.")}
        assert {"again.step", "again.position", "again.constraint"} <= stages
        known = [measured[name] for name in stages if not math.isnan(measured[name])]
        assert not known or (max(known) == measured["again.step"] > 0.0 <= min(known))
        assert max(known, default=0.0) < 1.0
        assert state_of(run.model, trajectory.scene.data).tobytes() == before
        assert trajectory.timings(0, again=True) == {}


def test_the_time_of_a_step_is_that_of_one_where_only_every_so_many_were_recorded(
    tmp_path: Path,
) -> None:
    scene = physics.create_scene("Arm", ARM)
    scene.start_recording(physics.TrajectoryFile(tmp_path / "run", every=10))
    for _ in range(101):
        scene.step()
    with load_trajectory(scene.stop_recording()) as trajectory:
        took = trajectory.wall(5) - trajectory.wall(4)
        assert trajectory.timings(5)["step"] == pytest.approx(1e-9 * took / 10)


def test_scenes_of_one_name_in_a_file_are_built_under_names_of_their_own(tmp_path: Path) -> None:
    scenes = [physics.create_scene(name, ARM) for name in ("Left", "Right")]
    with physics.start_recording(tmp_path / "run", scenes=scenes) as recording:
        for scene in scenes:
            scene.step()
    physics.shutdown()
    path = tmp_path / "same.mcap"
    with TrajectoryReader(recording.path) as reader:
        manifest = msgspec.structs.replace(
            reader.manifest,
            scenes=tuple(
                msgspec.structs.replace(each, name="Arm") for each in reader.manifest.scenes
            ),
        )
        attachments, _ = intact_attachments(reader)
        with whole_trajectory(path, manifest, attachments=attachments) as writer:
            for scene, number in reader.block_order():
                writer.write_encoded_block(scene, reader.encoded_block(scene, number))
    with load_trajectory(path) as trajectory:
        others = trajectory.others()
        assert len(others) == 2
        assert [each.scene.name for each in others.values()] == list(others)
