"""What becomes of frames that can't be had again where a recorded run becomes another file."""

import csv
import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from noted_run import SENSED, Run

import stroboscope.engine as physics
from stroboscope.engine.trajectory.commands import main
from stroboscope.engine.trajectory.export.foxglove import write_foxglove
from stroboscope.engine.trajectory.export.tables import write_arrays


@pytest.fixture
def unseen(tmp_path: Path) -> tuple[Run, Path]:
    """A minimal recording in which nobody has seen with which model steps were taken."""
    scene = physics.create_scene("sensed", SENSED)
    run, mass = Run(scene), scene.model.body_mass
    file = physics.TrajectoryFile(tmp_path / "run", mode="minimal")
    with scene.start_recording(file) as recording:
        run.step(10)
        mass[1] *= 2.0
        run.step(10)
        mass[1] /= 2.0
        run.step(10)
    return run, recording.path


def test_a_table_has_no_numbers_of_states_that_nobody_knows(
    unseen: tuple[Run, Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _, path = unseen
    with caplog.at_level(logging.WARNING):
        assert main("export", [str(path), "--to", "csv", "-o", str(tmp_path / "run.csv")]) == 0
    with (tmp_path / "run.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    name = next(each for each in rows[0] if each.startswith("qpos"))
    unknown = [at for at, row in enumerate(rows) if row[name] == "nan"]
    assert unknown == list(range(11, 30))
    assert all(row["frame"] == str(at) for at, row in enumerate(rows))
    told = caplog.records[-1].getMessage()
    assert "19 frames can't be had again, frame 11 the first (not reproducible" in told


def test_arrays_and_foxglove_have_none_of_them_either(
    unseen: tuple[Run, Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _, path = unseen
    with physics.load_trajectory(path) as trajectory, caplog.at_level(logging.WARNING):
        arrays = np.load(write_arrays(trajectory, tmp_path / "run.npz"))
        made = write_foxglove(trajectory, tmp_path / "other.mcap")
    assert np.flatnonzero(np.isnan(arrays["qpos"][:, 0])).tolist() == list(range(11, 30))
    assert np.isfinite(arrays["frame"]).all()
    signals = messages(made, "/signals")
    assert len(signals) == len(arrays["frame"]) - 19
    assert len(caplog.records) == 2


def messages(path: Path, topic: str) -> list[Any]:
    from mcap.reader import make_reader

    with path.open("rb") as file:
        return [json.loads(message.data) for *_, message in make_reader(file).iter_messages(topic)]
