"""Names that a stranger gave, in a terminal: shown, never obeyed."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import stroboscope.engine as physics
from stroboscope.app.main.cli import main
from stroboscope.debugger_protocol.plain_text import plain_text

_EVIL = "arm\x1b]0;owned\x07\x1b[31m\u202e\rhidden\x9b2J"
_OBEYED = "\x1b\x07\r\x9b\u202e"


@pytest.mark.parametrize("command", ["info", "verify", "repair", "cut"])
@pytest.mark.parametrize("name", ["run\x1b[2J.mcap", os.fsdecode(b"run\xff.mcap"), "missing\x1b["])
def test_what_is_told_of_a_file_has_nothing_that_a_terminal_obeys(
    tmp_path: Path,
    model_path: Callable[[str], Path],
    command: str,
    name: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / name
    if "missing" not in name:
        scene = physics.create_scene(_EVIL, model=model_path("arm"))
        with scene.start_recording(path):
            for _ in range(20):
                scene.log(_EVIL, 1.0)
                scene.step()
        physics.shutdown()
    more = ["2", "9", "-o", str(tmp_path / "cut\x1b.mcap")] if command == "cut" else []
    capfd.readouterr()
    code = main([command, str(path), *more])
    told = "".join(capfd.readouterr())
    assert code == (4 if "missing" in name else 0)
    assert told
    assert not set(told) & set(_OBEYED)
    assert "\\x1b" in told


def test_text_stays_as_it_is_where_nothing_in_it_is_obeyed() -> None:
    for text in ("plain\n", "a\tb\nc", "Größe ☃ 机器人", "👩\u200d👧", "می\u200cخواهم", ""):
        assert plain_text(text) == text
    assert plain_text("a\r\x1b\udcff\u202e") == "a\\r\\x1b\\udcff\\u202e"


_LINE = "arm: reproduces bit for bit (1,000 of 1,001 frames compared)\nrest"
_LONG = "a" * 5_000


@pytest.mark.parametrize("command", ["info", "info --events", "verify", "repair", "cut", "export"])
def test_a_name_has_no_lines_of_its_own_and_no_thousands_of_letters(
    tmp_path: Path,
    model_path: Callable[[str], Path],
    command: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "run.mcap"
    scenes = [physics.create_scene(name, model=model_path("arm")) for name in (_LINE, _LONG)]
    with physics.start_recording(path, scenes=scenes):
        for scene in scenes:
            scene.log(_LINE, 1.0)
            scene.step()
    physics.shutdown()
    more = {
        "cut": ["0", "2", "-o", str(tmp_path / "cut.mcap")],
        "export": ["--to", "csv", "-o", str(tmp_path / "run.csv"), "--scene", "0"],
    }
    capfd.readouterr()
    first, *others = command.split()
    assert main([first, *others, str(path), *more.get(first, [])]) == 0
    told = "".join(capfd.readouterr())
    assert told
    lines = told.splitlines()
    assert "rest" not in [line[:4] for line in lines]
    assert max(map(len, lines)) < 400
