"""Files of every format version there was open identically forever."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recordings import WALL_TOLERANCE, same_block

from stroboscope.engine.files.manifest import FORMAT
from stroboscope.engine.files.reader import TrajectoryReader

_FOLDER = Path(__file__).with_name("golden")
_spec = importlib.util.spec_from_file_location("make_golden", _FOLDER / "make.py")
assert _spec is not None
assert _spec.loader is not None
make = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(make)


@pytest.mark.parametrize("version", range(1, FORMAT + 1))
@pytest.mark.parametrize("suffix", ["", "_not_closed"])
def test_a_golden_file_opens_as_it_always_did(version: int, suffix: str) -> None:
    expected = json.loads((_FOLDER / f"version_{version}.json").read_text(encoding="utf-8"))
    with TrajectoryReader(_FOLDER / f"version_{version}{suffix}.mcap") as reader:
        assert reader.complete == (not suffix)
        assert reader.damage == ()
        assert _of_version(make.contents(reader)) == expected


def _of_version(contents: dict[str, Any]) -> dict[str, Any]:
    """Return contents without the keys that files of version 1 have got since: none says more."""
    found: dict[str, Any] = json.loads(json.dumps(contents))
    for scene in found["manifest"]["scenes"]:
        assert scene.pop("callbacks") is None
    return found


def test_what_is_written_today_is_read_like_the_golden_file(tmp_path: Path) -> None:
    expected = json.loads((_FOLDER / f"version_{FORMAT}.json").read_text(encoding="utf-8"))
    make.write(tmp_path / "a.mcap").close()
    with TrajectoryReader(tmp_path / "a.mcap") as reader:
        written = _of_version(make.contents(reader))
    # Which wall times stand for those that were is the writer's choice, as far as they are kept:
    # they are compared with what was given to it.
    for scene, contents in written["scenes"].items():
        given = [block for block in make.blocks() if str(block.scene) == scene]
        old = expected["scenes"][scene]["blocks"]
        for block, was, golden in zip(contents["blocks"], given, old, strict=True):
            walls = np.array(block.pop("wall"))
            assert walls[0] == was.wall[0] == golden.pop("wall")[0]
            assert np.abs(walls - was.wall).max() <= WALL_TOLERANCE[was.kind]
    assert written == expected


def test_the_golden_file_holds_what_its_maker_says() -> None:
    with TrajectoryReader(_FOLDER / f"version_{FORMAT}.mcap") as reader:
        for scene in reader.scenes:
            written = [block for block in make.blocks() if block.scene == scene]
            read = [reader.block(scene, number) for number in range(len(reader.index(scene)))]
            assert len(read) == len(written)
            assert all(map(same_block, read, written))


def test_golden_files_are_small() -> None:
    assert sum(path.stat().st_size for path in _FOLDER.iterdir() if path.is_file()) < 100_000
