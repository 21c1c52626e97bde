"""Scripts that write into the model while it is recorded: said, carried along, and verified."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import pytest
from noted_run import SENSED, Run
from samples import few

import stroboscope.engine as physics
from stroboscope.engine.files.frames import BlockKind
from stroboscope.engine.trajectory.last_frame import SAME

Make = Callable[..., physics.Scene]
OracleOf = Callable[..., Any]
Read = Callable[..., Any]
Write = Callable[[Any], None]


def gravity(model: Any) -> None:
    model.opt.gravity[2] = -5.0


def gain(model: Any) -> None:
    model.actuator_gainprm[0, 0] *= 1.5


def mass(model: Any) -> None:
    model.body_mass[2] *= 1.25


WRITES = {"opt.gravity[2]": gravity, "actuator_gainprm[0]": gain, "body_mass": mass}


@pytest.mark.parametrize("mode", few(["minimal", "exact", "auto"], 1))
@pytest.mark.parametrize("field", list(WRITES))
def test_what_is_written_into_the_model_is_said_and_the_run_still_verifies(
    make_scene: Make, oracle_of: OracleOf, read: Read, tmp_path: Path, field: str, mode: str
) -> None:
    scene = make_scene("humanoid")
    oracle = oracle_of(scene)
    file = physics.TrajectoryFile(tmp_path / "run", mode=mode)
    with scene.start_recording(file) as recording:
        oracle.step(350)
        WRITES[field](scene.model)
        oracle.step(400)
    recorded = read(recording.path)
    said = [event for event in recorded.events if "model" in event.data]
    assert len(said) == 1
    assert said[0].data["model_since"] <= 350 <= said[0].axis
    assert field in said[0].data["model"]
    exact = [b for b in recorded.blocks if b.kind is BlockKind.EXACT]
    assert any(350 in block.axes for block in exact)
    with physics.load_trajectory(recording.path) as trajectory:
        found = trajectory.verify()
        assert (found.exit_code, found.checked, found.differing) == (0, 750, 0), str(found)
        assert f"the model was changed from outside before step 350: {field}" in str(found)
        rows = oracle.array()
        for frame in (0, 200, 349, 351, 600, 749, 750):
            assert trajectory.frame(frame).qpos.tobytes() == rows[frame, 1:29].tobytes()
        trajectory.seek(said[0].axis)
        again = trajectory.scene
        for row in rows[said[0].axis : 750]:
            again.ctrl[:] = row[-len(row) :][_controls(scene)]
            again.step()
        assert again.data.qpos.tobytes() == rows[750, 1:29].tobytes()


@pytest.mark.parametrize(("field", "steps"), [("actuator_gainprm[0]", 400), ("body_mass", 40)])
def test_every_frame_has_the_model_that_its_step_was_taken_with(
    make_scene: Make, oracle_of: OracleOf, tmp_path: Path, field: str, steps: int
) -> None:
    scene = make_scene("humanoid")
    oracle = oracle_of(scene)
    with scene.start_recording(tmp_path / "run") as recording:
        oracle.step(350)
        WRITES[field](scene.model)
        oracle.step(steps)
        left = {name: getattr(scene.data, name).copy() for name in ("actuator_force", "qacc")}
    rows = oracle.array()
    with physics.load_trajectory(recording.path) as trajectory:
        for frame in (349, 350, 350 + steps - 1):
            trajectory.seek(frame)
            again = trajectory.scene
            again.step()
            assert again.data.qpos.tobytes() == rows[frame + 1, 1:29].tobytes(), frame
    with physics.load_trajectory(recording.path) as trajectory:
        for name, value in left.items():
            assert trajectory.last[name].tobytes() == value.tobytes(), name
        assert trajectory.last.note == SAME
        assert trajectory.verify().exit_code == 0
        told = [(e.segment.begin, e.model_since) for e in trajectory._stretches]
    assert told == [(0, -1), (350, 350)]


def _controls(scene: physics.Scene) -> slice:
    model = scene.model
    begin = 1 + model.nq + model.nv + model.na
    states = mujoco.mjtState
    begin = mujoco.mj_stateSize(model, states.mjSTATE_FULLPHYSICS | states.mjSTATE_WARMSTART)
    return slice(begin, begin + model.nu)


def test_a_model_that_is_randomised_at_each_reset_is_said_before_the_very_step(
    make_scene: Make, oracle_of: OracleOf, read: Read, tmp_path: Path
) -> None:
    scene = make_scene("humanoid")
    oracle = oracle_of(scene)
    with scene.start_recording(physics.TrajectoryFile(tmp_path / "run", mode="minimal")) as made:
        for episode in range(4):
            if episode:
                scene.reset()
                scene.model.body_mass[2] = 3.0 + episode
            oracle.step(30)
    said = [(e.kind, e.axis, e.data.get("model_since")) for e in read(made.path).events]
    assert [each for each in said if each[2] is not None] == [
        ("episode", 30, 30), ("episode", 60, 60), ("episode", 90, 90)
    ]  # fmt: skip
    with physics.load_trajectory(made.path) as trajectory:
        found = trajectory.verify()
        assert (found.exit_code, found.differing) == (0, 0), str(found)
        assert str(found).count("the model was changed from outside before step") == 3


def test_a_model_that_changes_all_the_time_is_recorded_exactly_and_said_so_many_times(
    make_scene: Make, oracle_of: OracleOf, read: Read, tmp_path: Path
) -> None:
    scene = make_scene("humanoid")
    oracle = oracle_of(scene)
    with scene.start_recording(physics.TrajectoryFile(tmp_path / "run", mode="minimal")) as made:
        for k in range(600):
            scene.model.body_mass[2] = 3.0 + k / 1000
            oracle.step()
    recorded = read(made.path)
    assert recorded.rows.tobytes() == oracle.array().tobytes()
    with physics.load_trajectory(made.path) as trajectory:
        found = trajectory.verify()
    assert found.exit_code == 1
    assert "the model was changed from outside before step" in str(found)


def test_what_only_changes_how_things_look_is_no_change(
    make_scene: Make, oracle_of: OracleOf, read: Read, tmp_path: Path
) -> None:
    scene = make_scene("humanoid")
    oracle = oracle_of(scene)
    with scene.start_recording(physics.TrajectoryFile(tmp_path / "run", mode="minimal")) as made:
        for k in range(400):
            scene.model.geom_rgba[1, 0] = k / 400
            oracle.step()
    recorded = read(made.path)
    assert recorded.kinds() == ["begin"]
    assert {block.kind for block in recorded.blocks} == {BlockKind.MINIMAL, BlockKind.FINAL}


def test_a_field_that_no_file_carries_is_named_and_all_after_it_is_whole(
    make_scene: Make, oracle_of: OracleOf, read: Read, tmp_path: Path
) -> None:
    scene = make_scene("humanoid")
    oracle = oracle_of(scene)
    with scene.start_recording(physics.TrajectoryFile(tmp_path / "run", mode="minimal")) as made:
        oracle.step(100)
        scene.model.geom_condim[1:] = 1
        oracle.step(1500)
    recorded = read(made.path)
    (said,) = [event for event in recorded.events if "model" in event.data]
    assert "geom_condim" in said.data["model"]
    later = [b.kind for b in recorded.blocks if b.axes[-1] >= said.axis]
    assert BlockKind.MINIMAL not in later


@pytest.mark.parametrize("way", ["saved", "exact", "minimal"])
def test_what_was_written_before_a_file_begins_is_in_force_in_all_its_frames(
    way: str, tmp_path: Path
) -> None:
    """As scripts do that set gravity, gains or a target of a model that they have just loaded."""
    scene = physics.create_scene("sensed", SENSED)
    scene.keep_history(True)
    run = Run(scene)
    run.model.site_pos[0, 0] = 3.0
    run.model.opt.gravity[2] = -5.0
    run.model.actuator_gear[0, 0] = 6.0
    if way != "saved":
        scene.start_recording(physics.TrajectoryFile(tmp_path / "run", mode=way))
    sensed = []
    for _ in range(20):
        run.step(1)
        sensed.append(scene.data.sensordata.tobytes())
    path = scene.save_history(tmp_path / "run") if way == "saved" else scene.stop_recording()
    with physics.load_trajectory(path) as trajectory:
        assert trajectory.verify().exit_code == 0
        replayed = Run(trajectory.scene)
        replayed.seen = run.seen
        replayed.check(range(20), {"", "verified"})
        _, values = replayed.read("sensordata")
        assert [row.tobytes() for row in values] == sensed


def test_what_mj_set_const_counts_is_in_files_and_keeps_none_from_being_opened(
    tmp_path: Path,
) -> None:
    """ngravcomp is no field that can be written, and a part of what makes a model another one."""
    scene = physics.create_scene("sensed", SENSED)
    scene.keep_history(True)
    run = Run(scene)
    run.step(5)
    scene.model.body_gravcomp[1] = 0.5
    mujoco.mj_setConst(scene.model, mujoco.MjData(scene.model))
    run.step(5)
    with physics.load_trajectory(scene.save_history(tmp_path / "run")) as trajectory:
        assert trajectory.verify().exit_code == 0
        replayed = Run(trajectory.scene)
        replayed.seen = run.seen
        replayed.check(range(10))
        trajectory.seek(-1)
        assert trajectory.scene.model.body_gravcomp[1] == 0.5
    scene.export(tmp_path / "sensed.strobe")
    assert physics.load_scene(tmp_path / "sensed.strobe").model.body_gravcomp[1] == 0.5
