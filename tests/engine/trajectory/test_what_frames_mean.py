"""Frame i is what it was, whatever was left out, reset, restored and continued elsewhere."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.app.main.cli import main

Row = NDArray[np.float64]
FULL = mujoco.mjtState.mjSTATE_INTEGRATION
MODEL = """
<mujoco>
  <option timestep="0.004"/>
  <worldbody>
    <geom name="floor" type="plane" size="2 2 .1"/>
    <body name="arm" pos="0 0 .6">
      <joint name="shoulder" axis="0 1 0" damping=".05"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
    </body>
    <body name="ball" pos=".4 .05 .2"><freejoint/><geom size=".06"/></body>
  </worldbody>
  <actuator><position joint="shoulder" kp="8"/></actuator>
</mujoco>
"""


def row_of(scene: physics.Scene) -> Row:
    row = np.empty(mujoco.mj_stateSize(scene.model, FULL))
    mujoco.mj_getState(scene.model, scene.data, row, FULL)
    return row


@dataclasses.dataclass
class Before:
    """What a scene was before one of its steps."""

    row: Row
    episode: int
    physics_step: int
    step_count: int


class Noted:
    """Steps a scene and notes, in the order of steps, what it was before each of them."""

    def __init__(self, scene: physics.Scene) -> None:
        self.scene = scene
        self.episode = 0
        self.steps: list[Before] = []

    def note(self) -> None:
        scene = self.scene
        self.steps.append(
            Before(row_of(scene), self.episode, scene.physics_step_count, scene.step_count)
        )

    def step(self, count: int, *, nstep: int = 1) -> None:
        for _ in range(count):
            self.scene.ctrl[:] = np.sin(0.07 * len(self.steps))
            self.note()
            self.scene.step(nstep=nstep)

    def expect(self, trajectory: physics.Trajectory, axes: list[int]) -> None:
        """Check all frames of a file whose frames are those before these steps."""
        assert len(trajectory) == len(axes)
        for index, axis in enumerate(axes):
            frame, was = trajectory.frame(index), self.steps[axis]
            assert frame.row.tobytes() == was.row.tobytes(), axis
            assert (frame.axis, trajectory.axis(index)) == (axis, axis)
            assert trajectory.time(index) == frame.time == was.row[0]
            found = (frame.episode, frame.physics_step, frame.step_count)
            assert found == (was.episode, was.physics_step, was.step_count), axis
            back = trajectory.frame(index - len(axes))
            assert (back.index, back.axis) == (index, axis)


def eventful(scene: physics.Scene) -> tuple[Noted, list[int]]:
    """Step, reset, restore, edit and continue elsewhere; return also where stretches begin."""
    noted, begins = Noted(scene), [0]
    noted.step(33)
    checkpoint = scene.checkpoint()
    noted.step(20)

    def begin(*, episode: bool) -> None:
        begins.append(len(noted.steps))
        noted.episode += episode

    scene.reset()
    begin(episode=True)
    noted.step(25)
    scene.restore(checkpoint)
    begin(episode=False)
    noted.step(18)
    scene.data.qpos[0] += 0.1
    begin(episode=False)
    noted.step(12)
    mujoco.mj_resetData(scene.model, scene.data)
    begin(episode=True)
    noted.step(40)
    noted.note()
    return noted, begins


def kept(begins: list[int], last: int, every: int) -> list[int]:
    """Return the steps that are recorded: each beginning, each n-th behind it, and the end."""
    ends = [*begins[1:], last]
    axes = [a for begin, end in zip(begins, ends, strict=True) for a in range(begin, end, every)]
    return [*axes, last]


@pytest.mark.parametrize(
    ("options", "every"),
    [
        ({}, 1),
        ({"mode": "minimal"}, 1),
        ({"chunk_size": 5}, 1),
        ({"every": 7}, 7),
        ({"every": 50}, 50),
        ({"hz": 50}, 5),
        ({"hz": 1e9}, 1),
    ],
)
def test_frames_are_what_they_were_with_few_of_them_resets_restores_and_edits(
    tmp_path: Path, options: dict[str, Any], every: int
) -> None:
    scene = physics.create_scene("Arm", MODEL)
    scene.start_recording(physics.TrajectoryFile(tmp_path / "run", **options))
    noted, begins = eventful(scene)
    with physics.load_trajectory(scene.stop_recording()) as trajectory:
        noted.expect(trajectory, kept(begins, len(noted.steps) - 1, every))
        marked = [event.axis for event in trajectory.events]
        assert marked == begins


@pytest.mark.parametrize("options", [{}, {"mode": "minimal"}, {"every": 7}, {"hz": 50}])
def test_the_scene_goes_on_bit_for_bit_from_any_of_them(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    scene = physics.create_scene("Arm", MODEL)
    scene.start_recording(physics.TrajectoryFile(tmp_path / "run", **options))
    noted, begins = eventful(scene)
    last = len(noted.steps) - 1
    path = scene.stop_recording()
    scene.destroy()
    with physics.load_trajectory(path) as trajectory:
        for index in range(-1, -len(trajectory), -3):
            frame = trajectory.seek(index)
            twin = trajectory.scene
            assert row_of(twin).tobytes() == noted.steps[frame.axis].row.tobytes()
            assert (twin.physics_step_count, twin.step_count) == (
                frame.physics_step,
                frame.step_count,
            )
            # To the end of its stretch, with the inputs of the script.
            end = min([begin for begin in begins if begin > frame.axis], default=last)
            for axis in range(frame.axis, end):
                twin.ctrl[:] = np.sin(0.07 * axis)
                assert row_of(twin).tobytes() == noted.steps[axis].row.tobytes(), axis
                twin.step()


@pytest.mark.parametrize("options", [{}, {"every": 7}])
def test_a_continued_past_is_another_stretch_of_the_same_file(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    scene = physics.create_scene("Arm", MODEL)
    scene.keep_history()
    scene.start_recording(physics.TrajectoryFile(tmp_path / "run", **options))
    noted = Noted(scene)
    noted.step(40)
    scene.link.backend.time_machine().continue_from(20)
    noted.step(40)
    noted.note()
    with physics.load_trajectory(scene.stop_recording()) as trajectory:
        every = options.get("every", 1)
        noted.expect(trajectory, kept([0, 40], 80, every))
        branch = next(event for event in trajectory.events if event.kind == "branch")
        assert (branch.axis, branch.parent_axis, branch.physics_step) == (40, 20, 20)
        if every == 1:
            assert trajectory.frame(40).qpos.tolist() == trajectory.frame(20).qpos.tolist()


def test_a_time_is_found_in_each_episode_of_few_frames(tmp_path: Path) -> None:
    scene = physics.create_scene("Arm", MODEL)
    scene.start_recording(physics.TrajectoryFile(tmp_path / "run", every=7))
    noted = Noted(scene)
    noted.step(50)
    scene.reset()
    noted.episode += 1
    noted.step(50)
    with physics.load_trajectory(scene.stop_recording()) as trajectory:
        for episode in (0, 1):
            for step in (0, 6, 7, 8, 48, 49):
                frame = trajectory.seek(time=step * 0.004, episode=episode)
                assert (frame.episode, frame.physics_step) == (episode, step // 7 * 7)
                assert row_of(trajectory.scene).tobytes() == frame.row.tobytes()
        assert main(["verify", str(trajectory.path)]) == 3


def test_verify_says_from_a_terminal_why_it_can_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = physics.create_scene("Arm", MODEL)
    with scene.start_recording(physics.TrajectoryFile(tmp_path / "run", every=10)) as recording:
        scene.step(nstep=30)
    assert main(["verify", str(recording.path)]) == 3
    assert "can't be verified" in capsys.readouterr().out


def test_verify_says_before_which_steps_the_script_has_changed_the_state(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = physics.create_scene("Arm", MODEL)
    with scene.start_recording(tmp_path / "run") as recording:
        scene.step(nstep=137)
        scene.data.qvel[0] += 0.5
        scene.step(nstep=20)
        scene.data.qvel[0] += 0.5
        scene.step(nstep=20)
    assert main(["verify", str(recording.path)]) == 0
    told = capsys.readouterr().out
    assert "reproduces bit for bit" in told
    assert "the state was changed from outside before step 137, 157" in told


# --- more than one


def test_two_scenes_of_one_file_are_had_by_name_and_each_goes_on_in_another_process(
    tmp_path: Path, start_warm: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    scenes = [physics.create_scene("Arm", MODEL) for _ in range(2)]
    scenes.append(physics.create_scene("Other", MODEL.replace('size=".06"', 'size=".07"')))
    assert scenes[1].name == "Arm (2)"
    noted = [Noted(scene) for scene in scenes]
    noted[1].step(5)
    with physics.start_recording(tmp_path / "all", scenes=scenes[:2]) as recording:
        noted[0].step(60)
        noted[1].step(30)
        scenes[1].reset()
        noted[1].episode += 1
        noted[1].step(30)
        noted[2].step(10)
    for each in noted:
        each.note()
    ends = [row_of(scene) for scene in scenes]
    with physics.load_trajectory(recording.path) as first:
        assert list(first.others()) == ["Arm", "Arm (2)"]
        noted[0].expect(first, list(range(61)))
        second = first.others()["Arm (2)"]
        noted[1].expect(second, list(range(5, 66)))
        assert second.time(30) == 0.0
        assert first.time(30) == pytest.approx(30 * 0.004)
    for scene, end in ((0, ends[0]), ("Arm (2)", ends[1])):
        with physics.load_trajectory(recording.path, scene=scene) as one:
            assert one.frame(-1).row.tobytes() == end.tobytes()
    assert main(["verify", str(recording.path)]) == 0
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    code, told, errors = start_warm(RESUME_ALL, str(recording.path)).end()
    assert code == 0, errors
    assert told.split() == [end.tobytes().hex() for end in ends[:2]]


RESUME_ALL = """
import sys
import mujoco
import numpy as np
import stroboscope.engine as physics

