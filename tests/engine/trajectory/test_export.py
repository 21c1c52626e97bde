"""Recorded runs as tables and arrays: every number to the last bit, under its name."""

import csv
import json
import math
from pathlib import Path
from typing import Any

import msgspec
import mujoco
import numpy as np
import pytest
from mcap.reader import make_reader
from plain_recording import PlainRun, record_plain
from rewritten_file import rewrite_file

import stroboscope.engine as physics
from stroboscope.app.main.cli import main
from stroboscope.engine.files.errors import FileError
from stroboscope.engine.files.frames import Manifest
from stroboscope.engine.trajectory.commands import progress_bar
from stroboscope.engine.trajectory.export.tables import write_arrays
from stroboscope.engine.trajectory.trajectory import load_trajectory

MODEL = """
<mujoco>
  <option timestep="0.004"/>
  <worldbody>
    <body name="arm">
      <joint name="shoulder" axis="0 1 0" damping=".05"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
    </body>
    <body name="target" mocap="true"/>
  </worldbody>
  <actuator><position name="servo" joint="shoulder" kp="8"/></actuator>
</mujoco>
"""


@pytest.fixture
def run(tmp_path: Path) -> PlainRun:
    """60 steps with a reset and a logged reward."""

    def control(step: int, data: Any) -> None:
        data.ctrl[:] = math.sin(0.05 * step)

    return record_plain(
        tmp_path / "run.mcap",
        mujoco.MjModel.from_xml_string(MODEL),
        steps=60,
        control=control,
        resets=(40,),
        reward=lambda step: 1.0 / (1.0 + step),
    )


def test_a_table_has_a_line_per_frame_and_names_that_can_be_typed(run: PlainRun) -> None:
    assert main(["export", "--to", "csv", str(run.path)]) == 0
    with run.path.with_suffix(".csv").open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 61
    for frame in (0, 39, 40, 60):
        line = lines[frame]
        assert float(line["time"]) == run.rows[frame, 0]
        assert float(line["qpos_shoulder"]) == run.rows[frame, 1]
    assert (lines[45]["episode"], lines[45]["physics_step"]) == ("1", "5")
    assert float(lines[45]["reward"]) == 1.0 / 46.0
    assert "ctrl_servo" in lines[0]
    assert all(name.isascii() and name.isidentifier() for name in lines[0])


