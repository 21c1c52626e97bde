"""Commands for recorded runs do what the documents say, as they are written there."""

import csv
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import stroboscope.engine as physics
from stroboscope.engine.files.reader import TrajectoryReader

REPOSITORY = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "docs/recordings.md", "docs/files.md")
MODEL = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <light pos="0 0 3"/><camera name="side" pos="0 -2 1" xyaxes="1 0 0 0 .4 1"/>
    <body name="torso" pos="0 0 .6">
      <joint name="shoulder" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
    </body>
  </worldbody>
</mujoco>
"""
# What each command leaves, and prints.
MAKES = {
    "repair": "run.repaired.mcap",
    "cut": "fall.mcap",
    "--to csv": "run.csv",
    "--to npz": "run.npz",
    "--to foxglove": "run.foxglove.mcap",
    "--to mp4": "run.mp4",
}


def commands() -> list[object]:
    """Return every line that is a command about a recorded run, without what is said of it."""
    found: dict[str, str] = {}
    for page in PAGES:
        text = (REPOSITORY / page).read_text(encoding="utf-8")
        for line in re.findall(
            r"^    stroboscope ((?:info|verify|repair|cut|export) .*)$", text, re.M
        ):
            found.setdefault(line.partition("#")[0].strip(), page)
    return [pytest.param(line, id=f"{page}: {line}") for line, page in found.items()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with ``run.mcap``: 2,500 frames, and 5 s of them."""
    scene = physics.create_scene("Torso", MODEL)
    with scene.start_recording(tmp_path / "run.mcap"):
        scene.step(nstep=2500)
    physics.shutdown()
    return tmp_path


Run = Callable[[str], "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(stroboscope_command: Callable[..., Any], folder: Path, monkeypatch: Any) -> Run:
    """``run("info run.mcap")``: run a command in that folder."""
    monkeypatch.chdir(folder)
    return lambda line: stroboscope_command(*shlex.split(line))


def test_the_documents_show_every_command() -> None:
    shown = {param.values[0].split()[0] for param in commands()}  # type: ignore[attr-defined]
    assert shown == {"info", "verify", "repair", "cut", "export"}


@pytest.mark.parametrize("line", [each for each in commands() if "mp4" not in str(each)])
def test_a_command_for_recorded_runs_does_what_it_says(line: str, folder: Path, run: Run) -> None:
    done = run(line)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    made = next((name for words, name in MAKES.items() if words in line), None)
    assert {path.name for path in folder.iterdir()} == {"run.mcap"} | ({made} if made else set())
    if made is not None and made.endswith(".mcap") and "foxglove" not in made:
        with TrajectoryReader(folder / made) as reader:
            frames = reader.frame_count(0)
        if "1000 2000" in line:
            assert frames == 1000
        elif "--from 1.4s --to 2s" in line:
            assert frames == 301
        else:
            assert frames == 2501
    if made == "run.csv":
        with (folder / made).open(newline="", encoding="utf-8") as file:
            assert len(list(csv.reader(file))) == 2502


@pytest.mark.slow
@pytest.mark.parametrize("line", [each for each in commands() if "mp4" in str(each)])
def test_a_command_for_films_makes_one(line: str, folder: Path, run: Run) -> None:
    physics.shutdown()
    assert run("cut run.mcap 0 400 -o run2.mcap").returncode == 0
    (folder / "run2.mcap").replace(folder / "run.mcap")
    done = run(line)
    assert done.returncode == 0, done.stderr
    assert (folder / "run.mp4").read_bytes()[4:8] == b"ftyp"


def test_a_file_that_a_recording_leaves_has_the_exit_codes_of_the_table(
    folder: Path, run: Run
) -> None:
    text = (REPOSITORY / "docs" / "recordings.md").read_text(encoding="utf-8")
    told = {int(code): words for code, words in re.findall(r"^\| (\d) \| (.*?) \|$", text, re.M)}
    assert sorted(told) == [0, 1, 2, 3, 4]
    assert run("verify run.mcap").returncode == 0
    whole = (folder / "run.mcap").read_bytes()
    with TrajectoryReader(folder / "run.mcap") as reader:
        index = reader.index(0)
        middle = int(index.offset[2] + index.nbytes[2] // 2)
    (folder / "bad.mcap").write_bytes(
        whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    )
    damaged = run("verify bad.mcap")
    assert damaged.returncode == 2
    assert "DAMAGED" in damaged.stdout
    (folder / "cut.mcap").write_bytes(whole[:-3000])
    assert run("verify cut.mcap").returncode == 0
    assert run("verify missing.mcap").returncode == 4
