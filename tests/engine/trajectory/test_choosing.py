"""Which scene of a file is opened and exported: the one that is meant, or that stopped."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stroboscope.engine as physics
from stroboscope.app.main.cli import main

MODEL = """
<mujoco>
  <worldbody>
    <body><joint name="shoulder" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body>
  </worldbody>
</mujoco>
"""
Made = tuple[Path, Path]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Two scenes, the second of which stopped; and four environments, the third of which did."""
    folder = tmp_path_factory.mktemp("stopped")
    scenes: list[Any] = [physics.create_scene(name, MODEL) for name in ("Left", "3")]
    with physics.start_recording(folder / "two", scenes=scenes) as recording:
        for scene in scenes:
            scene.step(nstep=5)
        scenes[1].data.qvel[:] = np.nan
        scenes[1].step()
    many = physics.create_scene("Arms", MODEL, n_envs=4)
    with many.start_recording(folder / "four") as batch:
        many.step(nstep=5)
        many.qvel[2] = np.nan
        many.step()
    for scene in (*scenes, many):
        scene.destroy()
    return recording.path, batch.path


@pytest.fixture
def two(files: Made) -> str:
    """Scenes "Left" and "3"; the second has stopped."""
    return str(files[0])


@pytest.fixture
def four(files: Made) -> str:
    """Four environments of "Arms"; number 2 has stopped."""
    return str(files[1])


def _exported(capsys: pytest.CaptureFixture[str], tmp_path: Path, *words: str) -> tuple[str, str]:
    """Export, and return which scene was, and what is said beside it."""
    target = str(tmp_path / "run.npz")
    code = main(["export", "--to", "npz", "-o", target, *words])
    told = capsys.readouterr()
    assert (code == 0) == bool(told.out), told.err
    return told.out.rpartition(" of ")[2].strip(), told.err


def test_the_scene_or_environment_that_stopped_is_taken_and_said_on_standard_error(
    two: str, four: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene, note = _exported(capsys, tmp_path, two)
    assert scene == "'3'"
    assert "this is '3', which stopped, one of 2 scenes: another one with --scene" in note
    scene, note = _exported(capsys, tmp_path, four)
    assert scene == "'Arms[2]'"
    assert "'Arms[2]', which stopped, one of 4 environments: another one with --env (0 to" in note
    scene, note = _exported(capsys, tmp_path, four, "--scene", "Arms")
    assert scene == "'Arms[2]'"
    assert "with --env" in note


@pytest.mark.parametrize(
    ("words", "scene"),
    [
        (["--scene", "Left"], "'Left'"),
        (["--scene", "0"], "'Left'"),
        (["--scene", "1"], "'3'"),
        (["--scene", "3"], "'3'"),
    ],
)
def test_a_scene_is_chosen_by_its_name_or_its_number(
    words: list[str],
    scene: str,
    two: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert _exported(capsys, tmp_path, two, *words) == (scene, "")


@pytest.mark.parametrize(
    "words",
    [
        ["--scene", "Arms[1]"],
        ["--scene", "1"],
        ["--env", "1"],
        ["--scene", "Arms", "--env", "1"],
        ["--scene", "Arms[1]", "--env", "1"],
    ],
)
def test_an_environment_is_chosen_by_its_number(
    words: list[str], four: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _exported(capsys, tmp_path, four, *words) == ("'Arms[1]'", "")


@pytest.mark.parametrize(
    ("which", "words", "complaint"),
    [
        ("two", ["--scene", "Right"], "has no scene 'Right'; it has 0: 'Left', 1: '3'"),
        ("two", ["--scene", "7"], "it has 0: 'Left', 1: '3'"),
        ("two", ["--env", "0"], "has no environment 0; it holds no scene of many, but 0: 'Left'"),
        ("four", ["--env", "4"], "has no environment 4; of 'Arms' it has 0 to 3"),
        ("four", ["--scene", "Arms[1]", "--env", "2"], "name the scene, or the environment, not"),
        ("four", ["--scene", "Legs", "--env", "2"], "has no scene 'Legs'; it has 0: 'Arms["),
    ],
)
@pytest.mark.parametrize("command", ["open", "replay", "verify", "export", "cut"])
def test_what_is_not_there_is_answered_with_what_there_is(
    command: str,
    which: str,
    words: list[str],
    complaint: str,
    two: str,
    four: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    more = {
        "open": ["--wait", "0"],
        "export": ["--to", "csv"],
        "cut": ["1", "3", "-o", "part.mcap"],
    }
    file = {"two": two, "four": four}[which]
    assert main([command, file, *more.get(command, []), *words]) in (1, 4)
    assert complaint in capsys.readouterr().err


def test_verify_takes_the_name_of_all_environments_for_all_of_them(
    four: str, two: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def verified(*words: str) -> list[str]:
        assert main(["verify", *words]) == 0
        lines = capsys.readouterr().out.splitlines()
        return [line.partition(": ")[0] for line in lines if "frames compared" in line]

    assert verified(four, "--scene", "Arms") == verified(four)
    assert verified(four, "--env", "3") == ["Arms[3]"]
    assert verified(two, "--scene", "0") == ["Left"]


@pytest.mark.parametrize(
    ("words", "frames"), [([], "3: 1 to 2"), (["--scene", "0"], "Left: 1 to 2")]
)
def test_frames_to_cut_are_those_of_the_scene_that_is_shown_or_chosen(
    words: list[str],
    frames: str,
    two: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["cut", two, "1", "3", *words, "-o", str(tmp_path / "part.mcap")]) == 0
    name, _, which = frames.partition(": ")
    told = capsys.readouterr().out
    assert f"part.mcap: frames {which} of {name!r} (episode 0)\n" in told
    assert "part.mcap: no frame of " in told  # the other one was not stepped meanwhile


def test_scenes_and_environments_of_what_is_no_recorded_run_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "arm.xml"
    model.write_text(MODEL)
    for words in (["--scene", "Arm"], ["--env=0"]):
        assert main(["open", *words, str(model)]) == 1
        assert "it is no recorded run, whose scenes and" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["open", "--env", "first", str(model)])
    assert "--env is 'first'; it must be the number" in capsys.readouterr().err
