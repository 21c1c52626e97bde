"""Without the packages that files need, an error says which one and how to get it."""

import subprocess
import sys
from pathlib import Path

import pytest
from recordings import manifest_of, write_small

import stroboscope.engine as physics
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.files.writer import TrajectoryWriter


def test_files_say_how_to_install_what_they_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_small(tmp_path / "there.mcap")
    monkeypatch.setitem(sys.modules, "zstandard", None)
    install = r'pip install "stroboscope\[files\]"'
    with pytest.raises(physics.FilesUnavailableError, match=install):
        TrajectoryReader(path)
    with pytest.raises(physics.FilesUnavailableError, match="zstandard"):
        TrajectoryWriter(tmp_path / "new.mcap", manifest_of(), attachments={})
    assert not (tmp_path / "new.mcap").exists()


def test_every_error_of_files_is_one_of_the_engine() -> None:
    for name in ("FileError", "FileDamagedError", "FileFormatError", "FileVersionError"):
        assert issubclass(getattr(physics, name), physics.EngineError)
    assert issubclass(physics.FileWriteError, physics.FileError)
    assert issubclass(physics.FilesUnavailableError, physics.EngineError)


COMMANDS = """
import contextlib
import io
import sys

for name in ("zstandard", "xxhash", "mcap", "defusedxml", "tqdm"):
    sys.modules[name] = None
from stroboscope.app.main.cli import main

for words in sys.argv[1:]:
    told = io.StringIO()
    with contextlib.redirect_stderr(told):
        try:
            code = main(words.split())
        except SystemExit as ending:
            code = ending.code
    print(code, told.getvalue().count("\\n"), told.getvalue().split("\\n")[0])
"""


def test_commands_say_what_is_missing_and_how_it_is_installed(tmp_path: Path) -> None:
    scene = physics.create_scene("box")
    with scene.start_recording(tmp_path / "run.mcap"):
        scene.step()
    (tmp_path / "script.py").write_text("print('it has begun')\n")
    works = ["verify run.mcap", "cut run.mcap 0 1 -o out.mcap", "repair run.mcap"]
    works += ["export run.mcap --to csv", "info run.mcap", "run --record new script.py"]
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS, *works],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "it has begun" not in done.stdout
    for line, command in zip(done.stdout.splitlines(), works, strict=True):
        code, count, text = line.split(" ", 2)
        assert (code, count) == ("2" if command.startswith("run") else "4", "1"), (command, text)
        assert 'pip install "stroboscope[files]"' in text, (command, text)