def test_units_stand_in_a_second_line_where_they_are_asked_for(
    run: PlainRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "run.csv"
    assert main(["export", "--to", "csv", "--units", str(run.path), "-o", str(target)]) == 0
    with target.open(newline="", encoding="ascii") as file:
        names, units, *lines = csv.reader(file)
    unit = dict(zip(names, units, strict=True))
    assert (unit["time"], unit["qpos_shoulder"], unit["qvel_shoulder"]) == ("s", "rad", "rad/s")
    assert (unit["warmstart_shoulder"], unit["reward"]) == ("rad/s^2", "")
    assert len(lines) == 61
    assert main(["export", "--to", "npz", "--units", str(run.path)]) == 4
    assert "--units is for csv" in capsys.readouterr().err


def test_what_the_script_logs_under_a_name_of_ours_has_a_column_of_its_own(tmp_path: Path) -> None:
    scene = physics.create_scene("Arm", MODEL)
    with scene.start_recording(tmp_path / "run") as recording:
        for step in range(3):
            scene.log("time", 10.0 + step)
            scene.log("Höhe, links", [1.0, 2.0])
            scene.step()
    scene.destroy()
    assert main(["export", "--to", "csv", str(recording.path)]) == 0
    with recording.path.with_suffix(".csv").open(newline="", encoding="ascii") as file:
        last = list(csv.DictReader(file))[-1]
    assert (float(last["time"]), float(last["time_2"])) == (pytest.approx(0.012), 12.0)
    assert (float(last["Hohe_links_0"]), float(last["Hohe_links_1"])) == (1.0, 2.0)


def test_arrays_have_the_shapes_of_mujoco_and_are_read_without_pickle(
    run: PlainRun, tmp_path: Path
) -> None:
    target = tmp_path / "arrays.npz"
    assert main(["export", "--to", "npz", str(run.path), "-o", str(target)]) == 0
    with np.load(target, allow_pickle=False) as arrays:
        assert arrays["qpos"].tobytes() == run.rows[:, 1:2].tobytes()
        assert arrays["time"].tobytes() == run.rows[:, 0].tobytes()
        assert arrays["mocap_pos"].shape == (61, 1, 3)
        assert arrays["episode"].tolist() == [0] * 40 + [1] * 21
        assert arrays["signal/reward"].ravel().tolist() == [1.0 / (1.0 + k) for k in range(60)]


def test_the_file_itself_is_never_overwritten(
    run: PlainRun, capsys: pytest.CaptureFixture[str]
) -> None:
    before = run.path.read_bytes()
    assert main(["export", "--to", "csv", str(run.path), "-o", str(run.path)]) == 4
    assert "is the file itself" in capsys.readouterr().err
    assert run.path.read_bytes() == before


def test_other_tools_read_transforms_scene_signals_and_log(run: PlainRun) -> None:
    assert main(["export", "--to", "foxglove", str(run.path)]) == 0
    found: dict[str, list[Any]] = {}
    with run.path.with_suffix(".foxglove.mcap").open("rb") as file:
        for schema, channel, message in make_reader(file).iter_messages():
            assert schema.encoding == "jsonschema"
            assert json.loads(schema.data)["type"] == "object"
            found.setdefault(channel.topic, []).append(json.loads(message.data))
    data = mujoco.MjData(run.model)
    mujoco.mj_setState(run.model, data, run.rows[-1], mujoco.mjtState.mjSTATE_INTEGRATION)
    mujoco.mj_kinematics(run.model, data)
    (arm, target) = found["/tf"][-1]["transforms"]
    assert (arm["parent_frame_id"], arm["child_frame_id"]) == ("world", "arm")
    assert [arm["rotation"][axis] for axis in "wxyz"] == pytest.approx(data.xquat[1], abs=1e-15)
    assert target["child_frame_id"] == "target"
    (update,) = found["/scene"]
    (entity,) = update["entities"]
    assert (entity["frame_id"], entity["frame_locked"]) == ("arm", True)
    assert (len(entity["cylinders"]), len(entity["spheres"])) == (1, 2)
    ends = sorted(ball["pose"]["position"]["x"] for ball in entity["spheres"])
    assert ends == pytest.approx([0.0, 0.3], abs=1e-9)
    assert len(found["/signals"]) == 61
    assert found["/signals"][7]["joint"]["shoulder"]["q"] == run.rows[7, 1]
    assert found["/signals"][7]["actuator"]["servo"]["ctrl"] == math.sin(0.05 * 7)
    assert [each["value"] for each in found["/signals/reward"]] == [
        1.0 / (1.0 + k) for k in range(60)
    ]
    assert [each["message"] for each in found["/log"]] == ["begin", "episode: reset"]


def test_channels_whose_names_an_archive_can_not_tell_apart_have_arrays_of_their_own(
    tmp_path: Path,
) -> None:
    model = "<mujoco><worldbody><body><joint/><geom size='.1'/></body></worldbody></mujoco>"
    scene = physics.create_scene("odd", model)
    names = ("nul", "nul\0a", "nul\0b", "reward", "reward/time")
    with scene.start_recording(tmp_path / "run") as recording:
        for name in names:
            scene.log(name, float(names.index(name)))
        scene.step()
    with load_trajectory(recording.path) as trajectory:
        made = write_arrays(trajectory, tmp_path / "run.npz")
    with np.load(made) as arrays:
        found = {key: arrays[key] for key in arrays if key.startswith("signal/")}
    assert len(found) == 3 * len(names)
    own = ("nul", "nul\\0a", "nul\\0b", "reward", "reward/time (2)")
    assert [found[f"signal/{name}"].tolist() for name in own] == [[0.0], [1.0], [2.0], [3.0], [4.0]]


def test_a_scene_without_a_frame_in_a_whole_file_sends_to_the_others(tmp_path: Path) -> None:
    model = "<mujoco><worldbody><body><joint/><geom size='.1'/></body></worldbody></mujoco>"
    scene = physics.create_scene("odd", model)
    with scene.start_recording(tmp_path / "run") as recording:
        scene.step()

    def other(manifest: Manifest) -> Manifest:
        first = manifest.scenes[0]
        second = msgspec.structs.replace(first, index=1, name="late")
        return msgspec.structs.replace(manifest, scenes=(first, second))

    path = rewrite_file(recording.path, tmp_path / "two.mcap", manifest=other)
    with pytest.raises(FileError, match="no frame of scene 'late'; others in it have some"):
        load_trajectory(path, scene="late")


# Of 61 frames of 4 ms with a reset before step 40.
PARTS = {
    ("--from", "0.02s", "--until", "0.04s"): range(5, 11),
    ("--from", "0.02", "--until", "0.04", "--episode", "1"): range(45, 51),
    ("--episode", "1"): range(40, 61),
    ("--until", "0.012"): range(4),
}


@pytest.mark.parametrize("part", PARTS)
def test_a_part_is_exported_by_the_times_of_an_episode(
    run: PlainRun, tmp_path: Path, part: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    frames = PARTS[part]
    table, arrays, other = (tmp_path / name for name in ("a.csv", "a.npz", "a.mcap"))
    for kind, target in (("csv", table), ("npz", arrays), ("foxglove", other)):
        assert main(["export", "--to", kind, str(run.path), *part, "-o", str(target)]) == 0
        assert f"{len(frames)} frames (episode" in capsys.readouterr().out
    lines = table.read_text().splitlines()[1:]
    assert [int(line.split(",")[0]) for line in lines] == list(frames)
    logged = [frame for frame in frames if frame < 60]
    with np.load(arrays) as made:
        assert made["frame"].tolist() == list(frames)
        assert made["qpos"].tobytes() == run.rows[frames.start : frames.stop, 1:2].tobytes()
        assert made["signal/reward/axis"].tolist() == logged
    found: dict[str, list[Any]] = {}
    with other.open("rb") as file:
        for _, channel, message in make_reader(file).iter_messages():
            found.setdefault(channel.topic, []).append(json.loads(message.data))
    assert [each["joint"]["shoulder"]["q"] for each in found["/signals"]] == [
        run.rows[frame, 1] for frame in frames
    ]
    assert [each["value"] for each in found["/signals/reward"]] == [1 / (1 + k) for k in logged]
    assert len(found.get("/log", ())) == (frames.start in (0, 40))


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (("--episode", "7"), "no frame of episode 7: it has 0 to 1"),
        (("--from", "5s"), "no frame at 5 s: the episode ends at 0.156 s"),
        (("--from", "0.04", "--until", "0.02"), "the end is to be behind the begin"),
    ],
)
def test_a_part_that_is_not_there_is_not_exported(
    run: PlainRun,
    tmp_path: Path,
    part: tuple[str, ...],
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    target = tmp_path / "part.csv"
    assert main(["export", "--to", "csv", str(run.path), *part, "-o", str(target)]) == 4
    assert said in capsys.readouterr().err
    assert not target.exists()


def test_progress_is_told_in_lines_where_nobody_sees_a_bar(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with progress_bar("exporting", every_s=0.0) as show:
        for done in (0.0, 0.256, 1.0):
            show(done)
    assert capsys.readouterr().err == "exporting: 0 %\nexporting: 26 %\n"
    with progress_bar("exporting") as show:
        show(0.5)
    assert capsys.readouterr().err == ""
