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
