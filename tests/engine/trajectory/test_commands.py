"""Recorded runs from a terminal: what a person types, sees, and what a CI job gets back."""

import json
import math
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import mujoco
import pytest
from plain_recording import PlainRun, record_plain

import stroboscope.engine as physics
from stroboscope.app.main.cli import main
from stroboscope.engine.files.bundle import pack_archive
from stroboscope.engine.files.errors import FileFormatError
from stroboscope.engine.files.frames import FileEvent
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.files.scene_manifest import MANIFEST, SceneManifest
from stroboscope.engine.trajectory import commands
from stroboscope.engine.trajectory.trajectory import load_trajectory

MODEL = """
<mujoco>
  <option timestep="0.004"/>
  <worldbody>
    <body name="arm">
      <joint name="shoulder" axis="0 1 0" damping=".05"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
    </body>
  </worldbody>
  <actuator><position joint="shoulder" kp="8"/></actuator>
</mujoco>
"""


def _control(step: int, data: Any) -> None:
    data.ctrl[:] = math.sin(0.05 * step)


def _record(path: Path, **options: Any) -> PlainRun:
    model = mujoco.MjModel.from_xml_string(MODEL)
    return record_plain(path, model, steps=100, control=_control, resets=(40,), **options)


@pytest.fixture
def run(tmp_path: Path) -> PlainRun:
    """100 steps with a reset."""
    return _record(tmp_path / "run.mcap")


def test_info_says_what_is_in_it(run: PlainRun, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(run.path)]) == 0
    told = capsys.readouterr().out
    assert "Plain: 101 frames, 0.4 s simulated in steps of 0.004 s, exact" in told
    assert "  from t 0 s (step 0) to t 0.24 s (step 100)" in told
    assert "complete" in told
    assert "episode    episode 1, step 0: reset" in told


def test_info_for_programs_is_json(run: PlainRun, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--json", str(run.path)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["complete"] is True
    assert told["scenes"][0]["frames"] == 101
    assert [each["axis"] for each in told["events"]] == [0, 40]


def test_verify_ends_with_0_for_a_run_that_reproduces_and_1_for_one_that_does_not(
    run: PlainRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(run.path), "--jobs", "2"]) == 0
    assert "reproduces bit for bit" in capsys.readouterr().out

    def tamper(rows: Any) -> None:
        rows[70, 1] += 1e-9

    other = _record(tmp_path / "other.mcap", tamper=tamper)
    assert main(["verify", str(other.path)]) == 1
    assert "differs from step 70 on" in capsys.readouterr().out


