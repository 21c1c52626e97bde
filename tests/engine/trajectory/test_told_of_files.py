"""What ``verify`` says of what a file claims and no step of it leads to."""

import dataclasses
from pathlib import Path

import msgspec
import mujoco
import pytest
from plain_recording import record_plain
from rewritten_file import rewrite_file

import stroboscope.engine as physics
from stroboscope.engine.files.frames import BlockKind, RecordMode, RowBlock, SceneRecord
from stroboscope.engine.trajectory.trajectory import load_trajectory

MODEL = """
<mujoco>
  <worldbody><body><joint name="hinge" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/></body></worldbody>
</mujoco>
"""


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A minimal file of 40 steps of 2 ms, that reproduces."""
    model = mujoco.MjModel.from_xml_string(MODEL)
    path = tmp_path_factory.mktemp("told") / "run.mcap"
    record_plain(path, model, steps=40, control=lambda step, data: None, mode=RecordMode.MINIMAL)
    with load_trajectory(path) as trajectory:
        assert str(trajectory.verify(jobs=1)) == "reproduces bit for bit (40 of 41 frames compared)"
    return path


def test_a_time_that_no_step_leads_to_differs_in_minimal_files_too(
    honest: Path, tmp_path: Path
) -> None:
    def later(block: RowBlock) -> RowBlock:
        if block.axes[0] != 16:
            return block
        rows = block.rows.copy()
        rows[3, 0] += 0.1
        return dataclasses.replace(block, rows=rows)

    path = rewrite_file(honest, tmp_path / "forged.mcap", block=later)
    with load_trajectory(path) as trajectory:
        found = trajectory.verify(jobs=1)
    assert (found.exit_code, found.differing) == (1, 1)
    assert found.checked == 40
    assert found.first is not None
    assert (found.first.array, found.first.axis) == ("time", 19)
    assert "time[0] is 0.138 in the file, and 0.038" in str(found)


def test_a_timestep_of_the_last_state_that_no_step_takes_is_told(
    honest: Path, tmp_path: Path
) -> None:
    def longer(block: RowBlock) -> RowBlock:
        factor = 3.0 if block.kind is BlockKind.FINAL else 1.0
        return dataclasses.replace(block, timesteps=block.timesteps * factor)

    path = rewrite_file(honest, tmp_path / "forged.mcap", block=longer)
    with load_trajectory(path) as trajectory:
        found = trajectory.verify(jobs=1)
    assert "the last state has a timestep of 0.006 s, the step before it took 0.002 s" in found.note


def _other_digest(record: SceneRecord) -> SceneRecord:
    return msgspec.structs.replace(record, model_digest="0" * 64)


def _other_timestep(record: SceneRecord) -> SceneRecord:
    return msgspec.structs.replace(record, timestep=0.5)


def test_a_model_and_a_timestep_that_are_not_those_in_the_file_are_told(
    honest: Path, tmp_path: Path
) -> None:
    path = rewrite_file(honest, tmp_path / "digest.mcap", record=_other_digest)
    with load_trajectory(path) as trajectory:
        note = trajectory.verify(jobs=1).note
    assert "than the file says that the scene had (000000000000)" in note
    path = rewrite_file(honest, tmp_path / "timestep.mcap", record=_other_timestep)
    with load_trajectory(path) as trajectory:
        note = trajectory.verify(jobs=1).note
    assert note == "the file says that steps take 0.5 s, those of its model take 0.002 s"


def test_every_step_before_which_the_state_was_changed_is_named(tmp_path: Path) -> None:
    scene = physics.create_scene("edited", mujoco.MjModel.from_xml_string(MODEL))
    with scene.start_recording(tmp_path / "run.mcap") as recording:
        for step in range(60):
            if 10 <= step < 30 or step in (40, 50, 51):
                scene.data.qvel[0] += 0.1
            scene.step()
    with load_trajectory(recording.path) as trajectory:
        found = trajectory.verify(jobs=1)
    assert found.changes == (*range(10, 30), 40, 50, 51)
    assert found.exit_code == 0
    told = "before step 10 and each one up to 29, 40, 50 and each one up to 51"
    assert told in str(found)
