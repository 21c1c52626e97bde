"""Commands for files of many environments: what is alike is told once, and names say which."""

import math
from pathlib import Path

import pytest

import stroboscope.engine as physics
from stroboscope.app.main.cli import main
from stroboscope.engine.files.errors import FileError
from stroboscope.engine.outside.answers import Question
from stroboscope.engine.outside.compiler import CompilerProcess
from stroboscope.engine.runtime import current_runtime
from stroboscope.engine.trajectory.trajectory import load_trajectory

MODEL = """
<mujoco>
  <option timestep="0.004"/>
  <worldbody>
    <body><joint name="shoulder" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body>
  </worldbody>
  <actuator><position joint="shoulder" kp="8"/></actuator>
</mujoco>
"""


@pytest.fixture
def environments(tmp_path: Path) -> Path:
    """A recording of four environments, which differ in nothing but their states."""
    path = tmp_path / "many.mcap"
    scene = physics.create_scene("Arms", MODEL, n_envs=4)
    with scene.start_recording(path):
        for step in range(20):
            scene.ctrl[:, 0] = [math.sin(step + env) for env in range(4)]
            scene.step()
    scene.destroy()
    return path


def test_info_tells_of_environments_that_are_alike_together(
    environments: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["info", str(environments)]) == 0
    told = capsys.readouterr().out
    assert "Arms[0] to Arms[3] (4 scenes): 21 frames each, 0.08 s simulated" in told
    assert told.count("21 frames") == 1


def test_info_tells_in_one_line_of_environments_that_begin_alike(
    environments: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["info", str(environments)]) == 0
    told = capsys.readouterr().out
    assert "begin      Arms[0] to Arms[3] (4 scenes): recording begins\n" in told
    assert told.count("recording begins") == 1
    assert "more" not in told
    assert main(["info", "--events", str(environments)]) == 0
    assert capsys.readouterr().out.count("recording begins") == 4


def test_info_says_of_how_many_events_it_does_not_tell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "resets.mcap"
    scene = physics.create_scene("Arm", MODEL)
    with scene.start_recording(path):
        for _ in range(15):
            scene.step()
            scene.reset()
        scene.step()
    scene.destroy()
    with load_trajectory(path) as trajectory:
        count = len(trajectory.events)
    assert main(["info", str(path)]) == 0
    assert f"  +{count - 12} more: --events\n" in capsys.readouterr().out
    assert main(["info", "--events", str(path)]) == 0
    told = capsys.readouterr().out
    assert told.count("  step ") == count
    assert "--events" not in told


def test_info_tells_of_what_happened_to_some_environments_by_their_own_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "some.mcap"
    scene = physics.create_scene("Arms", MODEL, n_envs=6)
    with scene.start_recording(path):
        scene.step()
        scene.reset(envs_idx=[1, 2, 5])
        scene.step()
    scene.destroy()
    assert main(["info", str(path)]) == 0
    told = capsys.readouterr().out
    assert "Arms[0] to Arms[5] (6 scenes): recording begins" in told
    assert "episode    Arms[1] to Arms[2] (2 scenes): " in told
    assert "episode    Arms[5]: " in told


def test_verify_says_once_what_it_finds_of_many_environments(
    environments: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(environments)]) == 0
    told = capsys.readouterr().out
    assert told == (
        "Arms[0] to Arms[3] (4 scenes): reproduces bit for bit (20 of 21 frames compared)\n"
    )


def test_verify_has_the_model_of_many_environments_compiled_once_and_leaves_nothing_built(
    environments: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, ask = [], CompilerProcess.ask

    def counting(compiler: CompilerProcess, question: Question) -> int | None:
        asked.append(question)
        return ask(compiler, question)

    monkeypatch.setattr(CompilerProcess, "ask", counting)
    before = len(current_runtime().scenes)
    assert main(["verify", str(environments)]) == 0
    assert len(asked) == 1
    assert len(current_runtime().scenes) == before


def test_what_was_built_to_verify_is_built_again_when_it_is_needed(environments: Path) -> None:
    with load_trajectory(environments, scene="Arms[1]") as trajectory:
        found = trajectory.verify()
        trajectory.release()
        assert trajectory.verify() == found
        scene = trajectory.scene
        trajectory.release()  # somebody has it
        assert not scene.is_destroyed
        assert trajectory.scene is scene
        scene.destroy()


def test_verify_says_by_itself_what_it_finds_of_one_environment_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "one.mcap"
    scene = physics.create_scene("Arms", MODEL, n_envs=4)
    with scene.start_recording(path):
        for _ in range(10):
            scene.step()
        scene.reset(envs_idx=[1])
        scene.step()
    scene.destroy()
    assert main(["verify", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(": ")[0] for line in lines] == [
        "Arms[0]",
        "Arms[1]",
        "Arms[2] to Arms[3] (2 scenes)",
    ]


def test_the_name_of_many_environments_is_refused_where_one_is_meant(environments: Path) -> None:
    with pytest.raises(FileError, match="has 4 environments of the scene 'Arms'"):
        load_trajectory(environments, scene="Arms")
    with pytest.raises(FileError, match=r"name one of them, 'Arms\[0\]' to 'Arms\[3\]'"):
        load_trajectory(environments, scene="Arms")
    with load_trajectory(environments, scene="Arms[2]") as trajectory:
        assert trajectory.name == "Arms[2]"
    with load_trajectory(environments, scene=3) as trajectory:
        assert trajectory.name == "Arms[3]"


def test_a_single_environment_answers_to_the_name_of_its_scene(tmp_path: Path) -> None:
    path = tmp_path / "third.mcap"
    scene = physics.create_scene("Arms", MODEL, n_envs=4)
    with scene.start_recording(physics.TrajectoryFile(path, envs=[2])):
        scene.step()
    scene.destroy()
    with load_trajectory(path, scene="Arms") as trajectory:
        assert trajectory.name == "Arms[2]"


def test_a_wrong_name_is_answered_with_some_of_very_many(tmp_path: Path) -> None:
    path = tmp_path / "many.mcap"
    scene = physics.create_scene("Arms", MODEL, n_envs=40)
    with scene.start_recording(path):
        scene.step()
    scene.destroy()
    with pytest.raises(FileError, match=r"has no scene 'Foo'.*up to 'Arms\[39\]'") as told:
        load_trajectory(path, scene="Foo")
    assert len(str(told.value)) - len(str(path)) < 400