full = mujoco.mjtState.mjSTATE_INTEGRATION
for name, begin in (("Arm", 0), ("Arm (2)", 5)):
    with physics.load_trajectory(sys.argv[1], scene=name) as trajectory:
        trajectory.seek(40)
        scene = trajectory.scene
        for axis in range(begin + 40, begin + 60):
            scene.ctrl[:] = np.sin(0.07 * axis)
            scene.step()
        row = np.empty(mujoco.mj_stateSize(scene.model, full))
        mujoco.mj_getState(scene.model, scene.data, row, full)
        print(row.tobytes().hex())
"""


def test_each_environment_has_times_of_its_own(tmp_path: Path) -> None:
    pytest.importorskip("mujoco.batch")
    scene = physics.create_scene("Many", MODEL, n_envs=3)
    with scene.start_recording(tmp_path / "many") as recording:
        for _ in range(20):
            scene.step()
        scene.reset(envs_idx=[1])
        for _ in range(10):
            scene.step()
    with physics.load_trajectory(recording.path) as first:
        all_of_them = first.others()
        ends = {name: one.time(-1) for name, one in all_of_them.items()}
        assert ends == pytest.approx({"Many[0]": 0.12, "Many[1]": 0.04, "Many[2]": 0.12})
        assert all_of_them["Many[1]"].frame(20).episode == 1
        assert all_of_them["Many[1]"].time(20) == 0.0
        assert all_of_them["Many[2]"].frame(20).episode == 0


# --- blocks that end


class GoneError(Exception):
    """What the script of a test dies of."""


@pytest.mark.parametrize("several", [False, True])
def test_a_block_that_an_exception_leaves_leaves_a_complete_file(
    tmp_path: Path, several: bool
) -> None:
    scene = physics.create_scene("Arm", MODEL)
    path = tmp_path / "run"
    recording = (
        physics.start_recording(path, scenes=[scene]) if several else scene.start_recording(path)
    )

    def run() -> None:
        with recording:
            scene.step(nstep=30)
            raise GoneError

    with pytest.raises(GoneError):
        run()
    assert not recording.is_recording
    with physics.load_trajectory(recording.path) as trajectory:
        assert trajectory.complete
        assert len(trajectory) == 31
        (stop,) = [event for event in trajectory.events if event.kind == "stop"]
        assert "GoneError" in stop.text
    scene.step()
    with pytest.raises(physics.RecordingError, match="is not recorded"):
        scene.stop_recording()


def test_a_trajectory_that_a_block_has_closed_is_closed_and_its_scene_goes_on(
    tmp_path: Path,
) -> None:
    scene = physics.create_scene("Arm", MODEL)
    with scene.start_recording(tmp_path / "run") as recording:
        scene.step(nstep=30)
    with physics.load_trajectory(recording.path) as trajectory:
        trajectory.seek(10)
        twin = trajectory.scene
    twin.step(nstep=20)
    assert twin.data.qpos.tobytes() == scene.data.qpos.tobytes()
    with pytest.raises(physics.EngineError, match="closed"):
        trajectory.frame(3)


# --- info


def test_info_says_how_much_was_simulated_between_few_frames(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = physics.create_scene("Arm", MODEL)
    with scene.start_recording(physics.TrajectoryFile(tmp_path / "run", every=10)) as recording:
        scene.step(nstep=35)
        scene.reset()
        scene.step(nstep=35)
    assert main(["info", str(recording.path)]) == 0
    assert "0.28 s simulated" in capsys.readouterr().out


def test_info_names_each_environment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("mujoco.batch")
    scene = physics.create_scene("Many", MODEL, n_envs=3)
    with scene.start_recording(tmp_path / "many") as recording:
        scene.step()
    assert main(["info", str(recording.path)]) == 0
    told = capsys.readouterr().out
    assert "\nMany[0] to Many[2] (3 scenes): 2 frames each" in told
    assert " Many[0] to Many[2] (3 scenes): recording begins\n" in told
    assert main(["info", "--events", str(recording.path)]) == 0
    told = capsys.readouterr().out
    for number in range(3):
        assert f" Many[{number}]: recording begins\n" in told


@pytest.mark.parametrize(("time", "simulated"), [(None, 0.24), (7.0, 0.18), (np.nan, 0.18)])
def test_info_says_how_much_was_simulated_where_timesteps_or_time_itself_change(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    time: float | None,
    simulated: float,
) -> None:
    scene = physics.create_scene("Arm", MODEL)
    with scene.start_recording(tmp_path / "run") as recording:
        scene.step(nstep=30)
        scene.model.opt.timestep = 0.01
        scene.step(nstep=10)
        scene.model.opt.timestep = 0.004
        if time is not None:
            # From here on nothing says how long steps took: they count as the model's own.
            scene.data.time = time
        scene.step(nstep=5)
    assert main(["info", "--json", str(recording.path)]) == 0
    told = json.loads(capsys.readouterr().out)["scenes"][0]
    assert told["simulated"] == pytest.approx(simulated)
    assert told["frames"] == 46


def test_info_names_the_environment_that_stopped_among_many(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("mujoco.batch")
    scene = physics.create_scene("Many", MODEL, n_envs=20)
    with scene.start_recording(tmp_path / "many") as recording:
        scene.qvel[17, 0] = np.nan
        scene.step()
    assert main(["info", str(recording.path)]) == 0
    told = capsys.readouterr().out
    (line,) = (each for each in told.splitlines() if " stop " in each)
    assert " stop       Many[17]: environment 17: qvel[0]" in line
    assert "Many[0] to Many[19] (20 scenes): recording begins" in told
    assert "each by itself: --events" in told


def test_repair_and_cut_name_each_environment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("mujoco.batch")
    scene = physics.create_scene("Many", MODEL, n_envs=2)
    with scene.start_recording(tmp_path / "many") as recording:
        for _ in range(4):
            scene.step()
    path = str(recording.path)
    assert main(["repair", path, "-o", str(tmp_path / "whole.mcap")]) == 0
    told = capsys.readouterr().out
    assert "Many[0]: all 5 frames" in told
    assert "Many[1]: all 5 frames" in told
    assert main(["cut", path, "1", "3", "-o", str(tmp_path / "part.mcap")]) == 0
    told = capsys.readouterr().out
    assert "of 'Many[0]'" in told
    assert "of 'Many[1]'" in told
    assert main(["cut", path, "1", "30", "-o", str(tmp_path / "more.mcap")]) != 0
    assert "'Many[0]' has 5 frames" in capsys.readouterr().err
