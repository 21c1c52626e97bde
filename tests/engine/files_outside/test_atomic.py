"""A file is written as a whole or not at all, whatever the disk does."""

import errno
import os
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
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


def test_what_a_killed_run_of_the_same_number_has_left_is_in_nobody_s_way(tmp_path: Path) -> None:
    # As in a container, where each run has the number of the one before.
    script = """
import os, sys
from stroboscope.engine.files.atomic import replacing
with replacing(sys.argv[1]) as part:
    part.write_bytes(b"half of it")
    os.kill(os.getpid(), 9)
"""
    target = tmp_path / "scene.strobe"
    process = subprocess.run([sys.executable, "-c", script, str(target)], check=False)
    assert process.returncode == -9
    (left,) = tmp_path.iterdir()
    mine = left.rename(tmp_path / re.sub(r"\.\d+", f".{os.getpid()}", left.name))
    assert write_file(target, b"content").read_bytes() == b"content"
    assert mine.exists()


def test_threads_that_write_one_file_each_write_it_whole(tmp_path: Path) -> None:
    target, starts = tmp_path / "scene.strobe", threading.Barrier(4)

    def write(text: bytes) -> None:
        starts.wait()
        for _ in range(50):
            write_file(target, text)

    contents = [bytes([65 + k]) * 200_000 for k in range(4)]
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(write, each) for each in contents]:
            done.result()
    assert target.read_bytes() in contents
    assert [path.name for path in tmp_path.iterdir()] == ["scene.strobe"]
