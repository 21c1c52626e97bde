"""Without the packages that files need, an error says which one and how to get it."""

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
