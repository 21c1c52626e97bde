"""A file is written as a whole or not at all, whatever the disk does."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from stroboscope.engine.files.atomic import write_file
from stroboscope.engine.files.disk import Disk
from stroboscope.engine.files.errors import FileWriteError


class FailingDisk(Disk):
    """Fails at its n-th call, whichever that is; ``calls`` counts them."""

    def __init__(self, fails_at: int) -> None:
        self.fails_at = fails_at
        self.calls = 0

    def __getattribute__(self, name: str) -> Any:
        found = object.__getattribute__(self, name)
        if name not in ("create", "write", "fsync", "replace", "fsync_folder"):
            return found

        def call(*arguments: Any) -> Any:
            self.calls += 1
            if self.calls == self.fails_at:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return found(*arguments)

        return call


# Make, write, fsync, rename; then the folder, when the file has its name already.
@pytest.mark.parametrize("number", range(1, 6))
def test_whichever_call_fails_the_old_or_the_new_file_is_there(number: int, tmp_path: Path) -> None:
    target = tmp_path / "scene.strobe"
    target.write_bytes(b"old")
    with pytest.raises(FileWriteError, match=os.strerror(errno.ENOSPC)) as error:
        write_file(target, b"new content", disk=FailingDisk(number))
    assert "scene.strobe" in str(error.value)
    assert isinstance(error.value.__cause__, OSError)
    assert target.read_bytes() == (b"new content" if number == 5 else b"old")
    assert [path.name for path in tmp_path.iterdir()] == ["scene.strobe"]


def test_a_disk_that_does_not_fail_has_no_more_calls_than_that(tmp_path: Path) -> None:
    disk = FailingDisk(6)
    write_file(tmp_path / "scene.strobe", b"new content", disk=disk)
    assert disk.calls == 5


def test_a_file_that_is_new_is_not_there_before_it_is_whole(tmp_path: Path) -> None:
    for number in range(1, 5):
        with pytest.raises(FileWriteError):
            write_file(tmp_path / "new", b"content", disk=FailingDisk(number))
        assert list(tmp_path.iterdir()) == []
    assert write_file(tmp_path / "new", b"content").read_bytes() == b"content"
