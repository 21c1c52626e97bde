"""What is written under a name without a suffix is found again under the same name."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import stroboscope.engine as physics
from stroboscope.app.main.cli import main

MODEL = "<mujoco><worldbody><body><joint/><geom size='.1'/></body></worldbody></mujoco>"


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A scene that has taken three steps, in a folder of the test's own."""
    monkeypatch.chdir(tmp_path)
    scene = physics.create_scene("Arm", MODEL)
    scene.data.qvel[:] = 1.0
    scene.step(nstep=3)
    yield scene
    scene.destroy()


def _write(scene: Any, name: str) -> None:
    """Write a checkpoint, a recording and a scene under one name each."""
    scene.save_checkpoint(f"state {name}")
    with scene.start_recording(f"run {name}"):
        scene.step()
    scene.export(f"scene {name}")


READ: dict[str, Callable[[Any, str], object]] = {
    "load_checkpoint": lambda _, name: physics.load_checkpoint(f"state {name}").destroy(),
    "scene.load_checkpoint": lambda scene, name: scene.load_checkpoint(f"state {name}"),
    "load_trajectory": lambda _, name: physics.load_trajectory(f"run {name}").close(),
    "load_scene": lambda _, name: physics.load_scene(f"scene {name}").destroy(),
    "Scene.load": lambda _, name: physics.Scene.load(f"scene {name}").destroy(),
}


def test_every_reader_finds_what_its_writer_has_written(
    scene: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _write(scene, "a")
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "run a.mcap",
        "scene a.strobe",
        "state a.mcap",
    ]
    for read in READ.values():
        read(scene, "a")
    for name in ("state a", "run a", "scene a"):
        assert main(["info", name]) == 0
    assert main(["verify", "run a"]) == 0
    assert "reproduces" in capsys.readouterr().out


def test_commands_write_names_without_a_suffix_as_python_does(scene: Any, tmp_path: Path) -> None:
    _write(scene, "a")
    assert main(["cut", "run a", "0", "1", "-o", "part"]) == 0
    assert main(["repair", "run a", "-o", "again"]) == 0
    assert (tmp_path / "part.mcap").is_file()
    assert (tmp_path / "again.mcap").is_file()
    for name in ("part", "again"):
        assert main(["verify", name]) == 0
        assert not (tmp_path / name).exists()


def test_neither_a_suffix_of_ones_own_nor_a_folder_beside_it_is_in_the_way(
    scene: Any, tmp_path: Path
) -> None:
    for name in ("state b", "run b", "scene b"):
        (tmp_path / name).mkdir()
    for name in ("b", "0.5"):
        _write(scene, name)
        for read in READ.values():
            read(scene, name)
    assert (tmp_path / "scene 0.5").is_file()


def test_a_file_of_that_very_name_comes_first(scene: Any, tmp_path: Path) -> None:
    written = scene.save_checkpoint("c")
    scene.step()
    scene.save_checkpoint("other").rename(tmp_path / "c")
    restored = physics.load_checkpoint("c")
    assert restored.step_count == 2
    restored.destroy()
    restored = physics.load_checkpoint(written)
    assert restored.step_count == 1
    restored.destroy()


def test_a_kind_that_is_loaded_otherwise_is_named_also_without_its_suffix(scene: Any) -> None:
    scene.save_checkpoint("d")
    with pytest.raises(physics.EngineError, match=r"d\.mcap: it is a recorded run or a checkpoint"):
        physics.load_scene("d")
    with pytest.raises(physics.EngineError, match="nothing: "):
        physics.load_scene("nothing")
