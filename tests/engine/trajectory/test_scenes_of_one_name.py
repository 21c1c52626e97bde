"""Files that call several scenes the same: each is there, and has a name of its own."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rewritten_file import rewrite_file

import stroboscope.engine as physics
from stroboscope.app.main.cli import main
from stroboscope.engine.files.errors import FileError
from stroboscope.engine.files.frames import SceneRecord
from stroboscope.engine.trajectory.environment_frames import environments_in

MODEL = """
<mujoco>
  <worldbody>
    <body><joint axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body>
  </worldbody>
</mujoco>
"""
SHOW = """
import sys
from stroboscope.engine.trajectory.showing import show_trajectory
show_trajectory(sys.argv[1], launch=False, timeout_seconds=60.0)
"""


def _renamed(source: Path, target: Path, names: Sequence[str]) -> Path:
    """Write a file anew with other names of its scenes, as other writers may."""

    def renamed(record: SceneRecord) -> SceneRecord:
        return msgspec.structs.replace(record, name=names[record.index])

    return rewrite_file(source, target, record=renamed)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two scenes "cart" of 7 and 4 frames; two scenes "Arms" of 2 and 3 environments."""
    folder = tmp_path_factory.mktemp("alike")
    carts = [physics.create_scene("cart", MODEL) for _ in range(2)]
    with physics.start_recording(folder / "c", scenes=carts) as recording:
        carts[0].step(nstep=6)
        carts[1].step(nstep=3)
    many = [physics.create_scene("Arms", MODEL, n_envs=count) for count in (2, 3)]
    with physics.start_recording(folder / "a", scenes=many) as batches:
        for scene in many:
            scene.step(nstep=5)
    for each in (*carts, *many):
        each.destroy()
    return (
        _renamed(recording.path, folder / "carts.mcap", ["cart"] * 2),
        _renamed(batches.path, folder / "arms.mcap", ["Arms"] * 5),
    )


@pytest.fixture
def carts(files: tuple[Path, Path]) -> Path:
    """Two scenes of one name."""
    return files[0]


@pytest.fixture
def arms(files: tuple[Path, Path]) -> Path:
    """Two scenes of one name, of many environments each."""
    return files[1]


def test_each_of_them_is_a_scene_of_its_own_in_the_window(
    carts: Path, start_warm: Callable[..., Any]
) -> None:
    script = start_warm(SHOW, str(carts))
    with script.connect() as client:
        assert client.wait_until(
            lambda c: len([s for s in c.scenes() if c.history(s.scene_id)]) == 2, 60
        )
        ends = {s.name: client.history(s.scene_id).recording_end for s in client.scenes()}
        assert ends == {"cart": 6, "cart (2)": 3}
    code, _, errors = script.end()
    assert code == 0, errors


def test_each_of_them_has_a_name_by_which_it_is_opened(carts: Path, arms: Path) -> None:
    with physics.load_trajectory(carts) as first:
        assert {name: len(each) for name, each in first.others().items()} == {
            "cart": 7,
            "cart (2)": 4,
        }
        assert first.to_show() == {"cart": "cart", "cart (2)": "cart (2)"}
    for scene, frames in (("cart", 7), ("cart (2)", 4), (0, 7), (1, 4)):
        with physics.load_trajectory(carts, scene=scene) as one:
            assert len(one) == frames
    with physics.load_trajectory(arms) as first:
        others = first.others()
        assert list(others) == ["Arms[0]", "Arms[1]", "Arms (2)[0]", "Arms (2)[1]", "Arms (2)[2]"]
        assert first.to_show() == {"Arms": "Arms[0]", "Arms (2)": "Arms (2)[0]"}
        assert [each.name for each in environments_in(first)] == ["Arms[0]", "Arms[1]"]
        second = others["Arms (2)[1]"]
        assert [each.record.index for each in environments_in(second)] == [2, 3, 4]
    with pytest.raises(FileError, match=r"3 environments of the scene 'Arms \(2\)'"):
        physics.load_trajectory(arms, scene="Arms (2)")


@pytest.mark.parametrize(
    "names", [["A (2)", "A", "A"], ["A", "A", "A (2)"], ["A", "A (2)", "A"]], ids=str
)
def test_a_name_that_a_file_says_stays_with_the_scene_that_is_called_so(
    names: list[str], tmp_path: Path
) -> None:
    scenes = [physics.create_scene(name, MODEL) for name in "abc"]
    with physics.start_recording(tmp_path / "run", scenes=scenes) as recording:
        for scene in scenes:
            scene.step()
    odd = _renamed(recording.path, tmp_path / "odd.mcap", names)
    with physics.load_trajectory(odd) as trajectory:
        own = list(trajectory.others())
    expected = [name if name not in names[:place] else "A (3)" for place, name in enumerate(names)]
    assert own == expected


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("open", ["--wait", "0"]),
        ("verify", []),
        ("export", ["--to", "npz", "-o", "run.npz"]),
        ("cut", ["1", "3", "-o", "part.mcap"]),
    ],
)
def test_a_name_that_several_have_is_answered_with_how_each_is_named(
    command: str,
    more: list[str],
    carts: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    main([command, str(carts), *more, "--scene", "cart"])
    told = capsys.readouterr().err
    assert "2 scenes are called 'cart', the first of them is meant" in told
    assert "for --scene (0: 'cart', 1: 'cart (2)')" in told
    for scene in ("cart (2)", "0"):
        main([command, str(carts), *more, "--scene", scene])
        assert "are called" not in capsys.readouterr().err


def test_environments_of_scenes_of_one_name_are_told_apart(
    arms: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def exported(*words: str) -> tuple[str, str]:
        target = str(tmp_path / "run.npz")
        main(["export", str(arms), "--to", "npz", "-o", target, *words])
        told = capsys.readouterr()
        return told.out.rpartition(" of ")[2].strip(), told.err

    scene, note = exported("--scene", "Arms")
    assert scene == "'Arms[0]'"
    assert "--scene (0 to 1: 'Arms', 2 to 4: 'Arms (2)')" in note
    assert "one of 2 environments: another one with --env (0 to 1)" in note
    assert exported("--scene", "Arms (2)", "--env", "2") == ("'Arms (2)[2]'", "")
    assert "name one of them as well: 'Arms', 'Arms (2)'" in exported("--env", "1")[1]
    assert exported("--env", "2") == ("'Arms (2)[2]'", "")
