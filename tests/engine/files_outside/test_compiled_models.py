"""Compiled models from strangers: MuJoCo believes much of what they say, so a child tries them."""

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import mujoco
import pytest

import stroboscope.engine as physics
from stroboscope.engine.mjb import mjb_of
from stroboscope.engine.mujoco_adapter import load_mujoco
from stroboscope.engine.outside.guard import guarded_model

FILES = 60
RUNNER = Path(__file__).with_name("confined_builds.py")


@pytest.fixture(autouse=True)
def warm_compilers() -> None:
    """Start them as ever: that is what this is about."""


@pytest.fixture
def compiled(model_path: Callable[[str], Path]) -> bytes:
    """The humanoid's MJB."""
    model = mujoco.MjModel.from_xml_path(str(model_path("humanoid")))
    return bytes(mjb_of(model, adapter=load_mujoco()))


def test_mutated_models_are_built_refused_or_end_the_child_and_nothing_else(
    compiled: bytes, tmp_path: Path
) -> None:
    rng = random.Random(1)
    files = []
    for number in range(FILES):
        content = bytearray(compiled)
        for _ in range(rng.choice([1, 1, 2, 5])):
            # Sizes and addresses stand at the beginning.
            at = rng.randrange(32, len(content) if rng.random() < 0.6 else 3000)
            content[at] = rng.choice([0, 255, content[at] ^ (1 << rng.randrange(8))])
        files.append(tmp_path / f"{number}.mjb")
        files[-1].write_bytes(content)
    done = subprocess.run(
        [sys.executable, str(RUNNER), "system"],
        input="\n".join(map(str, files)), capture_output=True, text=True, timeout=110, check=True,
    )  # fmt: skip
    outcomes = [json.loads(line)[1] for line in done.stdout.splitlines()]
    assert len(outcomes) == FILES
    assert set(outcomes) <= {"built", "refused", "died", "unconfined"}


def test_a_child_that_crashes_is_told_as_the_file_s_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stroboscope.engine.outside import guard

    crash = (sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    monkeypatch.setattr(guard, "_COMMAND", crash)
    (tmp_path / "model.xml").write_text("<mujoco/>")
    with pytest.raises(
        physics.FileFormatError, match=r"model\.xml: MuJoCo crashed on it \(SIGSEGV"
    ):
        guarded_model(tmp_path / "model.xml")


@pytest.mark.parametrize(
    "answer",
    [
        "''",
        "'nonsense' * 9",
        "M",
        "M + '\\xff' * 8",
        "M + '\\x10' + '\\0' * 7 + '{' * 16",
        "M + '\\x02' + '\\0' * 7 + '{}'",
        "M + chr(len(B)) + '\\0' * 7 + B",
    ],
)
def test_an_answer_that_makes_no_sense_is_not_believed(
    answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stroboscope.engine.outside import guard

    code = (
        "import sys; from stroboscope.engine.outside.answers import MAGIC; M = MAGIC.decode();"
        """B = '{"built":{"kind":"mjb","name":"x","exact":true,"digest":"zz"}}';"""
        f"sys.stdout.buffer.write(({answer}).encode('latin-1'))"
    )
    monkeypatch.setattr(guard, "_COMMAND", (sys.executable, "-c", code))
    (tmp_path / "model.xml").write_text("<mujoco/>")
    with pytest.raises(physics.EngineError, match=r"model\.xml"):
        guarded_model(tmp_path / "model.xml")


def test_a_state_of_too_many_numbers_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.xml").write_text('<mujoco><size nuserdata="20000000"/></mujoco>')
    with pytest.raises(physics.FileFormatError, match=r"its state has 20,000,007 numbers"):
        guarded_model(tmp_path / "model.xml")


def test_names_that_lead_nowhere_are_damage_and_no_index_error(
    compiled: bytes, tmp_path: Path
) -> None:
    content = bytearray(compiled)
    names = bytes(mujoco.MjModel.from_binary_path("m.mjb", {"m.mjb": compiled}).names)
    at = content.find(names)
    content[at : at + len(names)] = b"x" * len(names)  # no name ends
    (tmp_path / "model.mjb").write_bytes(content)
    with pytest.raises(physics.FileError, match=r"model\.mjb"):
        physics.load_scene(tmp_path / "model.mjb")


def test_a_compiled_model_of_another_mujoco_is_refused_with_both_versions(
    compiled: bytes, tmp_path: Path
) -> None:
    content = bytearray(compiled)
    content[12:16] = (4_000_099).to_bytes(4, "little")
    (tmp_path / "model.mjb").write_bytes(content)
    with pytest.raises(physics.FileVersionError, match=rf"4\.0\.99.*{mujoco.mj_versionString()}"):
        physics.load_scene(tmp_path / "model.mjb")


@pytest.mark.parametrize(
    ("option", "value"),
    [("cone", 99), ("solver", -1), ("integrator", 55), ("jacobian", 7),
     ("ccd_iterations", 9_200_000), ("ccd_iterations", -5), ("sdf_initpoints", 2**31 - 1),
     ("iterations", 2**31 - 1), ("ls_iterations", 10**6), ("noslip_iterations", 2**30)],
)  # fmt: skip
def test_options_that_mujoco_believes_blindly_are_refused_by_name(
    option: str, value: int, tmp_path: Path, model_path: Callable[[str], Path]
) -> None:
    model = mujoco.MjModel.from_xml_path(str(model_path("arm")))
    setattr(model.opt, option, value)
    path = tmp_path / "model.mjb"
    mujoco.mj_saveModel(model, str(path), None)
    with pytest.raises(physics.FileFormatError, match=f"its .*option {option} is "):
        physics.load_scene(path)
