"""A film of a recorded run, made without a window: what is in the file is what was recorded."""

import math
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from plain_recording import record_plain

from stroboscope.app.main import film_export

MODEL = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody>
    <light pos="0 0 3"/>
    <geom name="floor" type="plane" size="2 2 .1"/>
    <camera name="side" pos="0 -2 .6" xyaxes="1 0 0 0 0 1"/>
    <body name="arm" pos="0 0 .6">
      <joint name="shoulder" axis="0 1 0" damping=".05"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".05" rgba=".9 .2 .1 1"/>
    </body>
  </worldbody>
  <actuator><position joint="shoulder" kp="8"/></actuator>
</mujoco>
"""
WIDTH, HEIGHT = 160, 96


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """2 s of an arm that swings, with a reset after the first."""

    def control(step: int, data: Any) -> None:
        data.ctrl[:] = 1.5 * math.sin(0.1 * step)

    model = mujoco.MjModel.from_xml_string(MODEL)
    path = tmp_path_factory.mktemp("run") / "arm.mcap"
    record_plain(path, model, steps=200, control=control, resets=(100,))
    return path


def _command(path: Path, *more: str) -> list[str]:
    size = ("--size", f"{WIDTH}x{HEIGHT}")
    main = "import sys; from stroboscope.app.main.cli import main; sys.exit(main(sys.argv[1:]))"
    return [sys.executable, "-c", main, "export", str(path), "--to", "mp4", *size, *more]


def _export(path: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(_command(path, *more), check=False, capture_output=True, text=True)


def test_a_film_has_the_length_of_the_run_and_shows_it_moving(
    run: Path, tmp_path: Path, decode: Any
) -> None:
    film = tmp_path / "arm.mp4"
    done = _export(run, "--fps", "20", "--speed", "0.5", "-o", str(film), "--camera", "side")
    assert done.returncode == 0, done.stderr
    pictures = np.array(decode(film)[1])
    # 2 s at half the speed and 20 frames per second, with one more: both ends are in it.
    assert len(pictures) == 81
    assert "81 frames" in done.stdout
    assert pictures[0].std() > 10.0  # neither black nor of one colour
    moved = np.abs(np.diff(pictures.astype(int), axis=0)).max(axis=(1, 2, 3))
    assert np.count_nonzero(moved > 40) > 60
    # After the reset the arm stands where it stood in the beginning.
    apart = np.abs(pictures.astype(int) - pictures[0].astype(int)).mean(axis=(1, 2, 3))
    assert apart[40] < 0.5 * apart[30:40].min(), apart[30:46]


def test_a_run_is_found_without_its_suffix_and_no_display_is_no_failure_of_a_whole_film(
    run: Path, tmp_path: Path, decode: Any
) -> None:
    film = tmp_path / "arm.mp4"
    command = _command(run.with_suffix(""), "--fps", "5", "-o", str(film))
    # As machines without a screen have it; Qt would keep the display that is begun for it.
    without = {name: value for name, value in os.environ.items() if "DISPLAY" not in name}
    without["QT_QPA_PLATFORM"] = "offscreen"
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=without)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(decode(film)[1]) == 11


def test_a_film_of_a_part_shows_that_part(run: Path, tmp_path: Path, decode: Any) -> None:
    film = tmp_path / "part.mp4"
    part = ("--from", "0.25s", "--until", "0.75s", "--episode", "1")
    done = _export(run, "--fps", "20", *part, "-o", str(film), "--camera", "side")
    assert done.returncode == 0, done.stderr
    assert len(decode(film)[1]) == 11


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--camera", "top"), "no camera 'top'; it has 'side'"),
        pytest.param(("--scene", "Other"), "has no scene 'Other'", marks=pytest.mark.slow),
    ],
)
def test_what_the_file_does_not_have_is_refused_with_what_it_has(
    run: Path, tmp_path: Path, more: tuple[str, str], said: str
) -> None:
    done = _export(run, "-o", str(tmp_path / "arm.mp4"), *more)
    assert done.returncode == 4
    assert said in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--speed", "0"), "--speed must be above 0"),
        (("--size", "big"), "--size is 'big'; it must be like 1280x720"),
    ],
)
def test_what_makes_no_sense_is_refused_with_what_would(
    run: Path, tmp_path: Path, capsys: Any, more: tuple[str, str], said: str
) -> None:
    film = ["-o", str(tmp_path / "arm.mp4")]
    assert film_export.main([str(run), "--to", "mp4", *film, *more]) == 4
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_ctrl_c_leaves_no_half_film(run: Path, tmp_path: Path, wait_until: Any) -> None:
    film = tmp_path / "arm.mp4"
    # Slow enough that it is never done before it is told to end.
    process = subprocess.Popen(_command(run, "-o", str(film), "--speed", "0.0005"))
    try:
        wait_until(lambda: list(tmp_path.iterdir()))
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(60) == 130
        assert not list(tmp_path.iterdir())
    finally:
        process.kill()
        process.wait()