def test_verify_finds_damage_that_no_frame_shows(
    run: PlainRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = bytearray(run.path.read_bytes())
    with TrajectoryReader(run.path) as reader:
        index = reader.index(0)
        behind = int(index.offset[0] + index.nbytes[0])
    data[behind + 20] ^= 1  # where other tools look for messages
    damaged = tmp_path / "damaged.mcap"
    damaged.write_bytes(data)
    assert main(["verify", str(damaged)]) == 2
    told = capsys.readouterr().out
    assert "DAMAGED at byte 0: the checksum of all data is wrong" in told
    assert "reproduces bit for bit" in told


def test_a_file_cut_off_is_said_to_be_and_repaired_into_a_whole_one(
    run: PlainRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "cut.mcap"
    cut.write_bytes(run.path.read_bytes()[:-3000])
    assert main(["info", str(cut)]) == 0
    told = capsys.readouterr().out
    assert "CUT OFF" in told
    assert f"stroboscope repair {cut}" in told
    assert main(["verify", str(cut)]) == 0
    told = capsys.readouterr().out
    assert "the file was cut off at byte " in told
    assert "DAMAGED" not in told
    assert main(["repair", str(cut)]) == 0
    told = capsys.readouterr().out
    assert "what would have followed is lost, and nobody knows how much" in told
    assert "what is whole:\n  Plain: all 101 frames, all 2 events\n" in told
    with load_trajectory(tmp_path / "cut.repaired.mcap") as trajectory:
        assert trajectory.complete
        assert trajectory.frame(50).row.tobytes() == run.rows[50].tobytes()


def test_some_frames_are_cut_into_a_file_of_their_own(run: PlainRun, tmp_path: Path) -> None:
    part = tmp_path / "part.mcap"
    assert main(["cut", str(run.path), "30", "60", "-o", str(part)]) == 0
    with load_trajectory(part) as trajectory:
        assert len(trajectory) == 30
        assert trajectory.frame(0).row.tobytes() == run.rows[30].tobytes()
        assert trajectory.frame(15).episode == 1
    assert main(["verify", str(part)]) == 0


def test_info_says_where_a_part_of_one_frame_begins(
    run: PlainRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part = tmp_path / "part.mcap"
    assert main(["cut", str(run.path), "30", "31", "-o", str(part)]) == 0
    capsys.readouterr()
    assert main(["info", str(part)]) == 0
    told = capsys.readouterr().out
    assert "Plain: 1 frame, " in told
    assert "from t 0.12 s (step 30) to t 0.12 s (step 30)" in told


def test_info_names_the_culprit_of_a_stop(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "flight.mcap"
    scene = physics.create_scene("Arm", MODEL)
    with scene.start_recording(physics.TrajectoryFile(path, keep_last=60, save_on_stop=True)):
        scene.step()
        scene.data.qvel[:] = math.nan
        scene.step()
    scene.destroy()
    with load_trajectory(path) as trajectory:
        stop = next(event for event in trajectory.events if event.kind == "stop")
    assert stop.data["culprit"]
    assert main(["info", str(path)]) == 0
    assert f"culprit: {stop.data['culprit']}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("part", "first", "behind"),
    [
        (("--from", "0.08s", "--to", "0.12s"), 20, 31),
        (("--from", "0.04", "--to", "0.2s", "--episode", "1"), 50, 91),
        (("--to", "0.02s"), 0, 6),
    ],
)
def test_a_part_is_cut_out_by_simulation_time(
    run: PlainRun, tmp_path: Path, part: tuple[str, ...], first: int, behind: int
) -> None:
    target = tmp_path / "part.mcap"
    assert main(["cut", str(run.path), *part, "-o", str(target)]) == 0
    with load_trajectory(target) as trajectory:
        assert trajectory.axes == (first, behind - 1)
        assert trajectory.frame(0).row.tobytes() == run.rows[first].tobytes()


@pytest.mark.parametrize(
    ("part", "why"),
    [
        (("18", "9999"), "'Plain' has 101 frames, 0 to 100"),
        (("30", "20"), "the end must come after the beginning"),
        (("30",), "two frame numbers"),
        (("30", "40", "--from", "0.1s"), "two frame numbers"),
        (("--from", "0.3s"), "no frame at 0.3 s: the episode ends at 0.156 s"),
    ],
)
def test_a_part_that_is_not_there_is_refused_with_what_there_is(
    run: PlainRun,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    part: tuple[str, ...],
    why: str,
) -> None:
    target = tmp_path / "part.mcap"
    assert main(["cut", str(run.path), *part, "-o", str(target)]) == 4
    assert why in capsys.readouterr().err
    assert not target.exists()


def test_times_are_of_the_episode_that_stopped_and_the_answer_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stop = FileEvent(kind="stop", axis=70, episode=1, physics_step=30, text="it fell")
    run = _record(tmp_path / "run.mcap", more_events=[stop])
    target = tmp_path / "part.mcap"
    part = ["cut", str(run.path), "--from", "0.04s", "--to", "0.08s", "-o", str(target)]
    assert main(part) == 0
    assert "part.mcap: frames 50 to 60 of 'Plain' (episode 1)" in capsys.readouterr().out
    assert main([*part, "--episode", "0"]) == 0
    assert "frames 10 to 20 of 'Plain' (episode 0)" in capsys.readouterr().out
    assert main(["cut", str(run.path), "30", "60", "-o", str(target)]) == 0
    assert "frames 30 to 59 of 'Plain' (episodes 0 to 1)" in capsys.readouterr().out
    assert main(["info", str(run.path)]) == 0
    assert "stop       episode 1, step 30: it fell" in capsys.readouterr().out


def test_export_lists_films_among_what_it_can_make(
    run: PlainRun, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["export", str(run.path), "--to", "avi"])
    assert "mp4" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["export", "--help"])
    assert "needs stroboscope[app]" in " ".join(capsys.readouterr().out.split())
    assert commands.main("export", [str(run.path), "--to", "mp4"]) == 4  # without the app's part
    assert "pip install 'stroboscope[app]'" in capsys.readouterr().err


def test_scenes_and_recorded_runs_are_told_apart_and_each_is_sent_to_its_own_function(
    run: PlainRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = physics.create_scene("Arm", MODEL)
    file = tmp_path / "arm.strobe"
    scene.export(file)
    scene.destroy()
    with pytest.raises(FileFormatError, match="use load_scene"):
        load_trajectory(file)
    assert main(["verify", str(file)]) == 4
    assert (
        "is a scene, no trajectory; use load_scene, or stroboscope open" in capsys.readouterr().err
    )
    with pytest.raises(FileFormatError, match="use load_trajectory or load_checkpoint"):
        physics.load_scene(run.path)


def test_info_says_what_is_in_a_scene_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "arms.strobe"
    scene = physics.create_scene("Arms", MODEL, n_envs=3)
    digest = scene.world.codec.digest.hex()
    scene.export(file)
    scene.destroy()
    assert main(["info", str(file)]) == 0
    told = capsys.readouterr().out
    assert "\nArms: " in told
    assert ", 3 environments\n" in told
    assert "  sizes: nq 1, nv 1, nu 1, na 0, nbody 2, njnt 1, ngeom 1" in told
    assert f"  model digest: {digest}" in told
    assert f"mujoco {mujoco.__version__}, format 1" in told
    with zipfile.ZipFile(file) as archive:
        size = archive.getinfo("model.mjb").file_size
    assert f"  model.mjb  {size:,} bytes  sha256 " in told
    assert main(["info", "--json", str(file)]) == 0
    read = json.loads(capsys.readouterr().out)
    assert (read["kind"], read["n_envs"], read["model_digest"]) == ("scene", 3, digest)


def test_info_of_a_scene_file_says_what_it_goes_on_without_and_what_was_logged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "arm.strobe"
    scene = physics.create_scene("Arm", MODEL)
    scene.log("height", 1.0)
    scene.step()
    mujoco.set_mjcb_control(lambda model, data: None)
    try:
        scene.export(file, allow_missing=["mjcb_control"])
    finally:
        mujoco.set_mjcb_control(None)
    scene.destroy()
    assert main(["info", str(file)]) == 0
    told = capsys.readouterr().out
    assert "MISSING, so it goes on differently: mjcb_control\n" in told
    assert "  channels: height" in told


def test_info_of_a_strangers_scene_file_is_short_and_obeys_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = SceneManifest(
        format=1, stroboscope="1", engine="mujoco", engine_version="3", name="\x1b[2J" * 999,
        origin="x" * 10_000, model_digest="d", members={f"m{i}": "s" for i in range(500)},
        channels={f"c{i}": ("v",) * 99 for i in range(999)}, missing=("y\n" * 9999,) * 99,
    )  # fmt: skip
    file = tmp_path / "odd.strobe"
    file.write_bytes(pack_archive({MANIFEST: msgspec.json.encode(manifest)}))
    assert main(["info", str(file)]) == 0
    told = capsys.readouterr().out
    assert "\x1b" not in told
    assert len(told) < 10_000
    assert "  m0  NOT IN THE FILE" in told
    assert "  +488 more: --json" in told
    file.write_bytes(file.read_bytes()[:-30])
    assert main(["info", str(file)]) == 4
    assert "odd.strobe: " in capsys.readouterr().err


def test_info_of_a_model_says_what_opens_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "arm.xml"
    file.write_text(MODEL)
    assert main(["info", str(file)]) == 4
    told = capsys.readouterr().err
    assert "is a model (MJCF), no recorded run and no scene" in told
    assert f"stroboscope open {file}" in told


def test_info_says_that_a_checkpoint_was_saved_without_its_scene(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "state.mcap"
    scene = physics.create_scene("Arm", MODEL)
    scene.save_checkpoint(path, with_scene=False)
    assert main(["info", str(path)]) == 0
    assert "without its scene: make the scene, then scene.load_check" in capsys.readouterr().out
    assert main(["info", "--json", str(path)]) == 0
    assert json.loads(capsys.readouterr().out)["scenes"][0]["carries_model"] is False
    scene.save_checkpoint(path)
    scene.destroy()
    assert main(["info", str(path)]) == 0
    assert "without its scene" not in capsys.readouterr().out


def test_info_says_how_a_file_of_a_flight_recorder_begins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "flight.mcap"
    scene = physics.create_scene("Arm", MODEL)
    with scene.start_recording(physics.TrajectoryFile(path, keep_last=60, save_on_stop=True)):
        scene.step()
        scene.data.qvel[:] = math.nan
        scene.step()
    scene.destroy()
    assert main(["info", str(path)]) == 0
    begins = [line for line in capsys.readouterr().out.splitlines() if " begin " in line]
    assert [line.partition(" begin ")[2].strip() for line in begins] == [
        "what was kept begins here"
    ]


def test_verify_claims_nothing_of_a_file_with_a_single_state(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = physics.create_scene("Arm", MODEL)
    scene.step()
    path = tmp_path / "state.mcap"
    scene.save_checkpoint(path, with_scene=False)
    assert main(["info", str(path)]) == 0
    size = f"{path.stat().st_size / 1e3:,.1f} kB"
    assert size in capsys.readouterr().out
    scene.save_checkpoint(path)
    scene.destroy()
    assert main(["verify", str(path)]) == 0
    told = capsys.readouterr().out
    assert "Arm: is one state, which no recorded step leads to" in told
    assert "bit for bit" not in told


def test_repair_says_of_a_whole_file_that_there_was_no_damage(
    run: PlainRun, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["repair", str(run.path)]) == 0
    told = capsys.readouterr().out
    assert "no damage was found" in told
    assert "has all of it:\n  Plain: all 101 frames, all 2 events\n" in told


def test_info_lists_the_events_of_a_flight_recorder_in_the_order_of_its_steps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = physics.create_scene("Arm", MODEL)
    recording = scene.start_recording(physics.TrajectoryFile(tmp_path / "run", keep_last=60))
    for number in range(3):
        for _ in range(10):
            scene.step()
        scene.log("event", f"at {number}")
        scene.reset()
    recording.stop()
    assert main(["info", "--events", str(recording.path)]) == 0
    told = [line.split() for line in capsys.readouterr().out.splitlines() if "  step " in line]
    assert [(int(words[1]), words[4]) for words in told] == [
        (0, "begin"), (10, "log"), (10, "episode"), (20, "log"), (20, "episode"), (30, "log"),
        (30, "episode"),
    ]  # fmt: skip


def test_a_repaired_file_is_not_said_to_be_complete(
    run: PlainRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with TrajectoryReader(run.path) as reader:
        index = reader.index(0)
        middle, frames = int(index.offset[1] + index.nbytes[1] // 2), int(index.count[1])
    data = bytearray(run.path.read_bytes())
    data[middle] ^= 1
    run.path.write_bytes(data)
    new = tmp_path / "new.mcap"
    assert main(["repair", str(run.path), "-o", str(new)]) == 0
    told = capsys.readouterr().out
    assert "of Plain (physics steps" in told
    assert f"{new} has what is whole:\n  Plain: {101 - frames} of 101 frames, all 2 events" in told
    assert main(["info", str(new)]) == 0
    told = capsys.readouterr().out
    assert f"closed, with 1 gap where something is lost (repaired from {run.path.name})" in told
    assert f"gap        lost, as they were damaged: {frames} frames" in told


def test_a_reader_of_the_output_that_goes_away_is_no_error(run: PlainRun) -> None:
    command = [sys.executable, "-m", "stroboscope.app.main.cli", "info", str(run.path)]
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_trajectory_says_what_it_is(run: PlainRun) -> None:
    with load_trajectory(run.path) as trajectory:
        assert repr(trajectory) == "<Trajectory run.mcap: 'Plain', 101 frames, complete>"


@pytest.mark.parametrize("command", ["info", "verify", "repair", "replay"])
def test_what_is_no_recording_is_refused_in_words(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = tmp_path / "notes.txt"
    wrong.write_text("nothing of ours")
    assert main([command, str(wrong)]) == 4
    told = capsys.readouterr().err
    assert "notes.txt: is no trajectory" in told
    assert main([command, str(tmp_path / "missing.mcap")]) == 4
    assert "missing.mcap" in capsys.readouterr().err
