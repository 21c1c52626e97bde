"""How a recording is asked for: what makes no sense is refused before anything happens."""

from pathlib import Path
from typing import Any

import pytest

import stroboscope.engine as physics


def test_a_path_without_a_suffix_gets_one() -> None:
    assert physics.TrajectoryFile("runs/one").path == Path("runs/one.mcap")
    assert physics.TrajectoryFile("runs/one.log").part(3) == Path("runs/one-3.log")


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"mode": "lossy"}, ValueError, "mode must be one of 'exact', 'minimal', 'auto'"),
        ({"every": 0}, ValueError, "every"),
        ({"every": 1.5}, TypeError, "every"),
        ({"hz": -1}, ValueError, "hz"),
        ({"hz": float("nan")}, ValueError, "hz"),
        ({"save_on_stop": True}, ValueError, "save_on_stop needs keep_last=SECONDS"),
        ({"every": 2, "hz": 50}, ValueError, "give every or hz, not both"),
        ({"mode": "minimal", "every": 2}, ValueError, "needs the inputs of every step"),
        ({"chunk_size": 5000}, ValueError, "chunk_size"),
        ({"max_size": 100}, ValueError, "max_size"),
        ({"keep_last": 0}, ValueError, "keep_last"),
        ({"rotate": "no"}, TypeError, "rotate must be True or False"),
        ({"signals": "reward"}, TypeError, "signals must be a list"),
        ({"slow_disk": "hope"}, ValueError, "slow_disk must be one of 'wait', 'drop'"),
    ],
)
def test_what_makes_no_sense_is_refused(
    options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        physics.TrajectoryFile("run", **options)


def test_a_file_can_be_no_number() -> None:
    with pytest.raises(TypeError, match="filename must be the path"):
        physics.TrajectoryFile(7)  # type: ignore[arg-type]


def test_frames_per_second_are_steps_of_the_model() -> None:
    wanted = physics.TrajectoryFile("run", hz=60)
    assert (wanted.every_at(0.002), wanted.every_at(0.05)) == (8, 1)
