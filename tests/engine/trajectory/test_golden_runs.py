"""Real files of every format version open with the same numbers forever, and go on from there."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stroboscope.engine as physics
from stroboscope.engine.files.manifest import FORMAT

_FOLDER = Path(__file__).with_name("golden")
_spec = importlib.util.spec_from_file_location("make_golden_runs", _FOLDER / "make.py")
assert _spec is not None
assert _spec.loader is not None
make = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(make)

VERSIONS = range(1, FORMAT + 1)
NAMES = ("checkpoint", "history", "run_exact", "run_minimal", "state")


def golden(version: int, name: str) -> Path:
    return _FOLDER / f"version_{version}" / name


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", [each for each in NAMES if each != "state"])
def test_a_real_file_says_what_it_always_said(version: int, name: str) -> None:
    """Frames that are simulated again are the same, or say why not: on another processor, say."""
    file = f"{name}.mcap"
    expected = json.loads(golden(version, "contents.json").read_text(encoding="utf-8"))[file]
    found = json.loads(json.dumps(make.contents(golden(version, file))))
    notes = found.pop("notes")
    for at, (was, note) in enumerate(zip(expected.pop("notes"), notes, strict=True)):
        if note != was:
            assert note.startswith(("approximate", "not reproducible"))
            for one in (expected, found):
                one["qpos"][at] = one["times"][at] = None
    assert found == expected
    assert sum(note in ("", "verified") for note in notes) >= len(notes) // make.STEPS


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["run_exact", "run_minimal", "history"])
def test_a_real_run_goes_on_from_any_frame(version: int, name: str) -> None:
    with physics.load_trajectory(golden(version, f"{name}.mcap")) as trajectory:
        trajectory.seek(5)
        there = trajectory.frame(6)["qpos"]
        trajectory.scene.step()
        # To the last bit where it was recorded; elsewhere as near as processors are.
        np.testing.assert_allclose(trajectory.scene.qpos, there, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_real_checkpoint_brings_its_state_and_the_script_s(version: int) -> None:
    expected: dict[str, Any] = json.loads(
        golden(version, "contents.json").read_text(encoding="utf-8")
    )["checkpoint.mcap"]
    qpos = [float.fromhex(value) for value in expected["qpos"][0]]
    scene = physics.load_checkpoint(golden(version, "checkpoint.mcap"))
    assert scene.qpos.tolist() == qpos
    assert scene.model.actuator_gainprm[0, 0] == 30.0
    twin, counter = physics.load_scene(golden(version, "scene.strobe")), make.Counter()
    twin.register_state(
        "count", lambda: counter.count, lambda count: setattr(counter, "count", count)
    )
    twin.load_checkpoint(golden(version, "state.mcap"))
    assert twin.qpos.tolist() == qpos
    assert counter.count == make.STEPS
    for each in (scene, twin):
        each.step(nstep=5)
    assert twin.qpos.tolist() == scene.qpos.tolist()


def test_what_is_written_today_says_the_same(tmp_path: Path) -> None:
    make.write(tmp_path)
    expected = json.loads(golden(FORMAT, "contents.json").read_text(encoding="utf-8"))
    found = json.loads((tmp_path / "contents.json").read_text(encoding="utf-8"))
    assert found.keys() == expected.keys()
    for name, contents in found.items():
        for key in ("events", "episodes", "axes", "times", "ctrl", "signals"):
            if key != "signals":
                assert contents[key] == expected[name][key], (name, key)
        assert contents["signals"].keys() == expected[name]["signals"].keys()


def test_golden_runs_are_small() -> None:
    files = [path for path in _FOLDER.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert sum(path.stat().st_size for path in files) < 200_000 * FORMAT
