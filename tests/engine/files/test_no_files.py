"""What is no file, and names that none can have: refused before anything is replaced."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import stroboscope.engine as physics
from stroboscope.engine.files.errors import FileWriteError
from stroboscope.engine.trajectory.commands import main

MODEL = "<mujoco><worldbody><body><joint/><geom size='.1'/></body></worldbody></mujoco>"
Write = Callable[[physics.Scene, Path], object]
WRITES: dict[str, Write] = {
    "recording": lambda scene, path: scene.start_recording(path),
    "history": lambda scene, path: scene.save_history(path),
    "checkpoint": lambda scene, path: scene.save_checkpoint(path),
    "flight recorder": lambda scene, path: scene.start_recording(
        physics.TrajectoryFile(path, keep_last=1.0)
    ),
    "scene": lambda scene, path: scene.export(path),
}


@pytest.fixture
def scene() -> physics.Scene:
    """One that has taken a step."""
    made = physics.create_scene("small", MODEL)
    made.step()
    return made


@pytest.fixture
def run(scene: physics.Scene, tmp_path: Path) -> Path:
    """A recorded run of four frames."""
    with scene.start_recording(tmp_path / "run.mcap") as recording:
        for _ in range(3):
            scene.step()
    return recording.path


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
@pytest.mark.parametrize("what", WRITES)
@pytest.mark.parametrize("is_link", [False, True])
def test_a_pipe_is_not_replaced_by_a_file(
    scene: physics.Scene, tmp_path: Path, what: str, is_link: bool
) -> None:
    pipe = tmp_path / "pipe.mcap"
    os.mkfifo(pipe)
    path = pipe
    if is_link:
        path = tmp_path / "link.mcap"
        path.symlink_to(pipe)
    with pytest.raises(FileWriteError, match="it is a pipe or a device"):
        WRITES[what](scene, path)
    assert pipe.is_fifo()
    assert path.is_symlink() == is_link


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
@pytest.mark.parametrize(
    "command",
    [["cut", "0", "2"], ["repair"], ["export", "--to", "csv"], ["export", "--to", "npz"],
     ["export", "--to", "foxglove"]],
)  # fmt: skip
def test_no_command_replaces_a_pipe(
    run: Path, tmp_path: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert main(command[0], [str(run), *command[1:], "-o", str(pipe)]) == 4
    assert "it is a pipe or a device" in capsys.readouterr().err
    assert pipe.is_fifo()


@pytest.mark.parametrize("name", [".", "..", "/"])
@pytest.mark.parametrize("what", WRITES)
def test_a_folder_is_no_name_of_a_file(
    scene: physics.Scene, tmp_path: Path, what: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((FileWriteError, ValueError), match=r"name a file"):
        WRITES[what](scene, Path(name))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["repair", "info", "verify", "export --to csv", "cut 0 1 -o x"])
@pytest.mark.parametrize("name", [".", "/", ""])
def test_a_folder_is_refused_in_words_by_each_command(
    command: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    first, *others = command.split()
    assert main(first, [name, *others]) == 4
    told = capsys.readouterr().err
    assert "folder" in told
    assert "PosixPath" not in told


@pytest.mark.parametrize("what", WRITES)
def test_a_name_that_is_too_long_is_refused_in_words(
    scene: physics.Scene, tmp_path: Path, what: str
) -> None:
    with pytest.raises(FileWriteError, match="take a shorter name"):
        WRITES[what](scene, tmp_path / ("a" * 300))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("what", [what for what in WRITES if what != "flight recorder"])
@pytest.mark.parametrize("letter", ["a", "é"])
def test_a_name_as_long_as_can_be_is_one(
    scene: physics.Scene, tmp_path: Path, what: str, letter: str
) -> None:
    path = tmp_path / (letter * (248 // len(letter.encode())) + ".mcap")
    for _ in range(2):  # the second replaces the first
        made = WRITES[what](scene, path)
        if isinstance(made, physics.Recording):
            made.stop()
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
